'use strict'
// Turns a record stream into a pull-stream source that is also async-iterable and can begin a Node.js `pipeline`.

const { LogError, misuse } = require('@millrace/errors')
const { abortError, onAbort } = require('@millrace/flow')

/**
 * @typedef {Error | true | null} End  null while there is more, true at the end, an error after a failure
 * @typedef {(end: End, item?: any) => void} Answer
 * @typedef {(abort: End, cb: Answer) => void} Source
 * @typedef {Pick<import('./stream').RecordStream, 'read' | 'lost' | 'undecodable' | 'noteIterated'>} Stream
 * @typedef {{ [Symbol.asyncIterator]: () => AsyncIterableIterator<any> }} Iterated
 * @typedef {((abort: End | false, cb?: Answer) => any) & AsyncDisposable & Iterated &
 *   Pick<Stream, 'lost' | 'undecodable'>} RecordSource
 */

const STATE = Symbol('state')

/** @typedef {Source & { [STATE]: { stream: Stream, isIterated: boolean } }} SourceWithState */

/**
 * What all sources have. It is shared: accessors of its own would give each source a shape of its own, and shapes live
 * until the next full garbage collection, with all that the stream has in memory.
 */
const sourcePrototype = Object.create(Function.prototype, {
  lost: { get () { return this[STATE].stream.lost } },
  undecodable: { get () { return this[STATE].stream.undecodable } },
  [Symbol.asyncIterator]: {
    /** @this {SourceWithState} @returns {AsyncIterableIterator<any>} */
    value () {
      const state = this[STATE]
      // A second loop would miss the records that the first one has read.
      if (state.isIterated) return new SourceIterator({ read: failAlways(usedError()) })
      state.isIterated = true
      state.stream.noteIterated()
      return new SourceIterator(state.stream)
    }
  },
  [Symbol.asyncDispose]: {
    /** @this {SourceWithState} @returns {Promise<void>} */
    value () {
      return new Promise((resolve) => this(true, () => resolve()))
    }
  }
})

/** @param {Stream} stream @returns {RecordSource} */
function createSource (stream) {
  /**
   * @param {End | false} abort
   * @param {Answer} [cb]  some callers leave it out when they abort. It has no default value, because pull-stream
   *   recognises a source by its two declared parameters
   * @returns {any}
   */
  const read = (abort, cb) => {
    if (typeof cb === 'function') stream.read(abort || null, cb)
    else return readWithout(cb, abort)
  }
  // What is rare is apart, so that the compiler puts the rest of `read` into its callers.
  const readWithout = (/** @type {undefined} */ cb, /** @type {End | false} */ abort) => {
    if (cb !== undefined) throw misuse(`stream: expected a callback, got ${typeof cb}; for Node.js streams there is log.toReadable`)
    if (isOfPipeline(abort)) return iterateUntil(/** @type {any} */ (read), abort.signal)
    stream.read(abort || null, ignore)
  }
  Object.setPrototypeOf(read, sourcePrototype)
  Object.defineProperty(read, STATE, { value: { stream, isIterated: false } })
  return /** @type {RecordSource} */ (read)
}

function ignore () {}

/** Creates a source that fails at its first read. @param {Error} err */
function createFailedSource (err) {
  const none = { count: 0, size: 0 }
  return createSource({ read: failAlways(err), lost: none, undecodable: none, noteIterated: ignore })
}

/** @type {(err: Error) => Source} */
function failAlways (err) {
  return (abort, cb) => cb(abort || err)
}

function usedError () {
  return new LogError('ERR_STREAM_USED', 'stream: it was iterated before, and gives its records once; call log.stream for another')
}

/**
 * Whether `pipeline` of Node.js made the call. It calls its first function with `{ signal }` and iterates over the
 * result.
 * @param {unknown} given
 * @returns {given is { signal: AbortSignal }}
 */
function isOfPipeline (given) {
  return typeof given === 'object' && given !== null && 'signal' in given && given.signal instanceof AbortSignal
}

/**
 * @param {((abort: Error) => void) & AsyncIterable<any>} source
 * @param {AbortSignal} signal  aborted when the pipeline ends or fails
 */
function iterateUntil (source, signal) {
  const iterator = source[Symbol.asyncIterator]()
  onAbort(signal, () => source(abortError('stream', signal)))
  return iterator
}

/**
 * @typedef {{ done: boolean, value: any }} Result
 * @typedef {{ resolve: (result: Result | PromiseLike<Result>) => void, reject: (err: unknown) => void }} Waiting
 */

/**
 * A stream as an async iterator. It reads one item at a time, in the order of the `next` calls. Most reads are answered
 * before they return, and then allocate only the result and one promise.
 */
class SourceIterator {
  #stream
  #hasEnded = false
  #isReading = false
  /** Whether the call of the source has not returned yet. */
  #isInRead = false
  /** The answer of a read that was answered before it returned. @type {{ end: Error | true | null, item: any }} */
  #answer = { end: null, item: undefined }
  /** The `next` call whose read is in progress. @type {Waiting | null} */
  #asking = null
  /** The `next` calls made during a read; `#answeredCount` of them are answered. @type {Waiting[]} */
  #waiting = []
  #answeredCount = 0

  /** @param {Pick<Stream, 'read'>} stream */
  constructor (stream) {
    this.#stream = stream
  }

  /** @returns {Promise<Result>} */
  next () {
    // A pull-stream source must not be read again before it has answered.
    if (this.#isReading) return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }))
    const result = this.#read()
    if (this.#waiting.length > 0) this.#readOn()
    return result
  }

  /**
   * Does not wait for a read in progress: the abort ends the read of a live stream.
   * @param {any} [value]
   * @returns {Promise<Result>}
   */
  return (value) {
    return new Promise((resolve) => this.#stream.read(true, () => resolve({ done: true, value })))
  }

  /**
   * Called if a generator delegates to this iterator and its own `throw` is called.
   * @param {any} [err]
   * @returns {Promise<Result>}  rejected with it
   */
  throw (err) {
    return new Promise((resolve, reject) => this.#stream.read(true, () => reject(err)))
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
    this.#stream.read(null, this.#hear)
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

  /** Reads for the `next` calls that wait. */
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

exports.createSource = createSource
exports.createFailedSource = createFailedSource
exports.SourceIterator = SourceIterator
