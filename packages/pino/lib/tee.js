'use strict'
// Lines also go to another stream, such as standard output. The log comes first: what the stream cannot take is left
// out there.

const { misuse, reasonOf } = require('@millrace/errors')
const { formatPretty } = require('@millrace/where/pretty')

/** Of a file: later lines may have room. */
const PASSING = ['ENOSPC', 'EDQUOT', 'EFBIG', 'EIO']

// What may wait in a stream whose reader is behind.
const WAITING_SIZE_MAX = 1024 * 1024

/**
 * @typedef {object} TeeStream
 * @property {(text: string) => unknown} write
 * @property {number} [writableLength]
 * @property {boolean} [isTTY]
 * @property {boolean} [destroyed]
 * @property {(event: 'error', listener: (err: any) => void) => unknown} [on]
 *
 * @typedef {'stdout' | 'stderr' | 'pretty' | TeeStream} TeeTarget  `pretty` is standard output, for people
 */

class Tee {
  #stream
  #format
  #isBroken = false
  skippedCount = 0

  /** @param {TeeTarget} target */
  constructor (target) {
    const isPretty = target === 'pretty'
    const stream = /** @type {TeeStream} */ (
      isPretty || target === 'stdout' ? process.stdout : target === 'stderr' ? process.stderr : target)
    if (typeof stream?.write !== 'function') {
      throw misuse(`tee: expected 'stdout', 'stderr', 'pretty' or a stream, got ${reasonOf(target)}`)
    }
    this.#stream = stream
    const colors = Boolean(stream.isTTY) && !process.env.NO_COLOR && process.env.TERM !== 'dumb'
    this.#format = isPretty ? (/** @type {string} */ line) => formatPretty(JSON.parse(line), { colors }) : null
    // It must not end the process.
    stream.on?.('error', (err) => this.#onError(err))
  }

  /** @param {NodeJS.ErrnoException} [err] */
  #onError (err) {
    // Otherwise nobody reads any more.
    if (!PASSING.includes(String(err?.code)) || this.#stream.destroyed) this.#isBroken = true
  }

  /** @param {string} line */
  write (line) {
    if (this.#isBroken || (this.#stream.writableLength ?? 0) > WAITING_SIZE_MAX) {
      this.skippedCount++
      return
    }
    try {
      this.#stream.write(`${this.#format === null ? line : this.#format(line)}\n`)
    } catch {
      this.skippedCount++
    }
  }
}

exports.Tee = Tee
