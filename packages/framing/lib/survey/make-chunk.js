'use strict'
// Chunks in place of lost ones, and chunks of which part is lost: all keep the chain crc that the chunk behind them
// asks for, and every byte its place. Bytes only, no I/O.

const { ChunkHeader, PAYLOAD_SIZE_OFFSET, readChunkHeader, writeChunkHeader } = require('../chunk-header')
const {
  CHUNK_FLAGS, CHUNK_HEADER_SIZE, CHUNK_SIZE_MIN, FILE_SIZE_MAX, FRAME_TYPES, LENGTH_SIZE, PAGE_SIZE, RESERVATION_SIZE,
  endOfPage
} = require('../layout')
const { UNKNOWN } = require('./chunk-state')

// Only who makes checksums can make a file that asks for more; what comes of it will not verify.
const POSITION_MAX = FILE_SIZE_MAX - PAGE_SIZE

/**
 * What a range of the file is filled with: chunks of one erased record each.
 * @typedef {object} Filling
 * @property {number} start  physical
 * @property {number} end
 * @property {number} position  logical, of the start
 * @property {Gaps | null} gaps  of a log whose logical positions run ahead
 * @property {number} skip  how far they run ahead behind an unclean end that was in the range
 * @property {number} epoch
 * @property {number} durable
 * @property {number} previous  chain crc of the chunk before
 * @property {number} chainCrc  that the last of them gets
 * @property {number} openSize  how many bytes of the chunk behind belong to the last record, 0 to 3
 * @property {Owner | null} owner
 */

/**
 * Where gaps are left out, how many positions a lost range had is not known: the chunks in its place take none.
 * @typedef {object} Gaps
 * @property {number} shift  how far logical positions are ahead of physical ones, at least
 * @property {number} contentEnd  logical position behind the last frame in front of the range
 * @property {number} end  where the log ends, when nothing is behind the range; else 0
 * @property {number} next  where the next chunk begins, when there is one
 */

/**
 * The last record in front of a range, where it goes on in there: its chunk, and its frame in that chunk.
 * @typedef {{ start: number, offset: number }} Owner
 */

/**
 * @param {{ start: number, end: number }} range
 * @returns {number}  how many chunks fill it; each counts one erased record
 */
function countChunks ({ start, end }) {
  let count = 0
  for (let at = start; at < end; at = Math.min(end, endOfPage(at))) {
    if (!isFiller(at, end)) count++
  }
  return count
}

/**
 * Whether chunks can fill the range: none has less than 44 bytes, but an empty one, and one at the start of a page that
 * has nothing but the last bytes of a record begun before.
 * @param {{ start: number, owner: Owner | null, gaps: Gaps | null }} lost
 * @param {number} end
 */
function canFill ({ start, owner, gaps }, end) {
  if (end % PAGE_SIZE === 0) return true
  const pageStart = end - end % PAGE_SIZE
  const size = end - Math.max(start, pageStart)
  if (size === CHUNK_HEADER_SIZE || size >= CHUNK_SIZE_MIN) return true
  if (size < CHUNK_HEADER_SIZE || start > pageStart) return false
  return start === pageStart ? owner !== null : gaps === null && pageStart - start >= CHUNK_SIZE_MIN
}

/**
 * @param {{ start: number, end: number }} range
 * @returns {number}  how many bytes of a record the last of its chunks has, if there are too few for a frame; else 0
 */
function restSizeOf ({ start, end }) {
  const pageStart = end - end % PAGE_SIZE
  const size = end - pageStart - CHUNK_HEADER_SIZE
  return start <= pageStart && size > 0 && size < LENGTH_SIZE ? size : 0
}

/**
 * @param {Filling} filling
 * @param {number} salt
 * @returns {() => Buffer}  makes the next page of it
 */
function fillWithChunks (filling, salt) {
  let { start: at, previous } = filling
  const { end, chainCrc } = filling
  return () => {
    const pageEnd = Math.min(end, endOfPage(at))
    if (isFiller(at, end)) {
      const zeros = Buffer.alloc(pageEnd - at)
      at = pageEnd
      return zeros
    }
    const isLast = pageEnd === end
    const isLastButOne = !isLast && end - pageEnd < CHUNK_SIZE_MIN
    const openSize = isLast ? filling.openSize : isLastButOne ? restSizeOf(filling) : 0
    const position = positionOf(filling, at, isLast ? pageEnd - at : 0)
    const place = { ...filling, position, previous, openSize, isPadding: filling.gaps !== null && openSize === 0 }
    // What is left of a record belongs to the one before.
    if (!isLast || openSize > 0 || pageEnd - at < CHUNK_SIZE_MIN) place.skip = 0
    const bytes = makeLostChunk(pageEnd - at, place, isLast ? chainCrc : null, salt)
    previous = bytes.readUInt32BE(CHUNK_HEADER_SIZE - 4)
    at = pageEnd
    return bytes
  }
}

/**
 * @param {Filling} filling
 * @param {number} at
 * @param {number} lastSize  of the chunk, if it is the last one; else 0
 */
function positionOf ({ start, position, gaps, openSize }, at, lastSize) {
  if (gaps === null) return Math.min(position + at - start, POSITION_MAX)
  // Its record reaches to the first frame behind it.
  if (lastSize > 0 && openSize > 0) return gaps.next + CHUNK_HEADER_SIZE - lastSize
  const least = Math.max(at + gaps.shift, gaps.contentEnd - CHUNK_HEADER_SIZE)
  return Math.min(lastSize === 0 ? least : Math.max(least, gaps.end - lastSize), POSITION_MAX)
}

/**
 * @param {number} at
 * @param {number} end
 */
function isFiller (at, end) {
  const pageEnd = endOfPage(at)
  return end >= pageEnd && pageEnd - at < CHUNK_SIZE_MIN
}

/**
 * @typedef {object} Place
 * @property {number} position
 * @property {number} epoch
 * @property {number} durable
 * @property {number} previous
 * @property {number} openSize
 * @property {number} [skip]
 * @property {boolean} isPadding  whether there is padding in it, instead of an erased record
 */

/**
 * @param {number} size  of the chunk
 * @param {Place} place
 * @param {number | null} chainCrc  any, when null
 * @param {number} salt
 */
function makeLostChunk (size, { position, epoch, durable, previous, openSize, isPadding, skip = 0 }, chainCrc, salt) {
  const bytes = Buffer.alloc(size)
  const header = new ChunkHeader()
  Object.assign(header, { epoch, position: position + skip, durable, previous })
  header.size = size - CHUNK_HEADER_SIZE
  header.flags = CHUNK_FLAGS.WAS_ERASED | (skip > 0 ? CHUNK_FLAGS.BEHIND_LOSS : 0)
  header.erasedCount = 1
  if (header.size > 0 && header.size < LENGTH_SIZE) {
    header.continued = header.size
    header.flags |= CHUNK_FLAGS.REST_ERASED
  } else if (header.size > 0) {
    const type = isPadding ? FRAME_TYPES.PADDING : FRAME_TYPES.ERASED
    bytes.writeUInt32BE(type * 2 ** 30 + header.size - LENGTH_SIZE + openSize, CHUNK_HEADER_SIZE)
  }
  writeChunkHeader(header, bytes, 0, salt)
  header.originalCrc = chainCrc ?? header.crc
  writeChunkHeader(header, bytes, 0, salt)
  return bytes
}

/**
 * The last record of a chunk goes on in others, and they are lost: what is here of it is erased, and no longer goes on.
 * @param {Buffer} chunk  from its header on; changed in place
 * @param {number} offset  of the record's frame
 * @param {number} salt
 */
function eraseLastFrame (chunk, offset, salt) {
  const isErased = chunk.readUInt32BE(offset) >>> 30 === FRAME_TYPES.ERASED
  const dataStart = offset + LENGTH_SIZE
  chunk.writeUInt32BE(FRAME_TYPES.ERASED * 2 ** 30 + chunk.length - dataStart, offset)
  chunk.fill(0, dataStart)
  rewriteHeader(chunk, isErased ? 0 : 1, salt)
}

/**
 * The erased record that a chunk ends with goes on in the next after all.
 * @param {Buffer} chunk  from its header on; changed in place
 * @param {number} offset  of the record's frame
 * @param {number} size  how many bytes of it are in the next chunk
 * @param {number} salt
 */
function extendLastFrame (chunk, offset, size, salt) {
  chunk.writeUInt32BE(chunk.readUInt32BE(offset) + size, offset)
  rewriteHeader(chunk, 0, salt)
}

/**
 * A chunk goes on with a record that is lost: these bytes of it become an erased record of their own.
 * @param {Buffer} chunk  from its header on; changed in place
 * @param {boolean} isOwned  whether the record is erased before: then they go on with it
 * @param {number} salt
 */
function eraseRest (chunk, isOwned, salt) {
  rewriteHeader(chunk, 1, salt, (header) => {
    const { continued } = header
    chunk.fill(0, CHUNK_HEADER_SIZE, CHUNK_HEADER_SIZE + continued)
    // It was counted when it was erased.
    if (header.flags & CHUNK_FLAGS.REST_ERASED) header.erasedCount--
    if (isOwned || continued < LENGTH_SIZE) {
      header.flags |= CHUNK_FLAGS.REST_ERASED
      return
    }
    header.flags &= ~CHUNK_FLAGS.REST_ERASED
    header.continued = 0
    chunk.writeUInt32BE(FRAME_TYPES.ERASED * 2 ** 30 + continued - LENGTH_SIZE, CHUNK_HEADER_SIZE)
  })
}

/**
 * @param {Buffer} chunk
 * @param {number} erased  how many more records and pieces of records are
 * @param {number} salt
 * @param {(header: ChunkHeader) => void} [edit]
 */
function rewriteHeader (chunk, erased, salt, edit = () => {}) {
  const header = new ChunkHeader()
  readChunkHeader(new DataView(chunk.buffer, chunk.byteOffset, chunk.length), 0, header)
  header.originalCrc = header.chainCrc
  header.flags |= CHUNK_FLAGS.WAS_ERASED
  // A chunk may claim all that it can hold, and have less.
  header.erasedCount = Math.min(header.erasedCount + erased, Math.floor(header.size / LENGTH_SIZE) + 1)
  edit(header)
  writeChunkHeader(header, chunk, 0, salt)
}

// What gets its chain crc from the chunk behind it, and so waits for that: a range that is lost, or a chunk with a
// header that is made up.

/**
 * @typedef {import('./chunk-state').ChunkState} ChunkState
 * @typedef {import('./survey').ChunkSink} ChunkSink
 * @typedef {{ start: number, header: ChunkHeader, chunk: Buffer }} Rebuilt
 */

/**
 * The chunk behind what waits.
 * @typedef {object} Next
 * @property {number} chainCrc  that it wants the one before to have
 * @property {number} openSize  how much of it belongs to a record that is lost
 * @property {number} position  logical
 * @property {boolean} isBehindLoss
 */

class Pending {
  #rules
  #output
  /** @type {Filling | null} */
  #lost = null
  /** Whether the commit of the chunk in front of it goes on. */
  #wasInCommit = false
  /** The range that was filled last. @type {Filling | null} */
  #filled = null
  /** @type {Rebuilt | null} */
  #rebuilt = null

  /**
   * @param {import('../chunk-header').Rules} rules
   * @param {ChunkSink | null} output
   */
  constructor (rules, output) {
    this.#rules = rules
    this.#output = output
  }

  get isEmpty () {
    return this.#lost === null && this.#rebuilt === null
  }

  get isLost () {
    return this.#lost !== null
  }

  /**
   * @param {number} end  where the log is, if nothing waits
   * @returns {number}  where what is lost begins
   */
  startOr (end) {
    return this.#lost?.start ?? end
  }

  /**
   * @param {number} start
   * @param {ChunkHeader} header
   * @param {Buffer} chunk
   */
  rebuild (start, header, chunk) {
    this.#rebuilt = { start, header, chunk }
  }

  /**
   * @param {ChunkState} state  in front of the range, or at the end of one that this adjoins
   * @param {number} end
   * @param {Owner | null} owner
   */
  lose (state, end, owner) {
    if (this.#lost !== null) {
      this.#lost.end = end
      return
    }
    const { end: start, logicalEnd: position, contentEnd, epoch, durable, chainCrc: previous } = state
    const { hasGaps, shift } = this.#rules
    const gaps = hasGaps ? { shift, contentEnd, end: 0, next: 0 } : null
    this.#lost = { start, end, position, gaps, epoch, durable, previous, chainCrc: 0, openSize: 0, owner, skip: 0 }
    this.#wasInCommit = state.isInCommit
  }

  /**
   * Whether a chunk may begin there, behind what is lost.
   * @param {number} start
   */
  canReach (start) {
    return this.#lost === null || canFill(this.#lost, start)
  }

  /**
   * Whether what is lost can end with a record that goes on in a chunk there.
   * @param {number} start
   * @param {number} position  logical, of the chunk
   */
  canOwn (start, position) {
    const lost = this.#lost
    if (lost === null || lost.end !== start) return false
    const size = start - Math.max(lost.start, start - PAGE_SIZE)
    if (size < CHUNK_SIZE_MIN) return false
    return lost.gaps === null || position + 2 * CHUNK_HEADER_SIZE - size >= lost.gaps.contentEnd
  }

  /**
   * Writes what waits.
   * @param {ChunkState} state  gets the chain crc
   * @param {Next | null} next  null when nothing is behind it
   */
  flush (state, next) {
    const [lost, rebuilt] = [this.#lost, this.#rebuilt]
    this.#lost = this.#rebuilt = null
    if (lost !== null) this.#fill(lost, state, next)
    else if (rebuilt !== null) this.#writeRebuilt(rebuilt, state, next)
  }

  /**
   * If the log ends right behind the range that was filled last, chunks behind it were taken back, which said how it
   * ends: it waits again. Only at the log's end, or the range would be filled anew for each of many such chunks.
   * @param {ChunkState[]} states  the first one is where the output ends now; those right behind the range are changed
   */
  reopen (states) {
    const filled = this.#filled
    if (filled === null || !this.isEmpty || !isRightBehind(filled, states[0])) return
    const count = countChunks(filled)
    for (const state of states.filter((state) => isRightBehind(filled, state))) {
      state.chainCrc = UNKNOWN
      state.erasedInOutput -= count
    }
    this.#output?.cut(Math.min(this.#output.end, filled.start))
    this.#extendOwner(filled, -1)
    this.#lost = { ...filled, skip: 0 }
    this.#filled = null
  }

  /**
   * Where nothing follows, what is too short for a chunk is left out.
   * @param {ChunkState} state
   */
  trim (state) {
    const lost = this.#lost
    if (lost === null || canFill(lost, lost.end)) return
    lost.end = Math.max(lost.start, lost.end - lost.end % PAGE_SIZE)
    state.end = lost.end
    state.logicalEnd = lost.position + lost.end - lost.start
    if (lost.start < lost.end) return
    state.chainCrc = lost.previous
    state.isInCommit = this.#wasInCommit
    this.#lost = null
  }

  /**
   * @param {Filling} lost
   * @param {ChunkState} state
   * @param {Next | null} next
   */
  #fill (lost, state, next) {
    const { start, end, gaps } = lost
    if (gaps !== null) {
      gaps.next = next?.position ?? 0
      // Where nothing comes behind it, the seqs of what is lost must not be used again.
      if (next === null) gaps.end = state.logicalEnd
    } else if (next !== null) {
      // If that one does not say that it is behind an unclean end, the last chunk in place of what is lost does.
      const ahead = next.position - end - (lost.position - start)
      lost.skip = next.isBehindLoss ? 0 : ahead - ahead % RESERVATION_SIZE
    }
    this.#extendOwner(lost, 1)
    this.#filled = lost
    const count = countChunks(lost)
    state.chainCrc = count === 0 ? lost.previous : next?.chainCrc ?? inventCrc(lost.previous)
    state.erasedInOutput += count
    this.#output?.zerosTo(start)
    const filling = { ...lost, chainCrc: state.chainCrc, openSize: next?.openSize ?? 0 }
    this.#output?.fill(end - start, fillWithChunks(filling, this.#rules.salt))
  }

  /**
   * The record in front of the range gets the bytes of it that its only chunk has, or loses them.
   * @param {Filling} lost
   * @param {1 | -1} sign
   */
  #extendOwner (lost, sign) {
    const { owner, start, end } = lost
    const size = start % PAGE_SIZE === 0 && end - start < PAGE_SIZE ? restSizeOf(lost) : 0
    if (owner === null || size === 0) return
    const { salt } = this.#rules
    changeChunk(this.#output, owner.start, (chunk) => extendLastFrame(chunk, owner.offset, sign * size, salt))
  }

  /**
   * @param {Rebuilt} rebuilt
   * @param {ChunkState} state
   * @param {Next | null} next
   */
  #writeRebuilt ({ start, header, chunk }, state, next) {
    state.chainCrc = header.originalCrc = next?.chainCrc ?? inventCrc(header.previous)
    writeChunkHeader(header, chunk, 0, this.#rules.salt)
    this.#output?.zerosTo(start)
    this.#output?.append(chunk)
  }
}

/**
 * Whether there is no chunk between the range and where the state is; there may be the zeros at a page's end.
 * @param {Filling} lost
 * @param {{ end: number }} state
 */
function isRightBehind (lost, { end }) {
  return end >= lost.end && end - lost.end < CHUNK_HEADER_SIZE
}

/**
 * No chunk names the last one of a log, so any chain crc will do for it.
 * @param {number} previous
 */
function inventCrc (previous) {
  return (previous ^ 1) >>> 0
}

/**
 * @param {ChunkSink | null} output
 * @param {number} start  of a chunk that is in it
 * @param {(chunk: Buffer) => void} edit
 */
function changeChunk (output, start, edit) {
  const measure = (/** @type {Buffer} */ head) => CHUNK_HEADER_SIZE + head.readUInt16BE(PAYLOAD_SIZE_OFFSET)
  output?.change(start, CHUNK_HEADER_SIZE, measure, edit)
}

exports.makeLostChunk = makeLostChunk
exports.eraseLastFrame = eraseLastFrame
exports.eraseRest = eraseRest
exports.Pending = Pending
exports.changeChunk = changeChunk
