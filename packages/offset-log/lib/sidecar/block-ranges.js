'use strict'
// Sets of block numbers as ranges: few enough of them that they fit where they are written.

/** @typedef {{ first: number, count: number }} BlockRange */

/**
 * @param {Iterable<number>} blocks  in any order, each once
 * @param {number} countMax  of ranges; where there would be more, those that lie nearest to each other become one
 * @returns {BlockRange[]}  in order; all of the blocks are in them
 */
function toRanges (blocks, countMax) {
  /** @type {BlockRange[]} */
  const ranges = []
  for (const block of [...blocks].sort((a, b) => a - b)) {
    const last = ranges[ranges.length - 1]
    if (last && last.first + last.count === block) last.count++
    else ranges.push({ first: block, count: 1 })
  }
  return ranges.length <= countMax ? ranges : mergeNearest(ranges, countMax)
}

/**
 * @param {BlockRange[]} ranges  in order
 * @param {number} countMax
 * @returns {BlockRange[]}
 */
function mergeNearest (ranges, countMax) {
  const gapBefore = (/** @type {number} */ index) => {
    const { first, count } = ranges[index - 1]
    return ranges[index].first - first - count
  }
  const others = ranges.map((_, index) => index).slice(1)
  const keptGaps = new Set(others.sort((a, b) => gapBefore(b) - gapBefore(a)).slice(0, countMax - 1))
  /** @type {BlockRange[]} */
  const merged = []
  ranges.forEach((range, index) => {
    if (index === 0 || keptGaps.has(index)) return merged.push({ ...range })
    const last = merged[merged.length - 1]
    last.count = range.first + range.count - last.first
  })
  return merged
}

/**
 * @param {BlockRange[]} ranges
 * @param {number} [blockCount]  how many blocks there are: what a file says of others could take for ever
 * @returns {Generator<number>}
 */
function * blocksOf (ranges, blockCount = Infinity) {
  for (const { first, count } of ranges) {
    for (let index = first; index < Math.min(first + count, blockCount); index++) yield index
  }
}

exports.toRanges = toRanges
exports.blocksOf = blocksOf
