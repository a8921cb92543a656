'use strict'
// What import and append read: a text of JSON lines, and not the log that they append to. Other files are refused with
// what makes lines of them.

const fs = require('node:fs')
const { once } = require('node:events')
const { misuse } = require('@millrace/errors')
const { kindOf } = require('./file-kinds')

/**
 * @typedef {object} TextSource
 * @property {AsyncIterable<Buffer>} input
 * @property {string} name  for messages
 * @property {number} size  in bytes; 0 if that is unknown
 * @property {() => void} stop  ends the input
 */

/**
 * @param {import('./shell').Shell} shell
 * @param {object} call
 * @param {string} call.command
 * @param {string} call.file  the log
 * @param {string} [call.source]  `-` or none for standard input
 * @returns {Promise<TextSource>}
 * @throws {TypeError} ERR_INVALID_ARGUMENT if it is the log itself, or a folder
 */
async function openTextSource (shell, { command, file, source = '-' }) {
  const isFile = source !== '-'
  const stream = isFile ? fs.createReadStream(source, { highWaterMark: 1024 * 1024 }) : shell.stdin
  // A missing file must not leave an empty log behind.
  if (isFile) await once(stream, 'open')
  const name = isFile ? source : 'standard input'
  const stats = statsOf(/** @type {any} */ (stream).fd)
  try {
    checkPlace(name, stats, file)
  } catch (err) {
    stream.destroy()
    throw err
  }
  return {
    input: refuseOthers(stream, name, `millrace ${command} ${file}`),
    name,
    size: isFile ? Number(stats?.size ?? 0) : 0,
    stop: () => stream.destroy()
  }
}

/** @param {number | undefined} fd */
function statsOf (fd) {
  try {
    return fd === undefined ? undefined : fs.fstatSync(fd, { bigint: true })
  } catch {
    return undefined
  }
}

/** @type {(name: string, stats: fs.BigIntStats | undefined, file: string) => void} */
function checkPlace (name, stats, file) {
  if (stats?.isDirectory()) {
    const advice = 'give a file of JSON, one record a line. If it has a log, pass on what millrace cat prints'
    throw misuse(`${name} is a folder; ${advice}`)
  }
  if (!stats?.isFile()) return
  const log = fs.statSync(file, { bigint: true, throwIfNoEntry: false })
  // What was appended would be read again, without end.
  if (log?.dev === stats.dev && log.ino === stats.ino) throw misuse(`${name} is the log itself, ${file}; give another file`)
}

/**
 * Passes bytes on, if their beginning may be a text of JSON.
 * @param {AsyncIterable<Buffer>} input
 * @param {string} name
 * @param {string} command  that gets lines
 */
async function * refuseOthers (input, name, command) {
  let isStart = true
  for await (const chunk of input) {
    const kind = isStart ? kindOf(chunk) : null
    isStart = false
    if (kind !== null) {
      throw misuse(`${name} is ${kind.what}, and lines of JSON are needed; pass them on: ${kind.command} FILE | ${command}`)
    }
    yield chunk
  }
}

exports.openTextSource = openTextSource
