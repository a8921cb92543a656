'use strict'
// Appends: groups those that are made during a write into one commit, so that they share a write. With
// `fsync: 'always'` they share a sync, too. The states of a commit are in commit.js.

const { performance } = require('node:perf_hooks')
const { nextTick } = require('node:process')
const { setImmediate } = require('node:timers')
const { LogError } = require('@millrace/errors')
const { ScratchBuffer } = require('@millrace/flow')
const { BackPressure, CommitQueue } = require('./commit')
const { tooLargeToAppend, transferred } = require('./errors')

// A larger write is no faster, and its first callers would wait longer.
const WRITE_SIZE_MAX = 512 * 1024
// A batch is one write, from one buffer.
const BATCH_SIZE_MAX = 2 ** 31
// If writes and syncs complete without waiting, nothing else in the process would run. So the appender yields to the
// event loop after this time.
const TURN_MS = 4

/** @typedef {import('./commit').Done} Done */
/** @typedef {import('./commit').Commit} Commit */
/** @typedef {import('@millrace/framing').Packed} Packed */

class Appender {
  #file
  #commits = new CommitQueue(WRITE_SIZE_MAX)
  /** Each write is framed here. */
  #target = new ScratchBuffer()
  #turnStartMs = 0
  /** Whether the first commit is being advanced or told. */
  #isRunning = false
  /** Callbacks of `pause`: the first one has paused the appender, the others wait for it. @type {Array<() => void>} */
  #pausers = []

  /** @param {import('./load').LogFile} file */
  constructor (file) {
    this.#file = file
    const { maxPendingSize, blocks: { path }, durability } = file
    /** The appends that were accepted and have not called back. */
    this.backPressure = new BackPressure(maxPendingSize, path)
    durability.onSynced = this.#showUpTo
  }

  /**
   * @param {Buffer | Buffer[]} records  an array is a batch. They must not change until `done` runs
   * @param {number} dataSize  of the records together, in bytes
   * @param {Done} done  never runs before this returns
   * @param {boolean} givesSeqs  whether `done` gets the seqs of all records; else it gets the seq of the last one
   */
  append (records, dataSize, done, givesSeqs) {
    const { store } = this.#file
    const size = dataSize + (Array.isArray(records) ? records.length : 1) * store.frameOverhead
    // The exact bound is computed only for large appends.
    const sizeMax = size <= WRITE_SIZE_MAX ? 0 : store.writeSizeMax(size)
    if (sizeMax > BATCH_SIZE_MAX) return nextTick(done, tooLargeToAppend('a batch', sizeMax, BATCH_SIZE_MAX))
    const commit = this.#commits.openFor(size)
    commit.add(records, size, done, givesSeqs)
    this.backPressure.reserve(size)
    this.#start()
  }

  /** @param {() => void} cb  runs once all earlier appends have called back */
  flush (cb) {
    if (!this.#isRunning && this.#commits.list.length === 0) cb()
    else this.append([], 0, () => cb(), false)
  }

  /**
   * Whether a record that was appended and cannot be read yet matches. Of those, all bytes are in memory.
   * @param {(record: Buffer) => boolean} isMatch
   */
  hasUnread (isMatch) {
    return this.#commits.list.some(({ state, records, recordCount }) => {
      if (state === 'shown' || state === 'failed') return false
      for (let index = 0; index < recordCount; index++) if (isMatch(records[index])) return true
      return false
    })
  }

  /** Makes appends wait until `resume`. @returns {Promise<void>}  resolves once no write is in progress */
  pause () {
    return new Promise((resolve) => {
      this.#pausers.push(resolve)
      if (!this.#isRunning && this.#pausers.length === 1) resolve()
    })
  }

  /** Lets the next caller of `pause` run. If there is none, the appends that have waited are written. */
  resume () {
    this.#pausers.shift()
    if (this.#pausers.length > 0) this.#pausers[0]()
    else this.#start()
  }

  #start () {
    if (this.#isRunning || this.#pausers.length > 0 || this.#commits.list.length === 0) return
    this.#isRunning = true
    // In the next tick, so that appends made until then join the commit.
    nextTick(this.#run)
  }

  /** Goes on with the first commit. What `flushNow` has written is told even while the appender is paused. */
  #run = () => {
    const [first] = this.#commits.list
    if (first !== undefined && (first.state !== 'open' || this.#pausers.length === 0)) return this.#advance(first)
    this.#isRunning = false
    this.#pausers[0]?.()
  }

  /**
   * Waits until the commit is shown, and as durable as the log promises, or has failed. Then it is told. With
   * `fsync: 'always'` its sync shows it, by `#showUpTo`. Meanwhile `flushNow` may advance it, and others after it.
   * @param {Commit} commit
   */
  async #advance (commit) {
    const { blocks, store, durability } = this.#file
    try {
      const sizeMax = commit.state === 'open' ? this.#close(commit) : 0
      if (commit.state === 'closed') {
        const preparing = store.checkpoints.prepareAppend(sizeMax, commit)
        // If `flushNow` has written the commit meanwhile, it did what was to be prepared.
        if (preparing !== null) await preparing.catch((err) => { if (commit.state === 'closed') throw err })
      }
      if (commit.state === 'closed' && store.isLines) {
        const announcing = store.announce(this.#frame(commit, this.#target.ofSize(sizeMax)), commit)
        if (announcing !== null) await announcing.catch((err) => { if (commit.state === 'closed') throw err })
      }
      if (commit.state === 'closed') {
        const packed = commit.packed ?? this.#frame(commit, this.#target.ofSize(sizeMax))
        commit.state = 'writing'
        const writing = blocks.beginAppend(packed.bytes)
        if (writing !== null) await writing
      }
      if (commit.state === 'writing') this.#noteWritten(commit)
      if (durability.mode === 'always' && commit.packed !== null && commit.error === null) {
        await durability.syncUpTo(commit.packed.seq)
      }
    } catch (err) {
      this.#fail(commit, /** @type {Error} */ (err))
    }
    nextTick(this.#tell, commit, 0)
  }

  /**
   * No append joins the commit from now on. Those that the file has no room for fail.
   * @param {Commit} commit  is shown if nothing is left to write
   * @returns {number}  an upper bound of its bytes in the file
   * @throws ERR_LOG_POISONED
   */
  #close (commit) {
    const { store, durability } = this.#file
    commit.state = 'closed'
    if (durability.error !== null && commit.size > 0) throw durability.error
    let sizeMax = store.writeSizeMax(commit.size)
    if (sizeMax > store.room) {
      this.#cutToRoom(commit)
      sizeMax = store.writeSizeMax(commit.size)
    }
    if (commit.size === 0) commit.state = 'shown'
    return sizeMax
  }

  /** @type {(commit: Commit, target: Buffer) => Packed} */
  #frame (commit, target) {
    const { store, blocks } = this.#file
    try {
      return (commit.packed = commit.asking === null ? store.frame(commit, target) : frameEach(store, commit, target))
    } catch (err) {
      throw commit.hasTransferred() ? transferred(blocks.path) : err
    }
  }

  /** @param {Commit} commit  is in the file */
  #noteWritten (commit) {
    const { store, durability } = this.#file
    const packed = /** @type {Packed} */ (commit.packed)
    commit.state = 'written'
    store.noteWritten(packed)
    this.#file.writtenSince = packed.seq
    durability.noteWritten()
    if (durability.mode !== 'always') this.#show(commit)
  }

  /** Makes the records readable, and wakes the live streams that wait for them. @param {Commit} commit */
  #show (commit) {
    const { store, since, waitingStreams } = this.#file
    const packed = /** @type {Packed} */ (commit.packed)
    commit.state = 'shown'
    store.show(packed)
    since.set(packed.seq)
    // Before the appends call back, as in flumelog-offset: a view of flumedb then has a record when its append is done.
    if (waitingStreams.size > 0) waitingStreams.wake()
  }

  /** @param {number} since  the records up to this one are synced */
  #showUpTo = (since) => {
    for (const commit of this.#commits.list) {
      if (commit.state === 'written' && /** @type {Packed} */ (commit.packed).seq <= since) this.#show(commit)
    }
  }

  /** Whether `appendNow` has returned a seq whose record is shown later. @param {number} seq */
  hasReturned (seq) {
    return seq > this.#file.since.value && this.#commits.list.some(({ state, count, packed }) => {
      return state === 'written' && count === 0 && seq <= /** @type {Packed} */ (packed).seq
    })
  }

  /** @type {(commit: Commit, err: Error) => void} */
  #fail (commit, err) {
    commit.state = 'failed'
    commit.error = this.#file.durability.noteFailedWrite(err)
  }

  /**
   * Calls back all appends of a commit, in order and in a later tick than the appends. Then goes on with the next
   * commit.
   * @param {Commit} commit
   * @param {number} index  of the first append to call back
   */
  #tell = (commit, index) => {
    const { dones, seqs, count, error } = commit
    if (index === 0) {
      // First: whoever is called back may append again.
      this.#commits.list.shift()
      this.backPressure.free(commit.size)
    }
    try {
      while (index < count) {
        const done = dones[index]
        const seq = seqs[index++]
        if (error !== null) done(error)
        else done(null, seq)
      }
    } finally {
      // If a callback throws, the others still run.
      if (index < count) {
        nextTick(this.#tell, commit, index)
      } else {
        this.#commits.recycle(commit)
        if (performance.now() - this.#turnStartMs < TURN_MS) nextTick(this.#run)
        else setImmediate(this.#runInNewTurn)
      }
    }
  }

  #runInNewTurn = () => {
    this.#turnStartMs = performance.now()
    this.#run()
  }

  /** Whether `flushNow` may be called: it must overtake neither a truncation nor the end of a compaction. */
  get canFlushNow () {
    const { blocks, replacement } = this.#file
    return blocks.canWriteNow && replacement.takesWrites
  }

  /**
   * Writes all appends that wait, before it returns. The callbacks run later, in the order of the appends.
   * @param {boolean} isSynced  whether to sync too
   * @throws the first failure; the appends that failed get it too
   */
  flushNow (isSynced) {
    const { durability } = this.#file
    /** @type {unknown} */
    let failure = null
    const commits = durability.error === null ? this.#commits.unwritten : []
    for (const commit of commits) {
      if (commit.state === 'writing') this.#takeOver(commit)
      else if (durability.error === null) failure ??= this.#writeNow(commit)
    }
    try {
      if (isSynced) durability.syncNow()
    } catch (err) {
      failure ??= err
    }
    // With `fsync: 'always'` they are shown since the sync.
    for (let left = commits.length; left > 0; left--) this.#commits.joinLast()
    this.#start()
    if (failure !== null) throw failure
  }

  /** Completes the write under way. @param {Commit} commit  is being written */
  #takeOver (commit) {
    const { blocks } = this.#file
    blocks.appendAllNow()
    // If the write had failed before, nothing is completed, and whoever waits for it gets the error.
    if (blocks.size.value < /** @type {Packed} */ (commit.packed).tail.end) return
    // A thread of the pool may still write the old memory.
    this.#target = new ScratchBuffer()
    this.#noteWritten(commit)
  }

  /** @type {(commit: Commit) => Error | null} why it failed */
  #writeNow (commit) {
    const { blocks, store, durability } = this.#file
    try {
      const sizeMax = this.#close(commit)
      if (commit.state !== 'closed') return null
      store.checkpoints.prepareAppendNow(sizeMax, commit)
      // With `fsync: 'always'` it is shown once it is durable. Until then its memory must not be used again.
      const target = durability.mode === 'always' ? Buffer.allocUnsafeSlow(sizeMax) : this.#target.ofSize(sizeMax)
      const packed = this.#frame(commit, target)
      if (store.isLines) store.announceNow(packed, commit)
      commit.state = 'writing'
      blocks.appendNow(packed.bytes)
      this.#noteWritten(commit)
    } catch (err) {
      this.#fail(commit, /** @type {Error} */ (err))
    }
    return commit.error
  }

  /**
   * Appends before it returns, after all earlier appends. It takes a third of the time of `append` and `flushNow`.
   * @param {Buffer[]} records  at least one
   * @param {number} dataSize  of the records together, in bytes
   * @param {boolean} isSynced  whether to sync too
   * @param {boolean} givesSeqs
   * @returns {number | number[]}  the seq of the last record; with `givesSeqs`, those of all
   * @throws the failure. If only the sync fails, the records are written and the log is poisoned
   */
  appendNow (records, dataSize, isSynced, givesSeqs) {
    const { store, durability } = this.#file
    const { list } = this.#commits
    if (list.length > 0 && this.#commits.unwritten.length > 0) this.flushNow(false)
    if (durability.error !== null) throw durability.error
    const size = dataSize + records.length * store.frameOverhead
    const sizeMax = store.writeSizeMax(size)
    if (sizeMax > BATCH_SIZE_MAX) throw tooLargeToAppend('a batch', sizeMax, BATCH_SIZE_MAX)
    if (sizeMax > store.room) throw this.#full(size, 0)
    const commit = this.#commits.openFor(size)
    const given = commit.add(records, size, ignore, givesSeqs)
    const failure = this.#writeNow(commit)
    const seq = commit.seqs[0]
    // Nobody is called back.
    commit.count = commit.size = 0
    if (commit.state === 'written') {
      this.#start()
    } else {
      list.pop()
      this.#commits.recycle(commit)
    }
    if (failure !== null) throw failure
    if (isSynced) durability.syncNow()
    if (list.length > 1) this.#commits.joinLast()
    return given?.seqs ?? seq
  }

  /** @type {(size: number, before: number) => LogError} */
  #full (size, before) {
    const { blocks: { path }, store: { name }, logEnd: end } = this.#file
    return new LogError('ERR_LOG_FULL', `append: ${path} ends at ${end + before} and cannot grow by ${size} in ${name}; ` +
      'copy it into a new log with `convert` of @millrace/migrate', { path })
  }

  /** Removes each append that the file has no room for, and fails it. @param {Commit} commit */
  #cutToRoom (commit) {
    const { store } = this.#file
    let keptSize = 0
    commit.filter((index) => {
      const records = commit.recordsOf(index)
      const size = records.reduce((total, { length }) => total + length + store.frameOverhead, 0)
      if (store.writeSizeMax(keptSize + size) <= store.room) {
        keptSize += size
        return size
      }
      const done = commit.dones[index]
      const err = this.#full(size, keptSize)
      nextTick(() => {
        this.backPressure.free(size)
        done(err)
      })
      return null
    })
  }
}

/**
 * Frames a commit in which appends ask for all seqs, as if each record was appended alone: the bytes are the same.
 * @type {(store: import('./load').LogFile['store'], commit: Commit, target: Buffer) => Packed}
 */
function frameEach (store, { records, ends, seqs, count, asking }, target) {
  const eachEnd = Array.from({ length: ends[count - 1] }, (_, index) => index + 1)
  /** @type {number[]} */
  const all = []
  const packed = store.frame({ records, ends: eachEnd, seqs: all, count: eachEnd.length }, target)
  for (let index = 0; index < count; index++) seqs[index] = all[ends[index] - 1]
  for (const [index, given] of asking ?? []) given.seqs = all.slice(index === 0 ? 0 : ends[index - 1], ends[index])
  return packed
}

function ignore () {}

exports.Appender = Appender
