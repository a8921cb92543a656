'use strict'
// The way of a read through the log: candidates where the index knows the filter, ranges to scan elsewhere, in the
// order of the read. Runs may come and go meanwhile: after such a change it looks again from where it is.

const { Block } = require('./block')
const { DamagedRun, UnreadRun } = require('./run-format')
const { Run } = require('./run')
const { findInBlock, findInRun, isSelective, ordinalsOf } = require('./search')
const { Passing } = require('./sieve')
const { ArrayWalk, END } = require('./walks')

/** The first part has few candidates, no more than are wanted; each further one has twice as many. */
const FIRST_COUNT = 32
const COUNT_MAX = 1024
const NOTHING = new ArrayWalk([])

/**
 * @typedef {import('./coverage').Coverage} Coverage
 * @typedef {import('./cover').Cover} Cover
 * @typedef {import('./walks').Walk} Walk
 * @typedef {{ seqs: number[] }} Candidates  in the order of the read
 * @typedef {{ from: number, to: number }} Scan  `to` is not in it
 * @typedef {Candidates | Scan} Part
 * @typedef {{ from: number, to: number, reverse: boolean }} Range
 *
 * @typedef {object} Sought  what the parts are of
 * @property {Coverage} coverage
 * @property {() => Cover | null} cover  with the hashes that the runs have now
 * @property {(run: Run, err: Error) => void} onDamaged
 * @property {(run: Run) => void} onDoubted  a count does not know whether something in it is deleted
 */

/** What is next: seqs one by one until `end`, or nothing but a range. */
class Piece {
  /**
   * @param {number} end  where the read is after it
   * @param {Walk | null} found  seqs, or ordinals if there is a run; null: the range must be scanned
   * @param {Run | null} run
   */
  constructor (end, found, run) {
    this.end = end
    this.found = found
    this.run = run
  }
}

class Parts {
  #sought
  #reverse
  /** What is left: from here on, and before there. */
  #from
  #to
  #room
  /** @type {Piece | null} */
  #piece = null
  #version = -1
  #passing

  /** @param {Sought} sought @param {Range} range @param {number} [limit]  how many records are wanted */
  constructor (sought, { from, to, reverse }, limit = Infinity) {
    this.#sought = sought
    this.#passing = new Passing(sought)
    this.#from = from
    this.#to = to
    this.#reverse = reverse
    this.#room = Math.max(1, Math.min(FIRST_COUNT, limit))
  }

  [Symbol.iterator] () {
    return this
  }

  /** @returns {{ done: boolean, value: any }} */
  next () {
    /** @type {number[]} */
    const seqs = []
    while (this.#from < this.#to && seqs.length < this.#room) {
      const piece = this.#locate()
      if (piece.found === null) {
        if (seqs.length > 0) break
        return { done: false, value: this.#takeScan(piece) }
      }
      this.#takeSeqs(piece, piece.found, seqs)
    }
    this.#room = Math.min(2 * this.#room, COUNT_MAX)
    return seqs.length > 0 ? { done: false, value: { seqs } } : { done: true, value: undefined }
  }

  /** @param {number} seq  up to which the read has come; it is done with it */
  #pass (seq) {
    if (this.#reverse) this.#to = seq
    else this.#from = seq + 1
  }

  /** @type {(piece: Piece, from: Walk, target: number[]) => void} */
  #takeSeqs (piece, from, target) {
    try {
      while (target.length < this.#room) {
        const value = from.next()
        if (value === END) {
          this.#finish(piece)
          return
        }
        const seq = piece.run === null ? value : piece.run.seqOf(value)
        // A read that went back would have no end.
        if (seq < this.#from || seq >= this.#to) throw new DamagedRun(`${seq} is out of order`)
        target.push(seq)
        this.#pass(seq)
      }
    } catch (err) {
      if (err instanceof UnreadRun) {
        this.#piece = new Piece(piece.end, null, null)
        return
      }
      if (!(err instanceof DamagedRun) || piece.run === null) throw err
      this.#piece = null
      this.#sought.onDamaged(piece.run, err)
    }
  }

  /** @param {Piece} piece */
  #finish (piece) {
    if (this.#reverse) this.#to = Math.min(this.#to, piece.end)
    else this.#from = Math.max(this.#from, piece.end)
    this.#piece = null
  }

  /** Takes the ranges to scan that follow, as one. @param {Piece} first @returns {Scan} */
  #takeScan (first) {
    const [from, to] = [this.#from, this.#to]
    /** @type {Piece} */
    let piece = first
    while (piece.found === null) {
      this.#finish(piece)
      if (this.#from >= this.#to) break
      piece = this.#locate()
    }
    return this.#reverse ? { from: this.#to, to } : { from, to: this.#from }
  }

  /** @returns {Piece} */
  #locate () {
    const { coverage } = this.#sought
    if (this.#piece !== null && this.#version === coverage.version) return this.#piece
    this.#version = coverage.version
    const at = this.#reverse ? this.#to : this.#from
    const passed = this.#passing.pass(at, this.#reverse)
    const endAt = (/** @type {number} */ seq) => this.#reverse ? Math.max(seq, this.#from) : Math.min(seq, this.#to)
    if (passed !== at) return (this.#piece = new Piece(endAt(passed), NOTHING, null))
    const { segment, from, to } = coverage.at(this.#reverse ? at - 1 : at)
    return this.#lookInto(segment, endAt(this.#reverse ? from : to))
  }

  /** @type {(segment: import('./coverage').Segment | null, end: number) => Piece} */
  #lookInto (segment, end) {
    const cover = this.#sought.cover()
    this.#piece = new Piece(end, null, null)
    if (cover === null || segment === null) return this.#piece
    if (segment instanceof Block) {
      const seqs = this.#seqsInBlock(segment, cover)
      if (seqs !== null) this.#piece = new Piece(end, seqs, null)
    } else if (segment instanceof Run) {
      try {
        const ordinals = this.#ordinalsInRun(segment, cover)
        if (ordinals !== null) this.#piece = new Piece(end, ordinals, segment)
      } catch (err) {
        // This read scans what cannot be read now.
        if (err instanceof UnreadRun) return this.#piece
        if (!(err instanceof DamagedRun)) throw err
        this.#sought.onDamaged(segment, err)
        return this.#locate()
      }
    }
    return this.#piece
  }

  /** @type {(block: Block, cover: Cover) => Walk | null} */
  #seqsInBlock (block, cover) {
    const found = findInBlock(block, cover)
    if (found === null || !isSelective(found.length + block.odd.length, block.count)) return null
    const all = block.odd.length === 0 ? found : [...new Set([...found, ...block.odd])].sort((a, b) => a - b)
    const seqs = all.map((ordinal) => block.seqs[ordinal]).filter((seq) => seq >= this.#from && seq < this.#to)
    return new ArrayWalk(this.#reverse ? seqs.reverse() : seqs)
  }

  /** @type {(run: Run, cover: Cover) => Walk | null} */
  #ordinalsInRun (run, cover) {
    const found = findInRun(run, cover)
    if (!isSelective(found.expected + run.odd.length, run.records)) return null
    if (found.count + run.odd.length === 0) return NOTHING
    const wanted = { low: run.ordinalFrom(this.#from), high: run.ordinalFrom(this.#to), reverse: this.#reverse }
    return ordinalsOf(run, found, wanted)
  }
}

exports.Parts = Parts
