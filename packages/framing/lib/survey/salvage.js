'use strict'
// What becomes of every chunk: its records are counted, and it goes into the output, where its place and its chain crc
// stay what they were. What is lost is filled up, so that the chain of chunks is whole.

const { FrameCount } = require('../frames')
const {
  CHUNK_FLAGS, CHUNK_HEADER_SIZE, CHUNK_SIZE_MIN, FILE_SIZE_MAX, HEAD_SIZE, RESERVATION_SIZE, LENGTH_SIZE, PAGE_SIZE,
  SPLIT_SIZE_MIN
} = require('../layout')
const { ChunkState, UNKNOWN } = require('./chunk-state')
const { endOfPage } = require('./find-header')
const { Pending, changeChunk, eraseLastFrame, eraseRest, makeLostChunk } = require('./make-chunk')

const PIECE_SIZE_MAX = PAGE_SIZE - CHUNK_HEADER_SIZE
// What a page that compaction makes may have more than there was before: a header, a gap, padding in front of a record
// that is not split.
const PAGE_LOSS_MAX = 2 * CHUNK_SIZE_MIN + 3 * LENGTH_SIZE + SPLIT_SIZE_MIN

/** @typedef {import('../chunk-header').ChunkHeader} ChunkHeader */

class Salvage {
  /**
   * @param {import('../chunk-header').Rules} rules
   * @param {import('../head').Slot | null} slot  the newest that is whole
   * @param {number} fileSize
   * @param {import('./survey').ChunkSink | null} output  null for who only wants to know
   */
  constructor (rules, slot, fileSize, output) {
    this._rules = rules
    this._slot = slot
    this._salt = rules.salt
    this._output = output
    /** Above it the rest of the file could have no positions. */
    this._positionMax = FILE_SIZE_MAX - fileSize
    const position = HEAD_SIZE + rules.shift
    this.state = new ChunkState(HEAD_SIZE, position, rules.salt)
    /** Behind the last chunk that ends a commit. */
    this.committed = new ChunkState(HEAD_SIZE, position, rules.salt)
    /** In front of the commit of the last chunk. */
    this._commitStart = new ChunkState(HEAD_SIZE, position, rules.salt)
    /** Behind the last damage. */
    this._segment = new ChunkState(HEAD_SIZE, position, rules.salt)
    this._frames = new FrameCount()
    this._pending = new Pending(rules, output)
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
    const { isOpen, isOpenErased, canGoOn } = this.state
    if (header.continued !== this.continued || (isOpen && !canGoOn)) return false
    return !isOpen || isOpenErased || (header.flags & CHUNK_FLAGS.REST_ERASED) === 0
  }

  /**
   * Whether a chunk can be kept where it is, behind what is lost.
   * @param {ChunkHeader} header
   * @param {number} start
   */
  canKeep (header, start) {
    const { continued, position } = header
    if (!this.isInPlace(header, start) || !this._pending.canReach(start)) return false
    // One to three bytes are too few for a frame: they need one before them that they belong to.
    return continued === 0 || continued >= LENGTH_SIZE || this.goesOn(header) || this._pending.canOwn(start, position)
  }

  /**
   * Whether a chunk's position is one that a chunk can have there, behind what is lost.
   * @param {ChunkHeader} header
   * @param {number} start
   */
  isInPlace (header, start) {
    const { state, _rules: { hasGaps } } = this
    if (header.position > this._positionMax) return false
    if (!hasGaps) return this._isInOrder(header, start)
    if (header.firstSeq < state.contentEnd + (this.goesOn(header) ? header.continued : 0)) return false
    return !this.isLost || !this.isElsewhere(header, start)
  }

  /**
   * Where gaps are left out: whether a chunk's position, or its kind, says that it was written elsewhere. Records only
   * ever move towards the start of the file, so positions run further and further ahead. Compaction may lose a little
   * of that again at each page's end. An append does not: behind what was compacted positions are as far ahead as at
   * the end, but for what unclean ends left out.
   * @param {ChunkHeader} header
   * @param {number} start
   */
  isElsewhere (header, start) {
    const { state, _slot: slot } = this
    const ahead = header.position - start
    const isAppended = this._wasAppended(header)
    if (this.endsWithAppend && (!isAppended || ahead < state.shift)) return true
    if (slot === null || start >= slot.end) return false
    const lead = slot.logicalEnd - slot.end
    if (!isAppended) return ahead > lead + Math.ceil((slot.end - start) / PAGE_SIZE) * PAGE_LOSS_MAX
    const isLikeLast = this.endsWithAppend && (ahead - state.shift) % RESERVATION_SIZE === 0
    return ahead > lead || ((lead - ahead) % RESERVATION_SIZE !== 0 && !isLikeLast)
  }

  /**
   * Where gaps are left out: whether a chunk in the middle of a page goes on with a record, as none does, or is less
   * far ahead of its place than what is in front of it, by more than compaction can cost.
   * @param {ChunkHeader} header
   * @param {number} start
   */
  isBehindItsPlace ({ continued, position }, start) {
    const { end, shift } = this.state
    const pageCount = 1 + Math.ceil((end - this._pending.startOr(end)) / PAGE_SIZE)
    return continued > 0 || position - start < shift - pageCount * PAGE_LOSS_MAX
  }

  /** Whether the last chunk was appended to what was compacted. */
  get endsWithAppend () {
    return this._wasAppended(this.state)
  }

  /**
   * Nothing of what compaction writes is durable when it is written.
   * @param {{ durable: number }} chunk
   */
  _wasAppended ({ durable }) {
    return durable > HEAD_SIZE + this._rules.shift
  }

  /**
   * Only behind an unclean end positions are left out, and some are. What is lost may have been one.
   * @param {ChunkHeader} header
   * @param {number} start
   */
  _isInOrder ({ position, isBehindLoss }, start) {
    const ahead = position - start - this.state.shift
    return ahead === 0 ? !isBehindLoss : ahead > 0 && (isBehindLoss || this.isLost)
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
    this._settle(header.previous, orphanSize < LENGTH_SIZE ? orphanSize : 0, header.position, header.isBehindLoss)
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
    this._settle(null, 0, 0)
    header.previous = this.state.chainCrc
    const goesOn = this.goesOn(header)
    if (!goesOn) this._loseOpen()
    this._count(header, new DataView(chunk.buffer, chunk.byteOffset, chunk.length), 0, start, goesOn, true)
    this._pending.rebuild(start, header, chunk)
    this.state.chainCrc = UNKNOWN
    if (!this.state.isInCommit) this.committed.copy(this.state)
    this.noteDamage()
  }

  /**
   * @param {number} start  the end of the last chunk, or of its page
   * @param {number} end  all to there is lost
   * @returns {{ from: number, to: number }}  the seqs that may be lost
   */
  lose (start, end) {
    const { state } = this
    const { shift } = state
    if (!this.isLost) this._settle(null, 0, 0)
    const from = state.isOpen ? state.openSeq : start + shift
    this._pending.lose(state, end, this._loseOpen())
    state.end = end
    state.logicalEnd = end + shift
    state.chainCrc = UNKNOWN
    state.isInCommit = false
    this.committed.copy(state)
    this.noteDamage()
    return { from, to: end + shift }
  }

  /** Whether the end of the log, as it is here, is lost. */
  get isLost () {
    return this._pending.isLost
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
    if (!this._pending.isEmpty) return
    this._returnTo(this._commitStart.end >= this._segment.end ? this._commitStart : this._segment)
  }

  /** Takes back all behind the last damage. */
  takeBackRun () {
    if (this._pending.isEmpty) this._returnTo(this._segment)
  }

  /** Leaves out what is behind the last commit that is whole. */
  cutToCommit () {
    this._pending.trim(this.state)
    this._settle(null, 0, 0)
    if (this.state.isInCommit) this._returnTo(this.committed)
  }

  /**
   * Ends the log here, whatever was to come.
   * @param {number} logicalEnd  where it ended, as far as that is known: no seq of what is lost is to be used again
   */
  close (logicalEnd) {
    const { state } = this
    this._pending.reopen([state, this.committed, this._segment])
    this._pending.trim(state)
    const known = Math.min(logicalEnd, this._positionMax)
    if (this._rules.hasGaps && this.isLost) state.logicalEnd = Math.max(state.logicalEnd, known)
    this._settle(null, 0, 0)
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
    const framesStart = offset + CHUNK_HEADER_SIZE + header.continued
    if (goesOn && state.isOpen) state.takePiece(header.continued, isMended)
    frames.count(view, framesStart, offset + CHUNK_HEADER_SIZE + header.size, header.firstSeq)
    state.takeFrames(frames, offset, start, isMended)
    state.takeHeader(header, start, this._rules.hasGaps ? frames.gapSize : 0)
    if (!state.isInCommit) this.committed.copy(state)
  }

  /**
   * The record that is open is not to be had whole: what there is of it is erased.
   * @returns {import('./make-chunk').Owner | null}  the last frame that this makes
   */
  _loseOpen () {
    const { state, _output: output, _salt: salt } = this
    if (!state.isOpen) return null
    const { openStart, openOffset, isOpenErased, canGoOn, end } = state
    const owner = { start: openStart, offset: openOffset }
    changeChunk(output, openStart, (chunk) => eraseLastFrame(chunk, openOffset, salt))
    if (!isOpenErased) state.erasedInOutput++
    for (let start = endOfPage(openStart); start < end; start += PAGE_SIZE) {
      changeChunk(output, start, (chunk) => eraseRest(chunk, false, salt))
      if (!isOpenErased) state.erasedInOutput++
      owner.start = start
      owner.offset = CHUNK_HEADER_SIZE
    }
    state.closeRecord()
    return canGoOn ? owner : null
  }

  /**
   * @param {number | null} chainCrc  what the chunk behind calls the one before it; null when there is none
   * @param {number} openSize  how much of it belongs to a record that is lost
   * @param {number} position  logical, of that chunk
   * @param {boolean} [isBehindLoss]
   */
  _settle (chainCrc, openSize, position, isBehindLoss = false) {
    const { state, committed, _segment: segment, _pending: pending } = this
    if (pending.isEmpty) return
    pending.settle(state, chainCrc, openSize, position, isBehindLoss)
    for (const other of [committed, segment]) {
      if (other.chainCrc !== UNKNOWN) continue
      other.chainCrc = state.chainCrc
      other.erasedInOutput = state.erasedInOutput
    }
  }

  /** A commit whose end is lost is ended by a chunk without a record. */
  _closeCommit () {
    const { state, _output: output } = this
    const room = PAGE_SIZE - state.end % PAGE_SIZE
    const start = room < CHUNK_SIZE_MIN ? state.end + room : state.end
    const { epoch, durable, chainCrc: previous, shift } = state
    const place = { position: start + shift, epoch, durable, previous, openSize: 0, isPadding: false }
    const chunk = makeLostChunk(CHUNK_SIZE_MIN, place, null, this._salt)
    output?.zerosTo(start)
    output?.append(chunk)
    state.chainCrc = chunk.readUInt32BE(CHUNK_HEADER_SIZE - LENGTH_SIZE)
    state.end = start + chunk.length
    state.logicalEnd = state.end + shift
    state.erasedInOutput++
    state.isInCommit = false
    this.committed.copy(state)
  }
}

exports.Salvage = Salvage
