'use strict'
// Reads the undeleted records of a range of an offset log, in either direction, a run at a time.

const { trampoline } = require('@millrace/flow')
const { RecordRun } = require('../record-run')

/**
 * @typedef {import('../offset-store').OffsetStore} OffsetStore
 * @typedef {import('@millrace/framing').Walk} Walk
 */

class OffsetReader {
  /**
   * @param {OffsetStore} store
   * @param {import('./checked-reader').StoreRange} range
   * @param {number} position  where to begin: the start of a frame, or its end if the range is reversed
   */
  constructor (store, { from, stop, reverse, keepsBytes }, position) {
    this._store = store
    this._from = from
    this._stop = stop
    this._reverse = reverse
    this._window = store.blocks.createSpanReader({ givesBuffers: keepsBytes })
    this._rewriteCount = store.blocks.rewriteCount
    this._records = new RecordRun()
    /** Always zero: these framings do not say where the next record begins, so damage cannot be skipped. */
    this.lost = { count: 0, size: 0 }
    /** @type {Walk} */
    this._walk = { position, need: 0, error: null, maxRecordSize: store.maxRecordSize }
  }

  /** Runs give no bytes to keep from now on: the reader waits at the end. */
  stopKeepingBytes () {
    this._window.settle()
  }

  /** Where the next frame begins, or ends if the range is reversed. */
  get position () {
    return this._walk.position
  }

  /** Whether no record of the range can follow, now or later. */
  get isDone () {
    return this._reverse ? this._walk.position <= this._from : this._walk.position >= this._stop
  }

  /**
   * Continues from a delivered record, with bytes read anew.
   * @param {number} index  in the run
   */
  rewindTo (index) {
    const { seqs, starts, ends } = this._records
    const size = ends[index] - starts[index]
    this._walk.position = this._reverse ? seqs[index] + size + this._store.framing.overhead : seqs[index]
    this._window.forget()
  }

  /**
   * @param {number} fileEnd  the end of the log, for a forward reader
   * @param {(err: Error | null, records?: RecordRun) => void} cb  the run is valid until the next call, and empty only
   *   at the end. Damage is reported after the records before it. May run before `next` returns
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

  /** Records that were read before an overwrite may be deleted now. */
  _forgetIfStale () {
    const { rewriteCount } = this._store.blocks
    if (rewriteCount !== this._rewriteCount) this._window.forget()
    this._rewriteCount = rewriteCount
  }

  /** Whether the range reaches damage after the end. */
  get _meetsDamage () {
    return this._store.damage !== null && this._stop > this._store.end
  }

  /** @param {number} fileEnd */
  _walkWindow (fileEnd) {
    const { _window: window, _walk: walk, _records: records } = this
    const { framing } = this._store
    if (window.start > walk.position || window.end < walk.position || window.start === window.end) {
      walk.need = this._isAtEnd(fileEnd) ? 0 : framing.overhead
      return
    }
    records.buffer = window.buffer
    if (this._reverse) framing.walkBackward(window, walk, this._from, records)
    else framing.walkForward(window, walk, this._stop, fileEnd, records)
    // If the bound lay after the end of a live log, the walk began below the bound.
    if (!this._reverse && records.count > 0 && records.seqs[0] < this._from) {
      records.filter((buf, start, end, seq) => seq >= this._from)
    }
  }

  /** @param {number} fileEnd */
  _isAtEnd (fileEnd) {
    return this._reverse ? this.isDone : this._walk.position >= Math.min(this._stop, fileEnd)
  }

  /** @type {(fileEnd: number, cb: (err: Error | null) => void) => void} */
  _load (fileEnd, cb) {
    const { position, need } = this._walk
    if (this._reverse) this._window.loadBackward(position, need, 0, cb)
    else this._window.loadForward(position, need, fileEnd, cb)
  }
}

// Finds the frame boundary for a bound, which may lie between two records.

const NO_FRAME = -1

/**
 * @param {OffsetStore} store
 * @param {number} bound  any number
 * @param {(err: Error | null, position?: number) => void} cb  the first boundary at or after the bound
 */
function locateBoundary (store, bound, cb) {
  if (bound <= 0) return cb(null, 0)
  if (bound >= store.end) return cb(null, store.end)
  // Nearly every bound is a seq or a seq plus 1, because `gt` and `lte` ask for what follows a record.
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
 * @param {(err: Error | null, frameEnd?: number) => void} cb  the end of the frame that begins here, or NO_FRAME
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
 * Whether a frame seems to end here, so that another may begin.
 * @type {(store: OffsetStore, position: number, cb: (err: Error | null, isOne?: boolean) => void) => void}
 */
function isBoundary ({ blocks, framing, end }, position, cb) {
  if (position < framing.overhead || position + framing.overhead > end) return cb(null, position === 0)
  blocks.read(position - framing.endSize, position, (err, bytes) => {
    if (err || !bytes) return cb(err)
    cb(null, framing.isEndIn(bytes, position))
  })
}

/**
 * Walks the frames from the start of the log. This is slow but certain: bytes inside a record may imitate frames.
 * @type {(store: OffsetStore, bound: number, cb: (err: Error | null, position?: number) => void) => void}
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

exports.OffsetReader = OffsetReader
exports.NO_FRAME = NO_FRAME
exports.findFrameEnd = findFrameEnd
exports.locateBoundary = locateBoundary
exports.locateByWalking = locateByWalking
exports.isBoundary = isBoundary
