'use strict'
// Runners: one side of a row, ready in its process, with the work that is timed and the answer that it gives.

const fs = require('node:fs')
const { OffsetLog } = require('@millrace/offset-log')
const { Counts, Tally, time } = require('../../lib/measure')
const { createPrng } = require('../../lib/prng')
const { BLOCK_SIZE, CODECS, openRecords } = require('../../lib/readers')

/**
 * @typedef {object} Runner
 * @property {() => number | Promise<number>} sample  does the work once; returns its time, or its bytes
 * @property {() => Answer | Promise<Answer>} [finish]  says what was done; it frees nothing, because the process ends
 */

/** @typedef {import('../../engine/row').Answer} Answer */
/** @typedef {import('../../lib/measure').TallyResult} TallyResult */
/** @typedef {Pick<import('../../lib/readers').Reader<any>, 'run'>} Reader */

/**
 * How to tally what a reader delivers.
 * @typedef {object} Kind
 * @property {'json' | 'binary'} [decode]  digest the decoded values, so that two formats can be compared
 * @property {number} [every]  digest every so many records
 * @property {(result: TallyResult) => Answer} pick  the figures that both sides and the prepared log must share. Two
 *   logs differ in seqs, two formats also in bytes
 */

const EVERY = 1000
const RECORD_SIZE = 690
const SEED = 690

/** @type {Kind} */
const BYTES = { every: Infinity, pick: ({ delivered: bytes }) => ({ bytes }) }
/** @type {Kind} */
const RECORDS = { pick: ({ records, delivered, digest, seqSum }) => ({ records, delivered, digest, seqSum }) }

/**
 * Records of text as long as the messages of the bench, without repetition inside. They are the same in every process.
 * @param {number} count
 * @returns {Buffer[]}  RECORD_SIZE bytes each
 */
function createRecords (count) {
  const { base64 } = createPrng(SEED)
  return Array.from({ length: count }, () => Buffer.from(base64(RECORD_SIZE).slice(0, RECORD_SIZE)))
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
 * @param {{ path: string }} setting
 * @param {Kind} [kind]  if the answer is about blocks too
 * @returns {Promise<Runner>}
 */
function openBareLoop ({ path }, kind = BYTES) {
  const fd = fs.openSync(path, 'r')
  const buf = Buffer.alloc(BLOCK_SIZE)
  return timeReader({
    async run (visit) {
      readSpans(fd, buf, (size, position) => visit(position, buf, 0, size))
    }
  }, kind)
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

/**
 * Scans a whole log.
 * @type {(log: { path: string }, options?: { blockSize?: number, verify?: boolean, kind?: Kind, count?: Count }) =>
 *   Promise<Runner>}
 */
function openScan ({ path }, { blockSize, verify, kind = RECORDS, count = countRuns } = {}) {
  return timeReader(openRecords(path, { blockSize, verify }), kind, { count })
}

/** Tallies a log as the bench's layer `log` does. @param {string} path */
async function measureLog (path) {
  const reader = await openRecords(path)
  return tallyOnce(reader).finally(reader.close)
}

/** @type {(reader: Reader, kind?: Partial<Kind>) => Promise<TallyResult>} */
async function tallyOnce (reader, { decode, every = EVERY } = {}) {
  const tally = new Tally({ every })
  const codec = decode && CODECS[decode]
  /** @type {Counts['visit']} */
  const visitDecoded = (seq, buf, start, end) => tally.visit(seq, codec?.decodeRange(buf, Number(start), Number(end)))
  await reader.run(codec ? visitDecoded : tally.visit.bind(tally))
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
      if (kind === null) return { records }
      const result = await tallyOnce(reader, kind)
      if (result.records === records && result.seqSum === seqSum) return kind.pick(result)
      throw new Error(`two runs gave ${result.records} and ${records} records, or not the same ones`)
    }
  }
}

exports.createRecords = createRecords
exports.writeCommits = writeCommits
exports.readSpans = readSpans
exports.openBareLoop = openBareLoop
exports.openScan = openScan
exports.measureLog = measureLog
exports.timeReader = timeReader
exports.RECORDS = RECORDS
exports.RECORD_SIZE = RECORD_SIZE
