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
 *
 * @typedef {{ slot: number | null, samples: Sample[] }} Track  the log itself, or one of its slots, with one sample or
 *   more, in order
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
 * @property {Array<number | string>} places  near the beginning of each bin
 * @property {Record<string, Array<number | null>>} seqs  by slot, and `''` without slots: of a record near the
 *   beginning of each bin; null where the slot has no records yet, or none any more
 */

/**
 * @typedef {object} Probe  the first record at or after a position
 * @property {number} seq
 * @property {number} size  in bytes
 * @property {number | null} time
 *
 * @typedef {object} Probed  the log itself, or one of its slots
 * @property {number | null} slot
 * @property {number} since  seq of the last record
 * @property {(seq: number) => Promise<Probe | null>} probe
 *
 * @typedef {{ part: Probed, probes: Map<number, Probe> }} Looked
 * @typedef {{ looked: Looked, from: number, to: number }} Gap  a range that may hold records nobody has looked at
 */

/**
 * Looks at records all over the log, twice as close each time.
 * @param {Probed[]} parts
 * @param {(timeline: Timeline) => void} onTimeline
 * @param {AbortSignal} signal
 */
async function estimate (parts, onTimeline, signal) {
  /** @type {Looked[]} */
  const all = []
  /** Seqs may leave out much: after an unclean end 2^32 and more. @type {Gap[]} */
  let gaps = []
  for (const part of parts) {
    const first = await part.probe(0)
    const last = await part.probe(part.since)
    if (first === null || last === null) continue
    const looked = { part, probes: new Map([[first.seq, first], [last.seq, last]]) }
    all.push(looked)
    gaps.push({ looked, from: first.seq + first.size, to: last.seq })
  }
  if (all.length === 0) return
  const tell = () => {
    const tracks = all.map((looked) => {
      const own = gaps.filter((gap) => gap.looked === looked)
      return { slot: looked.part.slot, samples: weigh(looked.probes, own) }
    })
    onTimeline(toTimeline(tracks, false))
  }
  gaps = gaps.filter(({ from, to }) => from < to)
  let shown = FIRST_COUNT
  let count = all.reduce((sum, { probes }) => sum + probes.size, 0)
  while (gaps.length > 0 && count < SAMPLE_COUNT && !signal.aborted) {
    gaps.sort((a, b) => (b.to - b.from) - (a.to - a.from))
    const { looked, from, to } = /** @type {Gap} */ (gaps.shift())
    const middle = Math.floor((from + to) / 2)
    const found = middle > from ? await looked.part.probe(middle) : null
    // Nothing begins in the second half.
    if (found === null || found.seq >= to) {
      if (middle > from) gaps.push({ looked, from, to: middle })
      continue
    }
    looked.probes.set(found.seq, found)
    count++
    gaps.push({ looked, from, to: middle }, { looked, from: found.seq + found.size, to })
    gaps = gaps.filter(({ from, to }) => from < to)
    if (count < shown) continue
    shown *= 2
    tell()
  }
  tell()
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

/** @typedef {{ x: number, seq: number, count: number }} Point */

/**
 * @param {Track[]} tracks  at least one
 * @param {boolean} isCounted
 * @returns {Timeline}
 */
function toTimeline (tracks, isCounted) {
  const samples = tracks.flatMap(({ samples }) => samples)
  const timed = samples.filter(({ time }) => time !== null)
  const unit = timed.length > samples.length / 2 ? 'time' : 'index'
  const lines = unit === 'time' ? placeByTime(tracks, /** @type {number} */ (timed[0].time)) : placeByIndex(tracks)
  const count = Math.round(samples.reduce((total, { count }) => total + count, 0))
  const [start, end] = unit === 'time' ? rangeOf(lines.flat()) : [0, Math.max(1, count)]
  // A bar a record, at most: more would be empty.
  const binCount = unit === 'time' ? BIN_COUNT : Math.min(BIN_COUNT, end)
  const bins = { start, size: (end - start) / binCount, counts: new Array(binCount).fill(0) }
  /** @type {Timeline['seqs']} */
  const seqs = {}
  for (const [index, { slot }] of tracks.entries()) seqs[slot ?? ''] = addTo(bins, lines[index], slot === null)
  const places = bins.counts.map((_, bin) => {
    const from = start + bin * bins.size
    if (seqs[''] !== undefined) return /** @type {number} */ (seqs[''][bin])
    if (unit === 'time') return `time:${Math.floor(from)}`
    const index = Math.max(0, lines.findLastIndex(([{ x }]) => x <= from))
    return `${tracks[index].slot}:${seqs[/** @type {number} */ (tracks[index].slot)][bin] ?? lines[index][0].seq}`
  })
  return { isCounted, unit, start, end, count, counts: bins.counts.map(Math.round), places, seqs }
}

/**
 * Adds the records of a track to the bins.
 * @param {{ start: number, size: number, counts: number[] }} bins
 * @param {Point[]} points
 * @param {boolean} isWhole  whether the track is the whole log
 * @returns {Array<number | null>}  of a record near the beginning of each bin
 */
function addTo ({ start, size, counts }, points, isWhole) {
  /** @type {Array<number | null>} */
  const seqs = new Array(counts.length).fill(null)
  const toBin = (/** @type {number} */ x) => Math.min(counts.length - 1, Math.max(0, Math.floor((x - start) / size)))
  let last = 0
  for (const [index, { x, seq, count }] of points.entries()) {
    // One record is where it is; several are anywhere until the next.
    const next = count > 1 ? points[index + 1]?.x ?? x : x
    const [low, high] = [Math.min(x, next), Math.max(x, next)]
    const [firstBin, lastBin] = [toBin(low), toBin(high)]
    for (let bin = firstBin; bin <= lastBin; bin++) {
      const from = Math.max(low, start + bin * size)
      const to = Math.min(high, start + (bin + 1) * size)
      counts[bin] += count * (firstBin === lastBin ? 1 : Math.max(0, to - from) / (high - low))
      seqs[bin] ??= seq
    }
    last = Math.max(last, lastBin)
  }
  if (isWhole) [seqs[0], last] = [seqs[0] ?? points[0].seq, counts.length - 1]
  for (let bin = 1; bin <= last; bin++) seqs[bin] ??= seqs[bin - 1]
  return seqs
}

/**
 * @param {Track[]} tracks
 * @param {number} x  the first time
 * @returns {Point[][]}  samples without a time take that of the one before
 */
function placeByTime (tracks, x) {
  return tracks.map(({ samples }) => samples.map(({ seq, time, count }) => ({ seq, count, x: (x = time ?? x) })))
}

/** @param {Track[]} tracks @returns {Point[][]} */
function placeByIndex (tracks) {
  let x = 0
  return tracks.map(({ samples }) => samples.map(({ seq, count }) => {
    const point = { seq, count, x }
    x += count
    return point
  }))
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
