'use strict'
// A stream as others take it: as a pull-stream source, as an async iterable, and as the first part of a pipeline.

const { LogError, misuse } = require('@millrace/errors')
const { abortError, onAbort } = require('@millrace/flow')

/**
 * @typedef {Error | true | null} End  null to go on, true for the end, an error for a failure
 * @typedef {(end: End, item?: any) => void} Answer
 * @typedef {(abort: End, cb: Answer) => void} Source
 * @typedef {Pick<import('./stream').RecordStream, 'read' | 'lost' | 'undecodable' | 'noteIterated'>} Stream
 */

/** @param {Stream} stream */
function createSource (stream) {
  let isIterated = false
  /**
   * @param {End | false} abort
   * @param {Answer} [cb]  some who abort pass none. Without a default: pull-stream tells a source from what may follow
   *   it by its two parameters
   * @returns {any}
   */
  const read = (abort, cb) => {
    if (typeof cb === 'function') stream.read(abort || null, cb)
    else if (cb !== undefined) throw misuse(`stream: expected a callback, got ${typeof cb}; for Node.js streams there is log.toReadable`)
    else if (isOfPipeline(abort)) return iterateUntil(source, abort.signal)
    else stream.read(abort || null, ignore)
  }
  Object.defineProperty(read, 'lost', { get: () => stream.lost })
  Object.defineProperty(read, 'undecodable', { get: () => stream.undecodable })
  const source = Object.assign(read, {
    /** @returns {AsyncIterableIterator<any>} */
    [Symbol.asyncIterator]: () => {
      // What the first loop has read would be missing in the second one.
      if (isIterated) return iterate(failAlways(usedError()))
      isIterated = true
      stream.noteIterated()
      return iterate(source)
    },
    /** @returns {Promise<void>} */
    [Symbol.asyncDispose]: () => new Promise((resolve) => read(true, () => resolve()))
  })
  return source
}

function ignore () {}

/**
 * A source that fails at its first read.
 * @param {Error} err
 */
function createFailedSource (err) {
  const none = { count: 0, size: 0 }
  return createSource({ read: failAlways(err), lost: none, undecodable: none, noteIterated: ignore })
}

/**
 * @param {Error} err
 * @returns {(abort: End, cb: Answer) => void}
 */
function failAlways (err) {
  return (abort, cb) => cb(abort || err)
}

function usedError () {
  return new LogError('ERR_STREAM_USED', 'stream: it was iterated before, and gives its records once; call log.stream for another')
}

/**
 * `pipeline` of Node.js calls a function that it is given first, for what it can iterate over.
 * @param {unknown} given
 * @returns {given is { signal: AbortSignal }}
 */
function isOfPipeline (given) {
  return typeof given === 'object' && given !== null && 'signal' in given && given.signal instanceof AbortSignal
}

/**
 * @param {((abort: Error) => void) & AsyncIterable<any>} source
 * @param {AbortSignal} signal  that is aborted when the pipeline is over, or has failed
 */
function iterateUntil (source, signal) {
  const iterator = source[Symbol.asyncIterator]()
  onAbort(signal, () => source(abortError('stream', signal)))
  return iterator
}

// A pull-stream source as an async iterator: one read at a time, in the order they were asked for. Nearly every read is
// answered before it returns; such a one makes nothing but its result and one promise.

/**
 * @typedef {{ done: boolean, value: any }} Result
 * @typedef {{ resolve: (result: Result | PromiseLike<Result>) => void, reject: (err: unknown) => void }} Waiting
 */

class SourceIterator {
  #source
  #hasEnded = false
  #isReading = false
  /** Whether the read that is under way was not left yet. */
  #isInRead = false
  /** What a read was answered with before it was left. @type {{ end: Error | true | null, item: any }} */
  #answer = { end: null, item: undefined }
  /** Who asked for the read that is under way. @type {Waiting | null} */
  #asking = null
  /** Who asked meanwhile, from `#answeredCount` on. @type {Waiting[]} */
  #waiting = []
  #answeredCount = 0

  /** @param {Source} source */
  constructor (source) {
    this.#source = source
  }

  /** @returns {Promise<Result>} */
  next () {
    // A source may not be asked again while it is answering.
    if (this.#isReading) return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }))
    const result = this.#read()
    if (this.#waiting.length > 0) this.#readOn()
    return result
  }

  /**
   * An abort does not wait: it is what ends a live stream's open read.
   * @param {any} [value]
   * @returns {Promise<Result>}
   */
  return (value) {
    return new Promise((resolve) => this.#source(true, () => resolve({ done: true, value })))
  }

  /**
   * What a generator hands down that was told to throw in the middle of this iterator.
   * @param {any} [err]
   * @returns {Promise<Result>}  rejected with it
   */
  throw (err) {
    return new Promise((resolve, reject) => this.#source(true, () => reject(err)))
  }

  [Symbol.asyncIterator] () {
    return this
  }

  async [Symbol.asyncDispose] () {
    await this.return()
  }

  /** @returns {Promise<Result>} */
  #read () {
    if (this.#hasEnded) return Promise.resolve({ done: true, value: undefined })
    this.#isReading = this.#isInRead = true
    this.#source(null, this.#hear)
    this.#isInRead = false
    if (this.#isReading) return new Promise((resolve, reject) => { this.#asking = { resolve, reject } })
    const { end, item } = this.#answer
    this.#answer.item = undefined
    return end instanceof Error ? Promise.reject(end) : Promise.resolve({ done: end === true, value: item })
  }

  /** @type {Answer} */
  #hear = (end, item) => {
    this.#isReading = false
    this.#hasEnded = Boolean(end)
    if (this.#isInRead) {
      this.#answer.end = end
      this.#answer.item = item
      return
    }
    const { resolve, reject } = /** @type {Waiting} */ (this.#asking)
    this.#asking = null
    if (end && end !== true) reject(end)
    else resolve({ done: end === true, value: item })
    if (this.#waiting.length > 0) this.#readOn()
  }

  /** For those who asked while another read was under way. */
  #readOn () {
    while (!this.#isReading && this.#answeredCount < this.#waiting.length) {
      const { resolve } = this.#waiting[this.#answeredCount++]
      resolve(this.#read())
    }
    if (this.#answeredCount < this.#waiting.length) return
    this.#waiting = []
    this.#answeredCount = 0
  }
}

/**
 * @param {Source} source
 * @returns {AsyncIterableIterator<any>}
 */
function iterate (source) {
  return new SourceIterator(source)
}

exports.createSource = createSource
exports.createFailedSource = createFailedSource
exports.iterate = iterate
