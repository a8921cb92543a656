'use strict'

const { options, parseSeq, printRecords } = require('../records')
const { openSource } = require('../source')

/** @type {import('../definition').Definition} */
exports.command = {
  name: 'get',
  summary: 'prints the records at the given seqs',
  details: 'A seq is the key of a record. `cat --seqs` and `append --seqs` print seqs.',
  arguments: [
    { name: 'file', description: 'the log, or - for one on standard input' },
    { name: 'seqs', description: 'the seqs of the records', kind: 'seq', isList: true, parse: parseSeq }
  ],
  options: [options.seqs, options.raw, options.full, options.codec],
  examples: [['millrace get events.log 32808', 'the record with the seq 32808']],
  async run ({ args, options, shell }) {
    const { log, close } = await openSource(shell, args.file, options)
    try {
      await printRecords(shell, getAll(log, args.seqs), options)
    } finally {
      await close()
    }
  }
}

/**
 * @param {import('../source').Log} log
 * @param {number[]} seqs
 */
async function * getAll (log, seqs) {
  for (const seq of seqs) yield { seq, value: await log.get(seq) }
}
