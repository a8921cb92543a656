'use strict'

const { explainOption, printExplanation } = require('../explaining')
const { printAll } = require('../printing')
const { filterOptions, options, printOptions, rangeOptions, reportLost, reportUnknown } = require('../records')
const { openSource } = require('../source')

/** @type {import('../definition').Definition} */
exports.command = {
  name: 'cat',
  summary: 'prints records as JSON, one a line',
  details: 'Reading takes no lock: another process may be writing the log. A folder that several processes write is read ' +
    'in the order of their times. Records of a checked log of JSON are printed as they were appended, without a check that ' +
    'they are JSON. A stream of NATS JetStream is read by its address; that needs the package ' +
    '@millrace/jetstream.',
  arguments: [{ name: 'file', description: 'the log: a file or a folder, - for one on standard input, or nats://HOST:PORT/STREAM' }],
  options: [...rangeOptions, options.reverse, options.limit, ...filterOptions, ...printOptions, explainOption],
  examples: [
    ['millrace cat events.log --where type=post --where \'level>=50\'', 'the records for which both conditions hold'],
    ['millrace cat events.log --reverse --limit 10 --seqs', 'the last ten, last first, with their seqs'],
    ['millrace cat logs --since 1h --level warn --pretty', 'what went wrong in the last hour'],
    ['millrace cat events.log --where user=ada --explain', 'whether an index is used, and for how many records'],
    ['millrace cat nats://127.0.0.1:4222/events --limit 10', 'the first ten records of a stream']
  ],
  async run ({ args, options, shell }) {
    shell.watchOutput()
    const source = await openSource(shell, args.file, options)
    try {
      if (options.explain) return await printExplanation(shell, source, options)
      const printed = await printAll(shell, source, options)
      reportUnknown(shell, source.tally, options)
      return reportLost(shell, printed)
    } finally {
      await source.close()
    }
  }
}
