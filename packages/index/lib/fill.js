'use strict'
// Notes the keys of a range of the log in a block, in steps: between them others may run.

const { addRecords } = require('./extract')

/** Of the records that are added before it looks whether others must run: so many, or bytes. */
const STEP_RECORDS = 128
const STEP_SIZE = 64 * 1024
/** For each record, and each byte, with a scanner: see pace.js. */
const RECORD_WORK = 64
const BYTE_WORK = 1 / 8
/** So many times the work is it without one. */
const SLOWNESS = 4

/**
 * @typedef {import('./block').Block} Block
 * @typedef {import('./extract').Keys} Keys
 * @typedef {import('./extract').Records} Records
 * @typedef {{ from: number, to: number }} Range
 *
 * @typedef {object} Filling
 * @property {Block} block
 * @property {Keys} keys
 * @property {import('./pace').Pace} pace
 * @property {() => boolean} isOver  whether nothing more is wanted
 */

/**
 * @param {Pick<import('./log-index').Host, 'scanRaw'>} host
 * @param {Range} range
 * @param {Filling} filling
 * @returns {Promise<Range | null>}  damage, before which it has ended
 */
async function fillBlock (host, range, filling) {
  /** @type {Range | null} */
  let damage = null
  const onRecords = (/** @type {Records} */ records) => damage === null && addSome(filling, records, 0)
  await host.scanRaw(range, onRecords, (found) => { damage ??= found })
  return damage
}

/**
 * Adds records from one of them on, in steps.
 * @type {(filling: Filling, records: Records, first: number) => boolean | Promise<boolean>} whether more can be added
 */
function addSome (filling, records, first) {
  const slowness = filling.keys.scanner ? 1 : SLOWNESS
  for (let from = first; from < records.count;) {
    if (filling.isOver()) return false
    const to = endOfStep(records, from, STEP_RECORDS / slowness, STEP_SIZE / slowness)
    if (!addStep(filling, records, from, to)) return false
    const work = (to - from) * RECORD_WORK + Math.max(0, records.ends[to - 1] - records.starts[from]) * BYTE_WORK
    from = to
    if (filling.pace.isDue(work * slowness)) return addLater(filling, records, from)
  }
  return !filling.isOver()
}

/** @type {(records: Records, from: number, countMax: number, sizeMax: number) => number} */
function endOfStep ({ count, starts, ends }, from, countMax, sizeMax) {
  let to = Math.min(count, from + countMax)
  while (to > from + 1 && ends[to - 1] - starts[from] > sizeMax) to = from + Math.ceil((to - from) / 2)
  return to
}

/** @type {(filling: Filling, records: Records, from: number, to: number) => boolean} whether more can be added */
function addStep ({ keys, block }, { buffer, seqs, starts, ends }, from, to) {
  if (addRecords(keys, { buffer, count: to, seqs, starts, ends }, from, block) < to) block.isSealed = true
  return !block.isSealed
}

/** @type {(filling: Filling, records: Records, from: number) => Promise<boolean>} */
async function addLater (filling, records, from) {
  await filling.pace.rest()
  return addSome(filling, records, from)
}

exports.fillBlock = fillBlock
