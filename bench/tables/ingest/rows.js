'use strict'
// The rows: those of our goals, those of two seeds, and those that take long or count memory.

const { execFileSync } = require('node:child_process')
const { measure } = require('./works')

/** @typedef {import('../../engine/row').Figure} Figure */
/** @typedef {import('../../engine/row').Row} Row */
/** @typedef {Row & { work: keyof typeof import('./works').WORKS }} IngestRow */

const MIB = 2 ** 20
/** A run-of-the-mill difference between two rows; less means nothing. */
const SAME = 0.9
/** Every setting has these where its row does not say otherwise. */
const LOAD = { connections: 30, seconds: 5, request: 'single' }
/** What the seed kept in memory, and how often it wrote it. */
const SEED_2K = { buffer: 2000, intervalMs: 10_000 }
const SEED_10K = { buffer: 10_000, intervalMs: 60_000 }
const ACKS = Object.fromEntries(['buffered', 'written', 'synced'].map((ack) => [ack, { ack }]))
/** Who answers the same request, by what Millrace promises with its answer. @param {string} ack */
const beside = (ack) => ({ millrace: ACKS[ack], sqlite: SEED_2K, empty: {} })
const besideParse = { millrace: ACKS.written, parse: {} }
const buffered = '50 ms; better-sqlite3: 2,000 events'
const written = 'nothing; better-sqlite3: 2,000 events'

/** @typedef {Partial<Omit<Figure, 'figure' | 'what'>>} More */
/** @type {(what: string, more?: More) => Figure} */
const rate = (what, more) => ({ figure: 'rate', what, unit: 'rate', ...more })
/** @type {(figure: string, more?: More & { what?: string }) => Figure} */
const latency = (figure, more) => ({ figure, what: figure, unit: 'ms', ...more })
/** @type {(figure: string, what: string, more: More) => Figure} */
const bytes = (figure, what, more) => ({ figure, what, unit: 'bytes', ...more })
/** @type {Figure} */
const failed = { figure: 'failed', what: 'failed requests', unit: 'share', goal: { most: 0.01 } }
/** @type {(factor: number, of: string, more?: object) => { goal: import('../../engine/row').Goal }} */
const times = (factor, of, more) => ({ goal: { times: [{ factor, of, ...more }] } })
const slowest = { goal: { within: [{ factor: 1.3, of: 'empty' }] } }

/**
 * A row says what its first figure says, and options can change what it is given.
 * @type {(name: string, lost: string, peers: Row['peers'], figures: Figure[], more?: Partial<IngestRow>) => IngestRow}
 */
function row (name, lost, peers, figures, { setting, work = 'load', ...more } = {}) {
  const bound = ['sync', 'empty'].find((peer) => peers[peer])
  return {
    name,
    work,
    lost,
    peers,
    what: figures[0].what ?? '',
    figures: figures.map((figure) => ({ ...figure, ...figure.goal && { goal: { bound, ...figure.goal } } })),
    setting: { ...LOAD, ...setting },
    measure,
    prepare: ({ options }) => Object.fromEntries(Object.entries(OPTIONS).flatMap(([option, [key, ...rows]]) => {
      return options[option] && rows.some((one) => one === name || one === work) ? [[key, options[option]]] : []
    })),
    ...more
  }
}

/** What of a setting an option changes, and of which rows or works. @type {Record<string, string[]>} */
const OPTIONS = {
  seconds: ['seconds', 'load', 'stages', 'endure', 'beside'], stored: ['stored', 'stored'], logs: ['count', 'names'], readers: ['count', 'readers']
}

const goals = [
  row('written', written, beside('written'), [
    rate('one event a request, `written`', {
      goal: { times: [{ factor: 0.85, of: 'empty' }, { factor: 1, of: 'sqlite' }] }, drawn: 'one event a request, written'
    }),
    latency('p50'),
    latency('p95', { goal: { most: 2 } }),
    latency('p99', { ...slowest, drawn: 'one event a request, written: p99' }),
    latency('max'),
    failed
  ]),
  row('buffered', buffered, beside('buffered'), [
    rate('one event a request, `buffered`', { ...times(0.85, 'empty'), drawn: 'one event a request, buffered' }),
    latency('p99', { ...slowest, drawn: 'one event a request, buffered: p99' })
  ]),
  row('synced', 'nothing, nor does a power cut', { millrace: ACKS.synced, empty: {}, sync: {}, disk: {} }, [
    rate('one event a request, `synced`', { ...times(0.6, 'empty', { or: 'disk' }), drawn: 'one event a request, synced' }),
    latency('p50'),
    latency('p99', { drawn: 'one event a request, synced: p99' })
  ]),
  ...Object.entries({
    ndjson: { request: 'lines', figure: rate('events in NDJSON of 100, `written`', { ...times(0.6, 'parse'), drawn: 'events in NDJSON of 100' }) },
    otlp: { request: 'otlp', figure: rate('log records of OpenTelemetry in protobuf, 100 a request, `written`', times(0.6, 'parse')) },
    'otlp-json': { request: 'otlp-json', figure: rate('log records of OpenTelemetry in JSON, 100 a request, `written`', times(0.6, 'parse')) }
  }).map(([name, { request, figure }]) => row(name, 'nothing', besideParse, [figure], { setting: { request } })),
  ...Object.entries({
    reads: { count: 20, what: '20 reads with filters of 200 conditions' }, bombs: { count: 8, what: '8 senders of 31 MiB in 30 KB of gzip' }
  }).map(([hostile, { count, what }]) => row(`beside-${hostile}`, 'nothing', { millrace: ACKS.written }, [
    latency('p99', { goal: { most: 50 }, what: `one event after the other, beside ${what}: p99` }),
    latency('lag', { goal: { most: 50 }, what: 'the longest turn of the event loop' })
  ], { work: 'beside', setting: { connections: 1, hostile, count } })),
  row('dictionary', 'nothing', { millrace: ACKS.written, 'millrace-dictionary': { ...ACKS.written, dictionary: true } }, [
    rate('events by PUT, `written`', { seed: '41% fewer with a dictionary', ...times(0.95, 'millrace'), by: 'millrace-dictionary' })
  ], { setting: { request: 'put' } })
]

const PUT = { setting: { request: 'put' } }

const eventLogger = [
  row('put', buffered, beside('buffered'), [
    rate('PUT', { seed: '57K', drawn: 'events by PUT' }), latency('p95', { goal: { most: 2 } }), failed
  ], PUT),
  row('get', buffered, beside('buffered'), [
    rate('GET', { seed: '61K', ...times(SAME, 'millrace', { in: 'put' }), drawn: 'events by GET' })
  ], { setting: { request: 'get' } }),
  row('stages', buffered, beside('buffered'), [
    rate('PUT of up to 30 users who come and go, by k6', { seed: '58K', drawn: 'users who come and go, by PUT' }),
    latency('p95', { goal: { most: 2 } }),
    failed
  ], { work: 'stages', setting: { seconds: 45 }, needs: { 'k6 on the PATH': () => execFileSync('k6', ['version']) }, runs: 1, timeoutMs: 240_000 }),
  ...Object.entries({
    'buffer-2k': { what: 'a buffer of 2,000 events', seed: '57K', bufferMs: 100, sqlite: SEED_2K },
    'buffer-10k': { what: 'of 10,000', seed: '62K', bufferMs: 500, sqlite: SEED_10K },
    'buffer-50k': { what: 'of 50,000', seed: '57K', bufferMs: 2500, sqlite: { buffer: 50_000, intervalMs: 60_000 } }
  }).map(([name, { what, seed, bufferMs, sqlite }]) => row(name, 'the buffer', { millrace: { ...ACKS.buffered, bufferMs }, sqlite }, [
    rate(what, { seed, ...name !== 'buffer-2k' && times(SAME, 'millrace', { in: 'buffer-2k' }) }), latency('max')
  ], PUT)),
  row('one-by-one', 'the buffer', { sqlite: { ...SEED_10K, isOneByOne: true } }, [
    rate('the buffer of 10,000 written one by one', { seed: '3.6K' }), latency('max', { seed: '2,740 ms' })
  ], PUT),
  row('stored', written, {
    millrace: ACKS.written, 'millrace-full': { ...ACKS.written, isFull: true }, sqlite: SEED_2K, 'sqlite-full': { ...SEED_2K, isFull: true }
  }, [
    rate('beside events stored before: 1,000,000, or `--stored N`', { seed: 'no difference at 16M', by: 'millrace-full', ...times(SAME, 'millrace') })
  ], { setting: { stored: 1_000_000 } })
]

const ways = [
  row('direct', '100 events; Millrace: 1 MiB', { millrace: {}, sqlite: {} }, [
    rate('direct: a log of the program', { seed: '43,219' })
  ], { work: 'direct', setting: { count: 100_000 } }),
  row('http-single', written, beside('written'), [
    rate('HTTP, one event a request', { seed: '649' }), latency('p50')
  ], { setting: { connections: 1 } }),
  row('http-batch', 'nothing', besideParse, [
    rate('HTTP, 100 events a request', { seed: '26,517' }), latency('p50')
  ], { setting: { connections: 1, request: 'lines' } })
]

const memory = [
  row('endurance', 'nothing', { millrace: ACKS.written, empty: {} }, [
    bytes('peak', '60 seconds of full load: the most', { goal: { above: [{ by: 64 * MIB, of: 'empty' }] } }),
    bytes('growth', 'growth after the first 10 seconds', { goal: { most: 8 * MIB } }),
    rate('events')
  ], { work: 'endure', setting: { seconds: 60 }, runs: 1, timeoutMs: 180_000 }),
  row('readers', '', { millrace: {}, empty: {} }, [
    bytes('memory', '1,000 idle readers of server-sent events; of the empty server, 1,000 connections', { goal: { most: 64 * MIB } })
  ], { work: 'readers', setting: { count: 1000 }, runs: 1 }),
  row('names', 'nothing', { millrace: ACKS.written }, [
    rate('10,000 logs with one event each: logs a second'),
    bytes('memory', 'more memory', { goal: { most: 64 * MIB } }),
    // 100 logs are open, each with a file, its lock and a folder at most.
    { figure: 'files', what: 'open files at most', unit: 'count', goal: { most: 400 } }
  ], { work: 'names', setting: { count: 10_000 }, runs: 1, timeoutMs: 600_000 })
]

/** @type {import('../../engine/row').Group[]} */
exports.groups = [
  { name: 'requests', title: 'Requests', about: '30 connections, each sends the next request when it has its answer', rows: goals },
  {
    name: 'eventlogger',
    title: 'the event logger',
    about: 'events of 30 sources x 100 kinds in the URL, 30 connections',
    seed: 'a Mac M4, k6',
    rows: eventLogger
  },
  {
    name: 'ways',
    title: 'SolidLog DirectLogger',
    about: 'the same events without HTTP and with it, one sender',
    seed: 'Ruby 3.3, ActiveRecord 8, SQLite',
    rows: ways
  },
  { name: 'memory', title: 'Memory', about: 'of the server', rows: memory }
]
exports.parts = exports.groups.flatMap(({ rows }) => rows)
