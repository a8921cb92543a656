'use strict'
// Who answers the same questions: a log with an index, a log without one, SQLite, jitdb and LMDB. How each is filled,
// and how its users ask it.

const fs = require('node:fs')
const path = require('node:path')
const { setTimeout: wait } = require('node:timers/promises')
const bipf = require('bipf')
const { createIndex } = require('@millrace/index')
const { OffsetLog } = require('@millrace/offset-log')
const { loadPeer } = require('../../engine/install')
const { call } = require('../../lib/measure')
const { BLOCK_SIZE, CODECS, listRecords, rootIs, toRecord } = require('../../lib/readers')
const { appendAll, openStore } = require('../../stores')
const { connectSqlite } = require('../../stores/databases')

/** Of a message: what is looked up. */
const SINGLE = ['key', 'value.author', 'value.content.type', 'value.content.root', 'value.content.vote.link']
/** SQLite has no index of the elements of an array. */
const PATHS = [...SINGLE, { path: 'value.content.mentions', each: 'link' }]
const TIME = 'timestamp'
/** Of the log whose index has many runs. */
const RUNS = 300
const NEWEST = 20
const CACHE_SIZE = 128 * 1024 * 1024
const FILL_COUNT = 1000
const JITDB_SAVE_MS = 2500
const LMDB_SIZE = 4 * 1024 ** 3

/**
 * @typedef {object} Sample  what is asked for
 * @property {string[]} keys
 * @property {string[]} authors
 * @property {Array<[from: number, to: number]>} times  each has one record in ten thousand, or more
 * @property {string} root  one record in a thousand has it
 * @property {number} records  of the log
 *
 * @typedef {{ folder: string, sources: Record<'binary' | 'json', string> }} Setting  the folder of all stores
 * @typedef {Record<string, (at: number, sample: Sample) => any>} Client  by the name of the question: gives messages,
 *   or a number
 * @typedef {'binary' | 'json'} CodecName
 * @typedef {(setting: Setting, file: string, sample: Sample) => Promise<void>} Fill
 */

/** @type {(file: string, codec: CodecName, options?: object) => Promise<any>} */
async function openLog (file, codec, options) {
  const log = OffsetLog(file, { codec: /** @type {any} */ (CODECS[codec]), cache: CACHE_SIZE, ...options })
  await log.ready()
  return log
}

/** @type {(codec: CodecName, paths: any[], tuning?: (records: number) => object) => Fill} */
const fillLog = (codec, paths, tuning) => async ({ sources }, file, { records }) => {
  fs.copyFileSync(sources[codec], file, fs.constants.COPYFILE_FICLONE)
  const log = await openIndexed(file, codec, paths, { tuning: tuning?.(records) })
  await log.close()
}

/**
 * With all records in runs, also the last few.
 * @type {(file: string, codec: CodecName, paths: any[], options?: any) => Promise<any>}
 */
async function openIndexed (file, codec, paths, options) {
  const index = createIndex(paths, options)
  /** @type {ReturnType<typeof index.open> | undefined} */
  let opened
  const log = await openLog(file, codec, { index: { open: (/** @type {any} */ host) => (opened = index.open(host)) } })
  await opened?.flush()
  return log
}

const manyRuns = (/** @type {number} */ records) => ({ recordsMax: Math.ceil(records / RUNS), fanOut: records })

/** By the name of the file or folder. @type {Record<string, Fill>} */
const FILLS = {
  binary: fillLog('binary', PATHS),
  json: fillLog('json', PATHS),
  runs: fillLog('binary', ['key'], manyRuns),
  times: fillLog('binary', [{ path: TIME, range: true }]),
  async sqlite ({ sources }, file) {
    fs.mkdirSync(file)
    const store = await openStore('sqlite', file, 'query')
    await appendAll(store, await listRecords(sources.json, toRecord), FILL_COUNT)
    await store.close()
    const { db } = connectSqlite(path.join(file, 'sqlite'))
    for (const one of [...SINGLE, TIME, 'value.author, value.content.type']) createSqliteIndex(db, one)
    db.exec('DROP INDEX roots; PRAGMA wal_checkpoint(TRUNCATE)')
    db.close()
  },
  async lmdb ({ sources }, file) {
    const db = loadPeer('lmdb').open({ path: file, encoding: 'binary', mapSize: LMDB_SIZE, noSync: true })
    const records = await listRecords(sources.json, toRecord)
    db.transactionSync(() => { for (const record of records) db.put(JSON.parse(record.toString()).key, record) })
    await db.close()
  },
  async jitdb ({ sources }, file, sample) {
    fs.mkdirSync(file)
    const store = await openStore('async-append-only-log', file, 'append')
    await appendAll(store, await listRecords(sources.binary, toRecord), FILL_COUNT)
    await store.close()
    // It builds each index at the first question, and writes it somewhat later.
    const client = await openJitdb(file)
    for (const ask of Object.values(client)) await ask(0, sample)
    await wait(JITDB_SAVE_MS)
  }
}

const toSql = (/** @type {string} */ path) => `json_extract(data, '$.${path}')`

/** @type {(db: any, paths: string) => void} with commas between */
function createSqliteIndex (db, paths) {
  db.exec(`CREATE INDEX "${paths}" ON messages (${paths.split(', ').map(toSql).join(', ')})`)
}

/** @type {(file: string, codec: CodecName, options: object) => Promise<Client>} */
async function openMillrace (file, codec, options) {
  const log = await openLog(file, codec, options)
  await log.index?.ready()
  return askLog(log)
}

/** @param {any} log @returns {Client} */
function askLog (log) {
  const list = async (/** @type {object} */ options) => {
    const values = []
    for await (const value of log.stream({ seqs: false, ...options })) values.push(value)
    return values
  }
  const has = (/** @type {string} */ path, /** @type {string} */ equals) => ({ path, equals })
  const newest = (/** @type {object} */ where) => list({ where, reverse: true, limit: NEWEST })
  return {
    equal: (at, { root }) => list({ where: rootIs(root) }),
    unique: (at, { keys }) => list({ where: has('key', keys[at]), limit: 1 }),
    absent: (at) => list({ where: has('key', `%absent ${at}`) }),
    newest: (at, { authors }) => newest(has('value.author', authors[at])),
    'newest-two': (at, { authors }) => newest([has('value.author', authors[at]), has('value.content.type', 'post')]),
    'count-third': () => log.count({ where: has('value.content.type', 'vote') }),
    'count-author': (at, { authors }) => log.count({ where: has('value.author', authors[at]) }),
    times: (at, { times: { [at]: [gte, lt] } }) => list({ where: { path: TIME, gte, lt } })
  }
}

/** @type {(folder: string, isComposite?: boolean) => Promise<Client>} */
async function openSqlite (folder, isComposite = false) {
  const { db, column } = connectSqlite(path.join(folder, 'sqlite'))
  db.exec(`PRAGMA cache_size = ${-CACHE_SIZE / 1024}`)
  /** @type {(sql: string) => (...values: any[]) => any[]} */
  const list = (sql) => {
    const rows = column(`SELECT data FROM messages WHERE ${sql}`)
    return (...values) => Array.from(rows.iterate(...values), (text) => JSON.parse(text))
  }
  const count = (/** @type {string} */ path) => column(`SELECT count(*) FROM messages WHERE ${toSql(path)} = ?`)
  const newest = (/** @type {string} */ sql) => list(`${sql} ORDER BY id DESC LIMIT ${NEWEST}`)
  const [author, type] = ['value.author', 'value.content.type'].map(toSql)
  const byRoot = list(`${toSql('value.content.root')} = ? ORDER BY id`)
  const byKey = list(`${toSql('key')} = ?`)
  const byAuthor = newest(`${author} = ?`)
  // A plus keeps SQLite from using an index.
  const byTwo = newest(isComposite ? `${author} = ? AND ${type} = 'post'` : `${author} = ? AND +${type} = 'post'`)
  const [byType, ofAuthor] = ['value.content.type', 'value.author'].map(count)
  const byTime = list(`${toSql(TIME)} >= ? AND ${toSql(TIME)} < ?`)
  return {
    equal: (at, { root }) => byRoot(root),
    unique: (at, { keys }) => byKey(keys[at]),
    absent: (at) => byKey(`%absent ${at}`),
    newest: (at, { authors }) => byAuthor(authors[at]),
    'newest-two': (at, { authors }) => byTwo(authors[at]),
    'count-third': () => byType.get('vote'),
    'count-author': (at, { authors }) => ofAuthor.get(authors[at]),
    times: (at, { times }) => byTime(...times[at])
  }
}

/** As ssb-db2 asks it. @type {(folder: string) => Promise<Client>} */
async function openJitdb (folder) {
  const { query, fromDB, where, equal, and, count, paginate, descending, toCallback } = loadPeer('jitdb/operators')
  const log = loadPeer('async-append-only-log')(path.join(folder, 'log'), { blockSize: BLOCK_SIZE })
  const db = loadPeer('jitdb')(log, path.join(folder, 'indexes'))
  await new Promise((resolve) => db.onReady(resolve))
  const run = (/** @type {any[]} */ ...steps) => call((cb) => query(fromDB(db), ...steps, toCallback(cb)))
  /** @type {(path: string, more: object) => (value: string) => any} */
  const field = (name, more) => {
    const keys = name.split('.').map((key) => Buffer.from(key))
    const seek = (/** @type {Buffer} */ buf, start = 0) => {
      return keys.reduce((at, key) => at < 0 ? at : bipf.seekKey(buf, at, key), start)
    }
    return (value) => equal(seek, value, { indexType: name.replaceAll('.', '_'), ...more })
  }
  const prefix = { prefix: 32, prefixOffset: 1 }
  const [key, root] = ['key', 'value.content.root'].map((name) => field(name, { ...prefix, useMap: true }))
  const [author, type] = [field('value.author', prefix), field('value.content.type', {})]
  const newest = async (/** @type {any} */ asked) => (await run(where(asked), paginate(NEWEST), descending())).results
  return {
    equal: (at, sample) => run(where(root(sample.root))),
    unique: (at, { keys }) => run(where(key(keys[at]))),
    newest: (at, { authors }) => newest(author(authors[at])),
    'newest-two': (at, { authors }) => newest(and(author(authors[at]), type('post'))),
    'count-third': () => run(where(type('vote')), count()),
    'count-author': (at, { authors }) => run(where(author(authors[at])), count())
  }
}

/** @type {(file: string) => Promise<Client>} */
async function openLmdb (file) {
  const db = loadPeer('lmdb').open({ path: file, encoding: 'binary', mapSize: LMDB_SIZE, readOnly: true })
  return { unique: (at, { keys }) => [JSON.parse(db.get(keys[at]).toString())] }
}

/** @param {any[] | null} paths */
const withIndex = (paths) => paths === null ? {} : { index: createIndex(paths) }
/** @type {(name: string, codec: CodecName, paths: any[] | null) => (folder: string) => Promise<Client>} */
const ofLog = (name, codec, paths) => (folder) => openMillrace(path.join(folder, name), codec, withIndex(paths))
const ours = { kind: 'millrace', packages: ['@millrace/index', '@millrace/offset-log'] }
const sqlite = { kind: 'database', packages: ['better-sqlite3'], standIns: { 'better-sqlite3': 'node:sqlite' }, stores: ['sqlite'] }

/**
 * @typedef {{ stores: string[], open: (folder: string) => Promise<Client> }} Asked
 * @type {Array<import('../../engine/row').Peer & Asked>}
 */
exports.parts = [
  {
    ...ours,
    name: 'millrace',
    label: 'Millrace, binary',
    stores: ['binary', 'runs', 'times'],
    async open (folder) {
      // They stay as many: an index would make few of them as soon as it is opened.
      const many = createIndex(['key'], { tuning: { fanOut: 2 * RUNS } })
      const { absent } = await openMillrace(path.join(folder, 'runs'), 'binary', { index: many })
      const { times } = await ofLog('times', 'binary', [{ path: TIME, range: true }])(folder)
      return { ...await ofLog('binary', 'binary', PATHS)(folder), absent, times }
    }
  },
  { ...ours, name: 'json', label: 'Millrace, JSON', stores: ['json'], open: ofLog('json', 'json', PATHS) },
  { ...ours, name: 'builder', label: 'built in a Worker', stores: [], open: async () => ({}) },
  { ...ours, name: 'scan', label: 'no index', stores: ['binary'], open: ofLog('binary', 'binary', null) },
  { name: 'parse', label: 'JSON.parse', kind: 'machine', stores: [], open: async () => ({}) },
  { ...sqlite, name: 'sqlite', label: 'SQLite', open: (folder) => openSqlite(path.join(folder, 'sqlite')) },
  { ...sqlite, name: 'composite', label: 'SQLite, both in one', open: (folder) => openSqlite(path.join(folder, 'sqlite'), true) },
  {
    name: 'jitdb',
    label: 'jitdb',
    kind: 'flume',
    packages: ['jitdb', 'async-append-only-log', 'bipf'],
    stores: ['jitdb'],
    open: (folder) => openJitdb(path.join(folder, 'jitdb'))
  },
  { name: 'lmdb', label: 'LMDB', kind: 'database', packages: ['lmdb'], stores: ['lmdb'], open: (folder) => openLmdb(path.join(folder, 'lmdb')) }
]

exports.FILLS = FILLS
exports.PATHS = PATHS
exports.SINGLE = SINGLE
exports.askLog = askLog
exports.createSqliteIndex = createSqliteIndex
exports.openIndexed = openIndexed
exports.openLog = openLog
exports.openMillrace = openMillrace
exports.withIndex = withIndex
