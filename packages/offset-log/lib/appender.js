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
// Where writes and syncs are done at once, nobody else has a turn of the event loop while there is more to write. After
// so long they have one.
const TURN_MS = 4
// With more than two writes waiting, those who append may as well wait: the writer has enough to do.
const DRAIN_SIZE = 2 * WRITE_SIZE_MAX

/** @typedef {(err: Error | null, seq?: number) => void} Done */

class Appender {
  #file
  #waiting = new AppendQueue(WRITE_SIZE_MAX)
  /** What is written is put together here, one write after the other. */
  #target = new ScratchBuffer()
  #turnStartMs = 0
  #isBusy = false
  /** Whether live streams will be woken in the next turn of the event loop. */
  #isWaking = false
  /** Who has stopped it, and who waits to do so. @type {Array<() => void>} */
  #holders = []
  /** Bytes of what was accepted and has not called back. */
  #pendingSize = 0
  #drainSize
  /** Who waits for that to become less. @type {Array<() => void>} */
  #draining = []

  /** @param {import('./load').LogFile} file */
  constructor (file) {
    this.#file = file
    this.#drainSize = Math.min(DRAIN_SIZE, file.maxPendingSize / 2)
  }

  get pendingSize () {
    return this.#pendingSize
  }

  /** Whether whoever appends more should wait first. */
  get needsDrain () {
    return this.#pendingSize > this.#drainSize
  }

  /** Whether nothing more is accepted. */
  get isFull () {
    return this.#pendingSize >= this.#file.maxPendingSize
  }

  /** @param {() => void} cb  runs once `needsDrain` is false */
  whenDrained (cb) {
    if (this.needsDrain) this.#draining.push(cb)
    else cb()
  }

  /**
   * Counts what waits elsewhere.
   * @param {number} size
   */
  reserve (size) {
    this.#pendingSize += size
  }

  /** @param {number} size  in bytes, of what waits no more */
  free (size) {
    this.#pendingSize -= size
    if (this.#draining.length === 0 || this.needsDrain) return
    for (const cb of this.#draining) process.nextTick(cb)
    this.#draining = []
  }

  /**
   * @param {Buffer | Buffer[]} records  one, or those of a batch; they must not change until `done` runs
   * @param {number} dataSize  bytes that they have together
   * @param {Done} done  gets the seq of the last record; never runs before this returns
   */
  append (records, dataSize, done) {
    const { store, lifecycle } = this.#file
    const size = dataSize + (Array.isArray(records) ? records.length : 1) * store.frameOverhead
    // Nearly all are far from it.
    const sizeMax = size <= WRITE_SIZE_MAX ? 0 : store.writeSizeMax(size)
    if (sizeMax > BATCH_SIZE_MAX) return process.nextTick(done, tooLargeToAppend('a batch', sizeMax, BATCH_SIZE_MAX))
    this.#waiting.groupFor(size).add(records, size, done)
    this.#pendingSize += size
    lifecycle.enter()
    if (this.#isBusy || this.#holders.length > 0) return
    this.#isBusy = true
    // Calls of the same turn are taken together.
    process.nextTick(this.#writeNext)
  }

  /** @param {() => void} cb  runs once all that was appended before is written, or has failed */
  flush (cb) {
    if (!this.#isBusy && this.#waiting.isEmpty) cb()
    else this.append([], 0, () => cb())
  }

  /**
   * Lets appends wait.
   * @param {() => void} cb  runs once no write is under way
   */
  hold (cb) {
    this.#holders.push(cb)
    if (!this.#isBusy && this.#holders.length === 1) cb()
  }

  /** Goes on with what has waited. */
  release () {
    this.#holders.shift()
    if (this.#holders.length > 0) return this.#holders[0]()
    if (this.#waiting.isEmpty) return
    this.#isBusy = true
    process.nextTick(this.#writeNext)
  }

  #writeNext = () => {
    const { store, durability } = this.#file
    const taken = this.#holders.length > 0 ? null : this.#waiting.take()
    if (taken === null) {
      this.#isBusy = false
      this.#holders[0]?.()
      return
    }
    // They cannot be written, or need not be.
    if (durability.error || taken.size === 0) return process.nextTick(this.#callBack, taken, durability.error, 0)
    const group = store.writeSizeMax(taken.size) > store.room ? this.#cutToRoom(taken) : taken
    if (group.count === 0) return this.#goOn()
    const sizeMax = store.writeSizeMax(group.size)
    store.checkpoints.prepareAppend(sizeMax, (err) => err ? this.#failed(group, err) : this.#write(group, sizeMax))
  }

  /**
   * @param {AppendGroup} group
   * @param {number} sizeMax  bytes that it takes
   */
  #write (group, sizeMax) {
    const { blocks, store, durability } = this.#file
    const framed = store.frame(group, this.#target.ofSize(sizeMax))
    blocks.append(framed.bytes, (err) => {
      if (err) return this.#failed(group, err)
      store.noteWritten(framed)
      this.#file.writtenSince = framed.seq
      durability.noteWritten()
      if (durability.mode !== 'always') {
        this.#show(framed)
        return process.nextTick(this.#callBack, group, null, 0)
      }
      const show = () => this.#show(framed)
      durability.sync((err) => err ? this.#failed(group, err) : this.#callBack(group, null, 0), show)
    })
  }

  /**
   * From now on the records can be read.
   * @param {import('@millrace/framing').Packed} framed
   */
  #show (framed) {
    const { store, since, waitingStreams } = this.#file
    store.show(framed)
    since.set(framed.seq)
    if (this.#isWaking || waitingStreams.size === 0) return
    // Once in a turn of the event loop, whatever is written in it: what a reader does with a record must not hold up
    // its writer, and to be woken for every write would make many of them make much garbage.
    this.#isWaking = true
    setImmediate(() => {
      this.#isWaking = false
      for (const stream of waitingStreams) process.nextTick(() => stream.wake())
    })
  }

  /**
   * @param {AppendGroup} group
   * @param {Error} err
   */
  #failed (group, err) {
    process.nextTick(this.#callBack, group, this.#file.durability.noteFailedWrite(err), 0)
  }

  /**
   * Calls back all of a group, in order, from a tick of its own. Then goes on with what was appended meanwhile.
   * @param {AppendGroup} group
   * @param {Error | null} err
   * @param {number} index  of the append to begin with
   */
  #callBack = (group, err, index) => {
    const { dones, seqs, count } = group
    try {
      while (index < count) {
        const done = dones[index]
        const seq = seqs[index++]
        this.#file.lifecycle.leave()
        if (err) done(err)
        else done(null, seq)
      }
    } finally {
      // A callback that throws keeps nobody from being called.
      if (index < count) {
        process.nextTick(this.#callBack, group, err, index)
      } else {
        this.free(group.size)
        this.#waiting.giveBack(group)
        this.#goOn()
      }
    }
  }

  #goOn () {
    if (performance.now() - this.#turnStartMs < TURN_MS) return process.nextTick(this.#writeNext)
    setImmediate(() => {
      this.#turnStartMs = performance.now()
      this.#writeNext()
    })
  }

  /**
   * An append that the file has no room for fails alone.
   * @param {AppendGroup} group
   * @returns {AppendGroup}  what there is room for
   */
  #cutToRoom (group) {
    const { blocks: { path }, store, end, lifecycle } = this.#file
    const kept = new AppendGroup()
    for (let index = 0; index < group.count; index++) {
      const done = group.dones[index]
      const records = group.recordsOf(index)
      const size = records.reduce((total, { length }) => total + length + store.frameOverhead, 0)
      if (store.writeSizeMax(kept.size + size) <= store.room) {
        kept.add(records, size, done)
        continue
      }
      const err = new LogError('ERR_LOG_FULL', `append: ${path} has ${end + kept.size} bytes and cannot grow by ${size} in ` +
        `${store.name}; copy it into a log with a wider framing`, { path })
      process.nextTick(() => {
        lifecycle.leave()
        this.free(size)
        done(err)
      })
    }
    return kept
  }
}

// Appends that are written together, as lists that are used again: an object for each append would come from new memory
// each time, and drive the records that are to be copied out of the processor's cache.

/** It takes the place of what is done with, so that nothing is kept that nobody wants. */
const NO_RECORD = Buffer.alloc(0)

class AppendGroup {
  /** Of all appends, one after the other. @type {Buffer[]} */
  records = []
  /** Where the records of each append end. @type {number[]} */
  ends = []
  /** Of the last record of each append, once it is framed. @type {number[]} */
  seqs = []
  /** Who waits for it. @type {Done[]} */
  dones = []
  /** How many records and how many appends there are: the lists may be longer. */
  recordCount = 0
  count = 0
  /** Bytes of the frames. */
  size = 0

  /**
   * @param {Buffer | Buffer[]} records  of one append; none if it only waits for those before it
   * @param {number} size  of their frames
   * @param {Done} done
   */
  add (records, size, done) {
    const { count } = this
    if (Array.isArray(records)) for (const record of records) this.records[this.recordCount++] = record
    else this.records[this.recordCount++] = records
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

  clear () {
    this.records.fill(NO_RECORD, 0, this.recordCount)
    this.dones.fill(ignore, 0, this.count)
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
  #sizeMax
  /** @type {AppendGroup[]} */
  #groups = []
  /** The last of them. @type {AppendGroup | null} */
  #last = null
  /** @type {AppendGroup[]} */
  #spare = []

  /** @param {number} sizeMax  bytes of frames in a group, unless one append has more */
  constructor (sizeMax) {
    this.#sizeMax = sizeMax
  }

  get isEmpty () {
    return this.#last === null
  }

  /**
   * @param {number} size  of an append's frames; 0 if it only waits for those before it
   * @returns {AppendGroup}  where it is to be added
   */
  groupFor (size) {
    const last = this.#last
    // Those that only wait are in groups of their own: all before them must be written.
    if (last !== null && last.size + size <= this.#sizeMax && (last.size === 0) === (size === 0)) return last
    const next = this.#spare.pop() ?? new AppendGroup()
    this.#groups.push(next)
    return (this.#last = next)
  }

  /** @returns {AppendGroup | null}  the first one, which gets no more; null if none waits */
  take () {
    const group = this.#groups.shift() ?? null
    if (group === this.#last) this.#last = null
    return group
  }

  /** @param {AppendGroup} group  one that was taken, and that nobody uses any more */
  giveBack (group) {
    group.clear()
    const isLarge = group.records.length > KEPT_COUNT_MAX || group.dones.length > KEPT_COUNT_MAX
    if (!isLarge && this.#spare.length < SPARE_COUNT_MAX) this.#spare.push(group)
  }
}

exports.Appender = Appender
exports.AppendGroup = AppendGroup
exports.AppendQueue = AppendQueue
