'use strict'
// The store of a log of an offset framing: the state that its readers and writers share, and the entry to each of them.

const { LogError } = require('@millrace/errors')
const { OffsetFraming } = require('@millrace/framing')
const { followFrames } = require('./read/follow-log')
const { OffsetReader, locateBoundary } = require('./read/offset-reader')
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
    /** These framings do not store it. @type {string | null} */
    this.codecName = null
    this.supports = { atomicBatch: false, onCorrupt: false, compact: false }
    /** Always false: its files are never compacted. */
    this.isReplaced = false
    this.recordSizeMax = Infinity
    /** Always 0: flumelog-offset would take reserved zeros for a frame. */
    this.reserveSize = 0
    this.file = file
    this.blocks = file.blocks
    this.framing = framing
    this.codec = file.codec
    this.maxRecordSize = file.maxRecordSize
    /** These framings store no dictionary. @type {import('./file-words').FileWords | null} */
    this.words = null
    /** Always -1: these files do not say how far they are durable. */
    this.durableLast = -1
    this.last = -1
    /** Damage behind the end. @type {Error | null} */
    this.damage = null
    /** Position behind the last written frame. */
    this.writtenEnd = 0
    this.checkpoints = new NoCheckpoints(this)
    /** Gets a record without waiting, if it can. */
    this.peek = new RecordPeeker(this)
  }

  /** Position behind the last readable frame. */
  get end () {
    return this.file.end
  }

  /** How many bytes can still be appended. */
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

  /** The size of a frame less that of its record. */
  get frameOverhead () {
    return this.framing.overhead
  }

  /** How many bytes one write of these frames takes at most. @type {(framesSize: number) => number} */
  writeSizeMax (size) {
    return size
  }

  /**
   * @param {import('./commit').Frameable} group  its `seqs` are set
   * @param {Buffer} target  large enough; the result uses its memory, until the next call
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

  /** @param {Packed} packed  was written to the file */
  noteWritten ({ tail }) {
    this.writtenEnd = tail.end
  }

  /** @param {Packed} packed  becomes readable */
  show ({ tail }) {
    this.file.end = tail.end
  }

  /** @param {number} end  of what is written and readable */
  setEnd (end) {
    this.file.end = this.writtenEnd = end
  }

  /**
   * @param {import('./read/record-reader').StoreRange} range
   * @param {(err: Error | null, reader?: OffsetReader) => void} cb
   */
  openReader (range, cb) {
    const { from, stop, reverse } = range
    locateBoundary(this, reverse ? stop : from, (err, position = 0) => {
      if (err) cb(err)
      else cb(null, new OffsetReader(this, range, position))
    })
  }

  /** Where the records are in the file, from the first one on. */
  get extent () {
    return { start: 0, end: this.end }
  }

  /** @type {import('./load').CheckedStore['readRecord']} */
  readRecord (seq, cb) {
    readRecord(this, seq, 'get', cb)
  }

  /** @type {import('./load').CheckedStore['deleteRecords']} */
  deleteRecords (seqs, cb) {
    deleteRecords(this, seqs, (err) => {
      this.file.durability.noteWritten()
      cb(err)
    })
  }

  /**
   * Finds what another process appended. Refresh the file's size first.
   * @type {import('./load').CheckedStore['follow']}
   */
  follow (cb) {
    // The file does not tell a deletion from an append, so any cached byte may be outdated.
    this.forget()
    this._followFraming((err) => err ? cb(err) : followFrames(this, cb))
  }

  /** Empties the caches, because another process may have changed the file. */
  forget () {
    this.blocks.invalidate()
  }

  /**
   * The framing of a file that was empty when it was opened becomes known with its first record.
   * @type {(cb: Done) => void}
   */
  _followFraming (cb) {
    if (this.end > 0 || this.blocks.size.value === 0) return cb(null)
    detectFraming(this.blocks, (err, framing) => {
      if (framing instanceof OffsetFraming) {
        this.framing = framing
        this.name = framing.name
      }
      // If the format is unknown, the first record is not whole yet.
      cb(err instanceof LogError && err.code === 'ERR_LOG_UNKNOWN_FORMAT' ? null : err)
    })
  }

  /** @param {(err: null, size: number) => void} cb */
  measureReclaimable (cb) {
    cb(null, 0)
  }
}

/** Stands for `Checkpoints`: an offset log says neither how far it is durable nor which positions were lost. */
class NoCheckpoints {
  #store
  /** Whether everything was synced since the log was opened. */
  isClean = false

  /** @param {OffsetStore} store */
  constructor (store) {
    this.#store = store
  }

  get isFinished () {
    return this.isClean
  }

  prepareAppend () {
    return null
  }

  /** @returns {import('./load').Mark} */
  mark () {
    const { file, writtenEnd } = this.#store
    return { since: file.writtenSince, end: writtenEnd, shift: 0, chainCrc: 0, last: -1 }
  }

  synced () {
    this.isClean = true
  }

  noteSynced () {
    this.isClean = true
  }

  async finish () {}

  completeNow () {}

  prepareAppendNow () {}

  get canFinishNow () {
    const { blocks, writtenEnd } = this.#store
    return blocks.size.value === writtenEnd
  }

  finishNow () {
    this.#store.blocks.syncNow()
    this.isClean = true
  }
}

exports.OffsetStore = OffsetStore
