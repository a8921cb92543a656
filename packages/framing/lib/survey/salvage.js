'use strict'
// What becomes of every chunk: its records are counted, and it goes into the output, where its place and its chain crc
// stay what they were. What is lost is filled up, so that the chain of chunks is whole.

const { FrameCount, PIECE_SIZE_MAX } = require('../frames')
const {
  CHUNK_FLAGS, CHUNK_HEADER_SIZE, CHUNK_SIZE_MIN, FILE_SIZE_MAX, HEAD_SIZE, LENGTH_SIZE, PAGE_SIZE, RESERVATION_SIZE,
  SPLIT_SIZE_MIN, endOfPage
} = require('../layout')
const { ChunkState, UNKNOWN } = require('./chunk-state')
const { Pending, changeChunk, eraseLastFrame, eraseRest, makeLostChunk } = require('./make-chunk')

// What a page that compaction makes may have more than there was before: a header, a gap, padding in front of a record
// that is not split.
const PAGE_LOSS_MAX = 2 * CHUNK_SIZE_MIN + 3 * LENGTH_SIZE + SPLIT_SIZE_MIN

/** @typedef {import('../chunk-header').ChunkHeader} ChunkHeader */

class Salvage {
  #rules
  #slot
  /** Null if the records are only counted. */
  #output
  /** Above it the rest of the file could have no positions. */
  #positionMax
  /** In front of the commit of the last chunk. */
  #commitStart
  /** Behind the last damage. */
  #runStart
  #frames = new FrameCount()
  #pending

  /**
   * @param {import('../chunk-header').Rules} rules
   * @param {import('../head').Slot | null} slot  the newest that is whole
   * @param {number} fileSize
   * @param {import('./survey').ChunkSink | null} output
   */
  constructor (rules, slot, fileSize, output) {
    this.#rules = rules
    this.#slot = slot
    this.#output = output
    this.#positionMax = FILE_SIZE_MAX - fileSize
    this.#pending = new Pending(rules, output)
    const position = HEAD_SIZE + rules.shift
    this.state = new ChunkState(HEAD_SIZE, position, rules.salt)
    /** Behind the last chunk that ends a commit. */
    this.committed = new ChunkState(HEAD_SIZE, position, rules.salt)
    this.#commitStart = new ChunkState(HEAD_SIZE, position, rules.salt)
    this.#runStart = new ChunkState(HEAD_SIZE, position, rules.salt)
    output?.zerosTo(HEAD_SIZE)
  }

  /** How much of the next chunk belongs to a record begun before. */
  get continued () {
    return Math.min(this.state.open?.rest ?? 0, PIECE_SIZE_MAX)
  }

  /** Whether the end of the log, as it is here, is lost. */
  get isLost () {
    return this.#pending.isLost
  }

  /** Whether the last chunk was appended to what was compacted. */
  get endsWithAppend () {
    return this.#wasAppended(this.state)
  }

  /**
   * Whether a chunk goes on with the record that is open.
   * @param {ChunkHeader} header
   */
  goesOn (header) {
    const { open } = this.state
    if (header.continued !== this.continued || open?.canGoOn === false) return false
    return open === null || open.isErased || (header.flags & CHUNK_FLAGS.REST_ERASED) === 0
  }

  /**
   * Whether a chunk can be kept where it is, behind what is lost.
   * @param {ChunkHeader} header
   * @param {number} start
   */
  canKeep (header, start) {
    const { continued, position } = header
    if (!this.isInPlace(header, start) || !this.#pending.canReach(start)) return false
    // One to three bytes are too few for a frame: they need one before them that they belong to.
    return continued === 0 || continued >= LENGTH_SIZE || this.goesOn(header) || this.#pending.canOwn(start, position)
  }

  /**
   * Whether a chunk's position is one that a chunk can have there, behind what is lost.
   * @param {ChunkHeader} header
   * @param {number} start
   */
  isInPlace (header, start) {
    if (header.position > this.#positionMax) return false
    if (!this.#rules.hasGaps) return this.#isInOrder(header, start)
    if (header.firstSeq < this.state.contentEnd + (this.goesOn(header) ? header.continued : 0)) return false
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
    const slot = this.#slot
    const { shift } = this.state
    const ahead = header.position - start
    const isAppended = this.#wasAppended(header)
    if (this.endsWithAppend && (!isAppended || ahead < shift)) return true
    if (slot === null || start >= slot.end) return false
    const lead = slot.logicalEnd - slot.end
    if (!isAppended) return ahead > lead + Math.ceil((slot.end - start) / PAGE_SIZE) * PAGE_LOSS_MAX
    const isLikeLast = this.endsWithAppend && (ahead - shift) % RESERVATION_SIZE === 0
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
    const pageCount = 1 + Math.ceil((end - this.#pending.startOr(end)) / PAGE_SIZE)
    return continued > 0 || position - start < shift - pageCount * PAGE_LOSS_MAX
  }

  /**
   * Nothing of what compaction writes is durable when it is written.
   * @param {{ durable: number }} chunk
   */
  #wasAppended ({ durable }) {
    return durable > HEAD_SIZE + this.#rules.shift
  }

  /**
   * Only behind an unclean end positions are left out, and some are. What is lost may have been one.
   * @param {ChunkHeader} header
   * @param {number} start
   */
  #isInOrder ({ position, isBehindLoss }, start) {
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
    const { state } = this
    const goesOn = this.goesOn(header)
    const orphanSize = goesOn ? 0 : header.continued
    const { previous: chainCrc, position, isBehindLoss } = header
    this.#flush({ chainCrc, openSize: orphanSize < LENGTH_SIZE ? orphanSize : 0, position, isBehindLoss })
    if (!goesOn) this.#loseOpen()
    if (!state.isInCommit) this.#commitStart.copy(state)
    const isRestErased = (header.flags & CHUNK_FLAGS.REST_ERASED) !== 0
    const isChanged = orphanSize > 0 || (header.continued > 0 && state.open?.isErased === true && !isRestErased)
    if (isChanged && !isRestErased) state.erasedInOutput++
    this.#count(header, view, offset, start, goesOn, isMended)
    if (this.#output === null) return
    let chunk = bytes.subarray(offset, offset + CHUNK_HEADER_SIZE + header.size)
    if (isChanged) {
      chunk = Buffer.from(chunk)
      eraseRest(chunk, goesOn, this.#rules.salt)
    }
    this.#output.zerosTo(start)
    this.#output.append(chunk)
  }

  /**
   * A chunk whose header is made up: what it is known by is for the next one to say.
   * @param {ChunkHeader} header
   * @param {Buffer} chunk
   * @param {number} start
   */
  addRebuilt (header, chunk, start) {
    const { state } = this
    this.#flush(null)
    header.previous = state.chainCrc
    const goesOn = this.goesOn(header)
    if (!goesOn) this.#loseOpen()
    this.#count(header, new DataView(chunk.buffer, chunk.byteOffset, chunk.length), 0, start, goesOn, true)
    this.#pending.rebuild(start, header, chunk)
    state.chainCrc = UNKNOWN
    if (!state.isInCommit) this.committed.copy(state)
    this.startRun()
  }

  /**
   * @param {ChunkHeader} header
   * @param {DataView} view
   * @param {number} offset
   * @param {number} start
   * @param {boolean} goesOn
   * @param {boolean} isMended
   */
  #count (header, view, offset, start, goesOn, isMended) {
    const { hasGaps } = this.#rules
    const framesStart = offset + CHUNK_HEADER_SIZE + header.continued
    this.#frames.count(view, framesStart, offset + CHUNK_HEADER_SIZE + header.size, header.firstSeq)
    this.state.pass(header, start, this.#frames, offset, { goesOn, isMended, hasGaps })
    if (!this.state.isInCommit) this.committed.copy(this.state)
  }

  /**
   * @param {number} start  the end of the last chunk, or of its page
   * @param {number} end  all to there is lost
   * @returns {{ from: number, to: number }}  the seqs that may be lost
   */
  lose (start, end) {
    const { state } = this
    const { shift } = state
    if (!this.isLost) this.#flush(null)
    const from = state.open?.seq ?? start + shift
    this.#pending.lose(state, end, this.#loseOpen())
    state.end = end
    state.logicalEnd = end + shift
    state.chainCrc = UNKNOWN
    state.isInCommit = false
    this.committed.copy(state)
    this.startRun()
    return { from, to: end + shift }
  }

  /** What is behind here can be taken back, what is before it not any more. */
  startRun () {
    this.#runStart.copy(this.state)
  }

  /**
   * The zeros at a page's end, whatever they are: they hold no record.
   * @param {number} end
   */
  passFiller (end) {
    const { shift } = this.state
    this.state.end = end
    this.state.logicalEnd = end + shift
    this.startRun()
  }

  /** Takes back the last commit, whole or not, but nothing in front of damage. */
  takeBackCommit () {
    if (!this.#pending.isEmpty) return
    this.#returnTo(this.#commitStart.end >= this.#runStart.end ? this.#commitStart : this.#runStart)
  }

  /** Takes back all behind the last damage. */
  takeBackRun () {
    if (this.#pending.isEmpty) this.#returnTo(this.#runStart)
  }

  /** Leaves out what is behind the last commit that is whole. */
  cutToCommit () {
    this.#pending.trim(this.state)
    this.#flush(null)
    if (this.state.isInCommit) this.#returnTo(this.committed)
  }

  /** @param {ChunkState} base */
  #returnTo (base) {
    this.state.copy(base)
    if (this.committed.end > base.end) this.committed.copy(this.state)
    this.#output?.cut(Math.min(this.#output.end, base.end))
  }

  /**
   * Ends the log here, whatever was to come.
   * @param {number} logicalEnd  where it ended, as far as that is known: no seq of what is lost is to be used again
   */
  close (logicalEnd) {
    const { state } = this
    this.#pending.reopen([state, this.committed, this.#runStart])
    this.#pending.trim(state)
    const known = Math.min(logicalEnd, this.#positionMax)
    if (this.#rules.hasGaps && this.isLost) state.logicalEnd = Math.max(state.logicalEnd, known)
    this.#flush(null)
    this.#loseOpen()
    if (state.isInCommit) this.#closeCommit()
  }

  /**
   * The record that is open is not to be had whole: what there is of it is erased.
   * @returns {import('./make-chunk').Owner | null}  the last frame that this makes
   */
  #loseOpen () {
    const { state, state: { open, end } } = this
    const { salt } = this.#rules
    if (open === null) return null
    const { chunkStart, offset, isErased, canGoOn } = open
    const owner = { start: chunkStart, offset }
    changeChunk(this.#output, chunkStart, (chunk) => eraseLastFrame(chunk, offset, salt))
    if (!isErased) state.erasedInOutput++
    for (let start = endOfPage(chunkStart); start < end; start += PAGE_SIZE) {
      changeChunk(this.#output, start, (chunk) => eraseRest(chunk, false, salt))
      if (!isErased) state.erasedInOutput++
      owner.start = start
      owner.offset = CHUNK_HEADER_SIZE
    }
    state.open = null
    return canGoOn ? owner : null
  }

  /**
   * Writes what waits for the next chunk.
   * @param {import('./make-chunk').Next | null} next
   */
  #flush (next) {
    const { state } = this
    if (this.#pending.isEmpty) return
    this.#pending.flush(state, next)
    for (const other of [this.committed, this.#runStart]) {
      if (other.chainCrc !== UNKNOWN) continue
      other.chainCrc = state.chainCrc
      other.erasedInOutput = state.erasedInOutput
    }
  }

  /** A commit whose end is lost is ended by a chunk without a record. */
  #closeCommit () {
    const { state } = this
    const { epoch, durable, chainCrc: previous, shift } = state
    const start = endOfPage(state.end) - state.end < CHUNK_SIZE_MIN ? endOfPage(state.end) : state.end
    const place = { position: start + shift, epoch, durable, previous, openSize: 0, isPadding: false }
    const chunk = makeLostChunk(CHUNK_SIZE_MIN, place, null, this.#rules.salt)
    this.#output?.zerosTo(start)
    this.#output?.append(chunk)
    state.chainCrc = chunk.readUInt32BE(CHUNK_HEADER_SIZE - LENGTH_SIZE)
    state.end = start + chunk.length
    state.logicalEnd = state.end + shift
    state.erasedInOutput++
    state.isInCommit = false
    this.committed.copy(state)
  }
}

exports.Salvage = Salvage
