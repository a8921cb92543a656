'use strict'
// Offers a log as Node.js streams, and as a pull-stream sink.

const { nextTick } = require('node:process')
const { Readable, Writable } = require('node:stream')
const { LogError, asError, checkOptions, misuse, reasonOf } = require('@millrace/errors')
const { abortError, onAbort, parseSignal, trampoline } = require('@millrace/flow')
const { parseRange } = require('./range')
const { RecordStream } = require('./stream')

/**
 * @typedef {import('./load').LogFile} LogFile
 * @typedef {import('./range').ReadOptions} ReadOptions
 * @typedef {import('./source').End} End
 * @typedef {(err: Error | null) => void} Done
 * @typedef {import('./contract').OffsetLog} Log
 */

/**
 * @typedef {object} WritableOptions
 * @property {number} [highWaterMark]  How many values may wait before `write` returns false; 128 by default.
 * @property {boolean} [flush]  True syncs the log before `'finish'`; false by default.
 * @property {AbortSignal} [signal]  An abort destroys the stream.
 */

// So many values are appended together: one write, and one sync, serves all of them.
const COUNT_MAX = 128

class RecordReadable extends Readable {
  #stream
  #isReading = false
  #forgetSignal

  /**
   * @param {Pick<RecordStream, 'read' | 'lost' | 'undecodable'>} stream
   * @param {{ highWaterMark?: number, signal: AbortSignal | null }} options
   */
  constructor (stream, { highWaterMark, signal }) {
    super({ objectMode: true, highWaterMark })
    this.#stream = stream
    // Here, because a stream of Node.js that is full or paused reads nothing, and would not hear of it.
    const abort = () => { this.destroy(abortError('toReadable', /** @type {AbortSignal} */ (signal))) }
    this.#forgetSignal = signal?.aborted ? () => {} : onAbort(signal, abort)
    if (signal?.aborted) abort()
  }

  get lost () {
    return this.#stream.lost
  }

  get undecodable () {
    return this.#stream.undecodable
  }

  _read () {
    // Node.js calls this during a read, after a push.
    if (this.#isReading) return
    this.#isReading = true
    trampoline((next) => this.#stream.read(null, (end, item) => {
      if (!end && item !== null && this.push(item)) return next()
      this.#isReading = false
      if (this.destroyed) return
      if (end === true) this.push(null)
      else if (end) this.destroy(end)
      else if (item === null) this.destroy(nullError())
    }))
  }

  /** @type {(err: Error | null, cb: Done) => void} */
  _destroy (err, cb) {
    this.#forgetSignal()
    this.#stream.read(err ?? true, () => cb(err))
  }
}

function nullError () {
  return new LogError('ERR_NOT_SUPPORTED', 'toReadable: a record holds null, with which streams of Node.js end; leave out ' +
    'seqs: false, or use log.stream')
}

/** @type {(file: LogFile, options: ReadOptions & { highWaterMark?: number }) => RecordReadable} */
function createReadable (file, options) {
  let range
  try {
    range = parseRange('toReadable', options, file.isStrict)
    parseCount('toReadable', options.highWaterMark)
  } catch (err) {
    return new RecordReadable(failingStream(asError(err, 'toReadable: an option')), { signal: null })
  }
  const { signal } = range
  const stream = new RecordStream(file, { ...range, signal: null }, options)
  stream.noteIterated()
  return new RecordReadable(stream, { highWaterMark: options.highWaterMark, signal })
}

/** @param {Error} err */
function failingStream (err) {
  const none = { count: 0, size: 0 }
  const read = (/** @type {End} */ abort, /** @type {(end: End) => void} */ cb) => cb(abort || err)
  return { read, lost: none, undecodable: none }
}

class AppendWritable extends Writable {
  #log
  #flush

  /**
   * @param {Log} log
   * @param {{ highWaterMark: number, flush: boolean, signal: AbortSignal | null }} options
   */
  constructor (log, { highWaterMark, flush, signal }) {
    super({ objectMode: true, highWaterMark, ...(signal && { signal }) })
    this.#log = log
    this.#flush = flush
  }

  /** @type {(value: unknown, encoding: string, cb: Done) => void} */
  _write (value, encoding, cb) {
    appendInOrder(this.#log, [value], cb)
  }

  /** @type {(chunks: Array<{ chunk: unknown }>, cb: Done) => void} */
  _writev (chunks, cb) {
    appendInOrder(this.#log, chunks.map(({ chunk }) => chunk), cb)
  }

  /** @param {Done} cb */
  _final (cb) {
    if (this.#flush) this.#log.sync(cb)
    else cb(null)
  }
}

/**
 * @param {Log} log
 * @param {WritableOptions} options
 * @throws {TypeError} ERR_INVALID_ARGUMENT
 */
function createWritable (log, options) {
  checkOptions('toWritable', options, ['highWaterMark', 'flush', 'signal'])
  const { highWaterMark = COUNT_MAX, flush = false } = options
  parseCount('toWritable', highWaterMark)
  if (typeof flush !== 'boolean') throw misuse(`toWritable: flush must be true or false, got ${reasonOf(flush)}`)
  return new AppendWritable(log, { highWaterMark, flush, signal: parseSignal('toWritable', options.signal) })
}

/** @type {(name: string, highWaterMark: unknown) => void} */
function parseCount (name, highWaterMark) {
  if (highWaterMark === undefined || (Number.isSafeInteger(highWaterMark) && Number(highWaterMark) >= 0)) return
  throw misuse(`${name}: highWaterMark must be a whole number, got ${reasonOf(highWaterMark)}`)
}

/**
 * Appends all items together. If one item cannot be appended, appends those before it and none after it.
 * @param {Log} log
 * @param {unknown[]} items  each a value, or an array of them as a batch
 * @param {Done} cb
 */
function appendInOrder (log, items, cb) {
  append(log, items.length === 1 ? items[0] : items.flatMap(listValues), (err) => {
    const isOfOne = err instanceof LogError && (err.index !== undefined || err.code === 'ERR_RECORD_TOO_LARGE')
    if (items.length === 1 || !isOfOne) return cb(err)
    const failed = findItem(items, err.index ?? 0)
    const appendRest = (/** @type {Error | null} */ err) => {
      // Alone, the item fails again, with its own error. If only all items together were too large, it succeeds.
      if (err) return cb(err)
      append(log, items[failed], (err) => {
        if (err || failed === items.length - 1) cb(err)
        else appendInOrder(log, items.slice(failed + 1), cb)
      })
    }
    if (failed === 0) appendRest(null)
    else appendInOrder(log, items.slice(0, failed), appendRest)
  })
}

/** With undefined for a hole, which `flat` would leave out. @type {(item: unknown) => unknown[]} */
function listValues (item) {
  return Array.isArray(item) ? Array.from(item) : [item]
}

/** Finds the item that has the value number `index`. @type {(items: unknown[], index: number) => number} */
function findItem (items, index) {
  let count = 0
  return items.findIndex((item) => {
    count += Array.isArray(item) ? item.length : 1
    return index < count
  })
}

/** Waits while the log has no room for more pending appends. @type {(log: Log, values: any, cb: Done) => void} */
function append (log, values, cb) {
  log.append(values, (err) => {
    if (err?.code !== 'ERR_LOG_OVERLOADED') return cb(err)
    log.drained((err) => err ? cb(err) : append(log, values, cb))
  })
}

/** Appends the items of a pull-stream source, and reads no faster than the log appends. */
class Intake {
  #log
  #source
  #done
  /** Items that were read but not appended yet. @type {unknown[]} */
  #items = []
  #isAppending = false
  #isReading = false
  /** How the source or an append ended; null before. @type {End} */
  #end = null
  #isDone = false

  /**
   * @param {Log} log
   * @param {(abort: End, cb: (end: End, item?: unknown) => void) => void} source
   * @param {Done} done
   */
  constructor (log, source, done) {
    this.#log = log
    this.#source = source
    this.#done = done
  }

  read () {
    trampoline((next) => {
      if (this.#isReading || this.#end || this.#items.length >= COUNT_MAX) return
      this.#isReading = true
      this.#source(null, (end, item) => {
        this.#isReading = false
        if (this.#end) return
        if (end) this.#end = end
        else this.#items.push(item)
        this.#append()
        next()
      })
    })
  }

  #append () {
    if (this.#isAppending || this.#isDone) return
    if (this.#items.length === 0) return this.#end ? this.#finish(this.#end === true ? null : this.#end) : undefined
    this.#isAppending = true
    // Items that the source delivers in one turn are appended together.
    nextTick(() => {
      const items = this.#items
      this.#items = []
      appendInOrder(this.#log, items, (err) => {
        this.#isAppending = false
        if (err) return this.#fail(err)
        this.#append()
        this.read()
      })
    })
  }

  /** @param {Error} err */
  #fail (err) {
    const hasEnded = this.#end !== null
    this.#end = err
    this.#items = []
    if (hasEnded) this.#finish(err)
    else this.#source(err, () => this.#finish(err))
  }

  /** @param {Error | null} err */
  #finish (err) {
    if (this.#isDone) return
    this.#isDone = true
    this.#done(err)
  }
}

/**
 * @param {Log} log
 * @param {unknown} [done]
 * @throws {TypeError} ERR_INVALID_ARGUMENT
 */
function createSink (log, done = throwAsync) {
  if (typeof done !== 'function') throw misuse(`toSink: expected a callback or nothing, got ${typeof done}`)
  return (/** @type {any} */ source) => new Intake(log, source, /** @type {Done} */ (done)).read()
}

/** Without a callback, an error must still not be lost. @type {Done} */
function throwAsync (err) {
  if (err) nextTick(() => { throw err })
}

exports.createReadable = createReadable
exports.createWritable = createWritable
exports.createSink = createSink
