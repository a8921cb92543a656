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
function addSome (filling, { buffer, count, seqs, starts, ends }, first) {
  const { block, keys, pace, isOver } = filling
  const slowness = keys.scanner ? 1 : SLOWNESS
  const [countMax, sizeMax] = [STEP_RECORDS / slowness, STEP_SIZE / slowness]
  for (let from = first; from < count;) {
    if (isOver()) return false
    let to = from + 1
    while (to < count && to - from < countMax && ends[to] - starts[from] <= sizeMax) to++
    const records = { buffer, count: to, seqs, starts, ends }
    if (addRecords(keys, records, from, block) < to) block.isSealed = true
    if (block.isSealed) return false
    const work = (to - from) * RECORD_WORK + Math.max(0, ends[to - 1] - starts[from]) * BYTE_WORK
    from = to
    if (!pace.isDue(work * slowness)) continue
    return pace.rest().then(() => addSome(filling, { ...records, count }, from))
  }
  return !isOver()
}

exports.fillBlock = fillBlock
