'use strict'

const { spawnSync } = require('node:child_process')
const { randomInt } = require('node:crypto')
const tape = require('tape')
const { inQuickRuns, isLongRun } = require('@millrace/testkit')
const fc = require('fast-check')
const { parseWhere, planWhere, matches } = require('@millrace/where')
const { jsonCodec } = require('..')
const { createPrefilter } = require('../lib/compile')
const { parseRightly } = require('./parse-rightly')

const seed = randomInt(2 ** 31)

function holds (where, text) {
  const bytes = Buffer.isBuffer(text) ? text : Buffer.from(text)
  return jsonCodec.compile(where)(bytes, 0, bytes.length)
}

tape('compile: finds a value in every spelling', (t) => {
  const spellings = [
    ['a', '{"k":"a"}', '{"k":"\\u0061"}', '{"\\u006b":"a"}', ' { "k" :\n\t"a" } '],
    ['a/b', '{"k":"a/b"}', '{"k":"a\\/b"}', '{"k":"a\\u002fb"}', '{"k":"a\\u002Fb"}'],
    ['"', '{"k":"\\""}', '{"k":"\\u0022"}'],
    ['a\\b', '{"k":"a\\\\b"}', '{"k":"a\\u005cb"}'],
    ['x\ny\u0001', '{"k":"x\\ny\\u0001"}', '{"k":"x\\u000ay\\u0001"}'],
    ['é', '{"k":"é"}', '{"k":"\\u00e9"}', '{"k":"\\u00E9"}'],
    ['😀', '{"k":"😀"}', '{"k":"\\ud83d\\ude00"}'],
    ['\ud83d', '{"k":"\\ud83d"}'],
    ['', '{"k":""}'],
    ['\u2028', '{"k":"\u2028"}'],
    [1000, '{"k":1000}', '{"k":1e3}', '{"k":1000.0}', '{"k":10E+2}', '{"k":10000e-1}'],
    [0, '{"k":0}', '{"k":-0}', '{"k":0.0}', '{"k":1e-400}'],
    [true, '{"k":true}'],
    [false, '{"k":false}'],
    [null, '{"k":null}']
  ]
  for (const [equals, ...texts] of spellings) for (const text of texts) t.ok(holds({ path: ['k'], equals }, text), text)
  t.end()
})

tape('compile: of a key that comes twice the last counts, as in JSON.parse', (t) => {
  t.ok(holds({ path: ['a'], equals: 2 }, '{"a":1,"a":2}'))
  t.notOk(holds({ path: ['a'], equals: 1 }, '{"a":1,"a":2}'))
  t.notOk(holds({ path: ['a', 'b'], equals: 'x' }, '{"a":{"b":"x"},"a":{}}'))
  t.ok(holds({ path: ['__proto__', '__proto__'], equals: 'x' }, '{"__proto__":1,"__proto__":{"__proto__":"x"}}'))
  t.notOk(holds({ path: ['__proto__', 'constructor'], equals: null }, '{}'))
  t.end()
})

tape('compile: U+FFFD equals the invalid UTF-8 that is read as it', (t) => {
  const bytes = Buffer.concat([Buffer.from('{"k":"ab'), Buffer.from([0xff]), Buffer.from('cd"}')])
  t.ok(holds({ path: ['k'], equals: 'ab\ufffdcd' }, bytes))
  const key = Buffer.concat([Buffer.from('{"k'), Buffer.from([0xc3]), Buffer.from('":1}')])
  t.ok(holds({ path: ['k\ufffd'], equals: 1 }, key))
  t.ok(holds({ path: ['k'], equals: '\ufffd' }, '{"k":"\ufffd"}'))
  t.end()
})

tape('compile: bytes that are no JSON text match nothing', (t) => {
  for (const text of ['', '{"k":"a"', '{"k":"a"}x', '\ufeff{"k":"a"}', '"a"a']) {
    t.notOk(holds({ path: ['k'], equals: 'a' }, text))
    t.notOk(holds([], text), 'not even a filter without conditions')
  }
  t.end()
})

tape('compile: deep nesting neither throws nor overflows', (t) => {
  const deep = '['.repeat(1e6) + ']'.repeat(1e6)
  t.notOk(holds({ path: ['k'], equals: 1 }, deep))
  t.notOk(holds({ path: ['k'], equals: 1 }, `{"k":${deep}}`))
  t.ok(holds({ path: ['k'], equals: 1 }, `{"j":${deep},"k":1}`))
  t.end()
})

tape('compile: the search holds back what cannot match, without parsing', (t) => {
  const parse = JSON.parse
  const test = (where) => (text) => jsonCodec.compile(where)(Buffer.from(text), 0, Buffer.byteLength(text))
  JSON.parse = () => { throw new Error('parsed') }
  const mayMatch = createPrefilter(planWhere(parseWhere({ path: ['value', 'type'], equals: 'post' })))
  t.notOk(mayMatch(Buffer.from('{"value":{"type":"vote"}}')))
  t.notOk(mayMatch(Buffer.from('{"value":{"kind":"post"}}')))
  t.notOk(mayMatch(Buffer.from('{"value":{"type":"vote","text":"post"}}')), 'it is not behind its key')
  t.ok(mayMatch(Buffer.from('{"value":{"type":"vote","text":"\\u0070"}}')), 'an escape may spell anything')
  const isHigh = test({ path: ['n'], gte: 100, lt: 1000 })
  for (const text of ['{"n":99}', '{"n" : 1e3}', '{"n":"100"}', '{"n":-500}', '{"n":[500]}', '{"m":500}']) t.notOk(isHigh(text), text)
  t.notOk(test({ path: ['n'], prefix: 'ab' })('{"n":"ba"}'))
  t.notOk(test({ path: ['n'], in: ['ab', 1, null] })('{"n":"abc","m":"ab"}'))
  t.notOk(test({ any: [{ path: 'n', lt: 0 }, { path: 'm', in: [1, 2] }] })('{"n":0,"m":3}'))
  t.notOk(test({ path: ['a'], equals: null })('{"a":1,"b":"\\u006e"}'))
  JSON.parse = parse
  t.end()
})

// A writer of JSON that spells each character and number at random.
function spell (value, pick) {
  if (typeof value === 'string') {
    const spelled = Array.from({ length: value.length }, (_, i) => spellUnit(value[i], pick))
    return `"${spelled.join('')}"`
  }
  if (typeof value === 'number') return pick() < 0.5 ? JSON.stringify(value) : spellNumber(value)
  const space = pick() < 0.2 ? ' \n' : ''
  if (Array.isArray(value)) return `[${space}${value.map((item) => spell(item, pick)).join(`${space},`)}]`
  if (value === null || typeof value !== 'object') return String(value)
  const entries = Object.keys(value).map((key) => `${spell(key, pick)}${space}:${spell(value[key], pick)}`)
  if (entries.length > 0 && pick() < 0.2) entries.unshift(`${spell(Object.keys(value)[0], pick)}:"post"`)
  return `{${entries.join(`,${space}`)}}`
}

const SHORT = { '"': '\\"', '\\': '\\\\', '/': '\\/', '\b': '\\b', '\f': '\\f', '\n': '\\n', '\r': '\\r', '\t': '\\t' }

function spellUnit (unit, pick) {
  const code = unit.charCodeAt(0)
  const isSurrogate = code >= 0xd800 && code <= 0xdfff
  if (pick() < 0.02 || isSurrogate) return `\\u${code.toString(16).padStart(4, '0')}`
  if (unit in SHORT && (unit !== '/' || pick() < 0.5)) return SHORT[unit]
  return code < 0x20 ? `\\u${code.toString(16).padStart(4, '0')}` : unit
}

function spellNumber (value) {
  return Number.isInteger(value) && value !== 0 && Math.abs(value) < 1e6 ? `${value}00E-2` : value.toExponential()
}

tape(`compile: equals parse and compare, however the record is spelled (seed ${seed})`, (t) => {
  const text = fc.oneof(fc.string({ unit: 'binary', maxLength: 8 }),
    fc.constantFrom('post', 'a/b', '"', '\\', 'é\ufffd', '\ud800', ''))
  const scalar = fc.oneof(text, fc.integer({ min: -3, max: 3 }), fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.constantFrom(true, false, null, 1000))
  const key = fc.constantFrom('k', 'type', 'a/b', '__proto__', 'é')
  const inner = fc.array(fc.tuple(key, scalar), { maxLength: 4 }).map((entries) => Object.fromEntries(entries))
  const entries = fc.array(fc.tuple(key, fc.oneof(scalar, inner)), { minLength: 1, maxLength: 4 })
  const outer = entries.map((entries) => Object.fromEntries(entries))
  let hits = 0
  const property = fc.property(outer, fc.array(key, { maxLength: 1 }), scalar, fc.infiniteStream(fc.nat(99)),
    (value, more, other, stream) => {
      const path = [Object.keys(value)[0], ...more]
      const record = Buffer.from(spell(value, () => stream.next().value / 100))
      const follow = (at, key) => typeof at === 'object' && at !== null && Object.hasOwn(at, key) ? at[key] : {}
      const found = path.reduce(follow, value)
      const where = { path, equals: typeof found === 'object' && found !== null ? other : found }
      const expected = matches(parseWhere(where), parseRightly(record.toString()))
      if (expected) hits++
      return holds(where, record) === expected
    })
  fc.assert(property, { seed, numRuns: inQuickRuns(5000) })
  t.ok(hits > inQuickRuns(500), `${hits} matched`)
  t.end()
})

tape('compile: a text of 40 million characters is not taken apart', (t) => {
  const [length, mebibytes] = isLongRun ? [40e6, 256] : [8e6, 64]
  const script = `
    const { jsonCodec } = require(${JSON.stringify(require.resolve('..'))})
    const where = { path: ['a'], equals: 'x'.repeat(${length}) }
    const isWanted = jsonCodec.compile(where)
    const select = (buf) => isWanted.select({ buffer: buf, starts: [0], ends: [buf.length], count: 1 }, new Uint32Array(1))
    const [same, other] = [where.equals, where.equals + 'x'].map((a) => jsonCodec.encode({ a }))
    console.log(isWanted(same, 0, same.length), isWanted(other, 0, other.length), select(same), select(other))`
  // What took 1 GB does not fit: an array of its characters has 8 bytes each.
  const { stdout, status } = spawnSync(process.execPath, [`--max-old-space-size=${mebibytes}`, '-e', script], { encoding: 'utf8' })
  t.equal(status, 0)
  t.equal(stdout.trim(), 'true false 1 0')
  t.end()
})

tape('compile: of long texts every spelling is found, whatever lies where the search ends', (t) => {
  for (const length of [4094, 4095, 4096, 4097, 5000]) {
    const texts = ['x', '"', 'é', '😀'].map((character) => character.repeat(length))
    for (const text of [...texts, `${'x'.repeat(length - 1)}😀y`, `${'"'.repeat(length)}yes`]) {
      const isWanted = jsonCodec.compile({ path: [text], equals: text })
      const plain = JSON.stringify({ [text]: text })
      for (const spelling of [plain, plain.replaceAll('x', '\\u0078').replaceAll('y', '\\u0079')]) {
        const buffer = Buffer.from(spelling)
        t.ok(isWanted(buffer, 0, buffer.length))
        // Of nothing but quotes there is nothing to search for.
        const records = { buffer, starts: [0], ends: [buffer.length], count: 1 }
        t.equal(isWanted.select?.(records, new Uint32Array(1)) ?? 1, 1)
      }
    }
  }
  t.end()
})
