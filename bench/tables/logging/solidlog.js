'use strict'
// SolidLog's DirectLogger: records of 185 bytes into a database, one at a time, in batches, and batched by the logger.

const { WRITTEN, rate } = require('./shared')

/** @typedef {import('./works').Given} Given */

const BATCH = 100
const SIZE = 185
// pino's usual buffer is smaller than a batch, and a larger one makes it slower.
const PINO_BYTES = 4096
const HALF = { size: SIZE, count: 1000, levels: 'half' }
const nothing = 'nothing'
const batch = `${BATCH} records; pino: 4 KB`

/** Each record by itself. */
const single = {
  millrace: { eager: WRITTEN },
  sqlite: {},
  'pino-destination': {},
  pino: {},
  'pino-roll': {},
  bare: {}
}
/** The logger collects a batch. */
const batched = {
  millrace: { waiting: BATCH },
  sqlite: { waiting: BATCH },
  'pino-destination': { minLength: PINO_BYTES },
  pino: { minLength: PINO_BYTES },
  'pino-roll': { minLength: PINO_BYTES },
  winston: {},
  python: {},
  bare: { waiting: BATCH }
}
/** Both journals of SQLite that are not WAL sync at each commit, so everybody does. */
const journal = { journal: 'DELETE', synchronous: 'NORMAL' }

/** @type {Given[]} */
const rows = [
  {
    name: 'individual',
    work: 'fill',
    setting: { size: SIZE, count: 1000 },
    peers: single,
    lost: nothing,
    figures: rate('one record at a time, WAL', 'individual inserts 6,345/s')
  },
  {
    name: 'batches',
    work: 'fill',
    setting: { size: SIZE, count: 1000, flushEvery: BATCH },
    peers: { ...batched, winston: undefined, python: undefined },
    lost: batch,
    figures: rate('batches of 100 that the program makes, WAL', 'batch inserts 62,625/s')
  },
  {
    name: 'auto-1k',
    work: 'fill',
    setting: { size: SIZE, count: 1000 },
    peers: batched,
    lost: batch,
    figures: rate('1,000 records, batches that the logger makes, WAL', 'DirectLogger 56,660/s',
      { least: 500_000, times: [{ factor: 2, of: 'sqlite' }] }, '1,000 records, batches of 100')
  },
  {
    name: 'auto-10k',
    work: 'fill',
    setting: { size: SIZE, count: 10_000 },
    peers: batched,
    lost: batch,
    figures: rate('10,000 records, the same', 'DirectLogger 52,269/s',
      { least: 500_000, times: [{ factor: 2, of: 'sqlite' }] })
  },
  {
    name: 'individual-journal',
    work: 'wait',
    setting: { size: SIZE, count: 1, seconds: 1 },
    peers: { millrace: { eager: { info: 'synced' } }, sqlite: journal },
    lost: nothing,
    figures: rate('one record at a time, without WAL, synced each', 'individual inserts 2,266/s')
  },
  {
    name: 'auto-journal',
    work: 'fill',
    setting: { size: SIZE, count: 1000, samples: 10 },
    peers: { millrace: { waiting: BATCH }, sqlite: { waiting: BATCH, ...journal } },
    lost: batch,
    figures: rate('1,000 records, batches of 100, without WAL', 'DirectLogger 45,935/s')
  },
  {
    name: 'auto-memory',
    work: 'fill',
    setting: { size: SIZE, count: 10_000 },
    peers: { sqlite: { waiting: BATCH, isInMemory: true } },
    lost: 'everything',
    figures: rate('10,000 records, a database in memory', '2 to 3 times the file')
  }
]

/** @type {Given[]} */
const crash = [
  {
    name: 'eager',
    work: 'fill',
    setting: HALF,
    peers: {
      millrace: { waiting: BATCH, eager: { error: 'written' } },
      sqlite: { waiting: BATCH, isEager: true },
      'pino-destination': { minLength: PINO_BYTES, isEager: true },
      pino: { minLength: PINO_BYTES, isEager: true },
      bare: { waiting: BATCH, isEager: true }
    },
    lost: 'nothing up to the last error',
    figures: rate('500 info, then 500 error; each error is written at once', 'with eager flush 16,882/s',
      { least: 400_000, times: [{ factor: 5, of: 'sqlite' }, { factor: 0.5, of: 'millrace', in: 'eager-off' }] },
      '500 info, 500 error, each error written')
  },
  {
    name: 'eager-off',
    work: 'fill',
    setting: HALF,
    peers: {
      millrace: { waiting: BATCH },
      sqlite: { waiting: BATCH },
      'pino-destination': { minLength: PINO_BYTES },
      pino: { minLength: PINO_BYTES }
    },
    lost: batch,
    figures: rate('the same, eager flush off', 'without eager flush 64,300/s')
  },
  {
    name: 'eager-bound',
    work: 'fill',
    setting: { ...HALF, input: 'lines', levels: 'error' },
    peers: { millrace: { eager: WRITTEN }, 'pino-destination': {}, bare: {} },
    lost: nothing,
    figures: rate('only errors, JSON already: a write of the system each', undefined)
  },
  {
    name: 'synced-1',
    work: 'wait',
    setting: { size: SIZE, count: 1, seconds: 1, levels: 'error' },
    peers: { millrace: { eager: { error: 'synced' } }, sqlite: { synchronous: 'FULL' } },
    lost: nothing,
    figures: rate('errors synced, one after the other', undefined, { times: [{ factor: 1, of: 'sqlite' }] })
  },
  {
    name: 'synced-64',
    work: 'wait',
    setting: { size: SIZE, count: 1, seconds: 1, levels: 'error', appenders: 64 },
    peers: { millrace: {}, sqlite: { synchronous: 'FULL' } },
    lost: nothing,
    figures: rate('errors synced, 64 producers wait', undefined, { times: [{ factor: 2, of: 'sqlite' }] })
  }
]

/** The settings that SolidLog recommends. All are given 500 info and 500 error records. @type {Given[]} */
const settings = [
  setting('production', 'production: batches of 100, eager for errors', '16,882/s', BATCH, 'error'),
  setting('throughput', 'maximum throughput: batches of 500, not eager', '60,000/s and more', 500, 'none'),
  setting('safety', 'maximum safety: batches of 10, eager for all', 'about 3,000/s', 10, 'all'),
  setting('single', 'individual: no batches', '6,345/s', 1, 'none')
]

/** @type {(name: string, what: string, seed: string, waiting: number, eager: 'error' | 'none' | 'all') => Given} */
function setting (name, what, seed, waiting, eager) {
  const levels = { error: { error: 'written' }, none: {}, all: WRITTEN }
  return {
    name: `setting-${name}`,
    work: 'fill',
    setting: HALF,
    peers: {
      millrace: { waiting, eager: waiting === 1 ? WRITTEN : levels[eager] },
      sqlite: { waiting: eager === 'all' ? 1 : waiting, isEager: eager === 'error' }
    },
    lost: eager === 'all' || waiting === 1 ? nothing : `${waiting} records`,
    figures: rate(what, seed)
  }
}

/** @type {import('./works').GivenGroup} */
exports.group = {
  name: 'solidlog',
  title: 'SolidLog DirectLogger',
  about: 'records of 185 bytes, objects that each side turns into the same JSON',
  seed: 'Ruby 3.3, ActiveRecord 8, SQLite',
  rows: [...rows, ...crash, ...settings]
}

/** How often a figure holds what a program needs. */
exports.sizing = {
  row: 'setting-production',
  loads: /** @type {Array<[what: string, perSecond: number, seed: string]>} */ ([
    ['web application, 10,000 requests a minute, 5 records each', 833, '20x'],
    ['services, 50,000 records a minute', 833, '20x'],
    ['data pipeline, 100,000 records a minute', 1667, '10x'],
    ['500,000 records a minute', 8333, '2x'],
    ['1,000,000 records a minute', 16_667, '1x']
  ])
}
