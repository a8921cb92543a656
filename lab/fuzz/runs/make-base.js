'use strict'
// Logs with an index, made of a seed: the records, the filters that are asked with their answers by a scan, and the run
// files as they were at several moments.

const path = require('node:path')
const { binaryCodec } = require('@millrace/binary-codec')
const { jsonCodec } = require('@millrace/json-codec')
const { appendSome, makePaths, makeRange, makeWhere, pick } = require('../../../packages/index/test/cases')
const { FOLDER, MemoryLog } = require('../../../packages/index/test/memory-log')
const { MemoryStorage } = require('../memory-storage')
const { mixSeed, seededRandom } = require('../../torture/seeded')

const CODECS = [jsonCodec, binaryCodec]
const FILTER_COUNT = 40
/** More are not kept: a batch makes others. */
const KEPT_MAX = 64
const SALTS = { log: 1, filters: 2, build: 3 }

/**
 * @typedef {(limit: number) => number} Random
 * @typedef {{ name: string, bytes: Buffer }} RunFile
 *
 * @typedef {object} Asked  a filter, and what a scan finds with it
 * @property {any} where
 * @property {number[]} found
 * @property {Set<number>} isMatch
 *
 * @typedef {object} IndexedLog
 * @property {number} seed
 * @property {any[]} paths
 * @property {any} log
 * @property {Asked[]} asked
 *
 * @typedef {IndexedLog & { files: RunFile[], older: RunFile[] }} Base  `older`: what was there before, or of another
 *   index of the log
 */

/** @type {Map<number, IndexedLog>} */
const kept = new Map()

/**
 * The log of a seed, and what it is asked.
 * @param {number} seed
 * @returns {IndexedLog}
 */
function makeIndexedLog (seed) {
  const known = kept.get(seed)
  if (known !== undefined) return known
  const random = seededRandom(seed, SALTS.log)
  const log = new MemoryLog({ codec: pick(random, CODECS), seed })
  log.id.writeUInt32LE(seed, 0)
  // With more of all, a case takes longer, and shows no more.
  const paths = makePaths(random).sort(() => random(3) - 1).slice(0, 1 + random(4))
  appendSome(log, random, 20 + random(random(4) === 0 ? 400 : 100))
  const choose = seededRandom(seed, SALTS.filters)
  const asked = Array.from({ length: FILTER_COUNT }, () => {
    const where = makeWhere(choose, decode(log, pick(choose, log.records)))
    const found = log.find(where)
    return { where, found, isMatch: new Set(found) }
  })
  const made = { seed, paths, log, asked }
  if (kept.size >= KEPT_MAX) kept.delete([...kept.keys()][0])
  kept.set(seed, made)
  return made
}

/** Some do not decode. @type {(log: any, record: { bytes: Buffer }) => any} */
function decode (log, { bytes }) {
  try {
    return log.codec.decode(bytes)
  } catch {
    return null
  }
}

/**
 * @param {number} seed
 * @param {import('../library').Library} library
 * @returns {Promise<Base>}
 */
async function makeBase (seed, library) {
  const indexed = makeIndexedLog(seed)
  const random = seededRandom(seed, SALTS.build)
  /** @type {RunFile[]} */
  const older = []
  const storage = new MemoryStorage()
  // What another index of the log has: its hashes have another key.
  await build(indexed, new MemoryStorage(), library, random, (files) => older.push(...files))
  await build(indexed, storage, library, random, (files) => older.push(...files))
  const files = listFiles(storage)
  const names = files.map(({ name }) => name)
  return { ...indexed, files, older: older.filter(({ name }) => !names.includes(name)) }
}

/**
 * Writes the runs of a log that grows.
 * @type {(indexed: IndexedLog, storage: any, library: any, random: Random, keep: (files: RunFile[]) => void) =>
 *   Promise<void>}
 */
async function build ({ paths, log: whole }, storage, library, random, keep) {
  const { createIndex } = library.load('index')
  const log = whole.copy({ disk: null, storage })
  const { records } = log
  log.records = []
  log._end = 0
  const tuning = { recordsMax: 20 + random(200), fanOut: 2 + random(4), waitMs: 1 }
  const index = createIndex(paths, { tuning }).open(log)
  while (log.records.length < records.length) {
    log.records = records.slice(0, log.records.length + 1 + random(records.length))
    const isAll = log.records.length === records.length
    log._end = isAll ? whole.end : log.records.at(-1).seq + Math.max(1, log.records.at(-1).bytes.length)
    await (random(2) === 0 ? index.flush() : index.ready())
    keep(listFiles(storage))
  }
  await index.flush()
  await index.close()
}

/** @type {(storage: any) => RunFile[]} */
function listFiles (storage) {
  return storage.list().map((/** @type {string} */ file) => ({ name: path.basename(file), bytes: storage.read(file) }))
}

/**
 * @param {number} seed
 * @param {number} count
 * @param {import('../library').Library} library
 * @returns {Promise<Base[]>}
 */
async function makeBases (seed, count, library) {
  const bases = []
  for (let index = 0; index < count; index++) bases.push(await makeBase(mixSeed(seed, index), library))
  return bases
}

exports.FOLDER = FOLDER
exports.makeBases = makeBases
exports.makeIndexedLog = makeIndexedLog
exports.makeRange = makeRange
