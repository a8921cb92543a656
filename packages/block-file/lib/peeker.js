'use strict'
// Looks at a few bytes anywhere in a file without waiting: in a cached block, in place, or read from the file into a
// buffer that what is wanted of them can be cut out of. What cannot be answered at once is left to the reader.

const { Admission } = require('./admission')
const { fetchNow } = require('./fetch')
const { Slab } = require('./slab')

// Larger reads are the reader's.
const READ_SIZE_MAX = 64 * 1024

/** @type {Buffer} */
const NOTHING = Buffer.alloc(0)

/** @typedef {import('./open-file').OpenFile} OpenFile */

class Peeker {
  /** @param {OpenFile} file */
  constructor (file) {
    this._file = file
    this._admission = new Admission(file.cache)
    /** Where the bytes lie that were looked at last; not to be used once anything else is read, written or awaited. */
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
   * @param {number} wish  how many to read; the file must have so many. There are more if more of the block is cached
   * @param {boolean} inOrder  whether what comes after them will be wanted next: then their block is worth reading
   * @returns {boolean}  whether there are as many as are needed, in `bytes`; if not, ask the file's `read`
   */
  look (position, least, wish, inOrder) {
    const { cache, blockSize, size: fileSize } = this._file
    const blockIndex = Math.floor(position / blockSize)
    const slotStart = cache.find(blockIndex)
    if (slotStart === -1) {
      return !this._admission.isWorthIt(blockIndex, inOrder) && this.read(position, wish)
    }
    const offsetInBlock = position - blockIndex * blockSize
    // What is cached of a block is whole, up to the file's end.
    const size = Math.min(blockSize - offsetInBlock, fileSize.value - position)
    if (size < least) return this.read(position, wish)
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

exports.Peeker = Peeker
