'use strict'
// Says of a chunk that is not as it should be what it is, and of a place where no chunk is, what there was.

const { ChunkHeader, PAYLOAD_SIZE_OFFSET, readChunkHeader } = require('../chunk-header')
const { CHUNK_FLAGS, CHUNK_HEADER_SIZE, CHUNK_SIZE_MIN, PAGE_SIZE } = require('../layout')
const { Chain, UNKNOWN } = require('./chunk-state')
const { WHAT } = require('./damage-list')
const { describeNeighbours, endOfPage, findHeader, isWhole, isZeroIn } = require('./find-header')
const { mendHeader } = require('./mend-header')

/**
 * @typedef {import('./survey').Source} Source
 * @typedef {import('./salvage').Salvage} Salvage
 * @typedef {import('../chunk-cursor').ChunkCursor} ChunkCursor
 * @typedef {import('./damage-list').DamageList} DamageList
 */

class Judge {
  /**
   * @param {Source} source
   * @param {ChunkCursor} cursor
   * @param {Salvage} salvage
   * @param {DamageList} damage
   * @param {number} rangesMax  how many ranges of chunks to list that nothing dates
   */
  constructor (source, cursor, salvage, damage, rangesMax) {
    this._source = source
    this._cursor = cursor
    this._salvage = salvage
    this._damage = damage
    this._chain = new Chain(source)
    this.unanchored = new Unanchored(source.head.slot, rangesMax)
    /** Whether any chunk is missing of which it is not known how much of it was erased. */
    this.hasLost = false
    /** Whether the log ends before what was judged last. */
    this.isOver = false
  }

  /** Whether there is anything about the chunk that was entered that its own checksums do not show. */
  isOdd () {
    const { _cursor: { header, chunkStart }, _salvage: salvage } = this
    return !salvage.goesOn(header) || !salvage.canKeep(header, chunkStart) || this._chain.isFalse(this._cursor)
  }

  /** Keeps the chunk that was entered. */
  keep () {
    const { _cursor: { header, window, view, chunkStart } } = this
    // Where gaps are left out, which seqs are lost is only known from what comes behind.
    if (this._source.rules.hasGaps && this._salvage.isLost) {
      this._damage.endSeqs(header.firstSeq)
    }
    this._salvage.addChunk(header, window.buffer, view, chunkStart - window.start, chunkStart, false)
    this.unanchored.keep(header, chunkStart, this._salvage.state, this._chain.isLinked)
    this._settle(chunkStart)
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

  /**
   * A record that comes to a rest that is erased may have been erased since its beginning was read.
   * @returns {number}  where the file says whether it was; UNKNOWN when nothing depends on that
   */
  get doubtfulFrame () {
    const { _cursor: { header, chunkStart }, _salvage: salvage, _chain: chain } = this
    const { isOpen, openStart, openOffset } = salvage.state
    if (!isOpen || (header.flags & CHUNK_FLAGS.REST_ERASED) === 0) return UNKNOWN
    return chain.isFalse(this._cursor) || !salvage.canKeep(header, chunkStart) ? UNKNOWN : openStart + openOffset
  }

  /** @param {boolean} isErased  whether the record at `doubtfulFrame` is erased by now */
  judgeOddChunk (isErased) {
    const { _cursor: cursor, _salvage: salvage, _chain: chain } = this
    const { header, chunkStart, chunkEnd } = cursor
    if (chain.contradictsSlot(cursor)) {
      salvage.takeBackCommit()
      this._lose(WHAT.SLOT, salvage.state.end, withFiller(chunkEnd))
      chain.falseChainCrc = header.chainCrc
    } else if (chain.isFalse(cursor)) {
      this._lose(chain.belongsElsewhere(header) ? WHAT.PLACE : WHAT.LINK, chunkStart, withFiller(chunkEnd))
      chain.falseChainCrc = header.chainCrc
    } else if (!salvage.canKeep(header, chunkStart)) {
      this._lose(WHAT.PLACE, chunkStart, withFiller(chunkEnd))
    } else {
      if (salvage.state.isOpen && !isErased) this.noteOpen()
      this.keep()
    }
  }

  /**
   * Whether the window must reach further, for all to be there that says something of the chunk that could not be
   * entered.
   * @param {number} limit
   */
  needsNeighbours (limit) {
    const { _cursor: cursor } = this
    const end = Math.min(limit, endOfPage(cursor.at) + CHUNK_HEADER_SIZE)
    cursor.need = end - cursor.at
    return !cursor.holds(end)
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
    const fault = damage?.fault
    if (fault === 'LINK' || fault === 'EPOCH') this._judgeLink(fault)
    else if (fault === 'DATA' && this._isInChain()) this._loseData(header)
    else this._search(fault === 'PLACE' ? WHAT.PLACE : WHAT.CHUNKS, pageEnd)
  }

  /**
   * Two chunks do not fit.
   * @param {'LINK' | 'EPOCH'} fault
   */
  _judgeLink (fault) {
    const { _cursor: cursor, _salvage: salvage, _chain: chain } = this
    const { at, header } = cursor
    const { end } = salvage.state
    if (fault !== 'EPOCH' && this._isRightInstead()) {
      // What was compacted was not taken back: all behind the last damage is somewhere else than it was written.
      if (this._source.rules.hasGaps && !salvage.endsWithAppend) salvage.takeBackRun()
      else salvage.takeBackCommit()
      const start = salvage.state.end
      if (start < end) {
        this._lose(WHAT.LINK, start, at, true)
        return
      }
      if (salvage.isLost) {
        chain.previous = UNKNOWN
        cursor.skipTo(at)
        return
      }
    }
    this._lose(WHAT.LINK, at, withFiller(at + CHUNK_HEADER_SIZE + header.size))
    chain.falseChainCrc = header.chainCrc
  }

  /** Of two chunks that do not fit: whether the one at the cursor is right. */
  _isRightInstead () {
    const { _cursor: { at, header }, _salvage: salvage, _chain: chain, _source: { rules: { hasGaps } } } = this
    if (chain.belongsElsewhere(header)) return false
    if (hasGaps && salvage.isElsewhere(header, at)) return false
    if (hasGaps && !salvage.endsWithAppend && chain.isAnchored) return false
    return chain.isRightInstead(header, salvage.state)
  }

  /** Whether the header at the cursor is that of a chunk that belongs there. */
  _isInChain () {
    const { _cursor: { at, header }, _chain: chain } = this
    return chain.goesOnWith(header) && !chain.belongsElsewhere(header) && this._salvage.isInPlace(header, at)
  }

  /**
   * Where the chunk goes is known, though its records are lost.
   * @param {ChunkHeader} header
   */
  _loseData (header) {
    const { _cursor: cursor } = this
    const { at } = cursor
    const { chainCrc, epoch, erasedCount } = header
    const { hasLost, _chain: { isLinked } } = this
    this._lose(WHAT.DATA, at, at + CHUNK_HEADER_SIZE + header.size)
    this._salvage.state.erasedCount += erasedCount
    this.hasLost = hasLost
    this.unanchored.see(epoch, isLinked)
    this._chain.goOn(at, chainCrc, epoch)
    cursor.expect(chainCrc)
  }

  /**
   * @param {number} limit
   * @param {number} pageEnd
   * @returns {boolean}  whether the chunk is whole but for its header
   */
  _mend (limit, pageEnd) {
    const { _cursor: cursor, _salvage: salvage, _source: source } = this
    const { at, window, view } = cursor
    const neighbours = describeNeighbours(window, view, at, limit, source, salvage, this._chain.previous)
    const bytes = window.buffer.subarray(at - window.start, pageEnd - window.start)
    const mended = mendHeader(bytes, neighbours, source.rules)
    if (mended === null || !salvage.canKeep(mended.header, at)) return false
    const { header, chunk, isExact } = mended
    if (!salvage.goesOn(header) && salvage.state.isOpen) this.noteOpen()
    this.note(WHAT.HEADER, at, at + CHUNK_HEADER_SIZE, null, 0)
    this.hasLost ||= !isExact
    if (isExact) salvage.addChunk(header, chunk, new DataView(chunk.buffer, chunk.byteOffset), 0, at, true)
    else salvage.addRebuilt(header, chunk, at)
    this.unanchored.keep(header, at, salvage.state, this._chain.isLinked)
    salvage.noteDamage()
    this._goOn(at, at + chunk.length)
    return true
  }

  /**
   * @param {string} what
   * @param {number} pageEnd
   */
  _search (what, pageEnd) {
    const { _cursor: { at, window, view }, _salvage: { state }, _source: { rules } } = this
    let next = at
    let passed = UNKNOWN
    for (;;) {
      next = findHeader(window, view, next + 1, pageEnd, rules, state.shift)
      if (next === -1 || !rules.hasGaps) break
      const { chainCrc, previous } = this._readHeader(next)
      if (previous !== passed && !this._isFollowedElsewhere(next) && !this._followsElsewhere(next, previous)) break
      // What follows it was moved along with it.
      passed = chainCrc
    }
    this._lose(what, at, next === -1 ? pageEnd : next)
  }

  /** @param {number} start  of a whole header */
  _readHeader (start) {
    const { window, view } = this._cursor
    const header = new ChunkHeader()
    readChunkHeader(view, start - window.start, header)
    return header
  }

  /**
   * Whether the next page follows the chunk, though that does not reach there.
   * @param {number} start  of a whole header
   */
  _isFollowedElsewhere (start) {
    const { _cursor: { window, view }, _source: { rules: { salt } } } = this
    const pageEnd = endOfPage(start)
    const nextOffset = pageEnd - window.start
    if (pageEnd + CHUNK_HEADER_SIZE > window.end || !isWhole(window.buffer, view, nextOffset, salt)) return false
    const { chainCrc, size } = this._readHeader(start)
    return this._readHeader(pageEnd).previous === chainCrc && withFiller(start + CHUNK_HEADER_SIZE + size) !== pageEnd
  }

  /**
   * Whether the chunk right in front of one is elsewhere: then both were moved.
   * @param {number} start  of a whole header
   * @param {number} previous  what it follows
   */
  _followsElsewhere (start, previous) {
    const { _cursor: { at: from, window, view }, _source: { rules: { salt } } } = this
    for (let at = start - CHUNK_HEADER_SIZE; at > from; at--) {
      const offset = at - window.start
      const end = at + CHUNK_HEADER_SIZE + view.getUint16(offset + PAYLOAD_SIZE_OFFSET)
      if (end !== start || !isWhole(window.buffer, view, offset, salt)) continue
      const header = this._readHeader(at)
      return header.chainCrc === previous && this._salvage.isBehindItsPlace(header, at)
    }
    return false
  }

  /** @param {number} end */
  _passFiller (end) {
    const { _cursor: { at }, _salvage: salvage } = this
    this.note(WHAT.FILLER, at, end, null, 0)
    salvage.passFiller(end)
    this._goOn(at, end)
  }

  /**
   * @param {string} what
   * @param {number} start
   * @param {number} reach  how far it seems to go; what was never promised is none of it
   * @param {boolean} [isTakenBack]  whether it was kept before
   */
  _lose (what, start, reach, isTakenBack = false) {
    // What was never promised and does not fit is where the log ends.
    if (start >= this._source.promisedEnd) {
      this.isOver = true
      return
    }
    const end = Math.min(reach, this._source.promisedEnd)
    this.hasLost = true
    const { chainCrc } = this._salvage.state
    this.unanchored.takeBack(this._salvage.state)
    this.unanchored.lose()
    this.note(what, start, end, this._salvage.lose(start, end), null)
    if (isTakenBack) this._chain.break(UNKNOWN)
    else this._chain.break(chainCrc === UNKNOWN ? this._chain.previous : chainCrc)
    // What is not kept says nothing of what comes behind it.
    this._cursor.skipTo(end, this._chain.epoch)
  }

  /**
   * Goes on behind what was mended, or passed.
   * @param {number} start
   * @param {number} end
   */
  _goOn (start, end) {
    this._cursor.skipTo(end)
    this._cursor.expect(this._salvage.state.chainCrc)
    this._settle(start)
  }

  /** @param {number} start  of what was kept */
  _settle (start) {
    const { chainCrc, epoch } = this._salvage.state
    this._chain.goOn(start, chainCrc, epoch)
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
}

/**
 * What is behind a chunk that is not the log's, and too short for another, is not the log's either.
 * @param {number} end
 */
function withFiller (end) {
  const pageEnd = endOfPage(end)
  return pageEnd - end < CHUNK_SIZE_MIN ? pageEnd : end
}

// Chunks that verify, and of which nothing proves that they stayed in the log. A write that recovery takes back is
// replaced by one of a higher epoch; if a disk brings back the old one, and the new one's next chunk is damaged too,
// nothing is left that contradicts it. See docs/format.md.

/**
 * @typedef {{ offset: number, size: number, seqs: { from: number, to: number } }} UnanchoredRange
 * @typedef {{ start: number, end: number, from: number, to: number }} Run  physical, and seqs
 */

class Unanchored {
  /**
   * @param {import('../head').Slot | null} slot
   * @param {number} rangesMax  how many to keep
   */
  constructor (slot, rangesMax) {
    this._slot = slot
    this._rangesMax = rangesMax
    /** @type {UnanchoredRange[]} */
    this.ranges = []
    /** How many there are, kept or not. */
    this.count = 0
    this._epoch = 0
    /** Chunks of that epoch behind the last damage, and behind what was durable. @type {Run | null} */
    this._run = null
    /** Others of that epoch, in front of damage. @type {Run[]} */
    this._pending = []
  }

  /**
   * @param {ChunkHeader} header  of a chunk that is kept
   * @param {number} start  physical
   * @param {{ end: number, logicalEnd: number }} state  behind it
   * @param {boolean} isLinked  whether it follows what comes before it
   */
  keep (header, start, { end, logicalEnd }, isLinked) {
    const { epoch, position, durable, firstSeq } = header
    this.see(epoch, isLinked)
    this._run ??= { start, end, from: firstSeq, to: logicalEnd }
    this._run.end = end
    this._run.to = logicalEnd
    // What was durable is not taken back.
    this._anchorTo(start - (position - durable), durable)
    if (end === this._slot?.end && header.chainCrc === this._slot.chainCrc) this._anchorTo(end, logicalEnd)
  }

  /**
   * What follows a chunk proves that it stayed in the log, and so did all of its epoch in front of it.
   * @param {number} epoch  of a header that is whole
   * @param {boolean} isLinked
   */
  see (epoch, isLinked) {
    if (epoch <= this._epoch) return
    if (!isLinked) this._report()
    this._epoch = epoch
    this._run = null
    this._pending = []
  }

  /** Something behind the last chunk is lost. */
  lose () {
    if (this._run !== null && this._run.start < this._run.end) this._pending.push(this._run)
    this._run = null
  }

  /**
   * Chunks that were kept are not.
   * @param {{ end: number, logicalEnd: number }} state  behind what is left
   */
  takeBack ({ end, logicalEnd }) {
    const run = this._run
    if (run === null || run.end <= end) return
    run.end = end
    run.to = logicalEnd
    if (run.start >= end) this._run = null
  }

  /** @param {number} epoch  the highest there was */
  close (epoch) {
    this._run = null
    if (epoch > this._epoch) this._report()
  }

  /**
   * @param {number} end  physical
   * @param {number} logicalEnd
   */
  _anchorTo (end, logicalEnd) {
    const run = this._run
    if (run !== null && end > run.start) {
      run.start = end
      run.from = logicalEnd
    }
    if (this._pending.length === 0) return
    this._pending = this._pending.filter((run) => run.end > end)
    const [first] = this._pending
    if (first !== undefined && end > first.start) {
      first.start = end
      first.from = logicalEnd
    }
  }

  _report () {
    this.lose()
    for (const { start, end, from, to } of this._pending) {
      this.count++
      if (this.ranges.length < this._rangesMax) {
        this.ranges.push({ offset: start, size: end - start, seqs: { from, to } })
      }
    }
  }
}

exports.Judge = Judge
exports.Unanchored = Unanchored
