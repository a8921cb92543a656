'use strict'
// A folder that several processes write, each in a slot of its own: read as one log, merged by time.

const fs = require('node:fs')
const path = require('node:path')
const { LogError, misuse } = require('@millrace/errors')
const { MergedLog } = require('@millrace/merged-log')
const { slotsError } = require('@millrace/segmented-log')
const { findTime } = require('@millrace/where')
const { identifyFolder } = require('./folder')
const { createLineCodec, createTally } = require('./line-codecs')
const { findIndex } = require('./log-index')
const { chooseCodec, hasFilter } = require('./source')

const BOUNDS = ['gt', 'gte', 'lt', 'lte']
const SLOT = /^(0|[1-9]\d{0,5})$/

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
 * @throws {LogError} ERR_LOG_UNKNOWN_FORMAT if there are segments beside the slots
 */
function listSlots (folder) {
  const entries = fs.readdirSync(folder, { withFileTypes: true })
  const slots = entries.filter((entry) => entry.isDirectory() && SLOT.test(entry.name))
  const err = slots.length > 0 ? slotsError(folder, entries.map(({ name }) => name)) : null
  if (err !== null) throw err
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
  const tally = createTally()
  const index = hasFilter(options) ? await findIndex(folder, chosen, { slots: listSlots(folder) }) : null
  const log = MergedLog(folder, {
    codec: createLineCodec(chosen, raw, tally),
    time: createTimeReader(chosen, raw),
    ...(index && { index })
  })
  await log.ready()
  const [failing] = log.failing
  if (failing !== undefined) {
    await log.close()
    throw cannotOpen(folder, failing)
  }
  await index?.loaded()
  const parts = listParts(log)
  return {
    log: /** @type {any} */ (log),
    identity: { ...identity, path: log.filename },
    codec: chosen,
    parts,
    tally,
    index,
    end: () => endOf(parts),
    close: () => log.close()
  }
}

/**
 * What a command says must not lack the records of a slot.
 * @type {(folder: string, failing: { slot: number, error: Error }) => LogError}
 */
function cannotOpen (folder, { slot, error }) {
  const { code = 'EIO' } = /** @type {import('@millrace/errors').Failure} */ (error)
  const others = listSlots(folder).filter((name) => name !== String(slot)).map((name) => path.join(folder, name)).join(', ')
  return new LogError(code, `slot ${slot} of ${folder} cannot be opened: ${error.message}. Read the others one by one: ${others}`, {
    cause: error, path: path.join(folder, String(slot))
  })
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
  const found = `${folder} has slots of several processes, and none of them has a log yet`
  throw new LogError('ENOENT', `${found}; wait until one writes, or run millrace tail -f`)
}

/** @param {ReturnType<typeof MergedLog>} merged @returns {Part[]} */
function listParts (merged) {
  /** @type {Part[]} */
  const parts = []
  merged.eachSlot((log, slot) => parts.push({ slot, log: /** @type {any} */ (log) }))()
  return parts
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
    before: { upTo: after },
    behind: { after },
    note ({ after = {}, ...others }, key) {
      const [slot, seq] = String(key).split(':')
      return { ...others, after: { ...after, [slot]: Number(seq) } }
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
      return findTime(JSON.parse(isRaw ? decode(line) : line))?.ms ?? NaN
    } catch {
      return NaN
    }
  }
}

exports.identifySlots = identifySlots
exports.listSlots = listSlots
exports.openSlots = openSlots
