'use strict'
// One file as a part of a log of several: a source to read it, and a sink to append to it. They are made of the file's
// own log, which is open, and whose public calls do the rest.

const { toPromise } = require('@millrace/flow')
const { copyRecords } = require('./compactor')
const { openRange } = require('./range')

/**
 * @typedef {import('./load').LogFile} LogFile
 * @typedef {import('./load').OpenedRange} OpenedRange
 * @typedef {import('./range').Range} Range
 * @typedef {import('./read/prove-record').ProofPart} ProofPart
 * @typedef {import('@millrace/errors').LogError} LogError
 * @typedef {(err: Error | null, found?: import('./getter').Found) => void} FoundCallback
 * @typedef {(err: Error | null, seq?: any) => void} Done  gets a seq, or a list of them
 * @typedef {InstanceType<typeof import('./offset-log').Log>} Log
 */

/** What can be read in one file, and where it ends. It stays valid when the log was closed. */
class Source {
  #file
  #getter

  /** @param {Log} log  open */
  constructor (log) {
    this.#file = log._file
    this.#getter = log._getter
  }

  /** The lowest seq above all readable records. */
  get end () {
    return this.#file.logEnd
  }

  /** No record of the file has this seq or a higher one, nor had one that was lost. */
  get reservedEnd () {
    const { logEnd: end, store } = this.#file
    return store.isChecked ? Math.max(end, store.nextPosition) : end
  }

  /** The same, whatever was in the part of the file that is damaged or missing. */
  get damagedEnd () {
    const { blocks, store } = this.#file
    if (!store.isChecked) return this.reservedEnd
    const wholeSize = Math.max(blocks.size.value, store.missing?.end ?? 0)
    return Math.max(store.nextPosition, wholeSize + store.tail.shift)
  }

  /** Whether it never had a record. */
  get isEmpty () {
    const { logEnd: end, store } = this.#file
    return end <= store.extent.start
  }

  /** Of the records and all that is between them, in bytes. */
  get size () {
    return this.#file.store.end
  }

  /** Of the file, in bytes. */
  get fileSize () {
    return this.#file.blocks.size.value
  }

  /** The path that the file has, with every symlink followed. */
  get realPath () {
    return this.#file.blocks.realPath
  }

  get framing () {
    return this.#file.store.name
  }

  /** Names the log; null if its framing stores no id. @returns {Buffer | null} */
  get id () {
    return this.#file.store.id
  }

  /** Whether the file may lack records that its log had. */
  get hasGaps () {
    const { store } = this.#file
    return store.isChecked && store.header.hasGaps
  }

  /** Another object once the path leads to another file. @returns {object} */
  get version () {
    return this.#file.store
  }

  /** Finds a record without waiting, if it can. */
  get peek () {
    return this.#file.store.peek
  }

  /** @type {(seq: unknown, cb: FoundCallback) => void} */
  readRecord (seq, cb) {
    this.#getter.readRecord(/** @type {number} */ (seq), cb)
  }

  /** @type {(range: Range, cb: OpenedRange) => void} */
  openRange (range, cb) {
    openRange(this.#file, range, cb)
  }

  /** See read/prove-record.js. @type {(seq: number) => Promise<import('./read/prove-record').Proof | null>} */
  prove (seq) {
    return require('./read/prove-record').proveRecord(this.#file, seq)
  }

  /**
   * What proves the file up to a record, by default the last one: see read/prove-record.js.
   * @type {(name: string, seq?: number) => Promise<ProofPart | null>}
   */
  proveUpTo (name, seq = this.#file.since.value) {
    return require('./read/prove-record').proveFile(this.#file, seq, name)
  }

  /** @type {(part: ProofPart) => Promise<import('./read/prove-record').Likeness>} */
  compare (part) {
    return require('./read/prove-record').compareFile(this.#file, part)
  }

  /** How many records were deleted from it; null if unknown. @returns {number | null} */
  get erasedCount () {
    return require('./index-host').countErased(this.#file)
  }

  /** As of an index. @type {(range: { from: number, to: number }) => Promise<number[]>} */
  findErased (range) {
    return require('./index-host').findErased(this.#file, range)
  }

  /** As of an index. @type {(seq: number) => Promise<boolean>} */
  isErased (seq) {
    return require('./index-host').isErased(this.#file, seq)
  }

  /** If another process writes the file: why it cannot be followed; null if it can. @returns {Error | null} */
  get failure () {
    return this.#file.follower?.failure ?? null
  }

  /**
   * If another process writes the file: calls a function when records that were read may be others now.
   * @param {() => void} listener
   * @returns {() => void}  stops that
   */
  whenRecordsMayDiffer (listener) {
    return this.#file.follower?.whenRecordsMayDiffer(listener) ?? (() => {})
  }

  /** If another process writes the file: finds what it had appended before the call. @returns {Promise<void>} */
  async refresh () {
    const { follower } = this.#file
    if (follower !== null) await toPromise((cb) => follower.refresh(cb))
  }

  /**
   * Copies records into a new file; each keeps its seq.
   * @type {(path: string, choice: Parameters<typeof copyRecords>[2]) => ReturnType<typeof copyRecords>}
   */
  copyTo (path, choice) {
    return copyRecords(this.#file, path, choice)
  }
}

/** Appends to one file, and says whether it may be appended to, and what is durable. */
class Sink {
  #log
  #file

  /** @param {Log} log  open */
  constructor (log) {
    this.#log = log
    this.#file = log._file
  }

  /** Bytes of the appends that have not called back. */
  get pendingSize () {
    return this.#log.pendingSize
  }

  /** @type {(records: Buffer | Buffer[], cb: Done, givesSeqs: boolean) => void} `cb` never runs before this returns */
  append (records, cb, givesSeqs) {
    this.#log._appendRecords(records, cb, givesSeqs)
  }

  /** As of the appender. @type {(isMatch: (record: Buffer) => boolean) => boolean} */
  hasUnread (isMatch) {
    return this.#log._appender.hasUnread(isMatch)
  }

  /** Calls back once all earlier appends are written or have failed. @param {() => void} cb */
  flush (cb) {
    this.#log._appender.flush(cb)
  }

  /** Appends before it returns. @type {(records: Buffer | Buffer[], isSynced: boolean, givesSeqs: boolean) => any} */
  appendNow (records, isSynced, givesSeqs) {
    return this.#log._appendRecordsNow(records, isSynced, givesSeqs)
  }

  /** Writes and syncs all appends that wait, before it returns. @param {{ sync?: boolean | undefined }} [options] */
  flushNow (options) {
    this.#log.flushSync(options)
  }

  /** Waits until all earlier appends are on stable storage. @returns {Promise<void>} */
  sync () {
    return this.#log.sync()
  }

  /** Runs an action while no sync is under way. @type {(action: () => void) => Promise<void>} */
  betweenSyncs (action) {
    return this.#file.durability.runExclusive(async () => action())
  }

  /** Why the file may not be changed; null if it may. @type {(call: string) => LogError | null} */
  writeError (call) {
    return this.#log._writeError(call)
  }

  /** Why no record may be appended; null if one may. @type {(call: string) => LogError | null} */
  appendError (call) {
    return this.#log._writeError(call) ?? this.#log._foreignError
  }

  /** Throws if the call may not write without waiting. @type {(call: string, mayBeClosed: boolean) => void} */
  checkCanWriteNow (call, mayBeClosed) {
    this.#log._checkCanWriteNow(call, mayBeClosed)
  }

  /** Set if nobody knows what is on stable storage. */
  get poison () {
    return this.#file.durability.error
  }

  /** Whether all that is written is on stable storage. */
  get isDurable () {
    return (this.#log.durable.value ?? -1) === this.#file.writtenSince
  }

  /** Whether `flushNow` can make everything durable: no sync is under way. */
  get canSealNow () {
    const { durability, blocks } = this.#file
    return durability.error === null && durability.isIdle && blocks.canWriteNow
  }

  /**
   * How large the file is at most once it has further records, and those that wait, in bytes.
   * @type {(size: number, count: number) => number}
   */
  sizeWith (size, count) {
    const { store } = this.#file
    return store.end + store.writeSizeMax(this.pendingSize + size + count * store.frameOverhead)
  }

  /** Removes the zeros that are reserved after the records, if that takes no waiting. */
  trimNow () {
    const { blocks } = this.#file
    if (blocks.isIdle && blocks.canWriteNow) blocks.trimNow()
  }
}

/** What reads the file of a log. @type {(log: any) => Source} the log is open */
function sourceOf (log) {
  return new Source(log)
}

/** What appends to the file of a log. @type {(log: any) => Sink} the log is open */
function sinkOf (log) {
  return new Sink(log)
}

exports.sourceOf = sourceOf
exports.sinkOf = sinkOf
