'use strict'
// A tour of the package, in the order of its README.

const tape = require('tape')
const { levelFilter, matches, parseWhere, timeFilter } = require('..')

const holds = (where, record) => matches(parseWhere(where), record)
const post = { type: 'post', replies: 12, title: null, tags: ['a', 'b'], links: [{ to: '@ada' }], 'a.b': 1 }

tape('tour: a condition looks at the value of a path', (t) => {
  t.ok(holds({ path: 'type', equals: 'post' }, post))
  t.notOk(holds({ path: 'type', equals: 'vote' }, post))
  t.ok(holds({ path: 'type', in: ['post', 'vote'] }, post))
  t.ok(holds({ path: 'replies', gte: 10, lt: 100 }, post))
  t.notOk(holds({ path: 'replies', gt: 12 }, post))
  t.ok(holds({ path: 'type', prefix: 'po' }, post))
  t.end()
})

tape('tour: includes asks for an element, or for one that a filter holds for', (t) => {
  t.ok(holds({ path: 'tags', includes: 'b' }, post))
  t.ok(holds({ path: 'links', includes: { path: 'to', in: ['@ada', '@bob'] } }, post))
  t.notOk(holds({ path: 'tags', includes: 'c' }, post))
  t.end()
})

tape('tour: filters are combined', (t) => {
  const isPost = { path: 'type', equals: 'post' }
  t.ok(holds([], post), 'an empty list holds for every record')
  t.ok(holds([isPost, { path: 'replies', gt: 1 }], post), 'in a list all must hold')
  t.ok(holds({ any: [{ path: 'type', equals: 'vote' }, isPost] }, post))
  t.notOk(holds({ all: [isPost, { not: isPost }] }, post))
  t.ok(holds({ not: { path: 'author', equals: '@ada' } }, post), 'without a value, not holds')
  t.end()
})

tape('tour: a path is a text, or a list of keys and indexes', (t) => {
  t.ok(holds({ path: 'links.0.to', equals: '@ada' }, post))
  t.ok(holds({ path: ['links', 0, 'to'], equals: '@ada' }, post))
  t.ok(holds({ path: ['a.b'], equals: 1 }, post), 'a key with a dot needs a list')
  t.notOk(holds({ path: 'toString', exists: true }, post), 'only own properties count')
  t.end()
})

tape('tour: numbers and strings have ranges of their own', (t) => {
  t.notOk(holds({ path: 'n', gt: 4 }, { n: '5' }))
  t.ok(holds({ path: 'n', gt: '4' }, { n: '5' }))
  t.notOk(holds({ path: 'n', gt: 4 }, { n: NaN }))
  t.ok(holds({ path: 'n', lt: '\u{1f600}' }, { n: '\uff5e' }), 'by code points, not by UTF-16')
  t.end()
})

tape('tour: a missing field is not null', (t) => {
  t.ok(holds({ path: 'title', equals: null }, post))
  t.ok(holds({ path: 'title', exists: true }, post))
  t.ok(holds({ path: 'author', exists: false }, post))
  t.notOk(holds({ path: 'author', equals: null }, post))
  t.end()
})

tape('tour: what is too large, or no filter, is refused', (t) => {
  const values = Array.from({ length: 100_001 }, (_, n) => n)
  t.throws(() => parseWhere({ path: 'n', in: values }), { code: 'ERR_INVALID_ARGUMENT' })
  t.throws(() => parseWhere({ path: 'n', equal: 1 }), { code: 'ERR_INVALID_ARGUMENT' })
  t.end()
})

tape('tour: times and levels are read as loggers write them', (t) => {
  const where = [timeFilter({ since: Date.UTC(2026, 10, 23) }), levelFilter('warn')]
  t.ok(holds(where, { time: '2026-11-23T10:00:00.000Z', level: 'error' }))
  t.ok(holds(where, { time: Date.UTC(2026, 10, 24), level: 40 }), 'ms since 1970, and a number of pino')
  t.ok(holds(where, { Timestamp: Date.UTC(2026, 10, 24) / 1000, severity: 'WARNING' }), 'seconds, and other names')
  t.notOk(holds(where, { time: '2026-11-22T10:00:00.000Z', level: 'error' }), 'too early')
  t.notOk(holds(where, { time: '2026-11-23T10:00:00.000Z', level: 'info' }), 'not bad enough')
  t.ok(holds({ not: { path: [], time: {} } }, { level: 'error' }), 'a record without a time is in no bounds')
  t.end()
})
