'use strict'
// A moving window over a range of the file, for whoever goes through it in order, in either direction. It reads large
// spans into one reused buffer, past the cache, and moves what was not used yet to where the next span adjoins.

const { allocateShared, TimeSlice, trampoline } = require('@millrace/flow')
const { Admission, Slab } = require('./block-cache')
const { fetch, fetchNow } = require('./whole-io')

// 256 KiB is where a warm scan comes within a tenth of a bare read loop; below it the calls show, above it the caches.
const SPAN_SIZE_MAX = 256 * 1024
// Whoever wants one record, or the last ten, should not wait for more: spans begin small, and double.
const SPAN_SIZE_MIN = 16 * 1024
// Whoever keeps one record of a buffer that was given away keeps all of it; and there may be many who wait at the
// end.
const SMALL_SPAN_SIZE_MAX = 64 * 1024
const NOTHING = Buffer.alloc(0)

/** @typedef {import('./whole-io').OpenFile} OpenFile */

class SpanReader {
  #file
  #givesBuffers
  #spanSize = SPAN_SIZE_MIN
  #spanSizeMax
  #rewriteCount
  #slice = new TimeSlice({ countMax: 1 })

  /**
   * @param {OpenFile} file
   * @param {{ givesBuffers?: boolean }} [options]  whether a buffer is never used again once the next one is loaded:
   *   then its bytes can be kept without a copy
   */
  constructor (file, { givesBuffers = false } = {}) {
    this.#file = file
    this.#givesBuffers = givesBuffers
    this.#spanSizeMax = givesBuffers ? SMALL_SPAN_SIZE_MAX : SPAN_SIZE_MAX
    this.#rewriteCount = file.rewriteCount
    /** @type {Buffer} bytes of the file; `buffer[0]` is the one at `start`. Good until the next load. */
    this.buffer = NOTHING
    /** Position in the file of the first byte held. */
    this.start = 0
    /** Position in the file after the last byte held. */
    this.end = 0
  }

  /**
   * Moves the window on: afterwards it begins at `from` and holds at least one span more than before, and at least
   * `need` bytes, unless `limit` comes first.
   * @param {number} from  bytes before it are let go
   * @param {number} need  how many bytes from there are needed at once
   * @param {number} limit  at most the file's size
   * @param {(err: Error | null) => void} cb  may run before `loadForward` returns
   */
  loadForward (from, need, limit, cb) {
    this._inSlice(() => {
      const size = this.#beginForward(from, need, limit)
      const again = () => this.loadForward(from, need, limit, cb)
      this.#fill({ size, start: from, end: this.end + size, position: this.end, again, cb })
    })
  }

  /**
   * The same at once, and nothing is made for it: what most loads of a long scan are.
   * @param {number} from
   * @param {number} need
   * @param {number} limit
   * @returns {boolean}  false if somebody else's turn has come, or the file has to be waited for, or has failed:
   *   `loadForward` is for that
   */
  loadForwardNow (from, need, limit) {
    if (this.#slice.isOver()) return false
    const size = this.#beginForward(from, need, limit)
    if (size > 0 && !fetchNow(this.#file, this.buffer, this.end - this.start, size, this.end)) return false
    this.end += size
    if (size >= this.#spanSize) this.#spanSize = Math.min(2 * this.#spanSize, this.#spanSizeMax)
    return true
  }

  /**
   * Lets go of what comes before `from`, and makes room behind what it keeps.
   * @param {number} from
   * @param {number} need
   * @param {number} limit
   * @returns {number}  how many bytes are to be read, from the window's end on
   */
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
   * The mirror image: afterwards the window ends at `to` and reaches at least one span further back than before.
   * @param {number} to  bytes after it are let go
   * @param {number} need  how many bytes before `to` are needed at once
   * @param {number} limit  nothing before it is read
   * @param {(err: Error | null) => void} cb  may run before `loadBackward` returns
   */
  loadBackward (to, need, limit, cb) {
    this._inSlice(() => {
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
   * From now on a small buffer is used again and again: for who has come to the end, and waits there for more, as many
   * others may. Those that were given away stay what they are.
   */
  settle () {
    this.#givesBuffers = false
    this.#spanSizeMax = SMALL_SPAN_SIZE_MAX
    this.#spanSize = SPAN_SIZE_MIN
    this.buffer = NOTHING
    this.forget()
  }

  /** Lets go of all bytes: the next load reads anew. */
  forget () {
    this.start = this.end = -1
  }

  /** @param {() => void} load  runs now, or after the event loop had its turn */
  _inSlice (load) {
    if (this.#slice.isOver()) setImmediate(load)
    else load()
  }

  /** Bytes held from before an overwrite may not be those that now lie beside them in the file. */
  #forgetStale () {
    if (this.#rewriteCount === this.#file.rewriteCount) return
    this.#rewriteCount = this.#file.rewriteCount
    this.forget()
  }

  /**
   * Moves the kept bytes to `keptTarget`, in a buffer large enough for `size` bytes. A buffer that one large record
   * made grow is let go once it is not needed.
   * @param {number} size
   * @param {boolean} isLast  whether there is nothing to read after this: then no more room is made than that
   * @param {number} keptStart  offset in the old buffer
   * @param {number} kept
   * @param {number} keptTarget  offset in the new one
   */
  #makeRoom (size, isLast, keptStart, kept, keptTarget) {
    const usualSize = 2 * this.#spanSize
    const fits = size <= this.buffer.length && (size > usualSize || this.buffer.length <= usualSize)
    if (fits && !this.#givesBuffers) {
      if (kept > 0 && keptStart !== keptTarget) this.buffer.copyWithin(keptTarget, keptStart, keptStart + kept)
      return
    }
    // Who comes to the end again and again, with a little more each time, as behind a writer, gets a buffer that is
    // twice as large as before.
    const roomSize = isLast ? Math.min(usualSize, 2 * this.buffer.length) : usualSize
    const next = allocateShared(this.#givesBuffers ? size : Math.max(size, roomSize))
    this.buffer.copy(next, keptTarget, keptStart, keptStart + kept)
    this.buffer = next
  }

  /**
   * @param {object} read
   * @param {number} read.size
   * @param {number} read.position  in the file
   * @param {number} read.start  where the window begins, once the bytes are there
   * @param {number} read.end
   * @param {() => void} read.again
   * @param {(err: Error | null) => void} read.cb
   */
  #fill ({ size, position, start, end, again, cb }) {
    if (size === 0) {
      this.start = start
      this.end = end
      return cb(null)
    }
    const target = position - start
    fetch(this.#file, this.buffer.subarray(target, target + size), position, (err) => {
      // The bytes kept may be from before an overwrite that the read waited for.
      if (this.#rewriteCount !== this.#file.rewriteCount) return again()
      this.start = start
      this.end = end
      // After a failure the buffer holds a mixture: nothing of it may be used.
      if (err) this.forget()
      // Who came to the end of what there is will not need more the next time.
      if (size >= this.#spanSize) this.#spanSize = Math.min(2 * this.#spanSize, this.#spanSizeMax)
      cb(err)
    })
  }
}

// Visits every block of a range in order, with read-ahead and without copying.

/**
 * @param {OpenFile} file
 * @param {number} start
 * @param {number} end
 * @param {(block: Buffer, position: number) => unknown} onBlock  false ends the scan; the block is good till then
 * @param {(err: Error | null) => void} cb
 */
function scanBlocks (file, start, end, onBlock, cb) {
  const { blockSize } = file
  const spans = new SpanReader(file)
  let position = start

  /** @returns {boolean}  whether to go on */
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

// Looks at a few bytes anywhere in a file without waiting: in a cached block, in place, or read from the file into a
// buffer that what is wanted of them can be cut out of. What cannot be answered at once is left to the reader.

// Larger reads are the reader's.
const READ_SIZE_MAX = 64 * 1024

class Peeker {
  /** @param {OpenFile} file */
  constructor (file) {
    this._file = file
    this._admission = new Admission(file.cache)
    /**
     * Where the bytes lie that were looked at last; not to be used once anything else is read, written or awaited.
     * @type {Buffer}
     */
    this.bytes = NOTHING
    /** Over `bytes`. */
    this.view = toView(NOTHING)
    /** Where in `bytes` the first of them is. */
    this.offset = 0
    /** How many there are. */
    this.size = 0
    // What is read lies in here, and what is taken of it stays: so nothing is copied.
    this._slab = new Slab()
    /** @type {DataView | null} */
    this._arenaView = null
  }

  /**
   * @param {number} position  of the first byte
   * @param {number} least  how many bytes are needed
   * @param {number} wanted  how many to read; the file must have so many. There are more if more of the block is cached
   * @param {boolean} inOrder  whether what comes after them will be wanted next: then their block is worth reading
   * @returns {boolean}  whether there are as many as are needed, in `bytes`; if not, ask the file's `read`
   */
  look (position, least, wanted, inOrder) {
    const { cache, blockSize, size: fileSize } = this._file
    const blockIndex = Math.floor(position / blockSize)
    const slotStart = cache.find(blockIndex)
    if (slotStart === -1) {
      return !this._admission.isWorthIt(blockIndex, inOrder) && this.read(position, wanted)
    }
    const offsetInBlock = position - blockIndex * blockSize
    // What is cached of a block is whole, up to the file's end.
    const size = Math.min(blockSize - offsetInBlock, fileSize.value - position)
    if (size < least) return this.read(position, wanted)
    this.bytes = cache.arena
    this.view = (this._arenaView ??= toView(cache.arena))
    this.offset = slotStart + offsetInBlock
    this.size = size
    return true
  }

  /**
   * Reads past the cache.
   * @param {number} position
   * @param {number} size  in bytes; the file must have so many
   * @returns {boolean}  whether they are in `bytes`
   */
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

  /**
   * @param {number} start  in `bytes`
   * @param {number} end
   * @returns {Buffer}  these bytes, the caller's own
   */
  take (start, end) {
    const { bytes, _slab: slab } = this
    return bytes === slab.bytes ? slab.take(start, end) : slab.copy(bytes, start, end)
  }
}

/** @param {Buffer} buf */
function toView (buf) {
  return new DataView(buf.buffer, buf.byteOffset, buf.length)
}

exports.SpanReader = SpanReader
exports.scanBlocks = scanBlocks
exports.Peeker = Peeker
