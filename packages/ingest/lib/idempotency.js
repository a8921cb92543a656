'use strict'
// Idempotency keys: a retry of a request that was stored gets the first answer again. What was stored is known from the
// marks in the log itself, so it is known after a crash too.

const crypto = require('node:crypto')
const fs = require('node:fs/promises')
const { boundParts, countOld, oldUntil } = require('@millrace/flow')
const { Problem } = require('./problem')
const { findPeriod, seqBefore } = require('./reading')
const { decodeRecord } = require('./record')

/** So many bytes at the end of a log are read whatever clocks have said: no rule is right for all wrong clocks. */
const READ_SIZE_MIN = 64 * 1024 ** 2

/**
 * @typedef {import('./named-logs').NamedLog} NamedLog
 * @typedef {import('./options').Segment} Segment
 * @typedef {{ body: string, count: number, seq: number }} Stored
 */

class Idempotency {
  #countMax
  #ageMs
  #readSizeMin
  /**
   * By key, the oldest first, except that those of a log that was opened later come later. `sinceMs` is when they were
   * stored, or read from the log, by the steady clock: no jump of the wall clock makes a key unknown.
   * @type {Map<string, Stored & { sinceMs: number }>}
   */
  #stored = new Map()
  /** Keys of requests that are not answered yet. @type {Set<string>} */
  #pending = new Set()
  /** What was read of each log. @type {Map<string, Promise<void>>} */
  #loaded = new Map()

  /** @param {{ count: number, ageMs: number, readSizeMin?: number }} limits */
  constructor ({ count, ageMs, readSizeMin = READ_SIZE_MIN }) {
    this.#countMax = count
    this.#ageMs = ageMs
    this.#readSizeMin = readSizeMin
  }

  /**
   * @param {NamedLog} entry
   * @param {string} given  the header
   * @param {string} apiKey  its id
   * @param {string} body  its SHA-256
   * @returns {Promise<{ key: string, body: string, first: Stored | null }>}  `first`: what an earlier request stored
   * @throws {Problem}
   */
  async begin (entry, given, apiKey, body) {
    const key = shorten(crypto.createHash('sha256').update([entry.name, apiKey, given].join('\n')).digest('hex'))
    const digest = shorten(body)
    await this.#load(entry)
    if (this.#pending.has(key)) {
      throw new Problem(409, 'a request with this Idempotency-Key is being handled; try again later', { code: 'in_flight', retryAfter: 1 })
    }
    const first = this.#find(key)
    if (first !== null && first.body !== digest) {
      throw new Problem(422, 'a request with this Idempotency-Key had another body; use a new key', { code: 'key_reused' })
    }
    if (first === null) this.#pending.add(key)
    return { key, body: digest, first }
  }

  /** @type {(key: string, stored: Stored | null) => void} null: nothing was stored, so a retry may try */
  end (key, stored) {
    this.#pending.delete(key)
    if (stored !== null) this.#remember(key, stored)
  }

  /** @param {string} key @returns {Stored | null} */
  #find (key) {
    const stored = this.#stored.get(key)
    return stored === undefined || stored.sinceMs < performance.now() - this.#ageMs ? null : stored
  }

  /** @type {(key: string, stored: Stored) => void} */
  #remember (key, stored) {
    this.#stored.delete(key)
    const nowMs = performance.now()
    this.#stored.set(key, { ...stored, sinceMs: nowMs })
    for (const [old, { sinceMs }] of this.#stored) {
      if (this.#stored.size <= this.#countMax && sinceMs >= nowMs - this.#ageMs) return
      this.#stored.delete(old)
    }
  }

  /** @param {NamedLog} entry */
  #load (entry) {
    let loading = this.#loaded.get(entry.name)
    if (loading === undefined) {
      loading = this.#read(entry)
      this.#loaded.set(entry.name, loading)
      loading.catch(() => this.#loaded.delete(entry.name))
    }
    return loading
  }

  /**
   * Reads the marks of the last hours, once for each log: those in all segments that are not too old for sure, by the
   * segments around them and by their own last record. The times of the marks themselves say nothing: a clock that was
   * behind has made some of them. Nor does the time of a segment that is before the last record of the one in question.
   * And no time says that a mark near the end is old.
   * @param {NamedLog} entry
   */
  async #read (entry) {
    const { log } = entry
    /** @type {Segment[]} */
    const segments = await log.segments()
    const nowMs = Date.now()
    const oldMs = nowMs - this.#ageMs
    const bounds = boundParts(segments.map(({ created }) => created.getTime()), nowMs)
    let index = countOld(bounds, oldUntil(bounds, nowMs, this.#ageMs), this.#ageMs)
    const isOld = async (/** @type {number} */ index) => {
      const period = await findPeriod(entry, { base: segments[index].base, next: segments[index + 1].base }, Infinity)
      const after = segments.slice(index + 1).find(({ created }) => created.getTime() >= period.to)
      return period.to <= oldMs && after !== undefined && after.created.getTime() <= oldMs
    }
    while (index > 0 && !await isOld(index - 1)) index--
    index = Math.min(index, await indexBefore(segments, this.#readSizeMin))
    const begin = await seqBefore(log, segments[index].base)
    const where = { path: ['idempotency', 'key'], exists: true }
    for await (const { seq, value } of log.stream({ gt: begin, where })) {
      const { idempotency } = decodeRecord(value)
      if (idempotency === undefined) continue
      const { key, body, count } = idempotency
      this.#remember(key, { body, count, seq })
    }
  }
}

/** Where the last bytes of a log begin. @type {(segments: Segment[], size: number) => Promise<number>} */
async function indexBefore (segments, size) {
  let index = segments.length
  for (let left = size; index > 0 && left > 0; index--) {
    // It may have been dropped meanwhile, or be compressed.
    left -= await fs.stat(segments[index - 1].path).then((found) => found.size, () => 0)
  }
  return index
}

/** 128 bits are enough. @param {string} hash  in hex */
function shorten (hash) {
  return hash.slice(0, 32)
}

exports.Idempotency = Idempotency
