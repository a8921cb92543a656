'use strict'
// The keys of records that no run has yet, in memory: for each path unsorted columns, which are searched from end to
// end. That takes microseconds, and to fill them takes no table of hashes.

const { firstIndex, ordered } = require('./sorting')

/** So many records make a run, if one scan gives them: as when an index is built for a log that exists. */
const RECORDS_MAX = 131_072
/** A part of it makes a run too, if it grew by appends: while it grows, it is searched from end to end. */
const GROWN_PART = 1 / 4
/** A run notes where a record is as a distance from the first one, in 32 bits; several runs become one. */
const SPAN_MAX = 2 ** 28
const ROOM_MIN = 1024
/** A part of the keys of a full block that the next one may have more. */
const LIKELY_MORE = 1 / 16
/** Up to so many hashes are each searched for alone. */
const SEARCHES_MAX = 8
/** If a hash comes more often than once in so many, each one is looked at. */
const DENSE_GAP = 32

/**
 * @typedef {import('./hash').Hasher} Hasher
 * @typedef {Pick<KeyColumn, 'short' | 'low' | 'ordinals'>} KeyPart
 * @typedef {Pick<ValueColumn, 'values' | 'ordinals'>} ValuePart
 * @typedef {{ records: number, odd: number } & Counts} Mark  how far a block was filled
 *
 * @typedef {object} BlockPart  what was added to a block, in arrays of its own
 * @property {number} to
 * @property {boolean} isSealed
 * @property {Float64Array<ArrayBuffer>} seqs
 * @property {number[]} odd
 * @property {KeyPart[]} keys
 * @property {Array<ValuePart | null>} numbers
 * @property {Array<ValuePart | null>} times
 * @typedef {{ short: number, low: number, high: number }} Hash
 * @typedef {{ min: number, max: number }} Interval  both are inside
 * @typedef {{ keys: number[], numbers: number[], times: number[] }} Counts  by path
 * @typedef {Pick<Block, 'addKey' | 'addNumber' | 'addTime' | 'addOdd'>} KeySink  takes the keys of one record
 */

/**
 * The hashes of one path, in the order of the records. A record has several if the path is of elements. The high
 * half of a long hash is not kept: the short one and the low half tell it.
 */
class KeyColumn {
  count = 0
  #room

  /** @param {number} room  for so many */
  constructor (room) {
    this.#room = room
    this.short = new Uint32Array(room)
    this.low = new Uint32Array(room)
    this.ordinals = new Uint32Array(room)
  }

  /** The hashes may be signed numbers. @type {(low: number, short: number, ordinal: number) => void} */
  add (low, short, ordinal) {
    if (this.count === this.#room) {
      this.#room = Math.max(ROOM_MIN, 2 * this.#room)
      this.short = grown(this.short, this.#room)
      this.low = grown(this.low, this.#room)
      this.ordinals = grown(this.ordinals, this.#room)
    }
    const at = this.count++
    this.short[at] = short
    this.low[at] = low
    this.ordinals[at] = ordinal
  }

  /** @param {number} from @param {number} [end] @returns {KeyPart} */
  copyFrom (from, end = this.count) {
    const copyOf = (/** @type {Uint32Array<ArrayBuffer>} */ column) => column.slice(from, end)
    return { short: copyOf(this.short), low: copyOf(this.low), ordinals: copyOf(this.ordinals) }
  }

  /** As `cut` of a block. @type {(records: number, base: number) => KeyPart} */
  cut (records, base) {
    const end = endOf(this, records)
    const part = this.copyFrom(0, end)
    for (const column of [this.short, this.low, this.ordinals]) column.copyWithin(0, end, this.count)
    this.count -= end
    moveOrdinals(part.ordinals, end, base)
    moveOrdinals(this.ordinals, this.count, -records)
    return part
  }

  /** Adds what another block has, whose arrays it may keep. @param {KeyPart} part */
  take ({ short, low, ordinals }) {
    this.short = joined(this.short, this.count, short)
    this.low = joined(this.low, this.count, low)
    this.ordinals = joined(this.ordinals, this.count, ordinals)
    this.#room = this.short.length
    this.count += short.length
  }

  /**
   * @param {readonly Hash[]} hashes
   * @param {number} max
   * @returns {number[] | null}  ordinals, ascending, each once; null if they are more
   */
  find (hashes, max) {
    /** @type {number[]} */
    const found = []
    if (hashes.length > SEARCHES_MAX) {
      const shorts = new Set(hashes.map(({ short }) => short))
      for (let at = 0; at < this.count && found.length <= max; at++) {
        if (shorts.has(this.short[at])) found.push(this.ordinals[at])
      }
    } else {
      for (const { short } of hashes) {
        let at = this.short.indexOf(short)
        while (at >= 0 && at < this.count && found.length <= max) {
          found.push(this.ordinals[at])
          at = this.short.indexOf(short, at + 1)
        }
      }
    }
    return found.length > max ? null : ordered(found)
  }

  /**
   * How many records in a range of ordinals have one of the hashes, by the long ones too.
   * @param {readonly Hash[]} hashes  no record has two of them
   * @param {{ low: number, high: number }} range
   */
  countExact (hashes, { low, high }) {
    let count = 0
    for (const hash of hashes) {
      const { short } = hash
      let last = -1
      let found = 0
      for (let at = this.#nextOf(short, 0, 0); at < this.count; at = this.#nextOf(short, at + 1, ++found)) {
        const ordinal = this.ordinals[at]
        const isNext = ordinal !== last && ordinal >= low && ordinal < high
        if (isNext && this.low[at] === hash.low) {
          // Another element of the record may be equal.
          last = ordinal
          count++
        }
      }
    }
    return count
  }

  /**
   * Where a short hash is next, at an index or after it; `count` or more if nowhere.
   * @type {(short: number, at: number, found: number) => number} `found`: how often it was found before
   */
  #nextOf (short, at, found) {
    // A call that searches costs more than to look at a few.
    if (found * DENSE_GAP > at) {
      const { short: shorts, count } = this
      while (at < count && shorts[at] !== short) at++
      return at
    }
    const next = this.short.indexOf(short, at)
    return next === -1 ? this.count : next
  }
}

/** Numbers of one path, or times, in the order of the records. */
class ValueColumn {
  count = 0

  /** @param {number} room  for so many */
  constructor (room) {
    this.values = new Float64Array(room)
    this.ordinals = new Uint32Array(room)
  }

  /** @param {number} value @param {number} ordinal */
  add (value, ordinal) {
    if (this.count === this.values.length) {
      const room = Math.max(ROOM_MIN, 2 * this.count)
      this.values = grown(this.values, room)
      this.ordinals = grown(this.ordinals, room)
    }
    this.values[this.count] = value
    this.ordinals[this.count++] = ordinal
  }

  /** @param {number} from @param {number} [end] @returns {ValuePart} */
  copyFrom (from, end = this.count) {
    return { values: this.values.slice(from, end), ordinals: this.ordinals.slice(from, end) }
  }

  /** As `cut` of a block. @type {(records: number, base: number) => ValuePart} */
  cut (records, base) {
    const end = endOf(this, records)
    const part = this.copyFrom(0, end)
    this.values.copyWithin(0, end, this.count)
    this.ordinals.copyWithin(0, end, this.count)
    this.count -= end
    moveOrdinals(part.ordinals, end, base)
    moveOrdinals(this.ordinals, this.count, -records)
    return part
  }

  /** As that of a KeyColumn. @param {ValuePart} part */
  take ({ values, ordinals }) {
    this.values = joined(this.values, this.count, values)
    this.ordinals = joined(this.ordinals, this.count, ordinals)
    this.count += values.length
  }

  /** @param {readonly Interval[]} intervals @returns {number[]}  ordinals, ascending, each once */
  find (intervals) {
    const { values, ordinals, count } = this
    const found = []
    for (const { min, max } of intervals) {
      for (let at = 0; at < count; at++) if (values[at] >= min && values[at] <= max) found.push(ordinals[at])
    }
    return ordered(found)
  }
}

/** The keys of a range of the log. */
class Block {
  #recordsMax

  /**
   * @param {readonly import('./paths').DeclaredPath[]} paths
   * @param {number} from  the seq where the range begins
   * @param {number} [recordsMax]
   * @param {Counts} [likely]  of a full block before it: to grow for them in steps would take as long as to sort
   */
  constructor (paths, from, recordsMax = RECORDS_MAX, likely = undefined) {
    this.#recordsMax = recordsMax
    const room = (/** @type {number | undefined} */ count = 0) => Math.ceil(count * (1 + LIKELY_MORE))
    this.from = from
    /** Where the range ends: every record before it was added. */
    this.to = from
    this.count = 0
    this.seqs = new Float64Array(Math.max(ROOM_MIN, likely === undefined ? 0 : recordsMax))
    /** Ordinals of records that are candidates of every query, ascending. @type {number[]} */
    this.odd = []
    this.keys = paths.map((_, slot) => new KeyColumn(room(likely?.keys[slot])))
    this.numbers = paths.map(({ range }, slot) => range ? new ValueColumn(room(likely?.numbers[slot])) : null)
    this.times = paths.map(({ range }, slot) => range ? new ValueColumn(room(likely?.times[slot])) : null)
    /** Whether nothing in it was deleted after it was added. */
    this.isClean = true
    /** Whether no more records are added. */
    this.isSealed = false
  }

  /** A record in it is deleted. */
  noteLoss () {
    this.isClean = false
  }

  /** Whether one more record can be added. @param {number} seq */
  hasRoom (seq) {
    return !this.isSealed && this.count < this.#recordsMax && (this.count === 0 || seq - this.seqs[0] < SPAN_MAX)
  }

  /** How many can be added from one on, and below which seq. @param {number} seq */
  roomFrom (seq) {
    const records = this.isSealed ? 0 : this.#recordsMax - this.count
    return { records, end: (this.count === 0 ? seq : this.seqs[0]) + SPAN_MAX }
  }

  /** Gives the ordinal of the first record at the seq or after it. @param {number} seq */
  ordinalFrom (seq) {
    return firstIndex(this.count, (ordinal) => this.seqs[ordinal] >= seq)
  }

  /** Whether it has a record. @param {number} seq */
  has (seq) {
    const ordinal = this.ordinalFrom(seq)
    return ordinal < this.count && this.seqs[ordinal] === seq
  }

  /** Begins a record: what is added then are its keys. @param {number} seq */
  begin (seq) {
    if (this.count === this.seqs.length) this.seqs = grown(this.seqs, Math.max(ROOM_MIN, 2 * this.count))
    this.seqs[this.count++] = seq
    this.to = seq + 1
  }

  /** @param {readonly number[]} slots  of the paths that have it @param {Hasher} hasher  has the hash */
  addKey (slots, { low, short }) {
    this.addHash(slots, low, short)
  }

  /**
   * As `addKey`; the hashes may be signed numbers.
   * @type {(slots: readonly number[], low: number, short: number) => void}
   */
  addHash (slots, low, short) {
    for (let index = 0; index < slots.length; index++) this.keys[slots[index]].add(low, short, this.count - 1)
  }

  /**
   * Of a path with ranges the number itself is the key.
   * @type {(slots: readonly number[], value: number, hasher: Hasher) => void}
   */
  addNumber (slots, value, hasher) {
    for (let index = 0; index < slots.length; index++) {
      const numbers = this.numbers[slots[index]]
      if (numbers === null) this.keys[slots[index]].add(hasher.low, hasher.short, this.count - 1)
      else numbers.add(value, this.count - 1)
    }
  }

  /** @param {readonly number[]} slots @param {number} ms  since 1970 */
  addTime (slots, ms) {
    for (const slot of slots) this.times[slot]?.add(ms, this.count - 1)
  }

  addOdd () {
    const ordinal = this.count - 1
    if (this.odd[this.odd.length - 1] !== ordinal) this.odd.push(ordinal)
  }

  /** @returns {Mark} */
  get mark () {
    return { records: this.count, odd: this.odd.length, ...this.counts }
  }

  /** What was added since. @param {Mark} mark @returns {BlockPart} */
  copySince ({ records, odd, keys, numbers, times }) {
    return {
      to: this.to,
      isSealed: this.isSealed,
      seqs: this.seqs.slice(records, this.count),
      odd: this.odd.slice(odd),
      keys: this.keys.map((column, slot) => column.copyFrom(keys[slot])),
      numbers: this.numbers.map((column, slot) => column && column.copyFrom(numbers[slot])),
      times: this.times.map((column, slot) => column && column.copyFrom(times[slot]))
    }
  }

  /**
   * Takes its first records away, with their keys.
   * @type {(records: number, base: number) => Omit<BlockPart, 'to' | 'isSealed'>} `base`: the ordinal of the first one,
   *   where they are added
   */
  cut (records, base) {
    const seqs = this.seqs.slice(0, records)
    const odd = this.odd.filter((ordinal) => ordinal < records).map((ordinal) => ordinal + base)
    this.seqs.copyWithin(0, records, this.count)
    this.count -= records
    this.odd = this.odd.slice(odd.length).map((ordinal) => ordinal - records)
    const cutOf = (/** @type {ValueColumn | null} */ column) => column && column.cut(records, base)
    const keys = this.keys.map((column) => column.cut(records, base))
    return { seqs, odd, keys, numbers: this.numbers.map(cutOf), times: this.times.map(cutOf) }
  }

  /** Adds what another block has, whose ordinals go on from those of this one. @param {BlockPart} part */
  take ({ to, isSealed, seqs, odd, keys, numbers, times }) {
    this.seqs = joined(this.seqs, this.count, seqs)
    this.count += seqs.length
    for (const ordinal of odd) this.odd.push(ordinal)
    for (let slot = 0; slot < keys.length; slot++) {
      this.keys[slot].take(keys[slot])
      const [numberPart, timePart] = [numbers[slot], times[slot]]
      if (numberPart !== null) this.numbers[slot]?.take(numberPart)
      if (timePart !== null) this.times[slot]?.take(timePart)
    }
    this.to = to
    this.isSealed ||= isSealed
  }

  /** How much is in each column. @returns {Counts} */
  get counts () {
    const countOf = (/** @type {{ count: number } | null} */ column) => column === null ? 0 : column.count
    return { keys: this.keys.map(countOf), numbers: this.numbers.map(countOf), times: this.times.map(countOf) }
  }

  get isFull () {
    return this.count === this.#recordsMax
  }

  /** Whether it has so many records that those of later scans go into another one. */
  get isGrown () {
    return this.count >= GROWN_PART * this.#recordsMax
  }
}

/**
 * Where the keys of the first records end.
 * @type {(column: KeyColumn | ValueColumn, records: number) => number}
 */
function endOf ({ ordinals, count }, records) {
  return firstIndex(count, (at) => ordinals[at] >= records)
}

/** @type {(ordinals: Uint32Array, count: number, by: number) => void} */
function moveOrdinals (ordinals, count, by) {
  for (let at = 0; at < count; at++) ordinals[at] += by
}

/**
 * @template {Uint32Array | Float64Array} T
 * @param {T} array
 * @param {number} room
 * @returns {T}
 */
function grown (array, room) {
  const larger = /** @type {T} */ (new /** @type {any} */ (array.constructor)(room))
  larger.set(array)
  return larger
}

/**
 * What an array has, and then another one, with room for more. An empty one becomes the other.
 * @template {Uint32Array | Float64Array} T
 * @param {T} array
 * @param {number} count  of what it has
 * @param {T} more
 * @returns {T}
 */
function joined (array, count, more) {
  if (count === 0) return more
  const size = count + more.length
  const target = size <= array.length ? array : grown(array, Math.max(size, 2 * count))
  target.set(more, count)
  return target
}

exports.GROWN_PART = GROWN_PART
exports.RECORDS_MAX = RECORDS_MAX
exports.Block = Block
