'use strict'

const tape = require('tape')
const { inQuickRuns } = require('@millrace/testkit')
const { parseWhere, matches } = require('@millrace/where')
const { binaryCodec, encode, decode, createSeekPath } = require('..')
const { createExtendedRandom } = require('./random-extended')
const { createRandom, mutate, listPaths } = require('./random-values')
const { thrownBy } = require('./helpers')

const holds = (where, bytes) => binaryCodec.compile(where)(bytes, 0, bytes.length)
const bytesOf = (hex) => Buffer.from(hex.replace(/ /g, ''), 'hex')

tape('compile: numbers equal ints and doubles alike', (t) => {
  const three = bytesOf('1d0861 43 0000000000000840'.replace('1d', '5d'))
  t.deepEqual(decode(three), { a: 3 })
  t.ok(holds({ path: ['a'], equals: 3 }, three), 'a 3 that was written as a double')
  t.ok(holds({ path: ['a'], equals: 3 }, encode({ a: 3 })))
  t.ok(holds({ path: ['a'], equals: 0 }, encode({ a: -0 })))
  t.ok(holds({ path: ['a'], equals: -0 }, encode({ a: 0 })))
  t.notOk(holds({ path: ['a'], equals: 3 }, encode({ a: '3' })))
  t.notOk(holds({ path: ['a'], equals: 0 }, encode({ a: NaN })))
  t.notOk(holds({ path: ['a'], equals: 0 }, encode({ a: new Date(0) })))
  t.notOk(holds({ path: ['a'], equals: 0 }, encode({ a: 0n })))
  t.end()
})

tape('compile: strings, booleans and null, and the record itself', (t) => {
  t.ok(holds({ path: [], equals: 'é' }, encode('é')))
  t.ok(holds({ path: [], equals: null }, encode(null)))
  t.notOk(holds({ path: [], equals: null }, encode(undefined)))
  t.ok(holds({ path: ['a'], equals: true }, encode({ a: true })))
  t.notOk(holds({ path: ['a'], equals: true }, encode({ a: undefined })))
  t.ok(holds({ path: ['a'], equals: false }, encode({ a: false })))
  t.notOk(holds({ path: ['a'], equals: 'x' }, encode({ a: Buffer.from('x') })), 'a buffer is no string')
  t.notOk(holds({ path: ['0'], equals: 1 }, encode([1])), 'an index is no key')
  t.end()
})

tape('compile: a list means all of them', (t) => {
  const bytes = encode({ a: 1, b: 'x' })
  t.ok(holds([{ path: ['a'], equals: 1 }, { path: ['b'], equals: 'x' }], bytes))
  t.notOk(holds([{ path: ['a'], equals: 1 }, { path: ['b'], equals: 'y' }], bytes))
  t.ok(holds([], bytes))
  t.end()
})

tape('compile: U+FFFD equals the invalid UTF-8 that decodes to it', (t) => {
  const value = bytesOf('25 0861 10 62ff'.replace('25', '2d'))
  t.deepEqual(decode(value), { a: 'b\ufffd' })
  t.ok(holds({ path: ['a'], equals: 'b\ufffd' }, value))
  const key = bytesOf('1d 08ff 06')
  t.ok(holds({ path: ['\ufffd'], equals: null }, key))
  t.ok(holds({ path: ['\ufffd'], equals: null }, encode({ '\ufffd': null })))
  t.notOk(holds({ path: ['\ufffd'], equals: null }, bytesOf('1d 08ff 0f')), 'and bytes that do not decode match nothing')
  t.end()
})

tape('compile: half a surrogate pair equals nothing', (t) => {
  t.notOk(holds({ path: ['a'], equals: '\ud800' }, encode({ a: '\ud800' })))
  t.notOk(holds({ path: ['\ud800'], equals: 1 }, encode({ '\ud800': 1 })))
  t.end()
})

const HOSTILE_KEYS = ['0', '5', 'length', 'byteLength', 'buffer', '__proto__', 'constructor', 'name', '']

const random = createRandom()
tape(`compile: equals decode and compare on records, sound and damaged (seed ${random.seed})`, (t) => {
  const failures = []
  let hits = 0
  for (let i = 0; i < inQuickRuns(30_000) && failures.length === 0; i++) {
    const value = random.value()
    const sound = encode(value)
    const record = i % 3 === 0 ? sound : mutate(random, sound)
    const where = randomWhere(value)
    const test = binaryCodec.compile(where)
    const alone = test(record, 0, record.length)
    // The same record before zeros, and before a copy of what its sound form had there.
    const before = random.bytes(random.below(9))
    for (const after of [Buffer.alloc(40), sound.subarray(record.length >> 1), random.bytes(30)]) {
      const buf = Buffer.concat([before, record, after])
      if (test(buf, before.length, before.length + record.length) !== alone) failures.push({ where, record })
    }
    if (thrownBy(() => binaryCodec.decode(record)) !== undefined) continue
    if (alone !== matches(parseWhere(where), binaryCodec.decode(record))) failures.push({ where, record })
    if (alone) hits++
  }
  t.deepEqual(failures, [])
  t.ok(hits > inQuickRuns(3000), `${hits} matched`)
  t.end()
})

const extended = createExtendedRandom(random.seed)
tape(`compile: equals decode and compare on records of all kinds (seed ${random.seed})`, (t) => {
  let failure
  let hits = 0
  for (let i = 0; i < inQuickRuns(100_000) && failure === undefined; i++) {
    const value = extended.value()
    const record = i % 4 === 0 ? mutate(extended, encode(value)) : encode(value)
    const where = randomHostileWhere(value)
    const answer = binaryCodec.compile(where)(record, 0, record.length)
    if (i % 4 === 0 && thrownBy(() => binaryCodec.decode(record)) !== undefined) continue
    if (answer !== matches(parseWhere(where), binaryCodec.decode(record))) failure = { where, value }
    if (answer) hits++
  }
  t.equal(failure, undefined)
  t.ok(hits > inQuickRuns(5000), `${hits} matched`)
  t.end()
})

/** Asks for what is there, for what it might be mistaken for, and for what is inside of what has no keys. */
function randomHostileWhere (value) {
  const part = extended.pick(listPaths(value).filter(({ path }) => path.every((key) => typeof key === 'string')))
  const path = extended.below(4) > 0 ? part.path : [...part.path, extended.pick(HOSTILE_KEYS)]
  const found = [part.value, part.value?.[0], part.value?.byteLength].filter((item) => typeof item !== 'object')
  const mistaken = [...found, ...found.map(Number), ...found.map(String), 0, 5, '', true, false, null]
  const equals = extended.below(2) === 0 ? part.value : extended.pick(mistaken)
  const isAllowed = equals === null || ['string', 'boolean'].includes(typeof equals) || Number.isFinite(equals)
  return { path, equals: isAllowed ? equals : extended.pick([0, 5, null]) }
}

tape('compile: an equal of each kind that filters know never matches another kind', (t) => {
  const kinds = [5n, new Date(5), new Uint8Array([5]), new Float64Array([5]), new BigInt64Array([5n]), Buffer.from([5]),
    new DataView(new ArrayBuffer(5)), new ArrayBuffer(5), [5], { 5: 5 }, undefined, NaN]
  for (const equals of [5, '5', true, false, null, 0, '']) {
    for (const kind of kinds) {
      if (holds({ path: ['a'], equals }, encode({ a: kind }))) t.fail(`${String(equals)} and ${typeof kind}`)
      if (holds({ path: [], equals }, encode(kind))) t.fail(`${String(equals)} and ${typeof kind} alone`)
    }
  }
  for (const key of HOSTILE_KEYS) {
    for (const kind of kinds) {
      const isThere = key === '5' && kind?.constructor === Object
      if (holds({ path: ['a', key], equals: 5 }, encode({ a: kind })) !== isThere) t.fail(key)
    }
  }
  t.pass(`${kinds.length} kinds`)
  t.end()
})

function randomWhere (value) {
  const parts = listPaths(value).filter((part) => part.path.every((key) => typeof key === 'string'))
  const part = random.pick(parts)
  const isPrimitive = part.value === null || ['string', 'boolean'].includes(typeof part.value) || Number.isFinite(part.value)
  const condition = { path: part.path, equals: isPrimitive ? part.value : random.pick([null, 0, '', 'a', '\ufffd', true]) }
  return random.below(5) === 0 ? [condition, { path: [], equals: 'a' }] : condition
}

tape('compile: a seek reads each byte of a record at most once a level', (t) => {
  // By construction: a Proxy in place of the bytes counts what is read of 64 KiB that are all tags.
  const hostile = Buffer.alloc(65536, 0)
  hostile.set([0xed, 0xff, 0x1f])
  for (const path of [['a'], ['', 'a'], ['x'.repeat(30)]]) {
    let reads = 0
    const counting = new Proxy(hostile, {
      get (target, key) {
        if (typeof key === 'string' && /^\d+$/.test(key)) reads++
        return Reflect.get(target, key, target)
      }
    })
    createSeekPath(path)(counting, 0)
    t.ok(reads <= hostile.length * 3 * path.length, `${reads} reads of ${hostile.length} bytes`)
  }
  t.end()
})
