'use strict'
// A sink that appends to another log, each record once. It knows by the target's last record what the target has: after
// a crash, after an append that failed half way, and after the target was reset or restored from an older copy.

const { LogError } = require('@millrace/errors')
const { textOf } = require('./text-of')

/**
 * A record that a target has.
 * @typedef {object} ShippedRecord
 * @property {number} at  its seq in the target
 * @property {string | null} log  the id of the log that it came from; null if no shipper has written it
 * @property {number} seq  in that log
 * @property {any} value
 */

/**
 * @typedef {object} TargetEnd
 * @property {string | null} id  another one under the same name is another target; null if that is not known
 * @property {number} since  the last seq that was given, also if its record was deleted; below 0 if none was
 * @property {ShippedRecord | null} last  the last record that is there
 * @property {number | null} [first]  the seq of the first record that is there; null if there is none
 * @property {'all' | 'last' | 'none'} [keeps]  which of its records a target keeps, as long as nobody deletes or purges
 *   them: with a limit of its size, the last one; with a limit of age none, and that is the default
 */

/**
 * What a sink needs of a target. `LogTarget` makes it of any log; a log that can do better has a method `shipTarget`.
 * @typedef {object} Target
 * @property {string} name  for messages
 * @property {(noted?: number) => Promise<TargetEnd>} readEnd  `noted`: what `since` was when we last looked
 * @property {(records: Array<{ seq: number, value: any }>, context: { log: string, after: number }) => Promise<number>}
 *   append  gives the seq of the last one. If it fails, a first part of them may be there, without gaps. Fails with
 *   ERR_SHIP_TARGET_TAKEN if the last seq of the target is not `after`
 * @property {() => Promise<unknown>} sync
 * @property {(options: { signal?: AbortSignal }) => AsyncIterable<ShippedRecord>} read  all that is there, in order
 */

/**
 * What the cursor notes: how far the target was, and the seq of the source there.
 * @typedef {{ id: string | null, since: number, seq: number, first?: number | null }} State  `first`: of its records
 */

class LogSink {
  #source
  #target
  #refill
  /** What this sink knows of the target. @type {State} */
  #state = { id: null, since: -1, seq: -1 }
  /**
   * The highest seq that may have arrived without our knowing. A try that seems to have failed may arrive late, even
   * after the next one was begun. It cannot any more once a later one has succeeded.
   */
  #unsureTo = -1
  /** Whether the target may have changed since we last looked. */
  #mustLook = false
  /** Whether others can take away from the target what it has. Then it is looked at before each append. */
  #isShared = false

  /**
   * @param {any} source  a log
   * @param {Target} target
   * @param {{ refill: boolean }} options
   */
  constructor (source, target, { refill }) {
    this.#source = source
    this.#target = target
    this.#refill = refill
  }

  /** No other try mends these. @param {any} err */
  isFatal (err) {
    return FATAL.has(err?.code)
  }

  /**
   * @param {import('../options').BeginContext} context
   * @returns {Promise<import('../options').Begin>}
   */
  async begin ({ log, seq, state, isNew }) {
    const noted = /** @type {State | null} */ (state)
    const end = await this.#readEnd(noted?.since)
    this.#checkOwner(end, log)
    const { last } = end
    const problem = noted === null ? null : this.#findLoss(end, noted)
    if (problem !== null) return this.#beginAgain(end, problem)
    // A target that has records is resumed after them, whatever `start` says.
    const passed = isNew && last !== null ? -1 : seq
    const begin = await this.#beginAt(end, Math.max(passed, noted?.seq ?? -1, last?.seq ?? -1))
    return { ...begin, problem: noted === null ? null : this.#findGap(end, noted) }
  }

  async #readEnd (noted = this.#state.since) {
    const end = await this.#target.readEnd(noted)
    this.#isShared = end.keeps === 'all' || end.keeps === 'last'
    return end
  }

  /**
   * Looks at the target while there is nothing to send.
   * @returns {Promise<import('../options').Begin | null>}  if it has lost records
   */
  async check () {
    if (!this.#isShared) return null
    const end = await this.#readEnd()
    const problem = this.#findLoss(end, this.#state)
    return problem === null ? this.#noteGap(end) : this.#beginAgain(end, problem)
  }

  /**
   * @param {Array<{ seq: number, value: any }>} records
   * @param {{ log: string }} context
   * @returns {Promise<import('../options').Answer>}
   */
  async send (records, { log }) {
    const begin = this.#mustLook || this.#isShared ? await this.#lookAgain(log) : null
    if (begin !== null) return { begin }
    // The others arrived with a try that seemed to fail.
    const rest = records.filter(({ seq }) => seq > this.#state.seq)
    if (rest.length === 0) return { state: this.#state }
    const { seq } = rest[rest.length - 1]
    this.#mustLook = true
    try {
      const since = await this.#target.append(rest, { log, after: this.#state.since })
      this.#state = { ...this.#state, since, seq, first: this.#state.first ?? since - rest.length + 1 }
    } catch (/** @type {any} */ err) {
      if (err.code === 'ERR_SHIP_TARGET_TAKEN') return this.#resolveConflict(log, err)
      this.#unsureTo = Math.max(this.#unsureTo, seq)
      throw err
    }
    this.#mustLook = false
    this.#unsureTo = -1
    return { state: this.#state }
  }

  sync () {
    return this.#target.sync()
  }

  /**
   * The target has more than we know, or less. The try itself has added nothing.
   * @type {(log: string, cause: Error) => Promise<import('../options').Answer>}
   */
  async #resolveConflict (log, cause) {
    const begin = await this.#lookAgain(log)
    if (begin !== null) return { begin }
    throw new LogError('ERR_SINK_UNAVAILABLE', `${cause.message}; it is looked at again`, { cause })
  }

  /**
   * After a try whose end is unknown: finds out what has arrived.
   * @param {string} log
   * @returns {Promise<import('../options').Begin | null>}  if the target has lost records
   */
  async #lookAgain (log) {
    const end = await this.#readEnd()
    this.#checkOwner(end, log)
    const problem = this.#findLoss(end, this.#state)
    if (problem !== null) return this.#beginAgain(end, problem)
    const { since, last } = end
    const seq = last?.seq ?? -1
    if (since !== this.#state.since && (seq <= this.#state.seq || seq > this.#unsureTo)) {
      const { name } = this.#target
      throw taken(`${name} has records after ${this.#state.since} that another shipper of the same log has written`)
    }
    this.#state = { ...this.#state, since, seq: Math.max(seq, this.#state.seq) }
    this.#mustLook = false
    return this.#noteGap(end)
  }

  /**
   * Says once that the target has lost its first records.
   * @type {(end: TargetEnd) => import('../options').Begin | null}
   */
  #noteGap (end) {
    const problem = this.#findGap(end, this.#state)
    this.#state = { ...this.#state, first: end.first ?? null }
    return problem === null ? null : { seq: this.#state.seq, state: this.#state, problem }
  }

  /** @type {(end: TargetEnd, log: string) => void} */
  #checkOwner ({ last }, log) {
    if (last === null || last.log === log) return
    const origin = last.log === null ? 'was not written by a shipper' : `came from the log ${last.log}, and this is ${log}`
    throw taken(`the last record of ${this.#target.name}, at ${last.at}, ${origin}`)
  }

  /**
   * Why the target is not what was noted of it; null if it is.
   * @type {(end: TargetEnd, noted: State) => string | null}
   */
  #findLoss ({ id, since, last, keeps = 'none' }, noted) {
    const { name } = this.#target
    const isOther = id !== null && noted.id !== null && id !== noted.id
    const had = `it had the record ${noted.seq} at ${noted.since}`
    if (isOther && (last?.seq ?? -1) < noted.seq) return `${name} is not the same as before: ${had}, ${describeEnd(last)}`
    if (!isOther && since < noted.since) return `${name} was reset, or restored from an older copy: ${had}, ${describeEnd(last)}`
    const isEmptied = !isOther && last === null && (noted.first ?? null) !== null && keeps !== 'none'
    return isEmptied ? `${name} was purged: ${had}, ${describeEnd(last)}` : null
  }

  /**
   * What was purged from the target before records that it still has. It is not shipped again, because it would come
   * after them.
   * @type {(end: TargetEnd, noted: State) => string | null}
   */
  #findGap ({ id, first = null, keeps }, { id: notedId, first: firstBefore = null }) {
    const isGap = keeps === 'all' && id === notedId && first !== null && firstBefore !== null && first > firstBefore
    if (!isGap) return null
    return `${this.#target.name} was purged: its records from ${firstBefore} to ${first - 1} are gone. They are not shipped again, as ` +
      'they would come after the others; to have them, ship to a new target'
  }

  /** @type {(end: TargetEnd, problem: string) => Promise<import('../options').Begin>} */
  async #beginAgain (end, problem) {
    if (!this.#refill) {
      throw new LogError('ERR_SHIP_TARGET_LOST', `${problem}; nothing was shipped. Allow refill to ship again what is missing`)
    }
    return { ...await this.#beginAt(end, end.last?.seq ?? -1), problem }
  }

  /** @type {(end: TargetEnd, seq: number) => Promise<import('../options').Begin>} */
  async #beginAt (end, seq) {
    // The last record may lie before: those after it were refused, or deleted from the target.
    if (end.last !== null && end.last.seq !== seq) await this.#checkSource(end.last.seq, end.last)
    const isThere = seq === -1 || await this.#checkSource(seq, end.last)
    this.#state = { id: end.id, since: end.since, seq, first: end.first ?? null }
    this.#unsureTo = -1
    this.#mustLook = false
    // Seqs are never given twice: what comes after a lost end has a higher seq than the target's last record.
    return { seq: isThere ? seq : Math.min(seq, this.#source.since.value), state: this.#state, problem: null }
  }

  /**
   * Whether the source still is the log that the target's last record came from.
   * @type {(seq: number, last: ShippedRecord | null) => Promise<boolean>} false if a power cut took the record
   */
  async #checkSource (seq, last) {
    let value
    try {
      // A reader may be behind another one, from which a shipper that has just ended has shipped.
      if (seq > this.#source.since.value) await this.#source.refresh?.()
      value = await this.#source.get(seq)
    } catch (/** @type {any} */ err) {
      if (err.code === 'ERR_LOG_SEQ_LOST') return false
      if (UNREADABLE.has(err.code)) return true
      if (err.code !== 'ERR_RECORD_NOT_FOUND') throw err
      throw changed(`${this.#source.filename} has no record at ${seq}, which ${this.#target.name} has`)
    }
    if (last?.seq === seq && textOf(value) !== textOf(last.value)) {
      throw changed(`${this.#source.filename} has another record at ${seq} than ${this.#target.name}`)
    }
    return true
  }
}

const FATAL = new Set(['ERR_SHIP_SOURCE_CHANGED', 'ERR_SHIP_TARGET_TAKEN', 'ERR_SHIP_TARGET_LOST', 'ERR_SHIP_TARGET_FAILED'])
/** The log has had a record there, and does not show it any more. */
const UNREADABLE = new Set(['flumelog:deleted', 'ERR_LOG_SEQ_RETAINED', 'ERR_LOG_CORRUPT', 'ERR_CODEC_DECODE'])

/** @param {ShippedRecord | null} last */
function describeEnd (last) {
  return last === null ? 'and has no record now' : `and now ends with the record ${last.seq} at ${last.at}`
}

/** @param {string} found */
function taken (found) {
  return new LogError('ERR_SHIP_TARGET_TAKEN', `${found}. Give each shipped log a target of its own, and one shipper`)
}

/** @param {string} found */
function changed (found) {
  return new LogError('ERR_SHIP_SOURCE_CHANGED', `${found}: the source was restored from an older copy, or replaced. Ship it ` +
    'to a new target')
}

exports.LogSink = LogSink
exports.taken = taken
