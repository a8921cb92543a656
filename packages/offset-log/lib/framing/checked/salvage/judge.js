'use strict'
// Says of a chunk that is not as it should be what it is, and of a place where no chunk is, what there was.

const { CHUNK_FLAGS, CHUNK_HEADER_SIZE, CHUNK_SIZE_MIN, FRAME_TYPES, LENGTH_SIZE, PAGE_SIZE } = require('../layout')
const { UNKNOWN } = require('./chunk-state')
const { endOfPage, findHeader, isWhole, isZeroIn } = require('./find-header')
const { mendHeader } = require('./mend-header')
const { describeNeighbours } = require('./neighbours')

/** What may be wrong with a range. */
const WHAT = Object.freeze({
  FILLER: 'the zeros at a page\'s end',
  ZEROS: 'zeros where there were chunks',
  HEADER: 'the header of a chunk, whose records are whole',
  DATA: 'the records of a chunk',
  CHUNKS: 'chunks',
  LINK: 'chunks of a write that was taken back',
  SLOT: 'chunks that the last checkpoint does not know',
  PLACE: 'a chunk that belongs elsewhere',
  REST: 'a record whose rest is not there',
  BATCH: 'a batch whose end is not there',
  MISSING: 'the file ends before it'
})

/**
 * @typedef {import('./read-source').Source} Source
 * @typedef {import('./salvage').Salvage} Salvage
 * @typedef {import('../chunk-cursor').ChunkCursor} ChunkCursor
 * @typedef {import('../chunk-header').ChunkHeader} ChunkHeader
 * @typedef {import('../../../salvage/damage-list').DamageList} DamageList
 * @typedef {(err: Error | null) => void} Done
 */

class Judge {
  /**
   * @param {Source} source
   * @param {ChunkCursor} cursor
   * @param {Salvage} salvage
   * @param {DamageList} damage
   */
  constructor (source, cursor, salvage, damage) {
    this._source = source
    this._cursor = cursor
    this._salvage = salvage
    this._damage = damage
    this._slotEnd = source.head.slot?.end ?? UNKNOWN
    this._slotIdentity = source.head.slot?.identity ?? UNKNOWN
    /** What the next chunk must follow, as far as that is known. */
    this._previous = source.rules.salt
    /** Of the last chunk whose header was whole. */
    this._epoch = 0
    /** The chunk before is none of the log's: nor is one that follows it. */
    this._falseIdentity = UNKNOWN
    /** Whether any chunk is missing of which it is not known how much of it was erased. */
    this.hasLost = false
  }

  /** Whether there is anything about the chunk that was entered that its own checksums do not show. */
  isOdd () {
    const { _cursor: { header, chunkStart }, _salvage: salvage } = this
    return !salvage.goesOn(header) || !salvage.canKeep(header, chunkStart) || this._isFalse()
  }

  /** Keeps the chunk that was entered. */
  keep () {
    const { _cursor: { header, window, view, chunkStart } } = this
    // Behind a gap the seqs that are lost may be higher than the bytes show.
    if (this._source.rules.hasGaps && this._salvage.isLost) this._damage.extendSeqs(header.position)
    this._salvage.addChunk(header, window.buffer, view, chunkStart - window.start, chunkStart, false)
    this._settle()
  }

  /**
   * @param {string} what
   * @param {number} start
   * @param {number} end
   * @param {{ from: number, to: number } | null} seqs
   * @param {number | null} records
   */
  note (what, start, end, seqs, records) {
    this._damage.add({ what, start, end, isPromised: this._source.isBlind ? null : true, seqs, records })
  }

  /** The record that is open will not go on. */
  noteOpen () {
    const { openSeq, openStart, openOffset, isOpenErased } = this._salvage.state
    const start = openStart + openOffset
    const end = Math.min(this._salvage.state.end, endOfPage(start))
    if (!isOpenErased) this.note(WHAT.REST, start, end, { from: openSeq, to: openSeq + 1 }, 1)
    this._salvage.noteDamage()
  }

  /** @param {Done} cb */
  judgeOddChunk (cb) {
    const { _cursor: { header, chunkStart, chunkEnd }, _salvage: salvage } = this
    if (this._isOfSlot() && !this._isSlotChunk()) {
      salvage.takeBackCommit()
      this._lose(WHAT.SLOT, salvage.state.end, withFiller(chunkEnd))
      this._falseIdentity = header.identity
      return cb(null)
    }
    if (this._isFalse() || !salvage.canKeep(header, chunkStart)) {
      this._falseIdentity = this._isFalse() ? header.identity : UNKNOWN
      const falseIdentity = this._falseIdentity
      this._lose(falseIdentity === UNKNOWN ? WHAT.PLACE : WHAT.LINK, chunkStart, withFiller(chunkEnd))
      this._falseIdentity = falseIdentity
      return cb(null)
    }
    this._isErasedMeanwhile((err, isErased) => {
      if (!err && salvage.state.isOpen && !isErased) this.noteOpen()
      if (!err) this.keep()
      cb(err)
    })
  }

  /**
   * Makes room in the window for all that says something of the chunk that could not be entered.
   * @param {number} limit
   * @param {Done} cb
   */
  loadNeighbours (limit, cb) {
    const { _cursor: cursor } = this
    const end = Math.min(limit, endOfPage(cursor.at) + CHUNK_HEADER_SIZE)
    if (cursor.holds(end)) return cb(null)
    cursor.need = end - cursor.at
    cursor.load(limit, cb)
  }

  /**
   * Nothing at the cursor could be entered.
   * @param {number} limit
   */
  judgeDamage (limit) {
    const { _cursor: { at, window, view, header, damage }, _source: { rules } } = this
    const pageEnd = Math.min(limit, endOfPage(at))
    if (endOfPage(at) - at < CHUNK_SIZE_MIN) return this._passFiller(pageEnd)
    if (isZeroIn(window, at, pageEnd)) return this._lose(WHAT.ZEROS, at, this._findZerosEnd(pageEnd, limit))
    if (pageEnd - at < CHUNK_HEADER_SIZE) return this._lose(WHAT.CHUNKS, at, pageEnd)
    if (!isWhole(window.buffer, view, at - window.start, rules.salt)) {
      if (!this._mend(limit, pageEnd)) this._search(WHAT.CHUNKS, pageEnd)
      return
    }
    const what = damage?.what
    if (what === 'its link to the chunk before' || what === 'its epoch') this._judgeLink(what)
    else if (what === 'its data' && this._follows(header)) this._loseData(header)
    else this._search(what === 'its place' ? WHAT.PLACE : WHAT.CHUNKS, pageEnd)
  }

  /**
   * Two chunks that do not fit: the one of the lower epoch is left over from a write that was taken back.
   * @param {string} what
   */
  _judgeLink (what) {
    const { _cursor: cursor, _salvage: salvage } = this
    const { at, header } = cursor
    const isNewer = what !== 'its epoch' && header.epoch > this._epoch
    const { end } = salvage.state
    if (isNewer && !this._isSlotEnd(end)) {
      salvage.takeBackCommit()
      const start = salvage.state.end
      if (start < end) {
        this._lose(WHAT.LINK, start, at)
        return
      }
      if (salvage.isLost) {
        this._previous = UNKNOWN
        cursor.skipTo(at)
        return
      }
    }
    this._lose(WHAT.LINK, at, withFiller(at + CHUNK_HEADER_SIZE + header.size))
    this._falseIdentity = header.identity
  }

  /**
   * Where the chunk goes is known, though its records are lost.
   * @param {ChunkHeader} header
   */
  _loseData (header) {
    const { _cursor: cursor } = this
    const { at } = cursor
    const { identity, epoch, erasedCount } = header
    const { hasLost } = this
    this._lose(WHAT.DATA, at, at + CHUNK_HEADER_SIZE + header.size)
    this._salvage.state.erasedCount += erasedCount
    this.hasLost = hasLost
    this._previous = identity
    this._epoch = Math.max(this._epoch, epoch)
    cursor.expect(identity)
  }

  /**
   * @param {number} limit
   * @param {number} pageEnd
   * @returns {boolean}  whether the chunk is whole but for its header
   */
  _mend (limit, pageEnd) {
    const { _cursor: cursor, _salvage: salvage, _source: source } = this
    const { at, window, view } = cursor
    const neighbours = describeNeighbours(window, view, at, limit, source, salvage, this._previous)
    const bytes = window.buffer.subarray(at - window.start, pageEnd - window.start)
    const mended = mendHeader(bytes, neighbours, source.rules)
    if (mended === null || !salvage.canKeep(mended.header, at)) return false
    const { header, chunk, isExact } = mended
    if (!salvage.goesOn(header) && salvage.state.isOpen) this.noteOpen()
    this.note(WHAT.HEADER, at, at + CHUNK_HEADER_SIZE, null, 0)
    this.hasLost ||= !isExact
    if (isExact) salvage.addChunk(header, chunk, new DataView(chunk.buffer, chunk.byteOffset), 0, at, true)
    else salvage.addRebuilt(header, chunk, at)
    salvage.noteDamage()
    this._goOn(at + chunk.length)
    return true
  }

  /**
   * @param {string} what
   * @param {number} pageEnd
   */
  _search (what, pageEnd) {
    const { _cursor: { at, window, view }, _salvage: { state }, _source: { rules } } = this
    const next = findHeader(window, view, at + 1, pageEnd, rules, state.shift)
    this._lose(what, at, next === -1 ? pageEnd : next)
  }

  /** @param {number} end */
  _passFiller (end) {
    const { _cursor: { at }, _salvage: salvage } = this
    this.note(WHAT.FILLER, at, end, null, 0)
    salvage.passFiller(end)
    this._goOn(end)
  }

  /**
   * @param {string} what
   * @param {number} start
   * @param {number} reach  how far it seems to go; what was never promised is none of it
   */
  _lose (what, start, reach) {
    const end = Math.min(reach, this._source.promisedEnd)
    this.hasLost = true
    this.note(what, start, end, this._salvage.lose(start, end), null)
    this._previous = this._falseIdentity = UNKNOWN
    this._cursor.skipTo(end)
  }

  /**
   * Goes on behind what was mended, or passed.
   * @param {number} end
   */
  _goOn (end) {
    this._cursor.skipTo(end)
    this._cursor.expect(this._salvage.state.identity)
    this._settle()
  }

  _settle () {
    const { identity, epoch } = this._salvage.state
    this._previous = identity
    this._epoch = Math.max(this._epoch, epoch)
    this._falseIdentity = UNKNOWN
  }

  /**
   * @param {number} pageEnd
   * @param {number} limit
   * @returns {number}  the end of the last page of zeros in a row that the window holds
   */
  _findZerosEnd (pageEnd, limit) {
    const { window } = this._cursor
    let end = pageEnd
    while (end < limit) {
      const next = Math.min(limit, end + PAGE_SIZE)
      if (next > window.end || !isZeroIn(window, end, next)) break
      end = next
    }
    return end
  }

  /** @param {ChunkHeader} header */
  _follows ({ previous, epoch }) {
    return (this._previous === UNKNOWN || previous === this._previous) && epoch >= this._epoch &&
      previous !== this._falseIdentity
  }

  _isFalse () {
    const { header } = this._cursor
    if (this._falseIdentity !== UNKNOWN && header.previous === this._falseIdentity) return true
    return this._isOfSlot() && !this._isSlotChunk()
  }

  /** Whether the newest slot speaks of the end of the chunk that was entered, or of a place within it. */
  _isOfSlot () {
    const { chunkStart, chunkEnd } = this._cursor
    return chunkStart < this._slotEnd && this._slotEnd <= chunkEnd
  }

  _isSlotChunk () {
    const { header, chunkEnd } = this._cursor
    return chunkEnd === this._slotEnd && header.identity === this._slotIdentity
  }

  /** @param {number} end */
  _isSlotEnd (end) {
    return end === this._slotEnd && this._salvage.state.identity === this._slotIdentity
  }

  /**
   * A record that comes to a rest that is erased: it may have been erased since its beginning was read.
   * @param {(err: Error | null, isErased?: boolean) => void} cb
   */
  _isErasedMeanwhile (cb) {
    const { _salvage: { state }, _cursor: { header }, _source: { blocks } } = this
    if (!state.isOpen || (header.flags & CHUNK_FLAGS.REST_ERASED) === 0) return cb(null, false)
    const word = Buffer.alloc(LENGTH_SIZE)
    blocks.readInto(word, state.openStart + state.openOffset, (err) => {
      cb(err, word.readUInt32BE(0) >>> 30 === FRAME_TYPES.ERASED)
    })
  }
}

/**
 * What is behind a chunk that is not the log's, and too short for another, is not the log's either.
 * @param {number} end
 */
function withFiller (end) {
  const pageEnd = endOfPage(end)
  return pageEnd - end < CHUNK_SIZE_MIN ? pageEnd : end
}

exports.Judge = Judge
exports.WHAT = WHAT
