'use strict'

const vm = require('node:vm')
const tape = require('tape')
const { encode, encodingLength, decode, binaryCodec, getValueType, types } = require('..')
const { DEPTH_MAX } = require('../lib/wire-format')
const { throwsWith } = require('./helpers')

const hex = (value) => encode(value).toString('hex')
const nest = (levels, wrap, value) => levels === 0 ? value : nest(levels - 1, wrap, wrap(value))

tape('encode: the examples of the wire format', (t) => {
  t.equal(hex('hé'), '1868c3a9')
  t.equal(hex(Buffer.from([1, 2])), '110102')
  t.equal(hex(-2), '22feffffff')
  t.equal(hex(1.5), '43000000000000f83f')
  t.equal(hex([null, true, false, undefined]), '3c060e010e000e02')
  t.equal(hex({ a: 1 }), '3d08612201000000')
  t.equal(hex(new Date(1.5e12)), '4f0100008079efd37542')
  t.equal(hex(-258n), '2702010201')
  t.equal(hex(0n), '170200')
  t.end()
})

tape('encode: NaN, the infinities and -0 are doubles', (t) => {
  for (const value of [NaN, Infinity, -Infinity, -0]) {
    t.equal(encode(value)[0] & 7, types.double)
    t.ok(Object.is(decode(encode(value)), value), String(value))
  }
  t.end()
})

tape('encode: Date and BigInt come back', (t) => {
  const dates = [0, -1, 1.7e12, 8.64e15, -8.64e15].map((ms) => new Date(ms))
  t.deepEqual(decode(encode(dates)), dates)
  t.ok(Number.isNaN(decode(encode(new Date(NaN))).getTime()), 'an invalid Date too')
  const bigints = [0n, 1n, -1n, 255n, 256n, -256n, 2n ** 63n, -(2n ** 64n), 2n ** 5000n - 1n]
  t.deepEqual(decode(encode(bigints)), bigints)
  throwsWith(t, () => encode([2n ** BigInt(2 ** 23)]), { code: 'ERR_CODEC_ENCODE', path: [0] })
  t.end()
})

tape('encode: own enumerable string keys only', (t) => {
  const value = Object.create({ inherited: 1 }, { hidden: { value: 1, enumerable: false } })
  value.own = 1
  value[Symbol('s')] = 1
  t.deepEqual(decode(encode(value)), { own: 1 })
  t.deepEqual(decode(encode(Object.assign(Object.create(null), { a: 1 }))), { a: 1 })
  t.deepEqual(decode(encode(new (class Point { x = 1 })())), { x: 1 })
  t.deepEqual(decode(encode(vm.runInNewContext('({ a: [1] })'))), { a: [1] }, 'of another realm')
  t.deepEqual(decode(encode(Object.assign([1, , 3], { extra: 1 }))), [1, undefined, 3], 'holes are undefined') // eslint-disable-line no-sparse-arrays
  t.end()
})

tape('encode: a __proto__ key is a key', (t) => {
  const value = JSON.parse('{"__proto__":{"a":1},"b":2}')
  const back = decode(encode(value))
  t.deepEqual(Object.keys(back), ['__proto__', 'b'])
  t.equal(Object.getPrototypeOf(back), Object.prototype)
  t.equal(back.a, undefined)
  t.end()
})

tape('encode: toJSON is asked, once, with the key', (t) => {
  const asked = []
  const value = { toJSON (key) { asked.push(key); return { key } } }
  t.deepEqual(decode(encode({ a: value, b: [value] })), { a: { key: 'a' }, b: [{ key: '0' }] })
  t.deepEqual(asked, ['a', '0'])
  t.equal(decode(encode({ toJSON: () => 5 })), 5)
  t.deepEqual(decode(encode(new Date(5))), new Date(5), 'but not of a Date')
  const buffer = Buffer.from('x')
  t.deepEqual(decode(encode(buffer)), buffer, 'nor of a Buffer')
  t.end()
})

tape('encode: what it cannot hold is refused with the path to it', (t) => {
  const bad = [() => {}, Symbol('s'), new Map(), new Set(), new WeakMap(), new WeakSet(), /x/, Promise.resolve(),
    new SharedArrayBuffer(1), Object('boxed'), Object(5), Object(1n), new Error('x'), new (class Mine extends Error {})(),
    Object.assign(new TypeError('x'), { code: 'E' }), vm.runInNewContext('new Error()'), new WeakRef({}), [].values(),
    new URLSearchParams('a=1'), (function * () {})(), new Proxy(new Map(), {}), new Intl.Collator()]
  for (const value of bad) {
    throwsWith(t, () => encode({ a: [0, { b: value }] }), { code: 'ERR_CODEC_ENCODE', path: ['a', 1, 'b'] })
    throwsWith(t, () => encode(value), { code: 'ERR_CODEC_ENCODE', path: [] })
    t.equal(getValueType(value), undefined)
  }
  t.end()
})

tape('encode: what a getter, a proxy or toJSON throws is the cause', (t) => {
  const cause = new Error('mine')
  const fail = () => { throw cause }
  const failing = [{ get x () { return fail() } }, { x: { toJSON: fail } }, { x: new Proxy({}, { ownKeys: fail }) }]
  for (const value of failing) {
    throwsWith(t, () => encode([value]), { code: 'ERR_CODEC_ENCODE', path: [0, 'x'], message: /mine/ })
    try { encode(value) } catch (err) { t.equal(err.cause, cause) }
  }
  throwsWith(t, () => encode({ toJSON () { throw 'text' } }), { code: 'ERR_CODEC_ENCODE', message: /text/ }) // eslint-disable-line no-throw-literal
  t.deepEqual(decode(encode([1])), [1], 'and the next call works')
  t.end()
})

tape('encode: what is thrown may have no text, and a class may refuse to say its name', (t) => {
  const mute = Object.create(null)
  const values = [{ toJSON () { throw mute } }, { get x () { throw mute } }]
  for (const value of values) throwsWith(t, () => encode([value]), { code: 'ERR_CODEC_ENCODE' })
  const nameless = new (class { get [Symbol.toStringTag] () { throw new Error('no name') } })()
  throwsWith(t, () => encode([nameless]), { code: 'ERR_CODEC_ENCODE', path: [0], message: /no name/ })
  t.deepEqual(decode(encode([1])), [1], 'and the next call works')
  t.end()
})

tape('encode: a class with a tag is an object as all others once it has something to say', (t) => {
  const value = Object.assign(new (class { get [Symbol.toStringTag] () { return 'Point' } })(), { x: 1 })
  t.deepEqual(decode(encode(value)), { x: 1 })
  t.deepEqual(decode(encode(new (class Empty {})())), {})
  t.deepEqual(decode(encode(Object.assign(new Error('x'), { toJSON: () => 'x' }))), 'x', 'an Error may have a toJSON')
  t.end()
})

tape('encode: undefined stays, in arrays, in objects and alone', (t) => {
  t.deepEqual(decode(encode([undefined, 1, undefined])), [undefined, 1, undefined])
  const back = decode(encode({ a: undefined, b: 1 }))
  t.ok(Object.hasOwn(back, 'a') && back.a === undefined)
  t.equal(decode(encode(undefined)), undefined)
  t.end()
})

tape('encode: an array with a length beyond all records is refused at once', (t) => {
  const sparse = []
  sparse.length = 2 ** 32 - 1
  throwsWith(t, () => encode({ sparse }), { code: 'ERR_CODEC_ENCODE', path: ['sparse'], message: /4294967295 items/ })
  t.end()
})

tape('encode: integers of 64 bits, as numbers as far as those are safe, and as BigInts', (t) => {
  const numbers = [2 ** 31, -(2 ** 31), 2 ** 32, 2 ** 53 - 1, 1 - 2 ** 53, 2 ** 53, 2 ** 63, -(2 ** 63)]
  t.deepEqual(decode(encode(numbers)), numbers)
  const bigints = [63n, 64n].flatMap((bits) => [2n ** bits - 1n, 2n ** bits, -(2n ** bits), 1n - 2n ** bits])
  t.deepEqual(decode(encode(bigints)), bigints)
  const largest = 2n ** BigInt(2 ** 23) - 1n
  t.equal(decode(encode(-largest)), -largest, '2^20 bytes')
  t.end()
})

tape('encode: there is one NaN', (t) => {
  const one = encode(NaN)
  t.equal(one.toString('hex'), '43000000000000f87f')
  for (const bits of [0x7ff8000000000001n, 0xfff8000000000000n, 0x7ff0000000000001n]) {
    const other = new Float64Array(new BigUint64Array([bits]).buffer)[0]
    t.ok(encode(other).equals(one), bits.toString(16))
    t.ok(encode(new Date(other)).equals(encode(new Date(NaN))))
  }
  t.ok(encode(Math.sqrt(-process.argv.length)).equals(one), 'one that was computed')
  t.end()
})

tape('encode: a Date is asked for its time past what its class says', (t) => {
  const date = new (class extends Date { getTime () { return 0.5 } })(7)
  t.deepEqual(decode(encode(date)), new Date(7))
  t.end()
})

tape('encode: a cycle is refused with a code', (t) => {
  const cyclic = { list: [] }
  cyclic.list.push(cyclic)
  throwsWith(t, () => encode(cyclic), { code: 'ERR_CODEC_ENCODE', message: /cycle/ })
  const endless = { toJSON: () => ({ again: endless }) }
  throwsWith(t, () => encode(endless), { code: 'ERR_CODEC_ENCODE' })
  t.end()
})

tape('encode: as deep as decode goes, and no deeper', (t) => {
  for (const wrap of [(value) => [value], (value) => ({ value })]) {
    const deepest = nest(DEPTH_MAX, wrap, 1)
    t.deepEqual(encode(binaryCodec.decode(encode(deepest))), encode(deepest))
    throwsWith(t, () => encode(wrap(deepest)), { code: 'ERR_CODEC_ENCODE' })
  }
  t.end()
})

tape('encode: into a buffer of the caller', (t) => {
  const buf = Buffer.alloc(20, 0xee)
  t.equal(encode({ a: 1 }, buf, 3), 8)
  t.equal(buf.toString('hex', 2, 12), 'ee3d08612201000000ee')
  t.equal(encode('x', buf), 2)
  t.equal(encode('x', new Uint8Array(2), 0), 2)
  throwsWith(t, () => encode({ a: 1 }, buf, 13), { code: 'ERR_INVALID_ARGUMENT' })
  t.equal(buf[13], 0xee, 'nothing is written of what does not fit')
  throwsWith(t, () => encode(1, buf, -1), { code: 'ERR_INVALID_ARGUMENT' })
  throwsWith(t, () => encode(1, buf, 0.5), { code: 'ERR_INVALID_ARGUMENT' })
  throwsWith(t, () => encode(1, []), { code: 'ERR_INVALID_ARGUMENT' })
  t.end()
})

tape('encode: toJSON may encode', (t) => {
  const inner = { toJSON: () => encode({ deep: [1, 2, 3] }) }
  const back = decode(encode({ before: 'x', inner, after: 'y' }))
  t.deepEqual(decode(back.inner), { deep: [1, 2, 3] })
  t.deepEqual([back.before, back.after], ['x', 'y'])
  t.end()
})

tape('encode: what toJSON fails to encode is refused with the path to that toJSON', (t) => {
  const value = { outer: [{ toJSON: () => encode({ inner: new Map() }) }] }
  throwsWith(t, () => encode(value), { code: 'ERR_CODEC_ENCODE', path: ['outer', 0], message: /inner.*Map/ })
  t.end()
})

tape('encode: every size of a payload, around each size of its tag', (t) => {
  const sizes = [0, 1, 15, 16, 27, 28, 29, 2047, 2048, 4095, 4096, 4097, 262143, 262144, 5_000_000]
  for (const size of sizes) {
    const ascii = 'x'.repeat(size)
    const wide = 'é'.repeat(size >> 1) + (size & 1 ? 'x' : '')
    for (const value of [ascii, wide, Buffer.from(ascii), [ascii], { k: wide }]) {
      const bytes = encode(value)
      if (Buffer.compare(encode(decode(bytes)), bytes) !== 0) t.fail(`size ${size}`)
      if (encodingLength(value) !== bytes.length) t.fail(`length at size ${size}`)
    }
  }
  t.deepEqual(decode(encode(['after a large value'])), ['after a large value'])
  t.end()
})

tape('encode: a value of 2^28 bytes is refused', (t) => {
  throwsWith(t, () => encode([Buffer.alloc(2 ** 28)]), { code: 'ERR_CODEC_ENCODE', path: [0] })
  t.end()
})

tape('getValueType: is the type in the tag', (t) => {
  const values = ['', 1, 1.5, -0, true, null, undefined, [], {}, Buffer.alloc(0), new Date(), 1n, { toJSON: () => 'x' },
    new Uint8Array(1), new Float64Array(1), new ArrayBuffer(1)]
  for (const value of values) {
    t.equal(getValueType(value), encode(value)[0] & 7)
  }
  t.equal(types.extension, types.reserved)
  t.end()
})
