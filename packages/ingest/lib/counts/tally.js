'use strict'
// How often each event happened on one day, in memory.

const DAY_MS = 24 * 3600 * 1000
const TEXT_LENGTH_MAX = 100

/**
 * @typedef {[source: string, event: string, count: number]} Row
 * @typedef {object} Events  those of one batch
 * @property {number} day  of receipt, in days since 1970
 * @property {string[]} pairs  source, event, source, event and so on
 */

class Tally {
  /** @type {Map<string, Map<string, number>>} */
  #sources = new Map()
  /** How many different events there are. */
  size = 0
  /** How many events were counted. */
  total = 0

  /** @param {Row[]} [rows] */
  constructor (rows = []) {
    for (const [source, event, count] of rows) this.add(source, event, count)
  }

  /** @type {(source: string, event: string) => boolean} */
  has (source, event) {
    return this.#sources.get(source)?.has(event) ?? false
  }

  /** A count of 0 keeps a place. @type {(source: string, event: string, count: number) => void} */
  add (source, event, count) {
    let events = this.#sources.get(source)
    if (events === undefined) this.#sources.set(source, events = new Map())
    const before = events.get(event)
    if (before === undefined) this.size++
    events.set(event, (before ?? 0) + count)
    this.total += count
  }

  /** @param {string[]} pairs */
  addPairs (pairs) {
    for (let i = 0; i < pairs.length; i += 2) this.add(pairs[i], pairs[i + 1], 1)
  }

  /** What was counted, in order. @returns {Row[]} */
  rows () {
    const rows = []
    for (const source of [...this.#sources.keys()].sort()) {
      const events = /** @type {Map<string, number>} */ (this.#sources.get(source))
      for (const event of [...events.keys()].sort()) {
        const count = Number(events.get(event))
        if (count > 0) rows.push(/** @type {Row} */ ([source, event, count]))
      }
    }
    return rows
  }
}

/** A text that an event may have. @param {unknown} text @returns {text is string} */
function isEventText (text) {
  if (typeof text !== 'string' || text === '' || text.length > 2 * TEXT_LENGTH_MAX) return false
  // Most characters have one unit; as in a schema, a pair of surrogates is one character.
  return text.length <= TEXT_LENGTH_MAX || [...text].length <= TEXT_LENGTH_MAX
}

/** The source and the event of a value; nothing if it is no event. @param {any} value @returns {string[]} */
function pairOf (value) {
  const { source, event } = value ?? {}
  return isEventText(source) && isEventText(event) ? [source, event] : []
}

/** @param {number} ms  since 1970 */
function dayOf (ms) {
  return Math.floor(ms / DAY_MS)
}

/** `2026-11-23`, also of years above 9999 @param {number} day */
function formatDay (day) {
  return new Date(day * DAY_MS).toISOString().split('T')[0]
}

/** @param {string} text @returns {number | null}  null if it is no day */
function parseDay (text) {
  if (!/^(\d{4}|[+-]\d{6})-\d\d-\d\d$/.test(text)) return null
  const ms = Date.parse(`${text}T00:00:00Z`)
  return Number.isNaN(ms) || formatDay(dayOf(ms)) !== text ? null : dayOf(ms)
}

exports.Tally = Tally
exports.TEXT_LENGTH_MAX = TEXT_LENGTH_MAX
exports.pairOf = pairOf
exports.dayOf = dayOf
exports.formatDay = formatDay
exports.parseDay = parseDay
