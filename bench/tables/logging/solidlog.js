'use strict'
// SolidLog's DirectLogger: records of 185 bytes into a database, one at a time, in batches, and batched by the logger.

const { WRITTEN, boom, rateRow } = require('./shared')

const SIZE = 185
const half = { size: SIZE, count: 1000, levels: /** @type {const} */ ('half') }
/** For a second, one after the other. */
const waiting = { size: SIZE, count: 1, seconds: 1 }
const nothing = 'nothing'
const batch = '100 records; pino: 4 KB'
const of100 = { waiting: 100 }

/** The logger collects a batch. pino's usual buffer is smaller than that, and a larger one makes it slower. */
const whoBatches = { millrace: of100, sqlite: of100, 'pino-destination': boom, pino: boom, 'pino-roll': boom, bare: of100 }
const batched = { ...whoBatches, winston: {}, python: {} }
/** Both journals of SQLite that are not WAL sync at each commit, so everybody does. */
const journal = { journal: 'DELETE', synchronous: 'NORMAL' }
const fast = { least: 500_000, times: [{ factor: 2, of: 'sqlite' }] }
const eager = { isEager: true }

const rows = [
  rateRow('individual', 'one record at a time, WAL', nothing,
    { millrace: { eager: WRITTEN }, sqlite: {}, 'pino-destination': {}, pino: {}, 'pino-roll': {}, bare: {} },
    { size: SIZE, count: 1000 }, { seed: 'individual inserts 6,345/s' }),
  rateRow('batches', 'batches of 100 that the program makes, WAL', batch, whoBatches,
    { size: SIZE, count: 1000, flushEvery: 100 }, { seed: 'batch inserts 62,625/s' }),
  rateRow('auto-1k', '1,000 records, batches that the logger makes, WAL', batch, batched,
    { size: SIZE, count: 1000 }, { seed: 'DirectLogger 56,660/s', goal: fast, drawn: '1,000 records, batches of 100' }),
  rateRow('auto-10k', '10,000 records, the same', batch, batched, { size: SIZE, count: 10_000 }, { seed: 'DirectLogger 52,269/s', goal: fast }),
  rateRow('individual-journal', 'one record at a time, without WAL, synced each', nothing,
    { millrace: { eager: { info: 'synced' } }, sqlite: journal }, waiting, { work: 'wait', seed: 'individual inserts 2,266/s' }),
  rateRow('auto-journal', '1,000 records, batches of 100, without WAL', batch,
    { millrace: of100, sqlite: { ...of100, ...journal } }, { size: SIZE, count: 1000, samples: 10 }, { seed: 'DirectLogger 45,935/s' }),
  rateRow('auto-memory', '10,000 records, a database in memory', 'everything',
    { sqlite: { ...of100, isInMemory: true } }, { size: SIZE, count: 10_000 }, { seed: '2 to 3 times the file' }),

  rateRow('eager', '500 info, then 500 error; each error is written at once', 'nothing up to the last error', {
    millrace: { ...of100, eager: { error: 'written' } },
    sqlite: { ...of100, ...eager },
    'pino-destination': { ...boom, ...eager },
    pino: { ...boom, ...eager },
    bare: { ...of100, ...eager }
  }, half, {
    seed: 'with eager flush 16,882/s',
    goal: { least: 400_000, times: [{ factor: 5, of: 'sqlite' }, { factor: 0.5, of: 'millrace', in: 'eager-off' }] },
    drawn: '500 info, 500 error, each error written'
  }),
  rateRow('eager-off', 'the same, eager flush off', batch,
    { millrace: of100, sqlite: of100, 'pino-destination': boom, pino: boom }, half, { seed: 'without eager flush 64,300/s' }),
  rateRow('eager-bound', 'only errors, JSON already: a write of the system each', nothing,
    { millrace: { eager: WRITTEN }, 'pino-destination': {}, bare: {} }, { ...half, input: 'lines', levels: 'error' }),
  rateRow('synced-1', 'errors synced, one after the other', nothing,
    { millrace: { eager: { error: 'synced' } }, sqlite: { synchronous: 'FULL' } }, { ...waiting, levels: 'error' },
    { work: 'wait', goal: { times: [{ factor: 1, of: 'sqlite' }] } }),
  rateRow('synced-64', 'errors synced, 64 producers wait', nothing,
    { millrace: {}, sqlite: { synchronous: 'FULL' } }, { ...waiting, levels: 'error', appenders: 64 },
    { work: 'wait', goal: { times: [{ factor: 2, of: 'sqlite' }] } }),

  // The settings that SolidLog recommends. All are given 500 info and 500 error records.
  rateRow('setting-production', 'production: batches of 100, eager for errors', '100 records',
    { millrace: { ...of100, eager: { error: 'written' } }, sqlite: { ...of100, ...eager } }, half, { seed: '16,882/s' }),
  rateRow('setting-throughput', 'maximum throughput: batches of 500, not eager', '500 records',
    { millrace: { waiting: 500 }, sqlite: { waiting: 500 } }, half, { seed: '60,000/s and more' }),
  rateRow('setting-safety', 'maximum safety: batches of 10, eager for all', nothing,
    { millrace: { waiting: 10, eager: WRITTEN }, sqlite: { waiting: 1 } }, half, { seed: 'about 3,000/s' }),
  rateRow('setting-single', 'individual: no batches', nothing,
    { millrace: { waiting: 1, eager: WRITTEN }, sqlite: { waiting: 1 } }, half, { seed: '6,345/s' })
]

exports.group = {
  name: 'solidlog',
  title: 'SolidLog DirectLogger',
  about: 'records of 185 bytes, objects that each side turns into the same JSON',
  seed: 'Ruby 3.3, ActiveRecord 8, SQLite',
  rows
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
