'use strict'
// The filters for loggers, compared with what a loop would say.

const tape = require('tape')
const { levelFilter, matches, parseWhere, timeFilter } = require('..')

const passes = (where, value) => matches(parseWhere(where), value)
const NOON = Date.UTC(2026, 10, 23, 12)
const SPELLINGS = {
  ms: (ms) => ms,
  seconds: (ms) => Math.round(ms / 1000),
  ISO: (ms) => new Date(ms).toISOString(),
  'ISO with nanoseconds': (ms) => new Date(ms).toISOString().replace('Z', '000001Z')
}

tape('timeFilter: bounds hold for every spelling of a time', (t) => {
  for (const [name, spell] of Object.entries(SPELLINGS)) {
    for (const range of [{ since: NOON }, { until: NOON }, { since: new Date(NOON), until: NOON + 60_000 }]) {
      for (const offset of [-86_400_000, -1000, 0, 1000, 59_000, 60_000, 86_400_000]) {
        const { since = -Infinity, until = Infinity } = range
        const wanted = NOON + offset >= Number(since) && NOON + offset < until
        const found = passes(timeFilter(range), { time: spell(NOON + offset) })
        if (found !== wanted) t.fail(`${name}, ${JSON.stringify(range)}, ${offset}`)
      }
    }
  }
  t.equal(passes(timeFilter({ since: NOON, path: 'a.at' }), { a: { at: NOON } }), true)
  t.equal(passes(timeFilter({ since: 0 }), { msg: 'no time' }), false)
  t.equal(passes(timeFilter({}), { time: NOON }), true)
  t.throws(() => timeFilter({ since: new Date(NaN) }), { code: 'ERR_INVALID_ARGUMENT' })
  t.throws(() => timeFilter({ until: 'x' }), { code: 'ERR_INVALID_ARGUMENT' })
  t.end()
})

tape('levelFilter: numbers and names', (t) => {
  const found = (level, values) => values.filter((value) => passes(levelFilter(level), { level: value }))
  t.deepEqual(found('warn', [10, 30, 40, 45, 60, 'info', 'warn', 'ERROR', null]), [40, 45, 60, 'warn', 'ERROR'])
  t.deepEqual(found(35, [30, 35, 'info', 'warn']), [35, 'warn'])
  t.equal(passes(levelFilter('audit', { levels: { audit: 55 } }), { level: 'audit' }), true)
  t.throws(() => levelFilter('loud'), { code: 'ERR_INVALID_ARGUMENT' })
  t.throws(() => levelFilter(NaN), { code: 'ERR_INVALID_ARGUMENT' })
  t.end()
})
