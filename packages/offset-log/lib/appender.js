'use strict'
// Turns concurrent appends into few writes: while one is under way the next ones gather, and go out together. Where
// every append is synced before it calls back, one sync serves all that were written together.

const { performance } = require('node:perf_hooks')
const { LogError } = require('@millrace/errors')
const { ScratchBuffer } = require('@millrace/flow')
const { AppendCallbacks } = require('./append-callbacks')
const { AppendGroup } = require('./append-group')
const { AppendQueue } = require('./append-queue')
const { tooLargeToAppend } = require('./record-errors')

// Beyond this a larger write is no faster, and the callers at its front would wait for those at its end.
const WRITE_SIZE_MAX = 512 * 1024
// A batch is one write, from one buffer.
const BATCH_SIZE_MAX = 2 ** 31

/**
 * @typedef {import('./log-file').LogFile} LogFile
 * @typedef {import('./log-file').Framed} Framed
 * @typedef {import('./append-group').Done} Done
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

exports.Appender = Appender
