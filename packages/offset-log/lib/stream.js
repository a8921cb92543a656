'use strict'
// Delivers the records of a range one by one, to pull-streams, async iterators and streams of Node.js.

const { nextTick } = require('node:process')
const { setImmediate } = require('node:timers')
const { TIMER_MS_MAX, LogError, misuse } = require('@millrace/errors')
const { abortError, onAbort, Piece, rethrowAsync, TimeSlice } = require('@millrace/flow')
const { closedError } = require('./errors')
const { openRange } = require('./range')

/**
 * @typedef {import('./load').LogFile} LogFile
 * @typedef {import('./range').Range} Range
 * @typedef {import('./range').ReadOptions} ReadOptions
 * @typedef {import('./load').Reader} Reader
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
  /** Whether the stream is live and has reached the end of the log once. */
  #hasCaughtUp = false
  /** Whether the read that waits keeps the process running: `#isRef` may change meanwhile. */
  #isKeeping = false
  /** @type {Reader | null} */
  #reader = null
  /** The run that is being delivered; `#index` is the next record. @type {RecordRun | null} */
  #records = null
  #index = 0
  /** The memory of the run's buffer, and where the buffer begins in it. */
  #memory = new ArrayBuffer(0)
  #memoryStart = 0
  /**
   * The end of the log when the stream was created, or when the log opened, if that was later. A stream that is not
   * live ends there; one with `old: false` begins there.
   */
  #begunAt = 0
  /** The end of the log for this stream. It moves only if the stream is live. */
  #logEnd = 0
  #rewriteCount = 0
  #slice = new TimeSlice()
  /** @type {End} */
  #end = null
  /** The callback of the read in progress. @type {ReadCallback | null} */
  #reading = null
  /** Stops listening to the signal; null if nothing listens. @type {(() => void) | null} */
  #forgetSignal = null
  /** The records that did not decode and were skipped under `onCorrupt: 'skip'`. `size` is in bytes. */
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
    // Whether the stream keeps the process running while it waits for an append. A pull-stream does not, unless asked:
    // flumedb follows its own log through live streams, and its programs must still end. An async iterator does
    // (`noteIterated`): otherwise the process would end silently in the middle of the loop.
    this.#isRef = !unref && (Boolean(ref) || file.isStrict || file.blocks.flags === 'r')
    // Values are copied after a filter: a few kept values would keep a whole buffer alive. They are also copied from a
    // backward reader: it may verify a page again whose last record the user already has, and may have written to.
    this.#keepsBytes = this.#hasValues && file.codec.keepsBytes && range.where === null && !range.reverse
    if (file.lifecycle.isOpen) this.#begunAt = this.#logEnd = file.store.logEnd
    else file.lifecycle.whenOpen(() => { this.#begunAt = this.#logEnd = file.store.logEnd })
  }

  /** The ranges lost to damage so far, under `onCorrupt: 'skip'`. `size` is in bytes. */
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
      // Decoding values, and the user's work on them, may take long.
      if (this.#slice.isOver()) return setImmediate(this.#deliver)
      if (this.#answerFromRun()) return
    }
    if (this.#reader) return this.#deliver()
    // Not at once: flumeview-reduce sets its initial value only after its first read has returned, and so would lose a
    // record that is delivered during that read.
    nextTick(this.#open)
  }

  /** Called if an async iterator or a Readable reads: the stream then keeps the process running, unless `unref`. */
  noteIterated () {
    this.#isRef = !this.#isUnref
  }

  /** Continues after an append, if a read waits for one. */
  wake () {
    if (this.#stopWaiting()) this.#deliver()
  }

  /**
   * Ends the stream if a read waits for an append. A log closes all its streams in a loop, so whoever reads one of them
   * must not end the loop.
   * @param {Error | true} [end]
   */
  close (end = true) {
    if (this.#stopWaiting()) rethrowAsync(() => this.#finish(end))
  }

  #open = () => {
    if (this.#reading === null) return
    const { lifecycle, openRange: ownOpenRange } = this.#file
    const { signal } = this.#range
    if (signal?.aborted) return this.#finish(abortError('stream', signal))
    if (signal !== null) this.#forgetSignal ??= onAbort(signal, () => this.#endBy(signal))
    // What opens readers of its own may begin what must not go on once the log is closed.
    if (lifecycle.isOpen && ownOpenRange === undefined) this.#openReader(this.#begin)
    else lifecycle.run('stream', this.#begin, (cb) => this.#openReader(cb))
  }

  /** @param {import('./load').OpenedRange} cb */
  #openReader (cb) {
    if (this.#left === 0 || this.#reading === null) return cb(null)
    const { from, stop, reverse, live, old, limit, where, skipsDamage, skipsRetained, signal } = this.#range
    // A reversed stream leaves out what was appended since its creation. For the others `stop` stays: a reader that
    // is stopped at the end of the log would not report damage after it.
    const isEarlier = reverse && this.#file.store.logEnd > this.#begunAt
    const open = this.#file.openRange ?? openRange
    // A spread would take as long as to read a record: the engine copies objects with such numbers slowly.
    open(this.#file, {
      from: old ? from : Math.max(from, this.#begunAt),
      stop: isEarlier ? Math.min(stop, this.#begunAt) : stop,
      reverse,
      live,
      old,
      limit,
      where,
      skipsDamage,
      skipsRetained,
      signal,
      keepsBytes: this.#keepsBytes
    }, cb)
  }

  /** @type {import('./load').OpenedRange} */
  #begin = (err, reader) => {
    if (this.#reading === null) return
    if (err) return this.#fail(err)
    // There is none if nothing is to be read.
    this.#reader = reader ?? null
    this.#deliver()
  }

  /** Answers the read once there is a record or the end. */
  #deliver = () => {
    // The read was aborted meanwhile.
    if (this.#reading === null) return
    if (this.#left === 0) return this.#finish(true)
    if (this.#hasRecord() && this.#answerFromRun()) return
    const reader = /** @type {Reader} */ (this.#reader)
    if (this.#range.live) this.#logEnd = this.#file.store.logEnd
    // The reader fills the run again, and what it fills in may not be delivered.
    this.#records = null
    reader.next(this.#logEnd, this.#take)
  }

  /** @type {import('./range').NextCallback} */
  #take = (err, records) => {
    if (this.#reading === null) return
    if (err || !records) return this.#fail(err)
    const reader = /** @type {Reader} */ (this.#reader)
    if (records.count === 0) return this.#awaitAppend(reader)
    const { codec, blocks } = this.#file
    const filterErr = reader.applyFilter(records, codec)
    if (filterErr) return this.#finish(filterErr)
    const { buffer } = records
    this.#records = records
    this.#index = 0
    this.#memory = /** @type {ArrayBuffer} */ (buffer.buffer)
    this.#memoryStart = buffer.byteOffset
    this.#rewriteCount = blocks.rewriteCount
    // Nothing of a run may be wanted. Many such runs may follow one another at once, and the stack must not grow.
    if (!this.#answerFromRun()) setImmediate(this.#deliver)
  }

  /** Whether the run has another record. After an overwrite its records may be deleted, so the run is read again. */
  #hasRecord () {
    if (this.#records === null || this.#index >= this.#records.count) return false
    if (this.#rewriteCount === this.#file.blocks.rewriteCount) return true
    this.#reader?.rewindTo(this.#index)
    this.#records = null
    return false
  }

  /** @returns {boolean}  false if no record left in the run decodes and all were skipped: the read still waits */
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

  /** @type {(err: unknown, records: RecordRun, index: number) => boolean} */
  #skips (err, { starts, ends }, index) {
    const { skipsDamage = this.#file.skipsDamage } = this.#range
    if (!skipsDamage || !(err instanceof LogError) || err.code !== 'ERR_CODEC_DECODE') return false
    this.undecodable.count++
    this.undecodable.size += ends[index] - starts[index]
    return true
  }

  /** @type {(records: RecordRun, index: number) => unknown} */
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

  /** @param {Reader} reader */
  #awaitAppend (reader) {
    const { lifecycle, store, waitingStreams } = this.#file
    if (!this.#range.live || reader.isDone || lifecycle.isClosed) return this.#finish(true)
    if (store.logEnd > this.#logEnd) return this.#deliver()
    const failure = this.#file.follower?.failure ?? this.#file.failure
    if (failure) return this.#finish(failure)
    // A stream that has caught up reads a few records at a time. If it kept their buffer until the next append, the
    // garbage collector would take the buffers of many streams for long-lived ones. So values are copied from now on.
    if (!this.#hasCaughtUp) reader.stopKeepingBytes()
    this.#hasCaughtUp = true
    this.#keepsBytes = false
    waitingStreams.add(this)
    this.#isKeeping = this.#isRef
    if (this.#isKeeping) keepProcess()
  }

  /** @returns {boolean}  whether a read was waiting for an append */
  #stopWaiting () {
    const wasWaiting = this.#file.waitingStreams.delete(this)
    if (wasWaiting && this.#isKeeping) releaseProcess()
    return wasWaiting
  }

  /** @param {Error | null} [err]  from reading the file */
  #fail (err) {
    const { lifecycle, blocks } = this.#file
    this.#finish(lifecycle.isClosed ? closedError('stream', blocks.path) : err ?? true)
  }

  /**
   * Delivers an error only after the read has returned: flumedb reads a failed stream again at once, without end, and
   * would never yield to the event loop.
   * @param {Error | true} end
   */
  #finish (end) {
    this.#end = end
    this.#records = null
    this.#reader?.release?.()
    if (this.#forgetSignal !== null) this.#forgetSignal()
    if (end === true) this.#answer(end)
    else setImmediate(() => this.#answer(end))
  }

  /**
   * Answers the read in progress first, as the pull-stream protocol requires.
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

  /** @param {AbortSignal} signal  aborted */
  #endBy (signal) {
    const cb = this.#reading
    const err = abortError('stream', signal)
    this.#stopWaiting()
    this.#end = err
    this.#records = null
    // A read of the file that is in progress is dropped: no callback waits for it.
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

/**
 * The live streams of a log that wait for the next append.
 * @extends {Set<RecordStream>}
 */
class WaitingStreams extends Set {
  /** They go on: there are more records to read. */
  wake () {
    for (const stream of this) nextTick(() => stream.wake())
  }

  /** They end. @param {Error | true} [end] */
  close (end) {
    for (const stream of [...this]) stream.close(end)
  }
}

// While live streams wait for an append, they keep the process running, as an open socket does.

/** How many of this thread do so. */
let keptCount = 0
/** @type {NodeJS.Timeout | undefined} */
let keeper

function keepProcess () {
  if (keptCount++ === 0) keeper = setInterval(() => {}, TIMER_MS_MAX)
}

function releaseProcess () {
  if (--keptCount === 0) clearInterval(keeper)
}

exports.RecordStream = RecordStream
exports.WaitingStreams = WaitingStreams
