'use strict'
// Says of a chunk that is not as it should be what it is, and of a place where no chunk is, what there was.

const { ChunkHeader, readChunkHeader } = require('../chunk-header')
const { CHUNK_FLAGS, CHUNK_HEADER_SIZE, CHUNK_SIZE_MIN, FRAME_TYPES, LENGTH_SIZE, PAGE_SIZE } = require('../layout')
const { Chain } = require('./chain')
const { UNKNOWN } = require('./chunk-state')
const { endOfPage, findHeader, isWhole, isZeroIn } = require('./find-header')
const { mendHeader } = require('./mend-header')
const { describeNeighbours } = require('./neighbours')
const { Unanchored } = require('./unanchored')
const { WHAT } = require('./what')

/**
 * @typedef {import('./read-source').Source} Source
 * @typedef {import('./salvage').Salvage} Salvage
 * @typedef {import('../chunk-cursor').ChunkCursor} ChunkCursor
 * @typedef {import('../../../salvage/damage-list').DamageList} DamageList
 * @typedef {(err: Error | null) => void} Done
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

  /** @param {Done} cb */
  judgeOddChunk (cb) {
    const { _cursor: cursor, _salvage: salvage, _chain: chain } = this
    const { header, chunkStart, chunkEnd } = cursor
    if (chain.contradictsSlot(cursor)) {
      salvage.takeBackCommit()
      this._lose(WHAT.SLOT, salvage.state.end, withFiller(chunkEnd))
      chain.falseIdentity = header.identity
      return cb(null)
    }
    if (chain.isFalse(cursor)) {
      this._lose(chain.belongsElsewhere(header) ? WHAT.PLACE : WHAT.LINK, chunkStart, withFiller(chunkEnd))
      chain.falseIdentity = header.identity
      return cb(null)
    }
    if (!salvage.canKeep(header, chunkStart)) {
      this._lose(WHAT.PLACE, chunkStart, withFiller(chunkEnd))
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
    else if (what === 'its data' && this._isInChain()) this._loseData(header)
    else this._search(what === 'its place' ? WHAT.PLACE : WHAT.CHUNKS, pageEnd)
  }

  /**
   * Two chunks do not fit.
   * @param {string} what
   */
  _judgeLink (what) {
    const { _cursor: cursor, _salvage: salvage, _chain: chain } = this
    const { at, header } = cursor
    const { end } = salvage.state
    if (what !== 'its epoch' && this._isRightInstead()) {
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
    chain.falseIdentity = header.identity
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
    const { identity, epoch, erasedCount } = header
    const { hasLost, _chain: { isLinked } } = this
    this._lose(WHAT.DATA, at, at + CHUNK_HEADER_SIZE + header.size)
    this._salvage.state.erasedCount += erasedCount
    this.hasLost = hasLost
    this.unanchored.see(epoch, isLinked)
    this._chain.goOn(at, identity, epoch)
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
    do {
      next = findHeader(window, view, next + 1, pageEnd, rules, state.shift)
    } while (next !== -1 && rules.hasGaps && this._isFollowedElsewhere(next))
    this._lose(what, at, next === -1 ? pageEnd : next)
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
    const header = new ChunkHeader()
    readChunkHeader(view, start - window.start, header)
    const { identity, size } = header
    readChunkHeader(view, nextOffset, header)
    return header.previous === identity && withFiller(start + CHUNK_HEADER_SIZE + size) !== pageEnd
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
    const { identity } = this._salvage.state
    this.unanchored.takeBack(this._salvage.state)
    this.unanchored.lose()
    this.note(what, start, end, this._salvage.lose(start, end), null)
    if (isTakenBack) this._chain.break(UNKNOWN)
    else this._chain.break(identity === UNKNOWN ? this._chain.previous : identity)
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
    this._cursor.expect(this._salvage.state.identity)
    this._settle(start)
  }

  /** @param {number} start  of what was kept */
  _settle (start) {
    const { identity, epoch } = this._salvage.state
    this._chain.goOn(start, identity, epoch)
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
