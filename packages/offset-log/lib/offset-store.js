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
 * @typedef {import('@millrace/framing').Packed} Packed
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
    /** Position after the last frame that is written. */
    this.writtenEnd = 0
    this.checkpoints = new NoCheckpoints(this)
    /** Finds one record at once, if it can. */
    this.peek = new RecordPeeker(this)
  }

  /** Position after the last frame that can be read. */
  get end () {
    return this.file.end
  }

  /** How many bytes may still be appended. */
  get room () {
    return this.framing.fileSizeMax - this.writtenEnd
  }

  cacheStats () {
    return this.blocks.cacheStats()
  }

  /** @param {Buffer} record */
  checkRecord (record) {
    return this.framing.checkRecord(record)
  }

  /** Bytes that a frame has beside its record. */
  get frameOverhead () {
    return this.framing.overhead
  }

  /**
   * @param {number} size  of frames
   * @returns {number}  bytes that they take in one write at most
   */
  writeSizeMax (size) {
    return size
  }

  /**
   * @param {import('./appender').AppendGroup} group  gets its seqs
   * @param {Buffer} target  large enough; good until the next call
   * @returns {Packed}
   */
  frame ({ records, ends, seqs, count }, target) {
    const start = this.writtenEnd
    let size = 0
    let seq = -1
    for (let index = 0, record = 0; index < count; index++) {
      for (const end = ends[index]; record < end; record++) {
        seq = start + size
        size += this.framing.writeFrame(records[record], seq, target, size)
      }
      seqs[index] = seq
    }
    return { bytes: target.subarray(0, size), seq, tail: { end: start + size, shift: 0, chainCrc: 0 } }
  }

  /** @param {Packed} packed  that is in the file now */
  noteWritten ({ tail }) {
    this.writtenEnd = tail.end
  }

  /** @param {Packed} packed  that can be read from now on */
  show ({ tail }) {
    this.file.end = tail.end
  }

  /** @param {number} end  of what is written and can be read */
  setEnd (end) {
    this.file.end = this.writtenEnd = end
  }

  /**
   * @param {import('./read/record-reader').StoreRange} range
   * @param {(err: Error | null, reader?: OffsetReader) => void} cb
   */
  openReader (range, cb) {
    const { from, stop, reverse, at } = range
    if (at !== undefined) return cb(null, new OffsetReader(this, range, at))
    locateBoundary(this, reverse ? stop : from, (err, position = 0) => {
      if (err) cb(err)
      else cb(null, new OffsetReader(this, range, position))
    })
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
   * @param {(err: Error | null, found?: import('./getter').Found) => void} cb
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
}

/** Nothing in a legacy file says what of it is on stable storage, or which positions were lost. */
class NoCheckpoints {
  #store
  /** Whether all was synced since the log was opened. */
  isClean = false

  /** @param {OffsetStore} store */
  constructor (store) {
    this.#store = store
  }

  get isFinished () {
    return this.isClean
  }

  /**
   * @param {number} size
   * @param {Done} cb
   */
  prepareAppend (size, cb) {
    cb(null)
  }

  /** @returns {import('./load').Mark} */
  mark () {
    const { file, writtenEnd } = this.#store
    return { since: file.writtenSince, end: writtenEnd, shift: 0, chainCrc: 0, last: -1 }
  }

  synced () {
    this.isClean = true
  }

  /** @param {Done} cb */
  finish (cb) {
    cb(null)
  }

  get canFinishNow () {
    const { blocks, writtenEnd } = this.#store
    return blocks.size.value === writtenEnd
  }

  finishNow () {
    this.#store.blocks.endNow([])
  }
}

exports.OffsetStore = OffsetStore
