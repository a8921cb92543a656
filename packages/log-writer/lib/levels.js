'use strict'
// The levels of a writer: what is done with the records of each, and how many there were.

const { LogError, misuse, reasonOf } = require('@millrace/errors')

// More would be a mistake of the caller: they are all counted as one.
const LEVEL_COUNT_MAX = 100
const OTHER = 'other'

/**
 * @typedef {object} Counts  exact counts of records: submitted = written + dropped + filtered + queued
 * @property {number} submitted  given to `write`
 * @property {number} written  in the log, or on standard error
 * @property {number} dropped  by `whenFull`, or because the log or standard error did not take them
 * @property {number} filtered  below the level of the writer, or of a level that is disabled
 * @property {number} queued  waiting in memory
 */

class Level {
  isEnabled = true
  submitted = 0
  written = 0
  dropped = 0
  filtered = 0
  queued = 0

  /**
   * @param {string} name
   * @param {number} number
   * @param {import('./options').Eagerness | null} eager
   * @param {boolean} isProtected
   */
  constructor (name, number, eager, isProtected) {
    this.name = name
    this.number = number
    this.eager = eager
    this.isProtected = isProtected
  }

  /** @returns {Counts} */
  get counts () {
    const { submitted, written, dropped, filtered, queued } = this
    return { submitted, written, dropped, filtered, queued }
  }
}

class Levels {
  /** By name and by number. @type {Map<unknown, Level>} */
  #found = new Map()
  /** @type {Level[]} */
  #all = []
  #least = -Infinity
  #eagerByDefault

  /**
   * @param {object} options
   * @param {import('./options').Eagerness | null} options.eagerByDefault  of levels that `eager` does not name
   * @param {Record<string, number>} options.levels
   * @param {Record<string, import('./options').Eagerness>} options.eager
   * @param {string[]} options.protect
   * @param {string | number} options.level
   */
  constructor ({ levels, eager, eagerByDefault, protect, level }) {
    this.#eagerByDefault = eagerByDefault
    for (const [name, number] of Object.entries(levels)) {
      this.#add(new Level(name, number, eager[name] ?? eagerByDefault, protect.includes(name)), number)
    }
    this.setLeast(level)
  }

  /** @type {(level: Level, key: unknown) => Level} */
  #add (level, key) {
    this.#all.push(level)
    this.#found.set(level.name, level)
    this.#found.set(key, level)
    return level
  }

  /**
   * @param {unknown} level  a name or a number. An unknown one gets counts of its own
   * @returns {Level}
   */
  of (level) {
    return this.#found.get(level) ?? this.#addUnknown(level)
  }

  /** @param {unknown} level */
  #addUnknown (level) {
    refuseCondition(level)
    const isOwn = this.#all.length < LEVEL_COUNT_MAX && (typeof level === 'number' || typeof level === 'string')
    const name = isOwn ? String(level) : OTHER
    const known = this.#found.get(name)
    if (known !== undefined) return known
    const number = typeof level === 'number' ? level : Infinity
    const added = this.#add(new Level(name, number, this.#eagerByDefault, false), isOwn ? level : name)
    added.isEnabled = number >= this.#least
    return added
  }

  /**
   * Adds levels that a program has of its own. A new one is eager and protected as the highest known level at or below
   * it.
   * @param {Record<string, number>} levels
   */
  addMissing (levels) {
    for (const [name, number] of Object.entries(levels)) {
      const known = this.#found.get(name) ?? this.#found.get(number)
      if (known !== undefined) {
        this.#found.set(name, known).set(number, known)
        continue
      }
      if (this.#all.length >= LEVEL_COUNT_MAX) return
      const base = this.#all.filter((level) => level.number <= number).sort((a, b) => b.number - a.number)[0]
      const eager = base?.eager ?? this.#eagerByDefault
      const added = this.#add(new Level(name, number, eager, base?.isProtected ?? false), number)
      added.isEnabled = number >= this.#least
    }
  }

  /** Switches every level. @param {unknown} level  the least that is enabled */
  setLeast (level) {
    const number = typeof level === 'number' ? level : this.#found.get(level)?.number
    if (number === undefined) throw misuse(`LogWriter: there is no level ${reasonOf(level)}; add it to the option levels`)
    this.#least = number
    for (const one of this.#all) one.isEnabled = one.number >= number
  }

  get counts () {
    /** @type {Record<string, Counts>} */
    const levels = {}
    const total = { submitted: 0, written: 0, dropped: 0, filtered: 0, queued: 0 }
    for (const level of this.#all) {
      const counts = levels[level.name] = level.counts
      for (const name of /** @type {Array<keyof Counts>} */ (Object.keys(total))) total[name] += counts[name]
    }
    return { levels, total }
  }
}

/**
 * A record that was to be written on a condition must not be written without one.
 * @param {any} level  that is not known
 * @throws {LogError} ERR_NOT_SUPPORTED if it is options of `append`, with `if`
 */
function refuseCondition (level) {
  if (typeof level !== 'object' || level?.if === undefined) return
  throw new LogError('ERR_NOT_SUPPORTED', 'write: a log writer answers before a record is in the log, so it takes no ' +
    'condition; await append of the log itself with if')
}

exports.Level = Level
exports.Levels = Levels
exports.refuseCondition = refuseCondition
