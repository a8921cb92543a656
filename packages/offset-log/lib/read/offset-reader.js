'use strict'
// Goes through the frames of a range in either direction, and delivers the undeleted records a run at a time.

const { trampoline } = require('@millrace/flow')
const { RecordRun } = require('../record-run')

/**
 * @typedef {import('../offset-store').OffsetStore} OffsetStore
 * @typedef {import('@millrace/framing').Walk} Walk
 */

class OffsetReader {
  /**
   * @param {OffsetStore} store
   * @param {import('./record-reader').StoreRange} range
   * @param {number} position  where to begin: a frame's start going forward, a frame's end going backward
   */
  constructor (store, { from, stop, reverse, keepsBytes }, position) {
    this._store = store
    /** Where it began. */
    this.begunAt = position
    this._from = from
    this._stop = stop
    this._reverse = reverse
    this._window = store.blocks.createSpanReader({ givesBuffers: keepsBytes })
    this._rewriteCount = store.blocks.rewriteCount
    /** @type {DataView} */
    this._view = new DataView(new ArrayBuffer(0))
    this._records = new RecordRun()
    /** These framings do not say where the next record begins, so nothing is skipped. */
    this.lost = { count: 0, size: 0 }
    /** @type {Walk} */
    this._walk = { position, need: 0, error: null, maxRecordSize: store.maxRecordSize }
  }

  /** From now on the bytes of runs may not be kept: it has come to the end, and will wait there. */
  stopKeepingBytes () {
    this._window.settle()
  }

  /** Where the next frame begins, or ends when going backward. */
  get position () {
    return this._walk.position
  }

  /** Whether no record of the range can follow, now or later. */
  get isDone () {
    return this._reverse ? this._walk.position <= this._from : this._walk.position >= this._stop
  }

  /**
   * Whether it has come to the frame of that seq: what seemed to be one from behind may be bytes of a record.
   * @param {number} seq
   */
  hasMet (seq) {
    return this._walk.position === seq
  }

  /** Nobody keeps count of them. */
  countErasedBefore () {
    return null
  }

  /**
   * Goes on from a record that `next` delivered, with its bytes read anew.
   * @param {number} index  in the run
   */
  rewindTo (index) {
    const { seqs, starts, ends } = this._records
    const size = ends[index] - starts[index]
    this._walk.position = this._reverse ? seqs[index] + size + this._store.framing.overhead : seqs[index]
    this._window.forget()
  }

  /**
   * @param {number} fileEnd  going forward: how far the log reaches
   * @param {(err: Error | null, records?: RecordRun) => void} cb  the run is good until the next call, and empty only
   *   when nothing is left. Damage comes after the records before it. May run before `next` returns
   */
  next (fileEnd, cb) {
    const records = this._records
    records.clear()
    this._forgetIfStale()
    if (this._reverse && this._meetsDamage) return cb(this._store.damage)
    for (;;) {
      this._walkWindow(fileEnd)
      if (records.count > 0) return cb(null, records)
      if (this._walk.error) return cb(this._walk.error)
      if (this._walk.need === 0) {
        if (this._isAtEnd(fileEnd)) return this._meetsDamage ? cb(this._store.damage) : cb(null, records)
        continue
      }
      if (!this._reverse && this._window.loadForwardNow(this._walk.position, this._walk.need, fileEnd)) continue
      let isLoaded = false
      let isSync = true
      this._load(fileEnd, (err) => {
        if (err) return cb(err)
        isLoaded = true
        if (!isSync) this.next(fileEnd, cb)
      })
      isSync = false
      if (!isLoaded) return
    }
  }

  /** What of the range is still to be delivered. */
  get left () {
    return { lowest: this._from, stop: this._stop }
  }

  /** What was read before an overwrite may be deleted by now. */
  _forgetIfStale () {
    const { rewriteCount } = this._store.blocks
    if (rewriteCount !== this._rewriteCount) this._window.forget()
    this._rewriteCount = rewriteCount
  }

  /** Whether the range reaches past the end, to what is damaged there. */
  get _meetsDamage () {
    return this._store.damage !== null && this._stop > this._store.end
  }

  /** @param {number} fileEnd */
  _walkWindow (fileEnd) {
    const { _window: window, _walk: walk, _records: records } = this
    const { framing } = this._store
    if (this._view.buffer !== window.buffer.buffer) this._view = new DataView(window.buffer.buffer)
    if (window.start > walk.position || window.end < walk.position || window.start === window.end) {
      walk.need = this._isAtEnd(fileEnd) ? 0 : framing.overhead
      return
    }
    records.buffer = window.buffer
    if (this._reverse) framing.walkBackward(window, this._view, walk, this._from, records)
    else framing.walkForward(window, this._view, walk, this._stop, fileEnd, records)
    // A bound past the old end of a live log: the walk began below it.
    if (!this._reverse && records.count > 0 && records.seqs[0] < this._from) {
      records.filter((buf, start, end, seq) => seq >= this._from)
    }
  }

  /** @param {number} fileEnd */
  _isAtEnd (fileEnd) {
    return this._reverse ? this.isDone : this._walk.position >= Math.min(this._stop, fileEnd)
  }

  /**
   * @param {number} fileEnd
   * @param {(err: Error | null) => void} cb
   */
  _load (fileEnd, cb) {
    const { position, need } = this._walk
    if (this._reverse) this._window.loadBackward(position, need, 0, cb)
    else this._window.loadForward(position, need, fileEnd, cb)
  }
}

// Finds the frame boundary that a bound stands for, also when the bound falls between records.

const NO_FRAME = -1

/**
 * @param {OffsetStore} store
 * @param {number} bound  any number
 * @param {(err: Error | null, position?: number) => void} cb  the first frame boundary at or after the bound: a frame's
 *   start, or the end of the log
 */
function locateBoundary (store, bound, cb) {
  if (bound <= 0) return cb(null, 0)
  if (bound >= store.end) return cb(null, store.end)
  // Nearly every bound is a seq, or one more: `gt` and `lte` ask for what comes after the record that they name.
  findFrameEnd(store, bound, (err, frameEnd) => {
    if (err || frameEnd !== NO_FRAME) return cb(err, bound)
    findFrameEnd(store, bound - 1, (err, frameEnd) => {
      if (err || frameEnd !== NO_FRAME) return cb(err, frameEnd)
      locateByWalking(store, bound, cb)
    })
  })
}

/**
 * @param {OffsetStore} store
 * @param {number} position
 * @param {(err: Error | null, frameEnd?: number) => void} cb  where the frame ends that begins here, or NO_FRAME
 */
function findFrameEnd (store, position, cb) {
  const { blocks, framing, end } = store
  isBoundary(store, position, (err, isOne) => {
    if (err || !isOne) return cb(err, NO_FRAME)
    blocks.readUInt32BE(position, (err, size = 0) => {
      const frameEnd = position + size + framing.overhead
      if (err || frameEnd > end) return cb(err, NO_FRAME)
      blocks.read(frameEnd - framing.trailerSize, frameEnd, (err, trailer) => {
        if (err || !trailer) return cb(err)
        const agrees = trailer.readUInt32BE(0) === size && framing.isEndIn(trailer, frameEnd)
        cb(null, agrees ? frameEnd : NO_FRAME)
      })
    })
  })
}

/**
 * Whether a frame begins at the position as far as the bytes before it tell: one ends there.
 * @param {OffsetStore} store
 * @param {number} position
 * @param {(err: Error | null, isOne?: boolean) => void} cb
 */
function isBoundary ({ blocks, framing, end }, position, cb) {
  if (position < framing.overhead || position + framing.overhead > end) return cb(null, position === 0)
  blocks.read(position - framing.endSize, position, (err, bytes) => {
    if (err || !bytes) return cb(err)
    cb(null, framing.isEndIn(bytes, position))
  })
}

/**
 * Nothing inside a record tells where it is, so the frames are walked from the start of the log: slow, and right.
 * @param {OffsetStore} store
 * @param {number} bound
 * @param {(err: Error | null, position?: number) => void} cb
 */
function locateByWalking (store, bound, cb) {
  const { end } = store
  const reader = new OffsetReader(store, { from: 0, stop: bound, reverse: false }, 0)
  trampoline((next) => {
    reader.next(end, (err, records) => {
      if (err || !records) return cb(err)
      if (records.count === 0) cb(null, reader.position)
      else next()
    })
  })
}

// Where a log of these framings can be partitioned, to be read by two threads: at a place that looks like the end of a
// frame. Bytes inside a record may look like that too: who reads up to there must say whether it is one.

// Records larger than this rarely begin a partition.
const DISTANCE_MAX = 1024 * 1024
// Nor where as much as this looks like the end of one, and is none.
const FAKE_COUNT_MAX = 100
const SPAN_SIZE = 64 * 1024
const TWO_32 = 2 ** 32

/**
 * @typedef {import('../load').PartitionStart} PartitionStart
 */

/**
 * @param {OffsetStore} store
 * @param {number} from
 * @param {number} limit  at most the end of the log
 * @param {(err: Error | null, start?: PartitionStart | null) => void} cb  the first one between the two, or not far
 *   behind the first
 */
function findPartition (store, from, limit, cb) {
  const { blocks, framing } = store
  const stop = Math.min(limit, from + DISTANCE_MAX)
  let start = Math.max(1, from)
  let fakeCount = 0
  trampoline((next) => {
    if (start >= stop || fakeCount > FAKE_COUNT_MAX) return cb(null, null)
    // The field that ends a frame may begin before.
    const base = Math.max(0, start - framing.endSize)
    const bytes = Buffer.allocUnsafe(Math.min(stop, start + SPAN_SIZE) - base)
    blocks.readInto(bytes, base, (err) => {
      if (err) return cb(err)
      const position = findEnd(framing, bytes, base, start)
      start = position === -1 ? base + bytes.length : position + 1
      if (position === -1) return next()
      findFrameEnd(store, position, (err, frameEnd) => {
        if (err || frameEnd !== NO_FRAME) return cb(err, { seq: position, at: position })
        fakeCount++
        next()
      })
    })
  })
}

/**
 * @param {import('@millrace/framing').OffsetFraming} framing
 * @param {Buffer} bytes
 * @param {number} base  where in the file they begin
 * @param {number} start  where to begin to look
 * @returns {number}  the first position where a frame seems to end; -1 if there is none
 */
function findEnd (framing, bytes, base, start) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  const end = base + bytes.length
  for (let position = Math.max(start, base + framing.endSize); position < end; position++) {
    if (view.getUint32(position - base - 4) === position % TWO_32 && framing.isEndAt(view, position - base, position)) {
      return position
    }
  }
  return -1
}

exports.OffsetReader = OffsetReader
exports.NO_FRAME = NO_FRAME
exports.findFrameEnd = findFrameEnd
exports.locateBoundary = locateBoundary
exports.locateByWalking = locateByWalking
exports.isBoundary = isBoundary
exports.findPartition = findPartition
