'use strict'
// The scans of one log that are spread over worker threads, and the threads themselves.

const path = require('node:path')
const { misuse } = require('@millrace/errors')
const { parseSignal } = require('../abort')
const { checkSkipping } = require('../open-range')
const { findObstacle, parseSpread } = require('./options')
const { PART_SIZES, planParts } = require('./plan-parts')
const { Pool } = require('./pool')
const { SpreadScan } = require('./spread-scan')

/**
 * @typedef {import('../log-file').LogFile} LogFile
 * @typedef {import('../range').Range} Range
 * @typedef {import('./scan-part').PartRead} PartRead
 * @typedef {import('./spread-scan').Spread} Spread
 * @typedef {(err: Error | null, result?: Spread) => void} Scanned
 */

class ThreadedScans {
  /**
   * @param {LogFile} file
   * @param {import('./gate').Gate} gate  which deletions go through too
   */
  constructor (file, gate) {
    this._file = file
    this._gate = gate
    this._pool = new Pool(() => this._describeLog())
    /** How large parts may be. */
    this.partSizes = PART_SIZES
    this._scanCount = 0
    this._versionCount = 0
    /** What the file was like when a version of it was named last. @type {{ store: unknown, rewriteCount: number }} */
    this._state = { store: null, rewriteCount: -1 }
  }

  /**
   * @param {Range} range
   * @param {Partial<import('./options').ThreadOptions> & { signal?: AbortSignal }} options
   * @param {unknown} task  path of a module
   * @param {Scanned} cb
   * @throws {TypeError} ERR_INVALID_ARGUMENT
   */
  run (range, options, task, cb) {
    if (range.live) throw misuse('scan: live is for streams; leave it out')
    const spread = parseSpread(options, task, range)
    const signal = parseSignal('scan', options.signal)
    const { _file: file } = this
    const skipsDamage = range.skipsDamage ?? file.skipsDamage
    const obstacle = findObstacle(file) ?? checkSkipping(file, skipsDamage)
    if (obstacle) return cb(obstacle)
    // Another process may have put another file in the place of this one.
    const begin = file.follower ? file.follower.refresh.bind(file.follower) : (/** @type {any} */ cb) => cb(null)
    begin((/** @type {Error | null} */ err) => err ? cb(err) : this._begin(range, spread, skipsDamage, signal, cb))
  }

  /**
   * @param {Range} range
   * @param {import('./options').Spread} spread
   * @param {boolean} skipsDamage
   * @param {AbortSignal | null} signal
   * @param {Scanned} cb
   */
  _begin (range, { threads, task, parameters }, skipsDamage, signal, cb) {
    const { _file: { end, store, codec, blocks }, _pool: pool, _gate: gate } = this
    const id = 'header' in store ? store.header.id : null
    const request = { id, task, parameters, where: range.where, codecName: codec.name }
    const { rewriteCount } = blocks
    const scan = ++this._scanCount
    const describe = (/** @type {import('./plan-parts').Part} */ part) => {
      return { ...request, part: { ...part, end, skipsDamage }, version: `${scan} ${this._version()}` }
    }
    planParts(store, range, threads, this.partSizes, (parts) => {
      new SpreadScan({ parts, threads, pool, gate, describe, signal }, (err, read = [], results = []) => {
        if (err) return cb(err)
        const isWhole = range.stop > end && !read.some(({ hasEnded }) => hasEnded)
        const isSame = this._file.store === store && blocks.rewriteCount === rewriteCount
        const miscount = isWhole && isSame ? findMiscount(store, read) : null
        if (miscount) cb(miscount)
        else cb(null, { lost: sumLost(read), results })
      }).run()
    })
  }

  /** @param {() => void} cb */
  close (cb) {
    this._pool.close(cb)
  }

  /** @returns {import('./worker').Setting} */
  _describeLog () {
    const { blocks, verify, maxRecordSize } = this._file
    return { path: path.resolve(blocks.realPath), verify, maxRecordSize }
  }

  /** Another one when bytes were overwritten, or the file replaced. */
  _version () {
    const { store, blocks: { rewriteCount } } = this._file
    if (store !== this._state.store || rewriteCount !== this._state.rewriteCount) this._versionCount++
    this._state = { store, rewriteCount }
    return this._versionCount
  }
}

/**
 * @param {import('../log-file').Store} store
 * @param {PartRead[]} read  all of the log
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

exports.ThreadedScans = ThreadedScans
