'use strict'
// The store of a log of an offset framing: the state that its readers and writers share, and the entry to each of them.

const { LogError } = require('@millrace/errors')
const { OffsetFraming } = require('@millrace/framing')
const { PlainStore } = require('./plain-store')
const { followFrames } = require('./read/follow-frames')
const { OffsetReader, locateBoundary } = require('./read/offset-reader')
const { RecordPeeker, deleteRecords, readRecord } = require('./read/offset-record')
const { detectFraming } = require('./recover/identify')

/**
 * @typedef {import('./load').LogFile} LogFile
 * @typedef {import('@millrace/framing').Packed} Packed
 * @typedef {(err: Error | null) => void} Done
 */

class OffsetStore extends PlainStore {
  /**
   * @param {LogFile} file
   * @param {import('@millrace/framing').OffsetFraming} framing
   */
  constructor (file, framing) {
    super(file, framing.name)
    this.isLines = /** @type {const} */ (false)
    this.supports = { atomicBatch: false, onCorrupt: false, compact: false, del: true, uniqueSeqs: false }
    this.framing = framing
    /** Gets a record without waiting, if it can. */
    this.peek = new RecordPeeker(this)
  }

  /** How many bytes can still be appended. */
  get room () {
    return this.framing.fileSizeMax - this.writtenEnd
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

  /** @type {import('./plain-store').WriteFrame} */
  writeFrame (record, seq, target, offset) {
    return this.framing.writeFrame(record, seq, target, offset)
  }

  /**
   * @param {import('./read/checked-reader').StoreRange} range
   * @param {(err: Error | null, reader?: OffsetReader) => void} cb
   */
  openReader (range, cb) {
    const { from, stop, reverse } = range
    locateBoundary(this, reverse ? stop : from, (err, position = 0) => {
      if (err) cb(err)
      else cb(null, new OffsetReader(this, range, position))
    })
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

  /**
   * The framing of a file that was empty when it was opened becomes known with its first record.
   * @type {(cb: Done) => void}
   */
  _followFraming (cb) {
    if (this.end > 0 || this.blocks.size.value === 0) return cb(null)
    detectFraming(this.blocks, this.file.storage, this.name, (err, framing) => {
      if (framing instanceof OffsetFraming) {
        this.framing = framing
        this.name = framing.name
      }
      // If the format is unknown, the first record is not whole yet.
      cb(err instanceof LogError && err.code === 'ERR_LOG_UNKNOWN_FORMAT' ? null : err)
    })
  }
}

exports.OffsetStore = OffsetStore
