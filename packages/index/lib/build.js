'use strict'
// What is in a run: the sections of a block, or of adjacent runs that become one. Keys stay in their range of seqs, so
// a list of the new run is those of the old ones, one after the other. The work is done in slices.

const { setImmediate } = require('node:timers')
const { TimeSlice } = require('@millrace/flow')
const { ORDINALS_MAX } = require('./posting-list')
const { DOUBLE_SIZE, DamagedRun } = require('./run-format')
const { KeyWriter, ValueWriter } = require('./run-writer')

/**
 * If a path has so few keys for each record, the long hash of each is written: then counts need no reads. That is at
 * most a byte a record. In the run of a block, which will be merged, more of them are: a larger run has more records
 * for each key, and what a part of it has not is lost.
 */
const IDS_SHARE = 1 / 8
const IDS_SHARE_BLOCK = 1 / 2
const IDS_RECORDS_MIN = 2048
/** How many keys adjacent runs have together is told by those whose hash is below it. */
const SAMPLED = 2 ** 32 / 64

/**
 * @typedef {import('./block').Block} Block
 * @typedef {import('./run').Run} Run
 * @typedef {import('./run-writer').PageWriter} PageWriter
 * @typedef {import('./run-format').ValueSection} ValueSection
 * @typedef {import('./run-format').KeySection} KeySection
 */

/**
 * @typedef {object} Sections  where all is in the file
 * @property {number} base
 * @property {number} records
 * @property {number} oddStart
 * @property {number} oddCount
 * @property {number} erasedStart
 * @property {number} erasedSeqs
 * @property {KeySection[]} keys
 * @property {Array<ValueSection | null>} numbers
 * @property {Array<ValueSection | null>} times
 */

/** Lets others run, if the slice is over, and writes what is there. */
class Pace {
  #slice = new TimeSlice()
  #writer

  /** @param {PageWriter} writer */
  constructor (writer) {
    this.#writer = writer
  }

  isDue () {
    return this.#writer.isFull || this.#slice.isOver()
  }

  async rest () {
    if (this.#writer.isFull) await this.#writer.flush()
    else await new Promise((resolve) => { setImmediate(resolve) })
  }
}

/** @type {(writer: PageWriter, block: Block, erased: readonly number[]) => Promise<Sections>} */
async function writeBlock (writer, block, erased) {
  const pace = new Pace(writer)
  const { count: records, seqs, odd } = block
  const base = seqs[0]
  for (let ordinal = 0; ordinal < records; ordinal++) writer.addWord(seqs[ordinal] - base)
  const oddStart = writer.position
  for (const ordinal of odd) writer.addWord(ordinal)
  const known = await writeErased(writer, [erased], pace)
  const keys = []
  for (const column of block.keys) {
    keys.push(await writeKeys(writer, column, records, pace))
    await pace.rest()
  }
  /** @type {Array<Array<ValueSection | null>>} */
  const values = []
  for (const columns of [block.numbers, block.times]) {
    /** @type {Array<ValueSection | null>} */
    const sections = []
    for (const column of columns) {
      sections.push(column && await writeValues(writer, column, pace))
      await pace.rest()
    }
    values.push(sections)
  }
  const [numbers, times] = values
  return { base, records, oddStart, oddCount: odd.length, ...known, keys, numbers, times }
}

/**
 * @type {(writer: PageWriter, lists: ReadonlyArray<Iterable<number>>, pace: Pace) =>
 *   Promise<Pick<Sections, 'erasedStart' | 'erasedSeqs'>>}
 */
async function writeErased (writer, lists, pace) {
  writer.align(DOUBLE_SIZE)
  const erasedStart = writer.position
  for (const seqs of lists) {
    for (const seq of seqs) {
      writer.addDouble(seq)
      if (pace.isDue()) await pace.rest()
    }
  }
  return { erasedStart, erasedSeqs: (writer.position - erasedStart) / DOUBLE_SIZE }
}

/** @type {(writer: PageWriter, column: Block['keys'][0], records: number, pace: Pace) => Promise<KeySection>} */
async function writeKeys (writer, column, records, pace) {
  const order = column.sort()
  const hasIds = countKeys(column.short, order) <= Math.max(records * IDS_SHARE_BLOCK, IDS_RECORDS_MIN * IDS_SHARE)
  const target = new KeyWriter(writer, records, hasIds)
  const ordinals = new Uint32Array(records)
  for (let at = 0; at < order.length;) {
    const first = order[at]
    const short = column.short[first]
    const id = { low: column.low[first], high: column.high[first] }
    let count = 0
    let isOne = true
    for (; at < order.length && column.short[order[at]] === short; at++) {
      const index = order[at]
      isOne &&= column.low[index] === id.low && column.high[index] === id.high
      // Elements of one record may be equal.
      if (count === 0 || ordinals[count - 1] !== column.ordinals[index]) ordinals[count++] = column.ordinals[index]
    }
    target.add(short, ordinals, count, isOne ? id : null)
    if (pace.isDue()) await pace.rest()
  }
  return target.end()
}

/** @type {(shorts: Uint32Array, order: ArrayLike<number>) => number} `order`: of the hashes, ascending */
function countKeys (shorts, order) {
  let count = 0
  let before = -1
  for (let at = 0; at < order.length; at++) {
    const short = shorts[order[at]]
    if (short !== before) count++
    before = short
  }
  return count
}

/** @type {(writer: PageWriter, column: NonNullable<Block['numbers'][0]>, pace: Pace) => Promise<ValueSection>} */
async function writeValues (writer, column, pace) {
  const target = new ValueWriter(writer)
  for (const index of column.sort()) {
    target.add(column.values[index], column.ordinals[index])
    if (pace.isDue()) await pace.rest()
  }
  return target.end()
}

/**
 * @param {PageWriter} writer
 * @param {readonly Run[]} runs  adjacent, the oldest first
 * @returns {Promise<Sections>}
 */
async function writeMerged (writer, runs) {
  const pace = new Pace(writer)
  const [{ footer: { base } }] = runs
  const offsets = [0]
  for (const { records } of runs) offsets.push(offsets[offsets.length - 1] + records)
  const records = offsets[runs.length]
  let before = -1
  for (const run of runs) {
    for (let ordinal = 0; ordinal < run.records; ordinal++) {
      const seq = run.seqOf(ordinal)
      checkOrder(before, seq, run.to)
      before = seq
      writer.addWord(seq - base)
      if (pace.isDue()) await pace.rest()
    }
  }
  const oddStart = writer.position
  for (const [index, run] of runs.entries()) for (const ordinal of run.odd) writer.addWord(ordinal + offsets[index])
  const oddCount = (writer.position - oddStart) / 4
  const known = await writeErased(writer, runs.map((run) => run.erased()), pace)
  const keys = []
  for (let slot = 0; slot < runs[0].footer.keys.length; slot++) {
    keys.push(await mergeKeys(writer, runs, offsets, slot, pace))
  }
  /** @type {Array<Array<ValueSection | null>>} */
  const values = []
  for (const name of /** @type {const} */ (['numbers', 'times'])) {
    /** @type {Array<ValueSection | null>} */
    const sections = []
    for (let slot = 0; slot < runs[0].footer[name].length; slot++) {
      sections.push(runs[0].footer[name][slot] && await mergeValues(writer, runs, offsets, { name, slot }, pace))
    }
    values.push(sections)
  }
  const [numbers, times] = values
  return { base, records, oddStart, oddCount, ...known, keys, numbers, times }
}

/**
 * What is read of a run must be above what was before it.
 * @type {(before: number, value: number, end: number) => void}
 */
function checkOrder (before, value, end) {
  if (value <= before || value >= end) throw new DamagedRun(`${value} comes after ${before}`)
}

/** Ordinals of one key, ascending. */
class Gathered {
  #block = new Uint32Array(ORDINALS_MAX)
  ordinals = new Uint32Array(ORDINALS_MAX)
  count = 0
  /** @type {import('./posting-list').LongHash | null} */
  id = null

  /**
   * @type {(found: number | import('./posting-list').PostingList, offset: number, end: number, pace: Pace) =>
   *   Promise<void>} `offset`, `end`: of the run
   */
  async add (found, offset, end, pace) {
    const isFirst = this.count === 0
    const isList = typeof found !== 'number'
    const id = isList ? found.id : null
    // The long hash of a single one is not known.
    const isSame = id !== null && (isFirst || (this.id !== null && this.id.low === id.low && this.id.high === id.high))
    this.id = isSame ? id : null
    this.#makeRoom(isList ? found.count : 1)
    let before = this.count === 0 ? -1 : this.ordinals[this.count - 1]
    if (!isList) {
      checkOrder(before, found + offset, end)
      this.ordinals[this.count++] = found + offset
      return
    }
    for (let block = found.blockCount - 1; block >= 0; block--) {
      const count = found.readBlock(block, this.#block)
      this.#makeRoom(count)
      for (let at = count - 1; at >= 0; at--) {
        const ordinal = this.#block[at] + offset
        checkOrder(before, ordinal, end)
        before = ordinal
        this.ordinals[this.count++] = ordinal
      }
      if (pace.isDue()) await pace.rest()
    }
  }

  /** @param {number} count */
  #makeRoom (count) {
    if (this.count + count <= this.ordinals.length) return
    const larger = new Uint32Array(Math.max(2 * this.ordinals.length, this.count + count))
    larger.set(this.ordinals)
    this.ordinals = larger
  }
}

/** @type {(runs: readonly Run[], slot: number, records: number) => boolean} */
function hasFewKeys (runs, slot, records) {
  const max = Math.max(records, IDS_RECORDS_MIN) * IDS_SHARE
  if (runs.reduce((sum, { footer }) => sum + footer.keys[slot].count, 0) <= max) return true
  // Hashes are spread evenly.
  const sampled = new Set()
  for (const run of runs) {
    const { count } = run.footer.keys[slot]
    for (let index = 0; index < count && sampled.size <= max; index++) {
      const short = run.hashAt(slot, index)
      if (short >= SAMPLED) break
      sampled.add(short)
    }
  }
  return sampled.size * (2 ** 32 / SAMPLED) <= max
}

/**
 * @type {(writer: PageWriter, runs: readonly Run[], offsets: number[], slot: number,
 *   pace: Pace) => Promise<KeySection>}
 */
async function mergeKeys (writer, runs, offsets, slot, pace) {
  const hasIds = runs.every(({ footer }) => footer.keys[slot].hasIds) && hasFewKeys(runs, slot, offsets[runs.length])
  const target = new KeyWriter(writer, offsets[runs.length], hasIds)
  const gathered = new Gathered()
  const heads = runs.map((run) => run.entries(slot))
  const entries = heads.map((head) => head.next())
  while (true) {
    let short = Infinity
    for (const { done, value } of entries) if (!done && value.short < short) short = value.short
    if (short === Infinity) return target.end()
    gathered.count = 0
    for (let index = 0; index < runs.length; index++) {
      const { done, value } = entries[index]
      if (done || value.short !== short) continue
      await gathered.add(value.found, offsets[index], offsets[index + 1], pace)
      entries[index] = heads[index].next()
    }
    target.add(short, gathered.ordinals, gathered.count, gathered.id)
    if (pace.isDue()) await pace.rest()
  }
}

/**
 * @type {(writer: PageWriter, runs: readonly Run[], offsets: number[], of: { name: 'numbers' | 'times', slot: number },
 *   pace: Pace) => Promise<ValueSection>}
 */
async function mergeValues (writer, runs, offsets, { name, slot }, pace) {
  const target = new ValueWriter(writer)
  const inputs = runs.map((run, index) => {
    const section = /** @type {ValueSection} */ (run.footer[name][slot])
    return { run, section, offset: offsets[index], index: 0, value: section.count > 0 ? run.valueAt(section, 0) : NaN }
  })
  while (true) {
    let next = null
    for (const input of inputs) {
      if (input.index < input.section.count && (next === null || input.value < next.value)) next = input
    }
    if (next === null) return target.end()
    const ordinal = next.run.valueOrdinal(next.section, next.index)
    checkOrder(-1, ordinal, next.run.records)
    target.add(next.value, ordinal + next.offset)
    next.index++
    if (next.index < next.section.count) next.value = next.run.valueAt(next.section, next.index)
    if (pace.isDue()) await pace.rest()
  }
}

exports.writeBlock = writeBlock
exports.writeMerged = writeMerged
