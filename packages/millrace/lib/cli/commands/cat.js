'use strict'

const { filterOptions, options, printOptions, printRecords, rangeOptions, reportLost, toReadOptions } = require('../records')
const { openSource } = require('../source')

/** @type {import('../definition').Definition} */
exports.command = {
  name: 'cat',
  summary: 'prints records as JSON, one a line',
  details: 'Reading takes no lock: another process may be writing the log.',
  arguments: [{ name: 'file', description: 'the log, or - for one on standard input' }],
  options: [...rangeOptions, options.reverse, options.limit, ...filterOptions, ...printOptions],
  examples: [
    ['millrace cat events.log --where type=post --where \'level>=50\'', 'the records for which both conditions hold'],
    ['millrace cat events.log --reverse --limit 10 --seqs', 'the last ten, last first, with their seqs']
  ],
  async run ({ args, options, shell }) {
    const { log, close } = await openSource(shell, args.file, options)
    try {
      const stream = log.stream({ ...toReadOptions(options), signal: shell.signal })
      await printRecords(shell, stream, options)
      return reportLost(shell, stream)
    } finally {
      await close()
    }
  }
}
