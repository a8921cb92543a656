'use strict'
// A pull-stream source as an async iterator: one read at a time, in the order they were asked for. Nearly every read is
// answered before it returns; such a one makes nothing but its result and one promise.

/**
 * @typedef {(end: Error | true | null, item?: any) => void} Answer
 * @typedef {(abort: Error | true | null, cb: Answer) => void} Source
 * @typedef {{ done: boolean, value: any }} Result
 * @typedef {{ resolve: (result: Result | PromiseLike<Result>) => void, reject: (err: unknown) => void }} Waiting
 */

class SourceIterator {
  /** @param {Source} source */
  constructor (source) {
    this._source = source
    this._hasEnded = false
    this._isReading = false
    /** Whether the read that is under way was not left yet. */
    this._isInRead = false
    /** What a read was answered with before it was left. @type {{ end: Error | true | null, item: any }} */
    this._answer = { end: null, item: undefined }
    /** Who asked for the read that is under way. @type {Waiting | null} */
    this._asking = null
    /** Who asked meanwhile, from `_answeredCount` on. @type {Waiting[]} */
    this._waiting = []
    this._answeredCount = 0
    /** @type {Answer} */
    this._hear = (end, item) => this._heard(end, item)
  }

  /** @returns {Promise<Result>} */
  next () {
    // A source may not be asked again while it is answering.
    if (this._isReading) return new Promise((resolve, reject) => this._waiting.push({ resolve, reject }))
    const result = this._read()
    if (this._waiting.length > 0) this._readOn()
    return result
  }

  /**
   * An abort does not wait: it is what ends a live stream's open read.
   * @param {any} [value]
   * @returns {Promise<Result>}
   */
  return (value) {
    return new Promise((resolve) => this._source(true, () => resolve({ done: true, value })))
  }

  /**
   * What a generator hands down that was told to throw in the middle of this iterator.
   * @param {any} [err]
   * @returns {Promise<Result>}  rejected with it
   */
  throw (err) {
    return new Promise((resolve, reject) => this._source(true, () => reject(err)))
  }

  [Symbol.asyncIterator] () {
    return this
  }

  /** @returns {Promise<Result>} */
  _read () {
    if (this._hasEnded) return Promise.resolve({ done: true, value: undefined })
    this._isReading = this._isInRead = true
    this._source(null, this._hear)
    this._isInRead = false
    if (this._isReading) return new Promise((resolve, reject) => { this._asking = { resolve, reject } })
    const { end, item } = this._answer
    this._answer.item = undefined
    return end instanceof Error ? Promise.reject(end) : Promise.resolve({ done: end === true, value: item })
  }

  /**
   * @param {Error | true | null} end
   * @param {any} item
   */
  _heard (end, item) {
    this._isReading = false
    this._hasEnded = Boolean(end)
    if (this._isInRead) {
      this._answer.end = end
      this._answer.item = item
      return
    }
    const { resolve, reject } = /** @type {Waiting} */ (this._asking)
    this._asking = null
    if (end && end !== true) reject(end)
    else resolve({ done: end === true, value: item })
    if (this._waiting.length > 0) this._readOn()
  }

  /** For those who asked while another read was under way. */
  _readOn () {
    while (!this._isReading && this._answeredCount < this._waiting.length) {
      const { resolve } = this._waiting[this._answeredCount++]
      resolve(this._read())
    }
    if (this._answeredCount < this._waiting.length) return
    this._waiting = []
    this._answeredCount = 0
  }
}

/**
 * @param {Source} source
 * @returns {AsyncIterableIterator<any>}
 */
function iterate (source) {
  return new SourceIterator(source)
}

exports.iterate = iterate
