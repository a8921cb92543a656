'use strict'
// Runners: one side of a row, ready in its process, with the work that is timed and the answer that it gives.

const { spawnSync } = require('node:child_process')
const fs = require('node:fs')
const { OffsetLog } = require('@millrace/offset-log')
const { Counts, Tally, time } = require('../../lib/measure')
const { createPrng } = require('../../lib/prng')
const { BLOCK_SIZE, CODECS, openRecords } = require('../../lib/readers')
const { sumAndWalk } = require('./insides')

/**
 * @typedef {object} Runner
 * @property {() => number | Promise<number>} sample  does the work once; returns its time, or its bytes
 * @property {() => Answer | Promise<Answer>} finish  frees everything; says what was done
 */

/** @typedef {import('../../engine/row').Answer} Answer */
/** @typedef {import('../../lib/measure').TallyResult} TallyResult */
/** @typedef {import('../../lib/readers').Reader<any>} Reader */

/**
 * How to tally what a reader delivers.
 * @typedef {object} Kind
 * @property {'json' | 'binary'} [decode]  digest the decoded values, so that two formats can be compared
 * @property {number} [every]  digest every so many records
 * @property {(result: TallyResult) => Answer} pick  the figures that both sides and the prepared log must share. Two
 *   logs differ in seqs, two formats also in bytes
 */

const EVERY = 1000
// A log reads this much at once.
const SPAN_SIZE = 256 * 1024
const RECORD_SIZE = 690
const SEED = 690
const PEAK_SCRIPT = require.resolve('./peak-memory')

/** @type {Kind} */
const BYTES = { every: Infinity, pick: ({ delivered: bytes }) => ({ bytes }) }
/** @type {Kind} */
const RECORDS = { pick: ({ records, delivered, digest, seqSum }) => ({ records, delivered, digest, seqSum }) }

/**
 * Records as long as the messages of the bench, without repetition inside. They are the same in every process.
 * @param {number} count
 * @returns {Buffer[]}  RECORD_SIZE bytes each
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
 * Writes a log whose commits all have the same records.
 * @param {string} file
 * @param {{ commitCount: number, recordsPerCommit: number }} work
 */
async function writeCommits (file, { commitCount, recordsPerCommit }) {
  const log = OffsetLog(file, { framing: 'checked', fsync: 'never' })
  const records = createRecords(recordsPerCommit)
  // Waiting for each append makes it a commit of its own.
  for (let left = commitCount; left > 0; left--) await log.append(records)
  await log.close()
}

/**
 * @param {number} fd
 * @param {Buffer} buf  reused for every span
 * @param {(size: number, position: number) => void} onSpan
 * @param {number} [from]
 * @returns {number}  where the file ends
 */
function readSpans (fd, buf, onSpan, from = 0) {
  let position = from
  for (let size = -1; size !== 0; position += size) {
    size = fs.readSync(fd, buf, 0, buf.length, position)
    if (size > 0) onSpan(size, position)
  }
  return position
}

/**
 * The least that a scan must do: reads the file into one buffer, block by block, and only counts.
 * @param {string} path
 * @param {Kind} [kind]  if the answer is about blocks too
 * @returns {Promise<Runner>}
 */
function openBareLoop (path, kind = BYTES) {
  const fd = fs.openSync(path, 'r')
  const buf = Buffer.alloc(BLOCK_SIZE)
  return timeReader({
    async run (visit) {
      readSpans(fd, buf, (size, position) => visit(position, buf, 0, size))
    },
    close: async () => fs.closeSync(fd)
  }, kind)
}

/**
 * The least that a verified scan must do: reads the file, computes a checksum of all of it (without comparing it), and
 * walks from record to record.
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
      bytes = readSpans(fd, span, (size, position) => sumAndWalk(span, view, { size, position }, counts))
    }),
    finish () {
      fs.closeSync(fd)
      return { bytes, records: counts.records, delivered: counts.delivered }
    }
  }
}

/**
 * @typedef {(reader: any, counts: Counts) => Promise<unknown>} Count  the work that is timed
 * @type {Count}
 */
function countEach (reader, counts) {
  /** @type {Counts['visit']} */
  const visit = (seq, one, start, end) => counts.visit(seq, one, start, end)
  return reader.run(visit)
}

/** Counts runs of records, which costs next to nothing. @type {Count} */
function countRuns ({ log }, counts) {
  return log.scan({}, (/** @type {import('@millrace/offset-log').RecordRun} */ run) => counts.addRecords(run))
}

/** Scans a whole log. @param {string} path @param {{ blockSize?: number, kind?: Kind, count?: Count }} [options] */
function openScan (path, { blockSize, kind = RECORDS, count = countRuns } = {}) {
  return timeReader(openRecords(path, { blockSize }), kind, { count })
}

/** Tallies a log as the bench's layer `log` does. @param {string} path */
async function measureLog (path) {
  return tallyOnce(await openRecords(path))
}

/** Closes the reader. @type {(reader: Reader, kind?: Partial<Kind>) => Promise<TallyResult>} */
async function tallyOnce (reader, { decode, every = EVERY } = {}) {
  const tally = new Tally({ every })
  const codec = decode && CODECS[decode]
  /** @type {Counts['visit']} */
  const visitDecoded = (seq, buf, start, end) => tally.visit(seq, codec?.decodeRange(buf, Number(start), Number(end)))
  await reader.run(codec ? visitDecoded : tally.visit.bind(tally))
  await reader.close()
  return tally.result()
}

/**
 * Times a reader, and checks what it delivered: with counts during the timed run, with a digest in another run.
 * @param {Reader | Promise<Reader>} opening
 * @param {Kind | null} kind  null: no other run; the answer is the number of records
 * @param {{ count?: Count, clock?: typeof time }} [options]
 * @returns {Promise<Runner>}
 */
async function timeReader (opening, kind, { count = countEach, clock = time } = {}) {
  const reader = await opening
  let counts = new Counts()
  return {
    sample () {
      const timed = counts = new Counts()
      return clock(() => count(reader, timed))
    },
    async finish () {
      const { records, seqSum } = counts
      if (kind === null) {
        await reader.close()
        return { records }
      }
      const result = await tallyOnce(reader, kind)
      if (result.records === records && result.seqSum === seqSum) return kind.pick(result)
      throw new Error(`two runs gave ${result.records} and ${records} records, or not the same ones`)
    }
  }
}

/**
 * Measures the peak memory of a process that only reads a log, less the peak of Node.js doing nothing.
 * @param {'scan' | 'flumelog'} work
 * @param {string} path
 * @param {number} [fold]  multiplies the number of records in the answer, if the other side's log is larger
 * @returns {Runner}
 */
function measurePeak (work, path, fold = 1) {
  let records = 0
  const run = (/** @type {string[]} */ ...args) => {
    const { stdout, stderr } = spawnSync(process.execPath, [PEAK_SCRIPT, ...args], { encoding: 'utf8' })
    if (stdout === '') throw new Error(`no peak of ${args[0] ?? 'bare Node'}: ${stderr}`)
    return JSON.parse(stdout)
  }
  return {
    sample () {
      const scan = run(work, path)
      records = scan.records
      return scan.peak - run().peak
    },
    finish: () => ({ records: fold * records })
  }
}

exports.createRecords = createRecords
exports.writeCommits = writeCommits
exports.readSpans = readSpans
exports.openBareLoop = openBareLoop
exports.openSummedLoop = openSummedLoop
exports.openScan = openScan
exports.measureLog = measureLog
exports.timeReader = timeReader
exports.measurePeak = measurePeak
exports.RECORDS = RECORDS
exports.RECORD_SIZE = RECORD_SIZE
