// @ts-nocheck
'use strict'
// Callers that append with conditions, whatever happens to their log. Each record says on what condition it was
// appended, so the log alone shows whether one was broken, whoever was told what before a crash.

const { createIndex } = require('@millrace/index')
const { jsonCodec } = require('@millrace/json-codec')
const { OffsetLog } = require('@millrace/offset-log')
const { SegmentedLog } = require('@millrace/segmented-log')
const { collect } = require('@millrace/testkit')

const KEY_COUNT = 4
const KINDS = ['checked', 'lines', 'segments']
const MODES = ['always', 'interval', 'never']

/**
 * @typedef {(limit: number) => number} Random
 * @typedef {{ kind: string, fsync: string, isIndexed: boolean, tuning: object }} Setting  of a log
 * @typedef {{ n: number, key: number, batch: number, since: number | null }} Value  `since`: null without a condition
 */

/** @type {(random: Random) => Setting} */
function chooseSetting (random) {
  const tuning = { recordsMax: 2 + random(30), fanOut: 2 + random(3), waitMs: 1 }
  return { kind: KINDS[random(3)], fsync: MODES[random(3)], isIndexed: random(2) === 0, tuning }
}

/** @type {(setting: Setting, path: string, storage?: object) => any} */
function openLog ({ kind, fsync, isIndexed, tuning }, path, storage) {
  const index = isIndexed ? { index: createIndex(['key'], { tuning }) } : {}
  const options = { codec: jsonCodec, fsync, ...index, ...storage && { storage } }
  if (kind === 'segments') return SegmentedLog(path, { ...options, segmentSize: 34_000 })
  return OffsetLog(path, { ...options, framing: kind })
}

const whereKey = (/** @type {number} */ key) => ({ path: 'key', equals: key })

/** What the callers have done, and were told. */
class History {
  /** By batch: its seqs, once it was accepted. @type {Map<number, number[]>} */
  accepted = new Map()
  /** Those that a power cut may not take back. @type {Set<number>} */
  durable = new Set()
  acceptedCount = 0
  refusedCount = 0
  /** @type {string[]} */
  faults = []
  #next

  /** @param {number} [first]  the number of the first record */
  constructor (first = 0) {
    this.#next = first
  }

  /** What a power cut must leave. */
  mustStay () {
    return new Set(this.durable)
  }

  /** What the end of the process must leave. */
  mustStayAfterKill () {
    return new Set(this.accepted.keys())
  }

  /**
   * Several callers at once.
   * @param {any} log
   * @param {Setting} setting
   * @param {Random} random
   * @param {{ callerCount: number, stepCount: number, onAccepted?: (batch: number, seqs: number[]) => void }} options
   */
  async play (log, setting, random, { callerCount, stepCount, onAccepted = () => {} }) {
    const call = async () => {
      /** What this caller has heard of each key. */
      const known = new Map()
      const append = () => this.#appendOne(log, setting, random, known, onAccepted)
      for (let step = 0; step < stepCount; step++) {
        for (let turns = random(4); turns > 0; turns--) await new Promise(setImmediate)
        const kind = random(12)
        if (kind === 0) await this.#sync(log)
        else if (kind === 1 && setting.kind === 'segments') await log.roll()
        else await Promise.all(Array.from({ length: kind < 4 ? 3 : 1 }, append))
      }
    }
    await Promise.all(Array.from({ length: callerCount }, call))
  }

  /** @param {any} log */
  async #sync (log) {
    const before = [...this.accepted.keys()]
    await log.sync()
    for (const batch of before) this.durable.add(batch)
  }

  async #appendOne (log, { fsync }, random, known, onAccepted) {
    const key = random(KEY_COUNT)
    const since = random(6) === 0 ? null : await pickSince(log, random, known, key)
    const batch = this.#next
    const pad = 'x'.repeat(random(20) === 0 ? random(9000) : random(100))
    const count = random(4) === 0 ? 1 + random(4) : 1
    const values = Array.from({ length: count }, () => ({ n: this.#next++, key, batch, since, pad }))
    const options = since === null ? { seqs: true } : { seqs: true, if: { where: whereKey(key), since } }
    try {
      const seqs = await log.append(values, options)
      known.set(key, seqs.at(-1))
      this.acceptedCount++
      this.accepted.set(batch, seqs)
      if (fsync === 'always') this.durable.add(batch)
      onAccepted(batch, seqs)
    } catch (err) {
      if (err.code !== 'ERR_APPEND_CONDITION' || since === null) throw err
      this.refusedCount++
      known.set(key, err.seq)
      const found = await log.get(err.seq).catch((other) => other)
      if (!(err.seq > since) || found.key !== key) {
        const what = JSON.stringify(found).slice(0, 80)
        this.faults.push(`refused because of ${err.seq}, where ${what} is, not ${key} after ${since}`)
      }
    }
  }
}

/** The newest record of a key, one that the caller has heard of, the log's end, or nothing. */
async function pickSince (log, random, known, key) {
  switch (random(5)) {
    case 0: return known.get(key) ?? -1
    case 1: return log.since.value
    case 2: return (await log.last({ where: { path: 'key', equals: key } }))?.seq ?? -1
    default: return await log.last({ where: whereKey(key), values: false }) ?? -1
  }
}

/**
 * @param {any} log
 * @param {Set<number>} mustStay  batches
 * @returns {Promise<{ faults: string[], last: number }>}  `last`: the highest number of a record
 */
async function examine (log, mustStay) {
  const { faults, newest, last } = findBroken(await collect(log.stream()), mustStay)
  for (const [key, seq] of newest) {
    const found = await log.last({ where: whereKey(key), values: false })
    if (found !== seq) faults.push(`the last record of ${key} is at ${found}, not ${seq}`)
  }
  return { faults, last }
}

/**
 * Which conditions are broken, by what the records say.
 * @param {Array<{ seq: number, value: Value }>} records  all of the log, in order
 * @param {Iterable<number>} mustStay  batches
 * @returns {{ faults: string[], newest: Map<number, number>, last: number }}  `newest`: the last seq of each key
 */
function findBroken (records, mustStay) {
  const faults = []
  const batches = new Set()
  /** The last record of each key so far. @type {Map<number, number>} */
  const newest = new Map()
  let last = -1
  for (const { seq, value: { n, key, batch, since } } of records) {
    last = Math.max(last, n)
    const before = newest.get(key) ?? -1
    const isBroken = !batches.has(batch) && since !== null && before > since
    if (isBroken) faults.push(`${seq}: ${key} after ${since} was at ${before}, and batch ${batch} is there`)
    batches.add(batch)
    newest.set(key, seq)
  }
  for (const batch of mustStay) if (!batches.has(batch)) faults.push(`batch ${batch} was promised, and is missing`)
  return { faults, newest, last }
}

exports.History = History
exports.chooseSetting = chooseSetting
exports.examine = examine
exports.findBroken = findBroken
exports.openLog = openLog
