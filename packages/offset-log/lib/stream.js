'use strict'
// A pull-stream source over a range of the log, which is also async-iterable.

const { LogError, misuse } = require('@millrace/errors')
const { Piece, TimeSlice, trampoline } = require('@millrace/flow')
const { closedError } = require('./errors')
const { openRange } = require('./range')
const { applyFilter } = require('./record-run')

/**
 * @typedef {import('./load').LogFile} LogFile
 * @typedef {import('./range').Range} Range
 * @typedef {import('./range').ReadOptions} ReadOptions
 * @typedef {import('./range').RangeReader} Reader
 * @typedef {import('./record-run').RecordRun} RecordRun
 * @typedef {Error | true | null} End  null to go on, true for the end, an error for a failure
 * @typedef {(end: End, item?: any) => void} ReadCallback
 * @typedef {(run: (err: Error | null) => void) => void} WhenReady  runs it once the log is loaded, or failed to
 */

class RecordStream {
  /**
   * @param {LogFile} file
   * @param {Range} range
   * @param {Pick<ReadOptions, 'seqs' | 'values' | 'ref' | 'unref'>} shape
   */
  constructor (file, range, shape) {
    this._file = file
    this._range = range
    this._left = range.limit
    this._hasSeqs = shape.seqs !== false
    this._hasValues = shape.values !== false
    /**
     * Whether the process must not end while this waits for an append. flumedb reads the log it writes through live
     * streams, and its programs are to end all the same; but a loop over an async iterator is never left in silence.
     */
    this.isRef = !shape.unref && (Boolean(shape.ref) || file.blocks.flags === 'r')
    this._isUnref = Boolean(shape.unref)
    /** The records that do not decode, under `onCorrupt: 'skip'`: how many so far, and their bytes. */
    this.undecodable = { count: 0, size: 0 }
    // A filter leaves a few of a buffer's records: these are copied. And who goes back verifies a page again whose last
    // record was delivered, and perhaps written to.
    this._keepsBytes = this._hasValues && file.codec.keepsBytes && range.where === null && !range.reverse
    // Whether it is live and has come to the log's end once.
    this._isSettled = false
    /** @type {Reader | null} */
    this._reader = null
    /** @type {RecordRun | null} the run being delivered, from `_index` on */
    this._records = null
    this._index = 0
    // What the run's bytes lie in, and where in it they begin.
    this._memory = new ArrayBuffer(0)
    this._memoryStart = 0
    // Where the log ended when the stream was made: one that is not live ends there, one without old records begins.
    this._begunAt = 0
    // How far the log reaches, as far as this stream is concerned.
    this._fileEnd = 0
    this._rewriteCount = 0
    this._slice = new TimeSlice()
    /** @type {End} */
    this._end = null
    /** @type {ReadCallback | null} of the read that was not answered yet */
    this._reading = null
  }

  /** What damage took so far, under `onCorrupt: 'skip'`. */
  get lost () {
    return this._reader?.lost ?? { count: 0, size: 0 }
  }

  /**
   * @param {End} abort
   * @param {ReadCallback} cb
   * @param {WhenReady} whenReady
   */
  read (abort, cb, whenReady) {
    if (abort) return this._abort(abort, cb)
    if (this._end) return cb(this._end)
    if (this._reading) return cb(misuse('stream: read again before the read before was answered'))
    if (this._left > 0 && this._hasItem()) {
      if (!this._slice.isOver()) return this._deliverItem(cb) || this._deliver()
      // To decode values, and what is done with them, may take long.
      this._reading = cb
      return setImmediate(() => this._deliver())
    }
    this._reading = cb
    if (this._reader) return this._deliver()
    // flumeview-reduce begins to read, and then sets the value that it begins with: what comes before that is lost.
    process.nextTick(() => whenReady((err) => this._open(err)))
  }

  /** It is read by an async iterator. */
  noteIterated () {
    this.isRef = !this._isUnref
  }

  /** Takes note of where the log ends: at the call that made the stream, or once the log is loaded. */
  begin () {
    this._begunAt = this._fileEnd = this._file.end
  }

  /** Goes on after an append, if a read is waiting for one. */
  wake () {
    if (this._stopWaiting()) this._deliver()
  }

  /**
   * Ends a live stream that has nothing more to wait for.
   * @param {Error | true} [end]
   */
  close (end = true) {
    if (this._stopWaiting()) this._finish(end)
  }

  /** @param {Error | null} err  why the log cannot be read */
  _open (err) {
    if (!this._reading) return
    if (err) return this._finish(err)
    if (this._left === 0) return this._finish(true)
    const { from, stop, old, reverse } = this._range
    // What was appended since is not for a reversed stream. Behind the end of others there may be damage to tell of.
    const isEarlier = reverse && this._file.end > this._begunAt
    const range = {
      ...this._range,
      isKept: this._keepsBytes,
      from: old ? from : Math.max(from, this._begunAt),
      stop: isEarlier ? Math.min(stop, this._begunAt) : stop
    }
    openRange(this._file, range, (err, reader) => {
      if (err || !reader) return this._fail(err)
      this._reader = reader
      this._deliver()
    })
  }

  _deliver () {
    const reader = /** @type {Reader} */ (this._reader)
    trampoline((next) => {
      const cb = this._reading
      // It was aborted meanwhile.
      if (cb === null) return
      if (this._left === 0) return this._finish(true)
      if (this._hasItem()) {
        this._reading = null
        return this._deliverItem(cb) || next()
      }
      if (this._range.live) this._fileEnd = this._file.end
      reader.next(this._fileEnd, (err, records) => {
        if (this._reading === null) return
        if (err || !records) return this._fail(err)
        if (records.count === 0) return this._awaitAppend(next)
        const filterErr = applyFilter(reader, this._file.codec)
        if (filterErr) return this._finish(filterErr)
        this._take(records)
        this._rewriteCount = this._file.blocks.rewriteCount
        next()
      })
    })
  }

  /** @param {RecordRun} records */
  _take (records) {
    const { buffer } = records
    this._records = records
    this._index = 0
    this._memory = /** @type {ArrayBuffer} */ (buffer.buffer)
    this._memoryStart = buffer.byteOffset
  }

  /** Whether there is a record at hand. After an overwrite those at hand may be deleted: they are read anew. */
  _hasItem () {
    if (this._records === null || this._index >= this._records.count) return false
    if (this._rewriteCount === this._file.blocks.rewriteCount) return true
    this._reader?.rewindTo(this._index)
    this._records = null
    return false
  }

  /**
   * @param {ReadCallback} cb
   * @returns {boolean}  false if all that is left of the run does not decode, and was skipped: the read still waits
   */
  _deliverItem (cb) {
    const records = /** @type {RecordRun} */ (this._records)
    while (this._index < records.count) {
      const index = this._index++
      let item
      try {
        item = this._shape(records, index)
      } catch (err) {
        if (this._skips(err, records, index)) continue
        this._reading = cb
        this._finish(/** @type {Error} */ (err))
        return true
      }
      this._left--
      cb(null, item)
      return true
    }
    this._reading = cb
    return false
  }

  /**
   * @param {unknown} err
   * @param {RecordRun} records
   * @param {number} index
   */
  _skips (err, { starts, ends }, index) {
    const { _range: { skipsDamage = this._file.skipsDamage }, undecodable } = this
    if (!skipsDamage || !(err instanceof LogError) || err.code !== 'ERR_CODEC_DECODE') return false
    undecodable.count++
    undecodable.size += ends[index] - starts[index]
    return true
  }

  /**
   * @param {RecordRun} records
   * @param {number} index
   */
  _shape ({ buffer, seqs, starts, ends }, index) {
    const seq = seqs[index]
    if (this._hasSeqs && !this._hasValues) return seq
    const { codec } = this._file
    const value = this._keepsBytes
      ? codec.decodeKept(this._cut(starts[index], ends[index]), seq)
      : codec.decode(buffer, starts[index], ends[index], seq)
    return this._hasSeqs ? { seq, value } : value
  }

  /**
   * @param {number} start
   * @param {number} end
   * @returns {Buffer}  these bytes of the run, without a copy
   */
  _cut (start, end) {
    return new Piece(this._memory, this._memoryStart + start, end - start)
  }

  /** @param {() => void} next */
  _awaitAppend (next) {
    const reader = /** @type {Reader} */ (this._reader)
    if (!this._range.live || reader.isDone || this._file.lifecycle.isClosed) return this._finish(true)
    if (this._file.end > this._fileEnd) return next()
    this._settleAtEnd(reader)
    this._file.waitingStreams.add(this)
    if (this.isRef) this._file.keepAlive.hold()
  }

  /**
   * What a stream reads that has caught up is a few records at a time, and the buffer of each time would be there until
   * the next: with many such streams long enough to be taken for one that stays. So the records are copied.
   * @param {Reader} reader
   */
  _settleAtEnd (reader) {
    if (this._isSettled) return
    this._isSettled = true
    this._keepsBytes = false
    reader.settleAtEnd()
  }

  /** @returns {boolean}  whether a read was waiting for an append */
  _stopWaiting () {
    const wasWaiting = this._file.waitingStreams.delete(this)
    if (wasWaiting && this.isRef) this._file.keepAlive.release()
    return wasWaiting
  }

  /** @param {Error | null} [err]  from reading the file */
  _fail (err) {
    this._finish(this._file.lifecycle.isClosed ? closedError('stream', this._file.blocks.path) : err ?? true)
  }

  /**
   * An error never comes before the read has returned: flumedb reads a stream that failed anew, at once and for ever.
   * @param {Error | true} end
   */
  _finish (end) {
    this._end = end
    this._records = null
    if (end === true) this._answer(end)
    else setImmediate(() => this._answer(end))
  }

  /**
   * A read that is not answered yet is answered first, as the pull-stream protocol has it.
   * @param {Error | true} abort
   * @param {ReadCallback} cb
   */
  _abort (abort, cb) {
    this._stopWaiting()
    this._end = abort
    this._records = null
    this._answer(abort)
    cb(abort)
  }

  /** @param {Error | true} end */
  _answer (end) {
    const cb = this._reading
    this._reading = null
    if (cb) cb(end)
  }
}

/**
 * @param {RecordStream} stream
 * @param {WhenReady} whenReady
 */
function createSource (stream, whenReady) {
  /**
   * @param {End | false} abort
   * @param {ReadCallback} [cb]  some who abort pass none. Without a default: pull-stream tells a source from what may
   *   follow it by its two parameters
   */
  const source = (abort, cb) => stream.read(abort || null, cb ?? ignore, whenReady)
  Object.defineProperty(source, 'lost', { get: () => stream.lost })
  Object.defineProperty(source, 'undecodable', { get: () => stream.undecodable })
  return Object.assign(source, {
    [Symbol.asyncIterator]: () => {
      stream.noteIterated()
      return iterate(source)
    }
  })
}

function ignore () {}

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

// Keeps the process running while somebody waits for a record that is yet to be appended, as an open socket would.

// Node.js knows no longer intervals.
const INTERVAL_MS = 2 ** 31 - 1

class KeepAlive {
  constructor () {
    this._count = 0
    /** @type {NodeJS.Timeout | undefined} */
    this._timer = undefined
  }

  /** One more waits. */
  hold () {
    if (this._count++ === 0) this._timer = setInterval(() => {}, INTERVAL_MS)
  }

  /** One waits no more. */
  release () {
    if (--this._count === 0) clearInterval(this._timer)
  }
}

exports.RecordStream = RecordStream
exports.createSource = createSource
exports.iterate = iterate
exports.KeepAlive = KeepAlive
