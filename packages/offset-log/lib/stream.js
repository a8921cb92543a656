'use strict'
// A pull-stream source over a range of the log, which is also async-iterable.

const { trampoline } = require('@millrace/block-file')
const { iterate } = require('./async-iterator')
const { closedError } = require('./closed-error')
const { openRange } = require('./open-range')

/**
 * @typedef {import('./log-file').LogFile} LogFile
 * @typedef {import('./range').Range} Range
 * @typedef {import('./range').ReadOptions} ReadOptions
 * @typedef {import('./open-range').Reader} Reader
 * @typedef {import('./chunk').Chunk} Chunk
 * @typedef {Error | true | null} End  null to go on, true for the end, an error for a failure
 * @typedef {(end: End, item?: any) => void} ReadCallback
 */

class RecordStream {
  /**
   * @param {LogFile} file
   * @param {Range} range
   * @param {Pick<ReadOptions, 'seqs' | 'values'>} shape
   */
  constructor (file, range, shape) {
    this._file = file
    this._range = range
    this._left = range.limit
    this._hasSeqs = shape.seqs !== false
    this._hasValues = shape.values !== false
    /** @type {Reader | null} */
    this._chunks = null
    /** @type {Chunk | null} the chunk being delivered, from `_index` on */
    this._chunk = null
    this._index = 0
    // Where the log ended when the stream was made: one that is not live ends there, one without old records begins.
    this._begunAt = 0
    // How far the log reaches, as far as this stream is concerned.
    this._fileEnd = 0
    this._rewriteCount = 0
    /** @type {End} */
    this._end = null
    /** @type {ReadCallback | null} a live stream's reader, waiting for an append */
    this._waiting = null
  }

  /** What damage took so far, under `onCorrupt: 'skip'`. */
  get lost () {
    return this._chunks?.lost ?? { count: 0, size: 0 }
  }

  /**
   * @param {End} abort
   * @param {ReadCallback} cb
   */
  read (abort, cb) {
    if (abort) return this._abort(abort, cb)
    if (this._end) return cb(this._end)
    if (this._left === 0) return this._finish(true, cb)
    if (this._chunks === null) this._open(cb)
    else if (this._hasItem()) this._deliverItem(cb)
    else this._deliver(cb)
  }

  /** Takes note of where the log ends: at the call that made the stream, or once the log is loaded. */
  begin () {
    this._begunAt = this._fileEnd = this._file.end
  }

  /** Goes on after an append, if a read is waiting for one. */
  wake () {
    const waiting = this._stopWaiting()
    if (waiting) this._deliver(waiting)
  }

  /**
   * Ends a live stream that has nothing more to wait for.
   * @param {Error | true} [end]
   */
  close (end = true) {
    const waiting = this._stopWaiting()
    if (waiting) this._finish(end, waiting)
  }

  /** @param {ReadCallback} cb */
  _open (cb) {
    const { from, stop, old, reverse } = this._range
    const range = {
      ...this._range,
      from: old ? from : Math.max(from, this._begunAt),
      stop: reverse ? Math.min(stop, this._begunAt) : stop
    }
    openRange(this._file, range, (err, chunks) => {
      if (err || !chunks) return this._fail(err, cb)
      this._chunks = chunks
      this._deliver(cb)
    })
  }

  /** @param {ReadCallback} cb */
  _deliver (cb) {
    const chunks = /** @type {Reader} */ (this._chunks)
    trampoline((next) => {
      if (this._end) return cb(this._end)
      if (this._hasItem()) return this._deliverItem(cb)
      if (this._range.live) this._fileEnd = this._file.end
      chunks.next(this._fileEnd, (err, chunk) => {
        if (this._end) return cb(this._end)
        if (err || !chunk) return this._fail(err, cb)
        if (chunk.count === 0) return this._awaitAppend(cb, next)
        try {
          chunks.applyFilter()
        } catch (err) {
          return this._finish(/** @type {Error} */ (err), cb)
        }
        this._chunk = chunk
        this._index = 0
        this._rewriteCount = this._file.blocks.rewriteCount
        next()
      })
    })
  }

  /** Whether there is a record at hand. After an overwrite those at hand may be deleted: they are read anew. */
  _hasItem () {
    if (this._chunk === null || this._index >= this._chunk.count) return false
    if (this._rewriteCount === this._file.blocks.rewriteCount) return true
    this._chunks?.rewindTo(this._index)
    this._chunk = null
    return false
  }

  /** @param {ReadCallback} cb */
  _deliverItem (cb) {
    const chunk = /** @type {Chunk} */ (this._chunk)
    const index = this._index++
    const seq = chunk.seqs[index]
    let item
    try {
      item = this._shape(chunk, index, seq)
    } catch (err) {
      return this._finish(/** @type {Error} */ (err), cb)
    }
    this._left--
    cb(null, item)
  }

  /**
   * @param {Chunk} chunk
   * @param {number} index
   * @param {number} seq
   */
  _shape ({ buffer, starts, ends }, index, seq) {
    if (this._hasSeqs && !this._hasValues) return seq
    const value = this._file.codec.decode(buffer, starts[index], ends[index], seq)
    return this._hasSeqs ? { seq, value } : value
  }

  /**
   * @param {ReadCallback} cb
   * @param {() => void} next
   */
  _awaitAppend (cb, next) {
    const chunks = /** @type {Reader} */ (this._chunks)
    if (!this._range.live || chunks.isDone || this._file.lifecycle.isClosed) return this._finish(true, cb)
    if (this._file.end > this._fileEnd) return next()
    this._waiting = cb
    this._file.waitingStreams.add(this)
    this._file.follower?.keepAlive(true)
  }

  _stopWaiting () {
    const waiting = this._waiting
    this._waiting = null
    this._file.waitingStreams.delete(this)
    if (this._file.waitingStreams.size === 0) this._file.follower?.keepAlive(false)
    return waiting
  }

  /**
   * @param {Error | null} err  from reading the file
   * @param {ReadCallback} cb
   */
  _fail (err, cb) {
    this._finish(this._file.lifecycle.isClosed ? closedError('stream', this._file.blocks.path) : err ?? true, cb)
  }

  /**
   * @param {Error | true} end
   * @param {ReadCallback} cb
   */
  _finish (end, cb) {
    this._end = end
    this._chunk = null
    cb(end)
  }

  /**
   * A read that is waiting is answered first, as the pull-stream protocol has it.
   * @param {Error | true} abort
   * @param {ReadCallback} cb
   */
  _abort (abort, cb) {
    const waiting = this._stopWaiting()
    this._end = abort
    if (waiting) waiting(abort)
    this._finish(abort, cb)
  }
}

/**
 * @param {RecordStream} stream
 * @param {(run: (err: Error | null) => void) => void} whenReady
 */
function createSource (stream, whenReady) {
  let isReady = false
  /**
   * @param {End} abort
   * @param {ReadCallback} cb
   */
  const source = (abort, cb) => {
    if (isReady || abort) return stream.read(abort, cb)
    whenReady((err) => {
      if (err) return cb(err)
      isReady = true
      stream.read(null, cb)
    })
  }
  Object.defineProperty(source, 'lost', { get: () => stream.lost })
  return Object.assign(source, { [Symbol.asyncIterator]: () => iterate(source) })
}

exports.RecordStream = RecordStream
exports.createSource = createSource
