'use strict'
// Turns concurrent appends into few writes: while one is under way the next ones gather, and go out together. Where
// every append is synced before it calls back, one sync serves all that were written together.

const { performance } = require('node:perf_hooks')
const { setIsolated } = require('@millrace/block-file')
const { LogError } = require('@millrace/errors')
const { tooLargeToAppend } = require('./record-errors')

// Beyond this a larger write is no faster, and the callers at its front would wait for those at its end.
const WRITE_SIZE_MAX = 512 * 1024
// A buffer for larger writes than these is not kept: there are few.
const KEPT_SIZE_MAX = 2 * WRITE_SIZE_MAX
const KEPT_SIZE_MIN = 4 * 1024
// A batch is one write, from one buffer.
const BATCH_SIZE_MAX = 2 ** 31

/**
 * @typedef {import('./log-file').LogFile} LogFile
 * @typedef {import('./log-file').Append} Append
 * @typedef {import('./log-file').Framed} Framed
 * @typedef {Append['done']} Done
 */

// Where writes and syncs are done at once, nobody else has a turn of the event loop while there is more to write. After
// so long they have one.
const TURN_MS = 4
const NOTHING = Buffer.alloc(0)
// It takes the place of what is done with. An old array that is not needed any more, but not collected yet, would keep
// what it has through every collection of what is young: with 1,000 appends under way that took a quarter of the time.
/** @type {Append} */
const NO_APPEND = { records: [], size: 0, seq: -1, done: () => {} }

class Appender {
  /** @param {LogFile} file */
  constructor (file) {
    this._file = file
    /** @type {Append[]} */
    this._waiting = []
    /** How many of them are taken. */
    this._takenCount = 0
    /** What is written is put together here, one write after the other. */
    this._target = NOTHING
    this._turnStartMs = 0
    this._isBusy = false
    /** @type {(() => void) | null} who has stopped it, or waits for it to stop */
    this._onHeld = null
  }

  /**
   * @param {Buffer[]} records  at least one; they must not change until `done` runs
   * @param {Done} done  gets the seq of the last record; never runs before this returns
   */
  append (records, done) {
    const { store } = this._file
    const size = store.sizeOf(records)
    const sizeMax = store.writeSizeMax(size)
    if (sizeMax <= BATCH_SIZE_MAX) this._enqueue({ records, size, seq: -1, done })
    else process.nextTick(done, tooLargeToAppend('a batch', sizeMax, BATCH_SIZE_MAX))
  }

  /** @param {(err: Error | null) => void} cb  runs once all that was appended before is written, or has failed */
  flush (cb) {
    if (this._isBusy || this._isAnyWaiting) this._enqueue({ records: [], size: 0, seq: -1, done: () => cb(null) })
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
    if (this._isAnyWaiting) this._start()
  }

  get _isAnyWaiting () {
    return this._takenCount < this._waiting.length
  }

  /** @param {Append} append */
  _enqueue (append) {
    this._file.lifecycle.enter()
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
    let size = 0
    for (const append of group) size += append.size
    const sizeMax = store.writeSizeMax(size)
    if (!store.needsPreparing(sizeMax)) return this._write(group, sizeMax)
    store.prepareAppend(sizeMax, (err) => err ? this._failed(group, err) : this._write(group, sizeMax))
  }

  /**
   * @param {Append[]} group
   * @param {number} sizeMax  bytes that it takes
   */
  _write (group, sizeMax) {
    const { blocks, store, durability } = this._file
    const framed = store.frame(group, this._targetOf(sizeMax))
    const { seq } = group[group.length - 1]
    blocks.append(framed.bytes, (err) => {
      if (err) return this._failed(group, err)
      framed.written()
      this._file.writtenSince = seq
      durability.noteWritten()
      if (durability.mode !== 'always') {
        this._settle(framed, seq)
        return this._callBack(group, null)
      }
      let isSettled = false
      const settle = () => {
        isSettled = true
        this._settle(framed, seq)
      }
      durability.sync((err) => isSettled ? this._callBack(group, null) : this._failed(group, err), settle)
    })
  }

  /**
   * @param {number} size
   * @returns {Buffer}  at least as large; used again for the next write. Memory that is new to the process is slow
   */
  _targetOf (size) {
    if (size > KEPT_SIZE_MAX) return Buffer.allocUnsafeSlow(size)
    if (size > this._target.length) {
      const larger = Math.max(size, 2 * this._target.length, KEPT_SIZE_MIN)
      this._target = Buffer.allocUnsafeSlow(Math.min(larger, KEPT_SIZE_MAX))
    }
    return this._target
  }

  /**
   * From now on the records can be read.
   * @param {Framed} framed
   * @param {number} seq  of the last record
   */
  _settle (framed, seq) {
    framed.settle()
    setIsolated(this._file.since, seq)
    // Not from here: what a reader does with the record must not hold up its writer.
    for (const stream of this._file.waitingStreams) process.nextTick(() => stream.wake())
  }

  /**
   * Then goes on with what was appended meanwhile.
   * @param {Append[]} group
   * @param {Error | null} err
   */
  _callBack (group, err) {
    process.nextTick(() => this._callBackFrom(group, 0, err))
  }

  /**
   * @param {Append[]} group
   * @param {number} index
   * @param {Error | null} err
   */
  _callBackFrom (group, index, err) {
    try {
      while (index < group.length) {
        const append = group[index]
        group[index++] = NO_APPEND
        this._end(append, err)
      }
    } finally {
      // A callback that throws keeps nobody from being called.
      if (index < group.length) process.nextTick(() => this._callBackFrom(group, index, err))
      else this._goOn()
    }
  }

  /**
   * @param {Append[]} group
   * @param {Error | null} err
   */
  _failed (group, err) {
    const { durability } = this._file
    const isLasting = err instanceof LogError && err.code === 'ERR_FILE_NOT_UNDONE'
    this._callBack(group, isLasting ? durability.poison(err) : err)
  }

  _goOn () {
    if (performance.now() - this._turnStartMs < TURN_MS) return process.nextTick(() => this._writeNext())
    setImmediate(() => {
      this._turnStartMs = performance.now()
      this._writeNext()
    })
  }

  /**
   * @param {Append} append
   * @param {Error | null} err
   */
  _end ({ done, seq }, err) {
    this._file.lifecycle.leave()
    if (err) done(err)
    else done(null, seq)
  }

  /** What goes into the next write. An append that cannot be written any more fails here, alone. */
  _takeGroup () {
    const { _waiting: waiting, _file: { store, durability } } = this
    const { room } = store
    const group = []
    let size = 0
    while (this._isAnyWaiting) {
      const append = waiting[this._takenCount]
      if (append.records.length === 0 && size > 0) break
      if (size > 0 && size + append.size > WRITE_SIZE_MAX) break
      waiting[this._takenCount++] = NO_APPEND
      const isTooMuch = store.writeSizeMax(size + append.size) > room
      const err = durability.error ?? (isTooMuch ? this._full(size, append.size) : null)
      if (err || append.records.length === 0) {
        process.nextTick(() => this._end(append, err))
        continue
      }
      group.push(append)
      size += append.size
    }
    this._forgetTaken()
    return group
  }

  /** Not one by one, nor at every write: a flood of appends would be moved again and again. */
  _forgetTaken () {
    if (2 * this._takenCount < this._waiting.length) return
    this._waiting = this._waiting.slice(this._takenCount)
    this._takenCount = 0
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
