'use strict'
// The rows: those of our goals, those of two seeds, and those that take long or count memory.

const { execFileSync } = require('node:child_process')
const { measure } = require('./works')

/** @typedef {import('../../engine/row').Goal} Goal */
/** @typedef {import('../../engine/row').Figure} Figure */
/** @typedef {import('../../engine/row').Group} Group */
/** @typedef {Omit<Group, 'rows'> & { rows: Given[] }} GivenGroup */
/**
 * @typedef {Omit<import('../../engine/row').Row, 'what' | 'measure'> & { work: keyof typeof import('./works').WORKS
 *   }} Given
 */

const MIB = 2 ** 20
const CONNECTIONS = 30
/** A run-of-the-mill difference between two rows; less means nothing. */
const SAME = 0.9
const SETTING = { connections: CONNECTIONS, seconds: 5, request: 'single' }
/** What the seed kept in memory, and how often it wrote it. */
const SEED_2K = { buffer: 2000, intervalMs: 10_000 }
const buffered = '50 ms; better-sqlite3: 2,000 events'
const nothing = 'nothing; better-sqlite3: 2,000 events'

/** @type {(what: string, more?: { seed?: string, goal?: Goal, drawn?: string, by?: string }) => Figure} */
function rate (what, more) {
  return { figure: 'rate', what, unit: 'rate', ...more }
}

/** @type {(figure: string, goal?: Goal, drawn?: string) => Figure} */
function latency (figure, goal, drawn) {
  return { figure, what: figure, unit: 'ms', ...(goal && { goal }), ...(drawn && { drawn }) }
}

/** @type {GivenGroup} */
const goals = {
  name: 'requests',
  title: 'Requests',
  about: '30 connections, each sends the next request when it has its answer',
  rows: [
    {
      name: 'written',
      work: 'load',
      setting: SETTING,
      peers: { millrace: { ack: 'written' }, sqlite: SEED_2K, empty: {} },
      lost: nothing,
      figures: [
        rate('one event a request, `written`', {
          goal: { times: [{ factor: 0.85, of: 'empty' }, { factor: 1, of: 'sqlite' }] },
          drawn: 'one event a request, written'
        }),
        latency('p50'),
        latency('p95', { most: 2 }),
        latency('p99', { within: [{ factor: 1.3, of: 'empty' }] }, 'one event a request, written: p99'),
        latency('max'),
        { figure: 'failed', what: 'failed requests', unit: 'share', goal: { most: 0.01 } }
      ]
    },
    {
      name: 'buffered',
      work: 'load',
      setting: SETTING,
      peers: { millrace: { ack: 'buffered' }, sqlite: SEED_2K, empty: {} },
      lost: buffered,
      figures: [
        rate('one event a request, `buffered`', { goal: { times: [{ factor: 0.85, of: 'empty' }] }, drawn: 'one event a request, buffered' }),
        latency('p99', { within: [{ factor: 1.3, of: 'empty' }] }, 'one event a request, buffered: p99')
      ]
    },
    {
      name: 'synced',
      work: 'load',
      setting: SETTING,
      peers: { millrace: { ack: 'synced' }, empty: {}, sync: {}, disk: {} },
      lost: 'nothing, nor does a power cut',
      figures: [
        rate('one event a request, `synced`', { goal: { times: [{ factor: 0.6, of: 'empty', or: 'disk' }] }, drawn: 'one event a request, synced' }),
        latency('p50'),
        latency('p99', undefined, 'one event a request, synced: p99')
      ]
    },
    {
      name: 'ndjson',
      work: 'load',
      setting: { ...SETTING, request: 'lines' },
      peers: { millrace: { ack: 'written' }, parse: {} },
      lost: 'nothing',
      figures: [rate('events in NDJSON of 100, `written`', { goal: { times: [{ factor: 0.6, of: 'parse' }] }, drawn: 'events in NDJSON of 100' })]
    },
    ...['otlp', 'otlp-json'].map((request) => ({
      name: request,
      work: 'load',
      setting: { ...SETTING, request },
      peers: { millrace: { ack: 'written' }, parse: {} },
      lost: 'nothing',
      figures: [rate(`log records of OpenTelemetry in ${request === 'otlp' ? 'protobuf' : 'JSON'}, 100 a request, \`written\``,
        { goal: { times: [{ factor: 0.6, of: 'parse' }] } })]
    })),
    ...[['reads', 20, '20 reads with filters of 200 conditions'], ['bombs', 8, '8 senders of 31 MiB in 30 KB of gzip']].map((given) => {
      const [hostile, count, what] = /** @type {[string, number, string]} */ (given)
      return {
        name: `beside-${hostile}`,
        work: 'beside',
        setting: { connections: 1, seconds: SETTING.seconds, hostile, count },
        peers: { millrace: { ack: 'written' } },
        lost: 'nothing',
        figures: [
          { ...latency('p99', { most: 50 }), what: `one event after the other, beside ${what}: p99` },
          { ...latency('lag', { most: 50 }), what: 'the longest turn of the event loop' }
        ]
      }
    }),
    {
      name: 'dictionary',
      work: 'load',
      setting: { ...SETTING, request: 'put' },
      peers: { millrace: { ack: 'written' }, 'millrace-dictionary': { ack: 'written', dictionary: true } },
      lost: 'nothing',
      figures: [rate('events by PUT, `written`', {
        seed: '41% fewer with a dictionary', goal: { times: [{ factor: 0.95, of: 'millrace' }] }, by: 'millrace-dictionary'
      })]
    }
  ]
}

/** @type {(name: string, what: string, seed: string, bufferMs: number, waiting: object) => Given} */
function buffer (name, what, seed, bufferMs, waiting) {
  return {
    name,
    work: 'load',
    setting: { ...SETTING, request: 'put' },
    peers: { millrace: { ack: 'buffered', bufferMs }, sqlite: waiting },
    lost: 'the buffer',
    figures: [
      rate(what, { seed, ...(name !== 'buffer-2k' && { goal: { times: [{ factor: SAME, of: 'millrace', in: 'buffer-2k' }] } }) }),
      latency('max')
    ]
  }
}

/** @type {GivenGroup} */
const eventLogger = {
  name: 'eventlogger',
  title: 'the event logger',
  about: 'events of 30 sources x 100 kinds in the URL, 30 connections',
  seed: 'a Mac M4, k6',
  rows: [
    {
      name: 'put',
      work: 'load',
      setting: { ...SETTING, request: 'put' },
      peers: { millrace: { ack: 'buffered' }, sqlite: SEED_2K, empty: {} },
      lost: buffered,
      figures: [
        rate('PUT', { seed: '57K', drawn: 'events by PUT' }),
        latency('p95', { most: 2 }),
        { figure: 'failed', what: 'failed requests', unit: 'share', goal: { most: 0.01 } }
      ]
    },
    {
      name: 'get',
      work: 'load',
      setting: { ...SETTING, request: 'get' },
      peers: { millrace: { ack: 'buffered' }, sqlite: SEED_2K, empty: {} },
      lost: buffered,
      figures: [rate('GET', { seed: '61K', goal: { times: [{ factor: SAME, of: 'millrace', in: 'put' }] }, drawn: 'events by GET' })]
    },
    {
      name: 'stages',
      work: 'stages',
      setting: { seconds: 45 },
      peers: { millrace: { ack: 'buffered' }, sqlite: SEED_2K, empty: {} },
      needs: { 'k6 on the PATH': () => execFileSync('k6', ['version']) },
      runs: 1,
      timeoutMs: 240_000,
      lost: buffered,
      figures: [
        rate('PUT of up to 30 users who come and go, by k6', { seed: '58K', drawn: 'users who come and go, by PUT' }),
        latency('p95', { most: 2 }),
        { figure: 'failed', what: 'failed requests', unit: 'share', goal: { most: 0.01 } }
      ]
    },
    buffer('buffer-2k', 'a buffer of 2,000 events', '57K', 100, SEED_2K),
    buffer('buffer-10k', 'of 10,000', '62K', 500, { buffer: 10_000, intervalMs: 60_000 }),
    buffer('buffer-50k', 'of 50,000', '57K', 2500, { buffer: 50_000, intervalMs: 60_000 }),
    {
      name: 'one-by-one',
      work: 'load',
      setting: { ...SETTING, request: 'put' },
      peers: { sqlite: { buffer: 10_000, intervalMs: 60_000, isOneByOne: true } },
      lost: 'the buffer',
      figures: [rate('the buffer of 10,000 written one by one', { seed: '3.6K' }), { ...latency('max'), seed: '2,740 ms' }]
    },
    {
      name: 'stored',
      work: 'load',
      setting: { ...SETTING, stored: 1_000_000 },
      peers: {
        millrace: { ack: 'written' },
        'millrace-full': { ack: 'written', isFull: true },
        sqlite: SEED_2K,
        'sqlite-full': { ...SEED_2K, isFull: true }
      },
      lost: nothing,
      figures: [rate('beside events stored before: 1,000,000, or `--stored N`', {
        seed: 'no difference at 16M',
        by: 'millrace-full',
        goal: { times: [{ factor: SAME, of: 'millrace' }] }
      })]
    }
  ]
}

/** @type {GivenGroup} */
const ways = {
  name: 'ways',
  title: 'SolidLog DirectLogger',
  about: 'the same events without HTTP and with it, one sender',
  seed: 'Ruby 3.3, ActiveRecord 8, SQLite',
  rows: [
    {
      name: 'direct',
      work: 'direct',
      setting: { count: 100_000 },
      peers: { millrace: {}, sqlite: {} },
      lost: '100 events; Millrace: 1 MiB',
      figures: [rate('direct: a log of the program', { seed: '43,219' })]
    },
    {
      name: 'http-single',
      work: 'load',
      setting: { ...SETTING, connections: 1 },
      peers: { millrace: { ack: 'written' }, sqlite: SEED_2K, empty: {} },
      lost: nothing,
      figures: [rate('HTTP, one event a request', { seed: '649' }), latency('p50')]
    },
    {
      name: 'http-batch',
      work: 'load',
      setting: { ...SETTING, connections: 1, request: 'lines' },
      peers: { millrace: { ack: 'written' }, parse: {} },
      lost: 'nothing',
      figures: [rate('HTTP, 100 events a request', { seed: '26,517' }), latency('p50')]
    }
  ]
}

/** @type {GivenGroup} */
const memory = {
  name: 'memory',
  title: 'Memory',
  about: 'of the server',
  rows: [
    {
      name: 'endurance',
      work: 'endure',
      setting: { ...SETTING, seconds: 60 },
      peers: { millrace: { ack: 'written' }, empty: {} },
      runs: 1,
      timeoutMs: 180_000,
      lost: 'nothing',
      figures: [
        { figure: 'peak', what: '60 seconds of full load: the most', unit: 'bytes', goal: { above: [{ by: 64 * MIB, of: 'empty' }] } },
        { figure: 'growth', what: 'growth after the first 10 seconds', unit: 'bytes', goal: { most: 8 * MIB } },
        rate('events')
      ]
    },
    {
      name: 'readers',
      work: 'readers',
      setting: { count: 1000 },
      peers: { millrace: {}, empty: {} },
      runs: 1,
      lost: '',
      figures: [{ figure: 'memory', what: '1,000 idle readers of server-sent events; of the empty server, 1,000 connections', unit: 'bytes', goal: { most: 64 * MIB } }]
    },
    {
      name: 'names',
      work: 'names',
      setting: { count: 10_000 },
      peers: { millrace: { ack: 'written' } },
      runs: 1,
      timeoutMs: 600_000,
      lost: 'nothing',
      figures: [
        rate('10,000 logs with one event each: logs a second'),
        { figure: 'memory', what: 'more memory', unit: 'bytes', goal: { most: 64 * MIB } },
        // 100 logs are open, each with a file, its lock and a folder at most.
        { figure: 'files', what: 'open files at most', unit: 'count', goal: { most: 400 } }
      ]
    }
  ]
}

/**
 * A row says what its first figure says, and options can change what it is given.
 * @type {(given: Given) => import('../../engine/row').Row}
 */
function toRow ({ figures, ...given }) {
  const bound = ['sync', 'empty'].find((name) => given.peers[name])
  return {
    ...given,
    what: figures[0].what ?? '',
    figures: figures.map((figure) => ({ ...figure, ...figure.goal && { goal: { bound, ...figure.goal } } })),
    measure,
    prepare: ({ options }) => adapt(given, options)
  }
}

/** @type {(row: { name: string, setting?: any }, options: any) => any} the setting, as options change it */
function adapt ({ name, setting }, { seconds, stored, logs, readers }) {
  const count = name === 'names' ? logs : name === 'readers' ? readers : undefined
  return {
    ...seconds && 'seconds' in setting && { seconds },
    ...stored && 'stored' in setting && { stored },
    ...count && { count }
  }
}

/** @type {Group[]} */
exports.groups = [goals, eventLogger, ways, memory].map(({ rows, ...group }) => ({ ...group, rows: rows.map(toRow) }))
exports.parts = exports.groups.flatMap(({ rows }) => rows)
