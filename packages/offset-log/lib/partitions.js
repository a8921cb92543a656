'use strict'
// Divides the records of a log into ranges of about equal size, to be read side by side. Each begins at a record that
// the log has read, so it holds what a read of the whole log finds there.

const { misuse, reasonOf } = require('@millrace/errors')
const { promisesOf, toPromise } = require('@millrace/flow')
const { scan } = require('./scan')

const COUNT_MAX = 1024
const PLAIN = {
  reverse: false,
  live: false,
  old: true,
  limit: Infinity,
  where: null,
  signal: null,
  skipsDamage: false,
  skipsRetained: false
}

/**
 * @typedef {import('./load').LogFile} LogFile
 * @typedef {import('./checked-store').CheckedStore} CheckedStore
 * @typedef {{ gte: number, lt: number }} Partition  options of `stream`, `scan` and other reads
 * @typedef {{ seq: number, position: number }} Start  a record, and about where it is in the file
 */

/**
 * @param {LogFile} file
 * @param {unknown} count
 * @returns {Promise<Partition[]>}  at most `count`, in order and without gaps; none if the log is empty
 * @throws {TypeError} ERR_INVALID_ARGUMENT
 */
async function partition (file, count) {
  const places = parsePlaces(count)
  if (isEmpty(file)) return []
  // What is appended meanwhile is in no range.
  const stop = stopOf(file, file.logEnd)
  return toPartitions(await findStarts(file, places), stop)
}

/** Whether there is nothing to read, and nothing to report. @type {(file: LogFile) => boolean} */
function isEmpty (file) {
  const { start, end } = file.store.extent
  return end <= start && stopOf(file, file.logEnd) === file.logEnd
}

/**
 * Where ranges of equal size begin, but the first: in parts of the whole.
 * @param {unknown} count
 * @returns {number[]}
 * @throws {TypeError} ERR_INVALID_ARGUMENT
 */
function parsePlaces (count) {
  if (!Number.isInteger(count) || Number(count) < 1 || Number(count) > COUNT_MAX) {
    throw misuse(`partitions: expected a whole number from 1 to ${COUNT_MAX}, got ${reasonOf(count)}`)
  }
  return Array.from({ length: Number(count) - 1 }, (_, index) => (index + 1) / Number(count))
}

/**
 * Where the last range ends: at the end of the log, or after what the file lacks there. Nothing can be appended then.
 * @type {(file: LogFile, end: number) => number}
 */
function stopOf ({ store }, end) {
  return (store.isChecked ? store.missing : store.damage) === null ? end : Infinity
}

/** @type {(starts: number[], stop: number) => Partition[]} */
function toPartitions (starts, stop) {
  return [0, ...starts].map((gte, index) => ({ gte, lt: starts[index] ?? stop }))
}

/**
 * Finds records at about these places of the file, in parts of the whole. Damage is no failure: the read of the range
 * around it reports it.
 * @type {(file: LogFile, places: number[]) => Promise<number[]>} seqs, each above the one before
 */
function findStarts (file, places) {
  const { store, logEnd: end } = file
  const { start, end: fileEnd } = store.extent
  const targets = places.map((place) => start + (fileEnd - start) * place)
  return store.isChecked ? findOnPages(file, end, targets) : walkToStarts(file, end, targets)
}

/**
 * In an offset framing only a walk from the start proves where records begin: the bytes of a record may imitate frames.
 * Seqs are positions there.
 * @type {(file: LogFile, end: number, targets: number[]) => Promise<number[]>}
 */
async function walkToStarts (file, end, targets) {
  /** @type {number[]} */
  const starts = []
  let next = 0
  if (targets.length === 0) return starts
  await eachRun(file, { from: 0, stop: end }, ({ count, seqs }) => {
    for (let index = 0; index < count && next < targets.length; index++) {
      if (seqs[index] < targets[next]) continue
      starts.push(seqs[index])
      while (targets[next] <= seqs[index]) next++
    }
    return next < targets.length
  }).catch(() => {})
  return starts
}

/**
 * In the checked framing each page says what it begins with.
 * @type {(file: LogFile, end: number, targets: number[]) => Promise<number[]>}
 */
async function findOnPages (file, end, targets) {
  /** @type {number[]} */
  const starts = []
  let [last, reached] = [0, 0]
  for (const target of targets) {
    if (target <= reached) continue
    const found = await findStart(file, end, target).catch(() => null)
    if (found === null || found.seq <= last) continue
    last = found.seq
    reached = found.position
    starts.push(found.seq)
  }
  return starts
}

/**
 * The first record at or after a position in the file.
 * @type {(file: LogFile, end: number, target: number) => Promise<Start | null>}
 */
async function findStart (file, end, target) {
  const store = /** @type {CheckedStore} */ (file.store)
  const found = await promisesOf(store).findOnPage(Math.floor(target))
  if (found === null) return null
  let { position } = found
  /** @type {Start | null} */
  let start = null
  await eachRun(file, { from: found.seq, stop: end }, ({ count, seqs, starts, ends }) => {
    for (let index = 0; index < count; index++) {
      if (position >= target) {
        start = { seq: seqs[index], position }
        return false
      }
      position += ends[index] - starts[index] + store.frameOverhead
    }
    return true
  })
  return start
}

/**
 * @typedef {import('./record-run').RecordRun} RecordRun
 * @type {(file: LogFile, range: { from: number, stop: number }, onRecords: (run: RecordRun) => boolean) =>
 *   Promise<unknown>}
 */
function eachRun (file, range, onRecords) {
  return toPromise((cb) => scan(file, { ...PLAIN, ...range }, onRecords, cb))
}

exports.partition = partition
