'use strict'
// What becomes of every chunk: its records are counted, and it goes into the output, where its place and its identity
// stay what they were. What is lost is filled up, so that the chain of chunks is whole.

const { CHUNK_FLAGS, CHUNK_HEADER_SIZE, CHUNK_SIZE_MIN, HEAD_SIZE, LENGTH_SIZE, PAGE_SIZE } = require('../layout')
const { writeChunkHeader } = require('../chunk-header')
const { ChunkState, UNKNOWN } = require('./chunk-state')
const { FrameCount } = require('./count-frames')
const { endOfPage } = require('./find-header')
const {
  canFill, countChunks, eraseLastFrame, eraseRest, extendLastFrame, fillWithChunks, makeLostChunk, restSizeOf
} = require('./make-chunk')

const PIECE_SIZE_MAX = PAGE_SIZE - CHUNK_HEADER_SIZE
const SIZE_OFFSET = 8

/**
 * @typedef {import('../chunk-header').ChunkHeader} ChunkHeader
 * @typedef {import('./make-chunk').Filling} Filling
 * @typedef {{ start: number, header: ChunkHeader, chunk: Buffer }} Rebuilt  a chunk whose header is made up
 */

class Salvage {
  /**
   * @param {import('../chunk-header').Rules} rules
   * @param {import('../../../salvage/output').Output | null} output  null for who only wants to know
   */
  constructor (rules, output) {
    this._rules = rules
    this._salt = rules.salt
    this._output = output
    const position = HEAD_SIZE + rules.shift
    this.state = new ChunkState(HEAD_SIZE, position, rules.salt)
    /** Behind the last chunk that ends a commit. */
    this.committed = new ChunkState(HEAD_SIZE, position, rules.salt)
    /** In front of the commit of the last chunk. */
    this._commitStart = new ChunkState(HEAD_SIZE, position, rules.salt)
    /** Behind the last damage. */
    this._segment = new ChunkState(HEAD_SIZE, position, rules.salt)
    this._frames = new FrameCount()
    /** What gets its identity from the chunk behind it: a range that is lost, or a chunk with a new header. */
    /** @type {Filling | null} */
    this._lost = null
    /** @type {Rebuilt | null} */
    this._rebuilt = null
    output?.zerosTo(HEAD_SIZE)
  }

  get isOutputFull () {
    return this._output !== null && this._output.isFull
  }

  /** How much of the next chunk belongs to a record begun before. */
  get continued () {
    return Math.min(this.state.openRest, PIECE_SIZE_MAX)
  }

  /**
   * Whether a chunk goes on with the record that is open.
   * @param {ChunkHeader} header
   */
  goesOn (header) {
    const { isOpen, isOpenErased } = this.state
    if (header.continued !== this.continued) return false
    return !isOpen || isOpenErased || (header.flags & CHUNK_FLAGS.REST_ERASED) === 0
  }

  /**
   * Whether a chunk can be kept where it is, behind what is lost.
   * @param {ChunkHeader} header
   * @param {number} start
   */
  canKeep (header, start) {
    const { state, _lost: lost } = this
    if (header.position < state.logicalEnd) return false
    if (lost !== null && !canFill(lost, start)) return false
    // One to three bytes are too few for a frame: they need one before them that they belong to.
    if (header.continued === 0 || header.continued >= LENGTH_SIZE || this.goesOn(header)) return true
    return lost !== null && lost.end === start && start - Math.max(lost.start, start - PAGE_SIZE) >= CHUNK_SIZE_MIN
  }

  /**
   * @param {ChunkHeader} header
   * @param {Buffer} bytes
   * @param {DataView} view  over the same memory, from the same start
   * @param {number} offset  of the chunk in the bytes
   * @param {number} start  of the chunk in the file
   * @param {boolean} isMended
   */
  addChunk (header, bytes, view, offset, start, isMended) {
    const goesOn = this.goesOn(header)
    const orphanSize = goesOn ? 0 : header.continued
    this._settle(header.previous, orphanSize < LENGTH_SIZE ? orphanSize : 0)
    if (!goesOn) this._loseOpen()
    if (!this.state.isInCommit) this._commitStart.copy(this.state)
    const isRestErased = (header.flags & CHUNK_FLAGS.REST_ERASED) !== 0
    const isChanged = orphanSize > 0 || (header.continued > 0 && this.state.isOpenErased && !isRestErased)
    if (isChanged && !isRestErased) this.state.erasedInOutput++
    this._count(header, view, offset, start, goesOn, isMended)
    if (this._output === null) return
    let chunk = bytes.subarray(offset, offset + CHUNK_HEADER_SIZE + header.size)
    if (isChanged) {
      chunk = Buffer.from(chunk)
      eraseRest(chunk, goesOn, this._salt)
    }
    this._output.zerosTo(start)
    this._output.append(chunk)
  }

  /**
   * A chunk whose header is made up: what it is known by is for the next one to say.
   * @param {ChunkHeader} header
   * @param {Buffer} chunk
   * @param {number} start
   */
  addRebuilt (header, chunk, start) {
    this._settle(null, 0)
    header.previous = this.state.identity
    const goesOn = this.goesOn(header)
    if (!goesOn) this._loseOpen()
    this._count(header, new DataView(chunk.buffer, chunk.byteOffset, chunk.length), 0, start, goesOn, true)
    this._rebuilt = { start, header, chunk }
    this.state.identity = UNKNOWN
    this.committed.copy(this.state)
    this.noteDamage()
  }

  /**
   * @param {number} start  the end of the last chunk, or of its page
   * @param {number} end  all to there is lost
   * @returns {{ from: number, to: number }}  the seqs that may be lost
   */
  lose (start, end) {
    const { state } = this
    if (this._rebuilt) this._settle(null, 0)
    const from = state.isOpen ? state.openSeq : start + state.shift
    const owner = this._loseOpen()
    const { logicalEnd: position, epoch, durable, identity: previous, shift } = state
    this._lost ??= { start: state.end, end, position, epoch, durable, previous, identity: 0, openSize: 0, owner }
    this._lost.end = end
    state.end = end
    state.logicalEnd = end + shift
    state.identity = UNKNOWN
    state.isInCommit = false
    this.committed.copy(state)
    this.noteDamage()
    return { from, to: end + shift }
  }

  /** Whether the end of the log, as it is here, is lost. */
  get isLost () {
    return this._lost !== null
  }

  /** Nothing before here is to be taken back any more. */
  noteDamage () {
    this._segment.copy(this.state)
  }

  /**
   * The zeros at a page's end, whatever they are: they hold no record.
   * @param {number} end
   */
  passFiller (end) {
    const { state } = this
    const { shift } = state
    state.end = end
    state.logicalEnd = end + shift
    this.noteDamage()
  }

  /** Takes back the last commit, whole or not, but nothing in front of damage. */
  takeBackCommit () {
    if (this._lost || this._rebuilt) return
    this._returnTo(this._commitStart.end >= this._segment.end ? this._commitStart : this._segment)
  }

  /** Leaves out what is behind the last commit that is whole. */
  cutToCommit () {
    this._trimLost()
    this._settle(null, 0)
    if (this.state.isInCommit) this._returnTo(this.committed)
  }

  /** Ends the log here, whatever was to come. */
  close () {
    this._trimLost()
    this._settle(null, 0)
    this._loseOpen()
    if (this.state.isInCommit) this._closeCommit()
  }

  /** @param {ChunkState} base */
  _returnTo (base) {
    this.state.copy(base)
    if (this.committed.end > base.end) this.committed.copy(base)
    this._output?.cut(Math.min(this._output.end, base.end))
  }

  /**
   * @param {ChunkHeader} header
   * @param {DataView} view
   * @param {number} offset
   * @param {number} start
   * @param {boolean} goesOn
   * @param {boolean} isMended
   */
  _count (header, view, offset, start, goesOn, isMended) {
    const { state, _frames: frames } = this
    if (goesOn && state.isOpen) this._takePiece(header.continued, isMended)
    const chunkEnd = offset + CHUNK_HEADER_SIZE + header.size
    const framesStart = offset + CHUNK_HEADER_SIZE + header.continued
    const position = header.position + CHUNK_HEADER_SIZE + header.continued
    frames.count(view, framesStart, chunkEnd, position)
    if (frames.recordCount > 0) {
      state.recordCount += frames.recordCount
      state.last = frames.last
      if (isMended) state.mendedCount += frames.recordCount
    }
    if (frames.openOffset !== -1) {
      state.openSeq = position + frames.gapSize + frames.openOffset - framesStart
      state.openRest = frames.openSize - (chunkEnd - frames.openOffset - LENGTH_SIZE)
      state.isOpenErased = frames.isOpenErased
      state.isOpenMended = isMended
      state.openStart = start
      state.openOffset = frames.openOffset - offset
    }
    state.end = start + CHUNK_HEADER_SIZE + header.size
    state.logicalEnd = header.position + CHUNK_HEADER_SIZE + header.size + (this._rules.hasGaps ? frames.gapSize : 0)
    state.identity = header.identity
    state.epoch = Math.max(state.epoch, header.epoch)
    state.durable = header.durable
    state.erasedCount += header.erasedCount
    state.erasedInOutput += header.erasedCount
    state.isInCommit = header.commitContinues
    if (!state.isInCommit) this.committed.copy(state)
  }

  /**
   * @param {number} size
   * @param {boolean} isMended
   */
  _takePiece (size, isMended) {
    const { state } = this
    state.openRest -= size
    state.isOpenMended ||= isMended
    if (state.openRest > 0) return
    if (!state.isOpenErased) {
      state.recordCount++
      state.last = state.openSeq
      if (state.isOpenMended) state.mendedCount++
    }
    state.closeRecord()
  }

  /**
   * The record that is open is not to be had whole: what there is of it is erased.
   * @returns {import('./make-chunk').Owner | null}  the last frame that this makes
   */
  _loseOpen () {
    const { state, _salt: salt } = this
    if (!state.isOpen) return null
    const { openStart, openOffset, isOpenErased, end } = state
    const owner = { start: openStart, offset: openOffset }
    this._change(openStart, (chunk) => eraseLastFrame(chunk, openOffset, salt))
    if (!isOpenErased) state.erasedInOutput++
    for (let start = endOfPage(openStart); start < end; start += PAGE_SIZE) {
      this._change(start, (chunk) => eraseRest(chunk, false, salt))
      if (!isOpenErased) state.erasedInOutput++
      owner.start = start
      owner.offset = CHUNK_HEADER_SIZE
    }
    state.closeRecord()
    return owner
  }

  /**
   * @param {number} start  of a chunk that is in the output
   * @param {(chunk: Buffer) => void} edit
   */
  _change (start, edit) {
    const measure = (/** @type {Buffer} */ head) => CHUNK_HEADER_SIZE + head.readUInt16BE(SIZE_OFFSET)
    this._output?.change(start, CHUNK_HEADER_SIZE, measure, edit)
  }

  /**
   * @param {number | null} identity  what the chunk behind calls the one before it; null when there is none
   * @param {number} openSize  how much of it belongs to a record that is lost
   */
  _settle (identity, openSize) {
    const { state, committed, _segment: segment, _lost: lost, _rebuilt: rebuilt, _output: output } = this
    if (lost === null && rebuilt === null) return
    this._lost = this._rebuilt = null
    // Nobody calls it anything: so it may be called as it likes.
    const known = identity ?? (lost ?? /** @type {Rebuilt} */ (rebuilt).header).previous ^ 1
    state.identity = known >>> 0
    if (lost !== null) {
      const { owner } = lost
      const restSize = restSizeOf(lost)
      if (owner !== null && restSize > 0 && lost.start % PAGE_SIZE === 0 && lost.end - lost.start < PAGE_SIZE) {
        this._change(owner.start, (chunk) => extendLastFrame(chunk, owner.offset, restSize, this._salt))
      }
      state.erasedInOutput += countChunks(lost)
      output?.zerosTo(lost.start)
      output?.fill(lost.end - lost.start, fillWithChunks({ ...lost, identity: state.identity, openSize }, this._salt))
    } else if (rebuilt !== null) {
      rebuilt.header.birth = state.identity
      writeChunkHeader(rebuilt.header, rebuilt.chunk, 0, this._salt)
      output?.zerosTo(rebuilt.start)
      output?.append(rebuilt.chunk)
    }
    for (const other of [committed, segment]) {
      if (other.identity !== UNKNOWN) continue
      other.identity = state.identity
      other.erasedInOutput = state.erasedInOutput
    }
  }

  /** Where nothing follows, what is too short for a chunk is left out. */
  _trimLost () {
    const { state, _lost: lost } = this
    if (lost === null || canFill(lost, lost.end)) return
    lost.end = Math.max(lost.start, lost.end - lost.end % PAGE_SIZE)
    const { shift } = state
    state.end = lost.end
    state.logicalEnd = lost.end + shift
    if (lost.start < lost.end) return
    state.identity = lost.previous
    this._lost = null
  }

  /** A commit whose end is lost is ended by a chunk without a record. */
  _closeCommit () {
    const { state, _output: output } = this
    const room = PAGE_SIZE - state.end % PAGE_SIZE
    const start = room < CHUNK_SIZE_MIN ? state.end + room : state.end
    const { epoch, durable, identity: previous, shift } = state
    const place = { position: start + shift, epoch, durable, previous, openSize: 0 }
    const chunk = makeLostChunk(CHUNK_SIZE_MIN, place, null, this._salt)
    output?.zerosTo(start)
    output?.append(chunk)
    state.identity = chunk.readUInt32BE(CHUNK_HEADER_SIZE - LENGTH_SIZE)
    state.end = start + chunk.length
    state.logicalEnd = state.end + shift
    state.erasedInOutput++
    state.isInCommit = false
    this.committed.copy(state)
  }
}

exports.Salvage = Salvage
