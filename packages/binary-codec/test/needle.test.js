'use strict'

const tape = require('tape')
const { inQuickRuns } = require('@millrace/testkit')
const { createSearches, parseWhere, planWhere, matches } = require('@millrace/where')
const { binaryCodec, encode, seekKey } = require('..')
const { searchCondition } = require('../lib/field-search')
const { createRandom } = require('./random-values')

const KEYS = ['root', 'branch', 'a', 'a key of more than fifteen bytes', 'é']
const ALPHABETS = ['ab', 'k2LlB5vHH2Bs3ute/9D9+=.', 'é水😀x']

const places = new Uint32Array(1)
const searchesFor = (where) => createSearches(planWhere(parseWhere(where)), searchCondition)

function createTexts (random) {
  return (length) => {
    const characters = [...ALPHABETS[random.below(ALPHABETS.length)]]
    return Array.from({ length }, () => characters[random.below(characters.length)]).join('')
  }
}

const random = createRandom()
tape(`needle: a filter for long texts equals decode and compare (seed ${random.seed})`, (t) => {
  const text = createTexts(random)
  let failure
  let [hits, searched] = [0, 0]
  for (let i = 0; i < inQuickRuns(20_000) && failure === undefined; i++) {
    const texts = Array.from({ length: 4 }, () => text(random.below(random.below(10) === 0 ? 400 : 70)))
    const pick = () => texts[random.below(4)]
    const inner = Object.fromEntries(KEYS.slice(random.below(5)).map((key) => [key, pick()]))
    const value = { key: pick(), value: { content: inner, other: [pick(), { root: pick() }] } }
    const conditions = Array.from({ length: 1 + random.below(2) }, () => {
      const path = ['value', 'content', KEYS[random.below(5)]]
      return { path: random.below(4) > 0 ? path : path.slice(random.below(4)), equals: pick() }
    })
    const record = encode(value)
    if (searchesFor(conditions).length > 0) searched++
    const around = Buffer.concat([record, encode(texts)])
    const buf = Buffer.concat([around, record, around])
    const answer = binaryCodec.compile(conditions)(buf, around.length, around.length + record.length)
    if (answer !== matches(parseWhere(conditions), value)) failure = { value, conditions }
    if (answer) hits++
  }
  t.equal(failure, undefined)
  t.ok(hits > inQuickRuns(500), `${hits} matched`)
  t.ok(searched > inQuickRuns(5000), `${searched} were searched for`)
  t.end()
})

tape('needle: what is beside a record is no part of it', (t) => {
  const root = '%k2LlB5vHH2Bs3ute/9D9kB0oGu+t2megqxdFxT2HYR4=.sha256'
  const record = encode({ root })
  const where = parseWhere({ path: ['root'], equals: root })
  const [search] = searchesFor(where)
  const findNext = (...args) => search.find(...args, places) > 0 ? places[0] : -1
  const buf = Buffer.concat([record, record, record])
  for (let cut = 1; cut < record.length; cut++) {
    const isThere = findNext(buf, record.length + cut, 2 * record.length) >= 0
    // The tag of the object comes first, and is not looked for.
    if (isThere !== (cut <= 2)) t.fail(`from byte ${cut} on: ${isThere}`)
    if (findNext(buf, record.length, 2 * record.length - cut) >= 0) t.fail(`up to ${cut} bytes before its end`)
  }
  t.ok(findNext(buf, record.length, 2 * record.length) >= 0)
  t.end()
})

tape('walk: two conditions of one object are found in either order', (t) => {
  const value = { a: { b: { c: 1, d: 'x' }, e: true }, f: null }
  const record = encode(value)
  const paths = [[['a', 'b', 'c'], 1], [['a', 'b', 'd'], 'x'], [['a', 'e'], true], [['f'], null]]
  for (const [path, equals] of paths) {
    for (const [other, otherEquals] of paths) {
      const where = [{ path, equals }, { path: other, equals: otherEquals }]
      t.ok(binaryCodec.compile(where)(record, 0, record.length), `${path} and ${other}`)
      t.notOk(binaryCodec.compile([where[0], { path: other, equals: 'no' }])(record, 0, record.length))
    }
  }
  t.notOk(binaryCodec.compile({ path: [], equals: 'a'.repeat(30) })(encode('a'.repeat(30)), 0, 20), 'a value that is cut off')
  t.equal(seekKey(record, 0, 'nowhere'), -1)
  t.end()
})

tape('needle: of long texts the beginning is searched for, and all is compared', (t) => {
  const lengths = [251, 252, 253, 254, 300]
  const texts = lengths.flatMap((length) => ['x', 'é', '😀', '水'].map((character) => character.repeat(length)))
  const halves = lengths.map((length) => `${'x'.repeat(length - 1)}😀`)
  for (const text of [...texts, ...halves, 'x'.repeat(40e6)]) {
    for (const [key, value] of [['a', text], [text, 'a']]) {
      const isWanted = binaryCodec.compile({ path: [key], equals: value })
      for (const [record, count] of [[{ [key]: value }, 1], [{ [key]: `${value}x` }, 0], [{ [`${key}x`]: value }, 0]]) {
        const buffer = encode(record)
        const found = isWanted.select({ buffer, starts: [0], ends: [buffer.length], count: 1 }, new Uint32Array(1))
        const isRight = found === count && isWanted(buffer, 0, buffer.length) === Boolean(count)
        if (!isRight) t.fail(`${text.length} of ${text.slice(0, 3)}, ${found} and not ${count}`)
      }
    }
  }
  t.pass()
  t.end()
})
