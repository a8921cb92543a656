'use strict'
// Times as people type them.

const tape = require('tape')
const { parseTime } = require('..')

const NOW = Date.UTC(2026, 10, 23, 12)
const HOUR = 3_600_000

tape('times: durations before now, and times that are in UTC unless they name a zone', (t) => {
  const ago = { '90s': 90_000, '10m': 600_000, '1.5 h': 1.5 * HOUR, '2d ago': 48 * HOUR, '1w': 168 * HOUR, ' 1h ': HOUR, '0s': 0 }
  for (const [text, ms] of Object.entries(ago)) t.equal(NOW - parseTime(text, NOW), ms, text)
  const times = {
    '2026-11-23': Date.UTC(2026, 10, 23),
    '2026-11-23 10:30': Date.UTC(2026, 10, 23, 10, 30),
    '2026-11-23T10:30+02:00': Date.UTC(2026, 10, 23, 8, 30),
    '2026-11-23T10:30Z': Date.UTC(2026, 10, 23, 10, 30),
    'Mon, 23 Nov 2026 10:30:00 GMT': Date.UTC(2026, 10, 23, 10, 30),
    1790000000: 1790000000000,
    1790000000000: 1790000000000
  }
  for (const [text, ms] of Object.entries(times)) t.equal(parseTime(text, NOW), ms, text)
  const wrong = ['', ' ', 'x', '5', '1y', '-1h', '1h2m', '10M', 'h', '2026-13-45', '2026-02-30', 'Mon', '99999999999w', '1e3', '1e3s']
  for (const text of wrong) t.throws(() => parseTime(text, NOW), { code: 'ERR_INVALID_ARGUMENT' }, text)
  t.end()
})
