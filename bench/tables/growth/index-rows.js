'use strict'
// What an index must not lose as a log grows: the questions of a file of 340 MB, and the same of 10 GB in 100 segments.

const fs = require('node:fs')
const path = require('node:path')
const { binaryCodec } = require('@millrace/binary-codec')
const { createIndex } = require('@millrace/index')
const { OffsetLog } = require('@millrace/offset-log')
const { SegmentedLog } = require('@millrace/segmented-log')
const { pour } = require('../../lib/logs')
const { memoryOf, time } = require('../../lib/measure')
const { createMessages, DEFAULT_SEED } = require('../../lib/messages')
const { PATHS, askLog } = require('../index/clients')
const { findLack } = require('../limits/rows/memory')
const { toRow } = require('../limits/shared')

/** @typedef {import('../../engine/row').Row} Row */
/** @typedef {import('../limits/shared').OpenSide} OpenSide */
/** @typedef {import('../limits/runners').Runner} Runner */
/** @typedef {{ file: string, segments: string, records: { file: number, segments: number } }} Setting */
/** @typedef {keyof Setting['records']} Name */

const SIZES = { file: 340e6, segments: 10e9 }
const SEGMENT_SIZE = 100e6
/** So many messages of the generator fill a GB. */
const RECORDS_PER_GB = 1.44e6
const BATCH_COUNT = 1000
const SAMPLE_COUNT = 500
const NEWEST = 20
/** Its multiples, without their whole parts, are spread evenly. */
const GOLDEN = 0.618034
/** Asked in one sample, which is given in ms. */
const ASKED_COUNT = 100
/** Until what says which runs may have a key is in memory, and the code of both sides is warm: of logs at full size. */
const WARM_COUNT = 2000
const WARM_MS = 1000
const MIB = 2 ** 20
const STAGE = 'index'
const env = { MILLRACE_BENCH_CLOCK: 'processor' }

/**
 * @type {(name: string, what: string, within: number, open: (name: Name) => OpenSide,
 *   more?: import('../limits/shared').More) => Row}
 */
const rowOf = (name, what, within, open, more) => {
  const options = { within, stage: STAGE, env, runs: 3, ...more }
  const sides = { millrace: open('segments'), 'log-340MB': open('file') }
  return toRow(`index-${name}`, `${what}, 10 GB : 340 MB`, options, prepareLogs, sides)
}
/** @type {(name: string, what: string, within?: number) => Row} */
const question = (name, what, within = 2) => {
  return rowOf(name, what, within, (of) => (setting) => openQuestion(setting, of, name), { samples: 4 })
}

/** @type {Row[]} */
exports.parts = [
  rowOf('build', 'build, a million records', 1.2, (of) => (setting) => openBuild(setting, of), { runs: 1 }),
  rowOf('size', 'bytes of a million records', 1.2, (of) => (setting) => openSize(setting, of), { unit: 'bytes', runs: 1 }),
  question('unique', '100 unique keys'),
  question('absent', '100 absent keys'),
  question('newest', '100 times the newest 20'),
  question('count-third', '100 counts of a third', 120),
  question('count-author', '100 counts of an author', 120),
  {
    ...toRow('index-memory', 'memory, 10 GB, by index : by seqs', { unit: 'bytes', stage: STAGE }, prepareLogs,
      { millrace: (setting) => openMemory(setting, true), 'no-index': (setting) => openMemory(setting, false) }),
    figures: [{ figure: 'bytes', unit: 'bytes', goal: { above: [{ by: 32 * MIB, of: 'no-index' }] } }]
  }
]

/** @param {import('../../engine/row').Context} context @returns {Promise<Setting | { absent: string }>} */
async function prepareLogs ({ shared, options }) {
  const scale = options.largest * 1e6 / SIZES.segments
  const absent = findLack(shared, 1.5 * SIZES.segments * scale, 1.2 * SIZES.segments * scale)
  if (absent) return { absent }
  const setting = { file: path.join(shared, 'file'), segments: path.join(shared, 'segments'), records: { file: 0, segments: 0 } }
  for (const name of /** @type {Name[]} */ (['file', 'segments'])) {
    const records = Math.ceil(SIZES[name] / 1e9 * scale * RECORDS_PER_GB)
    setting.records[name] = records
    if (fs.existsSync(setting[name])) continue
    await pour(`generating ${records} messages`, records, generate(records), [openOne(setting, name, { fsync: 'never' })])
    await (await openIndexed(setting, name)).close()
  }
  return setting
}

/** @param {number} records */
function * generate (records) {
  const { next } = createMessages(DEFAULT_SEED)
  for (let done = 0; done < records;) {
    const values = Array.from({ length: Math.min(BATCH_COUNT, records - done) }, next)
    yield { values, done: done += values.length }
  }
}

/** @type {(setting: Setting, name: Name, options?: object) => any} */
function openOne (setting, name, options) {
  const common = { codec: binaryCodec, ...options }
  return name === 'file' ? OffsetLog(setting.file, common) : SegmentedLog(setting.segments, { segmentSize: SEGMENT_SIZE, ...common })
}

/** With all records in runs. @type {(setting: Setting, name: Name) => Promise<any>} */
async function openIndexed (setting, name) {
  const index = createIndex(PATHS)
  /** @type {ReturnType<typeof index.open> | undefined} */
  let opened
  const log = openOne(setting, name, { index: { open: (/** @type {any} */ host) => (opened = index.open(host)) } })
  await log.ready()
  await opened?.flush()
  return log
}

/** @type {(setting: Setting, name: Name) => Promise<Runner>} */
async function openBuild (setting, name) {
  fs.rmSync(folderOf(setting, name), { recursive: true, force: true })
  return { sample: async () => await time(() => openIndexed(setting, name)) / setting.records[name] * 1e6 }
}

/** @type {(setting: Setting, name: Name) => Promise<Runner>} */
async function openSize (setting, name) {
  const folder = folderOf(setting, name)
  const size = fs.readdirSync(folder).reduce((sum, file) => sum + fs.statSync(path.join(folder, file)).size, 0)
  return { sample: async () => size / setting.records[name] * 1e6 }
}

/** Of the index. @type {(setting: Setting, name: Name) => string} */
function folderOf ({ file, segments }, name) {
  return name === 'file' ? `${file}.index` : path.join(segments, 'index')
}

/** @type {(setting: Setting, name: Name, question: string) => Promise<Runner>} */
async function openQuestion (setting, name, question) {
  const log = await openIndexed(setting, name)
  const sample = await sampleOf(log)
  const { [question]: ask } = askLog(log)
  let asked = 0
  const askMany = async () => {
    for (let left = ASKED_COUNT; left > 0; left--) await ask(asked++ % SAMPLE_COUNT, sample)
  }
  const scale = setting.records.segments / (SIZES.segments / 1e9 * RECORDS_PER_GB)
  for (let left = WARM_COUNT * scale; left > 0; left -= ASKED_COUNT) await askMany()
  for (const end = performance.now() + WARM_MS * scale; performance.now() < end;) await askMany()
  return { sample: () => time(askMany) }
}

/** Of records that are spread over the log. @param {any} log */
async function sampleOf (log) {
  const { value: last } = log.since
  /** @type {{ keys: string[], authors: string[], seqs: number[] }} */
  const sample = { keys: [], authors: [], seqs: [] }
  for (let index = 0; index < SAMPLE_COUNT; index++) {
    const { seq, value: { key, value: { author } } } = await log.first({ gte: Math.floor(last * index / SAMPLE_COUNT) })
    sample.seqs.push(seq)
    sample.keys.push(key)
    sample.authors.push(author)
  }
  return { ...sample, /** @type {import('../index/clients').Sample['times']} */ times: [], root: '', records: 0 }
}

/** A seq for each index, in no order. @type {(index: number, log: any) => number} */
function spread (index, log) {
  return Math.floor(log.since.value * (index * GOLDEN % 1))
}

/**
 * Of a process that asks 500 times for a key and for the newest 20; or one that reads as many records, as far apart, by
 * their seqs.
 * @type {(setting: Setting, isIndexed: boolean) => Promise<Runner>}
 */
async function openMemory (setting, isIndexed) {
  const log = isIndexed ? await openIndexed(setting, 'segments') : openOne(setting, 'segments')
  await log.ready()
  return {
    async sample () {
      const sample = await sampleOf(log)
      const { unique, newest } = askLog(log)
      for (let at = 0; at < SAMPLE_COUNT; at++) {
        if (isIndexed) {
          await unique(at, sample)
          await newest(at, sample)
        } else {
          await log.get(sample.seqs[at])
          // An author's records are spread as well.
          for (let left = NEWEST; left > 0; left--) {
            await log.get(await log.first({ gte: spread(at * NEWEST + left, log), values: false }))
          }
        }
      }
      return memoryOf('self', 'VmHWM')
    }
  }
}
