'use strict'
// Latencies: every time is kept while a row runs, percentiles are exact, and what is saved is a histogram whose buckets
// are a twentieth of a decade wide.

const BUCKETS_PER_DECADE = 20
/** What is printed. */
const PERCENTILES = /** @type {const} */ ([['p50', 0.5], ['p90', 0.9], ['p99', 0.99], ['p99.9', 0.999], ['max', 1]])
/** @typedef {Array<[value: number, count: number]>} Tail */

/** @type {import('./row').Figure[]} the first is the median, which is compared */
const figures = PERCENTILES.map(([figure]) => ({ figure, what: figure, unit: 'us' }))

/**
 * @param {number[]} times  in us, at least one; sorted in place
 * @returns {import('./row').Reading}
 */
function describeTimes (times) {
  times.sort((a, b) => a - b)
  /** @type {Map<number, number>} */
  const buckets = new Map()
  for (const time of times) {
    const bucket = Math.round(BUCKETS_PER_DECADE * Math.log10(Math.max(time, 0.01)))
    buckets.set(bucket, (buckets.get(bucket) ?? 0) + 1)
  }
  return {
    figures: Object.fromEntries(PERCENTILES.map(([name, share]) => [name, times[Math.ceil(share * times.length) - 1]])),
    tail: [...buckets].sort(([a], [b]) => a - b).map(([bucket, count]) => {
      return [Number((10 ** (bucket / BUCKETS_PER_DECADE)).toPrecision(3)), count]
    })
  }
}

/**
 * @param {number[] | Float64Array} times  sorted in place
 * @returns {(share: number) => number}  the time that this share of all does not exceed; 0 if there are none
 */
function shareAt (times) {
  times.sort((a, b) => a - b)
  return (share) => times[Math.floor(share * (times.length - 1))] ?? 0
}

exports.figures = figures
exports.shareAt = shareAt
exports.describeTimes = describeTimes
