'use strict'
// Spreads scans of one log over worker threads: checks the options, plans partitions, and sums up what the threads
// read.

const path = require('node:path')
const { fileURLToPath } = require('node:url')
const { LogError, misuse } = require('@millrace/errors')
const { call } = require('@millrace/flow')
const { checkSkipping } = require('../range')
const { Pool, SpreadScan } = require('./pool')

/**
 * @typedef {import('../load').LogFile} LogFile
 * @typedef {import('../range').Range} Range
 * @typedef {import('./millrace-worker').PartRead} PartRead
 */

class ThreadedScans {
  #file
  #gate
  _pool
  #scanCount = 0
  #versionCount = 0
  /** The state of the file when `#versionCount` was last raised. @type {{ store: unknown, rewriteCount: number }} */
  #state = { store: null, rewriteCount: -1 }
  partSizes = PART_SIZES

  /**
   * @param {LogFile} file
   * @param {import('../maintenance').Gate} gate  shared with deletions
   */
  constructor (file, gate) {
    this.#file = file
    this.#gate = gate
    this._pool = new Pool(() => {
      const { blocks, verify, maxRecordSize } = file
      return { path: path.resolve(blocks.realPath), verify, maxRecordSize }
    })
  }

  /**
   * @param {Range} range
   * @param {Partial<ThreadOptions>} options
   * @param {unknown} givenTask  path of a module
   * @returns {Promise<{ lost: { count: number, size: number }, results: unknown[] }>}  results in the order of the log
   * @throws {TypeError} ERR_INVALID_ARGUMENT
   */
  async run (range, options, givenTask) {
    if (range.live) throw misuse('scan: live is for streams; leave it out')
    const { threads, task, parameters } = parseSpread(options, givenTask, range)
    const { signal } = range
    const file = this.#file
    const skipsDamage = range.skipsDamage ?? file.skipsDamage
    const obstacle = findObstacle(file) ?? checkSkipping(file, skipsDamage)
    if (obstacle) throw obstacle
    // Another process may have replaced the file.
    if (file.follower) await call(file.follower, 'refresh')
    const { end, store, codec, blocks } = file
    const { rewriteCount } = blocks
    const id = 'header' in store ? store.header.id : null
    const request = { id, task, parameters, where: range.where, codecName: codec.name }
    const scan = ++this.#scanCount
    const describe = (/** @type {Part} */ part) => {
      return { ...request, part: { ...part, end, skipsDamage }, version: `${scan} ${this.#version()}` }
    }
    const parts = await planParts(store, range, threads, this.partSizes)
    const work = { parts, threads, pool: this._pool, gate: this.#gate, describe, signal }
    const outcomes = await new SpreadScan(work).run()
    const read = outcomes.map(({ read }) => /** @type {PartRead} */ (read))
    const isWhole = range.stop > end && !read.some(({ hasEnded }) => hasEnded)
    // If the file has changed, the threads may have read another one. Its deletions cannot be compared with this
    // store's.
    const isSame = file.store === store && !store.isReplaced && blocks.rewriteCount === rewriteCount
    const miscount = isWhole && isSame ? findMiscount(store, read) : null
    if (miscount) throw miscount
    return { lost: sumLost(read), results: outcomes.map(({ result }) => result) }
  }

  close () {
    return this._pool.close()
  }

  /** Rises when bytes were overwritten or the file was replaced. */
  #version () {
    const { store, blocks: { rewriteCount } } = this.#file
    if (store !== this.#state.store || rewriteCount !== this.#state.rewriteCount) this.#versionCount++
    this.#state = { store, rewriteCount }
    return this.#versionCount
  }
}

/**
 * @param {import('../load').Store} store
 * @param {PartRead[]} read  together the whole log
 */
function findMiscount (store, read) {
  let sum = 0
  for (const { seam: { erasedCount } } of read) {
    if (erasedCount === null) return null
    sum += erasedCount
  }
  return 'findMiscount' in store ? store.findMiscount(read[0].seam.begunAt, sum) : null
}

/** @param {PartRead[]} read */
function sumLost (read) {
  const sum = { count: 0, size: 0 }
  for (const { lost: { count, size } } of read) {
    sum.count += count
    sum.size += size
  }
  return sum
}

// Checks the options of a scan over threads.

const THREAD_COUNT_MAX = 256

/**
 * @typedef {object} ThreadOptions
 * @property {number} threads  How many worker threads to spread the scan over, 1 to 256.
 * @property {unknown} [parameters]  An argument for the task in each thread: anything that can be cloned.
 * @typedef {{ threads: number, task: string, parameters: unknown }} Plan  `task`: the absolute path of a module
 */

/**
 * @param {Partial<ThreadOptions>} options
 * @param {unknown} task
 * @param {import('../range').Range} range
 * @returns {Plan}
 * @throws {TypeError} ERR_INVALID_ARGUMENT
 */
function parseSpread ({ threads, parameters }, task, range) {
  if (!Number.isInteger(threads) || Number(threads) < 1 || Number(threads) > THREAD_COUNT_MAX) {
    throw misuse(`scan: threads must be a whole number from 1 to ${THREAD_COUNT_MAX}, got ${String(threads)}`)
  }
  if (range.reverse) throw misuse('scan: threads read a range in no order; leave out reverse, or threads')
  // An empty range has the limit 0 too, which the user did not set.
  if (range.limit !== Infinity && range.from < range.stop) {
    throw misuse('scan: threads read a range in no order, so no limit can apply; leave out limit, or threads')
  }
  return { threads: Number(threads), task: parseTask(task), parameters }
}

/** @param {unknown} task */
function parseTask (task) {
  const expected = 'scan: a function cannot be passed to other threads; with threads, give the absolute path or the file: URL ' +
    'of a module that exports one,'
  if (typeof task !== 'string' && !(task instanceof URL)) throw misuse(`${expected} not ${typeof task}`)
  let file = String(task)
  try {
    if (task instanceof URL || file.startsWith('file:')) file = fileURLToPath(file)
  } catch (err) {
    throw misuse(`${expected} not ${file}: ${/** @type {Error} */ (err).message}`)
  }
  if (!path.isAbsolute(file)) throw misuse(`${expected} not ${JSON.stringify(file)}; require.resolve turns a name into a path`)
  return file
}

/**
 * @param {import('../load').LogFile} file
 * @returns {LogError | null}  why other threads cannot read the log
 */
function findObstacle ({ isOnFileSystem }) {
  if (isOnFileSystem) return null
  return new LogError('ERR_NOT_SUPPORTED', 'scan: other threads can open files, but not the storage of this log; ' +
    'leave out threads')
}

// Divides the range of a scan into partitions. Each boundary is a guess, which the thread that reads up to it confirms.

// Handing out a partition costs 0.1 ms. Reading one should take much longer, but all threads should end together.
const PART_SIZES = { min: 2 * 1024 * 1024, max: 16 * 1024 * 1024 }
// As far as the sizes allow.
const PARTS_A_THREAD = 6

/**
 * @typedef {object} Part  a partition
 * @property {number} from  the lowest seq wanted
 * @property {number} stop  one past the highest
 * @property {number} [at]  where in the file it begins; unknown for the first partition
 */

/**
 * @param {import('../load').Store} store
 * @param {{ from: number, stop: number }} range
 * @param {number} threads
 * @param {{ min: number, max: number }} sizes  of partitions, in bytes
 * @returns {Promise<Part[]>}  at least one; each stops at the seq where the next begins
 */
async function planParts (store, { from, stop }, threads, sizes) {
  /** @type {Part[]} */
  const parts = [{ from, stop }]
  if (from >= stop || threads === 1) return parts
  try {
    const { start, end } = await call(store, 'findExtent', from, stop)
    const size = Math.round(Math.min(sizes.max, Math.max(sizes.min, (end - start) / (threads * PARTS_A_THREAD))))
    // The last partition has at least half the size.
    for (let target = start + size; target <= end - size / 2; target += size) {
      const found = await call(store, 'findPartition', target, end)
      const last = parts[parts.length - 1]
      if (!found || found.seq <= last.from || found.seq >= stop) continue
      last.stop = found.seq
      parts.push({ from: found.seq, stop, at: found.at })
      target = Math.max(target, found.at)
    }
  } catch {
    // Damage may be in the way. The scan reports it when it gets there.
  }
  return parts
}

exports.ThreadedScans = ThreadedScans
