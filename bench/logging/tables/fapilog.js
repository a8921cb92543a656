'use strict'
// fapilog: payloads of 256 bytes into a file.

const { rate } = require('./shared')

const SIZE = 256
const LARGE = 1024 * 1024

/** @type {import('./shared').Row[]} */
const rows = [
  {
    name: 'standard',
    work: 'fill',
    setting: { size: SIZE, count: 20_000 },
    peers: {
      millrace: {},
      pino: { minLength: LARGE },
      'pino-destination': { minLength: LARGE },
      'pino-roll': { minLength: LARGE },
      winston: {},
      sqlite: { waiting: 4096 },
      python: {},
      fapilog: { workers: 2 }
    },
    lost: '1 MiB; Python logging: nothing; winston and fapilog: all that waits',
    lines: rate('20,000 records of 256 bytes', 'fapilog 3,295/s, 105,000/s with 2 workers; logging 90,393/s',
      { least: 350_000 }, '20,000 records of 256 bytes')
  },
  {
    name: 'workers-1',
    work: 'fill',
    setting: { size: SIZE, count: 20_000 },
    peers: { fapilog: { workers: 1 } },
    lost: 'all that waits',
    runs: 1,
    lines: rate('the same, fapilog with 1 worker', 'fapilog 3,500/s')
  },
  {
    name: 'call',
    work: 'latency',
    setting: { size: SIZE, count: 5000 },
    peers: { millrace: {}, pino: { minLength: 4096 }, python: {}, fapilog: { workers: 2 } },
    lost: '1 MiB; pino: 4 KB; fapilog: all that waits',
    lines: [
      { figure: 'p50', what: 'a call, of 5,000: p50', unit: 'us', seed: 'fapilog 261 us, logging 12 us' },
      { figure: 'p95', what: 'p95', unit: 'us', seed: 'fapilog 523 us, logging 91 us' }
    ]
  }
]

/** @type {import('./shared').Table} */
exports.table = {
  name: 'fapilog',
  title: 'fapilog',
  about: 'records of 256 bytes',
  seed: 'Python 3.13, Apple M1 Max',
  rows
}
