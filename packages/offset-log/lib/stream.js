'use strict'
// A range of the log, record by record: what pull-streams, async iterators and streams of Node.js read.

const { LogError, misuse } = require('@millrace/errors')
const { abortError, onAbort, Piece, TimeSlice, trampoline } = require('@millrace/flow')
const { closedError } = require('./errors')
const { openRange } = require('./range')

/**
 * @typedef {import('./load').LogFile} LogFile
 * @typedef {import('./range').Range} Range
 * @typedef {import('./range').ReadOptions} ReadOptions
 * @typedef {import('./range').RangeReader} Reader
 * @typedef {import('./record-run').RecordRun} RecordRun
 * @typedef {import('./source').End} End
 * @typedef {import('./source').Answer} ReadCallback
 */

class RecordStream {
  #file
  #range
  #left
  #hasSeqs
  #hasValues
  #isUnref
  #isRef
  #keepsBytes
  /** Whether it is live and has come to the log's end once. */
  #hasCaughtUp = false
  /** @type {Reader | null} */
  #reader = null
  /** The run being delivered, from `#index` on. @type {RecordRun | null} */
  #records = null
  #index = 0
  /** What the run's bytes lie in, and where in it they begin. */
  #memory = new ArrayBuffer(0)
  #memoryStart = 0
  /** Where the log ended when the stream was made: one that is not live ends there, one without old records begins. */
  #begunAt = 0
  /** How far the log reaches, as far as this stream is concerned. */
  #logEnd = 0
  #rewriteCount = 0
  #slice = new TimeSlice()
  /** @type {End} */
  #end = null
  /** Of the read that was not answered yet. @type {ReadCallback | null} */
  #reading = null
  /** Its signal need not tell it any more. @type {(() => void) | null} null while no signal is listened to */
  #forgetSignal = null
  /** The records that do not decode, under `onCorrupt: 'skip'`: how many so far, and their bytes. */
  undecodable = { count: 0, size: 0 }

  /**
   * @param {LogFile} file
   * @param {Range} range
   * @param {Pick<ReadOptions, 'seqs' | 'values' | 'ref' | 'unref'>} shape
   */
  constructor (file, range, { seqs, values, ref, unref }) {
    this.#file = file
    this.#range = range
    this.#left = range.limit
    this.#hasSeqs = seqs !== false
    this.#hasValues = values !== false
    this.#isUnref = Boolean(unref)
    // Whether the process must not end while this waits for an append. flumedb reads the log it writes through live
    // streams, and its programs are to end all the same; but a loop over an async iterator is never left in silence.
    this.#isRef = !unref && (Boolean(ref) || file.isStrict || file.blocks.flags === 'r')
    // A filter leaves a few of a buffer's records: these are copied. And who goes back verifies a page again whose last
    // record was delivered, and perhaps written to.
    this.#keepsBytes = this.#hasValues && file.codec.keepsBytes && range.where === null && !range.reverse
    file.lifecycle.whenOpen(() => { this.#begunAt = this.#logEnd = file.end })
  }

  /** What damage took so far, under `onCorrupt: 'skip'`. */
  get lost () {
    return this.#reader?.lost ?? { count: 0, size: 0 }
  }

  /**
   * @param {End} abort
   * @param {ReadCallback} cb
   */
  read (abort, cb) {
    if (abort) return this.#abort(abort, cb)
    if (this.#end) return cb(this.#end)
    if (this.#reading) return cb(misuse('stream: a second read was requested before the first one finished'))
    this.#reading = cb
    if (this.#left > 0 && this.#hasRecord()) {
      // To decode values, and what is done with them, may take long.
      if (this.#slice.isOver()) return setImmediate(() => this.#deliver())
      if (this.#answerFromRun()) return
    }
    if (this.#reader) return this.#deliver()
    // flumeview-reduce begins to read, and then sets the value that it begins with: what comes before that is lost.
    process.nextTick(() => this.#open())
  }

  /** It is read by an async iterator. */
  noteIterated () {
    this.#isRef = !this.#isUnref
  }

  /** Goes on after an append, if a read is waiting for one. */
  wake () {
    if (this.#stopWaiting()) this.#deliver()
  }

  /**
   * Ends a live stream that has nothing more to wait for.
   * @param {Error | true} [end]
   */
  close (end = true) {
    if (this.#stopWaiting()) this.#finish(end)
  }

  #open () {
    if (this.#reading === null) return
    const { lifecycle } = this.#file
    const { signal } = this.#range
    if (signal?.aborted) return this.#finish(abortError('stream', signal))
    if (signal !== null) this.#forgetSignal ??= onAbort(signal, () => this.#endBy(signal))
    lifecycle.run('stream', (err, reader) => {
      if (this.#reading === null) return
      if (err) return this.#fail(err)
      this.#reader = reader
      this.#deliver()
    }, (/** @type {(err: Error | null, reader?: any) => void} */ cb) => {
      if (this.#left === 0 || this.#reading === null) return cb(null)
      const { from, stop, old, reverse } = this.#range
      // What was appended since is not for a reversed stream. Behind the end of others there may be damage to tell of.
      const isEarlier = reverse && this.#file.end > this.#begunAt
      openRange(this.#file, {
        ...this.#range,
        keepsBytes: this.#keepsBytes,
        from: old ? from : Math.max(from, this.#begunAt),
        stop: isEarlier ? Math.min(stop, this.#begunAt) : stop
      }, cb)
    })
  }

  /** Answers the read as soon as there is a record, or the end. */
  #deliver () {
    trampoline((next) => {
      // It was aborted meanwhile.
      if (this.#reading === null) return
      if (this.#left === 0) return this.#finish(true)
      if (this.#hasRecord()) return this.#answerFromRun() || next()
      const { codec, blocks, end } = this.#file
      const reader = /** @type {Reader} */ (this.#reader)
      if (this.#range.live) this.#logEnd = end
      reader.next(this.#logEnd, (err, records) => {
        if (this.#reading === null) return
        if (err || !records) return this.#fail(err)
        if (records.count === 0) return this.#awaitAppend(reader, next)
        const filterErr = reader.applyFilter(records, codec)
        if (filterErr) return this.#finish(filterErr)
        const { buffer } = records
        this.#records = records
        this.#index = 0
        this.#memory = /** @type {ArrayBuffer} */ (buffer.buffer)
        this.#memoryStart = buffer.byteOffset
        this.#rewriteCount = blocks.rewriteCount
        next()
      })
    })
  }

  /** Whether there is a record at hand. After an overwrite those at hand may be deleted: they are read anew. */
  #hasRecord () {
    if (this.#records === null || this.#index >= this.#records.count) return false
    if (this.#rewriteCount === this.#file.blocks.rewriteCount) return true
    this.#reader?.rewindTo(this.#index)
    this.#records = null
    return false
  }

  /** @returns {boolean}  false if all that is left of the run does not decode, and was skipped: the read still waits */
  #answerFromRun () {
    const records = /** @type {RecordRun} */ (this.#records)
    while (this.#index < records.count) {
      const index = this.#index++
      let item
      try {
        item = this.#decode(records, index)
      } catch (err) {
        if (this.#skips(err, records, index)) continue
        this.#finish(/** @type {Error} */ (err))
        return true
      }
      const cb = /** @type {ReadCallback} */ (this.#reading)
      this.#reading = null
      this.#left--
      cb(null, item)
      return true
    }
    return false
  }

  /**
   * @param {unknown} err
   * @param {RecordRun} records
   * @param {number} index
   */
  #skips (err, { starts, ends }, index) {
    const { skipsDamage = this.#file.skipsDamage } = this.#range
    if (!skipsDamage || !(err instanceof LogError) || err.code !== 'ERR_CODEC_DECODE') return false
    this.undecodable.count++
    this.undecodable.size += ends[index] - starts[index]
    return true
  }

  /**
   * @param {RecordRun} records
   * @param {number} index
   */
  #decode ({ buffer, seqs, starts, ends }, index) {
    const seq = seqs[index]
    if (this.#hasSeqs && !this.#hasValues) return seq
    const { codec } = this.#file
    const start = starts[index]
    const end = ends[index]
    const value = this.#keepsBytes
      ? codec.decodeKept(new Piece(this.#memory, this.#memoryStart + start, end - start), seq)
      : codec.decode(buffer, start, end, seq)
    return this.#hasSeqs ? { seq, value } : value
  }

  /**
   * @param {Reader} reader
   * @param {() => void} next
   */
  #awaitAppend (reader, next) {
    const { lifecycle, end, waitingStreams, keepAlive } = this.#file
    if (!this.#range.live || reader.isDone || lifecycle.isClosed) return this.#finish(true)
    if (end > this.#logEnd) return next()
    // What a stream reads that has caught up is a few records at a time, and the buffer of each time would be there
    // until the next: with many such streams long enough to be taken for one that stays. So the records are copied.
    if (!this.#hasCaughtUp) reader.stopKeepingBytes()
    this.#hasCaughtUp = true
    this.#keepsBytes = false
    waitingStreams.add(this)
    if (this.#isRef) keepAlive.hold()
  }

  /** @returns {boolean}  whether a read was waiting for an append */
  #stopWaiting () {
    const { waitingStreams, keepAlive } = this.#file
    const wasWaiting = waitingStreams.delete(this)
    if (wasWaiting && this.#isRef) keepAlive.release()
    return wasWaiting
  }

  /** @param {Error | null} [err]  from reading the file */
  #fail (err) {
    const { lifecycle, blocks } = this.#file
    this.#finish(lifecycle.isClosed ? closedError('stream', blocks.path) : err ?? true)
  }

  /**
   * An error never comes before the read has returned: flumedb reads a stream that failed anew, at once and for ever.
   * @param {Error | true} end
   */
  #finish (end) {
    this.#end = end
    this.#records = null
    if (this.#forgetSignal !== null) this.#forgetSignal()
    if (end === true) this.#answer(end)
    else setImmediate(() => this.#answer(end))
  }

  /**
   * A read that is not answered yet is answered first, as the pull-stream protocol has it.
   * @param {Error | true} abort
   * @param {ReadCallback} cb
   */
  #abort (abort, cb) {
    this.#stopWaiting()
    this.#end = abort
    this.#records = null
    if (this.#forgetSignal !== null) this.#forgetSignal()
    this.#answer(abort)
    cb(abort)
  }

  /** @param {AbortSignal} signal  that was aborted */
  #endBy (signal) {
    const cb = this.#reading
    const err = abortError('stream', signal)
    this.#stopWaiting()
    this.#end = err
    this.#records = null
    // What is being read from the file finds that nobody waits for it.
    this.#reading = null
    if (cb) setImmediate(cb, err)
  }

  /** @param {Error | true} end */
  #answer (end) {
    const cb = this.#reading
    this.#reading = null
    if (cb) cb(end)
  }
}

// Keeps the process running while somebody waits for a record that is yet to be appended, as an open socket would.

// Node.js knows no longer intervals.
const INTERVAL_MS = 2 ** 31 - 1

class KeepAlive {
  #count = 0
  /** @type {NodeJS.Timeout | undefined} */
  #timer

  /** One more waits. */
  hold () {
    if (this.#count++ === 0) this.#timer = setInterval(() => {}, INTERVAL_MS)
  }

  /** One waits no more. */
  release () {
    if (--this.#count === 0) clearInterval(this.#timer)
  }
}

exports.RecordStream = RecordStream
exports.KeepAlive = KeepAlive
