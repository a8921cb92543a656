'use strict'
// Goes from chunk to chunk of a checked log in a window over the file, and lets nothing through that does not verify.

const { ChunkHeader, POSITION_END, checkChunk, isHeaderAt } = require('./chunk-header')
const { ChunkRun } = require('./chunk-run')
const { finishChunk } = require('./pack-commit')
const {
  CHUNK_HEADER_SIZE, CHUNK_SIZE_MIN, FRAME_LENGTH_MASK, FRAME_TYPES, LENGTH_SIZE, PAGE_SIZE
} = require('./layout')

/** How an attempt to enter the next chunk ended. */
const ENTRY = Object.freeze({ ENTERED: 0, NEEDS_BYTES: 1, AT_END: 2, DAMAGED: 3 })
const UNKNOWN = -1
// For less, a sum for each is soon made: the tables that one for all needs take 1 to 4 ms, once.
const PROVEN_SIZE_MIN = 2 * PAGE_SIZE
const ZEROS = Buffer.alloc(PAGE_SIZE)
const NO_VIEW = new DataView(new ArrayBuffer(0))

/**
 * @typedef {ReturnType<typeof import('@millrace/block-file').BlockFile>} BlockFile
 * @typedef {import('./chunk-header').Rules} Rules
 * @typedef {import('./head').Entry} Entry
 * @typedef {{ start: number, end: number, what: string }} Damage  a range of the file, and what of it is wrong
 */

class ChunkCursor {
  /**
   * @param {BlockFile} blocks
   * @param {Rules} rules
   * @param {Map<number, Entry[]>} unfinished  deletions that a crash cut off and that nobody may finish, by chunk
   * @param {number} pageStart
   * @param {boolean} [isKept]  whether the bytes may be kept
   */
  constructor (blocks, rules, unfinished, pageStart, isKept = false) {
    this._blocks = blocks
    this._rules = rules
    this._unfinished = unfinished
    this.window = blocks.createSpanReader({ givesBuffers: isKept })
    /** @type {DataView} */
    this.view = NO_VIEW
    /** @type {Buffer | null} what it is a view of */
    this._viewed = null
    /** The header of the chunk that was entered last. */
    this.header = new ChunkHeader()
    /** Physical position of the next byte. */
    this.at = pageStart
    /** Where the entered chunk begins and ends; `at` is its end when the next one is to be entered. */
    this.chunkStart = pageStart
    this.chunkEnd = pageStart
    /** Logical position less the physical one, from `at` on. */
    this.shift = rules.shift
    /** How many bytes from `at` are needed to go on. */
    this.need = 0
    /** @type {Damage | null} why the next chunk cannot be entered */
    this.damage = null
    /** How many erased frames the chunks had that were entered. */
    this.erasedCount = 0
    this._identity = UNKNOWN
    this._epoch = 0
    this._rewriteCount = blocks.rewriteCount
    this._provesTogether = false
    /** @type {ChunkRun | null} */
    this._run = null
  }

  /**
   * From now on all chunks that the window holds may be proven at once, before the first of them is entered. For
   * whoever will enter them all.
   */
  proveTogether () {
    this._provesTogether = this._rules.verify
  }

  /** Logical position of the next byte. */
  get position () {
    return this.at + this.shift
  }

  /** Whether bytes were overwritten since the cursor last began at a page: those at hand may be old. */
  get isStale () {
    return this._rewriteCount !== this._blocks.rewriteCount
  }

  /**
   * Begins anew, with bytes read anew: records may have been put together in those at hand.
   * @param {number} pageStart
   */
  restart (pageStart) {
    this.window.forget()
    this._rewriteCount = this._blocks.rewriteCount
    this.begin(pageStart)
  }

  /**
   * Begins at a page whose bytes nobody has changed.
   * @param {number} pageStart
   */
  begin (pageStart) {
    this.at = this.chunkStart = this.chunkEnd = pageStart
    this.damage = null
    this._identity = UNKNOWN
    this._epoch = 0
    this._run?.forget()
  }

  /**
   * Begins behind a chunk that is known, with bytes read anew.
   * @param {import('./pack-commit').Tail} tail
   */
  resume ({ end, shift, identity }) {
    this.restart(end)
    this.shift = shift
    this._identity = identity
  }

  /** Where one can go back to, to read again what comes there: the chunk to be entered next, or the entered one. */
  mark () {
    const { header, at, chunkStart, chunkEnd, shift, _epoch: epoch } = this
    if (at === chunkEnd) return { end: at, shift, identity: this._identity, epoch }
    return { end: chunkStart, shift: header.position - chunkStart, identity: header.previous, epoch: header.epoch }
  }

  /**
   * Goes back, with bytes read anew: what comes there must follow what came before it as it had to the first time.
   * @param {ReturnType<ChunkCursor['mark']>} mark
   */
  goBack (mark) {
    this.resume(mark)
    this._epoch = mark.epoch
  }

  /**
   * Says what the chunk before the next one is.
   * @param {number} identity
   */
  expect (identity) {
    this._identity = identity
  }

  /** Whether the window holds the bytes from `at` to there. @param {number} end */
  holds (end) {
    const { window } = this
    this._lookAgain()
    return window.start <= this.at && window.end >= end && window.start < window.end
  }

  /**
   * Reads on, so that what is needed is there, if that can be done at once.
   * @param {number} limit  how far the file may be read
   * @returns {boolean}  whether it is there; else `load` is for it
   */
  loadNow (limit) {
    const isLoaded = this.window.loadForwardNow(this.at, this.need, limit)
    if (isLoaded) this._lookAgain()
    return isLoaded
  }

  /**
   * @param {number} limit
   * @param {(err: Error | null) => void} cb
   */
  load (limit, cb) {
    this.window.loadForward(this.at, this.need, limit, (err) => {
      // What it held is gone.
      if (err) this._run?.forget()
      this._lookAgain()
      cb(err)
    })
  }

  /**
   * Enters the chunk that begins where the last one ended.
   * @param {number} limit  how far the log reaches
   * @returns {number}  one of ENTRY
   */
  enter (limit) {
    if (this.chunkEnd >= limit) return ENTRY.AT_END
    this.at = this.chunkEnd
    let room = PAGE_SIZE - this.at % PAGE_SIZE
    if (room < CHUNK_SIZE_MIN) {
      if (!this._holdsNext(Math.min(limit, this.at + room))) return ENTRY.NEEDS_BYTES
      if (!this._isFiller(Math.min(limit, this.at + room))) return this._fail(this.at + room, 'the zeros at a page\'s end')
      this.at = this.chunkEnd = Math.min(limit, this.at + room)
      if (this.at === limit) return ENTRY.AT_END
      room = PAGE_SIZE
    }
    const pageEnd = Math.min(limit, this.at + room)
    if (!this._holdsNext(pageEnd)) return ENTRY.NEEDS_BYTES
    if (pageEnd - this.at < CHUNK_HEADER_SIZE) return this._fail(pageEnd, 'its header')
    const what = this._check(pageEnd, this._provesTogether && this._isProven(limit))
    if (what !== null) return this._fail(pageEnd, what)
    this._settle()
    return ENTRY.ENTERED
  }

  /**
   * Passes the gap at the cursor. In a file that was never compacted none moves anything: there every position follows
   * from its place.
   * @param {number} size
   */
  passGap (size) {
    this.at += LENGTH_SIZE
    if (this._rules.hasGaps) this.shift += size
  }

  /** How far gaps in the entered chunk move the positions behind it. */
  measureGaps () {
    const { window: { start }, view, chunkEnd } = this
    let sum = 0
    if (!this._rules.hasGaps) return 0
    for (let at = this.at; chunkEnd - at >= LENGTH_SIZE;) {
      const word = view.getUint32(at - start)
      const size = word & FRAME_LENGTH_MASK
      const isGap = word >>> 30 === FRAME_TYPES.GAP
      if (isGap) sum += size
      at += LENGTH_SIZE + (isGap ? 0 : size)
    }
    return sum
  }

  /** Whether the header of the chunk that cannot be entered is whole. */
  get hasHeader () {
    const { window: { buffer, start, end }, view, at, shift } = this
    return at + CHUNK_HEADER_SIZE <= end && isHeaderAt(buffer, view, at - start, at + shift, this._rules)
  }

  /**
   * Looks for the next place, from one byte after `at` on, that has a chunk's header; at the latest the next page.
   * @param {number} limit
   * @returns {number}  physical
   */
  findNextHeader (limit) {
    const pageEnd = Math.min(limit, this.at - this.at % PAGE_SIZE + PAGE_SIZE)
    const { window: { buffer, start, end }, view, shift } = this
    const last = Math.min(pageEnd, end) - CHUNK_HEADER_SIZE
    // So a file of zeros takes no longer than reading it.
    const isHeld = this.at >= start && last >= this.at
    if (isHeld && isZero(buffer, this.at - start, last + CHUNK_HEADER_SIZE - start)) return pageEnd
    for (let at = this.at + 1; at <= last; at++) {
      // Nearly every byte is ruled out by the one that differs from each position to the next.
      const isLikely = buffer[at - start + POSITION_END] === ((at + shift) & 0xff)
      if (isLikely && isHeaderAt(buffer, view, at - start, at + shift, this._rules)) return at
    }
    return pageEnd
  }

  /**
   * Goes on behind damage.
   * @param {number} physical  what `findNextHeader` gave
   * @param {number} [epoch]  the least that what comes there may have
   */
  skipTo (physical, epoch = this._epoch) {
    this.at = this.chunkStart = this.chunkEnd = physical
    this.damage = null
    this._identity = UNKNOWN
    this._epoch = epoch
    // It may be no place where a chunk was taken to begin.
    this.proveNone(this.window.end)
  }

  /** @param {number} end  up to where chunks are to be summed one by one, since one of them is damaged */
  proveNone (end) {
    this._run?.forget(end)
  }

  /**
   * The entered chunk is not what its neighbours make of it.
   * @param {string} what
   */
  fail (what) {
    this.damage = { start: this.chunkStart, end: this.chunkEnd, what }
    this.at = this.chunkStart
    return false
  }

  /** The window may have a new buffer. */
  _lookAgain () {
    const { buffer } = this.window
    if (buffer === this._viewed) return
    this._viewed = buffer
    this.view = new DataView(buffer.buffer)
  }

  /** @param {number} end */
  _holdsNext (end) {
    this.need = end - this.at
    return this.holds(end)
  }

  /** @param {number} end */
  _isFiller (end) {
    const { buffer, start } = this.window
    for (let at = this.at; at < end; at++) if (buffer[at - start] !== 0) return false
    return true
  }

  /**
   * @param {number} limit
   * @returns {boolean}  whether the chunk at `at` has the sums that it says
   */
  _isProven (limit) {
    const { window: { buffer, start, end }, view, at } = this
    if (this._run === null || at >= this._run.triedEnd) {
      const heldEnd = Math.min(end, limit)
      if (heldEnd - at < PROVEN_SIZE_MIN) return false
      this._run ??= new ChunkRun(this._rules.salt)
      this._run.prove(buffer, view, at - start, heldEnd - start, at)
    }
    return at < this._run.provenEnd
  }

  /**
   * @param {number} pageEnd
   * @param {boolean} isProven
   * @returns {string | null}
   */
  _check (pageEnd, isProven) {
    const { window: { buffer, start }, view, header, at } = this
    const entries = this._unfinished.get(at)
    if (entries) finishChunk(entries, buffer.subarray(at - start, pageEnd - start), this._rules)
    // What was finished has other bytes now.
    const isWhole = isProven && entries === undefined
    const what = checkChunk(buffer, view, at - start, at, pageEnd - start, this._rules, header, isWhole)
    if (what !== null) return what
    if (this._identity !== UNKNOWN && header.previous !== this._identity) return 'its link to the chunk before'
    return header.epoch < this._epoch ? 'its epoch' : null
  }

  /** The chunk at `at` is good: its fields are what to go on with. */
  _settle () {
    const { header, at } = this
    this.chunkStart = at
    this.chunkEnd = at + CHUNK_HEADER_SIZE + header.size
    this.shift = header.position - at
    this._identity = header.identity
    this._epoch = header.epoch
    this.erasedCount += header.erasedCount
    this.at = at + CHUNK_HEADER_SIZE + header.continued
  }

  /**
   * @param {number} end
   * @param {string} what
   */
  _fail (end, what) {
    this.damage = { start: this.at, end, what }
    return ENTRY.DAMAGED
  }
}

/**
 * @param {Buffer} buffer
 * @param {number} from
 * @param {number} to  at most a page on
 */
function isZero (buffer, from, to) {
  return buffer.compare(ZEROS, 0, to - from, from, to) === 0
}

exports.ChunkCursor = ChunkCursor
exports.ENTRY = ENTRY
