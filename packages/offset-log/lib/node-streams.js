'use strict'
// A log as streams of Node.js, and as a pull-stream sink.

const { Readable, Writable } = require('node:stream')
const { LogError, asError, misuse } = require('@millrace/errors')
const { parseSignal, trampoline } = require('@millrace/flow')
const { checkNames } = require('./options')
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
 * @property {number} [highWaterMark]  how many values may wait before `write` returns false; 128 by default
 * @property {boolean} [flush]  true syncs the log before the stream has finished; false by default
 * @property {AbortSignal} [signal]  destroys the stream
 */

// Appended together: so one write, and one sync, serves all of them.
const COUNT_MAX = 128

class RecordReadable extends Readable {
  #stream
  #isReading = false

  /**
   * @param {Pick<RecordStream, 'read' | 'lost' | 'undecodable'>} stream
   * @param {number} [highWaterMark]
   */
  constructor (stream, highWaterMark) {
    super({ objectMode: true, highWaterMark })
    this.#stream = stream
  }

  get lost () {
    return this.#stream.lost
  }

  get undecodable () {
    return this.#stream.undecodable
  }

  _read () {
    // Node.js asks again while a read is under way, after a push.
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
    this.#stream.read(err ?? true, () => cb(err))
  }
}

function nullError () {
  return new LogError('ERR_NOT_SUPPORTED', 'toReadable: a record holds null, with which streams of Node.js end; leave out ' +
    'seqs: false, or use log.stream')
}

/**
 * @param {LogFile} file
 * @param {ReadOptions & { highWaterMark?: number }} options
 */
function createReadable (file, options) {
  let stream
  try {
    const range = parseRange('toReadable', options, file.isStrict)
    parseCount('toReadable', options.highWaterMark)
    stream = new RecordStream(file, range, options)
    stream.noteIterated()
  } catch (err) {
    return new RecordReadable(failingStream(asError(err, 'toReadable: an option')))
  }
  return new RecordReadable(stream, options.highWaterMark)
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
  if (options === null || typeof options !== 'object') throw misuse(`toWritable: expected options, got ${String(options)}`)
  checkNames('toWritable', options, ['highWaterMark', 'flush', 'signal'])
  const { highWaterMark = COUNT_MAX, flush = false } = options
  parseCount('toWritable', highWaterMark)
  if (typeof flush !== 'boolean') throw misuse(`toWritable: flush must be true or false, got ${String(flush)}`)
  return new AppendWritable(log, { highWaterMark, flush, signal: parseSignal('toWritable', options.signal) })
}

/**
 * @param {string} name  of the call
 * @param {unknown} highWaterMark
 */
function parseCount (name, highWaterMark) {
  if (highWaterMark === undefined || (Number.isSafeInteger(highWaterMark) && Number(highWaterMark) >= 0)) return
  throw misuse(`${name}: highWaterMark must be a whole number, got ${String(highWaterMark)}`)
}

/**
 * Appends all of them together, or if one cannot be appended those before it, and nothing behind it.
 * @param {Log} log
 * @param {unknown[]} items  each a value, or an array of them as a batch
 * @param {Done} cb
 */
function appendInOrder (log, items, cb) {
  append(log, items.length === 1 ? items[0] : items.flat(1), (err) => {
    const isOfOne = err instanceof LogError && (err.index !== undefined || err.code === 'ERR_RECORD_TOO_LARGE')
    if (items.length === 1 || !isOfOne) return cb(err)
    const failed = findItem(items, err.index ?? 0)
    const appendRest = (/** @type {Error | null} */ err) => {
      // It fails anew, as itself, unless all of them were too much together.
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

/**
 * @param {unknown[]} items
 * @param {number} index  of a value, among those of all items
 */
function findItem (items, index) {
  let count = 0
  return items.findIndex((item) => {
    count += Array.isArray(item) ? item.length : 1
    return index < count
  })
}

/**
 * @param {Log} log
 * @param {any} values
 * @param {Done} cb
 */
function append (log, values, cb) {
  log.append(values, (err) => {
    if (err?.code !== 'ERR_LOG_OVERLOADED') return cb(err)
    log.drained((err) => err ? cb(err) : append(log, values, cb))
  })
}

/** Reads a source as fast as the log takes what it gives. */
class Intake {
  #log
  #source
  #done
  /** What was read and not appended. @type {unknown[]} */
  #items = []
  #isAppending = false
  #isReading = false
  /** How the source has ended. @type {End} */
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
    // What the source gives at once goes together.
    process.nextTick(() => {
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

/** @type {Done} an error that nobody asks for must not be lost */
function throwAsync (err) {
  if (err) process.nextTick(() => { throw err })
}

exports.createReadable = createReadable
exports.createWritable = createWritable
exports.createSink = createSink
