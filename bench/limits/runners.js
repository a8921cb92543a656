'use strict'
// A runner is one side of a row, ready in its process: what is timed, again and again, and what it comes to.

const fs = require('node:fs')
const { OffsetLog } = require('@millrace/offset-log')
const { createPrng } = require('../lib/prng')
const { BLOCK_SIZE, CODECS, openRecords } = require('../lib/readers')
const { Counts, Tally } = require('../lib/tally')
const { HEAD_SIZE, PAGE_SIZE, crc32, walkPage } = require('./insides')

/**
 * @typedef {object} Runner
 * @property {() => number | Promise<number>} sample  does the work once; gives its time, or its bytes
 * @property {() => Answer | Promise<Answer>} finish  lets go of everything; says what was done
 */

/** @typedef {import('../lib/run').Answer} Answer */
/** @typedef {import('@millrace/offset-log').RecordRun} RecordRun */
/** @typedef {import('../lib/readers').Reader<any>} Reader */

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
 * The floor of every scan: the file read into one buffer, block by block, and nothing done with it but to count.
 * @param {string} path
 * @param {Kind} [kind]  where its answer is about the blocks too
 * @returns {Promise<Runner>}
 */
async function openBareLoop (path, kind) {
  const fd = fs.openSync(path, 'r')
  const buf = Buffer.alloc(BLOCK_SIZE)
  const { sample, finish } = await timeReader({
    async run (visit) {
      for (let position = 0, size = -1; size !== 0; position += size) {
        size = fs.readSync(fd, buf, 0, buf.length, position)
        if (size > 0) visit(position, buf, 0, size)
      }
    },
    close: async () => fs.closeSync(fd)
  }, kind ?? { every: Infinity, keys: ['delivered'] })
  return { sample, finish: async () => kind ? finish() : { bytes: (await finish()).delivered } }
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
    sample: () => time(() => {
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
 * @param {{ blockSize?: number }} [options]  of the log
 * @param {(reader: any, counts: Counts) => Promise<unknown>} [count]  another way to scan
 */
function openScan (path, options, count = ({ log }, counts) => {
  return log.scan({}, (/** @type {RecordRun} */ chunk) => counts.addRecords(chunk))
}) {
  return timeReader(openRecords(path, options), { keys: ['records', 'delivered', 'digest', 'seqSum'] }, count)
}

/**
 * As the layer `log` of the bench tallies a log.
 * @param {string} path
 * @returns {Promise<import('../lib/tally').TallyResult>}
 */
async function measureLog (path) {
  const tally = new Tally({ every: EVERY })
  const { run, close } = await openRecords(path)
  await run(tally.visit.bind(tally))
  await close()
  return tally.result()
}

/**
 * What a reader shows, and how it is tallied.
 * @typedef {object} Kind
 * @property {'json' | 'binary'} [decode]  the digest is of the values in the bytes: those of two formats compare so
 * @property {number} [every]  which of them the digest is of
 * @property {Array<keyof import('../lib/tally').TallyResult>} keys  what both sides of a row, and the log that was
 *   prepared, must agree in. Seqs of two logs differ, and so do the bytes of two formats
 */

/**
 * Times a reader, and checks what it delivered: by counts within the time, by a digest after it.
 * @param {Reader | Promise<Reader>} opening
 * @param {Kind} kind
 * @param {(reader: any, counts: Counts) => Promise<unknown>} [count]  what is timed
 * @returns {Promise<Runner>}
 */
async function timeReader (opening, { decode, every = EVERY, keys }, count = countEach) {
  const reader = await opening
  let counts = new Counts()
  return {
    sample () {
      const timed = counts = new Counts()
      return time(() => count(reader, timed))
    },
    async finish () {
      const check = new Counts()
      const tally = new Tally({ every })
      const codec = decode && CODECS[decode]
      /** @type {Counts['visit']} */
      const visit = (seq, one, start, end) => {
        check.visit(seq, one, start, end)
        if (codec) tally.visit(seq, codec.decodeRange(one, Number(start), Number(end)))
        else tally.visit(seq, one, start, end)
      }
      await reader.run(visit)
      await reader.close()
      if (JSON.stringify(check) !== JSON.stringify(counts)) {
        throw new Error(`two runs gave ${check.records} and ${counts.records} records, or not the same ones`)
      }
      const result = tally.result()
      return Object.fromEntries(keys.map((key) => [key, result[key]]))
    }
  }
}

/**
 * @param {Reader} reader
 * @param {Counts} counts
 */
function countEach (reader, counts) {
  /** @type {Counts['visit']} */
  const visit = (seq, one, start, end) => counts.visit(seq, one, start, end)
  return reader.run(visit)
}

exports.time = time
exports.createLimit = createLimit
exports.createRecords = createRecords
exports.writeCommits = writeCommits
exports.openBareLoop = openBareLoop
exports.openSummedLoop = openSummedLoop
exports.openScan = openScan
exports.measureLog = measureLog
exports.timeReader = timeReader
exports.BLOCKS_EVERY = BLOCKS_EVERY
exports.RECORD_SIZE = RECORD_SIZE
