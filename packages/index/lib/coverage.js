'use strict'
// Which ranges of the log the index knows, and by what: runs, blocks in memory, and ranges that are damaged in the log.
// What lies between them is read from the log.

const { Block } = require('./block')
const { Run } = require('./run')
const { firstIndex } = require('./sorting')
const { Sieve } = require('./sieve')

/**
 * @typedef {{ from: number, to: number, isDamage: true }} Damage  no record in it can be read
 * @typedef {Run | Block | Damage} Segment
 */

class Coverage {
  /** In the order of the log; none of them overlap. @type {Segment[]} */
  segments = []
  /** Changes with each change but the growth of a block. */
  version = 0
  /** A range without a gap, found at a version: blocks only grow. Each read asks for it. */
  #whole = { version: -1, from: 0, to: 0 }

  /** @param {number} [sieveRunsMin] @param {() => void} [onAsked]  of the sieve */
  constructor (sieveRunsMin, onAsked) {
    this.sieve = new Sieve(sieveRunsMin, onAsked)
  }

  /** The index of the first one that ends after a seq. @param {number} seq */
  indexAfter (seq) {
    return firstIndex(this.segments.length, (index) => this.segments[index].to > seq)
  }

  /**
   * What is at a seq: a segment, or the gap around it.
   * @param {number} seq
   * @returns {{ segment: Segment | null, from: number, to: number }}
   */
  at (seq) {
    const index = this.indexAfter(seq)
    const segment = this.segments[index]
    if (segment !== undefined && segment.from <= seq) return { segment, from: segment.from, to: segment.to }
    return { segment: null, from: index === 0 ? -Infinity : this.segments[index - 1].to, to: segment?.from ?? Infinity }
  }

  /** The first one in a range. @type {(from: number, to: number) => { from: number, to: number } | null} */
  firstGap (from, to) {
    const whole = this.#whole
    if (whole.version === this.version && from >= whole.from && to <= whole.to) return null
    let at = from
    for (let index = this.indexAfter(from); at < to; index++) {
      const segment = this.segments[index]
      if (segment === undefined || segment.from > at) return { from: at, to: Math.min(to, segment?.from ?? to) }
      at = segment.to
    }
    this.#whole = { version: this.version, from, to }
    return null
  }

  /** Whether no record is in a range, for certain. @type {(from: number, to: number) => boolean} */
  hasNothing (from, to) {
    if (from === to) return true
    const { segment } = this.at(from)
    return segment instanceof Block && segment.isSealed && segment.count === 0 && segment.to === to
  }

  /** The one that ends where a gap begins. @param {number} seq */
  endingAt (seq) {
    return this.segments.findLast(({ to }) => to === seq)
  }

  /** @param {Segment} segment */
  add (segment) {
    const index = firstIndex(this.segments.length, (index) => this.segments[index].from >= segment.to)
    this.segments.splice(index, 0, segment)
    this.version++
  }

  /** @param {readonly Segment[]} segments */
  remove (segments) {
    this.segments = this.segments.filter((segment) => !segments.includes(segment))
    this.version++
  }

  /** Puts a segment in the place of others. @param {readonly Segment[]} segments @param {Segment} segment */
  replace (segments, segment) {
    this.remove(segments)
    this.add(segment)
  }

  /** @returns {Segment[]}  all that there were */
  clear () {
    const { segments } = this
    this.remove(segments)
    return segments
  }

  get runs () {
    return this.segments.filter((segment) => segment instanceof Run)
  }

  get blocks () {
    return this.segments.filter((segment) => segment instanceof Block)
  }
}

exports.Coverage = Coverage
