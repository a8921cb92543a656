'use strict'
// What waits to be appended: commits, their queue, and the back-pressure on callers. A commit is the appends that are
// written together, and the state that they are in.
//
//     open ──> closed ──> writing ──> written ──> shown
//                ├──────────┴───────────┴───────────┴───> failed
//                └──> shown, if nothing is left to write
//
// - open: appends join
// - closed: no append joins any more, and what must be durable before the write is being made durable
// - writing: its frames are being written to the file
// - written: its frames are in the file. With `fsync: 'always'` it waits for a sync
// - shown: its records can be read in this process. Those that follow the file may see them once they are written
// - failed: `error` says why. Nothing of it is in the file, or the log is poisoned
//
// Once it is shown or has failed, the appender takes it from the queue and calls its appends back. Then the object is
// used again, and is open.
//
// Only the appender advances a commit: either by waiting, or at once, for `flushSync`. Whoever waited looks at the
// state afterwards, and goes on from there.

const { nextTick } = require('node:process')
const { overloaded } = require('./errors')

// Fills used lists, so that they do not keep old records alive.
const NO_RECORD = Buffer.alloc(0)
// One commit is being written and one is filled, or two if the writer falls behind.
const SPARE_COUNT_MAX = 3
// Longer lists are not kept: a commit has so many records only if they are tiny.
const KEPT_COUNT_MAX = 16 * 1024

/** @typedef {(err: Error | null, seq?: any) => void} Done  gets a seq, or a list of them */
/** @typedef {import('@millrace/framing').Packed} Packed */
/** @typedef {{ seqs: number[] }} Given  to an append that asks for the seqs of all its records, once framed */
/** @typedef {Pick<Commit, 'records' | 'ends' | 'seqs' | 'count'>} Frameable */

/**
 * The appends are in lists that are reused. An object per append would take new memory each time, and would evict the
 * records that are to be copied from the processor's cache.
 */
class Commit {
  /** @type {'open' | 'closed' | 'writing' | 'written' | 'shown' | 'failed'} */
  state = 'open'
  /** Its frames, once they are made. Their bytes are valid until it is shown. @type {Packed | null} */
  packed = null
  /** Set if it failed. @type {Error | null} */
  error = null
  /** The records of all appends, in order. @type {Buffer[]} */
  records = []
  /** Where the records of each append end in `records`. @type {number[]} */
  ends = []
  /** The seq of the last record of each append, once framed. @type {number[]} */
  seqs = []
  /** @type {Done[]} */
  dones = []
  /** Of the appends that ask for the seqs of all their records, by index. @type {Map<number, Given> | null} */
  asking = null
  /** How many records and how many appends it has: the lists may be longer. */
  recordCount = 0
  count = 0
  /** Of the frames, in bytes. */
  size = 0

  /**
   * @param {Buffer | Buffer[]} records  of one append; empty if it only waits for earlier appends
   * @param {number} size  of their frames
   * @param {Done} done
   * @param {boolean} [givesSeqs]  whether `done` gets the seqs of all records; else it gets the seq of the last one
   * @returns {Given | null}  these seqs
   */
  add (records, size, done, givesSeqs = false) {
    const { count } = this
    if (Array.isArray(records)) for (const record of records) this.records[this.recordCount++] = record
    else this.records[this.recordCount++] = records
    this.ends[count] = this.recordCount
    // Without holes, the list stays an array of numbers, which is faster.
    this.seqs[count] = -1
    this.dones[count] = done
    this.count = count + 1
    this.size += size
    return givesSeqs ? this.#giveSeqs(count, done) : null
  }

  /** @type {(index: number, done: Done) => Given} */
  #giveSeqs (index, done) {
    const given = { seqs: [] }
    this.asking ??= new Map()
    this.asking.set(index, given)
    // It has a name first, as in createSettler of flow: one that is assigned where it is written is not freed soon.
    const giveAll = (/** @type {Error | null | undefined} */ err) => err ? done(err) : done(null, given.seqs)
    this.dones[index] = giveAll
    return given
  }

  /** Whether an append has several records. */
  get hasBatch () {
    return this.recordCount > this.count
  }

  /** Whether the memory of a record is in another thread now. */
  hasTransferred () {
    return this.records.slice(0, this.recordCount).some(({ buffer, byteOffset }) => {
      try {
        return !new Uint8Array(buffer, byteOffset)
      } catch {
        return true
      }
    })
  }

  /** @type {(index: number) => Buffer[]} the records of one append */
  recordsOf (index) {
    return this.records.slice(index === 0 ? 0 : this.ends[index - 1], this.ends[index])
  }

  /**
   * Removes appends. It is not framed yet.
   * @param {(index: number) => number | null} keep  returns the size of an append that stays, null for one that goes
   */
  filter (keep) {
    const { count, dones, asking } = this
    const kept = new Commit()
    for (let index = 0; index < count; index++) {
      const size = keep(index)
      if (size === null) continue
      const given = asking?.get(index)
      if (given !== undefined) (kept.asking ??= new Map()).set(kept.count, given)
      kept.add(this.recordsOf(index), size, dones[index])
    }
    Object.assign(this, kept, { state: this.state })
  }

  /** Adds the callbacks of another commit, without its records. @param {Commit} other  both are shown */
  addCalls (other) {
    for (let index = 0; index < other.count; index++) {
      this.seqs[this.count] = other.seqs[index]
      this.dones[this.count++] = other.dones[index]
    }
    this.size += other.size
  }
}

function ignore () {}

/** The commits whose appends are not called back yet, in order. */
class CommitQueue {
  /** The appender takes commits from it, and adds none. @type {Commit[]} */
  list = []
  #sizeMax
  /** @type {Commit[]} */
  #spare = []

  /** @param {number} sizeMax  of the frames in a commit, in bytes. Only a single append may be larger */
  constructor (sizeMax) {
    this.#sizeMax = sizeMax
  }

  /**
   * @param {number} size  of an append's frames; 0 if it only waits for earlier appends
   * @returns {Commit}  the append must be added to it
   */
  openFor (size) {
    const last = this.list[this.list.length - 1]
    // Appends that only wait get commits of their own, because all commits before them must be written first.
    const mayJoin = last?.state === 'open' && last.size + size <= this.#sizeMax && (last.size === 0) === (size === 0)
    if (mayJoin) return last
    const next = this.#spare.pop() ?? new Commit()
    this.list.push(next)
    return next
  }

  /** The last ones, which are not in the file yet. */
  get unwritten () {
    const { list } = this
    let start = list.length
    while (start > 0 && isUnwritten(list[start - 1])) start--
    return list.slice(start)
  }

  /**
   * Joins the last two commits, if both are shown. A program that flushes each append would make a long list. The last
   * one must have been advanced at once: then nothing else knows it, and it can be used again.
   */
  joinLast () {
    const [before, last] = this.list.slice(-2)
    if (before?.state !== 'shown' || last?.state !== 'shown') return
    before.addCalls(last)
    before.packed = last.packed ?? before.packed
    this.list.pop()
    this.recycle(last)
  }

  /** @param {Commit} commit  is no longer used */
  recycle (commit) {
    const { records, dones } = commit
    records.fill(NO_RECORD, 0, commit.recordCount)
    dones.fill(ignore, 0, commit.count)
    commit.recordCount = commit.count = commit.size = 0
    commit.asking = commit.packed = commit.error = null
    commit.state = 'open'
    const isLarge = records.length > KEPT_COUNT_MAX || dones.length > KEPT_COUNT_MAX
    if (!isLarge && this.#spare.length < SPARE_COUNT_MAX) this.#spare.push(commit)
  }
}

/** @param {Commit} commit */
function isUnwritten ({ state }) {
  return state === 'open' || state === 'closed' || state === 'writing'
}

// Back-pressure: counts the bytes that wait, tells callers when to wait, and refuses more at the limit.

/** More than this need not wait: two full writes keep a writer busy. */
const DRAIN_SIZE = 2 ** 20

class BackPressure {
  /** Bytes of the appends that were accepted and have not called back. */
  size = 0
  #maxPendingSize
  #drainSize
  #path
  /** @type {import('@millrace/errors').LogError | null} */
  #overload = null
  /** Callbacks of `whenDrained`. @type {Array<() => void>} */
  #draining = []

  /**
   * @param {number} maxPendingSize  from here on, more is refused
   * @param {string} path  of the log, for the error of what is refused
   * @param {number} [drainSize]  above it, or above half of `maxPendingSize`, callers should wait
   */
  constructor (maxPendingSize, path, drainSize = DRAIN_SIZE) {
    this.#maxPendingSize = maxPendingSize
    this.#drainSize = Math.min(drainSize, maxPendingSize / 2)
    this.#path = path
  }

  /** Whether callers should wait before they append more. */
  get needsDrain () {
    return this.size > this.#drainSize
  }

  /**
   * Why further appends are refused; null while they are accepted. All refused appends share one error: a caller who
   * never waits would fill the memory with errors instead of records.
   */
  get overload () {
    if (this.size < this.#maxPendingSize) return null
    return (this.#overload ??= overloaded(this.#path, this.size, this.#maxPendingSize))
  }

  /** @param {() => void} cb  runs once `needsDrain` is false */
  whenDrained (cb) {
    if (this.needsDrain) this.#draining.push(cb)
    else cb()
  }

  /** @param {number} size  in bytes, of what waits from now on */
  reserve (size) {
    this.size += size
  }

  /** @param {number} size  in bytes, of what waits no more */
  free (size) {
    this.size -= size
    this.#overload = null
    if (this.#draining.length === 0 || this.needsDrain) return
    for (const cb of this.#draining.splice(0)) nextTick(cb)
  }
}

exports.BackPressure = BackPressure
exports.Commit = Commit
exports.CommitQueue = CommitQueue
