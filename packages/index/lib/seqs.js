'use strict'
// The seqs of the records of a run, as distances from its base. Groups of GROUP_COUNT are nearly on a line, as records
// are of similar sizes: each distance is noted as what it is above or below the line from the first one of its group to
// that of the next group, in as many bits as the group needs. So a seq is found by its ordinal without its neighbours.
//
// The groups come first, each of twice as many words as a deviation has bits. A table follows: of each group the first
// distance and the place of its bits, in units of two words, in 4 bytes each; and both of the end.

const { DamagedRun, WORD_SIZE } = require('./run-format')
const { firstIndex } = require('./sorting')

const GROUP_SHIFT = 6
const GROUP_COUNT = 1 << GROUP_SHIFT
const TABLE_ENTRY_SIZE = 2 * WORD_SIZE
const PLACE_SIZE = GROUP_COUNT / 8
const WORD_BITS = 32
const WORD_MAX = 2 ** 32 - 1
/** To add one, in the units of pace.js. */
const SEQ_WORK = 4

/** Where the table ends. @type {(table: number, records: number) => number} */
function endOfTable (table, records) {
  return table + (Math.ceil(records / GROUP_COUNT) + 1) * TABLE_ENTRY_SIZE
}

/** Which distance is on the line. @type {(index: number, first: number, next: number) => number} */
function onLine (index, first, next) {
  return first + Math.floor(index * (next - first) / GROUP_COUNT)
}

/** Writes them, ascending. */
class SeqWriter {
  #writer
  #distances = new Float64Array(GROUP_COUNT)
  #deviations = new Int32Array(GROUP_COUNT)
  #words = new Int32Array(2 * WORD_BITS)
  #count = 0
  #place = 0
  /** @type {number[]} */
  #table = []

  /** @param {import('./run-writer').PageWriter} writer  at its start */
  constructor (writer) {
    this.#writer = writer
  }

  /** @param {number} distance */
  add (distance) {
    if (this.#count === GROUP_COUNT) this.#endGroup(distance)
    this.#distances[this.#count++] = distance
  }

  /** @returns {Promise<number>}  where the table is */
  async end () {
    const first = this.#distances[0]
    const last = this.#distances[this.#count - 1]
    const next = first + Math.round((last - first) * GROUP_COUNT / Math.max(1, this.#count - 1))
    this.#endGroup(Math.min(next, WORD_MAX))
    const words = [...this.#table, Math.min(next, WORD_MAX), this.#place]
    const { position } = this.#writer
    await this.#writer.addEach(words.length, 1, (index) => this.#writer.addWord(words[index]))
    return position
  }

  /** @param {number} next  the first distance of the next group */
  #endGroup (next) {
    const width = this.#deviate(next)
    this.#table.push(this.#distances[0], this.#place)
    this.#place += width
    if (width > 0) this.#addBits(width)
    this.#count = 0
  }

  /** Gives how many bits the deviations need. @param {number} next */
  #deviate (next) {
    const first = this.#distances[0]
    let bits = 0
    let isOnLine = true
    for (let index = 0; index < this.#count; index++) {
      // Of 32 bits each sum is exact, whatever is lost here.
      const deviation = this.#distances[index] - onLine(index, first, next) | 0
      this.#deviations[index] = deviation
      bits |= deviation ^ deviation >> WORD_BITS - 1
      isOnLine &&= deviation === 0
    }
    return isOnLine ? 0 : WORD_BITS + 1 - Math.clz32(bits)
  }

  /** @param {number} width */
  #addBits (width) {
    const words = this.#words.fill(0)
    const mask = -1 >>> WORD_BITS - width
    for (let index = 0; index < this.#count; index++) {
      const value = this.#deviations[index] & mask
      const bit = index * width
      const shift = bit % WORD_BITS
      words[bit >>> 5] |= value << shift
      if (shift + width > WORD_BITS) words[(bit >>> 5) + 1] |= value >>> WORD_BITS - shift
    }
    const writer = this.#writer
    writer.makeRoom(2 * width * WORD_SIZE)
    for (let at = 0; at < 2 * width; at++) writer.view.setInt32(writer.filled + at * WORD_SIZE, words[at], true)
    writer.filled += 2 * width * WORD_SIZE
  }
}

/** Reads them. */
class SeqReader {
  #source
  #table
  #records
  // Of the group that was looked at last.
  #group = -1
  #first = 0
  #next = 0
  #start = 0
  #width = 0

  /**
   * @param {{ wordAt: (offset: number) => number }} source
   * @param {number} table  where it is
   * @param {number} records
   */
  constructor (source, table, records) {
    this.#source = source
    this.#table = table
    this.#records = records
  }

  /** @param {number} ordinal  of a record that is there */
  distanceOf (ordinal) {
    const group = ordinal >>> GROUP_SHIFT
    if (group !== this.#group) this.#seek(group)
    const index = ordinal % GROUP_COUNT
    const width = this.#width
    const distance = onLine(index, this.#first, this.#next)
    if (width === 0) return distance
    const bit = index * width
    const shift = bit % WORD_BITS
    const at = this.#start + (bit >>> 5) * WORD_SIZE
    let value = this.#source.wordAt(at) >>> shift
    if (shift + width > WORD_BITS) value |= this.#source.wordAt(at + WORD_SIZE) << WORD_BITS - shift
    const unused = WORD_BITS - width
    return distance + (value << unused >> unused) >>> 0
  }

  /** @param {number} group */
  #seek (group) {
    const source = this.#source
    const entry = this.#table + group * TABLE_ENTRY_SIZE
    const place = source.wordAt(entry + WORD_SIZE)
    const end = source.wordAt(entry + TABLE_ENTRY_SIZE + WORD_SIZE)
    const isThere = place <= end && end - place <= WORD_BITS && end * PLACE_SIZE <= this.#table
    if (!isThere) throw new DamagedRun('seqs that are not where they can be')
    this.#group = -1
    this.#first = source.wordAt(entry)
    this.#next = source.wordAt(entry + TABLE_ENTRY_SIZE)
    this.#start = place * PLACE_SIZE
    this.#width = end - place
    this.#group = group
  }

  /** The ordinal of the first record that is as far from the base, or farther. @param {number} distance */
  ordinalFrom (distance) {
    const groups = Math.ceil(this.#records / GROUP_COUNT)
    const firstOf = (/** @type {number} */ group) => this.#source.wordAt(this.#table + group * TABLE_ENTRY_SIZE)
    const first = Math.max(0, firstIndex(groups, (group) => firstOf(group) > distance) - 1) * GROUP_COUNT
    const count = Math.min(GROUP_COUNT, this.#records - first)
    return first + firstIndex(count, (index) => this.distanceOf(first + index) >= distance)
  }
}

exports.SEQ_WORK = SEQ_WORK
exports.SeqReader = SeqReader
exports.SeqWriter = SeqWriter
exports.endOfTable = endOfTable
