'use strict'
// The records of a log as the viewer shows them: decoded, with the time that they have, as a line of the list.

const { findTime, toInstant } = require('@millrace/where')
const { descend, summarize } = require('./outline')
const { formatBeside } = require('./slots-log')

const LINE_SIZE_MAX = 300

/**
 * @typedef {import('@millrace/offset-log').Codec<any>} Codec
 * @typedef {import('./one-log').Run} Run
 */

/**
 * @typedef {object} Row
 * @property {number | string} seq  with slots, `slot:seq`
 * @property {string} [beside]  where the other slots stand then
 * @property {number} size  in bytes
 * @property {number | null} time  ms since 1970
 * @property {string} text  one line
 * @property {string} [error]  why the record does not decode; then `text` shows its bytes
 */

class Records {
  #codec
  #timePath

  /**
   * @param {Codec} codec
   * @param {string[] | null} [timePath]  the member that is a record's time; null: wherever a logger writes it
   */
  constructor (codec, timePath = null) {
    this.#codec = codec
    this.#timePath = timePath
  }

  /**
   * @param {Run} run
   * @param {number} index
   * @returns {Row}
   */
  toRow (run, index) {
    const { value, error } = this.#decodeIn(run, index)
    const seq = run.seqs[index]
    const row = {
      ...(run.slot === undefined ? { seq } : { seq: `${run.slot}:${seq}`, beside: formatBeside(run.beside ?? {}) }),
      size: run.ends[index] - run.starts[index],
      time: readTime(value, this.#timePath),
      text: summarize(value, LINE_SIZE_MAX)
    }
    return error === null ? row : { ...row, error }
  }

  /** @param {Run} run @param {number} index @returns {number | null} */
  timeIn (run, index) {
    return readTime(this.#decodeIn(run, index).value, this.#timePath)
  }

  /** @param {Buffer} bytes  of a record @returns {number | null} */
  timeOf (bytes) {
    return this.timeIn({ buffer: bytes, count: 1, seqs: [0], starts: [0], ends: [bytes.length] }, 0)
  }

  /** @param {Buffer} bytes  of a record @throws what the codec throws */
  decode (bytes) {
    return this.#decode(bytes, 0, bytes.length)
  }

  /** @type {(buffer: Buffer, start: number, end: number) => unknown} */
  #decode (buffer, start, end) {
    const codec = this.#codec
    if (codec.decodeRange) return codec.decodeRange(buffer, start, end)
    return codec.decode(codec.buffer ? Buffer.from(buffer.subarray(start, end)) : buffer.toString('utf8', start, end))
  }

  /**
   * @param {Run} run
   * @param {number} index
   * @returns {{ value: unknown, error: string | null }}  the record's bytes if it does not decode
   */
  #decodeIn ({ buffer, starts, ends }, index) {
    const [start, end] = [starts[index], ends[index]]
    try {
      return { value: this.#decode(buffer, start, end), error: null }
    } catch (/** @type {any} */ err) {
      return { value: buffer.subarray(start, end), error: String(err?.message ?? err) }
    }
  }
}

/**
 * @param {unknown} value  of a record
 * @param {string[] | null} path  null: wherever it is
 * @returns {number | null}  ms since 1970; null if there is no time
 */
function readTime (value, path) {
  const found = path === null ? findTime(value) : toInstant(descend(value, path).value)
  return found?.ms ?? null
}

exports.Records = Records
exports.readTime = readTime
