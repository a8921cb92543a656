'use strict'
// Goes through the frames of a range in either direction, and delivers the undeleted records a chunk at a time.

const { Chunk } = require('../../chunk')

/**
 * @typedef {import('./offset-store').OffsetStore} OffsetStore
 * @typedef {import('./offset-framing').Walk} Walk
 */

class ChunkReader {
  /**
   * @param {OffsetStore} store
   * @param {object} range
   * @param {number} range.position  where to begin: a frame's start going forward, a frame's end going backward
   * @param {number} range.from  the lowest seq wanted
   * @param {number} range.stop  one past the highest
   * @param {boolean} range.reverse
   * @param {import('../../codec').RecordFilter | null} [range.isWanted]
   * @param {boolean} [range.isKept]  whether the bytes of its chunks may be kept
   */
  constructor (store, { position, from, stop, reverse, isWanted = null, isKept = false }) {
    this._store = store
    /** Where it began. */
    this.begunAt = position
    this._from = from
    this._stop = stop
    this._reverse = reverse
    this._isWanted = isWanted
    this._window = store.blocks.createSpanReader({ givesBuffers: isKept })
    this._rewriteCount = store.blocks.rewriteCount
    /** @type {DataView} */
    this._view = new DataView(new ArrayBuffer(0))
    this._chunk = new Chunk()
    /** These framings do not say where the next record begins, so nothing is skipped. */
    this.lost = { count: 0, size: 0 }
    /** @type {Walk} */
    this._walk = { position, need: 0, error: null, maxRecordSize: store.maxRecordSize }
  }

  /** It has come to the end, and will wait there. From now on the bytes of chunks may not be kept. */
  settleAtEnd () {
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
   * @param {number} index  in the chunk
   */
  rewindTo (index) {
    const { seqs, starts, ends } = this._chunk
    const size = ends[index] - starts[index]
    this._walk.position = this._reverse ? seqs[index] + size + this._store.framing.overhead : seqs[index]
    this._window.forget()
  }

  /**
   * @param {number} fileEnd  going forward: how far the log reaches
   * @param {(err: Error | null, chunk?: Chunk) => void} cb  the chunk is good until the next call, and empty only when
   *   nothing is left. Damage comes after the records before it. May run before `next` returns
   */
  next (fileEnd, cb) {
    const chunk = this._chunk
    chunk.clear()
    this._forgetIfStale()
    if (this._reverse && this._meetsDamage) return cb(this._store.damage)
    for (;;) {
      this._walkWindow(fileEnd)
      if (chunk.count > 0) return cb(null, chunk)
      if (this._walk.error) return cb(this._walk.error)
      if (this._walk.need === 0) {
        if (this._isAtEnd(fileEnd)) return this._meetsDamage ? cb(this._store.damage) : cb(null, chunk)
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

  /**
   * Leaves only the records that the filter wants, perhaps none, in the chunk that `next` delivered.
   * @throws what decoding throws, when the codec cannot compile the filter
   */
  applyFilter () {
    if (this._isWanted) this._chunk.filter(this._isWanted)
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
    const { _window: window, _walk: walk, _chunk: chunk } = this
    const { framing } = this._store
    if (this._view.buffer !== window.buffer.buffer) this._view = new DataView(window.buffer.buffer)
    if (window.start > walk.position || window.end < walk.position || window.start === window.end) {
      walk.need = this._isAtEnd(fileEnd) ? 0 : framing.overhead
      return
    }
    chunk.buffer = window.buffer
    if (this._reverse) framing.walkBackward(window, this._view, walk, this._from, chunk)
    else framing.walkForward(window, this._view, walk, this._stop, fileEnd, chunk)
    // A bound past the old end of a live log: the walk began below it.
    if (!this._reverse && chunk.count > 0 && chunk.seqs[0] < this._from) {
      chunk.filter((buf, start, end, seq) => seq >= this._from)
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

exports.ChunkReader = ChunkReader
