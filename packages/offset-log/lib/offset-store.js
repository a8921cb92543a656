'use strict'
// A log of a legacy framing, once it is open: what its readers and writers share, and where each of them is found.

const { LogError } = require('@millrace/errors')
const { OffsetFraming } = require('@millrace/framing')
const { followFrames } = require('./read/follow-log')
const { OffsetReader, findPartition, locateBoundary } = require('./read/offset-reader')
const { RecordPeeker, deleteRecords, readRecord } = require('./read/offset-record')
const { detectFraming } = require('./recover/identify')

/**
 * @typedef {import('./load').LogFile} LogFile
 * @typedef {import('./appender').AppendGroup} AppendGroup
 * @typedef {import('./load').Framed} Framed
 * @typedef {import('./load').Mark} Mark
 * @typedef {import('./range').Range} Range
 * @typedef {(err: Error | null) => void} Done
 */

class OffsetStore {
  /**
   * @param {LogFile} file
   * @param {import('@millrace/framing').OffsetFraming} framing
   */
  constructor (file, framing) {
    this.name = framing.name
    /** These framings have no room for it. @type {string | null} */
    this.codecName = null
    this.supports = { atomicBatch: false, onCorrupt: false, compact: false }
    /** Its files are never compacted. */
    this.isReplaced = false
    this.recordSizeMax = Infinity
    /** Nothing may lie behind the last frame: flumelog-offset would take it for one. */
    this.reserveSize = 0
    this.file = file
    this.blocks = file.blocks
    this.framing = framing
    this.codec = file.codec
    this.maxRecordSize = file.maxRecordSize
    /** A legacy file does not say what of it is on stable storage. */
    this.durableLast = -1
    this.last = -1
    /** What lies behind the end and is damaged. @type {Error | null} */
    this.damage = null
    this._writtenEnd = 0
    this._isSynced = false
    /** Finds one record at once, if it can. */
    this.peek = new RecordPeeker(this)
  }

  /** Position after the last frame that can be read. */
  get end () {
    return this.file.end
  }

  /** How many bytes may still be appended. */
  get room () {
    return this.framing.fileSizeMax - this._writtenEnd
  }

  /** Whether all was synced since the log was opened. */
  get isClean () {
    return this._isSynced
  }

  /** Whether there is nothing to be done before the log is closed. */
  get isFinished () {
    return this.isClean
  }

  /** Nothing says in these bytes which positions were lost. */
  needsPreparing () {
    return false
  }

  /**
   * @param {number} size
   * @param {Done} cb
   */
  prepareAppend (size, cb) {
    cb(null)
  }

  cacheStats () {
    return this.blocks.cacheStats()
  }

  /** @param {Buffer} record */
  checkRecord (record) {
    return this.framing.checkRecord(record)
  }

  /**
   * @param {number} dataSize  bytes of records
   * @param {number} count  of them
   * @returns {number}  bytes of their frames
   */
  sizeOf (dataSize, count) {
    return dataSize + count * this.framing.overhead
  }

  /**
   * @param {number} size  of frames
   * @returns {number}  bytes that they take in one write at most
   */
  writeSizeMax (size) {
    return size
  }

  /** @param {number} end  of what is written and can be read */
  setEnd (end) {
    this.file.end = this._writtenEnd = end
  }

  /**
   * @param {AppendGroup} group  gets its seqs
   * @param {Buffer} target  large enough; good until the next call
   * @returns {Framed}
   */
  frame ({ records, ends, seqs, count }, target) {
    const start = this._writtenEnd
    let size = 0
    for (let index = 0, record = 0; index < count; index++) {
      let seq = -1
      for (const end = ends[index]; record < end; record++) {
        seq = start + size
        size += this.framing.writeFrame(records[record], seq, target, size)
      }
      seqs[index] = seq
    }
    return {
      bytes: target.subarray(0, size),
      written: () => { this._writtenEnd = start + size },
      settle: () => { this.file.end = start + size }
    }
  }

  /**
   * @param {Range} range
   * @param {import('./codec').RecordFilter | null} isWanted
   * @param {(err: Error | null, reader?: OffsetReader) => void} cb
   */
  openReader ({ from, stop, reverse, isKept, at }, isWanted, cb) {
    const begin = (/** @type {number} */ position) => {
      cb(null, new OffsetReader(this, { position, from, stop, reverse, isWanted, isKept }))
    }
    if (at !== undefined) begin(at)
    else locateBoundary(this, reverse ? stop : from, (err, position = 0) => err ? cb(err) : begin(position))
  }

  /**
   * @param {number} from
   * @param {number} stop
   * @param {(err: Error | null, extent?: import('./load').Extent) => void} cb
   */
  findExtent (from, stop, cb) {
    cb(null, { start: Math.min(from, this.end), end: Math.min(stop, this.end) })
  }

  /**
   * @param {number} from
   * @param {number} limit
   * @param {(err: Error | null, start?: import('./load').PartitionStart | null) => void} cb
   */
  findPartition (from, limit, cb) {
    findPartition(this, from, limit, cb)
  }

  /**
   * @param {unknown} seq
   * @param {(err: Error | null, found?: import('./read/offset-record').Found) => void} cb
   */
  readRecord (seq, cb) {
    readRecord(this, seq, 'get', cb)
  }

  /**
   * @param {number[]} seqs
   * @param {Done} cb
   */
  deleteRecords (seqs, cb) {
    deleteRecords(this, seqs, (err) => {
      this.file.durability.noteWritten()
      cb(err)
    })
  }

  /**
   * Takes in what another process appended. The file's size must be known anew.
   * @param {(err: Error | null, news?: import('./follower').News) => void} cb
   */
  follow (cb) {
    // Nothing tells deletions from appends: whatever is kept may be from before one.
    this.forget()
    this._followFraming((err) => err ? cb(err) : followFrames(this, cb))
  }

  /** Forgets every byte that was kept: another process may have changed it. */
  forget () {
    this.blocks.invalidate()
  }

  /**
   * A file that was empty when it was opened has a framing since its first record was written.
   * @param {Done} cb
   */
  _followFraming (cb) {
    if (this.end > 0 || this.blocks.size.value === 0) return cb(null)
    detectFraming(this.blocks, (err, framing) => {
      if (framing instanceof OffsetFraming) {
        this.framing = framing
        this.name = framing.name
      }
      // An unknown format is a first record that is not whole yet.
      cb(err instanceof LogError && err.code === 'ERR_LOG_UNKNOWN_FORMAT' ? null : err)
    })
  }

  /** @param {(err: null, size: number) => void} cb */
  measureReclaimable (cb) {
    cb(null, 0)
  }

  /** @returns {Mark}  what a sync that begins now will have covered */
  mark () {
    return { since: this.file.writtenSince, end: this._writtenEnd, shift: 0, chainCrc: 0, last: -1 }
  }

  synced () {
    this._isSynced = true
  }

  /** @param {Done} cb */
  finish (cb) {
    cb(null)
  }

  /** Whether all that was written is known here. */
  get canFinishNow () {
    return this.blocks.size.value === this._writtenEnd
  }

  /** @throws what the file system says */
  finishNow () {
    this.blocks.endNow([])
  }
}

exports.OffsetStore = OffsetStore
