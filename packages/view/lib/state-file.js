'use strict'
// The file of a view. It is replaced as a whole, so a crash leaves the old one or the new one. First comes a line of
// text, then the state as the codec has encoded it:
//
//   millrace-view 1 <crc32 of all that follows, in hex> <JSON: version, log, cursor, proof, points>

const path = require('node:path')
const { readFile, replaceFile, seal, unseal } = require('@millrace/block-file')
const { promisesOf } = require('@millrace/flow')

const MAGIC = 'millrace-view 1'
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

  /** @returns {Promise<{ place: Place, state: Buffer } | null>} null if there is none @throws {DamagedState} */
  async read () {
    const bytes = await readFile(this.#storage, this.#file)
    return bytes && decode(bytes)
  }

  /** @type {(place: Place, state: Uint8Array) => Promise<void>} */
  async replace (place, state) {
    await replaceFile(this.#storage, this.#file, encode(place, state))
  }

  async remove () {
    const calls = promisesOf(this.#storage)
    for (const file of [`${this.#file}.new`, this.#file]) await calls.unlink(file).catch(unlessMissing)
    await calls.syncFolder(path.dirname(this.#file))
  }
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
