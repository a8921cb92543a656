'use strict'
// A small file beside an unfinished conversion: what is being made of what. It is written once, before the first
// record; how far the conversion has come is told by the new log itself.

const { BlockFile } = require('@millrace/block-file')
const { LogError, misuse } = require('@millrace/errors')

const VERSION = 1
const SIZE_MAX = 64 * 1024

/**
 * @typedef {object} NoteContents
 * @property {number} sourceSize  in bytes
 * @property {string} format
 * @property {number} blockSize
 * @property {string} onCorrupt
 * @property {string} from  codec; empty when bytes are copied
 * @property {string} to
 */

/**
 * Writes the note, whole and synced, or finds that one is there and says the same.
 * @param {string} path
 * @param {NoteContents} contents
 * @param {import('@millrace/block-file/lib/storage').Storage} storage
 * @param {(err: Error | null) => void} cb  ERR_SOURCE_CHANGED, or ERR_INVALID_ARGUMENT when other options were given
 */
function agreeOnNote (path, contents, storage, cb) {
  const initial = () => Buffer.from(JSON.stringify({ version: VERSION, ...contents }, null, 2) + '\n')
  const file = BlockFile(path, { createFolder: true, cache: 0, initial, storage })
  file.ready((err) => {
    if (err) return cb(err)
    const size = Math.min(file.size.value, SIZE_MAX)
    file.read(0, size, (err, bytes) => file.close((closeErr) => {
      if (err || closeErr || !bytes) cb(err ?? closeErr)
      else cb(compare(path, parse(bytes), contents))
    }))
  })
}

/** @param {Buffer} bytes */
function parse (bytes) {
  try {
    return JSON.parse(bytes.toString())
  } catch {
    return null
  }
}

/**
 * @param {string} path
 * @param {any} found
 * @param {NoteContents} contents
 * @returns {Error | null}
 */
function compare (path, found, contents) {
  const again = `give what was given then, or begin anew with resume: false (${path} notes it)`
  if (found?.version !== VERSION) {
    return misuse(`convert: ${path} is no note of a conversion that this version can go on with; remove it, or pass resume: false`)
  }
  if (found.sourceSize !== contents.sourceSize) {
    return new LogError('ERR_SOURCE_CHANGED', `convert: the source had ${found.sourceSize} bytes when the conversion began, and has ` +
      `${contents.sourceSize} now; begin anew with resume: false (${path} notes it)`, { path })
  }
  for (const [name, value] of Object.entries(contents)) {
    if (found[name] === value) continue
    return misuse(`convert: the conversion was begun with another ${name}, ${JSON.stringify(found[name])} and not ` +
      `${JSON.stringify(value)}; ${again}`)
  }
  return null
}

exports.agreeOnNote = agreeOnNote
