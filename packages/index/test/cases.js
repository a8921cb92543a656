// @ts-nocheck
'use strict'
// Random records, paths and filters, made so that they often meet.

const { makeFilter, makeValue } = require('@millrace/testkit')

const PATHS = ['a', 'b', ['a.b'], { path: 'key', range: true }, { path: 'a', each: true }, { path: ['a', 0], range: true }, ['0'],
  { path: 'a', each: 'b' }, { path: 'time', range: true }, { path: 'b', each: 'key', range: true }, [], { path: [], each: true }, 'root.a', ['é'],
  { path: 'n', range: true }, 'type', { path: 'tags', each: true }, { path: 'items', each: 'id', range: true }]

/** @template T @param {(limit: number) => number} random @param {T[]} list */
function pick (random, list) {
  return list[random(list.length)]
}

/** Of fields that the paths name, and whatever else. */
function makeRecord (random) {
  if (random(4) === 0) return makeValue(random)
  return {
    type: pick(random, ['post', 'vote', 'about', null, 5, 'post']),
    n: pick(random, [random(50), random(1000) / 7, -random(20), 0, -0, '7', 1e300, -1e300, null]),
    tags: Array.from({ length: random(4) }, () => pick(random, ['x', 'y', 'z', 1, 'w'])),
    items: Array.from({ length: random(3) }, () => ({ id: random(8) })),
    time: pick(random, [1.7e12 + random(1000), 1.7e9 + random(100), '2026-01-01T00:00:00Z', '2026-01-02', random(100), { seconds: 1.7e9 }, true]),
    key: `key ${random(200)}`,
    a: makeValue(random, 2)
  }
}

function makeWhere (random, record) {
  const n = random(60) - 10
  switch (random(13)) {
    case 12: return [{ path: 'n', gte: n }, { path: 'n', lt: n + random(20) }, { path: 'items', includes: { path: 'id', lt: n } }].slice(random(2))
    case 0: return { path: 'type', equals: pick(random, ['post', 'vote', 'none', 5, null]) }
    case 1: return { path: 'key', in: Array.from({ length: random(12) }, () => `key ${random(220)}`) }
    case 2: return { path: 'n', gte: n, lt: n + random(20) }
    case 3: return { path: 'n', gt: n, lte: n + random(20) }
    case 4: return { path: 'tags', includes: pick(random, ['x', 'y', 'q', 1]) }
    case 5: return { path: 'items', includes: { path: 'id', equals: random(9) } }
    case 6: return { path: 'items', includes: [{ path: 'id', in: [random(9), random(9)] }, { not: { path: 'id', equals: 3 } }] }
    case 7: return { path: 'time', time: { gte: 1.7e12 + random(1000), lt: 1.7e12 + random(1000) } }
    case 8: return { path: 'time', time: pick(random, [{}, { gte: '2026-01-01' }, { lt: 50 }, { gt: 1.7e12 - 5, lte: 1.7e12 + 5 }]) }
    case 9: return [makeWhere(random, record), makeWhere(random, record)]
    case 10: return { any: [makeWhere(random, record), makeWhere(random, record)] }
    default: return makeFilter(random, record, 2)
  }
}

function makeBytes (random, codec) {
  const bytes = codec.encode(makeRecord(random))
  // Some records do not decode.
  if (random(60) === 0 && bytes.length > 0) bytes[random(bytes.length)] ^= 1 << random(8)
  return bytes
}

/** Not every value can be encoded. */
function appendSome (log, random, count, make = () => makeBytes(random, log.codec)) {
  for (let left = count; left > 0; left--) {
    try {
      log.append(make())
    } catch {}
  }
}

/** What a log is tried with: its paths, records, and filters. */
function createOrdinary (random, codec) {
  return { paths: makePaths(random), makeBytes: () => makeBytes(random, codec), makeWhere }
}

function makePaths (random) {
  const paths = PATHS.filter(() => random(3) > 0)
  return paths.length > 0 ? paths : ['type']
}

function makeRange (random, log) {
  const any = () => random(log.end + 1)
  const bounds = random(2) === 0 ? {} : { from: any(), to: any() }
  return { ...bounds, reverse: random(2) === 0 }
}

function compareMany (log, index, random, count = 60, make = makeWhere) {
  for (let left = count; left > 0; left--) {
    const { bytes } = log.records.length > 0 ? pick(random, log.records) : {}
    const value = bytes === undefined || bytes === null ? null : log.decode(bytes)
    const wrong = log.compare(index, make(random, typeof value === 'symbol' ? null : value), makeRange(random, log))
    if (wrong !== null) return wrong
  }
  return null
}

exports.appendSome = appendSome
exports.compareMany = compareMany
exports.createOrdinary = createOrdinary
exports.makeBytes = makeBytes
exports.makePaths = makePaths
exports.makeRange = makeRange
exports.makeRecord = makeRecord
exports.makeWhere = makeWhere
exports.pick = pick
