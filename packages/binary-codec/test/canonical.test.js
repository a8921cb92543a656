'use strict'

const tape = require('tape')
const bipf = require('bipf')
const { isDeepStrictEqual } = require('node:util')
const {
  binaryCodec, canonicalCodec, decode, encode, encodeCanonical, isCanonical, markIdempotent, validate
} = require('..')
const { createExtendedRandom } = require('./random-extended')
const { createRandom, mutate } = require('./random-values')
const { throwsWith, thrownBy } = require('./helpers')

const random = createExtendedRandom()
const bytesOf = (hex) => Buffer.from(hex.replace(/ /g, ''), 'hex')
const keysOf = (bytes) => Object.keys(decode(bytes))

/** The same value made anew: keys in another order, other objects, the same bytes elsewhere in memory. */
function remake (value) {
  if (typeof value === 'bigint') return BigInt(String(value))
  if (Number.isNaN(value)) return new Float64Array(new BigUint64Array([0xfff8000000000001n]).buffer)[0]
  if (value === null || typeof value !== 'object') return value
  if (Array.isArray(value)) return value.map(remake)
  if (value instanceof Date) return new Date(value.getTime())
  if (Buffer.isBuffer(value)) return Buffer.from(value)
  if (value instanceof ArrayBuffer) return value.slice()
  if (ArrayBuffer.isView(value)) {
    const moved = new Uint8Array(value.byteLength + 8)
    moved.set(new Uint8Array(value.buffer, value.byteOffset, value.byteLength), 8)
    return new value.constructor(moved.buffer, 8)
  }
  const keys = Object.keys(value).sort(() => random.next() - 0.5)
  return Object.fromEntries(keys.map((key) => [key, remake(value[key])]))
}

tape('canonical: keys are in the order of their UTF-8 bytes', (t) => {
  const keys = ['b', 'a', 'ab', '', 'é', '\uffff', '😀', '\ue000', '\ud7ff', 'z', '😁', '~']
  const sorted = keysOf(encodeCanonical(Object.fromEntries(keys.map((key) => [key, 1]))))
  t.deepEqual(sorted, [...keys].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))))
  t.notDeepEqual(sorted, [...keys].sort(), 'which is not that of their UTF-16 units')
  t.ok(encodeCanonical({ b: { d: 1, c: 2 }, a: 3 }).equals(encode({ a: 3, b: { c: 2, d: 1 } })))
  const numbered = bytesOf('3d 10 31 30 06 08 39 06')
  t.ok(encodeCanonical({ 9: null, 10: null }).equals(numbered), '10 before 9')
  t.end()
})

tape(`canonical: 30,000 values made anew have equal bytes, which decode to them (seed ${random.seed})`, (t) => {
  let failure
  for (let i = 0; i < 30_000 && failure === undefined; i++) {
    const value = random.value()
    const again = remake(value)
    const bytes = encodeCanonical(value)
    if (!isDeepStrictEqual(value, again)) failure = { value, what: 'the test itself' }
    if (!encodeCanonical(again).equals(bytes)) failure = { value, what: 'bytes' }
    if (!isDeepStrictEqual(decode(bytes), value)) failure = { value, what: 'decode' }
    if (validate(bytes) !== bytes.length) failure = { value, what: 'validate' }
    if (bytes.length !== encode(value).length) failure = { value, what: 'length' }
    if (!isCanonical(bytes)) failure = { value, what: 'isCanonical' }
  }
  t.equal(failure, undefined)
  t.end()
})

tape(`canonical: of 60,000 pairs those that are equal have equal bytes, and no others (seed ${random.seed})`, (t) => {
  let failure
  let equal = 0
  for (let i = 0; i < 60_000 && failure === undefined; i++) {
    const [a, b] = [random.value(1), random.value(1)]
    const isEqual = isDeepStrictEqual(a, b)
    if (encodeCanonical(a).equals(encodeCanonical(b)) !== isEqual) failure = { a, b }
    if (isEqual) equal++
  }
  t.equal(failure, undefined)
  t.ok(equal > 300, `${equal} were equal`)
  t.end()
})

tape(`canonical: bipf reads the records without an extension (seed ${random.seed})`, (t) => {
  const plain = createRandom(random.seed)
  let failure
  for (let i = 0; i < 10_000 && failure === undefined; i++) {
    const value = plain.value()
    if (!isDeepStrictEqual(bipf.decode(encodeCanonical(value), 0), value)) failure = value
  }
  t.equal(failure, undefined)
  t.end()
})

tape('canonical: equal is what isDeepStrictEqual calls so', (t) => {
  const different = [0, -0, 0n, '0', false, null, undefined, [], {}, [undefined], { a: undefined }, NaN, new Date(0),
    new Date(NaN), Buffer.alloc(1), new Uint8Array(1), new Uint8ClampedArray(1), new Int8Array(1), new ArrayBuffer(1),
    new DataView(new ArrayBuffer(1)), new Float32Array([NaN]), 'é', 'e\u0301']
  const bytes = different.map((value) => encodeCanonical(value).toString('hex'))
  t.equal(new Set(bytes).size, different.length)
  t.ok(encodeCanonical(new Date(NaN)).equals(encodeCanonical(new Date('no date'))))
  t.ok(encodeCanonical(5).equals(encodeCanonical(decode(bytesOf('43 0000000000001440')))), '5, that was a double')
  t.end()
})

tape('canonical: what does not come back as it was is refused with its path', (t) => {
  const bad = [
    [{ a: [1, , 3] }, ['a', 1]], // eslint-disable-line no-sparse-arrays
    [{ a: new Array(1) }, ['a', 0]],
    [['\ud800'], [0]],
    [{ a: { '\udc00': 1 } }, ['a', '\udc00']],
    [{ a: `${'x'.repeat(5000)}\ud800` }, ['a']],
    [{ a: new Map() }, ['a']]
  ]
  for (const [value, path] of bad) throwsWith(t, () => encodeCanonical(value), { code: 'ERR_CODEC_ENCODE', path })
  t.deepEqual(decode(encodeCanonical([undefined])), [undefined], 'and the next call works')
  t.end()
})

tape('canonical: a marked buffer gives the canonical bytes of its value', (t) => {
  const inner = { b: 1, a: [NaN, { d: 2, c: 3 }] }
  t.ok(encodeCanonical([markIdempotent(encode(inner))]).equals(encodeCanonical([inner])))
  const damaged = markIdempotent(bytesOf('10 61'))
  throwsWith(t, () => encodeCanonical({ a: damaged }), { code: 'ERR_CODEC_ENCODE', path: ['a'] })
  t.end()
})

tape('canonical: toJSON may encode, canonically too', (t) => {
  const value = { b: { toJSON: () => encodeCanonical({ y: 1, x: 2 }) }, a: { toJSON: () => encode([3]) } }
  const back = decode(encodeCanonical(value))
  t.deepEqual([keysOf(back.b), decode(back.a)], [['x', 'y'], [3]])
  t.ok(isCanonical(back.b))
  t.end()
})

tape('canonical: a value larger than what is kept of memory', (t) => {
  const large = { b: 'x'.repeat(200_000), a: new Float64Array(100_000) }
  t.ok(isDeepStrictEqual(decode(encodeCanonical(large)), large))
  t.end()
})

const NOT_CANONICAL = [
  ['keys out of order', '3d 0862 06 0861 0e00'],
  ['5 as a double', '43 0000000000001440'],
  ['another NaN', '43 010000000000f87f'],
  ['another NaN in a Date', '4f 01 010000000000f87f'],
  ['a Date of -0', '4f 01 0000000000000080'],
  ['invalid UTF-8', '08 ff'],
  ['-2147483648 as an int', '22 00000080'],
  ['-0 as it would be as an int', '22 00000000 00'],
  ['two values', '06 06'],
  ['no value', ''],
  ['damage', '10 61']
]

for (const [name, hex] of NOT_CANONICAL) {
  tape(`isCanonical: ${name} is not`, (t) => {
    t.equal(isCanonical(bytesOf(hex)), false)
    t.end()
  })
}

tape('isCanonical: of a part of a buffer', (t) => {
  const buf = Buffer.concat([bytesOf('ff'), encodeCanonical({ a: 1 }), bytesOf('ff')])
  t.ok(isCanonical(buf, 1, buf.length - 1))
  t.notOk(isCanonical(buf, 1))
  t.notOk(isCanonical(buf))
  t.ok(isCanonical(new Uint8Array(buf), 1, buf.length - 1))
  for (const range of [[-1, 2], [2, 1], [0, 100], [0.5, 2]]) {
    throwsWith(t, () => isCanonical(buf, ...range), { code: 'ERR_INVALID_ARGUMENT' })
  }
  for (const other of [undefined, null, 'text', {}]) throwsWith(t, () => isCanonical(other), { code: 'ERR_INVALID_ARGUMENT' })
  t.end()
})

tape(`isCanonical: of 30,000 damaged records no two that are equal both are (seed ${random.seed})`, (t) => {
  let failure
  let damagedCount = 0
  for (let i = 0; i < 30_000 && failure === undefined; i++) {
    const value = random.value()
    const bytes = encodeCanonical(value)
    const other = mutate(random, bytes)
    if (other.equals(bytes) || !isCanonical(other)) continue
    damagedCount++
    const err = thrownBy(() => binaryCodec.decode(other))
    if (err !== undefined || isDeepStrictEqual(decode(other), value)) failure = { value, other }
  }
  t.equal(failure, undefined)
  t.ok(damagedCount > 1000, `${damagedCount} other values`)
  t.end()
})

tape('canonicalCodec: is the binary codec but for the order it writes in', (t) => {
  t.equal(canonicalCodec.name, binaryCodec.name, 'so a log opens with either')
  t.ok(canonicalCodec.encode({ b: 1, a: 2 }).equals(encode({ a: 2, b: 1 })))
  t.deepEqual(canonicalCodec.decode(encode({ b: 1, a: 2 })), { a: 2, b: 1 }, 'it reads other records too')
  t.ok(canonicalCodec.compile({ path: ['b'], equals: 1 })(encode({ b: 1 }), 0, encode({ b: 1 }).length))
  t.end()
})
