'use strict'
// SolidLog's DirectLogger: records of 185 bytes into a database, one at a time, in batches, and batched by the logger.

const { WRITTEN, rateRow } = require('./shared')

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
  rateRow('individual', 'one record at a time, WAL', {
    seed: 'individual inserts 6,345/s', setting: { size: SIZE, count: 1000 }, lost: nothing, peers: single
  }),
  rateRow('batches', 'batches of 100 that the program makes, WAL', {
    seed: 'batch inserts 62,625/s', setting: { size: SIZE, count: 1000, flushEvery: BATCH }, lost: batch,
    peers: { ...batched, winston: undefined, python: undefined }
  }),
  rateRow('auto-1k', '1,000 records, batches that the logger makes, WAL', {
    seed: 'DirectLogger 56,660/s', setting: { size: SIZE, count: 1000 }, lost: batch, peers: batched,
    goal: { least: 500_000, times: [{ factor: 2, of: 'sqlite' }] },
    drawn: '1,000 records, batches of 100'
  }),
  rateRow('auto-10k', '10,000 records, the same', {
    seed: 'DirectLogger 52,269/s', setting: { size: SIZE, count: 10_000 }, lost: batch, peers: batched,
    goal: { least: 500_000, times: [{ factor: 2, of: 'sqlite' }] }
  }),
  rateRow('individual-journal', 'one record at a time, without WAL, synced each', {
    work: 'wait', seed: 'individual inserts 2,266/s', setting: { size: SIZE, count: 1, seconds: 1 }, lost: nothing,
    peers: { millrace: { eager: { info: 'synced' } }, sqlite: journal }
  }),
  rateRow('auto-journal', '1,000 records, batches of 100, without WAL', {
    seed: 'DirectLogger 45,935/s', setting: { size: SIZE, count: 1000, samples: 10 }, lost: batch,
    peers: { millrace: { waiting: BATCH }, sqlite: { waiting: BATCH, ...journal } }
  }),
  rateRow('auto-memory', '10,000 records, a database in memory', {
    seed: '2 to 3 times the file', setting: { size: SIZE, count: 10_000 }, lost: 'everything',
    peers: { sqlite: { waiting: BATCH, isInMemory: true } }
  })
]

/** @type {Given[]} */
const crash = [
  rateRow('eager', '500 info, then 500 error; each error is written at once', {
    seed: 'with eager flush 16,882/s', setting: HALF, lost: 'nothing up to the last error',
    peers: {
      millrace: { waiting: BATCH, eager: { error: 'written' } },
      sqlite: { waiting: BATCH, isEager: true },
      'pino-destination': { minLength: PINO_BYTES, isEager: true },
      pino: { minLength: PINO_BYTES, isEager: true },
      bare: { waiting: BATCH, isEager: true }
    },
    goal: { least: 400_000, times: [{ factor: 5, of: 'sqlite' }, { factor: 0.5, of: 'millrace', in: 'eager-off' }] },
    drawn: '500 info, 500 error, each error written'
  }),
  rateRow('eager-off', 'the same, eager flush off', {
    seed: 'without eager flush 64,300/s', setting: HALF, lost: batch,
    peers: {
      millrace: { waiting: BATCH },
      sqlite: { waiting: BATCH },
      'pino-destination': { minLength: PINO_BYTES },
      pino: { minLength: PINO_BYTES }
    }
  }),
  rateRow('eager-bound', 'only errors, JSON already: a write of the system each', {
    setting: { ...HALF, input: 'lines', levels: 'error' }, lost: nothing,
    peers: { millrace: { eager: WRITTEN }, 'pino-destination': {}, bare: {} }
  }),
  rateRow('synced-1', 'errors synced, one after the other', {
    work: 'wait', setting: { size: SIZE, count: 1, seconds: 1, levels: 'error' }, lost: nothing,
    peers: { millrace: { eager: { error: 'synced' } }, sqlite: { synchronous: 'FULL' } },
    goal: { times: [{ factor: 1, of: 'sqlite' }] }
  }),
  rateRow('synced-64', 'errors synced, 64 producers wait', {
    work: 'wait', setting: { size: SIZE, count: 1, seconds: 1, levels: 'error', appenders: 64 }, lost: nothing,
    peers: { millrace: {}, sqlite: { synchronous: 'FULL' } },
    goal: { times: [{ factor: 2, of: 'sqlite' }] }
  })
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
  return rateRow(`setting-${name}`, what, {
    seed, setting: HALF, lost: eager === 'all' || waiting === 1 ? nothing : `${waiting} records`,
    peers: {
      millrace: { waiting, eager: waiting === 1 ? WRITTEN : levels[eager] },
      sqlite: { waiting: eager === 'all' ? 1 : waiting, isEager: eager === 'error' }
    }
  })
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
