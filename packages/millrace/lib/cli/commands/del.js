'use strict'

const { join } = require('node:path')
const { misuse } = require('@millrace/errors')
const { parseKey } = require('../records')
const { countRecords } = require('../report')
const { isFolder } = require('../source')
const { openTarget } = require('../target')

/** @type {import('../definition').Definition} */
exports.command = {
  name: 'del',
  summary: 'erases the records at the given seqs',
  details: 'Their bytes become zeros, and are gone from the log\'s file when the command ends. Other records keep their seqs. ' +
    '`compact` gives back the space.',
  arguments: [
    { name: 'file', description: 'the log' },
    { name: 'seqs', description: 'the seqs of the records', kind: 'seq', isList: true, parse: parseKey }
  ],
  options: [],
  examples: [['millrace del events.log 32808 32841', 'erases two records']],
  async run ({ args, shell }) {
    const key = args.seqs.find((/** @type {number | string} */ seq) => typeof seq === 'string')
    if (key !== undefined) refuseSlots(args.file, key)
    const log = await openTarget(args.file, { mustExist: true })
    try {
      if (key !== undefined) throw misuse(`${args.file} has no slots: give the seq without one, such as ${key.split(':')[1]}`)
      await log.del(args.seqs)
      await log.sync()
    } finally {
      await log.close()
    }
    shell.complain(`erased ${countRecords(args.seqs.length)}\n`)
  }
}

/** A folder of slots: the seq names one. @type {(file: string, key: string) => void} */
function refuseSlots (file, key) {
  const { listSlots } = require('../slots')
  const [slot] = key.split(':')
  if (!isFolder(file) || listSlots(file).length === 0) return
  throw misuse(`${file} is a folder that several processes write; this command deletes in logs of one file. Programs delete ` +
    `in this one, with \`del\` of the SlotLog that has slot ${slot}, or if no process has it, with SegmentedLog in ${join(file, slot)}`)
}
