'use strict'
// The store of a log of lines: a plain text file. What its lines are is in lines.js of framing.

const { LogError } = require('@millrace/errors')
const { toCallback } = require('@millrace/flow')
const { checkLine } = require('@millrace/framing')
const { PlainStore } = require('./plain-store')
const { LinesFollower } = require('./read/follow-lines')
const { LinesReader, locateLine } = require('./read/lines-reader')
const { LinePeeker, readLine } = require('./read/lines-record')

const LINE_FEED = 10

/**
 * @typedef {import('./append/lines-checkpoints').LinesCheckpoints} LinesCheckpoints
 * @typedef {import('./commit').Commit} Commit
 * @typedef {import('./read/page-sums').PageSums} PageSums
 * @typedef {import('@millrace/framing').Packed} Packed
 */

class LinesStore extends PlainStore {
  /**
   * @param {import('./load').LogFile} file
   * @param {number} start  of the first line
   */
  constructor (file, start) {
    super(file, 'lines')
    this.isLines = /** @type {const} */ (true)
    this.supports = { atomicBatch: true, onCorrupt: true, compact: false, del: false, uniqueSeqs: false }
    /** Where the first line begins: after a byte-order mark. */
    this.start = start
    /** Whether the last line has no line break yet. The next append writes it. */
    this.isUnbroken = false
    /** Of a log that may be written; set once it is open. @type {LinesCheckpoints | null} */
    this.sums = null
    /** Of a log that only reads: what its writer has noted beside it. @type {{ id: Buffer, epoch: number } | null} */
    this.noted = null
    this.follower = new LinesFollower(this)
    /** The checksums that readers compare with; null if there are none that count. @type {PageSums | null} */
    this.pages = null
    /** The file beside the log, once it is open. @type {{ close: () => Promise<void> } | null} */
    this.beside = null
    /** The log was on stable storage up to here when it was opened, if the sums say so. */
    this.promisedEnd = 0
    /** By page: the checksums that a proof has computed, as the table lacks them. @type {Map<number, number>} */
    this.computedSums = new Map()
    /** Why nothing more is read: another program has cut the file, or written it anew. @type {Error | null} */
    this.failure = null
    /** Gets a record without waiting, if it can. */
    this.peek = new LinePeeker(this)
  }

  get extent () {
    return { start: this.start, end: this.end }
  }

  /** How many bytes can still be appended. */
  get room () {
    return Number.MAX_SAFE_INTEGER - this.writtenEnd
  }

  /** @param {Buffer} record */
  checkRecord (record) {
    return checkLine(record)
  }

  /** Of the line break. */
  get frameOverhead () {
    return 1
  }

  /** How many bytes one write of these lines takes at most. @type {(linesSize: number) => number} */
  writeSizeMax (size) {
    return size + 1
  }

  /** @type {PlainStore['frame']} */
  frame (group, target) {
    if (!this.isUnbroken) return super.frame(group, target)
    target[0] = LINE_FEED
    return super.frame(group, target, 1)
  }

  /** @type {import('./plain-store').WriteFrame} */
  writeFrame (record, seq, target, offset) {
    target.set(record, offset)
    target[offset + record.length] = LINE_FEED
    return record.length + 1
  }

  /** Names the log. @returns {Buffer | null} */
  get id () {
    return (this.sums ?? this.noted)?.id ?? null
  }

  get epoch () {
    return (this.sums ?? this.noted)?.epoch ?? null
  }

  /** @param {LinesCheckpoints} sums */
  useSums (sums) {
    this.sums = this.checkpoints = this.beside = sums
    this.usePages(sums.pages)
  }

  /** @param {PageSums} pages */
  usePages (pages) {
    if (this.file.verify) this.pages = pages
  }

  /**
   * Describes a commit beside the log before it is written.
   * @type {(packed: Packed, commit: Commit) => Promise<void> | null} null if that is done
   */
  announce (packed, commit) {
    this._checkEnd()
    return /** @type {LinesCheckpoints} */ (this.sums).announce(packed, commit.hasBatch)
  }

  /** The same without waiting. @type {(packed: Packed, commit: Commit) => void} */
  announceNow (packed, commit) {
    this._checkEnd()
    this.sums?.announceNow(packed, commit.hasBatch)
  }

  /** Any program can append to a text file. What it wrote must not be overwritten. */
  _checkEnd () {
    const { blocks, file: { durability } } = this
    if (blocks.endsAsLeft) return
    throw durability.poison(new Error(`another program has changed its end, ${blocks.size.value}; nothing was overwritten`))
  }

  /** @type {PlainStore['noteWritten']} */
  noteWritten (packed) {
    super.noteWritten(packed)
    this.sums?.noteWritten()
    this.isUnbroken = false
  }

  /** Syncs the file beside the log. @returns {Promise<void> | null} null if there is nothing to wait for */
  syncBeside () {
    return this.sums?.syncBeside() ?? null
  }

  /** Closes the file beside the log. @returns {Promise<void>} */
  async closeBeside () {
    await this.beside?.close()
  }

  /**
   * @param {import('./read/checked-reader').StoreRange} range
   * @param {(err: Error | null, reader?: LinesReader) => void} cb
   */
  openReader (range, cb) {
    const { from, stop, reverse } = range
    locateLine(this, reverse ? stop : from, reverse, (err, position = 0) => {
      if (err) cb(err)
      else cb(null, new LinesReader(this, range, position))
    })
  }

  /** @type {import('./load').CheckedStore['readRecord']} */
  readRecord (seq, cb) {
    readLine(this, seq, cb)
  }

  /** @type {(seqs: number[], cb: (err: Error | null) => void) => void} */
  deleteRecords (seqs, cb) {
    // There is nothing to delete, as in the other framings.
    if (seqs.length === 0) return cb(null)
    cb(new LogError('ERR_NOT_SUPPORTED', `del: ${this.blocks.path} is a text file, whose lines cannot be erased in place; ` +
      'copy those to keep into another file: snapshot(path, { where })', { path: this.blocks.path }))
  }

  /**
   * Finds what another process appended. Refresh the file's size first.
   * @type {import('./load').CheckedStore['follow']}
   */
  follow (cb) {
    this.forget()
    this.pages?.forget()
    toCallback(this.follower.follow(), cb)
  }
}

exports.LinesStore = LinesStore
