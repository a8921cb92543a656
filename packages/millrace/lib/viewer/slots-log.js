'use strict'
// What the viewer needs of a log, for the slots of several processes: one list in the order of the merged log.
//
// A place in that order is a record, and beside it the seq that each other slot has reached. The page gets it as a
// text, such as `0:4096;1:33000,2:51200`, and hands it back. It may also name a record alone, `0:4096`, or a time,
// `time:1790000000000`; then each slot is searched for the place.

const { setTimeout: wait } = require('node:timers/promises')
const { OneLog } = require('./one-log')

const KEY = /^(\d{1,6}):(\d{1,16})$/
const TIME = /^time:(-?\d{1,16})$/
// Records that come within so many ms are told together.
const GATHER_MS = 50
// If a record has no time, one of the next ones may.
const TIMED_COUNT_MAX = 16
const SKIP = /** @type {const} */ ({ onCorrupt: 'skip', onRetained: 'skip' })

/**
 * @typedef {import('./one-log').Run} Run
 * @typedef {import('./one-log').Source} Source
 * @typedef {import('@millrace/merged-log').Position} Position
 * @typedef {{ slot: number | null, seq: number, beside: Position }} Place  slot: null for a place at no record
 */

class SlotsLog {
  #log
  #records
  #listFiles
  /** @type {Map<number, OneLog>} */
  #slots = new Map()
  isEstimable = true

  /**
   * @param {import('@millrace/merged-log').MergedLog} log  open; its values are the bytes of the records
   * @param {import('./records').Records} records
   * @param {(log: any) => () => Promise<import('./one-log').OneFile[]>} listFiles  of a slot
   */
  constructor (log, records, listFiles) {
    this.#log = log
    this.#records = records
    this.#listFiles = listFiles
    this.filename = log.filename
    log.eachSlot((log, slot) => this.#slots.set(slot, new OneLog(log, { slot, listFiles: this.#listFiles(log) })))
  }

  parts () {
    return [...this.#slots.values()].sort((a, b) => Number(a.slot) - Number(b.slot))
  }

  /** @returns {Place} */
  end () {
    return atNoRecord(Object.fromEntries([...this.#slots].map(([slot, log]) => [slot, log.end()])))
  }

  endText () {
    return `;${formatBeside(this.end().beside)}`
  }

  /**
   * @param {string} text
   * @returns {Promise<Place>}
   */
  async find (text) {
    const time = TIME.exec(text)
    if (time !== null) return atNoRecord(await this.#besideAt(Number(time[1])))
    const [key, beside] = text.split(';')
    if (key === '' && beside !== undefined) return atNoRecord(parseBeside(beside))
    const { slot, seq } = parseKey(key)
    return { slot, seq, beside: beside === undefined ? await this.#besideRecord(slot, seq) : parseBeside(beside) }
  }

  /** @param {number} slot @param {number} seq @returns {Promise<Position>} */
  async #besideRecord (slot, seq) {
    const log = this.#slots.get(slot)
    const time = log === undefined ? null : (await this.#probe(log, seq))?.time ?? null
    if (time !== null) return this.#besideAt(time)
    // Without times, one slot comes after the other.
    const before = [...this.#slots].filter(([other]) => other < slot)
    return Object.fromEntries(before.map(([other, log]) => [other, log.end()]))
  }

  /** @param {number} ms @returns {Promise<Position>} */
  async #besideAt (ms) {
    /** @type {Position} */
    const beside = {}
    await Promise.all([...this.#slots].map(async ([slot, log]) => {
      beside[slot] = await this.#seqBefore(log, ms)
    }))
    return beside
  }

  /**
   * @param {OneLog} log
   * @param {number} ms
   * @returns {Promise<number>}  the seq of the last record before that time; -1 if there is none
   */
  async #seqBefore (log, ms) {
    let [low, high] = [-1, log.end() + 1]
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2)
      const found = await this.#probe(log, middle)
      // What has no time comes first, as in the merged log.
      const isBefore = found !== null && found.seq < high && (found.time === null || found.time < ms)
      if (isBefore) low = found.seq
      else high = middle
    }
    return low
  }

  /**
   * @param {OneLog} log
   * @param {number} from
   * @returns {Promise<{ seq: number, time: number | null } | null>}  the first record from there on
   */
  async #probe (log, from) {
    /** @type {{ seq: number, time: number | null } | null} */
    let found = null
    await log.scan({ from, limit: TIMED_COUNT_MAX }, (run) => {
      for (let index = 0; index < run.count; index++) {
        const time = this.#records.timeIn(run, index)
        found ??= { seq: run.seqs[index], time }
        found.time ??= time
        if (found.time !== null) return false
      }
    })
    return found
  }

  /** @type {Source['scan']} */
  async scan ({ before, from, after, upTo, ...options }, onRun) {
    const bounds = {
      ...(before && { upTo: toPosition(before, -1) }),
      ...(upTo && { upTo: toPosition(upTo, 0) }),
      ...(from && { after: toPosition(from, -1) }),
      ...(after && { after: toPosition(after, 0) })
    }
    const stream = this.#log.stream({ ...options, ...bounds, ...SKIP })
    for await (const { seq: key, value } of stream) {
      const { slot, seq } = parseKey(key)
      const bytes = { buffer: value, count: 1, seqs: [seq], starts: [0], ends: [value.length] }
      const run = { ...bytes, slot, beside: stream.position }
      if (onRun(run) === false) break
    }
    return { lost: stream.lost }
  }

  /** @param {string} key */
  async get (key) {
    return this.#records.decode(await this.#log.get(key))
  }

  /** @param {Run} run */
  shareAfter ({ slot, seqs, beside }) {
    const { beside: ends } = this.end()
    const sum = (/** @type {Position} */ position) => Object.values(position).reduce((total, seq) => total + seq, 0)
    return 1 - sum({ ...beside, [Number(slot)]: seqs[0] }) / Math.max(1, sum(ends))
  }

  /**
   * In the order of a live stream, which waits for what other slots may still get.
   * @param {Place} after
   * @param {AbortSignal} signal
   */
  async * follow (after, signal) {
    const stream = this.#log.stream({ after: toPosition(after, 0), live: true, values: false, signal, ...SKIP })
    let count = 0
    const read = () => new Promise((resolve, reject) => {
      stream(null, (/** @type {any} */ end) => {
        if (end) return reject(end === true ? new Error('the log was closed') : end)
        // Together with the position of the stream.
        count++
        resolve(null)
      })
    })
    try {
      for (let reading = read(); ;) {
        await reading
        const late = wait(GATHER_MS, true)
        for (const untilMs = performance.now() + GATHER_MS; performance.now() < untilMs;) {
          reading = read()
          // Nobody waits for it while what came is told.
          reading.catch(() => {})
          if (await Promise.race([reading, late])) break
        }
        const { position } = stream
        const told = count
        count = 0
        if (told > 0) yield { count: told, upTo: atNoRecord(position), endText: `;${formatBeside(position)}` }
      }
    } finally {
      stream(true, () => {})
    }
  }
}

/** @param {Position} beside @returns {Place} */
function atNoRecord (beside) {
  return { slot: null, seq: -1, beside }
}

/**
 * @param {Place} place
 * @param {number} step  0 for the place after its record, -1 for the one before it
 * @returns {Position}
 */
function toPosition ({ slot, seq, beside }, step) {
  return slot === null ? beside : { ...beside, [slot]: seq + step }
}

/** @param {string} key */
function parseKey (key) {
  const [, slot, seq] = KEY.exec(key) ?? []
  if (slot !== undefined) return { slot: Number(slot), seq: Number(seq) }
  throw new TypeError(`the viewer expected a seq such as 0:4096, got ${key}`)
}

/** @param {string} text @returns {Position} */
function parseBeside (text) {
  const pairs = text === '' ? [] : text.split(',').map((pair) => /^(\d{1,6}):(-1|\d{1,16})$/.exec(pair))
  if (pairs.includes(null)) throw new TypeError(`the viewer expected seqs such as 0:4096,1:33000, got ${text}`)
  return Object.fromEntries(pairs.map((pair) => [Number(pair?.[1]), Number(pair?.[2])]))
}

/** @param {Position} beside */
function formatBeside (beside) {
  return Object.entries(beside).map(([slot, seq]) => `${slot}:${seq}`).join(',')
}

exports.SlotsLog = SlotsLog
exports.formatBeside = formatBeside
