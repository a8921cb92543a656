'use strict'
// What a stream has to deliver, worked out from a plain array of records; and random options that ask for it.

/**
 * @typedef {{ seq: number, value: any, isDeleted: boolean }} Entry
 * @typedef {(limit: number) => number} Random
 */

/**
 * @param {Entry[]} entries
 * @param {any} options
 * @returns {any[]}  the items of a stream that is not live
 */
function select (entries, options) {
  const { reverse, limit } = options
  const found = entries.filter((entry) => !entry.isDeleted && isInBounds(entry.seq, options))
  if (reverse) found.reverse()
  return found.slice(0, limit == null || limit === -1 ? Infinity : limit).map((entry) => shape(entry, options))
}

/**
 * @param {number} seq
 * @param {any} options
 */
function isInBounds (seq, { gt, gte, lt, lte }) {
  const isAbove = (gt == null || seq > gt) && (gte == null || seq >= gte)
  return isAbove && (lt == null || seq < lt) && (lte == null || seq <= lte)
}

/**
 * Whether a stream goes on from something that was lost.
 * @param {Array<{ end: number, position: number }>} losses
 * @param {any} options
 */
function isLost (losses, { gt, gte, lt, lte, reverse, limit }) {
  if (limit === 0) return false
  const from = Math.max(0, Math.ceil(gte ?? 0), Math.floor(gt ?? -1) + 1)
  const stop = Math.min(Math.ceil(lt ?? Infinity), Math.floor(lte ?? Infinity) + 1)
  const bound = reverse ? stop : from
  return from < stop && losses.some(({ end, position }) => end < bound && bound <= position)
}

/**
 * @param {Entry} entry
 * @param {any} options
 */
function shape ({ seq, value }, options) {
  if (options.seqs === false) return value
  return options.values === false ? seq : { seq, value }
}

/**
 * A live stream that is read one item at a time.
 */
class LiveOracle {
  /**
   * @param {Entry[]} entries  those of the log, now and later
   * @param {any} options
   * @param {number} begunAt  where the log ended when the stream was made
   */
  constructor (entries, options, begunAt) {
    this._entries = entries
    this._options = options
    this._from = options.old === false ? begunAt : -Infinity
    this._left = options.limit == null || options.limit === -1 ? Infinity : options.limit
  }

  /**
   * @param {number} logEnd  no later record is below it
   * @returns {{ item: any } | 'end' | 'wait'}  what a read gives
   */
  next (logEnd) {
    if (this._left === 0) return 'end'
    const entry = this._entries.find(({ seq, isDeleted }) => {
      return !isDeleted && seq >= this._from && isInBounds(seq, this._options)
    })
    if (!entry) return this._mayCome(logEnd) ? 'wait' : 'end'
    this._from = entry.seq + 1
    this._left--
    return { item: shape(entry, this._options) }
  }

  /** @param {number} logEnd */
  _mayCome (logEnd) {
    const { gt, gte, lt, lte } = this._options
    // The lowest seq that may still come is in the range, or below it and one is in it.
    const lowest = Math.max(logEnd, Math.ceil(gte ?? 0), Math.floor(gt ?? -1) + 1)
    return Number.isFinite(lowest) && isInBounds(lowest, { gt, gte, lt, lte })
  }
}

/**
 * @param {Random} random
 * @param {Entry[]} entries
 */
function randomOptions (random, entries) {
  /** @type {any} */
  const options = {}
  for (const name of ['gt', 'gte', 'lt', 'lte']) if (random(4) === 0) options[name] = randomBound(random, entries)
  if (random(3) === 0) options.limit = [0, -1, 1, 2 + random(20), 1000, Infinity, null][random(7)]
  if (random(4) === 0) options.seqs = random(2) === 0
  if (random(4) === 0) options.values = random(2) === 0
  // flumedb and its views pass these, and undefined for what they do not care about.
  if (random(4) === 0) Object.assign(options, { cache: false, sync: false, gt: options.gt, old: true, live: undefined })
  return options
}

/**
 * @param {Random} random
 * @param {Entry[]} entries
 */
function randomBound (random, entries) {
  const { seq } = entries[random(entries.length)]
  const end = entries[entries.length - 1].seq + 400
  const bounds = [seq, seq, seq, seq + 1, seq - 1, seq + 0.5, seq - 0.25, random(end), random(end) + 0.5,
    -1 - random(3), -0.5, 0, end, 2 ** 40 + 0.5, Infinity, -Infinity, null, undefined]
  return bounds[random(bounds.length)]
}

exports.LiveOracle = LiveOracle
exports.isLost = isLost
exports.randomOptions = randomOptions
exports.select = select
