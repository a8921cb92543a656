'use strict'
// A runner is one side of a row, ready in its process: what is timed, again and again, and what it comes to.

const { spawnSync } = require('node:child_process')
const fs = require('node:fs')
const { OffsetLog } = require('@millrace/offset-log')
const { Counts, Tally, takeSamples, time } = require('../lib/measure')
const { createPrng } = require('../lib/prng')
const { BLOCK_SIZE, CODECS, openRecords } = require('../lib/readers')
const { sumAndWalk } = require('./insides')

/**
 * @typedef {object} Runner
 * @property {() => number | Promise<number>} sample  does the work once; gives its time, or its bytes
 * @property {() => Answer | Promise<Answer>} finish  lets go of everything; says what was done
 */

/** @typedef {import('../lib/run').Answer} Answer */
/** @typedef {import('../lib/measure').TallyResult} TallyResult */
/** @typedef {import('../lib/readers').Reader<any>} Reader */
/** @typedef {'ours' | 'peer' | 'bound'} SideName */

/**
 * What one process of one side came to.
 * @typedef {object} Outcome
 * @property {number} first  the first sample
 * @property {number} value  the median of the samples after it, or the first, where it is the only one
 * @property {Answer} answer
 */

/**
 * What a reader shows, and how it is tallied.
 * @typedef {object} Kind
 * @property {'json' | 'binary'} [decode]  the digest is of the values in the bytes: those of two formats compare so
 * @property {number} [every]  which of them the digest is of
 * @property {(result: TallyResult) => Answer} pick  what both sides of a row, and the log that was prepared, must agree
 *   in. Seqs of two logs differ, and so do the bytes of two formats
 */

const EVERY = 1000
// What the log reads at once.
const SPAN_SIZE = 256 * 1024
const RECORD_SIZE = 690
const SEED = 690
const PEAK_SCRIPT = require.resolve('./peak-memory')

/** @type {Kind} */
const BYTES = { every: Infinity, pick: ({ delivered: bytes }) => ({ bytes }) }
/** @type {Kind} */
const RECORDS = { pick: ({ records, delivered, digest, seqSum }) => ({ records, delivered, digest, seqSum }) }

/**
 * In the child: one side of one row.
 * @param {{ row: import('./rows/shared').Row, side: SideName, setting: any, samples?: number }} order
 * @returns {Promise<Outcome>}
 */
async function measureSide ({ row, side, setting, samples }) {
  const open = /** @type {import('./rows/shared').OpenSide} */ (side === 'bound' ? row.bound?.open : row[side])
  const runner = await open(setting)
  const own = (side === 'peer' ? row.peerSamples : undefined) ?? row.samples ?? 0
  const values = await takeSamples(own > 0 ? samples ?? own : 0, () => runner.sample())
  return { ...values, answer: await runner.finish() }
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
 * @param {number} fd
 * @param {Buffer} buf  filled again and again
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
 * The floor of every scan: the file read into one buffer, block by block, and nothing done with it but to count.
 * @param {string} path
 * @param {Kind} [kind]  where its answer is about the blocks too
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
      bytes = readSpans(fd, span, (size, position) => sumAndWalk(span, view, { size, position }, counts))
    }),
    finish () {
      fs.closeSync(fd)
      return { bytes, records: counts.records, delivered: counts.delivered }
    }
  }
}

/**
 * @typedef {(reader: any, counts: Counts) => Promise<unknown>} Count  what is timed
 * @type {Count}
 */
function countEach (reader, counts) {
  /** @type {Counts['visit']} */
  const visit = (seq, one, start, end) => counts.visit(seq, one, start, end)
  return reader.run(visit)
}

/** By the run: next to nothing beside a loop that only reads. @type {Count} */
function countRuns ({ log }, counts) {
  return log.scan({}, (/** @type {import('@millrace/offset-log').RecordRun} */ run) => counts.addRecords(run))
}

/**
 * A scan of a whole log.
 * @param {string} path
 * @param {{ blockSize?: number, kind?: Kind, count?: Count }} [options]
 */
function openScan (path, { blockSize, kind = RECORDS, count = countRuns } = {}) {
  return timeReader(openRecords(path, { blockSize }), kind, { count })
}

/**
 * As the layer `log` of the bench tallies a log.
 * @param {string} path
 */
async function measureLog (path) {
  return tallyOnce(await openRecords(path))
}

/**
 * @param {Reader} reader  closed afterwards
 * @param {Partial<Kind>} [kind]
 * @returns {Promise<TallyResult>}
 */
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
 * Times a reader, and checks what it delivered: by counts within the time, by a digest after it.
 * @param {Reader | Promise<Reader>} opening
 * @param {Kind | null} kind  null for no digest: nothing is read again, and the answer is how many records there were
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
 * The peak of a process that only goes through a log, beyond what Node takes for doing nothing.
 * @param {'scan' | 'flumelog'} work
 * @param {string} path
 * @param {number} [fold]  so many times as many records as the other side is given
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

exports.measureSide = measureSide
exports.createLimit = createLimit
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
