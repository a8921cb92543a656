'use strict'
// Turns concurrent appends into few writes: while one is under way the next ones gather, and go out together. Where
// every append is synced before it calls back, one sync serves all that were written together.

const { setIsolated } = require('@millrace/block-file')
const { LogError } = require('@millrace/errors')
const { tooLargeToAppend } = require('./record-errors')

// Beyond this a larger write is no faster, and the callers at its front would wait for those at its end.
const WRITE_SIZE_MAX = 1024 * 1024
// A batch is one write, from one buffer.
const BATCH_SIZE_MAX = 2 ** 31

/**
 * @typedef {import('./log-file').LogFile} LogFile
 * @typedef {import('./log-file').Framed} Framed
 * @typedef {(err: Error | null, seq?: number) => void} Done
 * @typedef {{ records: Buffer[], size: number, done: Done }} Append  `size` with what frames the records. One without
 *   records waits for those before it
 */

class Appender {
  /** @param {LogFile} file */
  constructor (file) {
    this._file = file
    /** @type {Append[]} */
    this._waiting = []
    this._isBusy = false
    /** @type {(() => void) | null} who has stopped it, or waits for it to stop */
    this._onHeld = null
  }

  /**
   * @param {Buffer[]} records  at least one; they must not change until `done` runs
   * @param {Done} done  gets the seq of the last record
   */
  append (records, done) {
    const size = this._file.store.sizeOf(records)
    if (size > BATCH_SIZE_MAX) return done(tooLargeToAppend('a batch', size, BATCH_SIZE_MAX))
    this._enqueue({ records, size, done })
  }

  /** @param {(err: Error | null) => void} cb  runs once all that was appended before is written, or has failed */
  flush (cb) {
    if (this._isBusy || this._waiting.length > 0) this._enqueue({ records: [], size: 0, done: () => cb(null) })
    else cb(null)
  }

  /**
   * Lets appends wait.
   * @param {() => void} cb  runs once no write is under way
   */
  hold (cb) {
    this._onHeld = cb
    if (!this._isBusy) cb()
  }

  /** Goes on with what has waited. */
  release () {
    this._onHeld = null
    if (this._waiting.length > 0) this._start()
  }

  /** @param {Append} append */
  _enqueue (append) {
    this._waiting.push(append)
    if (!this._isBusy && this._onHeld === null) this._start()
  }

  _start () {
    this._isBusy = true
    // Calls of the same turn are taken together.
    process.nextTick(() => this._writeNext())
  }

  _writeNext () {
    if (this._onHeld) {
      this._isBusy = false
      return this._onHeld()
    }
    const group = this._takeGroup()
    if (group.length === 0) {
      this._isBusy = false
      return
    }
    const { store } = this._file
    const size = group.reduce((total, { size }) => total + size, 0)
    if (!store.needsPreparing(size)) return this._write(group)
    store.prepareAppend(size, (err) => err ? this._failed(group, err) : this._write(group))
  }

  /** @param {Append[]} group */
  _write (group) {
    const { blocks, store, durability } = this._file
    const framed = store.frame(group.map(({ records }) => records))
    blocks.append(framed.bytes, (err) => {
      if (err) return this._failed(group, err)
      framed.written()
      this._file.writtenSince = framed.seqs[framed.seqs.length - 1]
      durability.noteWritten()
      if (durability.mode !== 'always') return this._written(group, framed)
      let isSettled = false
      const settle = () => {
        isSettled = true
        this._settle(framed)
      }
      durability.sync((err) => isSettled ? this._callBack(group, framed) : this._failed(group, err), settle)
    })
  }

  /**
   * @param {Append[]} group
   * @param {Framed} framed
   */
  _written (group, framed) {
    this._settle(framed)
    this._callBack(group, framed)
  }

  /**
   * From now on the records can be read.
   * @param {Framed} framed
   */
  _settle (framed) {
    framed.settle()
    setIsolated(this._file.since, framed.seqs[framed.seqs.length - 1])
    // Not from here: what a reader does with the record must not hold up its writer.
    for (const stream of this._file.waitingStreams) process.nextTick(() => stream.wake())
  }

  /**
   * @param {Append[]} group
   * @param {Framed} framed
   */
  _callBack (group, framed) {
    group.forEach(({ done }, index) => process.nextTick(done, null, framed.seqs[index]))
    process.nextTick(() => this._writeNext())
  }

  /**
   * @param {Append[]} group
   * @param {Error | null} err
   */
  _failed (group, err) {
    const { durability } = this._file
    const isLasting = err instanceof LogError && err.code === 'ERR_FILE_NOT_UNDONE'
    const error = isLasting ? durability.poison(err) : err
    for (const { done } of group) process.nextTick(done, error)
    process.nextTick(() => this._writeNext())
  }

  /** What goes into the next write. An append that cannot be written any more fails here, alone. */
  _takeGroup () {
    const { store, durability } = this._file
    const group = []
    let size = 0
    let taken = 0
    for (const append of this._waiting) {
      if (append.records.length === 0 && size > 0) break
      if (size > 0 && size + append.size > WRITE_SIZE_MAX) break
      taken++
      const err = durability.error ?? (size + append.size > store.room ? this._full(size, append.size) : null)
      if (err || append.records.length === 0) {
        process.nextTick(append.done, err)
        continue
      }
      group.push(append)
      size += append.size
    }
    this._waiting = this._waiting.slice(taken)
    return group
  }

  /**
   * @param {number} before  bytes that are taken already
   * @param {number} size
   */
  _full (before, size) {
    const { blocks: { path }, store, end } = this._file
    return new LogError('ERR_LOG_FULL', `append: ${path} has ${end + before} bytes and cannot grow by ${size} in ` +
      `${store.name}; copy it into a log with a wider framing`, { path })
  }
}

exports.Appender = Appender
