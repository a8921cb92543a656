'use strict'

const fs = require('node:fs')
const { OffsetLog } = require('@millrace/offset-log')
const { describeSize } = require('../report')
const { findLog } = require('../source')

/** @type {import('../definition').Definition} */
exports.command = {
  name: 'snapshot',
  summary: 'copies a log, also while it is written',
  details: 'The copy is verified and synced. It appears when it is whole, or not at all.',
  arguments: [
    { name: 'file', description: 'the log, or - for one on standard input' },
    { name: 'copy', description: 'the file to make; nothing may be there' }
  ],
  options: [{ flags: '--json', description: 'print one line of JSON' }],
  examples: [['millrace snapshot events.log "backup/$(date +%F).log"', 'a copy as of now']],
  async run ({ args, options, shell }) {
    const { path, remove } = await findLog(shell, args.file)
    const log = OffsetLog(path, { flags: 'r' })
    const progress = shell.progress('copying')
    try {
      await log.ready()
      await log.snapshot(args.copy, {
        signal: shell.signal,
        onProgress: ({ position, size }) => progress.update(position, size)
      })
    } finally {
      progress.end()
      await log.close()
      remove()
    }
    const { size } = fs.statSync(args.copy)
    shell.print(options.json ? JSON.stringify({ path: args.copy, size }) : `${describeSize(size)} copied`)
  }
}
