'use strict'
// LogSystem MB: threads that log at the same time, a synchronous mode, flushes, and the time of each call.

const { WRITTEN, rateRow } = require('./shared')

/** @typedef {import('./works').Given} Given */

const PER_THREAD = 10_000
const SIZE = 150
const CONTEXT = { module: 'network', user: 'ana', ip: '192.168.0.17', context: { request: 'GET /api/users', retries: 2 } }
const BUFFER = 4096
/** What waits in memory is the same everywhere. */
const buffered = {
  millrace: { bytes: BUFFER },
  pino: { minLength: BUFFER },
  'pino-destination': { minLength: BUFFER },
  bare: { waiting: Math.floor(BUFFER / SIZE) }
}
const large = { millrace: {}, pino: { minLength: BUFFER }, 'pino-destination': { minLength: BUFFER } }

/** @type {Given[]} */
const tests = [
  threads('test-1', 4, PER_THREAD, {}, '4 threads, 10,000 records each', '190,476/s', 'four threads, 4 KB in memory each'),
  threads('test-2', 4, PER_THREAD, { context: CONTEXT, size: 300 }, '4 threads, 10,000 records each with context', '142,857/s'),
  threads('test-3', 8, 25_000, {}, '8 threads, 25,000 records each', '217,391/s'),
  rateRow('test-4', 'synchronous: each record is in the file when the call returns', {
    seed: '9,524/s', setting: { size: SIZE, count: PER_THREAD }, lost: 'nothing',
    peers: { millrace: { eager: WRITTEN }, pino: {}, 'pino-destination': {}, 'pino-roll': {}, python: {}, bare: {} },
    goal: { least: 3 * 9524 },
    drawn: 'synchronous, a write each'
  }),
  rateRow('large-buffer', 'one thread, 100,000 records, at most 1 MiB in memory', {
    setting: { size: SIZE, count: 100_000 }, lost: '1 MiB; pino: 4 KB', peers: large,
    goal: { least: 500_000 }
  })
]

/**
 * @param {string} name
 * @param {number} threads
 * @param {number} count  of records of each
 * @param {object} more  of the setting
 * @param {string} what
 * @param {string} seed
 * @param {string} [drawn]
 * @returns {Given}
 */
function threads (name, threads, count, more, what, seed, drawn) {
  const goal = { least: 500_000, times: [{ factor: 1.5, of: 'pino' }] }
  return rateRow(name, what, {
    work: 'threads', setting: { size: SIZE, threads, count, ...more }, lost: '4 KB a thread; one log: 1 MiB a thread',
    peers: { ...buffered, 'millrace-shared': {} },
    seed, goal: name.startsWith('test') ? goal : undefined, drawn, by: 'millrace-shared'
  })
}

/** @type {Given[]} */
const flushes = [1, 10, Infinity].map((every) => {
  const seed = every === 1 ? 23_800 : every === 10 ? 208_333 : 666_666
  const often = every === Infinity ? 'no flush' : `a flush after every ${every}`
  return rateRow(every === Infinity ? 'flush-none' : `flush-${every}`, `100,000 messages of 100 bytes, ${often}`, {
    setting: { size: 100, count: 100_000, input: 'lines', ...(every !== Infinity && { flushEvery: every }) },
    peers: every === Infinity ? large : { millrace: {}, 'pino-destination': { minLength: BUFFER }, bare: { waiting: every } },
    lost: every === Infinity ? '1 MiB; pino: 4 KB' : every === 1 ? 'nothing' : `${every} records`,
    seed: `${seed.toLocaleString('en')}/s`,
    goal: { least: every === Infinity ? seed : 3 * seed }
  })
})

/** @type {Given[]} */
const latencies = [{
  name: 'latency',
  work: 'latency',
  setting: { size: SIZE, count: 1_000_000 },
  peers: { millrace: {}, pino: { minLength: BUFFER }, 'pino-destination': { minLength: BUFFER } },
  lost: '1 MiB; pino: 4 KB',
  figures: [
    { figure: 'p50', what: 'a call, of 1,000,000: p50', unit: 'us', seed: '4.8 us', goal: { most: 4.8 } },
    { figure: 'p90', what: 'p90', unit: 'us', seed: '7.2 us' },
    { figure: 'p95', what: 'p95', unit: 'us', seed: '8.9 us' },
    { figure: 'p99', what: 'p99', unit: 'us', seed: '14.3 us', goal: { most: 14 } },
    { figure: 'p999', what: 'p99.9', unit: 'us', seed: '28.7 us' },
    { figure: 'p9999', what: 'p99.99', unit: 'us', seed: '105.2 us' },
    { figure: 'max', what: 'max', unit: 'us', seed: '312.5 us' }
  ]
}]

/** @type {Given[]} */
const insides = [
  alone('queue', [
    { figure: 'push', what: 'the queue alone, 1,000,000 records: push', unit: 'rate', seed: '83,000,000/s' },
    { figure: 'pop', what: 'pop', unit: 'rate', seed: '90,000,000/s' }
  ]),
  alone('reuse', [
    { figure: 'fresh', what: '100,000 calls: a new object each', unit: 'rate', seed: '1,220,000/s without a pool' },
    { figure: 'same', what: 'the same object', unit: 'rate', seed: '1,640,000/s with a pool' },
    { figure: 'bytes', what: 'its bytes', unit: 'rate' }
  ]),
  alone('clock', [
    { figure: 'each', what: 'the time of a record: from the clock', unit: 'ns', seed: '800 ns' },
    { figure: 'cached', what: 'kept for 100 records', unit: 'ns', seed: '0.01 ns, kept for a second' }
  ]),
  {
    name: 'memory',
    work: 'memory',
    setting: {},
    peers: { millrace: {}, pino: { minLength: BUFFER }, sqlite: { waiting: 100 } },
    lost: '1 MiB; pino: 4 KB; SQLite: 100 records',
    figures: [
      { figure: 'idle', what: 'memory over an idle Node.js: idle', unit: 'bytes', seed: '2.8 MB in all' },
      { figure: 'loaded', what: 'at 100,000 records a second', unit: 'bytes', seed: '3.1 MB in all' },
      { figure: 'peak', what: 'at most, of 1,000,000 records at once', unit: 'bytes', seed: '3.5 MB in all' }
    ]
  }
]

/** A part of the log writer by itself. @type {(name: string, figures: import('../../engine/row').Figure[]) => Given} */
function alone (name, figures) {
  return { name, work: name, setting: {}, peers: { millrace: {} }, figures }
}

/** @type {Given[]} */
const scaling = Object.entries({ 1: '48,000/s', 2: '92,000/s', 8: '217,000/s', 16: '228,000/s' }).map(([text, seed]) => {
  const what = `${text} thread${text === '1' ? '' : 's'}, 10,000 records each`
  return threads(`threads-${text}`, Number(text), PER_THREAD, {}, what, seed)
})

/** @type {import('./works').GivenGroup} */
exports.group = {
  name: 'logsystem',
  title: 'LogSystem MB',
  about: `records of ${SIZE} bytes; each thread has a log of its own, or all threads of a process have one log`,
  seed: 'C++20, Windows 10, Core i7-9700K',
  rows: [...tests, ...flushes, ...latencies, ...insides, ...scaling]
}
