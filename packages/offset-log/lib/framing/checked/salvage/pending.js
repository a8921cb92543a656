'use strict'
// What gets its identity from the chunk behind it, and so waits for that: a range that is lost, or a chunk with a
// header that is made up.

const { PAYLOAD_SIZE_OFFSET, writeChunkHeader } = require('../chunk-header')
const { CHUNK_HEADER_SIZE, CHUNK_SIZE_MIN, JUMP_SIZE, PAGE_SIZE } = require('../layout')
const { canFill, countChunks, extendLastFrame, fillWithChunks, restSizeOf } = require('./make-chunk')

/**
 * @typedef {import('./chunk-state').ChunkState} ChunkState
 * @typedef {import('./make-chunk').Filling} Filling
 * @typedef {import('./make-chunk').Owner} Owner
 * @typedef {import('../../../salvage/output').Output} Output
 * @typedef {{ start: number, header: import('../chunk-header').ChunkHeader, chunk: Buffer }} Rebuilt
 */

class Pending {
  /**
   * @param {import('../chunk-header').Rules} rules
   * @param {Output | null} output
   */
  constructor (rules, output) {
    this._rules = rules
    this._output = output
    /** @type {Filling | null} */
    this._lost = null
    /** Whether the commit of the chunk in front of it goes on. */
    this._wasInCommit = false
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
    const { end: start, logicalEnd: position, contentEnd, epoch, durable, identity: previous } = state
    const gaps = hasGaps ? { shift, contentEnd, end: 0, next: 0 } : null
    if (this._lost === null) {
      this._lost = { start, end, position, gaps, epoch, durable, previous, identity: 0, openSize: 0, owner, jump: 0 }
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
   * @param {ChunkState} state  gets the identity
   * @param {number | null} identity  null when there is no chunk behind
   * @param {number} openSize  how much of that one belongs to a record that is lost
   * @param {number} position  logical, of that one
   * @param {boolean} isBehindLoss  of that one
   */
  settle (state, identity, openSize, position, isBehindLoss) {
    const { _lost: lost, _rebuilt: rebuilt } = this
    this._lost = this._rebuilt = null
    if (lost !== null && lost.gaps !== null) lost.gaps.next = position
    // If that one does not say that it is behind an unclean end, the last chunk in place of what is lost does.
    if (lost !== null && lost.gaps === null && identity !== null) {
      const ahead = position - lost.end - (lost.position - lost.start)
      lost.jump = isBehindLoss ? 0 : ahead - ahead % JUMP_SIZE
    }
    if (lost !== null) this._fill(lost, state, identity, openSize)
    else if (rebuilt !== null) this._putRebuilt(rebuilt, state, identity)
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
    state.identity = lost.previous
    state.isInCommit = this._wasInCommit
    this._lost = null
  }

  /**
   * @param {Filling} lost
   * @param {ChunkState} state
   * @param {number | null} identity
   * @param {number} openSize
   */
  _fill (lost, state, identity, openSize) {
    const { _output: output, _rules: { salt } } = this
    const { owner, start, end } = lost
    const restSize = restSizeOf(lost)
    if (owner !== null && restSize > 0 && start % PAGE_SIZE === 0 && end - start < PAGE_SIZE) {
      changeChunk(output, owner.start, (chunk) => extendLastFrame(chunk, owner.offset, restSize, salt))
    }
    // Where nothing comes behind it, the seqs of what is lost must not be used again.
    if (identity === null && lost.gaps !== null) lost.gaps.end = state.logicalEnd
    const count = countChunks(lost)
    state.identity = count === 0 ? lost.previous : identity ?? nameOfItsOwn(lost.previous)
    state.erasedInOutput += count
    output?.zerosTo(start)
    output?.fill(end - start, fillWithChunks({ ...lost, identity: state.identity, openSize }, salt))
  }

  /**
   * @param {Rebuilt} rebuilt
   * @param {ChunkState} state
   * @param {number | null} identity
   */
  _putRebuilt ({ start, header, chunk }, state, identity) {
    state.identity = header.birth = identity ?? nameOfItsOwn(header.previous)
    writeChunkHeader(header, chunk, 0, this._rules.salt)
    this._output?.zerosTo(start)
    this._output?.append(chunk)
  }
}

/**
 * What nobody calls anything may be called as it likes.
 * @param {number} previous
 */
function nameOfItsOwn (previous) {
  return (previous ^ 1) >>> 0
}

/**
 * @param {Output | null} output
 * @param {number} start  of a chunk that is in it
 * @param {(chunk: Buffer) => void} edit
 */
function changeChunk (output, start, edit) {
  const measure = (/** @type {Buffer} */ head) => CHUNK_HEADER_SIZE + head.readUInt16BE(PAYLOAD_SIZE_OFFSET)
  output?.change(start, CHUNK_HEADER_SIZE, measure, edit)
}

exports.Pending = Pending
exports.changeChunk = changeChunk
