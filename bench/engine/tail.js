'use strict'
// Latencies: every time is kept while a row runs, percentiles are exact, and what is saved is a histogram whose buckets
// are a twentieth of a decade wide.

const BUCKETS_PER_DECADE = 20
/** What is printed. */
const PERCENTILES = /** @type {const} */ ([['p50', 0.5], ['p90', 0.9], ['p99', 0.99], ['p99.9', 0.999], ['max', 1]])
/** What a curve goes through. */
const CURVE = [0, 0.25, 0.5, 0.75, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999, 0.9995, 0.9999, 1]

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

/** Of all runs together. @type {(tail: Tail) => Array<{ p: number, value: number }>} */
function curveOf (tail) {
  const sorted = [...tail].sort(([a], [b]) => a - b)
  const all = sorted.reduce((sum, [, count]) => sum + count, 0)
  let [index, seen] = [0, sorted[0]?.[1] ?? 0]
  // A percentile that fewer than one time is beyond says nothing.
  return all === 0
    ? []
    : CURVE.filter((p) => p === 1 || (1 - p) * all >= 1).map((p) => {
        while (seen < p * all && index < sorted.length - 1) seen += sorted[++index][1]
        return { p, value: sorted[index][0] }
      })
}

exports.figures = figures
exports.describeTimes = describeTimes
exports.curveOf = curveOf
