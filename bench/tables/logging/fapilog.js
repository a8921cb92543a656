'use strict'
// fapilog: payloads of 256 bytes into a file.

const { boom, figuresOf, rateRow, toRow } = require('./shared')

const MIB = 2 ** 20
const RECORDS = { size: 256, count: 20_000 }
const CALLS = { size: 256, count: 5000 }
const SECRETS = { token: 'Bearer 1234567890abcdef', email: 'ada@example.com', card: '4111 1111 1111 1111' }
const throughPino = { 'millrace-pino': {}, pino: boom }
const lost = '1 MiB; pino: 4 KB'
const all = 'all that waits'
// 1.15 times the time.
const redacted = { seed: '15% slower', goal: { times: [{ factor: 1 / 1.15, of: 'millrace-pino', in: 'through-pino' }] } }
const by = 'millrace-pino'

const rows = [
  rateRow('standard', '20,000 records of 256 bytes', `1 MiB; pino: 4 KB; Python logging: nothing; winston and fapilog: ${all}`, {
    millrace: {}, pino: boom, 'pino-destination': boom, 'pino-roll': boom, winston: {}, sqlite: { waiting: 4000 }, python: {}, fapilog: { workers: 2 }
  }, RECORDS, {
    seed: 'fapilog 3,295/s, 105,000/s with 2 workers; logging 90,393/s', goal: { least: 350_000 }, drawn: '20,000 records of 256 bytes'
  }),
  rateRow('workers-1', 'the same, fapilog with 1 worker', all, { fapilog: { workers: 1 } }, RECORDS, { seed: 'fapilog 3,500/s' }),
  toRow('call', `1 MiB; pino: 4 KB; fapilog: ${all}`, { millrace: {}, pino: boom, python: {}, fapilog: { workers: 2 } }, CALLS, figuresOf('us', {
    p50: { what: 'a call, of 5,000: p50', seed: 'fapilog 261 us, logging 12 us' },
    p95: { what: 'p95', seed: 'fapilog 523 us, logging 91 us' }
  }), { work: 'latency' }),

  rateRow('through-pino', 'the same, through pino', lost, throughPino, RECORDS, {
    by, goal: { times: [{ factor: 1.1, of: 'pino' }] }, drawn: 'the same through pino'
  }),
  rateRow('redaction-paths', 'through pino, redaction by three paths, nothing found', lost,
    { 'millrace-pino': { redact: 'paths' }, pino: { redact: 'paths', ...boom } }, RECORDS, { by, ...redacted }),
  rateRow('redaction', 'redaction by form, nothing found', lost, { 'millrace-pino': { redact: 'form' } }, RECORDS, { by, ...redacted }),
  rateRow('redaction-production', 'as the preset `production`: some 30 paths, and by form', lost,
    { 'millrace-pino': { redact: 'production' } }, RECORDS, { by }),
  rateRow('redaction-match', 'by form, three secrets in each record', lost,
    { 'millrace-pino': { redact: 'form' } }, { ...RECORDS, context: SECRETS }, { by }),

  toRow('slow-sink', '1 MiB', { millrace: {} }, CALLS, figuresOf('us', {
    p50: { what: 'a call beside a sink of 2 ms a record: p50', seed: 'fapilog 274 us, logging 2,014 us', goal: { most: 3 } },
    p95: { what: 'p95', seed: 'fapilog 483 us, logging 2,040 us' },
    p99: { what: 'p99', goal: { most: 12 } }
  }), { work: 'sink' }),
  toRow('burst', 'nothing at `process.exit`', { millrace: {} }, {}, [
    ...figuresOf('count', {
      dropped: { what: '22,000 at once, a sink of 2 ms: dropped', seed: '1,712', goal: { most: 0 } },
      missing: { what: 'not forwarded by the next process', seed: '7,926', goal: { most: 0 } }
    }),
    { figure: 'memory', what: 'memory', unit: 'bytes', goal: { most: 16 * MIB } },
    { figure: 'exit', what: '`process.exit` takes', unit: 'ms', seed: '5,000 ms to flush', isCompared: true, goal: { most: 200 } }
  ], { work: 'burst' }),
  toRow('outage', '1 MiB', { millrace: {} }, {}, [
    { figure: 'memory', what: 'a sink that is down for 500,000 records: memory', unit: 'bytes', goal: { most: 50e6 } },
    { figure: 'drained', what: 'drained when it is back, over HTTP', unit: 'rate', goal: { least: 50_000 } }
  ], { work: 'outage' })
]

exports.group = { name: 'fapilog', title: 'fapilog', about: 'records of 256 bytes', seed: 'Python 3.13, Apple M1 Max', rows }
