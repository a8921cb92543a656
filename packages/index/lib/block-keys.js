'use strict'
// Writes the keys of one path of a block. What is done for each key is in functions that never wait: an async one is
// slow, and is compiled again and again. Hashes are taken as signed numbers: others are no small integers.

const { KeyWriter } = require('./run-writer')

/**
 * If a path has at most so many keys for each record, the id of each is written. A larger run has more records
 * for each key, and what a part of it has not is lost: so more of them are than in a merged one.
 */
const IDS_SHARE = 1 / 2
const IDS_RECORDS_MIN = 2048
const IDS_COUNT_MIN = IDS_RECORDS_MIN / 8
/** To write a key, sorted; in the units of pace.js. */
const KEY_WORK = 8

/**
 * @typedef {import('./block').Block['keys'][0]} KeyColumn
 * @typedef {import('./run-format').KeySection} KeySection
 * @typedef {import('./run-writer').PageWriter} PageWriter
 * @typedef {import('./sorting').Sorter} Sorter
 */

/** The keys of a column that was sorted. */
class SortedKeys {
  #column
  #target
  #shorts
  #order
  /** Of one key, ascending. */
  #ordinals

  /** @param {KeyColumn} column @param {Sorter} sorter @param {Uint32Array} ordinals @param {KeyWriter} target */
  constructor (column, { keys, order }, ordinals, target) {
    this.#column = column
    this.#target = target
    this.#shorts = keys
    this.#order = order
    this.#ordinals = ordinals
  }

  /**
   * Adds keys, until it is time to look whether others must run, or one comes that many have.
   * @param {number} from  the place of the first one
   * @param {number} most  how many
   * @returns {number}  that of the next one
   */
  addFew (from, most) {
    const { count } = this.#column
    const limit = Math.min(count, from + most)
    let at = from
    while (at < limit) {
      at = this.#target.addSingle(this.#shorts, this.#order, this.#column, at, limit)
      if (at === limit) return at
      const end = endOf(this.#shorts, at, count)
      if (this.#target.isMany(end - at)) return at
      this.#addList(at, end)
      at = end
    }
    return at
  }

  /** Adds a key with a list. @param {number} from @param {number} to */
  #addList (from, to) {
    const order = this.#order
    const target = this.#target
    const ordinals = this.#ordinals
    const found = takeOrdinals(this.#column.ordinals, order, from, to, ordinals, 0)
    const hasId = target.keepsId(found) && this.#isOne(from, to, order[from])
    target.add(this.#shorts[from] | 0, ordinals, found, hasId ? this.#column.low[order[from]] : null)
  }

  /**
   * Adds a key that many have.
   * @param {number} from  its place
   * @param {import('./pace').Pace} pace
   * @returns {Promise<number>}  the place of the next key
   */
  async addMany (from, pace) {
    const order = this.#order
    const target = this.#target
    const ordinals = this.#ordinals
    const end = endOf(this.#shorts, from, this.#column.count)
    const short = this.#shorts[from] | 0
    const first = order[from]
    let found = 0
    let isOne = true
    await pace.walk(end - from, KEY_WORK, (start, stop) => {
      found = takeOrdinals(this.#column.ordinals, order, from + start, from + stop, ordinals, found)
      isOne &&= this.#isOne(from + start, from + stop, first)
    })
    const id = isOne ? this.#column.low[first] : null
    // They may be of few records.
    if (target.isMany(found)) await target.addMany(short, ordinals, found, id)
    else target.add(short, ordinals, found, id)
    return end
  }

  /** Whether some have the id of one. @param {number} from @param {number} to @param {number} one */
  #isOne (from, to, one) {
    const { low } = this.#column
    const order = this.#order
    const id = low[one] | 0
    for (let at = from; at < to; at++) if ((low[order[at]] | 0) !== id) return false
    return true
  }
}

/** The place after a key. @type {(shorts: Uint32Array, from: number, count: number) => number} */
function endOf (shorts, from, count) {
  const short = shorts[from] | 0
  let end = from + 1
  while (end < count && (shorts[end] | 0) === short) end++
  return end
}

/**
 * @type {(all: Uint32Array, order: Uint32Array, from: number, to: number, target: Uint32Array, count: number) =>
 *   number} `count`: of those that are there, before and after it
 */
function takeOrdinals (all, order, from, to, target, count) {
  let last = count === 0 ? -1 : target[count - 1] | 0
  for (let at = from; at < to; at++) {
    const ordinal = all[order[at]] | 0
    // Elements of one record may be equal.
    if (ordinal === last) continue
    target[count++] = ordinal
    last = ordinal
  }
  return count
}

/** How many keys end in a part. @type {(shorts: Uint32Array, from: number, to: number) => number} */
function countKeys (shorts, from, to) {
  let found = 0
  for (let at = from; at < to; at++) if (shorts[at] !== shorts[at + 1]) found++
  return found
}

/**
 * @type {(writer: PageWriter, column: KeyColumn, sorter: Sorter, ordinals: Uint32Array) => Promise<KeySection>}
 *   `ordinals`: one for each record, to be overwritten
 */
async function writeKeys (writer, column, sorter, ordinals) {
  const { length: records } = ordinals
  const { count } = column
  const { pace } = writer
  await sorter.sort(column.short, count)
  const { keys: shorts } = sorter
  let keyCount = Math.min(count, 1)
  await pace.walk(count - 1, 1, (from, to) => { keyCount += countKeys(shorts, from, to) })
  const target = new KeyWriter(writer, records, keyCount <= Math.max(records * IDS_SHARE, IDS_COUNT_MIN))
  const sorted = new SortedKeys(column, sorter, ordinals, target)
  for (let at = 0; at < count;) {
    const next = sorted.addFew(at, pace.stepWork / KEY_WORK)
    if (writer.isDue((next - at) * KEY_WORK)) await writer.rest()
    at = next === at ? await sorted.addMany(at, pace) : next
  }
  return target.end()
}

exports.IDS_RECORDS_MIN = IDS_RECORDS_MIN
exports.KEY_WORK = KEY_WORK
exports.writeKeys = writeKeys
