'use strict'
// The file of a view. It is replaced as a whole, so a crash leaves the old one or the new one. First comes a line of
// text, then the state as the codec has encoded it:
//
//   millrace-view 1 <crc32 of all that follows, in hex> <JSON: version, log, cursor, proof, points>

const path = require('node:path')
const { readFile, replaceFile, seal, unseal } = require('@millrace/block-file')
const { LogError } = require('@millrace/errors')
const { promisesOf } = require('@millrace/flow')

const MAGIC = 'millrace-view 1'
/** Of what stands for the magic, this part may be damaged. With more, it is another file. */
const DAMAGED_SHARE = 1 / 4
const NEW_LINE = 0x0a

/** @typedef {import('@millrace/block-file').Storage} Storage */

/** @typedef {import('@millrace/offset-log/composing').Place & { version: number | string }} Place  with the view's */

/** The bytes of the file are not what was written. */
class DamagedState extends Error {}

class StateFile {
  #storage
  #file

  /** @param {Storage} storage @param {string} file */
  constructor (storage, file) {
    this.#storage = storage
    this.#file = file
  }

  /**
   * @returns {Promise<{ place: Place, state: Buffer } | null>}  null if there is none
   * @throws {DamagedState} or EEXIST
   */
  async read () {
    const bytes = await this.readOwn()
    return bytes && decode(bytes)
  }

  /** Somebody's file, such as a log, is neither replaced nor removed: EEXIST. */
  async readOwn () {
    const bytes = await readFile(this.#storage, this.#file)
    if (bytes === null || !isOther(bytes)) return bytes
    throw new LogError('EEXIST', `view: ${this.#file} is a file that no view has written, and stays as it is; give the view ` +
      'another path, or remove the file', { path: this.#file })
  }

  /** After a read. @type {(place: Place, state: Uint8Array) => Promise<void>} */
  async replace (place, state) {
    await replaceFile(this.#storage, this.#file, encode(place, state))
  }

  async remove () {
    const calls = promisesOf(this.#storage)
    for (const file of [`${this.#file}.new`, this.#file]) await calls.unlink(file).catch(unlessMissing)
    await calls.syncFolder(path.dirname(this.#file))
  }
}

/** Whether the bytes are not those of a view, damaged or not. @param {Buffer} bytes */
function isOther (bytes) {
  const found = bytes.subarray(0, MAGIC.length)
  const wrong = found.filter((byte, index) => byte !== MAGIC.charCodeAt(index))
  // A crash may leave zeros.
  return wrong.length > found.length * DAMAGED_SHARE && wrong.some((byte) => byte !== 0)
}

/** @type {(place: Place, state: Uint8Array) => Buffer} */
function encode (place, state) {
  return seal(MAGIC, Buffer.concat([Buffer.from(`${JSON.stringify(place)}\n`), state]))
}

/** @type {(bytes: Buffer) => { place: Place, state: Buffer }} */
function decode (bytes) {
  const body = unseal(MAGIC, bytes)
  if (body === null) throw new DamagedState('the saved state is damaged')
  const end = body.indexOf(NEW_LINE)
  return { place: parsePlace(body.toString('utf8', 0, end)), state: body.subarray(end + 1) }
}

/** @type {(text: string) => Place} throws DamagedState */
function parsePlace (text) {
  let place
  try {
    place = JSON.parse(text)
  } catch {}
  const points = place?.points
  if (!Number.isSafeInteger(place?.cursor) || place.cursor < -1 || !Array.isArray(points) || !points.every(isPoint)) {
    throw new DamagedState('the saved state is not one that a view has written')
  }
  return place
}

/** @param {unknown} point */
function isPoint (point) {
  return Array.isArray(point) && Number.isSafeInteger(point[0]) && point[0] >= 0
}

/** @param {any} err */
function unlessMissing (err) {
  if (err.code !== 'ENOENT') throw err
}

exports.DamagedState = DamagedState
exports.StateFile = StateFile
