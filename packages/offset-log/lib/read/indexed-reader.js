'use strict'
// Reads a range with a filter by way of an index: candidates one by one, and what the index does not know as any range.
// It delivers what a scan delivers, in the same order, whatever the index names too much.

const { setImmediate } = require('node:timers')
const { TimeSlice, trampoline } = require('@millrace/flow')
const { LogError } = require('@millrace/errors')
const { Getter } = require('../getter')
const { NO_RECORDS, RecordRun } = require('../record-run')

const BUFFER_SIZE = 1024
const NO_BYTES = Buffer.alloc(0)
/** What is delivered at once: at most so many records, and not many more bytes. */
const COUNT_MAX = 1024
const RUN_SIZE = 256 * 1024
/** More memory is not kept for the next reader. */
const SPARE_SIZE_MAX = 2 * RUN_SIZE
/** What an index names and nothing is at: it was deleted, dropped or lost since, or never was a record. */
const NOTHING_THERE = ['ERR_RECORD_NOT_FOUND', 'ERR_LOG_SEQ_LOST', 'ERR_LOG_SEQ_RETAINED', 'flumelog:deleted']

/**
 * @typedef {import('../load').LogFile} LogFile
 * @typedef {import('../load').Reader} Reader
 * @typedef {import('../load').OpenRange} OpenRange
 * @typedef {import('../range').Range} Range
 * @typedef {import('../range').NextCallback} NextCallback
 * @typedef {import('../index-seam').FindCut} FindCut
 * @typedef {import('../codec').RecordFilter | import('../index-seam').RecordRunFilter} IsWanted
 * @typedef {import('../index-seam').Part} Part
 * @typedef {import('../index-seam').Parts} Parts
 */

/** Records that were copied into one buffer, one after the other. It is filled again and again. */
class CopiedRun extends RecordRun {
  #size = 0

  /** @param {number} capacity @param {Buffer} buffer */
  constructor (capacity, buffer) {
    super(capacity)
    this.buffer = buffer
  }

  /** Forgets what it has. */
  begin () {
    this.count = this.#size = 0
    this.isFull = false
  }

  get hasEnough () {
    return this.isFull || this.#size >= RUN_SIZE
  }

  /** @type {(seq: number, bytes: Buffer, from: number, to: number, left: number) => void} `left`: how many may come */
  copy (seq, bytes, from, to, left) {
    const start = this.#size
    const end = start + to - from
    if (end > this.buffer.length) this.#makeRoom(to - from, left)
    bytes.copy(this.buffer, start, from, to)
    this.add(seq, start, end)
    this.#size = end
  }

  /** For all that may come, if they are as large as this one. @type {(size: number, left: number) => void} */
  #makeRoom (size, left) {
    const used = this.#size
    const wanted = Math.min(used + size * (left + 1), Math.max(2 * (used + size), RUN_SIZE))
    const larger = Buffer.allocUnsafe(Math.max(BUFFER_SIZE, wanted))
    this.buffer.copy(larger, 0, 0, used)
    this.buffer = larger
  }
}

/**
 * Of a reader that has ended, for the next one: memory outside the heap makes the garbage collector run over all of it,
 * and to read twenty records took a third longer.
 * @type {CopiedRun | null}
 */
let spare = null

/** @type {(count: number, own: CopiedRun | null) => CopiedRun} empty, with room for so many; perhaps the own one */
function takeRun (count, own) {
  const run = own ?? spare
  if (own === null) spare = null
  if (run === null || run.seqs.length < count) return new CopiedRun(count, run?.buffer ?? NO_BYTES)
  run.begin()
  return run
}

/** @implements {Reader} */
class IndexedReader {
  #file
  #range
  #openRange
  #parts
  /** Where what is read of `#parts` now ends. */
  #partEnd
  /** @type {IsWanted} */
  #isWanted
  #getter
  #findCut
  /** Everything before it was delivered, in a read that is not reversed. */
  #position
  #positionBefore = 0
  /** What follows the part of the log that `#parts` is of. */
  #tailFrom
  /** Reads what the index does not know. @type {Reader | null} */
  #inner = null
  #isTail = false
  #isDone = false
  #lostBefore = { count: 0, size: 0 }
  /** Candidates that are not read yet, in order. @type {number[]} */
  #seqs = []
  /** One of them that cannot be read as a record: it is read as a range, which says why. */
  #unreadable = NaN
  /** What was delivered last. @type {RecordRun | null} */
  #run = null
  /** What is delivered is copied there. @type {CopiedRun | null} */
  #copied = null
  #isCopying = false
  /** So many are read at once: fewer after a deletion meanwhile, or beside many of them a read would have no end. */
  #countMax = COUNT_MAX
  #slice = new TimeSlice()

  /**
   * @param {LogFile} file
   * @param {Range} range
   * @param {{ openRange: OpenRange, parts: Parts, stop: number, isWanted: IsWanted, findCut: FindCut }} how
   *   `openRange`: without an index; `stop`: where `parts` ends
   */
  constructor (file, range, { openRange, parts, stop, isWanted, findCut }) {
    this.#file = file
    this.#range = range
    this.#openRange = openRange
    this.#parts = parts
    // Nearly all candidates match, so to search them for what a match must have would only take time. It has a name
    // first: assigned where it is written, V8 would put it into its old space (test/old-space.test.js of the index).
    /** @type {IsWanted} */
    const test = (buf, start, end, seq) => isWanted(buf, start, end, seq)
    this.#isWanted = test
    this.#findCut = range.reverse || range.skipsRetained ? () => null : findCut
    this.#position = this.#partEnd = range.from
    this.#tailFrom = Math.max(range.from, stop)
    this.#getter = new Getter(file)
  }

  get lost () {
    const { count, size } = this.#inner?.lost ?? { count: 0, size: 0 }
    return { count: this.#lostBefore.count + count, size: this.#lostBefore.size + size }
  }

  get isDone () {
    return this.#isDone || (this.#isTail && this.#inner !== null && this.#inner.isDone)
  }

  /**
   * @param {number} logEnd
   * @param {NextCallback} cb  may run before `next` returns
   */
  next (logEnd, cb) {
    this.#run = null
    trampoline((again) => {
      if (this.#inner !== null) return this.#readInner(this.#inner, logEnd, again, cb)
      if (this.#seqs.length > 0) return this.#readCandidates(logEnd, again, cb)
      if (this.#isDone) return cb(null, NO_RECORDS)
      /** @type {IteratorResult<Part>} */
      let part
      try {
        part = this.#parts.next()
      } catch (err) {
        return cb(/** @type {Error} */ (err))
      }
      if (part.done) return this.#beginTail(logEnd, again, cb)
      if ('seqs' in part.value) {
        const { seqs } = part.value
        this.#seqs = seqs
        this.#partEnd = seqs[seqs.length - 1] + 1
        return again()
      }
      const { from, to } = part.value
      this.#partEnd = to
      this.#open({ from, stop: to, skipsRetained: true }, again, cb)
    })
  }

  /** @type {(part: Partial<Range>, again: () => void, cb: NextCallback) => void} */
  #open (part, again, cb) {
    this.#openRange(this.#file, { ...this.#range, ...part }, (err, reader) => {
      if (err || !reader) return cb(err)
      this.#inner = reader
      again()
    })
  }

  /** @type {(inner: Reader, logEnd: number, again: () => void, cb: NextCallback) => void} */
  #readInner (inner, logEnd, again, cb) {
    inner.next(logEnd, (err, records) => {
      if (err || !records || this.#isTail) return cb(err, records)
      if (records.count > 0) return this.#deliver(records, cb)
      this.#lostBefore = this.lost
      this.#inner = null
      this.#endPart(again, cb)
    })
  }

  /** @type {(records: RecordRun, cb: NextCallback) => void} */
  #deliver (records, cb) {
    const cut = this.#findCut(this.#position)
    this.#positionBefore = this.#position
    this.#position = records.seqs[records.count - 1] + 1
    cb(cut, records)
  }

  /** @type {(again: () => void, cb: NextCallback) => void} */
  #endPart (again, cb) {
    const cut = this.#findCut(this.#position)
    if (cut) return cb(cut)
    if (this.#seqs.length === 0) this.#position = this.#partEnd
    again()
  }

  /** @type {(logEnd: number, again: () => void, cb: NextCallback) => void} */
  #beginTail (logEnd, again, cb) {
    const { reverse, live, stop } = this.#range
    if (reverse || this.#tailFrom >= stop || (!live && logEnd <= this.#tailFrom)) {
      this.#isDone = true
      return cb(null, NO_RECORDS)
    }
    this.#isTail = true
    this.#open({ from: this.#tailFrom }, again, cb)
  }

  /** @type {(logEnd: number, again: () => void, cb: NextCallback) => void} */
  #readCandidates (logEnd, again, cb) {
    const [seq] = this.#seqs
    if (seq === this.#unreadable) {
      this.#unreadable = NaN
      this.#seqs.shift()
      return this.#open({ from: seq, stop: seq + 1, skipsRetained: true }, again, cb)
    }
    // Much may be answered from the cache.
    if (this.#slice.isOver()) setImmediate(() => this.#readAll(logEnd, again, cb))
    else this.#readAll(logEnd, again, cb)
  }

  /** @type {(logEnd: number, again: () => void, cb: NextCallback) => void} */
  #readAll (logEnd, again, cb) {
    const { blocks, lifecycle } = this.#file
    const { rewriteCount } = blocks
    const count = Math.min(this.#seqs.length, this.#countMax)
    const run = this.#copied = takeRun(count, this.#copied)
    this.#isCopying = true
    this.#copy(run, count, logEnd, (passedCount) => {
      this.#isCopying = false
      // What was read first may have been deleted while the rest was read.
      if (rewriteCount !== blocks.rewriteCount && !lifecycle.isClosed) {
        this.#countMax = Math.ceil(count / 2)
        return again()
      }
      this.#countMax = Math.min(2 * this.#countMax, COUNT_MAX)
      this.#seqs = this.#seqs.slice(passedCount)
      if (run.count > 0) {
        this.#run = run
        this.#deliver(run, cb)
      } else if (this.#seqs[0] === this.#unreadable) {
        again()
      } else {
        this.#endPart(again, cb)
      }
    })
  }

  /**
   * Copies the first candidates into a run: as many as it takes, up to one that cannot be read.
   * @type {(run: CopiedRun, count: number, logEnd: number, done: (passedCount: number) => void) => void} `passedCount`:
   *   how many were copied, or are not there
   */
  #copy (run, count, logEnd, done) {
    const seqs = this.#seqs
    let passedCount = 0
    trampoline((next) => {
      if (passedCount === count || run.hasEnough) return done(passedCount)
      const seq = seqs[passedCount]
      const left = count - passedCount
      const { peek } = this.#file.store
      const isFound = seq < logEnd && peek.find(seq)
      if (isFound) run.copy(seq, peek.bytes, peek.start, peek.end, left)
      if (isFound || seq >= logEnd) {
        passedCount++
        return next()
      }
      this.#getter.readRecord(seq, (err, found) => {
        if (err && !isNothing(err)) {
          this.#unreadable = seq
          return done(passedCount)
        }
        if (!err && found && !found.isDeleted) run.copy(seq, found.data, 0, found.data.length, left)
        passedCount++
        next()
      })
    })
  }

  /** @type {Reader['applyFilter']} */
  applyFilter (records, codec) {
    if (this.#inner !== null) return this.#inner.applyFilter(records, codec)
    return records.applyFilter(this.#isWanted, codec.name)
  }

  /** @param {number} index */
  rewindTo (index) {
    const run = this.#run
    this.#position = this.#positionBefore
    if (run === null) return this.#inner?.rewindTo(index)
    this.#seqs = [...run.seqs.subarray(index, run.count), ...this.#seqs]
  }

  stopKeepingBytes () {
    this.#inner?.stopKeepingBytes()
  }

  release () {
    const run = this.#copied
    // One that was aborted may still wait for a record.
    if (run === null || this.#isCopying) return
    this.#copied = this.#run = null
    if (run.buffer.length <= SPARE_SIZE_MAX) spare = run
  }
}

/** @param {Error & { code?: string }} err */
function isNothing (err) {
  return err instanceof LogError && NOTHING_THERE.includes(err.code)
}

exports.IndexedReader = IndexedReader
