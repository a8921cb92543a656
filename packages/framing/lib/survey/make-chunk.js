'use strict'
// Chunks in place of lost ones, and chunks of which part is lost: all keep the chain crc that the chunk behind them
// asks for, and every byte its place. Bytes only, no I/O.

const { ChunkHeader, PAYLOAD_SIZE_OFFSET, readChunkHeader, writeChunkHeader } = require('../chunk-header')
const {
  CHUNK_FLAGS, CHUNK_HEADER_SIZE, CHUNK_SIZE_MIN, FILE_SIZE_MAX, FRAME_TYPES, RESERVATION_SIZE, LENGTH_SIZE, PAGE_SIZE
} = require('../layout')
const { UNKNOWN } = require('./chunk-state')
const { endOfPage } = require('./find-header')

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
  rewriteHeader(chunk, isErased ? 0 : 1, salt, () => {})
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
  rewriteHeader(chunk, 0, salt, () => {})
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
 * @param {(header: ChunkHeader) => void} edit
 */
function rewriteHeader (chunk, erased, salt, edit) {
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
 * @typedef {{ start: number, header: import('../chunk-header').ChunkHeader, chunk: Buffer }} Rebuilt
 */

class Pending {
  /**
   * @param {import('../chunk-header').Rules} rules
   * @param {ChunkSink | null} output
   */
  constructor (rules, output) {
    this._rules = rules
    this._output = output
    /** @type {Filling | null} */
    this._lost = null
    /** Whether the commit of the chunk in front of it goes on. */
    this._wasInCommit = false
    /** The range that was filled last. @type {Filling | null} */
    this._filled = null
    /** @type {Rebuilt | null} */
    this._rebuilt = null
  }

  get isEmpty () {
    return this._lost === null && this._rebuilt === null
  }

  get isLost () {
    return this._lost !== null
  }

  /**
   * @param {number} end  where the log is, if nothing waits
   * @returns {number}  where what is lost begins
   */
  startOr (end) {
    return this._lost?.start ?? end
  }

  /**
   * @param {number} start
   * @param {import('../chunk-header').ChunkHeader} header
   * @param {Buffer} chunk
   */
  rebuild (start, header, chunk) {
    this._rebuilt = { start, header, chunk }
  }

  /**
   * @param {ChunkState} state  in front of the range, or at the end of one that this adjoins
   * @param {number} end
   * @param {Owner | null} owner
   */
  lose (state, end, owner) {
    const { hasGaps, shift } = this._rules
    const { end: start, logicalEnd: position, contentEnd, epoch, durable, chainCrc: previous } = state
    const gaps = hasGaps ? { shift, contentEnd, end: 0, next: 0 } : null
    if (this._lost === null) {
      this._lost = { start, end, position, gaps, epoch, durable, previous, chainCrc: 0, openSize: 0, owner, skip: 0 }
      this._wasInCommit = state.isInCommit
    }
    this._lost.end = end
  }

  /**
   * Whether a chunk may begin there, behind what is lost.
   * @param {number} start
   */
  canReach (start) {
    return this._lost === null || canFill(this._lost, start)
  }

  /**
   * Whether what is lost can end with a record that goes on in a chunk there.
   * @param {number} start
   * @param {number} position  logical, of the chunk
   */
  canOwn (start, position) {
    const { _lost: lost } = this
    if (lost === null || lost.end !== start) return false
    const size = start - Math.max(lost.start, start - PAGE_SIZE)
    if (size < CHUNK_SIZE_MIN) return false
    return lost.gaps === null || position + 2 * CHUNK_HEADER_SIZE - size >= lost.gaps.contentEnd
  }

  /**
   * Puts out what waits.
   * @param {ChunkState} state  gets the chain crc
   * @param {number | null} chainCrc  null when there is no chunk behind
   * @param {number} openSize  how much of that one belongs to a record that is lost
   * @param {number} position  logical, of that one
   * @param {boolean} isBehindLoss  of that one
   */
  settle (state, chainCrc, openSize, position, isBehindLoss) {
    const { _lost: lost, _rebuilt: rebuilt } = this
    this._lost = this._rebuilt = null
    if (lost !== null && lost.gaps !== null) lost.gaps.next = position
    // If that one does not say that it is behind an unclean end, the last chunk in place of what is lost does.
    if (lost !== null && lost.gaps === null && chainCrc !== null) {
      const ahead = position - lost.end - (lost.position - lost.start)
      lost.skip = isBehindLoss ? 0 : ahead - ahead % RESERVATION_SIZE
    }
    if (lost !== null) this._fill(lost, state, chainCrc, openSize)
    else if (rebuilt !== null) this._putRebuilt(rebuilt, state, chainCrc)
  }

  /**
   * If the log ends right behind the range that was filled last, chunks behind it were taken back, which said how it
   * ends: it waits again. Only at the log's end, or the range would be filled anew for each of many such chunks.
   * @param {ChunkState[]} states  the first one is where the output ends now; those right behind the range are changed
   */
  reopen (states) {
    const { _filled: filled, _output: output, _rules: { salt } } = this
    if (filled === null || !this.isEmpty || !isRightBehind(filled, states[0])) return
    const { owner, start } = filled
    const count = countChunks(filled)
    for (const state of states.filter((state) => isRightBehind(filled, state))) {
      state.chainCrc = UNKNOWN
      state.erasedInOutput -= count
    }
    output?.cut(Math.min(output.end, start))
    const restSize = ownedSizeOf(filled)
    if (owner !== null && restSize > 0) {
      changeChunk(output, owner.start, (chunk) => extendLastFrame(chunk, owner.offset, -restSize, salt))
    }
    this._lost = { ...filled, skip: 0 }
    this._filled = null
  }

  /**
   * Where nothing follows, what is too short for a chunk is left out.
   * @param {ChunkState} state
   */
  trim (state) {
    const { _lost: lost } = this
    if (lost === null || canFill(lost, lost.end)) return
    lost.end = Math.max(lost.start, lost.end - lost.end % PAGE_SIZE)
    state.end = lost.end
    state.logicalEnd = lost.position + lost.end - lost.start
    if (lost.start < lost.end) return
    state.chainCrc = lost.previous
    state.isInCommit = this._wasInCommit
    this._lost = null
  }

  /**
   * @param {Filling} lost
   * @param {ChunkState} state
   * @param {number | null} chainCrc
   * @param {number} openSize
   */
  _fill (lost, state, chainCrc, openSize) {
    const { _output: output, _rules: { salt } } = this
    const { owner, start, end } = lost
    const restSize = ownedSizeOf(lost)
    if (owner !== null && restSize > 0) {
      changeChunk(output, owner.start, (chunk) => extendLastFrame(chunk, owner.offset, restSize, salt))
    }
    // Where nothing comes behind it, the seqs of what is lost must not be used again.
    if (chainCrc === null && lost.gaps !== null) lost.gaps.end = state.logicalEnd
    this._filled = lost
    const count = countChunks(lost)
    state.chainCrc = count === 0 ? lost.previous : chainCrc ?? nameOfItsOwn(lost.previous)
    state.erasedInOutput += count
    output?.zerosTo(start)
    output?.fill(end - start, fillWithChunks({ ...lost, chainCrc: state.chainCrc, openSize }, salt))
  }

  /**
   * @param {Rebuilt} rebuilt
   * @param {ChunkState} state
   * @param {number | null} chainCrc
   */
  _putRebuilt ({ start, header, chunk }, state, chainCrc) {
    state.chainCrc = header.originalCrc = chainCrc ?? nameOfItsOwn(header.previous)
    writeChunkHeader(header, chunk, 0, this._rules.salt)
    this._output?.zerosTo(start)
    this._output?.append(chunk)
  }
}

/**
 * @param {Filling} lost
 * @returns {number}  how many bytes of the record in front of the range its only chunk has
 */
function ownedSizeOf (lost) {
  const { start, end } = lost
  return start % PAGE_SIZE === 0 && end - start < PAGE_SIZE ? restSizeOf(lost) : 0
}

/**
 * Whether there is no chunk between the range and where the state is; there may be the zeros at a page's end.
 * @param {Filling} lost
 * @param {ChunkState} state
 */
function isRightBehind (lost, { end }) {
  return end >= lost.end && end - lost.end < CHUNK_HEADER_SIZE
}

/**
 * What nobody calls anything may be called as it likes.
 * @param {number} previous
 */
function nameOfItsOwn (previous) {
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

exports.canFill = canFill
exports.countChunks = countChunks
exports.fillWithChunks = fillWithChunks
exports.makeLostChunk = makeLostChunk
exports.eraseLastFrame = eraseLastFrame
exports.eraseRest = eraseRest
exports.extendLastFrame = extendLastFrame
exports.restSizeOf = restSizeOf
exports.Pending = Pending
exports.changeChunk = changeChunk
