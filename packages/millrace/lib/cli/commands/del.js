'use strict'

const { parseSeq } = require('../records')
const { countRecords } = require('../report')
const { openTarget } = require('../target')

/** @type {import('../definition').Definition} */
exports.command = {
  name: 'del',
  summary: 'erases the records at the given seqs',
  details: 'Their bytes become zeros, and are gone from the log\'s file when the command ends. Other records keep their seqs. ' +
    '`compact` gives back the space.',
  arguments: [
    { name: 'file', description: 'the log' },
    { name: 'seqs', description: 'the seqs of the records', kind: 'seq', isList: true, parse: parseSeq }
  ],
  options: [],
  examples: [['millrace del events.log 32808 32841', 'erases two records']],
  async run ({ args, shell }) {
    const log = await openTarget(args.file, { mustExist: true })
    try {
      await log.del(args.seqs)
      await log.sync()
    } finally {
      await log.close()
    }
    shell.complain(`erased ${countRecords(args.seqs.length)}\n`)
  }
}
