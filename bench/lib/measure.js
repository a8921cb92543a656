'use strict'
// What happens in a measuring process: the clock, samples, calls that may come back at once or later, and what is kept
// of the items that are shown: exact counts of all, and a digest of a sample. Samples are copied, and hashed after the
// clock has stopped, since hashing all of it would take longer than reading it.

const { createHash } = require('node:crypto')
const fs = require('node:fs')
const { median } = require('./report')

/** @typedef {(err: Error | null | undefined, buf?: any) => void} OnRead */

// Processor time is of all threads of the process. On a machine that others use it varies far less than time on the
// clock: notes/against.md has figures. It says nothing of waiting.
const IS_PROCESSOR_TIME = process.env.MILLRACE_BENCH_CLOCK === 'processor'

/** @returns {number}  ms */
function readClock () {
  if (!IS_PROCESSOR_TIME) return performance.now()
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

/**
 * @param {() => unknown} work
 * @returns {Promise<number>}  ms
 */
async function time (work) {
  const started = readClock()
  await work()
  return readClock() - started
}

/**
 * Processor time of the main thread alone, where the system tells it.
 * @param {() => unknown} work
 * @returns {Promise<number>}  ms
 */
async function timeThread (work) {
  const started = readThreadClock()
  await work()
  return readThreadClock() - started
}

function readThreadClock () {
  try {
    const [nanoseconds] = fs.readFileSync('/proc/thread-self/schedstat', 'latin1').split(' ')
    return Number(nanoseconds) / 1e6
  } catch {
    return readClock()
  }
}

/**
 * The first sample is kept apart: nothing is compiled by then, and no cache is filled.
 * @param {number} count  of samples after the first
 * @param {() => number | Promise<number>} sample
 * @returns {Promise<{ first: number, value: number }>}  `value` is the median of those after the first, or the first
 *   where it is the only one; of processor time it is the mean, without those of the first quarter
 */
async function takeSamples (count, sample) {
  const first = await sample()
  /** @type {number[]} */
  const rest = []
  while (rest.length < count) rest.push(await sample())
  if (rest.length === 0) return { first, value: first }
  if (!IS_PROCESSOR_TIME) return { first, value: median(rest) }
  const warm = rest.slice(rest.length >> 2)
  return { first, value: warm.reduce((sum, value) => sum + value) / warm.length }
}

/**
 * The memory of a process, in bytes. `resourceUsage` is never below the peak of the parent process, so ask Linux.
 * @param {number | 'self'} pid  elsewhere only of this process
 * @param {'VmRSS' | 'VmHWM'} field  what is resident now, or was at most
 * @returns {number}
 */
function memoryOf (pid, field = 'VmRSS') {
  const status = `/proc/${pid}/status`
  if (!fs.existsSync(status)) return field === 'VmHWM' ? process.resourceUsage().maxRSS * 1024 : process.memoryUsage.rss()
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(fs.readFileSync(status, 'utf8'))?.[1]) * 1024
}

/**
 * What takes a callback, as a promise.
 * @param {(cb: (err?: any, value?: any) => void) => void} start
 * @returns {Promise<any>}
 */
function call (start) {
  return new Promise((resolve, reject) => start((err, value) => err ? reject(err) : resolve(value)))
}

/**
 * Keeps so many calls under way, without growing the stack where they call back at once.
 * @param {number} count  of calls in all
 * @param {number} inFlight  at most, at any time
 * @param {(index: number, cb: (err: any) => void) => void} call
 * @returns {Promise<void>}  once all have answered
 */
function runPipeline (count, inFlight, call) {
  return new Promise((resolve, reject) => {
    let [begun, done, isPumping] = [0, 0, false]
    if (count === 0) resolve()

    /** @param {any} err */
    const onAnswer = (err) => {
      if (err) return reject(err)
      done++
      if (done === count) return resolve()
      if (!isPumping) pump()
    }

    const pump = () => {
      isPumping = true
      while (begun < count && begun - done < inFlight) call(begun++, onAnswer)
      isPumping = false
    }

    pump()
  })
}

/**
 * Reads a file range by range, one read at a time. One callback for all of them: the harness must cost next to nothing
 * beside what it measures.
 * @param {{ size: number, step: number }} range  bytes: the file's, and each read's; the last may be shorter
 * @param {(start: number, end: number, cb: OnRead) => void} read
 * @param {(seq: number, buf: Uint8Array, start: number, end: number) => void} visit
 * @returns {Promise<void>}
 */
function eachRange ({ size, step }, read, visit) {
  let start = 0
  /** @type {(err: any) => void} */
  let next
  /** @type {OnRead} */
  const onRead = (err, buf) => {
    if (!err) visit(start, buf, 0, buf.length)
    next(err)
  }
  return runPipeline(Math.ceil(size / step), 1, (index, cb) => {
    start = index * step
    next = cb
    read(start, Math.min(start + step, size), onRead)
  })
}

/**
 * @typedef {object} TallyResult
 * @property {number} records  how many items were delivered
 * @property {number} delivered  their bytes; 0 where values were delivered
 * @property {number} seqSum  the exact sum of their seqs or positions
 * @property {string} seqDigest  of the seqs of the sampled items
 * @property {string} digest  of the bytes or values of the sampled items
 */

/**
 * V8 keeps a double in the field of a class without allocating at each write; in a variable of a closure it does not.
 */
class Counts {
  constructor () {
    this.records = 0
    this.delivered = 0
    this.seqSum = 0
  }

  /**
   * @param {number} seq
   * @param {any} item  borrowed bytes, with start and end, or a value
   * @param {number} [start]
   * @param {number} [end]
   */
  visit (seq, item, start, end) {
    this.records++
    this.seqSum += seq
    if (start !== undefined && end !== undefined) this.delivered += end - start
  }

  /** @param {Pick<Counts, 'records' | 'delivered' | 'seqSum'>} counts */
  add ({ records, delivered, seqSum }) {
    this.records += records
    this.delivered += delivered
    this.seqSum += seqSum
  }

  /** @param {import('@millrace/offset-log').RecordRun} chunk  no call for a record */
  addRecords ({ count, seqs, starts, ends }) {
    let [delivered, seqSum] = [0, 0]
    for (let index = 0; index < count; index++) {
      delivered += ends[index] - starts[index]
      seqSum += seqs[index]
    }
    this.add({ records: count, delivered, seqSum })
  }
}

/** Counts all that it visits, and keeps a sample. */
class Tally extends Counts {
  /** @param {{ every: number }} options  1 keeps all, 1000 every thousandth, from the first on */
  constructor ({ every }) {
    super()
    this.every = every
    /** @type {number[]} */
    this.seqs = []
    /** @type {any[]} */
    this.samples = []
  }

  /**
   * @param {number} seq
   * @param {any} item  borrowed bytes, with start and end: a sample is copied; or a value
   * @param {number} [start]
   * @param {number} [end]
   */
  visit (seq, item, start, end) {
    if (this.records % this.every === 0) {
      this.seqs.push(seq)
      this.samples.push(start === undefined ? item : Buffer.from(item.subarray(start, end)))
    }
    super.visit(seq, item, start, end)
  }

  /** @returns {TallyResult} */
  result () {
    const { records, delivered, seqSum } = this
    // A sum past 2^53 would round, and two stacks that differ could then look alike. 2^53 is far off: 8e13 for 343 MB.
    if (!Number.isSafeInteger(seqSum)) throw new Error(`the sum of the seqs is not exact: ${seqSum}`)
    return { records, delivered, seqSum, seqDigest: hash(this.seqs), digest: hash(this.samples) }
  }
}

/**
 * Each part is preceded by its length, so that "ab" + "c" is not "a" + "bc".
 * @param {any[]} parts  bytes, or values
 * @returns {string}  the first 64 bits of a SHA-256
 */
function hash (parts) {
  const sha = createHash('sha256')
  for (const part of parts) {
    const bytes = Buffer.isBuffer(part) ? part : Buffer.from(JSON.stringify(part) ?? 'undefined')
    sha.update(`${bytes.length}:`).update(bytes)
  }
  return sha.digest('hex').slice(0, 16)
}

exports.time = time
exports.timeThread = timeThread
exports.takeSamples = takeSamples
exports.memoryOf = memoryOf
exports.call = call
exports.runPipeline = runPipeline
exports.eachRange = eachRange
exports.Counts = Counts
exports.Tally = Tally
