'use strict'
// The filters for loggers, compared with what a loop would say.

const tape = require('tape')
const { createLogCheck, levelFilter, matches, parseWhere, timeFilter } = require('..')

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
  for (const wrong of [{ from: NOON }, { Since: NOON }, undefined, NOON]) t.throws(() => timeFilter(wrong), { code: 'ERR_INVALID_ARGUMENT' })
  t.throws(() => levelFilter('warn', { pth: 'a.level' }), { code: 'ERR_INVALID_ARGUMENT' })
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

tape('createLogCheck: what the first bytes say is what the whole record says', (t) => {
  const texts = ['{"level":50,"time":1790000000000}', '{"level":50,"time":1790000000000,"a":1}', '{"time":1790000000000,"level":50}',
    '{"level":50,"level":10,"time":1790000000000}', '{"level":50,"time":1790000000000,"time":5}', '{"level":99}', '{"level":05}', '{"level":5}',
    '{"level":50,"time":1790000000000,"\\u006cevel":10}', '{"level":50,"time":17900000000001}', '{"level":50.5,"time":1790000000000.5}',
    '{"time":1790000000000,"value":{"level":50}}', '{"level":50', '{"level":50,"time":1790000000000', '{', '']
  const before = '{"level":60,"time":1795000000000}'
  let told = 0
  for (const text of texts) {
    const all = [{ level: { gte: 50 } }, { level: { lt: 50 } }, { time: { gte: NOON } }, { time: { lt: NOON } }]
    for (const asked of all) {
      const condition = { path: [], ...asked }
      const [parsed] = parseWhere(condition)
      const buf = Buffer.from(before + text + before)
      const answer = createLogCheck(parsed)(buf, before.length, before.length + text.length)
      let value
      try {
        value = JSON.parse(text)
      } catch {
        continue
      }
      if (answer !== undefined) told++
      t.ok(answer === undefined || answer === passes(condition, value), `${text} ${JSON.stringify(condition)}`)
    }
  }
  t.ok(told >= 12, `${told} were told`)
  t.end()
})
