'use strict'
// The time line of a log: how many records there are from when to when. It is estimated from a few hundred records
// first, so that a log of any size has one at once, and counted when the log is scanned.

// So many places of the log are looked at. One look reads a page or two.
const SAMPLE_COUNT = 256
// After so many looks the estimate is shown, and then each time that there are twice as many.
const FIRST_COUNT = 16
const BIN_COUNT = 120
// A few wrong clocks must not squeeze all other records into one bin.
const OUTLIER_SHARE = 0.02
const STRETCH_MAX = 20

/**
 * @typedef {object} Sample  a record, and the records from it to the next sample
 * @property {number} seq
 * @property {number | null} time  ms since 1970
 * @property {number} count  of the records from this one on, before the next sample; a guess, or counted
 */

/**
 * @typedef {object} Timeline
 * @property {boolean} isCounted  false while `count` is an estimate
 * @property {'time' | 'index'} unit  of `start` and `end`: ms since 1970, or the ordinal of a record where records have
 *   no time
 * @property {number} start
 * @property {number} end
 * @property {number} count  of records
 * @property {number[]} counts  of records in each bin; all bins are equally wide
 * @property {number[]} seqs  of a record near the beginning of each bin
 */

/**
 * @typedef {object} Probe  the first record at or after a position
 * @property {number} seq
 * @property {number} size  in bytes
 * @property {number | null} time
 */

/**
 * Looks at records all over the log, twice as close each time.
 * @param {(seq: number) => Promise<Probe | null>} probe
 * @param {number} since  seq of the last record
 * @param {(timeline: Timeline) => void} onTimeline
 * @param {AbortSignal} signal
 */
async function estimate (probe, since, onTimeline, signal) {
  const first = await probe(0)
  const last = await probe(since)
  if (first === null || last === null) return
  const probes = new Map([[first.seq, first], [last.seq, last]])
  // Ranges that may hold records nobody has looked at. Seqs may leave out much: after an unclean end 2^32 and more.
  let gaps = [{ from: first.seq + first.size, to: last.seq }].filter(({ from, to }) => from < to)
  let shown = FIRST_COUNT
  while (gaps.length > 0 && probes.size < SAMPLE_COUNT && !signal.aborted) {
    gaps.sort((a, b) => (b.to - b.from) - (a.to - a.from))
    const { from, to } = /** @type {{ from: number, to: number }} */ (gaps.shift())
    const middle = Math.floor((from + to) / 2)
    const found = middle > from ? await probe(middle) : null
    // Nothing begins in the second half.
    if (found === null || found.seq >= to) {
      if (middle > from) gaps.push({ from, to: middle })
      continue
    }
    probes.set(found.seq, found)
    gaps.push({ from, to: middle }, { from: found.seq + found.size, to })
    gaps = gaps.filter(({ from, to }) => from < to)
    if (probes.size < shown) continue
    shown *= 2
    onTimeline(toTimeline(weigh(probes, gaps), false))
  }
  onTimeline(toTimeline(weigh(probes, gaps), false))
}

/**
 * @param {Map<number, Probe>} probes
 * @param {Array<{ from: number, to: number }>} gaps  what lies between them, but for what is known to hold nothing
 * @returns {Sample[]}
 */
function weigh (probes, gaps) {
  const sorted = [...probes.values()].sort((a, b) => a.seq - b.seq)
  // The first and the last record were not picked by chance: one of them may be many times as large as the others.
  const picked = sorted.length > 2 ? sorted.slice(1, -1) : sorted
  const meanSize = picked.reduce((total, { size }) => total + size, 0) / picked.length
  const samples = sorted.map(({ seq, time }) => ({ seq, time, count: 1 }))
  for (const { from, to } of gaps) {
    // The last sample before the gap.
    let low = 0
    for (let high = samples.length; high - low > 1;) {
      const middle = (low + high) >> 1
      if (samples[middle].seq <= from) low = middle
      else high = middle
    }
    samples[low].count += (to - from) / meanSize
  }
  return samples
}

/**
 * @param {Sample[]} samples  at least one, in order
 * @param {boolean} isCounted
 * @returns {Timeline}
 */
function toTimeline (samples, isCounted) {
  const timed = samples.filter(({ time }) => time !== null)
  const unit = timed.length > samples.length / 2 ? 'time' : 'index'
  const points = unit === 'time' ? placeByTime(samples, timed) : placeByIndex(samples)
  const count = Math.round(samples.reduce((total, { count }) => total + count, 0))
  const [start, end] = unit === 'time' ? rangeOf(points) : [0, Math.max(1, count)]
  const binSize = (end - start) / BIN_COUNT
  const counts = new Array(BIN_COUNT).fill(0)
  /** @type {number[]} */
  const seqs = new Array(BIN_COUNT).fill(-1)
  const toBin = (/** @type {number} */ x) => Math.min(BIN_COUNT - 1, Math.max(0, Math.floor((x - start) / binSize)))
  for (const [index, { x, seq, count }] of points.entries()) {
    const low = Math.min(x, points[index + 1]?.x ?? x)
    const high = Math.max(x, points[index + 1]?.x ?? x)
    const [firstBin, lastBin] = [toBin(low), toBin(high)]
    for (let bin = firstBin; bin <= lastBin; bin++) {
      const from = Math.max(low, start + bin * binSize)
      const to = Math.min(high, start + (bin + 1) * binSize)
      counts[bin] += count * (firstBin === lastBin ? 1 : Math.max(0, to - from) / (high - low))
      if (seqs[bin] === -1) seqs[bin] = seq
    }
  }
  for (let bin = 0; bin < BIN_COUNT; bin++) {
    counts[bin] = Math.round(counts[bin])
    if (seqs[bin] === -1) seqs[bin] = bin === 0 ? samples[0].seq : seqs[bin - 1]
  }
  return { isCounted, unit, start, end, count, counts, seqs }
}

/**
 * @param {Sample[]} samples
 * @param {Sample[]} timed  those of them that have a time; the others take that of the one before
 */
function placeByTime (samples, timed) {
  let x = /** @type {number} */ (timed[0].time)
  return samples.map(({ seq, time, count }) => ({ seq, count, x: (x = time ?? x) }))
}

/** @param {Sample[]} samples */
function placeByIndex (samples) {
  let x = 0
  return samples.map(({ seq, count }) => {
    const point = { seq, count, x }
    x += count
    return point
  })
}

/**
 * @param {Array<{ x: number }>} points
 * @returns {[number, number]}
 */
function rangeOf (points) {
  const sorted = points.map(({ x }) => x).sort((a, b) => a - b)
  const [first, last] = [sorted[0], sorted[sorted.length - 1]]
  const skipped = Math.floor(OUTLIER_SHARE * sorted.length)
  const [low, high] = [sorted[skipped], sorted[sorted.length - 1 - skipped]]
  const isStretched = high > low && last - first > STRETCH_MAX * (high - low)
  const [start, end] = isStretched ? [low, high] : [first, last]
  return [start, end > start ? end : start + 1]
}

exports.estimate = estimate
exports.toTimeline = toTimeline
