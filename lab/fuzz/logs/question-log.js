'use strict'
// Opens a log, asks everything that can be asked of it, and writes to it if it may be written.

const { crc32 } = require('node:zlib')
const { Failure } = require('../answers')
const { ask, askPromise, checkDoubles, pull, scan } = require('./ask')

const FILE = '/log'

/**
 * @typedef {object} Plan
 * @property {'r' | 'r+'} flags
 * @property {boolean} verify
 * @property {'error' | 'skip'} onCorrupt
 * @property {number} maxRecordSize
 * @property {number[]} seqs  to get
 * @property {number} bound  of a range
 * @property {number} append  size of the record to append, where the log may be written
 * @property {boolean} deletes  whether to delete one
 * @property {'always' | 'whole' | 'never'} order  when both directions must find the same records, in order
 * @property {import('./make-bases').Known[] | null} known  the only records that may be there; null: nobody knows
 * @property {number} pick  which questions, and how the surroundings differ
 * @property {boolean} isSteady  whether they differ in memory alone
 */

/**
 * @param {any} OffsetLog
 * @param {import('../memory-storage').MemoryStorage} storage
 * @param {object} how  options that must not matter
 * @param {Plan} plan
 * @returns {Promise<Record<string, any>>}  answers by name
 */
async function questionLog (OffsetLog, storage, how, plan) {
  const { flags, verify, onCorrupt, maxRecordSize } = plan
  const options = { ...how, flags, verify, onCorrupt, maxRecordSize, storage, fsync: 'never' }
  const log = OffsetLog(FILE, options)
  const opened = await ask('ready', (cb) => log.ready(cb))
  /** @type {Record<string, any>} */
  const answers = { opened }
  if (!(opened instanceof Failure)) Object.assign(answers, await readLog(log, plan))
  if (!(opened instanceof Failure) && flags === 'r+') answers.written = await writeLog(log, plan, answers)
  answers.closed = await ask('close', (cb) => log.close(cb))
  if (plan.pick % 16 === 0) answers.afterwards = await ask('get', (cb) => log.get(0, cb))
  if (answers.written && !(answers.written.seq instanceof Failure)) {
    answers.again = await readAgain(OffsetLog, { ...options, flags: 'r' }, answers.written.seq)
  }
  answers.changeCount = flags === 'r' ? storage.changeCount : 0
  answers.files = flags === 'r' ? [] : storage.list().map((path) => describeFile(path, storage.read(path)))
  checkDoubles()
  return answers
}

/**
 * @param {any} log
 * @param {Plan} plan
 */
async function readLog (log, { seqs, bound, pick }) {
  const forward = pick % 2 === 0 ? await scan(log, {}) : await pull(log, {})
  const backward = pick % 2 === 0 ? await pull(log, { reverse: true }) : await scan(log, { reverse: true })
  const answers = {
    recovery: describeRecovery(log.recovery),
    since: log.since.value,
    durable: log.durable.value,
    supports: { ...log.supports },
    forward,
    backward,
    gets: /** @type {Array<[number, any]>} */ ([])
  }
  const { items } = forward
  const known = [items[0], items[items.length - 3], items[Math.floor(items.length / 6) * 3]]
  // Everything that is asked is asked of enough cases: few questions a case make many cases.
  for (const seq of [seqs[pick % seqs.length], known[pick % known.length]]) {
    if (seq === undefined) continue
    const got = pick % 5 === 0 ? await askPromise(log.get(seq)) : await ask('get', (cb) => log.get(seq, cb))
    answers.gets.push([seq, got])
  }
  return Object.assign(answers, await readMore(log, bound, pick))
}

/**
 * @param {any} log
 * @param {number} bound
 * @param {number} pick
 * @returns {Promise<Record<string, any>>}
 */
async function readMore (log, bound, pick) {
  switch (pick % 8) {
    case 0: return { range: await pull(log, { gt: bound, limit: 3 }) }
    case 1: return { range: await scan(log, { lte: bound, reverse: true, limit: 3 }) }
    case 2: return { skipping: await scan(log, { onCorrupt: 'skip' }) }
    case 3: return { skipping: await pull(log, { onCorrupt: 'skip', reverse: true }) }
    case 4: return { stats: await ask('stats', (cb) => log.stats(cb)).then(({ size, since }) => ({ size, since })) }
    default: return {}
  }
}

/** @param {any} recovery */
function describeRecovery (recovery) {
  if (recovery === null) return null
  const { offset, size, keptAt, damage, flaws } = recovery
  const places = (/** @type {any[]} */ list) => list.map(({ offset, size }) => [offset, size])
  return { offset, size, keptAt, damage: places(damage), flaws: places(flaws) }
}

/**
 * @param {any} log
 * @param {Plan} plan
 * @param {Record<string, any>} answers
 */
async function writeLog (log, { append, deletes }, { forward }) {
  const data = Buffer.alloc(append, 0xa7)
  const deleted = deletes && forward.items.length > 0 ? await ask('del', (cb) => log.del(forward.items[0], cb)) : null
  const [seq, other] = await Promise.all([
    ask('append', (cb) => log.append([Buffer.from('first'), data], cb)),
    askPromise(log.append(Buffer.from('last')))
  ])
  const synced = await ask('sync', (cb) => log.sync(cb))
  const got = seq instanceof Failure ? null : await ask('get', (cb) => log.get(seq, cb))
  return { deleted, seq, other, synced, got, since: log.since.value }
}

/**
 * @param {any} OffsetLog
 * @param {object} options
 * @param {number} seq
 */
async function readAgain (OffsetLog, options, seq) {
  const log = OffsetLog(FILE, options)
  const opened = await ask('ready', (cb) => log.ready(cb))
  const got = await ask('get', (cb) => log.get(seq, cb))
  const last = await pull(log, { reverse: true, limit: 1, onCorrupt: 'error' })
  const closed = await ask('close', (cb) => log.close(cb))
  return { opened, recovery: describeRecovery(log.recovery ?? null), got, last, closed }
}

/**
 * @param {string} path
 * @param {Buffer} bytes
 */
function describeFile (path, bytes) {
  return [path, bytes.length, crc32(bytes)]
}

exports.FILE = FILE
exports.questionLog = questionLog
