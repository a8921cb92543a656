'use strict'
// fapilog: payloads of 256 bytes into a file.

const { rateRow } = require('./shared')

const SIZE = 256
const PINO_BYTES = 4096

/** @type {import('./works').Given[]} */
const rows = [
  rateRow('standard', '20,000 records of 256 bytes', {
    seed: 'fapilog 3,295/s, 105,000/s with 2 workers; logging 90,393/s', setting: { size: SIZE, count: 20_000 }, lost: '1 MiB; pino: 4 KB; Python logging: nothing; winston and fapilog: all that waits',
    peers: {
      millrace: {},
      pino: { minLength: PINO_BYTES },
      'pino-destination': { minLength: PINO_BYTES },
      'pino-roll': { minLength: PINO_BYTES },
      winston: {},
      sqlite: { waiting: 4000 },
      python: {},
      fapilog: { workers: 2 }
    },
    goal: { least: 350_000 },
    drawn: '20,000 records of 256 bytes'
  }),
  rateRow('workers-1', 'the same, fapilog with 1 worker', {
    seed: 'fapilog 3,500/s', setting: { size: SIZE, count: 20_000 }, lost: 'all that waits',
    peers: { fapilog: { workers: 1 } }
  }),
  {
    name: 'call',
    work: 'latency',
    setting: { size: SIZE, count: 5000 },
    peers: { millrace: {}, pino: { minLength: PINO_BYTES }, python: {}, fapilog: { workers: 2 } },
    lost: '1 MiB; pino: 4 KB; fapilog: all that waits',
    figures: [
      { figure: 'p50', what: 'a call, of 5,000: p50', unit: 'us', seed: 'fapilog 261 us, logging 12 us' },
      { figure: 'p95', what: 'p95', unit: 'us', seed: 'fapilog 523 us, logging 91 us' }
    ]
  }
]

/** @type {import('./works').Given} */
const throughPino = rateRow('through-pino', 'the same, through pino', {
  setting: { size: SIZE, count: 20_000 }, lost: '1 MiB; pino: 4 KB',
  peers: { 'millrace-pino': {}, pino: { minLength: PINO_BYTES } },
  by: 'millrace-pino', goal: { times: [{ factor: 1.1, of: 'pino' }] }, drawn: 'the same through pino'
})

// 1.15 times the time.
const REDACTED = { factor: 1 / 1.15, of: 'millrace-pino', in: 'through-pino' }
const SECRET_SETTING = {
  ...throughPino.setting,
  context: { token: 'Bearer 1234567890abcdef', email: 'ada@example.com', card: '4111 1111 1111 1111' }
}

/** @type {import('./works').Given[]} */
const redacted = [
  redaction('redaction-paths', 'paths', 'through pino, redaction by three paths, nothing found', true),
  redaction('redaction', 'form', 'redaction by form, nothing found', true),
  redaction('redaction-production', 'production', 'as the preset `production`: some 30 paths, and by form', false),
  { ...redaction('redaction-match', 'form', 'by form, three secrets in each record', false), setting: SECRET_SETTING }
]

/** @type {(name: string, redact: string, what: string, isJudged: boolean) => import('./works').Given} */
function redaction (name, redact, what, isJudged) {
  const peers = { 'millrace-pino': { redact }, ...(redact === 'paths' && { pino: { redact, minLength: PINO_BYTES } }) }
  const goal = isJudged && { goal: { times: [REDACTED] }, seed: '15% slower' }
  return { ...throughPino, name, peers, figures: [{ figure: 'rate', what, unit: 'rate', by: 'millrace-pino', ...goal }] }
}

const BESIDE = 'fapilog 274 us, logging 2,014 us'

/** @type {import('./works').Given[]} */
const sinks = [
  {
    name: 'slow-sink',
    work: 'sink',
    setting: { size: SIZE, count: 5000 },
    peers: { millrace: {} },
    lost: '1 MiB',
    figures: [
      { figure: 'p50', what: 'a call beside a sink of 2 ms a record: p50', unit: 'us', seed: BESIDE, goal: { most: 3 } },
      { figure: 'p95', what: 'p95', unit: 'us', seed: 'fapilog 483 us, logging 2,040 us' },
      { figure: 'p99', what: 'p99', unit: 'us', goal: { most: 12 } }
    ]
  },
  {
    name: 'burst',
    work: 'burst',
    setting: {},
    peers: { millrace: {} },
    lost: 'nothing at `process.exit`',
    figures: [
      { figure: 'dropped', what: '22,000 at once, a sink of 2 ms: dropped', unit: 'count', seed: '1,712', goal: { most: 0 } },
      { figure: 'missing', what: 'not forwarded by the next process', unit: 'count', seed: '7,926', goal: { most: 0 } },
      { figure: 'memory', what: 'memory', unit: 'bytes', goal: { most: 16 * 2 ** 20 } },
      { figure: 'exit', what: '`process.exit` takes', unit: 'ms', seed: '5,000 ms to flush', isCompared: true, goal: { most: 200 } }
    ]
  },
  {
    name: 'outage',
    work: 'outage',
    setting: {},
    peers: { millrace: {} },
    lost: '1 MiB',
    figures: [
      { figure: 'memory', what: 'a sink that is down for 500,000 records: memory', unit: 'bytes', goal: { most: 50e6 } },
      { figure: 'drained', what: 'drained when it is back, over HTTP', unit: 'rate', goal: { least: 50_000 } }
    ]
  }
]

/** @type {import('./works').GivenGroup} */
exports.group = {
  name: 'fapilog',
  title: 'fapilog',
  about: 'records of 256 bytes',
  seed: 'Python 3.13, Apple M1 Max',
  rows: [...rows, throughPino, ...redacted, ...sinks]
}
