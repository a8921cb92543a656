'use strict'
// Opens one image, compares it with what it may have, appends to it, closes it, opens it again and compares again.

const { CACHE_SIZE, FILE } = require('./perform')
const { compare } = require('./compare')
const { checkErased } = require('./erased')
const { readLog } = require('./read-log')
const { framingOf } = require('./framings')
const { readBefore } = require('./lines-file')
const { pickWeighted, seededRandom } = require('./seeded')
const { describeCall } = require('./stage')
const { Violation } = require('./violation')

// Of what is appended afterwards; no workload has it.
const AFTERWARDS_SALT = 2 ** 31

// Of so many logs one reads asynchronously.
const SLOW_SHARE = 12
/** @type {Array<[number, string]>} */
const FSYNC_WEIGHTS = [[4, 'interval'], [1, 'always'], [3, 'never']]
const noLog = () => Buffer.alloc(0)
/** Of the record that is appended. @type {Array<[number, number]>} */
const SIZE_WEIGHTS = [[24, 200], [6, 2000], [1, 40_000]]

/**
 * @typedef {import('@millrace/testkit').SimulatedDisk} SimulatedDisk
 * @typedef {import('./compare').Found} Found
 * @typedef {import('./framings').Framing} Framing
 */

/**
 * @typedef {object} ImageCheck
 * @property {(path: string, options: object) => any} OffsetLog
 * @property {import('./environment').Environment} environment
 * @property {SimulatedDisk} disk
 * @property {import('./framings').FramingName} [framing]
 * @property {import('./ledger').Expectation} expectation
 * @property {number} plan  seed of what is done with the log
 * @property {(at: number) => void} [onRecovery]  told of every change that opening is about to make to the disk
 * @property {(line: () => string) => void} [trace]
 */

/**
 * @param {ImageCheck} check
 * @returns {Promise<{ found: Found[], hasRecovered: boolean }>}
 * @throws {Violation}
 */
async function checkImage (check) {
  const { OffsetLog, environment, disk, expectation, plan, trace = () => {} } = check
  let { onRecovery } = check
  const framing = framingOf(check)
  const random = seededRandom(plan)
  environment.reset(plan, random(SLOW_SHARE) === 0 ? 2 : 0)
  disk.defer = process.nextTick
  disk.capacity = Infinity
  disk.onChange = (call, at) => {
    trace(() => `      ${at}: ${describeCall(call)}`)
    onRecovery?.(at)
  }
  const fsync = pickWeighted(random, FSYNC_WEIGHTS)
  const before = readBefore(disk, FILE)
  const log = await open(OffsetLog, disk, framing, { fsync, cache: random(4) === 0 ? CACHE_SIZE : 0 })
  onRecovery = undefined
  if (log.recovery?.damage?.length > 0) throw new Violation('refused', `damage is seen: ${JSON.stringify(log.recovery)}`)
  const hasRecovered = log.recovery !== null
  trace(() => `    opened with fsync ${fsync}, recovery: ${JSON.stringify(log.recovery)}`)
  const found = await readAll(log)
  framing.checkOpening(before, disk, FILE, log.recovery)
  const matched = compare(expectation, found)
  framing.checkFile(disk, FILE, found)
  checkObservables(log, found)
  if (random(8) === 0) await checkGet(log, found, random)
  const after = await goOn(log, framing, { found, expectation }, random, trace)
  if (random(24) === 0) checkErased(disk, goneRecords(expectation, matched))
  await checkAgain(OffsetLog, disk.crash(() => 0), framing, after, trace)
  return { found, hasRecovered }
}

/**
 * @param {ImageCheck['OffsetLog']} OffsetLog
 * @param {SimulatedDisk} disk
 * @param {Framing} framing
 * @param {{ fsync: string, cache: number }} options
 */
async function open (OffsetLog, disk, framing, options) {
  const log = OffsetLog(FILE, { storage: disk.storage, ...framing.options, ...options })
  try {
    await log.ready()
  } catch (err) {
    throw new Violation('refused', `the log cannot be opened: ${/** @type {Error} */ (err).stack}`)
  }
  return log
}

/** @param {any} log */
async function readAll (log) {
  try {
    return await readLog(log)
  } catch (err) {
    throw new Violation('refused', `the log cannot be read: ${/** @type {Error} */ (err).stack}`)
  }
}

/**
 * @param {any} log
 * @param {Found[]} found
 */
function checkObservables ({ since, durable }, found) {
  const last = found.length > 0 ? found[found.length - 1].seq : -1
  if (since.value !== last) throw new Violation('wrong answer', `since is ${since.value}, the last record is at ${last}`)
  if (!(durable.value <= last)) throw new Violation('wrong answer', `durable is ${durable.value}, since is ${last}`)
}

/**
 * @param {any} log
 * @param {Found[]} found
 * @param {(limit: number) => number} random
 */
async function checkGet (log, found, random) {
  if (found.length === 0) return
  const { seq, buffer, start, end } = found[random(found.length)]
  const value = await log.get(seq).catch((/** @type {Error} */ err) => { throw new Violation('wrong answer', `get ${seq}: ${err.stack}`) })
  if (value.compare(buffer, start, end) !== 0) throw new Violation('wrong answer', `get ${seq} gives other bytes than scan`)
}

/**
 * @param {any} log
 * @param {Framing} framing
 * @param {{ found: Found[], expectation: ImageCheck['expectation'] }} before
 * @param {(limit: number) => number} random
 * @param {(line: () => string) => void} trace
 * @returns {Promise<Found[]>}  what it must have now
 */
async function goOn (log, framing, { found, expectation }, random, trace) {
  const size = random(pickWeighted(random, SIZE_WEIGHTS))
  const count = random(12) === 0 ? 3 : 1
  const values = Array.from({ length: count }, (_, index) => framing.makeRecord(AFTERWARDS_SALT, [index, size, 'random'], noLog))
  try {
    const last = found.length > 0 ? found[found.length - 1].seq : -1
    const seq = await log.append(count === 1 ? values[0] : values)
    trace(() => `    appended ${count} of ${size} bytes, at ${seq}`)
    if (!(seq > last) || log.since.value !== seq) {
      throw new Violation('wrong answer', `append gives ${seq} after ${last}, and since is ${log.since.value}`)
    }
    const after = [...found, ...(await newRecords(log, count, last, seq)).map((seq, index) => {
      return { seq, buffer: values[index], start: 0, end: values[index].length }
    })]
    if (framing.hasUniqueSeqs) await checkLost(log, expectation, after, random)
    if (random(16) === 0 && framing.canDelete) {
      const [{ seq }] = after.splice(random(after.length), 1)
      await log.del(seq)
      trace(() => `    deleted ${seq}`)
    }
    await log.close()
    return after
  } catch (err) {
    if (err instanceof Violation) throw err
    throw new Violation('refused', `the log cannot be written to any more: ${/** @type {Error} */ (err).stack}`)
  }
}

/**
 * Whoever keeps the seq of a record that is lost must learn it, however far the log has grown.
 * @param {any} log
 * @param {ImageCheck['expectation']} expectation
 * @param {Found[]} found
 * @param {(limit: number) => number} random
 */
async function checkLost (log, { shown }, found, random) {
  const seqs = new Set(found.map(({ seq }) => seq))
  const known = new Set(found.slice(0, -1).map(({ seq }) => seq))
  const lost = []
  for (const { seq, record } of shown) {
    const isBack = seqs.has(seq) && !known.has(seq)
    if (isBack) throw new Violation('seq given twice', `what is appended is at ${seq}, where record ${record.id} was`)
    // Of a commit that is deleted it cannot be told whether it is there.
    const isKept = record.commit?.records.every(({ deletions }) => deletions.length === 0)
    if (!seqs.has(seq) && seq < log.since.value && isKept) lost.push(seq)
  }
  if (lost.length === 0) return
  const seq = lost[random(lost.length)]
  const scan = (/** @type {object} */ range) => log.scan(range, () => {})
  for (const ask of [() => log.get(seq), () => scan({ gt: seq }), () => scan({ gte: seq })]) {
    const code = await ask().then(() => null, (/** @type {any} */ err) => err.code)
    if (code !== 'ERR_LOG_SEQ_LOST') throw new Violation('wrong answer', `${seq} is lost, and who asks is told: ${code}`)
  }
}

/**
 * @param {any} log
 * @param {number} count
 * @param {number} last  before the append
 * @param {number} seq  what the append gave
 */
async function newRecords (log, count, last, seq) {
  if (count === 1) return [seq]
  const seqs = (await readLog(log, { gt: last })).map(({ seq }) => seq)
  if (seqs.length !== count || seqs[count - 1] !== seq) {
    throw new Violation('wrong answer', `after appending ${count} records, the last at ${seq}, there are ${seqs}`)
  }
  return seqs
}

/**
 * The log was closed: all of it is durable.
 * @param {ImageCheck['OffsetLog']} OffsetLog
 * @param {SimulatedDisk} disk
 * @param {Framing} framing
 * @param {Found[]} expected
 * @param {(line: () => string) => void} trace
 */
async function checkAgain (OffsetLog, disk, framing, expected, trace) {
  const before = readBefore(disk, FILE)
  const log = await open(OffsetLog, disk, framing, { fsync: 'interval', cache: 0 })
  const found = await readAll(log)
  trace(() => `    closed, opened again: ${found.length} records, recovery: ${JSON.stringify(log.recovery)}`)
  checkSame(found, expected)
  checkObservables(log, found)
  framing.checkOpening(before, disk, FILE, log.recovery)
  framing.checkFile(disk, FILE, found)
}

/**
 * Closing has promised all of it, and that what was deleted is gone.
 * @param {Found[]} found  after the log was closed and opened again
 * @param {Found[]} expected
 */
function checkSame (found, expected) {
  for (let index = 0; index < Math.max(found.length, expected.length); index++) {
    const record = expected[index]
    const candidate = found[index]
    if (record && candidate && record.seq === candidate.seq && isEqual(record, candidate)) continue
    throw new Violation('promised lost', `after appending and closing, record ${index} is ${describe(candidate)}, ` +
      `not ${describe(record)}`)
  }
}

/**
 * @param {Found} one
 * @param {Found} other
 */
function isEqual (one, other) {
  return one.buffer.compare(other.buffer, other.start, other.end, one.start, one.end) === 0
}

/** @param {Found | undefined} record */
function describe (record) {
  return record ? `${record.end - record.start} bytes at ${record.seq}` : 'none'
}

/**
 * @param {import('./ledger').Expectation} expectation
 * @param {Map<object, number>} matched
 */
function goneRecords ({ commits }, matched) {
  const all = commits.flatMap(({ records }) => records)
  // Records that copy the log have bytes of others.
  if (all.some(({ record }) => record.kind === 'log')) return []
  return all.filter(({ record, status }) => status === 'gone' && !matched.has(record)).map(({ record }) => record)
}

exports.checkGet = checkGet
exports.checkImage = checkImage
exports.checkObservables = checkObservables
exports.checkSame = checkSame
exports.goOn = goOn
exports.goneRecords = goneRecords
exports.readAll = readAll
