'use strict'
// The files of the counts, each replaced as a whole, so that a crash leaves the old one or the new one:
//
//   now.json          the counts of the newest days, and up to which record of the log all counts go: the one cursor
//   2026-11-21.json   the counts of an older day. If now.json has the day too, now.json counts. It never has an event
//                     that lies beyond the cursor
//
// A file is one line: `millrace-counts 1 <crc32 of the JSON, in hex> <JSON>`.

const path = require('node:path')
const { listFiles, readFile, removeFiles, replaceFile, seal, unseal } = require('@millrace/block-file')
const { Problem } = require('../problem')
const { Tally, formatDay, parseDay } = require('./tally')

const MAGIC = 'millrace-counts 1'
const NEW_LINE = Buffer.from('\n')
const NOW = 'now.json'
const DAY = /^(.+)\.json$/
const UNFINISHED = /\.json\.new$/

/** @typedef {import('@millrace/offset-log/composing').Place} Place */

class CountFiles {
  #storage
  #folder

  /** @param {import('@millrace/block-file').Storage} storage  @param {string} folder */
  constructor (storage, folder) {
    this.#storage = storage
    this.#folder = folder
  }

  /** The days that have a file of their own, at a start. @returns {Promise<Set<number>>} */
  async listDays () {
    // That of a day would stay: its counts are not written again.
    await removeFiles(this.#storage, this.#folder, (name) => UNFINISHED.test(name)).catch(() => {})
    const names = await listFiles(this.#storage, this.#folder)
    return new Set(names.flatMap((name) => parseDay(DAY.exec(name)?.[1] ?? '') ?? []))
  }

  /**
   * @returns {Promise<{ place: Place, days: Map<number, Tally> } | null>}  null if there is no file
   * @throws {Problem}
   */
  async readNow () {
    const found = await this.#read(NOW)
    if (found === null) return null
    // An earlier version wrote no points.
    const { days, points = [[found.cursor]], ...place } = found
    const tallies = days.map((/** @type {any} */ { day, rows }) => [Number(parseDay(day)), new Tally(rows)])
    return { place: { ...place, points }, days: new Map(tallies) }
  }

  /** @param {number} day @returns {Promise<Tally>} @throws {Problem} */
  async readDay (day) {
    const found = await this.#read(`${formatDay(day)}.json`)
    return new Tally(found?.rows)
  }

  /**
   * Replaces `now.json` by the counts at the call.
   * @type {(days: Map<number, Tally>, place: Promise<Place>) => Promise<void>}  `place`: how far they go, once
   *   the log is durable there
   */
  async writeNow (days, place) {
    const all = [...days].map(([day, tally]) => ({ day: formatDay(day), rows: tally.rows() }))
    await this.#replace(NOW, { ...await place, days: all })
  }

  /** @type {(day: number, tally: Tally) => Promise<void>} */
  async writeDay (day, tally) {
    await this.#replace(`${formatDay(day)}.json`, { day: formatDay(day), rows: tally.rows() })
  }

  /** @param {string} name */
  #pathOf (name) {
    return path.join(this.#folder, name)
  }

  /** @type {(name: string, body: unknown) => Promise<void>} */
  async #replace (name, body) {
    const line = seal(MAGIC, Buffer.from(JSON.stringify(body)))
    await replaceFile(this.#storage, this.#pathOf(name), Buffer.concat([line, NEW_LINE]))
  }

  /** @param {string} name @returns {Promise<any>}  null if there is none */
  async #read (name) {
    const bytes = await readFile(this.#storage, this.#pathOf(name))
    const body = bytes && unseal(MAGIC, bytes.subarray(0, -1))
    if (body) return JSON.parse(body.toString())
    if (bytes !== null) throw stale(`the file ${name} is damaged`)
    return null
  }
}

/** The counts cannot be right. @param {string} reason */
function stale (reason) {
  return new Problem(503, `the counts do not fit the log: ${reason}. POST /v1/se/counts counts again`, { code: 'counts_stale' })
}

exports.CountFiles = CountFiles
exports.stale = stale
