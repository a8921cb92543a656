'use strict'
// A folder that several processes write, each in a slot of its own: read as one log, merged by time.

const fs = require('node:fs')
const path = require('node:path')
const { misuse } = require('@millrace/errors')
const { MergedLog } = require('@millrace/merged-log')
const { readTime } = require('../viewer/times')
const { findFirst, identifyFolder } = require('./folder')
const { createLineCodec } = require('./line-codecs')
const { chooseCodec } = require('./source')

const BOUNDS = ['gt', 'gte', 'lt', 'lte']
const SLOT = /^(0|[1-9]\d{0,5})$/
const TIME = ['time']
// How a line shows the Date of a binary record.
const DATE = ['time', '$date']

/**
 * @typedef {import('./source').OpenedSource} OpenedSource
 * @typedef {import('./source').SourceOptions} SourceOptions
 * @typedef {import('./source').Part} Part
 * @typedef {import('../open').CodecName} CodecName
 * @typedef {import('@millrace/merged-log').Position} Position
 */

/**
 * @param {string} folder
 * @returns {string[]}  the numbers of its slots; none if the folder is no log of several processes
 */
function listSlots (folder) {
  const entries = fs.readdirSync(folder, { withFileTypes: true })
  const slots = entries.filter((entry) => entry.isDirectory() && SLOT.test(entry.name))
  return slots.map(({ name }) => name).sort((a, b) => Number(a) - Number(b))
}

/**
 * @param {string} folder
 * @param {SourceOptions} options
 * @returns {Promise<OpenedSource>}
 */
async function openSlots (folder, options) {
  const { codec, raw = false } = options
  refuseBounds(folder, options)
  const identity = await identifySlots(folder)
  const chosen = codec ?? identity.guessed ?? await chooseCodec(identity)
  const log = MergedLog(folder, { codec: createLineCodec(chosen, raw), time: createTimeReader(chosen, raw) })
  await log.ready()
  const parts = await listParts(log, options)
  return {
    log: /** @type {any} */ (log),
    identity: { ...identity, path: log.filename },
    codec: chosen,
    first: toPosition(parts),
    parts,
    end: () => endOf(parts),
    close: () => log.close()
  }
}

/** @param {string} folder @param {Record<string, any>} options */
function refuseBounds (folder, options) {
  const bound = BOUNDS.find((name) => options[name] !== undefined)
  if (bound === undefined) return
  const [slot] = listSlots(folder)
  throw misuse(`${folder} is written by several processes, whose seqs have no common order: there is no --${bound}. Begin at a ` +
    `time with --since, or read one slot, such as ${path.join(folder, slot)}`)
}

/** What the first slot with a log says. @param {string} folder */
async function identifySlots (folder) {
  for (const slot of listSlots(folder)) {
    try {
      return await identifyFolder(path.join(folder, slot))
    } catch (/** @type {any} */ err) {
      // Its process has not begun the log yet.
      if (err.code !== 'ENOENT') throw err
    }
  }
  throw misuse(`${folder} has slots of several processes, and none of them has a log yet; wait until one writes`)
}

/**
 * @param {ReturnType<typeof MergedLog>} merged
 * @param {SourceOptions} options
 * @returns {Promise<Part[]>}
 */
async function listParts (merged, options) {
  /** @type {Array<{ slot: number, log: any }>} */
  const slots = []
  merged.eachSlot((log, slot) => slots.push({ slot, log }))()
  return Promise.all(slots.map(async ({ slot, log }) => {
    return { slot, log, first: await findFirst(log, options) }
  }))
}

/** Where a stream begins that leaves out what opening has found to be older. @param {Part[]} parts */
function toPosition (parts) {
  const known = parts.filter(({ first }) => first !== null)
  return Object.fromEntries(known.map(({ slot, first }) => [slot, Number(first) - 1]))
}

/**
 * What the slots have now.
 * @param {Part[]} parts
 * @returns {ReturnType<OpenedSource['end']>}
 */
function endOf (parts) {
  /** @type {Position} */
  const after = Object.fromEntries(parts.map(({ slot, log }) => [slot, Number(log.since.value)]))
  return {
    before: { limit: -1 },
    behind: { after },
    // A merged stream has no upper bound.
    includes (key) {
      const [slot, seq] = String(key).split(':')
      return Number(seq) <= after[slot]
    }
  }
}

/**
 * Reads the time of a record that the codec of lines has decoded.
 * @param {CodecName} name
 * @param {boolean} isRaw
 * @returns {(line: any) => number}  ms since 1970; NaN if it has no time
 */
function createTimeReader (name, isRaw) {
  const { decode } = createLineCodec(name, false)
  return (line) => {
    try {
      const value = JSON.parse(isRaw ? decode(line) : line)
      // Bytes are a text, which may be JSON itself.
      const record = typeof value === 'string' ? JSON.parse(value) : value
      return readTime(record, TIME) ?? readTime(record, DATE) ?? NaN
    } catch {
      return NaN
    }
  }
}

exports.listSlots = listSlots
exports.openSlots = openSlots
