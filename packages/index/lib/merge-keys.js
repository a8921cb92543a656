'use strict'
// Writes the keys of one path of adjacent runs that become one. As in block-keys.js, what is done for each key is in
// functions that never wait, but for keys that many records have.

const { IDS_RECORDS_MIN } = require('./block-keys')
const { ORDINALS_MAX } = require('./posting-list')
const { KeyCursor } = require('./run')
const { checkOrder } = require('./run-format')
const { KeyWriter } = require('./run-writer')

/**
 * If a path has so few keys for each record, the id of each is written: then counts need no reads. That is at most half
 * a byte a record. In the run of a block more of them are: see block-keys.js.
 */
const IDS_SHARE = 1 / 8
/** How many keys the runs have together is told by those whose hash is below it. */
const SAMPLED = 2 ** 32 / 64
// To read a key or a value, and an ordinal in a list, in the units of pace.js.
const ENTRY_WORK = 32
const LISTED_WORK = 2

/**
 * @typedef {import('./posting-list').PostingList} PostingList
 * @typedef {import('./run').Run} Run
 * @typedef {import('./run-writer').PageWriter} PageWriter
 */

/** Ordinals of one key, ascending. */
class Gathered {
  #block = new Uint32Array(ORDINALS_MAX)
  ordinals = new Uint32Array(ORDINALS_MAX)
  count = 0

  /** @type {(ordinal: number, end: number) => void} */
  addOne (ordinal, end) {
    this.#makeRoom(1)
    checkOrder(this.count === 0 ? -1 : this.ordinals[this.count - 1], ordinal, end)
    this.ordinals[this.count++] = ordinal
  }

  /** @type {(list: PostingList, block: number, offset: number, end: number) => number} */
  addBlock (list, block, offset, end) {
    const count = list.readBlock(block, this.#block)
    this.#makeRoom(count)
    let before = this.count === 0 ? -1 : this.ordinals[this.count - 1]
    for (let at = count - 1; at >= 0; at--) {
      const ordinal = this.#block[at] + offset
      checkOrder(before, ordinal, end)
      before = ordinal
      this.ordinals[this.count++] = ordinal
    }
    return count
  }

  /** @param {number} count */
  #makeRoom (count) {
    if (this.count + count <= this.ordinals.length) return
    const larger = new Uint32Array(Math.max(2 * this.ordinals.length, this.count + count))
    larger.set(this.ordinals)
    this.ordinals = larger
  }
}

/** The keys of all runs, one after the other. */
class KeyMerge {
  #runs
  #offsets
  #target
  #cursors
  #gathered = new Gathered()
  /** The short hash of the next key; Infinity after the last one. */
  short = -1
  /** Its id; null if the runs have several. @type {number | null} */
  #id = null
  /** Whether it has more blocks than one in a run, or too many records for one step. */
  isLong = false

  /**
   * @param {readonly Run[]} runs
   * @param {readonly number[]} offsets  of the ordinals of each run, and the end
   * @param {number} slot
   * @param {KeyWriter} target
   */
  constructor (runs, offsets, slot, target) {
    this.#runs = runs
    this.#offsets = offsets
    this.#target = target
    this.#cursors = runs.map(() => new KeyCursor(slot))
    this.#moveOn()
  }

  /** Takes the next key. */
  #moveOn () {
    const before = this.short
    let [short, count] = [Infinity, 0]
    let hasBlocks = false
    for (let index = 0; index < this.#cursors.length; index++) {
      const cursor = this.#cursors[index]
      if (cursor.short === before) this.#runs[index].readKey(cursor)
      if (cursor.short > short || cursor.short === Infinity) continue
      if (cursor.short < short) {
        this.#id = cursor.id
        count = 0
        hasBlocks = false
      } else if (cursor.id !== this.#id) this.#id = null
      short = cursor.short
      const { found } = cursor
      count += typeof found === 'number' ? 1 : found.count
      hasBlocks ||= typeof found !== 'number' && found.blockCount > 1
    }
    this.short = short
    this.isLong = hasBlocks || this.#target.isMany(count)
  }

  /** Adds keys until one is long, or until others must run. @param {PageWriter} writer */
  addFew (writer) {
    const gathered = this.#gathered
    while (this.short !== Infinity && !this.isLong) {
      gathered.count = 0
      for (let index = 0; index < this.#cursors.length; index++) {
        const { short, found } = this.#cursors[index]
        if (short !== this.short) continue
        const [offset, end] = [this.#offsets[index], this.#offsets[index + 1]]
        if (typeof found === 'number') gathered.addOne(found + offset, end)
        else gathered.addBlock(found, 0, offset, end)
      }
      this.#target.add(this.short, gathered.ordinals, gathered.count, this.#id)
      this.#moveOn()
      if (writer.isDue(ENTRY_WORK + gathered.count * LISTED_WORK)) return
    }
  }

  /** Adds the next key in steps. @param {PageWriter} writer */
  async addLong (writer) {
    const gathered = this.#gathered
    gathered.count = 0
    for (let index = 0; index < this.#cursors.length; index++) {
      const { short, found } = this.#cursors[index]
      if (short !== this.short) continue
      const [offset, end] = [this.#offsets[index], this.#offsets[index + 1]]
      if (typeof found === 'number') gathered.addOne(found + offset, end)
      else await gatherBlocks(gathered, found, offset, end, writer)
    }
    const { ordinals, count } = gathered
    if (this.#target.isMany(count)) await this.#target.addMany(this.short, ordinals, count, this.#id)
    else this.#target.add(this.short, ordinals, count, this.#id)
    this.#moveOn()
  }
}

/** @type {(gathered: Gathered, list: PostingList, offset: number, end: number, writer: PageWriter) => Promise<void>} */
async function gatherBlocks (gathered, list, offset, end, { pace }) {
  for (let block = list.blockCount - 1; block >= 0; block--) {
    const count = gathered.addBlock(list, block, offset, end)
    if (pace.isDue(ENTRY_WORK + count * LISTED_WORK)) await pace.rest()
  }
}

/** @type {(writer: PageWriter, runs: readonly Run[], slot: number, records: number) => Promise<boolean>} */
async function hasFewKeys (writer, runs, slot, records) {
  const max = Math.max(records, IDS_RECORDS_MIN) * IDS_SHARE
  if (runs.reduce((sum, { footer }) => sum + footer.keys[slot].count, 0) <= max) return true
  // Hashes are spread evenly.
  const sampled = new Set()
  for (const run of runs) {
    const { count } = run.footer.keys[slot]
    for (let index = 0; index < count; index++) {
      const short = run.hashAt(slot, index)
      if (short >= SAMPLED) break
      sampled.add(short)
      if (writer.isDue(ENTRY_WORK)) await writer.rest()
    }
  }
  return sampled.size * (2 ** 32 / SAMPLED) <= max
}

/**
 * @type {(writer: PageWriter, runs: readonly Run[], offsets: readonly number[], slot: number) =>
 *   Promise<import('./run-format').KeySection>}
 */
async function mergeKeys (writer, runs, offsets, slot) {
  const hasIds = runs.every(({ footer }) => footer.keys[slot].hasIds) &&
    await hasFewKeys(writer, runs, slot, offsets[runs.length])
  const target = new KeyWriter(writer, offsets[runs.length], hasIds)
  const merge = new KeyMerge(runs, offsets, slot, target)
  while (merge.short !== Infinity) {
    if (merge.isLong) await merge.addLong(writer)
    else merge.addFew(writer)
    if (writer.isDue(0)) await writer.rest()
  }
  return target.end()
}

exports.ENTRY_WORK = ENTRY_WORK
exports.mergeKeys = mergeKeys
