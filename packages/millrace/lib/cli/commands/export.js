'use strict'

const fs = require('node:fs')
const { misuse } = require('@millrace/errors')
const { printAll } = require('../printing')
const { filterOptions, options, printOptions, rangeOptions, reportLost, reportUnknown } = require('../records')
const { lockAside, renameDurably } = require('../rename')
const { countRecords } = require('../report')
const { openSource } = require('../source')

/** @type {import('../definition').Definition} */
exports.command = {
  name: 'export',
  summary: 'writes records to a file of JSON, one a line',
  details: 'The file appears when it is whole, or not at all.',
  arguments: [
    { name: 'file', description: 'the log, or - for one on standard input' },
    { name: 'target', description: 'the file to make; nothing may be there. - for standard output' }
  ],
  options: [
    ...rangeOptions,
    options.limit,
    ...filterOptions,
    ...printOptions.filter((option) => option !== options.full),
    { flags: '--force', description: 'replace what is at the target' }
  ],
  examples: [['millrace export events.log events.ndjson', 'all records, in a file that import reads']],
  async run ({ args, options, shell }) {
    if (isSameFile(args.file, args.target)) throw misuse('the target is the log itself; give another path')
    const target = args.target === '-' ? null : await createTarget(args.target, options.force)
    if (target === null) shell.watchOutput()
    const source = await openSource(shell, args.file, options).catch(async (err) => {
      await target?.remove()
      throw err
    })
    try {
      const output = target ? { isTerminal: false, signal: shell.signal, write: target.write } : shell
      const printed = await printAll(output, source, options)
      shell.throwIfAborted()
      target?.finish()
      reportUnknown(shell, source.tally, options)
      if (target) shell.complain(`exported ${countRecords(printed.count)}\n`)
      return reportLost(shell, printed)
    } finally {
      await target?.remove()
      await source.close()
    }
  }
}

/**
 * Whether they lead to one file, whatever they are called: `--force` must not replace the log.
 * @param {string} path
 * @param {string} other
 */
function isSameFile (path, other) {
  const [one, two] = [path, other].map((name) => fs.statSync(name, { bigint: true, throwIfNoEntry: false }))
  return one !== undefined && two !== undefined && one.dev === two.dev && one.ino === two.ino
}

/**
 * @param {string} path
 * @param {boolean} isForced
 */
async function createTarget (path, isForced) {
  if (!isForced && fs.existsSync(path)) throw Object.assign(new Error(path), { code: 'EEXIST', path })
  const { path: aside, release } = await lockAside(path)
  const fd = fs.openSync(aside, 'wx')
  let isOpen = true
  const close = () => {
    if (isOpen) fs.closeSync(fd)
    isOpen = false
  }
  return {
    /** @param {string | Uint8Array} text */
    async write (text) {
      fs.writeFileSync(fd, text)
    },
    finish () {
      fs.fsyncSync(fd)
      close()
      renameDurably(aside, path)
    },
    async remove () {
      close()
      fs.rmSync(aside, { force: true })
      await release()
    }
  }
}
