'use strict'
// Exact counts: from the lengths of lists whose long hash is that of the value, as far as nothing in them was deleted.

const { Block } = require('./block')
const { Parts } = require('./parts')
const { DamagedRun, UnreadRun } = require('./run-format')
const { countInRun, findInBlock } = require('./search')
const { Passing } = require('./sieve')

/** More records that must be looked at are read as the parts of a read. */
const UNSURE_MAX = 4096

/**
 * @typedef {import('./cover').Cover} Cover
 * @typedef {import('./parts').Part} Part
 * @typedef {import('./parts').Range} Range
 * @typedef {import('./parts').Sought} Sought
 * @typedef {import('./run').Run} Run
 */

/**
 * @param {Sought} sought
 * @param {Cover} cover  an exact one
 * @param {Range} range
 * @returns {{ sure: number, parts: Iterable<Part> }}
 */
function countMatches (sought, cover, { from, to }) {
  let sure = 0
  /** What is left to be looked at. @type {Array<{ seqs: number[] } | { from: number, to: number }>} */
  const left = []
  const passing = new Passing(sought)
  for (let at = passing.pass(from); at < to; at = passing.pass(at)) {
    const { segment, to: end } = sought.coverage.at(at)
    const part = { from: at, to: Math.min(end, to) }
    at = part.to
    const isKnown = segment !== null && 'isClean' in segment
    if (isKnown && !segment.isClean && 'footer' in segment) sought.onDoubted(segment)
    const counted = isKnown && segment.isClean ? countInSegment(sought, segment, cover, part) : null
    if (counted === null) {
      left.push(part)
    } else {
      sure += counted.sure
      if (counted.unsure.length > 0) left.push({ seqs: counted.unsure })
    }
  }
  return { sure, parts: partsOf(sought, left) }
}

/**
 * @type {(sought: Sought, segment: Run | Block, cover: Cover, range: { from: number, to: number }) =>
 *   { sure: number, unsure: number[] } | null}
 */
function countInSegment (sought, segment, cover, range) {
  try {
    if (segment.odd.length > 0) return null
    const wanted = { low: segment.ordinalFrom(range.from), high: segment.ordinalFrom(range.to) }
    if (segment instanceof Block) return { sure: countInBlock(segment, cover, wanted), unsure: [] }
    const { sure, unsure } = countInRun(segment, cover, wanted)
    return unsure.length > UNSURE_MAX ? null : { sure, unsure: unsure.map((ordinal) => segment.seqOf(ordinal)) }
  } catch (err) {
    if (err instanceof UnreadRun) return null
    if (!(err instanceof DamagedRun) || segment instanceof Block) throw err
    sought.onDamaged(segment, err)
    return null
  }
}

/** @type {(block: Block, cover: Cover, wanted: { low: number, high: number }) => number} */
function countInBlock (block, cover, wanted) {
  if (cover.kind === 'keys') return block.keys[cover.slot].countExact(cover.hashes, wanted)
  const found = findInBlock(block, cover, Infinity) ?? []
  return found.filter((ordinal) => ordinal >= wanted.low && ordinal < wanted.high).length
}

/** @type {(sought: Sought, left: Array<{ seqs: number[] } | { from: number, to: number }>) => Iterable<Part>} */
function * partsOf (sought, left) {
  for (const part of left) {
    if ('seqs' in part) yield part
    else yield * new Parts(sought, { ...part, reverse: false })
  }
}

exports.countMatches = countMatches
