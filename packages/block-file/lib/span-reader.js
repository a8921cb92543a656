'use strict'
// SpanReader: a moving window for reading a range of the file in order, in either direction. It bypasses the cache and
// reads large spans into one reused buffer. Unused bytes move to the side where the next span adjoins.

const { setImmediate } = require('node:timers')
const { allocateShared, TimeSlice, trampoline } = require('@millrace/flow')
const { Admission, Slab, cacheOf } = require('./block-cache')
const { fetch, fetchNow } = require('./whole-io')

// At 256 KiB a warm scan is within a tenth of a bare read loop. Smaller spans make more calls; larger ones miss the
// processor's caches.
const SPAN_SIZE_MAX = 256 * 1024
// A reader of one record, or of the last ten, should not wait for more. Spans begin small and double.
const SPAN_SIZE_MIN = 16 * 1024
// The limit for buffers that are given away, because one kept record keeps its whole buffer alive, and for readers that
// wait at the end, because there may be many.
const SMALL_SPAN_SIZE_MAX = 64 * 1024
const NOTHING = Buffer.alloc(0)
const NO_VIEW = new DataView(new ArrayBuffer(0))

/** @typedef {import('./whole-io').OpenFile} OpenFile */

/** Reads a file forwards or backwards in spans of several blocks, which grow as long as the reading goes on. */
class SpanReader {
  #file
  #givesBuffers
  #spanSize = SPAN_SIZE_MIN
  #spanSizeMax
  #rewriteCount
  #slice = new TimeSlice({ countMax: 1 })

  /** @param {OpenFile} file  @param {{ givesBuffers?: boolean }} [options]  true: no buffer is used twice */
  constructor (file, { givesBuffers = false } = {}) {
    this.#file = file
    this.#givesBuffers = givesBuffers
    this.#spanSizeMax = givesBuffers ? SMALL_SPAN_SIZE_MAX : SPAN_SIZE_MAX
    this.#rewriteCount = file.rewriteCount
    /** @type {Buffer} `buffer[0]` is the byte at `start`. Valid until the next load */
    this.buffer = NOTHING
    /** Of the buffer. @type {DataView} */
    this.view = NO_VIEW
    /** Position in the file of the first byte in the window. */
    this.start = 0
    /** Position in the file after the last byte in the window. */
    this.end = 0
  }

  /**
   * Moves the window forward. Afterwards it begins at `from` and holds at least `need` bytes and one more span than
   * before, unless `limit` comes first.
   * @param {number} from  bytes before it are dropped
   * @param {number} need  bytes that the caller needs at once
   * @param {number} limit  at most the file's size
   * @param {(err: Error | null) => void} cb  may run before `loadForward` returns
   */
  loadForward (from, need, limit, cb) {
    this._loadInSlice(() => {
      const size = this.#beginForward(from, need, limit)
      const again = () => this.loadForward(from, need, limit, cb)
      this.#fill({ size, start: from, end: this.end + size, position: this.end, again, cb })
    })
  }

  /**
   * A synchronous `loadForward` that allocates no callbacks; most loads of a long scan succeed here. Returns false if
   * the event loop is due, if the read would have to wait, or if it failed: then call `loadForward`.
   * @type {(from: number, need: number, limit: number) => boolean}
   */
  loadForwardNow (from, need, limit) {
    if (this.#slice.isOver()) return false
    const size = this.#beginForward(from, need, limit)
    if (size > 0 && !fetchNow(this.#file, this.buffer, this.end - this.start, size, this.end)) return false
    this.end += size
    if (size >= this.#spanSize) this.#spanSize = Math.min(2 * this.#spanSize, this.#spanSizeMax)
    return true
  }

  // Drops the bytes before `from` and makes room after the rest. Returns how many bytes to read at the window's end.
  /** @type {(from: number, need: number, limit: number) => number} */
  #beginForward (from, need, limit) {
    this.#forgetStale()
    if (from < this.start || from > this.end) this.start = this.end = from
    const keptStart = from - this.start
    const kept = this.end - from
    const nextSpanEnd = (Math.floor(this.end / this.#spanSize) + 1) * this.#spanSize
    const readEnd = Math.min(limit, Math.max(nextSpanEnd, from + need))
    const size = Math.max(0, readEnd - this.end)
    this.#makeRoom(kept + size, readEnd === limit, keptStart, kept, 0)
    this.start = from
    return size
  }

  /**
   * The mirror image of `loadForward`: the window ends at `to`, and nothing before `limit` is read.
   * @type {(to: number, need: number, limit: number, cb: (err: Error | null) => void) => void}
   */
  loadBackward (to, need, limit, cb) {
    this._loadInSlice(() => {
      this.#forgetStale()
      if (to > this.end || to < this.start) this.start = this.end = to
      const kept = to - this.start
      const nextSpanStart = (Math.ceil(this.start / this.#spanSize) - 1) * this.#spanSize
      const readStart = Math.max(limit, Math.min(nextSpanStart, to - need))
      const size = Math.max(0, this.start - readStart)
      this.#makeRoom(kept + size, readStart === limit, 0, kept, size)
      const start = this.start - size
      const again = () => this.loadBackward(to, need, limit, cb)
      this.#fill({ size, start, end: to, position: start, again, cb })
    })
  }

  /**
   * From now on one small buffer is reused. For a reader that waits at the end for more: there may be many such
   * readers. Buffers that were given away stay valid.
   */
  settle () {
    this.#givesBuffers = false
    this.#spanSizeMax = SMALL_SPAN_SIZE_MAX
    this.buffer = NOTHING
    this.view = NO_VIEW
    this.forget()
  }

  /** Drops all bytes: the next load reads again, and little at first. Whoever looks at damage again does so often. */
  forget () {
    this.start = this.end = -1
    this.#spanSize = SPAN_SIZE_MIN
  }

  /** Runs `load` now, or after the event loop had its turn. @param {() => void} load */
  _loadInSlice (load) {
    if (this.#slice.isOver()) setImmediate(load)
    else load()
  }

  /** After an overwrite, held bytes may not match their neighbours in the file. */
  #forgetStale () {
    if (this.#rewriteCount === this.#file.rewriteCount) return
    this.#rewriteCount = this.#file.rewriteCount
    this.forget()
  }

  // Moves the `kept` bytes at `keptStart` to `keptTarget`, in a buffer of at least `size` bytes. A buffer that grew for
  // a large record is dropped once it is not needed. `isLast` says that nothing remains to be read after this load.
  /** @type {(size: number, isLast: boolean, keptStart: number, kept: number, keptTarget: number) => void} */
  #makeRoom (size, isLast, keptStart, kept, keptTarget) {
    const usualSize = 2 * this.#spanSize
    const fits = size <= this.buffer.length && (size > usualSize || this.buffer.length <= usualSize)
    if (fits && !this.#givesBuffers) {
      if (kept > 0 && keptStart !== keptTarget) this.buffer.copyWithin(keptTarget, keptStart, keptStart + kept)
      return
    }
    // A reader that follows a writer comes to the end often, each time with a little more, and needs little room.
    // Doubling saves it from a new buffer each time.
    const roomSize = isLast ? Math.min(usualSize, 2 * this.buffer.length) : usualSize
    const next = allocateShared(this.#givesBuffers ? size : Math.max(size, roomSize))
    this.buffer.copy(next, keptTarget, keptStart, keptStart + kept)
    this.buffer = next
    this.view = new DataView(next.buffer)
  }

  /**
   * Reads `size` bytes at `position`. Then the window is `start` to `end`. Calls `again` if an overwrite intervened.
   * @param {{ size: number, position: number, start: number, end: number, again: () => void,
   *   cb: (err: Error | null) => void }} read
   */
  #fill ({ size, position, start, end, again, cb }) {
    if (size === 0) {
      this.start = start
      this.end = end
      return cb(null)
    }
    const target = position - start
    fetch(this.#file, this.buffer.subarray(target, target + size), position, (err) => {
      // The read waited for an overwrite, so the kept bytes may be older than the new ones.
      if (this.#rewriteCount !== this.#file.rewriteCount) return again()
      this.start = start
      this.end = end
      // After a failure the buffer holds old and new bytes mixed.
      if (err) this.forget()
      // A read that stopped at the limit does not call for larger spans.
      if (size >= this.#spanSize) this.#spanSize = Math.min(2 * this.#spanSize, this.#spanSizeMax)
      cb(err)
    })
  }
}

// Visits every block of a range in order, with read-ahead and without copying.

/**
 * @type {(file: OpenFile, start: number, end: number, onBlock: (block: Buffer, position: number) => unknown,
 *   cb: (err: Error | null) => void) => void}
 */
function scanBlocks (file, start, end, onBlock, cb) {
  const { blockSize } = file
  const spans = new SpanReader(file)
  let position = start

  /** @returns {boolean}  whether the scan continues */
  const visitLoaded = () => {
    while (position < end) {
      const blockEnd = Math.min((Math.floor(position / blockSize) + 1) * blockSize, end)
      if (blockEnd > spans.end) return true
      const block = spans.buffer.subarray(position - spans.start, blockEnd - spans.start)
      const blockStart = position
      position = blockEnd
      if (onBlock(block, blockStart) === false) return false
    }
    return false
  }

  if (start === end) return cb(null)
  trampoline((next) => {
    spans.loadForward(position, blockSize, end, (err) => {
      if (err) return cb(err)
      let goOn
      try {
        goOn = visitLoaded()
      } catch (err) {
        return cb(/** @type {Error} */ (err))
      }
      if (goOn) next()
      else cb(null)
    })
  })
}

// The peeker reads a few bytes at any place without waiting. It finds them in a cached block, or reads them into a
// slab, whose bytes can be kept. If neither works at once, the caller uses the file's `read`.

// Larger reads go through `read`.
const READ_SIZE_MAX = 64 * 1024

class Peeker {
  /** @param {OpenFile} file */
  constructor (file) {
    this._file = file
    this._cache = cacheOf(file)
    this._admission = new Admission(this._cache)
    /** Memory with the bytes of the last look, valid until the next read, write or await. @type {Buffer} */
    this.bytes = NOTHING
    /** Of the bytes. @type {DataView} */
    this.view = NO_VIEW
    /** Position in `bytes` of the first byte of the last look. */
    this.offset = 0
    /** How many bytes there are. */
    this.size = 0
    // Bytes are read into the slab, so `take` need not copy them.
    this._slab = new Slab()
    // Memory that was given back must not stay alive.
    this._cache.onRelease.push(() => { this.bytes = NOTHING })
  }

  /**
   * Looks at the bytes at `position`.
   * @param {number} position
   * @param {number} least  how many bytes are needed
   * @param {number} wanted  how many to read; the range must lie in the file. A cached block may give more
   * @param {boolean} inOrder  whether the bytes after them will be wanted next; the block is then worth caching
   * @returns {boolean}  whether the bytes are in `bytes`; if not, call the file's `read`
   */
  look (position, least, wanted, inOrder) {
    const { _cache: cache, _file: { blockSize, size: fileSize } } = this
    const blockIndex = Math.floor(position / blockSize)
    const slotStart = cache.find(blockIndex)
    if (slotStart === -1) {
      return !this._admission.isWorthIt(blockIndex, inOrder) && this.read(position, wanted)
    }
    const offsetInBlock = position - blockIndex * blockSize
    // A cached block is complete up to the file's end.
    const size = Math.min(blockSize - offsetInBlock, fileSize.value - position)
    if (size < least) return this.read(position, wanted)
    this.bytes = cache.arena
    this.view = cache.view
    this.offset = slotStart + offsetInBlock
    this.size = size
    return true
  }

  /** Reads bytes past the cache; false if that takes waiting. @type {(position: number, size: number) => boolean} */
  read (position, size) {
    if (size > READ_SIZE_MAX) return false
    const { _slab: slab } = this
    const offset = slab.reserve(size)
    if (!fetchNow(this._file, slab.bytes, offset, size, position)) return false
    this.bytes = slab.bytes
    this.view = slab.view
    this.offset = offset
    this.size = size
    return true
  }

  /** Returns bytes `start` to `end` of `bytes`, as the caller's own. @type {(start: number, end: number) => Buffer} */
  take (start, end) {
    const { bytes, _slab: slab } = this
    return bytes === slab.bytes ? slab.take(start, end) : slab.copy(bytes, start, end)
  }
}

exports.SpanReader = SpanReader
exports.scanBlocks = scanBlocks
exports.Peeker = Peeker
