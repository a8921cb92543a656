'use strict'
// LogSystem MB: threads that log at the same time, a synchronous mode, flushes, and the time of each call.

const { PINO_BYTES, WRITTEN, boom, figuresOf, rateRow, toRow } = require('./shared')

const PER_THREAD = 10_000
const SIZE = 150
const CONTEXT = { module: 'network', user: 'ana', ip: '192.168.0.17', context: { request: 'GET /api/users', retries: 2 } }
/** What waits in memory is the same everywhere. */
const buffered = {
  millrace: { bytes: PINO_BYTES }, pino: boom, 'pino-destination': boom, bare: { waiting: Math.floor(PINO_BYTES / SIZE) }, 'millrace-shared': {}
}
const large = { millrace: {}, 'millrace-lines': {}, pino: boom, 'pino-destination': boom }
const lost = '1 MiB; pino: 4 KB'

/**
 * @type {(name: string, what: string, seed: string, setting: import('./shared').Setting, more?:
 *   import('./shared').More) => import('./shared').LoggingRow}
 */
const threads = (name, what, seed, setting, more) => {
  return rateRow(name, what, '4 KB a thread; one log: 1 MiB a thread', buffered, { size: SIZE, count: PER_THREAD, ...setting },
    { work: 'threads', seed, by: 'millrace-shared', ...more })
}
const fast = { goal: { least: 500_000, times: [{ factor: 1.5, of: 'pino' }] } }

/**
 * A part of the log writer by itself.
 * @type {(name: string, figures: import('./shared').Figure[]) => import('./shared').LoggingRow}
 */
const alone = (name, figures) => toRow(name, undefined, { millrace: {} }, {}, figures, { work: name })

const rows = [
  threads('test-1', '4 threads, 10,000 records each', '190,476/s', { threads: 4 }, { ...fast, drawn: 'four threads, 4 KB in memory each' }),
  threads('test-2', '4 threads, 10,000 records each with context', '142,857/s', { threads: 4, context: CONTEXT, size: 300 }, fast),
  threads('test-3', '8 threads, 25,000 records each', '217,391/s', { threads: 8, count: 25_000 }, fast),
  rateRow('test-4', 'synchronous: each record is in the file when the call returns', 'nothing',
    { millrace: { eager: WRITTEN }, 'millrace-lines': { eager: WRITTEN }, pino: {}, 'pino-destination': {}, 'pino-roll': {}, python: {}, bare: {} },
    { size: SIZE, count: PER_THREAD }, { seed: '9,524/s', goal: { least: 3 * 9524 }, drawn: 'synchronous, a write each' }),
  rateRow('large-buffer', 'one thread, 100,000 records, at most 1 MiB in memory', lost, large, { size: SIZE, count: 100_000 }, { goal: { least: 500_000 } }),

  ...Object.entries({ 1: ['nothing', 23_800], 10: ['10 records', 208_333] }).map(([every, [lost, seed]]) => {
    return rateRow(`flush-${every}`, `100,000 messages of 100 bytes, a flush after every ${every}`, String(lost),
      { millrace: {}, 'millrace-lines': {}, 'pino-destination': boom, bare: { waiting: Number(every) } },
      { size: 100, count: 100_000, input: 'lines', flushEvery: Number(every) },
      { seed: `${seed.toLocaleString('en')}/s`, goal: { least: 3 * Number(seed) } })
  }),
  rateRow('flush-none', '100,000 messages of 100 bytes, no flush', lost, large, { size: 100, count: 100_000, input: 'lines' },
    { seed: '666,666/s', goal: { least: 666_666 } }),

  toRow('latency', lost, large, { size: SIZE, count: 1_000_000 }, figuresOf('us', {
    p50: { what: 'a call, of 1,000,000: p50', seed: '4.8 us', goal: { most: 4.8 } },
    p90: { what: 'p90', seed: '7.2 us' },
    p95: { what: 'p95', seed: '8.9 us' },
    p99: { what: 'p99', seed: '14.3 us', goal: { most: 14 } },
    p999: { what: 'p99.9', seed: '28.7 us' },
    p9999: { what: 'p99.99', seed: '105.2 us' },
    max: { what: 'max', seed: '312.5 us' }
  }), { work: 'latency' }),
  alone('queue', figuresOf('rate', {
    push: { what: 'into the queue, 1,000,000 records of 100 bytes', seed: '83,000,000/s, the queue alone' },
    pop: { what: 'out of it, into the log', seed: '90,000,000/s, the queue alone' }
  })),
  alone('reuse', figuresOf('rate', {
    fresh: { what: '100,000 calls: a new object each', seed: '1,220,000/s without a pool' },
    same: { what: 'the same object', seed: '1,640,000/s with a pool' },
    bytes: { what: 'its bytes' }
  })),
  alone('clock', figuresOf('ns', {
    each: { what: 'the time of a record: from the clock', seed: '800 ns' }, cached: { what: 'kept for 100 records', seed: '0.01 ns, kept for a second' }
  })),
  toRow('memory', `${lost}; SQLite: 100 records`, { millrace: {}, pino: boom, sqlite: { waiting: 100 } }, {}, figuresOf('bytes', {
    idle: { what: 'memory over an idle Node.js: idle', seed: '2.8 MB in all' },
    loaded: { what: 'at 100,000 records a second', seed: '3.1 MB in all' },
    peak: { what: 'at most, of 1,000,000 records at once', seed: '3.5 MB in all' }
  }), { work: 'memory' }),

  ...Object.entries({ 1: '48,000/s', 2: '92,000/s', 8: '217,000/s', 16: '228,000/s' }).map(([count, seed]) => {
    return threads(`threads-${count}`, `${count} thread${count === '1' ? '' : 's'}, 10,000 records each`, seed, { threads: Number(count) })
  })
]

exports.group = {
  name: 'logsystem',
  title: 'LogSystem MB',
  about: `records of ${SIZE} bytes; each thread has a log of its own, or all threads of a process have one log`,
  seed: 'C++20, Windows 10, Core i7-9700K',
  rows
}
