'use strict'
// The files of the counts, each replaced as a whole, so that a crash leaves the old one or the new one:
//
//   now.json          the counts of the newest days, and up to which record of the log all counts go: the one cursor
//   2026-11-21.json   the counts of an older day. If now.json has the day too, now.json counts. It never has an event
//                     that lies beyond the cursor
//
// A file is one line: `millrace-counts 1 <crc32 of the JSON, in hex> <JSON>`.

const path = require('node:path')
const { crc32 } = require('node:zlib')
const { listFiles, readFile, replaceFile } = require('@millrace/block-file')
const { Problem } = require('../problem')
const { Tally, formatDay, parseDay } = require('./tally')

const MAGIC = 'millrace-counts 1'
const LINE = new RegExp(`^${MAGIC} ([0-9a-f]{8}) (.*)\\n$`, 's')
const NOW = 'now.json'
const DAY = /^(.+)\.json$/

/**
 * @typedef {object} Saved
 * @property {string} log  the id of the log
 * @property {number} cursor  the seq of the last record that is counted; -1 if none is
 * @property {Map<number, Tally>} days
 */

class CountFiles {
  #storage
  #folder

  /** @param {import('@millrace/block-file').Storage} storage  @param {string} folder */
  constructor (storage, folder) {
    this.#storage = storage
    this.#folder = folder
  }

  /** The days that have a file of their own. @returns {Promise<Set<number>>} */
  async listDays () {
    const names = await listFiles(this.#storage, this.#folder)
    return new Set(names.flatMap((name) => parseDay(DAY.exec(name)?.[1] ?? '') ?? []))
  }

  /** @returns {Promise<Saved | null>}  null if there is no file @throws {Problem} */
  async readNow () {
    const found = await this.#read(NOW)
    if (found === null) return null
    const { log, cursor, days } = found
    const tallies = days.map((/** @type {any} */ { day, rows }) => [Number(parseDay(day)), new Tally(rows)])
    return { log, cursor, days: new Map(tallies) }
  }

  /** @param {number} day @returns {Promise<Tally>} @throws {Problem} */
  async readDay (day) {
    const found = await this.#read(`${formatDay(day)}.json`)
    return new Tally(found?.rows)
  }

  /** The bytes of `now.json`, so that the counts may change while they are written. @param {Saved} saved */
  encodeNow ({ log, cursor, days }) {
    return encode({ log, cursor, days: [...days].map(([day, tally]) => ({ day: formatDay(day), rows: tally.rows() })) })
  }

  /** @type {(day: number, tally: Tally) => Buffer} */
  encodeDay (day, tally) {
    return encode({ day: formatDay(day), rows: tally.rows() })
  }

  /** @param {Buffer} bytes */
  async writeNow (bytes) {
    await replaceFile(this.#storage, this.#pathOf(NOW), bytes)
  }

  /** @type {(day: number, bytes: Buffer) => Promise<void>} */
  async writeDay (day, bytes) {
    await replaceFile(this.#storage, this.#pathOf(`${formatDay(day)}.json`), bytes)
  }

  /** @param {string} name */
  #pathOf (name) {
    return path.join(this.#folder, name)
  }

  /** @param {string} name @returns {Promise<any>}  null if there is none */
  async #read (name) {
    const bytes = await readFile(this.#storage, this.#pathOf(name))
    if (bytes === null) return null
    const [, crc, json = ''] = LINE.exec(bytes.toString()) ?? []
    if (crc === checksum(json)) return JSON.parse(json)
    throw stale(`the file ${name} is damaged`)
  }
}

/** @param {unknown} body */
function encode (body) {
  const json = JSON.stringify(body)
  return Buffer.from(`${MAGIC} ${checksum(json)} ${json}\n`)
}

/** @param {string} json */
function checksum (json) {
  return crc32(json).toString(16).padStart(8, '0')
}

/** The counts cannot be right. @param {string} reason */
function stale (reason) {
  return new Problem(503, `the counts do not fit the log: ${reason}. POST /v1/se/counts counts again`, { code: 'counts_stale' })
}

exports.CountFiles = CountFiles
exports.stale = stale
