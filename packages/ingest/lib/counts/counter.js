'use strict'
// Counts the events of a log. The counts in memory go up to the record at the cursor. Now and then they are saved with
// the cursor, once all up to there is on stable storage. After a start, the rest is counted from the log; until it is
// saved, a hold keeps it from being dropped. So a crash loses no count and doubles none.
//
// Batches that this process writes are counted without reading them again, as long as it is known what the log has.
// After a failed write it is not: then the counter reads the log again from the cursor on.
//
// It proves its place as a view of @millrace/view does, and is none. A view saves its state as a whole, and the counts
// grow without end. A view reads what was written, which would make the work of a batch half as much again. And a view
// is built again by itself: the days that the log has dropped would be lost.

const { clearTimeout, setTimeout } = require('node:timers')
const { Turns } = require('@millrace/flow')
const { findDoubt, provePlace } = require('@millrace/offset-log/composing')
const { Problem, unavailable } = require('../problem')
const { decodeRecord } = require('../record')
const { CountFiles, stale } = require('./files')
const { Recount } = require('./recount')
const { Tally, dayOf, pairOf } = require('./tally')

const HOLD = 'counts'
const SAVE_MS = 5000
const RETRY_MS = 1000
const SAVE_SIZE = 32 * 2 ** 20
/** How many times a recount is tried if records are dropped meanwhile. */
const RECOUNT_MAX = 5
/** What a record takes in a log beside its bytes, at most. */
const FRAME_SIZE = 32
/** The counts do not fit the log any more. */
const LASTING = new Set(['ERR_LOG_SEQ_RETAINED', 'ERR_LOG_SEQ_LOST'])

/**
 * @typedef {import('../options').Log} Log
 * @typedef {import('./tally').Events} Events
 *
 * @typedef {object} CounterOptions
 * @property {import('@millrace/block-file').Storage} storage
 * @property {string} folder  of the files
 * @property {number} eventsPerDay  how many different events a day may have
 * @property {number} unsavedSize  bytes of records that may be counted, but not saved: more could be dropped
 * @property {(err: Error) => void} onFailure
 */

class Counter {
  #log
  #options
  #files
  /** Days that are not in files of their own, or whose counts are newer. @type {Map<number, Tally>} */
  #days = new Map()
  /** Days that have a file. @type {Set<number>} */
  #filed = new Set()
  #cursor = -1
  /** The cursor in the file; null if there is none. @type {number | null} */
  #saved = null
  #unsavedSize = 0
  /** Whether what is written now may be added at once. */
  #isCurrent = false
  /** Why the counts cannot be right; null if they can. @type {Problem | null} */
  #broken = null
  /** @type {Promise<void> | null} */
  #catchingUp = null
  /** Who waits until the counts go up to a seq. @type {Array<{ goal: number, tell: () => void }>} */
  #waiting = []
  /** While nothing is counted, because the counts become others. @type {Promise<void> | null} */
  #stillness = null
  /** @type {Promise<import('./recount').Recounted> | null} */
  #recounting = null
  /** Of the files. */
  #changes = new Turns()
  #isSaving = false
  /** @type {NodeJS.Timeout | null} */
  #timer = null
  /** Ends reading when the log is closed or opened again. */
  #reading = new AbortController()
  /** How often the log was opened again, or counted again: what was saved of the counts before is not what there is. */
  #epoch = 0

  /** @param {Log} log  that is open  @param {CounterOptions} options */
  constructor (log, options) {
    this.#log = log
    this.#options = options
    this.#files = new CountFiles(options.storage, options.folder)
  }

  /** Reads the counts. What the log has beyond them is counted afterwards. */
  async open () {
    this.#filed = await this.#files.listDays()
    await this.#load()
  }

  /** Goes on with the same log, opened again: it may have lost its last records. @param {Log} log */
  async restart (log) {
    this.#pause()
    this.#log = log
    this.#epoch++
    this.#reading = new AbortController()
    await this.#changes.run(() => this.#load())
  }

  async #load () {
    this.#isCurrent = false
    this.#broken = null
    try {
      const saved = await this.#files.readNow()
      if (saved === null && this.#filed.size > 0) throw stale('the file now.json is missing')
      const doubt = saved && await findDoubt(this.#log, saved.place)
      this.#days = saved?.days ?? new Map()
      this.#cursor = saved?.place.cursor ?? -1
      this.#saved = saved?.place.cursor ?? null
      this.#unsavedSize = 0
      if (doubt !== null) throw stale(doubt)
    } catch (err) {
      if (!(err instanceof Problem)) throw err
      this.#fail(err)
    }
    if (this.#saved === null) await this.#log.hold(HOLD, 0).catch(unlessReadOnly)
    this.catchUp().catch(() => {})
  }

  /** @param {Problem} err */
  #fail (err) {
    this.#broken = err
    this.#saved = null
    this.#options.onFailure(err)
  }

  /** False: before more is written, wait until the counts are saved. Otherwise it could be dropped uncounted. */
  get hasRoom () {
    return this.#unsavedSize <= this.#options.unsavedSize || this.#broken !== null
  }

  /**
   * @param {number} timeMs  of receipt
   * @param {string[]} pairs  source, event, source, event and so on
   * @returns {Events}  to be handed to `written`
   * @throws {Problem}
   */
  admit (timeMs, pairs) {
    const day = dayOf(timeMs)
    const tally = this.#days.get(day)
    /** @type {Tally | null} */
    let fresh = null
    for (let i = 0; i < pairs.length; i += 2) {
      if (tally?.has(pairs[i], pairs[i + 1])) continue
      fresh ??= new Tally()
      fresh.add(pairs[i], pairs[i + 1], 1)
    }
    if (fresh !== null) this.#makePlaces(day, tally ?? new Tally(), fresh)
    return { day, pairs }
  }

  /**
   * Events that are being written count towards the limit.
   * @type {(day: number, tally: Tally, fresh: Tally) => void} throws a Problem
   */
  #makePlaces (day, tally, fresh) {
    const { eventsPerDay } = this.#options
    if (tally.size + fresh.size > eventsPerDay) {
      throw new Problem(403, `a day may have ${eventsPerDay} different events, by source and event, and today has them; ` +
        'put what differs from event to event into value. Nothing was stored', { code: 'too_many_events' })
    }
    for (const [source, event] of fresh.rows()) tally.add(source, event, 0)
    if (!this.#filed.has(day)) this.#days.set(day, tally)
  }

  /**
   * A batch that was admitted is in the log; or it may be, if there is an error.
   * @type {(events: Events, size: number, err: Error | null, seq: number) => void}
   */
  written ({ day, pairs }, size, err, seq) {
    if (!this.#isCurrent) {
      this.#schedule(RETRY_MS)
      return
    }
    if (seq <= this.#cursor && err === null) return
    const tally = this.#days.get(day)
    if (err !== null || (tally === undefined && pairs.length > 0)) {
      this.#isCurrent = false
      this.catchUp().catch(() => {})
      return
    }
    tally?.addPairs(pairs)
    this.#advance(seq, size)
  }

  /** @type {(seq: number, size: number) => void} */
  #advance (seq, size) {
    this.#cursor = seq
    this.#unsavedSize += size + FRAME_SIZE
    if (this.#unsavedSize > Math.min(SAVE_SIZE, this.#options.unsavedSize / 4)) this.#saveSoon()
    else this.#schedule(SAVE_MS)
  }

  /**
   * Counts what the log has beyond the cursor.
   * @returns {Promise<void>}  once all is counted that the log had at the call: it may grow all the time. It fails if
   *   the counts are closed before that
   */
  async catchUp () {
    while (this.#stillness !== null) await this.#stillness
    if (this.#broken !== null) throw this.#broken
    const goal = Number(this.#log.since.value)
    if (this.#isCurrent && this.#cursor >= goal) return
    // Others can read a record before its append calls back. It is read, and counts as it is written no more.
    this.#isCurrent = false
    this.#catchingUp ??= this.#readOn().finally(() => { this.#catchingUp = null })
    const reading = this.#catchingUp
    await new Promise((resolve, reject) => {
      this.#waiting.push({ goal, tell: () => resolve(null) })
      reading.then(() => {
        if (this.#cursor >= goal) resolve(null)
        else if (this.#reading.signal.aborted) reject(unavailable('the log was closed before its events were counted'))
        else resolve(this.catchUp())
      }, reject)
    })
  }

  /** @param {number} cursor  all up to this seq is counted */
  #tell (cursor) {
    const told = this.#waiting.filter(({ goal }) => goal <= cursor)
    this.#waiting = this.#waiting.filter(({ goal }) => goal > cursor)
    for (const { tell } of told) tell()
  }

  async #readOn () {
    const epoch = this.#epoch
    const log = this.#log
    const { signal } = this.#reading
    try {
      while (this.#cursor < Number(log.since.value) && this.#stillness === null) {
        const end = Number(log.since.value)
        for await (const { seq, value } of log.stream({ gt: this.#cursor, lte: end, signal })) {
          const { time, value: inner } = decodeRecord(value)
          const pair = pairOf(inner)
          const tally = pair.length > 0 && (this.#days.get(dayOf(time)) ?? await this.#openDay(dayOf(time)))
          if (epoch !== this.#epoch) return
          if (tally) tally.addPairs(pair)
          this.#advance(seq, value.length)
        }
        this.#cursor = end
        this.#tell(end)
      }
      this.#isCurrent = epoch === this.#epoch && this.#stillness === null
    } catch (/** @type {any} */ err) {
      if (epoch !== this.#epoch || signal.aborted) return
      const isLasting = LASTING.has(err.code)
      const failure = isLasting ? stale('records were dropped, or lost, before they were counted') : err
      if (failure instanceof Problem) this.#fail(failure)
      else this.#options.onFailure(err)
      throw failure
    } finally {
      this.#waiting = []
    }
  }

  /** @param {number} day @returns {Promise<Tally>} */
  async #openDay (day) {
    const tally = this.#filed.has(day) ? await this.#files.readDay(day) : new Tally()
    this.#days.set(day, tally)
    return tally
  }

  /** @param {number} ms */
  #schedule (ms) {
    this.#timer ??= setTimeout(this.#saveSoon, ms).unref()
  }

  #saveSoon = () => {
    if (this.#isSaving) return
    this.#isSaving = true
    const done = () => { this.#isSaving = false }
    this.catchUp().catch(() => {})
    this.save().then(done, (err) => {
      done()
      this.#options.onFailure(err)
      this.#schedule(RETRY_MS)
    })
  }

  /** Saves the counts up to the cursor. */
  save () {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    return this.#changes.run(() => this.#save())
  }

  async #save () {
    const log = this.#log
    const epoch = this.#epoch
    const cursor = this.#cursor
    const unsavedSize = this.#unsavedSize
    if (this.#broken !== null || cursor === this.#saved) return
    const days = [...this.#days].map(([day, tally]) => ({ day, tally, total: tally.total }))
    await this.#files.writeNow(this.#days, proveDurable(log, cursor))
    if (epoch !== this.#epoch) return
    this.#saved = cursor
    this.#unsavedSize -= unsavedSize
    await log.hold(HOLD, cursor)
    await this.#fileOld(days)
  }

  /**
   * Moves days that are over into files of their own. `now.json` has them up to the same record, so it does not matter
   * which of the two a crash leaves: `now.json` counts, until it is written without them.
   * @param {Array<{ day: number, tally: Tally, total: number }>} days  as `now.json` has them
   */
  async #fileOld (days) {
    const newest = Math.max(...days.map(({ day }) => day))
    for (const { day, tally, total } of days) {
      const isSame = () => this.#days.get(day) === tally && tally.total === total
      // A record may still come that has waited over midnight.
      if (day >= newest - 1 || !isSame()) continue
      await this.#files.writeDay(day, tally)
      this.#filed.add(day)
      if (isSame()) this.#days.delete(day)
    }
  }

  /** The days with counts, in order. @returns {number[]} */
  listDays () {
    return [...new Set([...this.#filed, ...this.#days.keys()])].sort((a, b) => a - b)
  }

  /** The counts of a day. @param {number} day @returns {Promise<import('./tally').Row[]>} */
  async readDay (day) {
    const tally = this.#days.get(day) ?? await this.#files.readDay(day)
    return tally.rows()
  }

  /**
   * Counts again what is in the log. Days whose records were dropped keep their counts.
   * @returns {Promise<import('./recount').Recounted>}
   */
  recount () {
    this.#recounting ??= this.#recount().finally(() => { this.#recounting = null })
    return this.#recounting
  }

  async #recount () {
    for (let attempt = 1; ; attempt++) {
      const recount = new Recount(this.#log, this.#files, this.#reading.signal)
      try {
        await this.#countAgain(recount)
        return recount.result
      } catch (/** @type {any} */ err) {
        if (err.code !== 'ERR_LOG_SEQ_RETAINED') throw err
        if (attempt === RECOUNT_MAX) throw unavailable('records were dropped while they were counted; count again', err)
        for (const day of recount.filed) this.#filed.add(day)
      } finally {
        await recount.end().catch(() => {})
      }
    }
  }

  /** @param {Recount} recount */
  async #countAgain (recount) {
    const epoch = this.#epoch
    const isLive = (/** @type {number} */ day) => this.#broken === null && this.#days.has(day)
    const isKnown = (/** @type {number} */ day) => this.#filed.has(day) || isLive(day)
    // A day that was dropped in part has its whole count only here.
    if (this.#broken === null) await this.catchUp()
    await recount.begin()
    const file = (/** @type {number} */ day, /** @type {Tally} */ tally) => this.#changes.run(async () => {
      // A file must not have an event that lies beyond the saved cursor: after a crash it would be counted again.
      const isCounted = this.#broken !== null || this.#cursor >= Number(this.#log.since.value)
      if (!isCounted || isLive(day)) return false
      await this.#files.writeDay(day, tally)
      return !isLive(day)
    })
    await recount.readOn(Number(this.#log.since.value), isKnown, file)
    if (this.#broken === null) await this.catchUp()
    await this.#standStill(async () => {
      // Days that are kept are counted by this counter, so both must have come to the same event.
      if (this.#broken === null) await recount.readOn(this.#cursor, isKnown, file)
      if (epoch !== this.#epoch) throw unavailable('the log was opened again; count again')
      this.#replaceBy(recount)
    })
    this.catchUp().catch(() => {})
    await this.save()
  }

  /** Runs an action while nothing is counted. @type {(action: () => Promise<void>) => Promise<void>} */
  async #standStill (action) {
    let goOn = () => {}
    this.#stillness = new Promise((resolve) => { goOn = () => resolve() })
    try {
      this.#isCurrent = false
      await this.#catchingUp?.catch(() => {})
      await action()
    } finally {
      this.#stillness = null
      goOn()
    }
  }

  /** @param {Recount} recount  that has come to the end of the log, as the counter itself */
  #replaceBy ({ days, filed, cursor, includes }) {
    const kept = this.#broken === null ? [...this.#days].filter(([day]) => !includes(day)) : []
    this.#days = new Map([...kept, ...days])
    // The log has no event of these.
    for (const day of this.#filed) {
      if (includes(day) && !days.has(day) && !filed.has(day)) this.#days.set(day, new Tally())
    }
    for (const day of filed) this.#filed.add(day)
    this.#cursor = cursor
    this.#saved = null
    this.#epoch++
    this.#broken = null
    this.#isCurrent = cursor >= Number(this.#log.since.value)
  }

  #pause () {
    this.#isCurrent = false
    this.#reading.abort()
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
  }

  /** Saves the counts; call it before the log is closed. */
  async close () {
    this.#reading.abort()
    await this.#catchingUp?.catch(() => {})
    await this.#recounting?.catch(() => {})
    await this.save().catch((err) => this.#options.onFailure(err))
    this.#pause()
  }
}

/** @type {(log: Log, cursor: number) => ReturnType<typeof provePlace>} */
async function proveDurable (log, cursor) {
  const place = await provePlace(log, cursor)
  // A power cut must not take a record that is counted.
  if (Number(log.durable.value) < cursor) await log.sync()
  return place
}

/** A log that cannot be written drops nothing. @param {any} err */
function unlessReadOnly (err) {
  if (err.code !== 'ERR_LOG_READ_ONLY') throw err
}

exports.Counter = Counter
