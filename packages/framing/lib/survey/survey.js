'use strict'
// Surveys a file of the checked framing from its first page to its end, past all damage. The salvage gets what can be
// kept, the list of damage gets the rest. A bad end that was never promised is a torn write. `Survey` reads and writes
// nothing itself: `step` says what it needs.

const { ChunkCursor, ENTRY } = require('../chunk-cursor')
const { ChunkHeader, isHeaderWhole, readChunkHeader } = require('../chunk-header')
const { countErased } = require('../head')
const { entriesByChunk } = require('../journal')
const { CHUNK_FLAGS, CHUNK_HEADER_SIZE, CHUNK_SIZE_MIN, HEAD_SIZE, PAGE_SIZE, endOfPage } = require('../layout')
const { Chain, Unanchored } = require('./chain')
const { UNKNOWN } = require('./chunk-state')
const { WHAT } = require('./damage-list')
const { findHeader, isZeroIn, mendHeader } = require('./find-header')
const { Salvage } = require('./salvage')

/** Why a step ended. */
const STEP = Object.freeze({
  /** Nothing is left to do. */
  OVER: 0,
  /** The cursor's window must hold more. */
  NEEDS_BYTES: 1,
  /** The output must be drained first. */
  NEEDS_DRAIN: 2,
  /** Something looks damaged. The caller reads it again, and calls `passDamage` if it stays so. */
  NEEDS_LOOK: 3,
  /** The caller reads the frame at `doubtfulFrame` and tells `passOddChunk` whether it is erased by now. */
  NEEDS_FRAME: 4
})

/**
 * @typedef {import('../head').Head} Head
 * @typedef {import('../journal').Entry} Entry
 * @typedef {import('../chunk-header').Rules} Rules
 * @typedef {import('./damage-list').DamageList} DamageList
 */

/**
 * What is known about a file before the survey.
 * @typedef {object} Source
 * @property {Head} head
 * @property {Rules} rules
 * @property {Map<number, Entry[]>} unfinished  by chunk: what the journals say
 * @property {number} fileSize
 * @property {number} promisedEnd  physical; everything before it was once known to be on stable storage
 * @property {boolean} isBlind  both slots are lost, so the whole file counts as promised
 * @property {number} epoch  the highest one seen so far
 * @property {number | null} erasedCount  how many records and pieces should be erased; null if unknown
 */

/**
 * Changes appended bytes, from `start` on: `measure` says, by the first `headSize` of them, how many `edit` gets.
 * @typedef {(start: number, headSize: number, measure: (head: Buffer) => number, edit: (bytes: Buffer) => void) => void
 * } Change
 */

/**
 * Takes what is kept, in order. It writes nothing before it is drained.
 * @typedef {object} ChunkSink
 * @property {number} end  where the next byte goes
 * @property {boolean} isFull  whether it is worth draining
 * @property {(bytes: Buffer) => void} append
 * @property {(end: number) => void} zerosTo
 * @property {(size: number, make: () => Buffer) => void} fill
 * @property {Change} change
 * @property {(size: number) => void} cut
 */

/**
 * `end` is where the log is known to end, with everything before it whole; or the end of the file. Then the caller must
 * set `promisedEnd`, once it has found what the log promises: the `source.js` of repair does.
 * @type {(head: Head, end: number) => Source}
 */
function describeSource (head, end) {
  const { header, slot, journals } = head
  const { salt, base, hasGaps } = header
  return {
    head,
    rules: { verify: true, salt, shift: base - HEAD_SIZE, hasGaps },
    unfinished: entriesByChunk(journals),
    fileSize: end,
    promisedEnd: end,
    isBlind: slot === null,
    epoch: slot?.epoch ?? 0,
    erasedCount: countErased(head)
  }
}

/** @template {import('../chunk-cursor').Window} [W=import('../chunk-cursor').Window] */
class Survey {
  #source
  #damage
  #output
  #salvage
  #chain
  #isOver = false
  /** Whether a chunk is lost whose number of erased records is unknown. */
  #hasLost = false
  end = HEAD_SIZE

  /**
   * @param {Source} source
   * @param {W} window  over the file
   * @param {object} sinks
   * @param {DamageList} sinks.damage  gets the damage
   * @param {ChunkSink | null} sinks.output  gets the good chunks; null for none
   * @param {number} [sinks.rangesMax]  how many unanchored ranges to list
   */
  constructor (source, window, { damage, output, rangesMax = 0 }) {
    const { rules, unfinished, head: { slot }, fileSize } = source
    this.#source = source
    this.#damage = damage
    this.#output = output
    this.#salvage = new Salvage(rules, slot, fileSize, output)
    this.#chain = new Chain(source)
    this.cursor = new ChunkCursor(window, rules, unfinished, HEAD_SIZE)
    this.cursor.expect(rules.salt)
    /** The chunks that verify although nothing proves that they stayed in the log. */
    this.unanchored = new Unanchored(slot, rangesMax)
    /** How far the file is read. The caller lowers it if the file becomes shorter meanwhile. */
    this.limit = fileSize
  }

  /** The state after what was surveyed. */
  get found () {
    return this.#salvage.state
  }

  /** @returns {number}  one of STEP */
  step () {
    const { cursor } = this
    while (!this.#isOver) {
      if (this.#output?.isFull) return STEP.NEEDS_DRAIN
      const status = cursor.enter(this.limit)
      if (status === ENTRY.NEEDS_BYTES) return STEP.NEEDS_BYTES
      const isEnd = status === ENTRY.DAMAGED && cursor.at >= this.#source.promisedEnd
      if (status === ENTRY.AT_END || isEnd) this.#isOver = true
      else if (status === ENTRY.DAMAGED) return STEP.NEEDS_LOOK
      else if (!this.#isOdd()) this.#keep()
      else if (this.doubtfulFrame !== UNKNOWN) return STEP.NEEDS_FRAME
      else this.passOddChunk(false)
    }
    return STEP.OVER
  }

  /** Call it once the survey is over: then the output has everything that is kept, and the list all damage. */
  finish () {
    const salvage = this.#salvage
    const { promisedEnd, fileSize, head, epoch } = this.#source
    const { state } = salvage
    if (state.isInCommit && salvage.committed.end >= promisedEnd) salvage.cutToCommit()
    this.end = state.end
    const from = state.open?.seq ?? state.logicalEnd
    const to = promisedEnd + state.shift
    const seqs = from < to ? { from, to } : null
    if (promisedEnd > fileSize) {
      this.#report(WHAT.MISSING, fileSize, promisedEnd, seqs, null)
    } else if (state.isInCommit) {
      // The end of the commit may be missing because damage reaches to the end of the log.
      const start = Math.max(salvage.committed.end, this.#damage.end)
      this.#report(WHAT.BATCH, Math.min(start, state.end - 1), state.end, seqs, null)
    } else {
      this.#reportOpen()
    }
    const known = head.slot?.logicalEnd ?? 0
    if (salvage.isLost && known > state.logicalEnd) this.#damage.endSeqs(known)
    salvage.close(known)
    this.unanchored.close(epoch)
    this.#damage.close()
  }

  /**
   * How many more records and pieces should be erased than are (below 0: fewer); 0 if unknown. A page from before a
   * deletion verifies like any other: only the number of deletions shows it.
   */
  get erasedTooFew () {
    const { erasedCount, promisedEnd, fileSize } = this.#source
    return erasedCount === null || this.#hasLost || promisedEnd > fileSize ? 0 : erasedCount - this.found.erasedCount
  }

  #keep () {
    const { header, window, chunkStart } = this.cursor
    this.#endLostSeqs(header, chunkStart)
    this.#salvage.addChunk(header, window.buffer, window.view, chunkStart - window.start, chunkStart, false)
    this.#noteKept(header, chunkStart)
  }

  // In a compacted log, and across an unclean end, only the chunk after shows which seqs are lost.
  /** @type {(header: ChunkHeader, start: number) => void} */
  #endLostSeqs ({ firstSeq, position }, start) {
    const { isLost, state } = this.#salvage
    if (isLost && (this.#source.rules.hasGaps || position - start > state.shift)) this.#damage.endSeqs(firstSeq)
  }

  /** @type {(header: ChunkHeader, start: number) => void} */
  #noteKept (header, start) {
    const { state, state: { chainCrc, epoch } } = this.#salvage
    this.unanchored.keep(header, start, state, this.#chain.isLinked)
    this.#chain.goOn(start, chainCrc, epoch)
  }

  // Chunks that verify but do not fit.

  /** Whether anything is wrong with the entered chunk that its own checksums do not show. */
  #isOdd () {
    const { header, chunkStart } = this.cursor
    const salvage = this.#salvage
    return !salvage.goesOn(header) || !salvage.canKeep(header, chunkStart) || this.#chain.isFalse(this.cursor)
  }

  /**
   * If a record continues into an erased rest, it may have been erased since its beginning was read.
   * @returns {number}  where its frame is, which tells; UNKNOWN if nothing depends on it
   */
  get doubtfulFrame () {
    const { header, chunkStart } = this.cursor
    const { open } = this.found
    if (open === null || (header.flags & CHUNK_FLAGS.REST_ERASED) === 0) return UNKNOWN
    const isKept = !this.#chain.isFalse(this.cursor) && this.#salvage.canKeep(header, chunkStart)
    return isKept ? open.chunkStart + open.offset : UNKNOWN
  }

  /** `isErased`: whether the record at `doubtfulFrame` is erased by now. @type {(isErased: boolean) => void} */
  passOddChunk (isErased) {
    const { cursor } = this
    const chain = this.#chain
    const { header, chunkStart, chunkEnd } = cursor
    if (chain.contradictsSlot(cursor)) {
      this.#salvage.takeBackCommit()
      this.#loseFalse(WHAT.SLOT, this.found.end, chunkEnd, header)
    } else if (chain.isFalse(cursor)) {
      this.#loseFalse(chain.belongsElsewhere(header) ? WHAT.PLACE : WHAT.LINK, chunkStart, chunkEnd, header)
    } else if (!this.#salvage.canKeep(header, chunkStart)) {
      this.#lose(WHAT.PLACE, chunkStart, withFiller(chunkEnd))
    } else {
      if (!isErased) this.#reportOpen()
      this.#keep()
    }
  }

  // Places where no chunk can be entered.

  /** Whether the window must hold more before `passDamage`: everything that says something about the damage. */
  get needsNeighbours () {
    const { cursor } = this
    const end = Math.min(this.limit, endOfPage(cursor.at) + CHUNK_HEADER_SIZE)
    return !cursor.holds(end)
  }

  /** Reports the damage at the cursor, keeps what can be mended, and continues after it. */
  passDamage () {
    const { cursor: { at, window, header, damage }, limit } = this
    const pageEnd = Math.min(limit, endOfPage(at))
    if (endOfPage(at) - at < CHUNK_SIZE_MIN) return this.#passFiller(pageEnd)
    if (isZeroIn(window, at, pageEnd)) return this.#lose(WHAT.ZEROS, at, this.#findZerosEnd(pageEnd))
    if (pageEnd - at < CHUNK_HEADER_SIZE) return this.#lose(WHAT.CHUNKS, at, pageEnd)
    if (!isHeaderWhole(window.buffer, window.view, at - window.start, this.#source.rules.salt)) {
      if (!this.#mend(pageEnd)) this.#loseToNextHeader(WHAT.CHUNKS, pageEnd)
      return
    }
    const fault = damage?.fault
    if (fault === 'LINK' || fault === 'EPOCH') this.#passMisfit(fault)
    else if (fault === 'DATA' && this.#isInChain(header)) this.#loseData(header)
    else this.#loseToNextHeader(fault === 'PLACE' ? WHAT.PLACE : WHAT.CHUNKS, pageEnd)
  }

  /** The chunk at the cursor and the one before do not fit together. @type {(fault: 'LINK' | 'EPOCH') => void} */
  #passMisfit (fault) {
    const { at, header } = this.cursor
    const salvage = this.#salvage
    if (fault !== 'EPOCH' && this.#isRightInstead()) {
      const { end } = salvage.state
      // Recovery takes back no compaction, so everything after the last damage lies elsewhere than it was written.
      if (this.#source.rules.hasGaps && !salvage.endsWithAppend) salvage.takeBackRun()
      else salvage.takeBackCommit()
      const start = salvage.state.end
      if (start < end) return this.#lose(WHAT.LINK, start, at, true)
      if (salvage.isLost) {
        this.#chain.previous = UNKNOWN
        return this.cursor.skipTo(at)
      }
    }
    this.#loseFalse(WHAT.LINK, at, at + CHUNK_HEADER_SIZE + header.size, header)
  }

  /** Whether the chunk at the cursor is the right one of two that do not fit together. */
  #isRightInstead () {
    const { at, header } = this.cursor
    const { hasGaps } = this.#source.rules
    const [chain, salvage] = [this.#chain, this.#salvage]
    if (chain.belongsElsewhere(header)) return false
    if (hasGaps && salvage.isElsewhere(header, at)) return false
    if (hasGaps && !salvage.endsWithAppend && chain.isAnchored) return false
    return chain.isRightInstead(header, salvage.state)
  }

  /** Whether a header is that of a chunk that belongs at the cursor. @type {(header: ChunkHeader) => boolean} */
  #isInChain (header) {
    const [chain, { at }] = [this.#chain, this.cursor]
    return chain.goesOnWith(header) && !chain.belongsElsewhere(header) && this.#salvage.isInPlace(header, at)
  }

  /** The chunk's records are lost, but it is known how the chain continues. @type {(header: ChunkHeader) => void} */
  #loseData (header) {
    const { at } = this.cursor
    const { chainCrc, epoch, erasedCount, position, size } = header
    const { shift } = this.#salvage.state
    const hasLost = this.#hasLost
    const { isLinked } = this.#chain
    this.#lose(WHAT.DATA, at, at + CHUNK_HEADER_SIZE + size)
    if (position - at > shift) this.#damage.endSeqs(position + CHUNK_HEADER_SIZE + size)
    this.found.erasedCount += erasedCount
    this.#hasLost = hasLost
    this.unanchored.see(epoch, isLinked)
    this.#chain.goOn(at, chainCrc, epoch)
    this.cursor.expect(chainCrc)
  }

  /** Keeps the chunk if only one bit of its header is wrong. @type {(pageEnd: number) => boolean} */
  #mend (pageEnd) {
    const { cursor } = this
    const salvage = this.#salvage
    const { at, window } = cursor
    const bytes = window.buffer.subarray(at - window.start, pageEnd - window.start)
    const mended = mendHeader(bytes, at, this.#source.rules)
    if (mended === null || !this.#isInChain(mended.header) || !salvage.canKeep(mended.header, at)) return false
    const { header, chunk } = mended
    if (!salvage.goesOn(header)) this.#reportOpen()
    this.#report(WHAT.HEADER, at, at + CHUNK_HEADER_SIZE, null, 0)
    salvage.addChunk(header, chunk, new DataView(chunk.buffer, chunk.byteOffset), 0, at, true)
    salvage.startRun()
    cursor.skipTo(at + chunk.length)
    cursor.expect(salvage.state.chainCrc)
    this.#noteKept(header, at)
    return true
  }

  /** @param {number} end */
  #passFiller (end) {
    const { cursor } = this
    const { at } = cursor
    this.#report(WHAT.FILLER, at, end, null, 0)
    this.#salvage.passFiller(end)
    const { chainCrc, epoch } = this.found
    cursor.skipTo(end)
    cursor.expect(chainCrc)
    this.#chain.goOn(at, chainCrc, epoch)
  }

  /** @type {(what: string, pageEnd: number) => void} */
  #loseToNextHeader (what, pageEnd) {
    const { at } = this.cursor
    const { rules } = this.#source
    let next = at
    let passed = UNKNOWN
    for (;;) {
      next = findHeader(this.cursor, next + 1, pageEnd, rules, this.found.shift)
      if (next === -1 || !rules.hasGaps) break
      const { chainCrc, previous } = this.#readHeader(next)
      if (previous !== passed && !this.#isFollowedElsewhere(next)) break
      // A chunk linked to it was moved along with it.
      passed = chainCrc
    }
    this.#lose(what, at, next === -1 ? pageEnd : next)
  }

  /** @type {(start: number) => ChunkHeader} */
  #readHeader (start) {
    const { window } = this.cursor
    const header = new ChunkHeader()
    readChunkHeader(window.view, start - window.start, header)
    return header
  }

  /** Whether the next page is linked to a chunk that does not reach to it. @type {(start: number) => boolean} */
  #isFollowedElsewhere (start) {
    const { window } = this.cursor
    const pageEnd = endOfPage(start)
    if (pageEnd + CHUNK_HEADER_SIZE > window.end) return false
    if (!isHeaderWhole(window.buffer, window.view, pageEnd - window.start, this.#source.rules.salt)) return false
    const { chainCrc, size } = this.#readHeader(start)
    return this.#readHeader(pageEnd).previous === chainCrc && withFiller(start + CHUNK_HEADER_SIZE + size) !== pageEnd
  }

  /** Where the pages of zeros in the window end. @type {(pageEnd: number) => number} */
  #findZerosEnd (pageEnd) {
    const { cursor: { window }, limit } = this
    let end = pageEnd
    while (end < limit) {
      const next = Math.min(limit, end + PAGE_SIZE)
      if (next > window.end || !isZeroIn(window, end, next)) break
      end = next
    }
    return end
  }

  // Drops a chunk that is not the log's. A chunk linked to it is not either.
  /** @type {(what: string, start: number, end: number, header: ChunkHeader) => void} */
  #loseFalse (what, start, end, header) {
    const { chainCrc } = header
    this.#lose(what, start, withFiller(end))
    this.#chain.falseChainCrc = chainCrc
  }

  // `reach`: how far the loss seems to go. What was never promised is no part of it. `isTakenBack`: it was kept before.
  /** @type {(what: string, start: number, reach: number, isTakenBack?: boolean) => void} */
  #lose (what, start, reach, isTakenBack = false) {
    const { promisedEnd } = this.#source
    const [chain, salvage] = [this.#chain, this.#salvage]
    // The log ends where something that was never promised does not fit.
    if (start >= promisedEnd) {
      this.#isOver = true
      return
    }
    const end = Math.min(reach, promisedEnd)
    this.#hasLost = true
    const { chainCrc } = salvage.state
    this.unanchored.takeBack(salvage.state)
    this.unanchored.lose()
    this.#report(what, start, end, salvage.lose(start, end), null)
    if (isTakenBack) chain.break(UNKNOWN)
    else chain.break(chainCrc === UNKNOWN ? chain.previous : chainCrc)
    // A dropped chunk says nothing about what is after it.
    this.cursor.skipTo(end, chain.epoch)
  }

  /**
   * @type {(what: string, start: number, end: number, seqs: { from: number, to: number } | null, records: number |
   *   null) => void}
   */
  #report (what, start, end, seqs, records) {
    this.#damage.add({ what, start, end, isPromised: this.#source.isBlind ? null : true, seqs, records })
  }

  /** Reports the open record, if there is one: it will not continue. */
  #reportOpen () {
    const { open, end } = this.found
    if (open === null) return
    const { seq, chunkStart, offset, isErased } = open
    const start = chunkStart + offset
    if (!isErased) this.#report(WHAT.REST, start, Math.min(end, endOfPage(start)), { from: seq, to: seq + 1 }, 1)
    this.#salvage.startRun()
  }
}

/** What is too short for a chunk belongs to the dropped chunk before. @type {(end: number) => number} */
function withFiller (end) {
  const pageEnd = endOfPage(end)
  return pageEnd - end < CHUNK_SIZE_MIN ? pageEnd : end
}

exports.STEP = STEP
exports.describeSource = describeSource
exports.Survey = Survey
