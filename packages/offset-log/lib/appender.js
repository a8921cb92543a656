'use strict'
// Turns concurrent appends into few writes: while one is under way the next ones gather, and go out together. Where
// every append is synced before it calls back, one sync serves all that were written together.

const { performance } = require('node:perf_hooks')
const { LogError } = require('@millrace/errors')
const { ScratchBuffer } = require('@millrace/flow')
const { tooLargeToAppend } = require('./errors')

// Beyond this a larger write is no faster, and the callers at its front would wait for those at its end.
const WRITE_SIZE_MAX = 512 * 1024
// A batch is one write, from one buffer.
const BATCH_SIZE_MAX = 2 ** 31

/**
 * @typedef {import('./load').LogFile} LogFile
 * @typedef {import('./load').Framed} Framed
 */

// Where writes and syncs are done at once, nobody else has a turn of the event loop while there is more to write. After
// so long they have one.
const TURN_MS = 4

class Appender {
  /** @param {LogFile} file */
  constructor (file) {
    this._file = file
    this._waiting = new AppendQueue(WRITE_SIZE_MAX)
    this._callbacks = new AppendCallbacks(file.lifecycle)
    /** What is written is put together here, one write after the other. */
    this._target = new ScratchBuffer()
    this._turnStartMs = 0
    this._isBusy = false
    /** Whether live streams will be woken in the next turn of the event loop. */
    this._isWaking = false
    /** @type {Array<() => void>} who has stopped it, and who waits to do so */
    this._holders = []
  }

  /**
   * @param {Buffer} record  must not change until `done` runs
   * @param {Done} done  gets its seq; never runs before this returns
   */
  appendOne (record, done) {
    const size = this._file.store.sizeOf(record.length, 1)
    if (this._refuses(size, done)) return
    this._waiting.groupFor(size).addOne(record, size, done)
    this._added()
  }

  /**
   * @param {Buffer[]} records  at least one; they must not change until `done` runs
   * @param {number} dataSize  bytes that they have together
   * @param {Done} done  gets the seq of the last record; never runs before this returns
   */
  appendBatch (records, dataSize, done) {
    const size = this._file.store.sizeOf(dataSize, records.length)
    if (this._refuses(size, done)) return
    this._waiting.groupFor(size).addBatch(records, size, done)
    this._added()
  }

  /** @param {(err: Error | null) => void} cb  runs once all that was appended before is written, or has failed */
  flush (cb) {
    if (!this._isBusy && this._waiting.isEmpty) return cb(null)
    this._waiting.groupFor(0).addBatch([], 0, () => cb(null))
    this._added()
  }

  /**
   * Lets appends wait.
   * @param {() => void} cb  runs once no write is under way
   */
  hold (cb) {
    this._holders.push(cb)
    if (!this._isBusy && this._holders.length === 1) cb()
  }

  /** Goes on with what has waited. */
  release () {
    this._holders.shift()
    if (this._holders.length > 0) this._holders[0]()
    else if (!this._waiting.isEmpty) this._start()
  }

  /**
   * @param {number} size  of frames
   * @param {Done} done  gets an error if there are too many
   */
  _refuses (size, done) {
    // Nearly all are far from it.
    const sizeMax = size <= WRITE_SIZE_MAX ? 0 : this._file.store.writeSizeMax(size)
    if (sizeMax <= BATCH_SIZE_MAX) return false
    process.nextTick(done, tooLargeToAppend('a batch', sizeMax, BATCH_SIZE_MAX))
    return true
  }

  _added () {
    this._file.lifecycle.enter()
    if (!this._isBusy && this._holders.length === 0) this._start()
  }

  _start () {
    this._isBusy = true
    // Calls of the same turn are taken together.
    process.nextTick(() => this._writeNext())
  }

  _writeNext () {
    if (this._holders.length > 0) {
      this._isBusy = false
      return this._holders[0]()
    }
    const { store, durability } = this._file
    let taken = this._waiting.take()
    while (taken !== null && (durability.error || taken.size === 0)) {
      // They cannot be written, or need not be.
      this._callbacks.callLater(taken, durability.error)
      this._waiting.giveBack(taken)
      taken = this._waiting.take()
    }
    if (taken === null) {
      this._isBusy = false
      return
    }
    const group = store.writeSizeMax(taken.size) > store.room ? this._cutToRoom(taken) : taken
    if (group.count === 0) return this._goOn()
    const sizeMax = store.writeSizeMax(group.size)
    if (!store.needsPreparing(sizeMax)) return this._write(group, sizeMax)
    store.prepareAppend(sizeMax, (err) => err ? this._failed(group, err) : this._write(group, sizeMax))
  }

  /**
   * @param {AppendGroup} group
   * @param {number} sizeMax  bytes that it takes
   */
  _write (group, sizeMax) {
    const { blocks, store, durability } = this._file
    const framed = store.frame(group, this._target.ofSize(sizeMax))
    const { lastSeq } = group
    blocks.append(framed.bytes, (err) => {
      if (err) return this._failed(group, err)
      framed.written()
      this._file.writtenSince = lastSeq
      durability.noteWritten()
      if (durability.mode !== 'always') {
        this._settle(framed, lastSeq)
        return this._callBack(group, null)
      }
      let isSettled = false
      const settle = () => {
        isSettled = true
        this._settle(framed, lastSeq)
      }
      durability.sync((err) => isSettled ? this._callBack(group, null) : this._failed(group, err), settle)
    })
  }

  /**
   * From now on the records can be read.
   * @param {Framed} framed
   * @param {number} seq  of the last record
   */
  _settle (framed, seq) {
    framed.settle()
    this._file.since.set(seq)
    if (!this._isWaking && this._file.waitingStreams.size > 0) this._wakeStreams()
  }

  /**
   * Once in a turn of the event loop, whatever is written in it: what a reader does with a record must not hold up its
   * writer, and to be woken for every write would make many of them make much garbage.
   */
  _wakeStreams () {
    this._isWaking = true
    setImmediate(() => {
      this._isWaking = false
      for (const stream of this._file.waitingStreams) process.nextTick(() => stream.wake())
    })
  }

  /**
   * Then goes on with what was appended meanwhile.
   * @param {AppendGroup} group
   * @param {Error | null} err
   */
  _callBack (group, err) {
    this._callbacks.callInOrder(group, err, () => {
      this._waiting.giveBack(group)
      this._goOn()
    })
  }

  /**
   * @param {AppendGroup} group
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
   * An append that the file has no room for fails alone.
   * @param {AppendGroup} group
   * @returns {AppendGroup}  what there is room for
   */
  _cutToRoom (group) {
    const { store } = this._file
    const { room } = store
    const kept = new AppendGroup()
    for (let index = 0; index < group.count; index++) {
      const done = group.dones[index]
      const records = group.recordsOf(index)
      const size = store.sizeOf(records.reduce((total, { length }) => total + length, 0), records.length)
      if (store.writeSizeMax(kept.size + size) <= room) kept.addBatch(records, size, done)
      else this._callbacks.callOneLater(done, this._full(kept.size, size))
    }
    return kept
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

// Appends that are written together, as lists that are used again: an object for each append would come from new memory
// each time, and drive the records that are to be copied out of the processor's cache.

/** @typedef {(err: Error | null, seq?: number) => void} Done */

/** It takes the place of what is done with, so that nothing is kept that nobody wants. */
const NO_RECORD = Buffer.alloc(0)

class AppendGroup {
  constructor () {
    /** Of all appends, one after the other. @type {Buffer[]} */
    this.records = []
    /** Where the records of each append end. @type {number[]} */
    this.ends = []
    /** Of the last record of each append, once it is framed. @type {number[]} */
    this.seqs = []
    /** Who waits for it. @type {Done[]} */
    this.dones = []
    /** How many records and how many appends there are: the lists may be longer. */
    this.recordCount = 0
    this.count = 0
    /** Bytes of the frames. */
    this.size = 0
  }

  /** Seq of the last record, once it is framed. */
  get lastSeq () {
    return this.seqs[this.count - 1]
  }

  /**
   * @param {Buffer} record
   * @param {number} size  of its frame
   * @param {Done} done
   */
  addOne (record, size, done) {
    this.records[this.recordCount++] = record
    this._close(size, done)
  }

  /**
   * @param {Buffer[]} records  none in an append that only waits for those before it
   * @param {number} size  of their frames
   * @param {Done} done
   */
  addBatch (records, size, done) {
    let { recordCount } = this
    for (const record of records) this.records[recordCount++] = record
    this.recordCount = recordCount
    this._close(size, done)
  }

  /**
   * @param {number} size
   * @param {Done} done
   */
  _close (size, done) {
    const { count } = this
    this.ends[count] = this.recordCount
    // So that the list has no holes, and stays one of numbers.
    this.seqs[count] = -1
    this.dones[count] = done
    this.count = count + 1
    this.size += size
  }

  /**
   * @param {number} index
   * @returns {Buffer[]}  of that append
   */
  recordsOf (index) {
    return this.records.slice(index === 0 ? 0 : this.ends[index - 1], this.ends[index])
  }

  /** Nobody waits for the append any more. @param {number} index */
  forget (index) {
    this.dones[index] = ignore
  }

  /** Makes it empty. All of its appends must be forgotten. */
  clear () {
    this.records.fill(NO_RECORD, 0, this.recordCount)
    this.recordCount = this.count = this.size = 0
  }
}

function ignore () {}

// Appends that wait, in order, already divided into what will be written together.

// One is being written and one filled, or two if the writer has more than enough to do.
const SPARE_COUNT_MAX = 3
// Lists of more records than these are not kept: there are so many only where records are tiny.
const KEPT_COUNT_MAX = 16 * 1024

class AppendQueue {
  /** @param {number} sizeMax  bytes of frames in a group, unless one append has more */
  constructor (sizeMax) {
    this._sizeMax = sizeMax
    /** @type {AppendGroup[]} */
    this._groups = []
    /** The last of them. @type {AppendGroup | null} */
    this._last = null
    /** @type {AppendGroup[]} */
    this._spare = []
  }

  get isEmpty () {
    return this._last === null
  }

  /**
   * @param {number} size  of an append's frames; 0 if it only waits for those before it
   * @returns {AppendGroup}  where it is to be added
   */
  groupFor (size) {
    const last = this._last
    // Those that only wait are in groups of their own: all before them must be written.
    if (last !== null && last.size + size <= this._sizeMax && (last.size === 0) === (size === 0)) return last
    const next = this._spare.pop() ?? new AppendGroup()
    this._groups.push(next)
    return (this._last = next)
  }

  /** @returns {AppendGroup | null}  the first one, which gets no more; null if none waits */
  take () {
    const group = this._groups.shift() ?? null
    if (group === this._last) this._last = null
    return group
  }

  /** @param {AppendGroup} group  one that was taken, and that nobody uses any more */
  giveBack (group) {
    group.clear()
    const isLarge = group.records.length > KEPT_COUNT_MAX || group.dones.length > KEPT_COUNT_MAX
    if (!isLarge && this._spare.length < SPARE_COUNT_MAX) this._spare.push(group)
  }
}

// Calls back those whose appends were written, or have failed: all of them, whatever one of them throws.

class AppendCallbacks {
  /** @param {import('@millrace/flow').Lifecycle} lifecycle  which every append has entered */
  constructor (lifecycle) {
    this._lifecycle = lifecycle
  }

  /**
   * @param {AppendGroup} group  all of it is forgotten
   * @param {Error | null} err  why it failed
   * @param {() => void} cb  runs when all were called
   */
  callInOrder (group, err, cb) {
    process.nextTick(() => this._callFrom(group, 0, err, cb))
  }

  /**
   * The same for who does not wait for it.
   * @param {AppendGroup} group
   * @param {Error | null} err
   */
  callLater (group, err) {
    for (let index = 0; index < group.count; index++) {
      this.callOneLater(group.dones[index], err)
      group.forget(index)
    }
  }

  /**
   * @param {Done} done
   * @param {Error | null} err
   */
  callOneLater (done, err) {
    process.nextTick(() => this._call(done, err, -1))
  }

  /**
   * @param {AppendGroup} group
   * @param {number} index
   * @param {Error | null} err
   * @param {() => void} cb
   */
  _callFrom (group, index, err, cb) {
    const { dones, seqs, count } = group
    try {
      while (index < count) {
        const done = dones[index]
        const seq = seqs[index]
        group.forget(index++)
        this._call(done, err, seq)
      }
    } finally {
      // A callback that throws keeps nobody from being called.
      if (index < count) process.nextTick(() => this._callFrom(group, index, err, cb))
      else cb()
    }
  }

  /**
   * @param {Done} done
   * @param {Error | null} err
   * @param {number} seq
   */
  _call (done, err, seq) {
    this._lifecycle.leave()
    if (err) done(err)
    else done(null, seq)
  }
}

exports.Appender = Appender
exports.AppendGroup = AppendGroup
exports.AppendQueue = AppendQueue
