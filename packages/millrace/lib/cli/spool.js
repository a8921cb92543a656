'use strict'
// A log on standard input. A log is not read from its first byte to its last, so it becomes a file for as long as the
// command runs.

const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')
const { pipeline } = require('node:stream/promises')

/** Where standard input has gone: who gave it knows no such file. @type {Set<string>} */
const spooled = new Set()

/**
 * @param {import('./shell').Shell} shell
 * @returns {Promise<{ path: string, remove: () => void }>}
 */
async function spool (shell) {
  const folder = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'millrace-')))
  const remove = () => fs.rmSync(folder, { recursive: true, force: true })
  process.once('exit', remove)
  // A process that ends by a signal has no `exit`.
  shell.onInterrupt(remove)
  const file = path.join(folder, 'stdin.log')
  spooled.add(file)
  await pipeline(shell.stdin, fs.createWriteStream(file), { signal: shell.signal })
  return { path: file, remove }
}

/** @param {string} text @returns {string}  which names standard input as such */
function nameInput (text) {
  return [...spooled].reduce((named, file) => named.replaceAll(file, 'standard input'), text)
}

exports.spool = spool
exports.nameInput = nameInput
