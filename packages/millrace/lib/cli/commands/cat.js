'use strict'

const { filterOptions, options, printOptions, printRecords, rangeOptions, reportLost, toReadOptions, withFirst } = require('../records')
const { openSource } = require('../source')

/** @type {import('../definition').Definition} */
exports.command = {
  name: 'cat',
  summary: 'prints records as JSON, one a line',
  details: 'Reading takes no lock: another process may be writing the log. A folder that several processes write is read ' +
    'in the order of the field time.',
  arguments: [{ name: 'file', description: 'the log: a file or a folder, or - for one on standard input' }],
  options: [...rangeOptions, options.reverse, options.limit, ...filterOptions, ...printOptions],
  examples: [
    ['millrace cat events.log --where type=post --where \'level>=50\'', 'the records for which both conditions hold'],
    ['millrace cat events.log --reverse --limit 10 --seqs', 'the last ten, last first, with their seqs'],
    ['millrace cat logs --since 1h --level warn --pretty', 'what went wrong in the last hour']
  ],
  async run ({ args, options, shell }) {
    const { log, first, close } = await openSource(shell, args.file, options)
    try {
      const stream = log.stream({ ...toReadOptions(withFirst(options, first)), signal: shell.signal })
      await printRecords(shell, stream, options)
      return reportLost(shell, stream)
    } finally {
      await close()
    }
  }
}
