'use strict'
// A log on standard input. A log is not read from its first byte to its last, so it becomes a file for as long as the
// command runs.

const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')
const { pipeline } = require('node:stream/promises')

/**
 * @param {import('./shell').Shell} shell
 * @returns {Promise<{ path: string, remove: () => void }>}
 */
async function spool (shell) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'millrace-'))
  const remove = () => fs.rmSync(folder, { recursive: true, force: true })
  process.once('exit', remove)
  // A process that ends by a signal has no `exit`.
  shell.onInterrupt(remove)
  const file = path.join(folder, 'stdin.log')
  await pipeline(shell.stdin, fs.createWriteStream(file), { signal: shell.signal })
  return { path: file, remove }
}

exports.spool = spool
