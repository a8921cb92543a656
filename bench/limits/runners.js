'use strict'
// A runner is one side of a row, ready in its process: what is timed, again and again, and what it comes to.

const fs = require('node:fs')
const { OffsetLog } = require('@millrace/offset-log')
const { createPrng } = require('../lib/prng')
const { BLOCK_SIZE, CODECS } = require('../lib/readers')
const { ByteTally, Counts, ValueTally } = require('../lib/tally')
const { HEAD_SIZE, PAGE_SIZE, crc32, walkPage } = require('./insides')

/**
 * @typedef {object} Runner
 * @property {() => number | Promise<number>} sample  does the work once; gives its time, or its bytes
 * @property {() => Answer | Promise<Answer>} finish  lets go of everything; says what was done
 */

/** @typedef {import('../lib/run').Answer} Answer */
/** @typedef {import('@millrace/offset-log').Chunk} Chunk */
/** @typedef {ReturnType<typeof OffsetLog>} Log */

const EVERY = 1000
// Which blocks the digest is of.
const BLOCKS_EVERY = 100
// What the log reads at once.
const SPAN_SIZE = 256 * 1024
const RECORD_SIZE = 690
const SEED = 690

/**
 * @param {() => unknown} work
 * @returns {Promise<number>}  ms
 */
async function time (work) {
  const started = performance.now()
  await work()
  return performance.now() - started
}

/**
 * @param {() => void} work
 * @returns {number}  ms
 */
function timeSync (work) {
  const started = performance.now()
  work()
  return performance.now() - started
}

/**
 * A side that measures nothing.
 * @param {number} value
 * @param {Answer} [answer]
 */
function createLimit (value, answer = {}) {
  return () => ({ sample: () => value, finish: () => answer })
}

/**
 * Records to append: as long as the bench's messages are, and nothing in them that repeats.
 * @param {number} count
 * @returns {Buffer[]}  of RECORD_SIZE bytes each, the same ones every time
 */
function createRecords (count) {
  const { uint32 } = createPrng(SEED)
  return Array.from({ length: count }, () => {
    const record = Buffer.allocUnsafe(RECORD_SIZE)
    for (let offset = 0; offset + 4 <= RECORD_SIZE; offset += 4) record.writeUInt32LE(uint32(), offset)
    return record.fill(0xff, RECORD_SIZE - RECORD_SIZE % 4)
  })
}

/**
 * A log of commits with the same records each.
 * @param {string} file
 * @param {{ commitCount: number, recordsPerCommit: number }} work
 */
async function writeCommits (file, { commitCount, recordsPerCommit }) {
  const log = OffsetLog(file, { framing: 'checked', fsync: 'never' })
  const records = createRecords(recordsPerCommit)
  // Each is a commit of its own, since it waits for the one before.
  for (let left = commitCount; left > 0; left--) await log.append(records)
  await log.close()
}

/**
 * The floor of every scan: the file read into one buffer, block by block, and nothing done with it.
 * @param {string} path
 * @param {{ isTallied?: boolean }} [options]  whether its answer is about the blocks too
 * @returns {Runner}
 */
function openBareLoop (path, { isTallied = false } = {}) {
  const fd = fs.openSync(path, 'r')
  const buf = Buffer.alloc(BLOCK_SIZE)
  let bytes = 0
  return {
    sample: () => timeSync(() => {
      for (let bytesRead = -1, position = 0; bytesRead !== 0; bytes = position) {
        bytesRead = fs.readSync(fd, buf, 0, buf.length, position)
        position += bytesRead
      }
    }),
    finish () {
      const tally = new ByteTally({ every: BLOCKS_EVERY })
      const end = isTallied ? bytes : 0
      for (let position = 0; position < end; position += BLOCK_SIZE) {
        tally.visit(position, buf, 0, fs.readSync(fd, buf, 0, buf.length, position))
      }
      fs.closeSync(fd)
      const { seqDigest, ...answer } = tally.result()
      return isTallied ? { bytes, ...answer } : /** @type {Answer} */ ({ bytes })
    }
  }
}

/**
 * The least that a verified scan can be: the file read, a checksum of all of it, compared with nothing, and the way
 * from one record to the next.
 * @param {string} path  of a checked log
 * @returns {Runner}
 */
function openSummedLoop (path) {
  const fd = fs.openSync(path, 'r')
  const span = Buffer.allocUnsafeSlow(SPAN_SIZE)
  const view = new DataView(span.buffer)
  let counts = new Counts()
  let bytes = 0
  return {
    sample: () => timeSync(() => {
      counts = new Counts()
      bytes = 0
      for (let size = -1; size !== 0; bytes += size) {
        size = fs.readSync(fd, span, 0, SPAN_SIZE, bytes)
        if (size > 0) crc32(size === SPAN_SIZE ? span : span.subarray(0, size))
        for (let start = bytes === 0 ? HEAD_SIZE : 0; start < size; start += PAGE_SIZE) {
          walkPage(view, start, Math.min(size, start + PAGE_SIZE), counts)
        }
      }
    }),
    finish () {
      fs.closeSync(fd)
      return { bytes, records: counts.records, delivered: counts.delivered }
    }
  }
}

/**
 * A scan of a whole log, counted by the chunk: next to nothing beside a loop that only reads.
 * @param {string} path
 * @param {object} [options]  of the log
 * @returns {Promise<Runner>}
 */
function openScan (path, options) {
  return openTally(path, options, async (log) => {
    const counts = new Counts()
    await log.scan({}, (/** @type {Chunk} */ chunk) => counts.addChunk(chunk))
    return counts
  })
}

/**
 * @param {string} path
 * @param {object | undefined} options  of the log
 * @param {(log: Log) => Promise<Counts>} scan  what is timed
 * @returns {Promise<Runner>}
 */
async function openTally (path, options, scan) {
  const log = OffsetLog(path, { blockSize: BLOCK_SIZE, flags: 'r', ...options })
  await log.ready()
  let counts = new Counts()
  return {
    sample: () => time(async () => { counts = await scan(log) }),
    async finish () {
      const { digest, seqSum, delivered, records } = await tallyLog(log)
      checkCounts(counts, { seqSum, delivered, records })
      await log.close()
      return { records, delivered, digest, seqSum }
    }
  }
}

/**
 * @param {Counts} counts
 * @param {{ records: number, delivered: number, seqSum: number }} again
 */
function checkCounts (counts, { records, delivered, seqSum }) {
  if (records === counts.records && delivered === counts.delivered && seqSum === counts.seqSum) return
  throw new Error(`two runs gave ${records} and ${counts.records} records, or not the same ones`)
}

/**
 * As the layer `log` of the bench tallies a log.
 * @param {string} path
 * @returns {Promise<import('../lib/tally').TallyResult>}
 */
async function measureLog (path) {
  const log = OffsetLog(path, { blockSize: BLOCK_SIZE, flags: 'r' })
  const result = await tallyLog(log)
  await log.close()
  return result
}

/** @param {Log} log */
async function tallyLog (log) {
  const tally = new ByteTally({ every: EVERY })
  await log.scan({}, (/** @type {Chunk} */ { buffer, count, seqs, starts, ends }) => {
    for (let index = 0; index < count; index++) tally.visit(seqs[index], buffer, starts[index], ends[index])
  })
  return tally.result()
}

/**
 * What a reader shows, and how it is tallied.
 * @typedef {object} Kind
 * @property {boolean} [values]  it shows values, not bytes
 * @property {'json' | 'binary'} [decode]  the digest is of the values in the bytes: those of two formats compare so
 * @property {number} [every]  which of them the digest is of
 * @property {Array<keyof import('../lib/tally').TallyResult>} keys  what both sides of a row, and the log that was
 *   prepared, must agree in. Seqs of two logs differ, and so do the bytes of two formats
 */

/**
 * Times a reader, and checks what it delivered: by counts within the time, by a digest after it.
 * @param {import('../lib/readers').Reader<any> | Promise<import('../lib/readers').Reader<any>>} opening
 * @param {Kind} kind
 * @returns {Promise<Runner>}
 */
async function timeReader (opening, { values = false, decode, every = EVERY, keys }) {
  const reader = await opening
  let counts = new Counts()
  return {
    sample () {
      const timed = counts = new Counts()
      /** @type {Counts['visit']} */
      const visit = (seq, one, start, end) => timed.visit(seq, one, start, end)
      return time(() => reader.run(visit))
    },
    async finish () {
      const check = new Counts()
      const tally = values || decode ? new ValueTally({ every }) : new ByteTally({ every })
      const codec = decode && CODECS[decode]
      /** @type {Counts['visit']} */
      const visit = (seq, one, start = 0, end = 0) => {
        check.visit(seq, one, start, end)
        tally.visit(seq, codec ? codec.decodeRange(one, start, end) : one, start, end)
      }
      await reader.run(visit)
      await reader.close()
      checkCounts(counts, check)
      const result = tally.result()
      return Object.fromEntries(keys.map((key) => [key, result[key]]))
    }
  }
}

exports.time = time
exports.timeSync = timeSync
exports.createLimit = createLimit
exports.createRecords = createRecords
exports.writeCommits = writeCommits
exports.openBareLoop = openBareLoop
exports.openSummedLoop = openSummedLoop
exports.openScan = openScan
exports.openTally = openTally
exports.measureLog = measureLog
exports.timeReader = timeReader
exports.BLOCKS_EVERY = BLOCKS_EVERY
exports.RECORD_SIZE = RECORD_SIZE
