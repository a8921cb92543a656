'use strict'
// Groups concurrent appends into few writes: the appends made during a write wait and are written together. Under
// `fsync: 'always'` one sync serves the whole group.

const { performance } = require('node:perf_hooks')
const { nextTick } = require('node:process')
const { setImmediate } = require('node:timers')
const { LogError } = require('@millrace/errors')
const { ScratchBuffer } = require('@millrace/flow')
const { overloaded, tooLargeToAppend } = require('./errors')

// A larger write is no faster, and its first callers would wait longer.
const WRITE_SIZE_MAX = 512 * 1024
// A batch is one write, from one buffer.
const BATCH_SIZE_MAX = 2 ** 31
// If writes and syncs complete without waiting, nothing else in the process would run. So the appender yields to the
// event loop after this time.
const TURN_MS = 4
// Two full writes keep the writer busy, so callers gain nothing if they append more before it has caught up.
const DRAIN_SIZE = 2 * WRITE_SIZE_MAX

/** @typedef {(err: Error | null, seq?: any) => void} Done  gets a seq, or a list of them */
/** @typedef {import('@millrace/framing').Packed} Packed */
/** @typedef {Pick<AppendGroup, 'records' | 'ends' | 'seqs' | 'count'>} Frameable  becomes one commit */
/** @typedef {{ seqs: number[] }} Given  to an append that asks for the seqs of all its records, once framed */
/** @typedef {Frameable & { asking: AppendGroup['asking'] }} Asking */
/** @typedef {{ group: AppendGroup, err: Error | null, isSettled: boolean }} Taken */

class Appender {
  #file
  #waiting = new AppendQueue(WRITE_SIZE_MAX)
  /** The group that is being prepared or written. @type {AppendGroup | null} */
  #current = null
  /** Its frames, once they are being written. @type {Packed | null} */
  #framed = null
  /** Groups that `flushNow` has taken, in order. They are called back as soon as they are settled. @type {Taken[]} */
  #taken = []
  /** Of the first one that is not called back. */
  #takenIndex = 0
  /** Each write is framed here. */
  #target = new ScratchBuffer()
  #turnStartMs = 0
  #isBusy = false
  /** Whether the first of `#taken` waits for its sync. */
  #isAwaitingTaken = false
  /** Callbacks of `hold`: the first one holds the appender, the others wait for it. @type {Array<() => void>} */
  #holders = []
  /** Bytes of the appends that were accepted and have not called back. */
  #pendingSize = 0
  /** @type {LogError | null} */
  #overload = null
  #pendingSizeMax
  #drainSize
  /** Callbacks of `whenDrained`. @type {Array<() => void>} */
  #draining = []

  /** @param {import('./load').LogFile} file */
  constructor (file) {
    this.#file = file
    this.#pendingSizeMax = file.maxPendingSize
    this.#drainSize = Math.min(DRAIN_SIZE, file.maxPendingSize / 2)
  }

  get pendingSize () {
    return this.#pendingSize
  }

  /** Whether callers should wait before they append more. */
  get needsDrain () {
    return this.#pendingSize > this.#drainSize
  }

  /**
   * Why further appends are refused; null while they are accepted. All refused appends share one error: a caller who
   * never waits would fill the memory with errors instead of records.
   */
  get overload () {
    return this.#pendingSize < this.#pendingSizeMax ? null : this.#refuse()
  }

  #refuse () {
    return (this.#overload ??= overloaded(this.#file.blocks.path, this.#pendingSize, this.#pendingSizeMax))
  }

  /** @param {() => void} cb  runs once `needsDrain` is false */
  whenDrained (cb) {
    if (this.needsDrain) this.#draining.push(cb)
    else cb()
  }

  /** Counts records as pending that wait outside the appender. @param {number} size  in bytes */
  reserve (size) {
    this.#pendingSize += size
  }

  /** @param {number} size  in bytes, of records that are no longer pending */
  free (size) {
    this.#pendingSize -= size
    this.#overload = null
    if (this.#draining.length === 0 || this.needsDrain) return
    for (const cb of this.#draining) nextTick(cb)
    this.#draining = []
  }

  /**
   * @param {Buffer | Buffer[]} records  an array is a batch. They must not change until `done` runs
   * @param {number} dataSize  of the records together, in bytes
   * @param {Done} done  never runs before this returns
   * @param {boolean} givesSeqs  whether `done` gets the seqs of all records; else it gets the seq of the last one
   */
  append (records, dataSize, done, givesSeqs) {
    const { store, lifecycle } = this.#file
    const size = dataSize + (Array.isArray(records) ? records.length : 1) * store.frameOverhead
    // The exact bound is computed only for large appends.
    const sizeMax = size <= WRITE_SIZE_MAX ? 0 : store.writeSizeMax(size)
    if (sizeMax > BATCH_SIZE_MAX) return nextTick(done, tooLargeToAppend('a batch', sizeMax, BATCH_SIZE_MAX))
    const group = this.#waiting.groupFor(size)
    if (givesSeqs) group.addAsking(records, size, done)
    else group.add(records, size, done)
    this.#pendingSize += size
    lifecycle.enter()
    // In the next tick, so that appends made until then join the group.
    if (this.#holders.length === 0) this.#start()
  }

  /** @param {() => void} cb  runs once all earlier appends are written or have failed */
  flush (cb) {
    if (!this.#isBusy && this.#waiting.isEmpty) cb()
    else this.append([], 0, () => cb(), false)
  }

  /** Makes appends wait until `release`. @param {() => void} cb  runs once no write is in progress */
  hold (cb) {
    this.#holders.push(cb)
    if (!this.#isBusy && this.#holders.length === 1) cb()
  }

  /** Lets the next holder run. If there is none, writes the appends that have waited. */
  release () {
    this.#holders.shift()
    if (this.#holders.length > 0) return this.#holders[0]()
    if (!this.#waiting.isEmpty || this.#taken.length > 0) this.#start()
  }

  #start () {
    if (this.#isBusy) return
    this.#isBusy = true
    nextTick(this.#writeNext)
  }

  #writeNext = () => {
    const { store, durability } = this.#file
    if (this.#taken.length > 0) return this.#callBackTaken()
    const taken = this.#holders.length > 0 ? null : this.#waiting.take()
    if (taken === null) {
      this.#isBusy = false
      this.#holders[0]?.()
      return
    }
    // The log is poisoned, or the group only waits for earlier appends.
    if (durability.error || taken.size === 0) return nextTick(this.#callBack, taken, durability.error, 0)
    const group = store.writeSizeMax(taken.size) > store.room ? this.#cutToRoom(taken) : taken
    if (group.count === 0) return this.#goOn()
    const sizeMax = store.writeSizeMax(group.size)
    this.#current = group
    store.checkpoints.prepareAppend(sizeMax, (err) => {
      if (this.#current !== group) return this.#goOn()
      if (!err) return this.#write(group, sizeMax)
      this.#current = null
      this.#failed(group, err)
    })
  }

  /** @type {(group: AppendGroup, sizeMax: number) => void} `sizeMax` is an upper bound of its bytes in the file */
  #write (group, sizeMax) {
    const { blocks, store, durability } = this.#file
    const target = this.#target.ofSize(sizeMax)
    const framed = this.#framed = group.asking.size === 0 ? store.frame(group, target) : frameEach(store, group, target)
    blocks.append(framed.bytes, (err) => {
      if (this.#current !== group) return this.#goOn()
      this.#current = this.#framed = null
      if (err) return this.#failed(group, err)
      this.#noteWritten(framed)
      if (durability.mode !== 'always') {
        this.#show(framed)
        return nextTick(this.#callBack, group, null, 0)
      }
      const show = () => this.#show(framed)
      durability.sync((err) => err ? this.#failed(group, err) : this.#callBack(group, null, 0), show)
    })
  }

  /** @param {Packed} framed */
  #noteWritten (framed) {
    this.#file.store.noteWritten(framed)
    this.#file.writtenSince = framed.seq
    this.#file.durability.noteWritten()
  }

  /**
   * Makes the records readable, and wakes the live streams that wait for them.
   * @param {Packed} framed
   */
  #show (framed) {
    const { store, since, waitingStreams } = this.#file
    store.show(framed)
    since.set(framed.seq)
    // Before the appends call back, as in flumelog-offset: a view of flumedb then has a record when its append is done.
    for (const stream of waitingStreams) nextTick(() => stream.wake())
  }

  /** @type {(group: AppendGroup, err: Error) => void} */
  #failed (group, err) {
    nextTick(this.#callBack, group, this.#file.durability.noteFailedWrite(err), 0)
  }

  /**
   * Calls back all appends of a group, in order and in a later tick than the appends. Then continues with the appends
   * made meanwhile.
   * @param {AppendGroup} group
   * @param {Error | null} err
   * @param {number} index  of the first append to call back
   */
  #callBack = (group, err, index) => {
    const { dones, seqs, count } = group
    // First: whoever is called back may append again.
    if (index === 0) this.free(group.size)
    try {
      while (index < count) {
        const done = dones[index]
        const seq = seqs[index++]
        this.#file.lifecycle.leave()
        if (err) done(err)
        else done(null, seq)
      }
    } finally {
      // If a callback throws, the others still run.
      if (index < count) {
        nextTick(this.#callBack, group, err, index)
      } else {
        this.#waiting.giveBack(group)
        this.#goOn()
      }
    }
  }

  #goOn () {
    if (performance.now() - this.#turnStartMs < TURN_MS) return nextTick(this.#writeNext)
    setImmediate(() => {
      this.#turnStartMs = performance.now()
      this.#writeNext()
    })
  }

  /** Whether `flushNow` may be called: it must overtake neither a truncation nor the renaming of a compacted file. */
  get canFlushNow () {
    const { blocks, replacement } = this.#file
    return blocks.canWriteNow && !replacement.isRenaming
  }

  /**
   * Writes all appends that wait, before it returns. The callbacks run later, in the order of the appends. The group
   * that is being prepared or written is taken over: when that ends, it only continues with what comes next.
   * @param {boolean} isSynced  whether to sync too
   * @throws the first failure; the appends that failed get it too
   */
  flushNow (isSynced) {
    const { durability } = this.#file
    /** @type {unknown} */
    let failure = null
    const attempt = (/** @type {() => void} */ action) => {
      try {
        action()
      } catch (err) {
        failure ??= err
      }
    }
    const current = this.#current
    if (this.#framed !== null) {
      this.#takeOver(this.#framed)
    } else if (current !== null) {
      this.#current = null
      attempt(() => this.#writeNow(current))
    }
    while (durability.error === null) {
      const group = this.#waiting.take()
      if (group === null) break
      attempt(() => this.#writeNow(group))
      this.#mergeTaken()
    }
    if (isSynced) attempt(() => durability.syncNow())
    durability.start()
    if (this.#taken.length > 0 && this.#holders.length === 0) this.#start()
    if (failure !== null) throw failure
  }

  /**
   * Appends before it returns, behind all earlier appends. Without their lists and callbacks it takes a third of the
   * time of `append` and `flushNow`.
   * @param {Buffer[]} records  at least one
   * @param {number} dataSize  of the records together, in bytes
   * @param {boolean} isSynced  whether to sync too
   * @param {boolean} givesSeqs
   * @returns {number | number[]}  the seq of the last record; with `givesSeqs`, those of all
   * @throws the failure. If only the sync fails, the records are written and the log is poisoned
   */
  appendNow (records, dataSize, isSynced, givesSeqs) {
    const { store, durability } = this.#file
    if (this.#current !== null || !this.#waiting.isEmpty) this.flushNow(false)
    const size = dataSize + records.length * store.frameOverhead
    const sizeMax = store.writeSizeMax(size)
    if (sizeMax > BATCH_SIZE_MAX) throw tooLargeToAppend('a batch', sizeMax, BATCH_SIZE_MAX)
    if (sizeMax > store.room) throw this.#full(size, 0)
    const given = { seqs: [] }
    const asking = givesSeqs ? new Map([[0, given]]) : NOBODY
    /** @type {Packed} */
    let framed
    try {
      framed = this.#writeFramesNow({ records, ends: [records.length], seqs: [-1], count: 1, asking }, sizeMax)
    } catch (err) {
      throw durability.noteFailedWrite(/** @type {Error} */ (err))
    }
    if (durability.mode === 'always') durability.join(ignore, () => this.#show(framed))
    else this.#show(framed)
    if (isSynced) durability.syncNow()
    if (durability.mode === 'always') durability.start()
    return givesSeqs ? given.seqs : framed.seq
  }

  /** @type {(group: Asking, sizeMax: number) => Packed} `sizeMax` is an upper bound of its bytes in the file */
  #writeFramesNow (group, sizeMax) {
    const { blocks, store, durability } = this.#file
    store.checkpoints.prepareAppendNow(sizeMax)
    // With `fsync: 'always'`, frames are shown once they are durable. Until then their memory must not be used again.
    const target = durability.mode === 'always' ? Buffer.allocUnsafeSlow(sizeMax) : this.#target.ofSize(sizeMax)
    const framed = group.asking.size === 0 ? store.frame(group, target) : frameEach(store, group, target)
    blocks.appendNow(framed.bytes)
    this.#noteWritten(framed)
    return framed
  }

  /** Completes the write under way. @param {Packed} framed */
  #takeOver (framed) {
    const { blocks } = this.#file
    const group = /** @type {AppendGroup} */ (this.#current)
    blocks.appendAllNow()
    // If the write had failed before, nothing is completed, and its group gets the error.
    if (blocks.size.value < framed.tail.end) return
    this.#current = this.#framed = null
    // A thread of the pool may still write the old memory.
    this.#target = new ScratchBuffer()
    this.#noteWritten(framed)
    this.#settle(group, framed)
  }

  /** @param {AppendGroup} waiting */
  #writeNow (waiting) {
    const { store, durability } = this.#file
    const group = store.writeSizeMax(waiting.size) > store.room ? this.#cutToRoom(waiting) : waiting
    if (group.size === 0) return this.#addTaken(group, null)
    try {
      this.#settle(group, this.#writeFramesNow(group, store.writeSizeMax(group.size)))
    } catch (err) {
      throw this.#addTaken(group, durability.noteFailedWrite(/** @type {Error} */ (err))).err
    }
  }

  /** @type {(group: AppendGroup, framed: Packed) => void} the group was written by `flushNow` */
  #settle (group, framed) {
    const { durability } = this.#file
    const taken = this.#addTaken(group, null)
    if (durability.mode !== 'always') return this.#show(framed)
    taken.isSettled = false
    durability.join((err) => {
      taken.err = err
      taken.isSettled = true
      if (this.#isAwaitingTaken) this.#callBackTaken()
    }, () => this.#show(framed))
  }

  /** @type {(group: AppendGroup, err: Error | null) => Taken} */
  #addTaken (group, err) {
    const taken = { group, err, isSettled: true }
    this.#taken.push(taken)
    return taken
  }

  /**
   * Joins the last two groups, if both were written. A program that flushes each append would make a long list. The
   * last group must have waited: nothing else knows it, so it can be used again.
   */
  #mergeTaken () {
    const { length } = this.#taken
    if (length - this.#takenIndex < 2) return
    const [before, last] = this.#taken.slice(-2)
    if (!before.isSettled || before.err !== null || !last.isSettled || last.err !== null) return
    before.group.addCalls(last.group)
    this.#waiting.giveBack(last.group)
    this.#taken.pop()
  }

  #callBackTaken () {
    const { group, err, isSettled } = this.#taken[this.#takenIndex]
    this.#isAwaitingTaken = !isSettled
    if (!isSettled) return
    if (++this.#takenIndex === this.#taken.length) {
      this.#taken = []
      this.#takenIndex = 0
    }
    nextTick(this.#callBack, group, err, 0)
  }

  /** @type {(size: number, before: number) => LogError} */
  #full (size, before) {
    const { blocks: { path }, store: { name }, end } = this.#file
    return new LogError('ERR_LOG_FULL', `append: ${path} ends at ${end + before} and cannot grow by ${size} in ${name}; ` +
      'copy it into a new log with `convert` of @millrace/migrate', { path })
  }

  /**
   * Fails each append that the file has no room for. Returns the others.
   * @type {(group: AppendGroup) => AppendGroup}
   */
  #cutToRoom (group) {
    const { store, lifecycle } = this.#file
    const kept = new AppendGroup()
    for (let index = 0; index < group.count; index++) {
      const done = group.dones[index]
      const records = group.recordsOf(index)
      const size = records.reduce((total, { length }) => total + length + store.frameOverhead, 0)
      if (store.writeSizeMax(kept.size + size) <= store.room) {
        const given = group.asking.get(index)
        if (given !== undefined) kept.asking.set(kept.count, given)
        kept.add(records, size, done)
        continue
      }
      const err = this.#full(size, kept.size)
      nextTick(() => {
        lifecycle.leave()
        this.free(size)
        done(err)
      })
    }
    return kept
  }
}

/** If nobody asks for all seqs. @type {AppendGroup['asking']} */
const NOBODY = new Map()

/**
 * Frames a group in which appends ask for all seqs, as if each record was appended alone: the bytes are the same.
 * @type {(store: import('./load').LogFile['store'], group: Asking, target: Buffer) => Packed}
 */
function frameEach (store, { records, ends, seqs, count, asking }, target) {
  const eachEnd = Array.from({ length: ends[count - 1] }, (_, index) => index + 1)
  /** @type {number[]} */
  const all = []
  const framed = store.frame({ records, ends: eachEnd, seqs: all, count: eachEnd.length }, target)
  for (let index = 0; index < count; index++) seqs[index] = all[ends[index] - 1]
  for (const [index, given] of asking) given.seqs = all.slice(index === 0 ? 0 : ends[index - 1], ends[index])
  return framed
}

// Fills used lists, so that they do not keep old records alive.
const NO_RECORD = Buffer.alloc(0)

/**
 * Appends that are written together, in lists that are reused. An object per append would take new memory each time,
 * and would evict the records that are to be copied from the processor's cache.
 */
class AppendGroup {
  /** The records of all appends, in order. @type {Buffer[]} */
  records = []
  /** Where the records of each append end in `records`. @type {number[]} */
  ends = []
  /** The seq of the last record of each append, once framed. @type {number[]} */
  seqs = []
  /** @type {Done[]} */
  dones = []
  /** The appends that ask for the seqs of all their records, by index: what they get. @type {Map<number, Given>} */
  asking = new Map()
  /** How many records and how many appends the group has: the lists may be longer. */
  recordCount = 0
  count = 0
  /** Of the frames, in bytes. */
  size = 0

  /**
   * @param {Buffer | Buffer[]} records  of one append; empty if it only waits for earlier appends
   * @param {number} size  of their frames
   * @param {Done} done
   */
  add (records, size, done) {
    const { count } = this
    if (Array.isArray(records)) for (const record of records) this.records[this.recordCount++] = record
    else this.records[this.recordCount++] = records
    this.ends[count] = this.recordCount
    // Without holes, the list stays an array of numbers, which is faster.
    this.seqs[count] = -1
    this.dones[count] = done
    this.count = count + 1
    this.size += size
  }

  /** @type {(records: Buffer | Buffer[], size: number, done: Done) => void} `done` gets the seqs of all records */
  addAsking (records, size, done) {
    const given = { seqs: [] }
    this.asking.set(this.count, given)
    this.add(records, size, (err) => err ? done(err) : done(null, given.seqs))
  }

  /** @type {(index: number) => Buffer[]} */
  recordsOf (index) {
    return this.records.slice(index === 0 ? 0 : this.ends[index - 1], this.ends[index])
  }

  /** Adds the callbacks of another group, without its records. @param {AppendGroup} other  written as this one was */
  addCalls (other) {
    for (let index = 0; index < other.count; index++) {
      this.seqs[this.count] = other.seqs[index]
      this.dones[this.count++] = other.dones[index]
    }
    this.size += other.size
  }

  clear () {
    this.records.fill(NO_RECORD, 0, this.recordCount)
    this.dones.fill(ignore, 0, this.count)
    this.recordCount = this.count = this.size = 0
    this.asking.clear()
  }
}

function ignore () {}

// One group is being written and one is filled, or two if the writer falls behind.
const SPARE_COUNT_MAX = 3
// Longer lists are not kept: a group has so many records only if they are tiny.
const KEPT_COUNT_MAX = 16 * 1024

/** The appends that wait, in order, already divided into groups. */
class AppendQueue {
  #sizeMax
  /** @type {AppendGroup[]} */
  #groups = []
  /** @type {AppendGroup | null} */
  #last = null
  /** @type {AppendGroup[]} */
  #spare = []

  /** @param {number} sizeMax  of the frames in a group, in bytes. Only a single append may be larger */
  constructor (sizeMax) {
    this.#sizeMax = sizeMax
  }

  get isEmpty () {
    return this.#last === null
  }

  /**
   * @param {number} size  of an append's frames; 0 if it only waits for earlier appends
   * @returns {AppendGroup}  the append must be added to it
   */
  groupFor (size) {
    const last = this.#last
    // Appends that only wait get groups of their own, because all groups before them must be written first.
    if (last !== null && last.size + size <= this.#sizeMax && (last.size === 0) === (size === 0)) return last
    const next = this.#spare.pop() ?? new AppendGroup()
    this.#groups.push(next)
    return (this.#last = next)
  }

  /** @returns {AppendGroup | null}  the first group, to which nothing is added any more; null if none waits */
  take () {
    const group = this.#groups.shift() ?? null
    if (group === this.#last) this.#last = null
    return group
  }

  /** @param {AppendGroup} group  from `take`, and no longer used */
  giveBack (group) {
    group.clear()
    const isLarge = group.records.length > KEPT_COUNT_MAX || group.dones.length > KEPT_COUNT_MAX
    if (!isLarge && this.#spare.length < SPARE_COUNT_MAX) this.#spare.push(group)
  }
}

exports.Appender = Appender
exports.AppendGroup = AppendGroup
exports.AppendQueue = AppendQueue
