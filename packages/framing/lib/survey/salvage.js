'use strict'
// Counts the records of the chunks that a survey keeps, and puts these chunks into the output, where they keep their
// place and chain crc. Fills what is lost, so that the chain stays whole.

const { FrameCount, PIECE_SIZE_MAX } = require('../frames')
const {
  CHUNK_FLAGS, CHUNK_HEADER_SIZE, CHUNK_SIZE_MIN, FILE_SIZE_MAX, HEAD_SIZE, LENGTH_SIZE, PAGE_SIZE, RESERVATION_SIZE,
  SPLIT_SIZE_MIN, endOfPage
} = require('../layout')
const { ChunkState, UNKNOWN } = require('./chunk-state')
const { Pending, changeChunk, eraseLastFrame, eraseRest, makeLostChunk } = require('./make-chunk')

// How much larger compaction may make a page: by a header, a gap, and padding before a record that is not split.
const PAGE_LOSS_MAX = 2 * CHUNK_SIZE_MIN + 3 * LENGTH_SIZE + SPLIT_SIZE_MIN

/** @typedef {import('../chunk-header').ChunkHeader} ChunkHeader */

class Salvage {
  #rules
  #slot
  /** Null if the records are only counted. */
  #output
  /** A higher position would leave no room for the rest of the file. */
  #positionMax
  /** The state before the last chunk's commit. */
  #commitStart
  /** The state after the last damage. */
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
    /** The state after the last chunk that ends a commit. */
    this.committed = new ChunkState(HEAD_SIZE, position, rules.salt)
    this.#commitStart = new ChunkState(HEAD_SIZE, position, rules.salt)
    this.#runStart = new ChunkState(HEAD_SIZE, position, rules.salt)
    output?.zerosTo(HEAD_SIZE)
  }

  /** How many bytes of the next chunk belong to a record that began before. */
  get continued () {
    return Math.min(this.state.open?.rest ?? 0, PIECE_SIZE_MAX)
  }

  /** Whether the log, as far as it was surveyed, ends with a lost range. */
  get isLost () {
    return this.#pending.isLost
  }

  /** Whether the last chunk was appended, rather than written by compaction. */
  get endsWithAppend () {
    return this.#wasAppended(this.state)
  }

  /** Whether a chunk continues with the open record, if there is one. @type {(header: ChunkHeader) => boolean} */
  goesOn (header) {
    const { open } = this.state
    if (header.continued !== this.continued || open?.canGoOn === false) return false
    return open === null || open.isErased || (header.flags & CHUNK_FLAGS.REST_ERASED) === 0
  }

  /** Whether a chunk can be kept there, after what is lost. @type {(header: ChunkHeader, start: number) => boolean} */
  canKeep (header, start) {
    const { continued, position } = header
    if (!this.isInPlace(header, start) || !this.#pending.canReach(start)) return false
    // One to three bytes are too few for a frame. They must belong to a frame before them.
    return continued === 0 || continued >= LENGTH_SIZE || this.goesOn(header) || this.#pending.canOwn(start, position)
  }

  /** Whether the position fits there, after what is lost. @type {(header: ChunkHeader, start: number) => boolean} */
  isInPlace (header, start) {
    if (header.position > this.#positionMax) return false
    if (!this.#rules.hasGaps) return this.#isInOrder(header, start)
    if (header.firstSeq < this.state.contentEnd + (this.goesOn(header) ? header.continued : 0)) return false
    return !this.isLost || !this.isElsewhere(header, start)
  }

  // In a compacted log: whether a chunk's position or kind says that it was written elsewhere. Records only move
  // towards the start of the file, so positions get further and further ahead of their places. Compaction may lose a
  // little of that lead at each page's end. Appends do not: they have the lead of the log's end, except for what
  // unclean ends skipped.
  /** @type {(header: ChunkHeader, start: number) => boolean} */
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

  /** Compaction writes nothing that is durable already. @type {(chunk: { durable: number }) => boolean} */
  #wasAppended ({ durable }) {
    return durable > HEAD_SIZE + this.#rules.shift
  }

  // Positions are skipped after an unclean end, always and only there. The lost range may have contained one.
  /** @type {(header: ChunkHeader, start: number) => boolean} */
  #isInOrder ({ position, isAfterLoss }, start) {
    const ahead = position - start - this.state.shift
    return ahead === 0 ? !isAfterLoss : ahead > 0 && (isAfterLoss || this.isLost)
  }

  /**
   * Keeps a chunk. It is at `offset` in `bytes` and `view`, which begin at the same byte, and at `start` in the file.
   * @type {(header: ChunkHeader, bytes: Buffer, view: DataView, offset: number, start: number, isMended: boolean) =>
   *   void}
   */
  addChunk (header, bytes, view, offset, start, isMended) {
    const { state } = this
    const goesOn = this.goesOn(header)
    const orphanSize = goesOn ? 0 : header.continued
    const { previous: chainCrc, position, isAfterLoss } = header
    this.#flush({ chainCrc, openSize: orphanSize < LENGTH_SIZE ? orphanSize : 0, position, isAfterLoss })
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
   * @type {(header: ChunkHeader, view: DataView, offset: number, start: number, goesOn: boolean, isMended: boolean) =>
   *   void}
   */
  #count (header, view, offset, start, goesOn, isMended) {
    const { hasGaps } = this.#rules
    const framesStart = offset + CHUNK_HEADER_SIZE + header.continued
    this.#frames.count(view, framesStart, offset + CHUNK_HEADER_SIZE + header.size, header.firstSeq)
    this.state.pass(header, start, this.#frames, offset, { goesOn, isMended, hasGaps })
    if (!this.state.isInCommit) this.committed.copy(this.state)
  }

  // Loses everything from the end of the last chunk, or of its page, up to `end`. Returns the seqs that may be lost.
  /** @type {(start: number, end: number) => { from: number, to: number }} */
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

  /** From now on, what is before here cannot be taken back. */
  startRun () {
    this.#runStart.copy(this.state)
  }

  /** Passes the zeros at a page's end, damaged or not: they hold no record. @type {(end: number) => void} */
  passFiller (end) {
    const { shift } = this.state
    this.state.end = end
    this.state.logicalEnd = end + shift
    this.startRun()
  }

  /** Takes back the last commit, complete or not, but nothing before damage. */
  takeBackCommit () {
    if (this.isLost) return
    this.#returnTo(this.#commitStart.end >= this.#runStart.end ? this.#commitStart : this.#runStart)
  }

  /** Takes back everything after the last damage. */
  takeBackRun () {
    if (!this.isLost) this.#returnTo(this.#runStart)
  }

  /** Leaves out everything after the last complete commit. */
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

  // Ends the log. `logicalEnd` is where it once ended, if known: no seq of a lost record may be used again.
  /** @type {(logicalEnd: number) => void} */
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
   * Erases what there is of the open record. Returns the last frame that this makes, if a lost range can continue it.
   * @returns {import('./make-chunk').Owner | null}
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

  /** Writes what waits for the next chunk. @type {(next: import('./make-chunk').Next | null) => void} */
  #flush (next) {
    const { state } = this
    if (!this.isLost) return
    this.#pending.flush(state, next)
    for (const other of [this.committed, this.#runStart]) {
      if (other.chainCrc !== UNKNOWN) continue
      other.chainCrc = state.chainCrc
      other.erasedInOutput = state.erasedInOutput
    }
  }

  /** Ends a commit whose end is lost, by a chunk without records. */
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
