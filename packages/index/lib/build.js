'use strict'
// What is in a run: the sections of a block, or of adjacent runs that become one. Keys stay in their range of seqs, so
// a list of the new run is those of the old ones, one after the other. The work is divided by
// pace.js.

const { KEY_WORK, writeKeys } = require('./block-keys')
const { ENTRY_WORK, mergeKeys } = require('./merge-keys')
const { openRun } = require('./run')
const { RunFiles } = require('./run-files')
const { RunPages } = require('./run-pages')
const { DOUBLE_SIZE, checkOrder } = require('./run-format')
const { ValueWriter } = require('./run-writer')
const { SEQ_WORK, SeqWriter } = require('./seqs')
const { Sorter } = require('./sorting')

const MERGE_PAGES = 256
/** To read a word of a run, in the units of pace.js. */
const READ_WORK = 8

/**
 * @typedef {import('./block').Block} Block
 * @typedef {NonNullable<Block['numbers'][0]>} ValueColumn
 * @typedef {import('./run').Run} Run
 * @typedef {import('./run-writer').PageWriter} PageWriter
 * @typedef {import('./run-format').ValueSection} ValueSection
 * @typedef {import('./run-format').KeySection} KeySection
 */

/**
 * @typedef {object} Sections  where all is in the file
 * @property {number} base
 * @property {number} records
 * @property {number} seqTable
 * @property {number} oddStart
 * @property {number} oddCount
 * @property {number} erasedStart
 * @property {number} erasedSeqs
 * @property {KeySection[]} keys
 * @property {Array<ValueSection | null>} numbers
 * @property {Array<ValueSection | null>} times
 */

/** @type {(writer: PageWriter, block: Block, erased: readonly number[]) => Promise<Sections>} */
async function writeBlock (writer, block, erased) {
  const { count: records, seqs, odd } = block
  const base = seqs[0]
  const seqWriter = new SeqWriter(writer)
  await writer.addEach(records, SEQ_WORK, (ordinal) => seqWriter.add(seqs[ordinal] - base))
  const seqTable = await seqWriter.end()
  const oddStart = writer.position
  await writer.addEach(odd.length, 1, (index) => writer.addWord(odd[index]))
  const known = await writeErased(writer, [erased])
  const sorter = new Sorter(writer.pace)
  const ordinals = new Uint32Array(records)
  const keys = []
  for (const column of block.keys) keys.push(await writeKeys(writer, column, sorter, ordinals))
  /** @type {Array<Array<ValueSection | null>>} */
  const values = []
  for (const columns of [block.numbers, block.times]) {
    /** @type {Array<ValueSection | null>} */
    const sections = []
    for (const column of columns) sections.push(column && await writeValues(writer, column, sorter))
    values.push(sections)
  }
  const [numbers, times] = values
  return { base, records, seqTable, oddStart, oddCount: odd.length, ...known, keys, numbers, times }
}

/**
 * @type {(writer: PageWriter, lists: ReadonlyArray<Iterable<number>>) =>
 *   Promise<Pick<Sections, 'erasedStart' | 'erasedSeqs'>>}
 */
async function writeErased (writer, lists) {
  writer.align(DOUBLE_SIZE)
  const erasedStart = writer.position
  for (const seqs of lists) {
    for (const seq of seqs) {
      writer.addDouble(seq)
      if (writer.isDue(1)) await writer.rest()
    }
  }
  return { erasedStart, erasedSeqs: (writer.position - erasedStart) / DOUBLE_SIZE }
}

/** @type {(writer: PageWriter, column: ValueColumn, sorter: Sorter) => Promise<ValueSection>} */
async function writeValues (writer, column, sorter) {
  const { values, ordinals, count } = column
  await sorter.sortNumbers(values, count)
  const { order } = sorter
  const target = new ValueWriter(writer)
  await writer.addEach(count, KEY_WORK, (at) => target.add(values[order[at]], ordinals[order[at]]))
  return target.end()
}

/**
 * @param {PageWriter} writer
 * @param {readonly Run[]} runs  adjacent, the oldest first
 * @returns {Promise<Sections>}
 */
async function writeMerged (writer, runs) {
  const [{ footer: { base } }] = runs
  const offsets = [0]
  for (const { records } of runs) offsets.push(offsets[offsets.length - 1] + records)
  const records = offsets[runs.length]
  let before = -1
  const seqWriter = new SeqWriter(writer)
  for (const run of runs) {
    await writer.addEach(run.records, READ_WORK + SEQ_WORK, (ordinal) => {
      const seq = run.seqOf(ordinal)
      checkOrder(before, seq, run.to)
      before = seq
      seqWriter.add(seq - base)
    })
  }
  const seqTable = await seqWriter.end()
  const oddStart = writer.position
  for (const [index, { odd }] of runs.entries()) {
    await writer.addEach(odd.length, 1, (at) => writer.addWord(odd[at] + offsets[index]))
  }
  const oddCount = (writer.position - oddStart) / 4
  const known = await writeErased(writer, runs.map((run) => run.erased()))
  const keys = []
  for (let slot = 0; slot < runs[0].footer.keys.length; slot++) {
    keys.push(await mergeKeys(writer, runs, offsets, slot))
  }
  /** @type {Array<Array<ValueSection | null>>} */
  const values = []
  for (const name of /** @type {const} */ (['numbers', 'times'])) {
    /** @type {Array<ValueSection | null>} */
    const sections = []
    for (let slot = 0; slot < runs[0].footer[name].length; slot++) {
      sections.push(runs[0].footer[name][slot] && await mergeValues(writer, runs, offsets, { name, slot }))
    }
    values.push(sections)
  }
  const [numbers, times] = values
  return { base, records, seqTable, oddStart, oddCount, ...known, keys, numbers, times }
}

/**
 * As `writeMerged`, of files that are opened for it.
 * @param {PageWriter} writer
 * @param {import('@millrace/block-file').Storage} storage
 * @param {string} folder
 * @param {readonly string[]} names  of adjacent runs, the oldest first
 * @param {number} cachedPages
 * @returns {Promise<Sections>}
 */
async function writeMergedFiles (writer, storage, folder, names, cachedPages) {
  // While runs are merged, their pages are read once.
  const cache = new RunPages(Math.min(MERGE_PAGES, cachedPages))
  const files = new RunFiles(storage, folder)
  /** @type {Run[]} */
  const runs = []
  try {
    for (const name of names) runs.push(await openRun(files, name, cache))
    return await writeMerged(writer, runs)
  } finally {
    for (const run of runs) await run.close()
  }
}

/**
 * @type {(writer: PageWriter, runs: readonly Run[], offsets: number[],
 *   of: { name: 'numbers' | 'times', slot: number }) => Promise<ValueSection>}
 */
async function mergeValues (writer, runs, offsets, { name, slot }) {
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
    if (writer.isDue(ENTRY_WORK)) await writer.rest()
  }
}

exports.writeBlock = writeBlock
exports.writeMergedFiles = writeMergedFiles
