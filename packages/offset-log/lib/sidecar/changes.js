'use strict'
// Changes of a log that is covered. The sidecar never says of the log what its last sync has not made true, and what is
// about to change it says before.

const { writeWhole, writeWholeSync } = require('@millrace/block-file')
const { misuse } = require('@millrace/errors')
const { crc32 } = require('../framing/checked/crc32')
const { eachInOrder } = require('../each-in-order')
const { Coverage } = require('./coverage')
const { BLOCK_SIZE } = require('./layout')
const { Overwrite } = require('./overwrite')

/**
 * @typedef {import('@millrace/block-file/lib/storage').StorageHandle} StorageHandle
 * @typedef {NonNullable<StorageHandle['writeSync']>} WriteSync
 * @typedef {import('./checked-reads').CheckedReads} CheckedReads
 * @typedef {import('./sidecar-file').SidecarFile} SidecarFile
 * @typedef {(err: Error | null) => void} Done
 * @typedef {(err: Error | null, count?: number) => void} Counted
 */

// The clock that dates changes of a file may stand still for so long. A log that was changed within that time of now
// could be changed once more without its date telling.
const CLOCK_STEP_MS = 20
const NO_RANGE = { position: -1, size: 0 }

class Changes {
  /**
   * @param {StorageHandle} log
   * @param {CheckedReads} reads
   * @param {SidecarFile} file
   * @param {boolean} [needsMending]  whether a part of the sidecar that is there twice is whole only once
   */
  constructor (log, reads, file, needsMending = false) {
    this.coverage = new Coverage(reads.sums, file)
    this._log = log
    this._reads = reads
    this._sums = reads.sums
    this._file = file
    this._needsMending = needsMending
    /** @type {Error | null} of the log's sync: what is in the page cache may not be on the disk */
    this._syncError = null
    /** Of an overwrite that failed before a byte was written: to put the bytes back is to do nothing. */
    this._refused = NO_RANGE
  }

  /**
   * @param {Buffer} buf
   * @param {number} offset
   * @param {number} length
   * @param {number} position
   * @param {Counted} cb
   */
  write (buf, offset, length, position, cb) {
    const { end } = this._sums
    if (position > end) return process.nextTick(cb, gap(position, end))
    // The caller goes on with what lies behind the end.
    const bytes = buf.subarray(offset, offset + Math.min(length, end - position))
    if (position < end) return this._overwrite(bytes, position, cb)
    this.coverage.permit([], position, (err) => {
      if (err) return cb(err)
      this._log.write(buf, offset, length, position, (err, count = 0) => {
        if (!err) this._sums.extend(buf.subarray(offset, offset + count))
        cb(err, count)
      })
    })
  }

  /**
   * @param {WriteSync} writeSync  that of the log
   * @param {Buffer} buf
   * @param {number} offset
   * @param {number} length
   * @param {number} position
   * @returns {number}
   */
  writeSync (writeSync, buf, offset, length, position) {
    const { end } = this._sums
    if (position > end) throw gap(position, end)
    const bytes = buf.subarray(offset, offset + Math.min(length, end - position))
    if (position < end) return this._overwriteSync(writeSync, bytes, position)
    this.coverage.permitSync([], position)
    const count = writeSync(buf, offset, length, position)
    this._sums.extend(buf.subarray(offset, offset + count))
    return count
  }

  /**
   * @param {number} size
   * @param {Done} cb
   */
  truncate (size, cb) {
    // Behind the sums there is only what a failed append has left.
    if (size >= this._sums.end) return this._log.truncate(size, (err) => cb(err))
    this._sumUpTo(size, (err, tailSum = 0) => {
      if (err) return cb(err)
      this.coverage.uncover(size, tailSum, (err) => {
        if (err) return cb(err)
        this._log.truncate(size, (err) => {
          if (!err) this.coverage.noteCut(size, tailSum)
          cb(err)
        })
      })
    })
  }

  /** @param {Done} cb  all is on stable storage, and covered */
  sync (cb) {
    this._log.sync((err) => {
      if (err) this._syncError = err
      if (err) cb(err)
      else this.coverage.cover(cb)
    })
  }

  /** @param {() => void} syncSync  that of the log */
  syncSync (syncSync) {
    try {
      syncSync()
    } catch (err) {
      this._syncError = /** @type {Error} */ (err)
      throw err
    }
    this.coverage.coverSync()
  }

  /**
   * Nothing more will be changed: if all was synced, the sidecar says so.
   * @param {Done} cb
   */
  finish (cb) {
    const { slot, error } = this._file
    if (error || this._syncError || !this.coverage.isSynced) return cb(null)
    if (slot.isClean && !this._needsMending) return cb(null)
    this._log.size((err, size) => {
      // Bytes that could not be cut off may lie behind the end.
      if (err || size !== this._sums.end) return cb(err)
      this._findModified((err, modifiedNs = 0n) => {
        if (err) cb(err)
        else this.coverage.finish(modifiedNs, cb)
      })
    })
  }

  /**
   * @param {Buffer} bytes
   * @param {number} position
   * @param {Counted} cb
   */
  _overwrite (bytes, position, cb) {
    if (this._takeRefused(bytes, position)) return process.nextTick(cb, null, bytes.length)
    const overwrite = new Overwrite(this._sums, bytes, position)
    const refuse = (/** @type {Error} */ err) => {
      this._refused = { position, size: bytes.length }
      process.nextTick(cb, err)
    }
    eachInOrder(overwrite.edges, (index, done) => {
      this._reads.loadBlock(index, (err, block) => {
        if (block) overwrite.loaded.set(index, block)
        done(err)
      })
    }, (err) => {
      if (err) return refuse(err)
      this.coverage.permit(overwrite.blocks, position, (err) => {
        if (err) return refuse(err)
        writeWhole(this._log, bytes, position, (err) => {
          this.coverage.noteOverwritten(overwrite, err)
          cb(err, bytes.length)
        })
      })
    })
  }

  /**
   * @param {WriteSync} writeSync
   * @param {Buffer} bytes
   * @param {number} position
   */
  _overwriteSync (writeSync, bytes, position) {
    if (this._takeRefused(bytes, position)) return bytes.length
    const overwrite = new Overwrite(this._sums, bytes, position)
    try {
      for (const index of overwrite.edges) overwrite.loaded.set(index, this._reads.loadBlockSync(index))
      this.coverage.permitSync(overwrite.blocks, position)
    } catch (err) {
      this._refused = { position, size: bytes.length }
      throw err
    }
    try {
      writeWholeSync(writeSync, bytes, position)
    } catch (err) {
      this.coverage.noteOverwritten(overwrite, /** @type {Error} */ (err))
      throw err
    }
    this.coverage.noteOverwritten(overwrite, null)
    return bytes.length
  }

  /**
   * @param {Buffer} bytes
   * @param {number} position
   * @returns {boolean}  whether this is to put back what was never changed
   */
  _takeRefused (bytes, position) {
    const isSame = this._refused.position === position && this._refused.size === bytes.length
    this._refused = NO_RANGE
    return isSame
  }

  /**
   * @param {number} end
   * @param {(err: Error | null, sum?: number) => void} cb  the sum of the block that it cuts off, up to there
   */
  _sumUpTo (end, cb) {
    const index = Math.floor(end / BLOCK_SIZE)
    if (end % BLOCK_SIZE === 0 || !this._sums.isKnown(index)) return cb(null, 0)
    this._reads.loadBlock(index, (err, bytes) => {
      if (err || !bytes) cb(err)
      else cb(null, crc32(bytes.subarray(0, end - index * BLOCK_SIZE)))
    })
  }

  /** @param {(err: Error | null, modifiedNs?: bigint) => void} cb  of the log, once a later change has another date */
  _findModified (cb) {
    const { _log: log } = this
    if (!log.stat) return cb(null, 0n)
    log.stat((err, state) => {
      if (err || !state) return cb(err)
      const ageMs = Date.now() - Number(state.modifiedNs / 1000000n)
      if (ageMs >= CLOCK_STEP_MS) cb(null, state.modifiedNs)
      else setTimeout(() => cb(null, state.modifiedNs), CLOCK_STEP_MS)
    })
  }
}

/**
 * @param {number} position
 * @param {number} end
 */
function gap (position, end) {
  return misuse(`write: a log that ends at ${end} cannot be written at ${position}`)
}

exports.Changes = Changes
