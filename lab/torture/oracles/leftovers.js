'use strict'
// Whether a log believes what is left of another time, or of another log: chunks that are good by themselves, and do
// not belong here. A disk that loses a write leaves such, and so does a file system that gives a file old blocks. And
// states of slots and journals that random crashes seldom bring about.

const { CrashPoint, SimulatedDisk } = require('@millrace/testkit')
const { makeRecord } = require('../records')
const { readLog } = require('../read-log')
const { Violation } = require('../violation')

const FILE = '/folder/log'
const HEAD_SIZE = 32 * 1024
const PAGE_SIZE = 16 * 1024
const SECTOR_SIZE = 512
const SLOT_POSITIONS = [4096, 12288]
const JOURNAL_POSITIONS = [16384, 24576]
// A record and what frames it, alone in its chunk.
const OVERHEAD = 44
const FIRST = 1000
const FIRST_END = HEAD_SIZE + OVERHEAD + FIRST
// The sizes of records of which the first one ends with its page, and the others fill one each.
const WHOLE_PAGES = [HEAD_SIZE + PAGE_SIZE - FIRST_END - OVERHEAD, PAGE_SIZE - OVERHEAD, PAGE_SIZE - OVERHEAD]
const SPLIT = [20_000]

const CASES = [takenBack, takenBackSplit, takenBackRepeated, lostWithoutTrace, otherLog, olderSlots, twoJournals]

/**
 * @param {import('./run-oracle').OracleOptions} options
 * @returns {Promise<import('./run-oracle').Verdict>}
 */
exports.examine = async ({ logModule }) => {
  const { OffsetLog } = require(logModule)
  const failures = []
  for (const examineCase of CASES) {
    try {
      await examineCase(OffsetLog)
    } catch (err) {
      if (!(err instanceof Violation)) throw err
      failures.push({ kind: err.kind, message: `${examineCase.name}: ${err.message}` })
    }
  }
  return { failures, figures: { cases: CASES.length } }
}

/**
 * Pages of commits that recovery took back are there again, instead of those that were appended in their place.
 * @param {any} OffsetLog
 */
async function takenBack (OffsetLog) {
  const { old, disk, records } = await takeBack(OffsetLog, WHOLE_PAGES, 20)
  for (const pages of [[1], [2], [1, 2]]) {
    const bytes = disk.read(FILE)
    for (const page of pages) copyPage(old, bytes, page)
    await mustNotice(OffsetLog, bytes, records, [])
  }
}

/**
 * The same for a record that goes on in the next page, for whoever asks for this record alone.
 * @param {any} OffsetLog
 */
async function takenBackSplit (OffsetLog) {
  const { old, disk, records } = await takeBack(OffsetLog, SPLIT, 20)
  const bytes = disk.read(FILE)
  copyPage(old, bytes, 1)
  await mustNotice(OffsetLog, bytes, records, [records[1].seq])
}

/**
 * A commit that was taken back is appended again; what came after it at the time is in the blocks that the file has got
 * when the power goes.
 * @param {any} OffsetLog
 */
async function takenBackRepeated (OffsetLog) {
  const { old, disk, records } = await takeBack(OffsetLog, WHOLE_PAGES.slice(0, 1), 10)
  await mustHave(OffsetLog, Buffer.concat([disk.read(FILE), old.subarray(HEAD_SIZE + PAGE_SIZE)]), records)
}

/**
 * The power cut leaves no trace of what a process has appended, so the next one has the same epoch; but the blocks are
 * there, and the file gets them again.
 * @param {any} OffsetLog
 */
async function lostWithoutTrace (OffsetLog) {
  const disk = new SimulatedDisk()
  const records = await appendAll(OffsetLog, disk, [record(0, FIRST)])
  const other = disk.clone()
  await appendAll(OffsetLog, other, WHOLE_PAGES.map((size, index) => record(10 + index, size)))
  records.push(...await appendAll(OffsetLog, disk, [record(20, WHOLE_PAGES[0])]))
  await mustHave(OffsetLog, Buffer.concat([disk.read(FILE), other.read(FILE).subarray(HEAD_SIZE + PAGE_SIZE)]), records)
}

/**
 * A page of another log that is made just like this one.
 * @param {any} OffsetLog
 */
async function otherLog (OffsetLog) {
  const one = await takeBack(OffsetLog, WHOLE_PAGES, 20)
  const other = await takeBack(OffsetLog, WHOLE_PAGES, 30)
  const bytes = one.disk.read(FILE)
  copyPage(other.disk.read(FILE), bytes, 1)
  await mustNotice(OffsetLog, bytes, one.records, [one.records[2].seq])
}

/**
 * A slot may be torn while it is written: the other one has to be the newer.
 * @param {any} OffsetLog
 */
async function olderSlots (OffsetLog) {
  let written = 0
  const disk = new SimulatedDisk({
    onChange: ({ name, path, position = -1 }) => {
      const index = SLOT_POSITIONS.indexOf(position)
      if (name !== 'write' || path !== FILE || index === -1) return
      const [first, second] = SLOT_POSITIONS.map((start) => disk.read(FILE).readUIntBE(start + 4, 6))
      written++
      if (index === 0 ? first > second : second > first) fault = `slot ${index + 1} is written over, the newest one`
    }
  })
  let fault = null
  for (let session = 0; session < 3; session++) {
    const log = OffsetLog(FILE, { storage: disk.storage, fsync: 'never' })
    for (let step = 0; step < 3; step++) {
      await log.append(record(step, 100))
      await log.sync()
    }
    await log.close()
  }
  if (written === 0) fault = 'no slot is ever written'
  if (fault) throw new Violation('wrong answer', fault)
}

/**
 * When the power goes, the disk has the journals of two deletions in one chunk, and nothing of what they say.
 * @param {any} OffsetLog
 */
async function twoJournals (OffsetLog) {
  const disk = new SimulatedDisk()
  const log = OffsetLog(FILE, { storage: disk.storage, fsync: 'never' })
  const values = [record(1, FIRST), record(2, FIRST), record(3, FIRST)]
  await log.append(values)
  await log.sync()
  const [first, second, third] = await readLog(log)
  let journalCount = 0
  /** @type {SimulatedDisk | null} */
  let left = null
  disk.onChange = ({ name, position = -1 }) => {
    if (name === 'write' && JOURNAL_POSITIONS.includes(position)) journalCount++
    if (name === 'sync' && journalCount === 2) left ??= disk.clone()
  }
  await log.del(first.seq)
  await log.del(second.seq)
  await log.close()
  const crash = new CrashPoint(/** @type {any} */ (left))
  const choice = crash.all()
  crash.sectors.forEach(({ index }, at) => { if (index >= HEAD_SIZE / SECTOR_SIZE) choice.sectors[at] = 0 })
  await mustHave(OffsetLog, crash.choose(choice).toDisk().read(FILE), [{ seq: third.seq, bytes: values[2] }])
}

/**
 * @param {any} OffsetLog
 * @param {SimulatedDisk} disk
 * @param {Buffer[]} values  a commit each
 * @returns {Promise<Array<{ seq: number, bytes: Buffer }>>}
 */
async function appendAll (OffsetLog, disk, values) {
  const log = OffsetLog(FILE, { storage: disk.storage, fsync: 'never' })
  const records = []
  for (const bytes of values) records.push({ seq: await log.append(bytes), bytes })
  await log.close()
  return records
}

/**
 * A log of one synced record and others that are not, of which a power cut loses the first. So recovery takes all of
 * these back, and others of the same sizes are appended.
 * @param {any} OffsetLog
 * @param {number[]} sizes  of those that are appended afterwards
 * @param {number} id  of the first one of them; from 10 on are those that are taken back
 * @returns {Promise<{ old: Buffer, disk: SimulatedDisk, records: Array<{ seq: number, bytes: Buffer }> }>}  `old` is
 *   the file before recovery
 */
async function takeBack (OffsetLog, sizes, id) {
  const before = new SimulatedDisk()
  const log = OffsetLog(FILE, { storage: before.storage, fsync: 'never' })
  const bytes = record(0, FIRST)
  const records = [{ seq: await log.append(bytes), bytes }]
  await log.sync()
  const lost = sizes.length < WHOLE_PAGES.length && sizes !== SPLIT ? WHOLE_PAGES : sizes
  for (const [index, size] of lost.entries()) await log.append(record(10 + index, size))
  const old = before.read(FILE)
  await log.close()
  const cut = Buffer.from(old)
  cut.fill(0, FIRST_END, HEAD_SIZE + PAGE_SIZE)
  const disk = diskOf(cut)
  const again = OffsetLog(FILE, { storage: disk.storage, fsync: 'never' })
  for (const [index, size] of sizes.entries()) {
    const bytes = record(id + index, size)
    records.push({ seq: await again.append(bytes), bytes })
  }
  if (again.recovery?.offset !== FIRST_END) throw new Error(`nothing is taken back: ${JSON.stringify(again.recovery)}`)
  await again.close()
  return { old, disk, records }
}

/**
 * @param {any} OffsetLog
 * @param {Buffer} bytes  of a log with something in it that does not belong there
 * @param {Array<{ seq: number, bytes: Buffer }>} records  that it has had
 * @param {number[]} hurt  seqs of those that must not be got
 */
async function mustNotice (OffsetLog, bytes, records, hurt) {
  const log = await openBytes(OffsetLog, bytes)
  const isKnown = log.recovery?.damage.length > 0
  for (const reverse of [false, true]) {
    const how = reverse ? 'backwards' : 'forwards'
    /** @type {{ seq: number } | null} */
    let wrong = null
    const isNoticed = await log.scan({ reverse }, (/** @type {any} */ { buffer, count, seqs, starts, ends }) => {
      for (let at = 0; at < count; at++) {
        const item = { seq: seqs[at], buffer, start: starts[at], end: ends[at] }
        if (!records.some((record) => isSame(item, record))) wrong ??= item
      }
    }).then(() => false, isCorrupt)
    if (!isNoticed) throw new Violation('wrong answer', `reading ${how} notices nothing`)
    // What the last chunk must be is known only to the checkpoint: whoever begins there was told when it was opened.
    if (wrong === null || (reverse && isKnown)) continue
    throw new Violation('never appended', `reading ${how} gives a record at ${/** @type {any} */ (wrong).seq} that is not of this log`)
  }
  for (const seq of hurt) {
    const isNoticed = await log.get(seq).then(() => false, isCorrupt)
    if (!isNoticed) throw new Violation('never appended', `get gives a record at ${seq} that is not of this log`)
  }
  await log.close()
}

/**
 * @param {any} OffsetLog
 * @param {Buffer} bytes  of a log that a power cut has left
 * @param {Array<{ seq: number, bytes: Buffer }>} records  all that may be in it
 */
async function mustHave (OffsetLog, bytes, records) {
  const log = await openBytes(OffsetLog, bytes)
  if (log.recovery?.damage.length > 0) throw new Violation('refused', JSON.stringify(log.recovery))
  const found = await readLog(log).catch((err) => { throw new Violation('refused', err.stack) })
  await log.close()
  const isRight = found.length === records.length && found.every((item, index) => isSame(item, records[index]))
  if (!isRight) throw new Violation('never appended', `${found.length} records are there, not ${records.length}`)
}

/**
 * @param {any} OffsetLog
 * @param {Buffer} bytes
 */
async function openBytes (OffsetLog, bytes) {
  const log = OffsetLog(FILE, { storage: diskOf(bytes).storage, fsync: 'never' })
  await log.ready()
  return log
}

/** @param {Buffer} bytes */
function diskOf (bytes) {
  const disk = new SimulatedDisk()
  disk.put(FILE, bytes)
  return disk
}

/**
 * @param {Buffer} from
 * @param {Buffer} to
 * @param {number} page
 */
function copyPage (from, to, page) {
  const start = HEAD_SIZE + page * PAGE_SIZE
  from.copy(to, start, start, start + PAGE_SIZE)
}

/**
 * @param {number} id
 * @param {number} size
 */
function record (id, size) {
  return makeRecord(1, [id, size, 'random'], () => Buffer.alloc(0))
}

/**
 * @param {import('../compare').Found} found
 * @param {{ seq: number, bytes: Buffer }} record
 */
function isSame ({ seq, buffer, start, end }, record) {
  return seq === record.seq && record.bytes.equals(buffer.subarray(start, end))
}

/** @param {any} err */
function isCorrupt (err) {
  return err.code === 'ERR_LOG_CORRUPT'
}
