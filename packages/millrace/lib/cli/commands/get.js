'use strict'

const { misuse } = require('@millrace/errors')
const { options, parseKey, printRecords } = require('../records')
const { openSource } = require('../source')

/** @type {import('../definition').Definition} */
exports.command = {
  name: 'get',
  summary: 'prints the records at the given seqs',
  details: 'A seq is the key of a record. `cat --seqs` and `append --seqs` print seqs. In a folder that several ' +
    'processes write, a seq begins with the slot: 0:4096.',
  arguments: [
    { name: 'file', description: 'the log: a file or a folder, or - for one on standard input' },
    { name: 'seqs', description: 'the seqs of the records', kind: 'seq', isList: true, parse: parseKey }
  ],
  options: [options.seqs, options.raw, options.full, options.codec],
  examples: [['millrace get events.log 32808', 'the record with the seq 32808']],
  async run ({ args, options, shell }) {
    const { log, parts, close } = await openSource(shell, args.file, options)
    try {
      checkKeys(args.file, args.seqs, parts[0].slot !== null)
      await printRecords(shell, getAll(log, args.seqs), options)
    } finally {
      await close()
    }
  }
}

/**
 * @param {string} file
 * @param {Array<number | string>} seqs
 * @param {boolean} hasSlots
 */
function checkKeys (file, seqs, hasSlots) {
  const wrong = seqs.find((seq) => (typeof seq === 'string') !== hasSlots)
  if (wrong === undefined) return
  throw misuse(hasSlots
    ? `several processes write ${file}: give the slot, too, such as 0:${wrong}`
    : `${file} has no slots: give the seq without one, such as ${String(wrong).split(':')[1]}`)
}

/**
 * @param {import('../source').Log} log
 * @param {Array<any>} seqs
 */
async function * getAll (log, seqs) {
  for (const seq of seqs) yield { seq, value: await log.get(seq) }
}
