'use strict'
// Reads ranges: through the block cache, past it, and ahead of a reader that goes through the file in order.

const { LogError } = require('@millrace/errors')
const { allocateShared, trampoline } = require('@millrace/flow')
const { readWhole, readWholeSync } = require('./whole-io')

// Past this, longer reads of a warm file gain nothing: the copy is the cost, no longer the call.
const AHEAD_SIZE_MAX = 256 * 1024

const NOTHING = Buffer.alloc(0)

/**
 * What the reader, the writer and the span readers of one block file share.
 * @typedef {object} OpenFile
 * @property {string} path  as it was given until the file is open for writing, then with no symlink in it
 * @property {import('./storage').StorageHandle | null} handle  null before the file is open and after it was closed
 * @property {import('@millrace/flow').Obz<number>} size  bytes that are readable; what lies past it is nobody's yet
 * @property {number} blockSize  in bytes
 * @property {import('./block-cache').BlockCache} cache
 * @property {import('./writer').RangeLock} lock
 * @property {import('./whole-io').AdaptiveIo} adaptiveIo
 * @property {import('./storage').Storage} storage
 * @property {boolean} hasUnsyncedName  its name may not be on stable storage yet
 * @property {import('./storage').StorageLock | null} lockHeld  what keeps other writers out
 * @property {number} rewriteCount  overwrites and truncations so far: bytes kept from before one may be stale
 */

class Reader {
  /** @param {OpenFile} file */
  constructor (file) {
    this._file = file
    this._aheadSizeMax = Math.min(AHEAD_SIZE_MAX, file.cache.slotCount * file.blockSize / 4)
    this._aheadSize = 0
    this._expectedStart = -1
    // What was read ahead last. Each of its bytes is handed out once at most, so whoever gets it owns it.
    /** @type {Buffer} */
    this._ahead = NOTHING
    this._aheadStart = 0
    this._aheadEnd = 0
    this._aheadRewriteCount = 0
    /** @type {Buffer | null} one buffer is kept for the next fetch: making it anew costs more than the read */
    this._spare = null
  }

  /**
   * @param {number} start
   * @param {number} end
   * @returns {Buffer | null}  the caller's own, when it is at hand: read ahead, or in one cached block
   */
  readAtHand (start, end) {
    const { cache, blockSize, rewriteCount } = this._file
    if (start >= this._aheadStart && end <= this._aheadEnd && rewriteCount === this._aheadRewriteCount) {
      const offset = this._ahead.length - this._aheadEnd
      this._aheadStart = end
      return this._ahead.subarray(start + offset, end + offset)
    }
    const blockIndex = Math.floor(start / blockSize)
    const blockStart = blockIndex * blockSize
    if (end > blockStart + blockSize || !cache.has(blockIndex)) return null
    const slotStart = cache.find(blockIndex) - blockStart
    const bytes = Buffer.allocUnsafe(end - start)
    cache.arena.copy(bytes, 0, slotStart + start, slotStart + end)
    return bytes
  }

  /**
   * @param {number} start
   * @param {number} end  at most the file's size
   * @param {(err: Error | null, bytes?: Buffer) => void} cb  gets bytes of its own; may run before `read` returns
   */
  read (start, end, cb) {
    const { size, lock } = this._file
    const result = Buffer.allocUnsafe(end - start)
    let position = start
    let { rewriteCount } = this._file
    trampoline((next) => {
      if (rewriteCount !== this._file.rewriteCount) {
        // What was copied so far and what comes now may be from before and after an overwrite: begin again.
        rewriteCount = this._file.rewriteCount
        position = start
        if (end > size.value) return cb(rangeError('read', start, end, this._file))
      }
      position = this._copyCached(result, start, position, end)
      if (position === end) return cb(null, result)
      if (position > start && !lock.isFree(start, end)) {
        // What was copied is from before an overwrite that is under way; what comes may be from after it.
        return lock.read(start, end, (release) => {
          release()
          position = start
          next()
        })
      }
      this._fetchBlocks(position, end, (err, span, spanStart, spanEnd) => {
        if (rewriteCount !== this._file.rewriteCount) return next()
        if (err) return this._readExactly(err, result, start, cb)
        const upTo = Math.min(end, spanEnd)
        span.copy(result, position - start, position - spanStart, upTo - spanStart)
        position = upTo
        if (span !== this._ahead && span.length <= AHEAD_SIZE_MAX) this._spare = span
        next()
      })
    })
  }

  /**
   * What lies beside the bytes that are wanted, in their block or ahead, may be what cannot be read.
   * @param {Error} err  of the whole span
   * @param {Buffer} result
   * @param {number} start
   * @param {(err: Error | null, bytes?: Buffer) => void} cb
   */
  _readExactly (err, result, start, cb) {
    const isCutOff = err instanceof LogError && err.code === 'ERR_FILE_SHORT_READ'
    if (isCutOff) cb(err)
    else fetch(this._file, result, start, (err) => cb(err, result))
  }

  /**
   * Calls `decode` on bytes in place where they lie in one cached block, which spares small reads an allocation.
   * @template T
   * @param {number} start
   * @param {number} end
   * @param {(buf: Buffer, offset: number) => T} decode
   * @param {(err: Error | null, value?: T) => void} cb
   */
  readInPlace (start, end, decode, cb) {
    const { cache, blockSize } = this._file
    const blockIndex = Math.floor(start / blockSize)
    const slotStart = end <= (blockIndex + 1) * blockSize ? cache.find(blockIndex) : -1
    if (slotStart !== -1) return decodeInto(decode, cache.arena, slotStart + start - blockIndex * blockSize, cb)
    this.read(start, end, (err, bytes) => {
      if (err) cb(err)
      else decodeInto(decode, /** @type {Buffer} */ (bytes), 0, cb)
    })
  }

  /**
   * @param {Buffer} result
   * @param {number} start  the position of `result` in the file
   * @param {number} position  copied up to here
   * @param {number} end
   * @returns {number}  the position of the first byte that is not cached, or `end`
   */
  _copyCached (result, start, position, end) {
    const { cache, blockSize } = this._file
    while (position < end) {
      const blockIndex = Math.floor(position / blockSize)
      const slotStart = cache.find(blockIndex)
      if (slotStart === -1) return position
      const blockStart = blockIndex * blockSize
      const upTo = Math.min(end, blockStart + blockSize)
      cache.arena.copy(result, position - start, slotStart + position - blockStart, slotStart + upTo - blockStart)
      position = upTo
    }
    return position
  }

  /**
   * Fetches the block at `position`, those up to `end`, and more when the file is being read in order.
   * @param {number} position
   * @param {number} end
   * @param {(err: Error | null, span: Buffer, spanStart: number, spanEnd: number) => void} cb
   */
  _fetchBlocks (position, end, cb) {
    const { blockSize, size } = this._file
    const spanStart = Math.floor(position / blockSize) * blockSize
    const aheadSize = this._planAhead(spanStart)
    const wanted = Math.max(end - spanStart, aheadSize)
    const spanEnd = Math.min(spanStart + Math.ceil(wanted / blockSize) * blockSize, size.value)
    this._expectedStart = spanEnd
    const isAhead = spanEnd > end && aheadSize > 0
    const span = isAhead ? allocateShared(spanEnd - spanStart) : this._takeBuffer(spanEnd - spanStart)
    const { rewriteCount } = this._file
    fetch(this._file, span, spanStart, (err) => {
      if (err) return cb(err, span, spanStart, spanEnd)
      // What was changed meanwhile is not worth keeping.
      if (rewriteCount === this._file.rewriteCount) this._offerToCache(span, spanStart, spanEnd)
      if (isAhead) this._keepAhead(span, end, spanEnd, rewriteCount)
      cb(null, span, spanStart, spanEnd)
    })
  }

  /**
   * @param {Buffer} span
   * @param {number} start  the bytes before it are for the read that made the fetch
   * @param {number} end
   * @param {number} rewriteCount  when the fetch began
   */
  _keepAhead (span, start, end, rewriteCount) {
    this._ahead = span
    this._aheadStart = start
    this._aheadEnd = end
    this._aheadRewriteCount = rewriteCount
  }

  /**
   * The window doubles while each miss begins where the last fetch ended, and closes when one does not.
   * @param {number} spanStart
   */
  _planAhead (spanStart) {
    const inOrder = spanStart === this._expectedStart
    this._aheadSize = inOrder ? Math.min(this._aheadSizeMax, Math.max(2 * this._aheadSize, this._file.blockSize)) : 0
    return this._aheadSize
  }

  /** @param {number} length */
  _takeBuffer (length) {
    const spare = this._spare
    this._spare = null
    if (spare !== null && spare.buffer.byteLength >= length) {
      return Buffer.from(spare.buffer, 0, length)
    }
    return Buffer.allocUnsafeSlow(length)
  }

  /**
   * A range larger than a quarter of the cache would only push out what is used again.
   * @param {Buffer} span
   * @param {number} spanStart
   * @param {number} spanEnd
   */
  _offerToCache (span, spanStart, spanEnd) {
    const { cache, blockSize, size } = this._file
    if (spanEnd - spanStart > Math.max(this._aheadSizeMax, blockSize)) return
    for (let blockStart = spanStart; blockStart < spanEnd; blockStart += blockSize) {
      const blockEnd = Math.min(blockStart + blockSize, spanEnd)
      // An append may have grown the last block while it was read: then these bytes are not all of it.
      if (blockEnd < Math.min(blockStart + blockSize, size.value)) continue
      const blockIndex = blockStart / blockSize
      if (!cache.has(blockIndex)) cache.put(blockIndex, span, blockStart - spanStart, blockEnd - spanStart)
    }
  }
}

/**
 * @template T
 * @param {(buf: Buffer, offset: number) => T} decode
 * @param {Buffer} buf
 * @param {number} offset
 * @param {(err: Error | null, value?: T) => void} cb
 */
function decodeInto (decode, buf, offset, cb) {
  let value
  try {
    value = decode(buf, offset)
  } catch (err) {
    return cb(/** @type {Error} */ (err))
  }
  cb(null, value)
}

// Reads a range of the file itself, past the cache: now if that will not make others wait, else through the pool.

// A larger read would hold up the event loop even when the page cache has it all.
const SYNC_SIZE_MAX = 1024 * 1024

/**
 * @param {OpenFile} file
 * @param {Buffer} target  filled whole
 * @param {number} position
 * @param {(err: Error | null) => void} cb  may run before `fetch` returns
 */
function fetch (file, target, position, cb) {
  const end = position + target.length
  if (file.handle === null) return cb(closedError('read', file.path))
  const { handle, lock, adaptiveIo } = file
  if (target.length <= SYNC_SIZE_MAX && lock.isFree(position, end) && adaptiveIo.mayBlock()) {
    let count
    try {
      count = adaptiveIo.time(() => readWholeSync(handle, target, position))
    } catch (err) {
      return cb(/** @type {Error} */ (err))
    }
    return cb(checkLength(file, target, position, count))
  }
  adaptiveIo.noteAsync()
  lock.read(position, end, (release) => {
    readWhole(handle, target, position, (err, count) => {
      release()
      cb(err ?? checkLength(file, target, position, count))
    })
  })
}

/**
 * The same where nobody has to wait, and nothing is made. What fails, or comes in part, is left to `fetch`.
 * @param {OpenFile} file
 * @param {Buffer} target
 * @param {number} offset  in the target
 * @param {number} size  in bytes; the file must have so many
 * @param {number} position
 * @returns {boolean}  whether they are in the target
 */
function fetchNow (file, target, offset, size, position) {
  const { handle, lock, adaptiveIo } = file
  if (size > SYNC_SIZE_MAX || handle === null || !adaptiveIo.mayBlock()) return false
  if (!lock.isFree(position, position + size)) return false
  const started = adaptiveIo.begin()
  try {
    if (handle.readSync(target, offset, size, position) !== size) return false
  } catch {
    return false
  }
  adaptiveIo.end(started)
  return true
}

/**
 * @param {OpenFile} file
 * @param {Buffer} target
 * @param {number} position
 * @param {number} count
 */
function checkLength (file, target, position, count) {
  if (count === target.length) return null
  const end = position + count
  return new LogError('ERR_FILE_SHORT_READ', `read: ${file.path} ends at ${end} but was ${file.size.value} bytes; ` +
    'another program has truncated it; close it and find that program', { offset: end, path: file.path })
}

/**
 * @param {string} what
 * @param {string} path
 */
function closedError (what, path) {
  return new LogError('ERR_FILE_CLOSED', `${what}: ${path} is closed; open it again first`, { path })
}

// The error for bytes that the file does not have.

/**
 * @param {string} what
 * @param {number} start
 * @param {number} end
 * @param {OpenFile} file
 */
function rangeError (what, start, end, { path, size }) {
  return new LogError('ERR_FILE_RANGE', `${what}: bytes ${start} to ${end} reach past the end of ${path}, ` +
    `which is at ${size.value}; stay below it`, { offset: start, path })
}

exports.Reader = Reader
exports.fetch = fetch
exports.fetchNow = fetchNow
exports.closedError = closedError
exports.rangeError = rangeError
