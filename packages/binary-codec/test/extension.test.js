'use strict'

const fs = require('node:fs')
const path = require('node:path')
const vm = require('node:vm')
const tape = require('tape')
const { isDeepStrictEqual } = require('node:util')
const { binaryCodec, decode, encode, seekKey, slice, validate } = require('..')
const { reverseElements } = require('../lib/scalars')
const { mutate } = require('./random-values')
const { TYPED_ARRAYS, createExtendedRandom } = require('./random-extended')
const { throwsWith, thrownBy } = require('./helpers')

const bytesOf = (hex) => Buffer.from(hex.replace(/ /g, ''), 'hex')
const viewOf = (...bytes) => new DataView(new Uint8Array(bytes).buffer)

/** The README's examples of the extension. */
const EXAMPLES = [
  ['new Date(0)', '4f 01 00 00 00 00 00 00 00 00', new Date(0)],
  ['-258n', '27 02 01 02 01', -258n],
  ['new Uint8Array([1, 2])', '1f 03 01 02', new Uint8Array([1, 2])],
  ['new Uint8ClampedArray([1, 2])', '1f 04 01 02', new Uint8ClampedArray([1, 2])],
  ['new Int8Array([-1, 2])', '1f 05 ff 02', new Int8Array([-1, 2])],
  ['new Uint16Array([258])', '1f 06 02 01', new Uint16Array([258])],
  ['new Int16Array([-2])', '1f 07 fe ff', new Int16Array([-2])],
  ['new Uint32Array([258])', '2f 08 02 01 00 00', new Uint32Array([258])],
  ['new Int32Array([-2])', '2f 09 fe ff ff ff', new Int32Array([-2])],
  ['new Float32Array([1.5])', '2f 0b 00 00 c0 3f', new Float32Array([1.5])],
  ['new Float64Array([1.5])', '4f 0c 00 00 00 00 00 00 f8 3f', new Float64Array([1.5])],
  ['new BigUint64Array([258n])', '4f 0d 02 01 00 00 00 00 00 00', new BigUint64Array([258n])],
  ['new BigInt64Array([-2n])', '4f 0e fe ff ff ff ff ff ff ff', new BigInt64Array([-2n])],
  ['new DataView(buffer)', '1f 0f 01 02', viewOf(1, 2)],
  ['new Uint8Array([1, 2]).buffer', '1f 10 01 02', viewOf(1, 2).buffer]
]
const FLOAT16 = ['new Float16Array([1.5])', '1f 0a 00 3e']

for (const [name, hex, value] of EXAMPLES) {
  tape(`extension: ${name} has the bytes that it had in version 0.1, and comes back`, (t) => {
    t.equal(encode(value).toString('hex'), hex.replace(/ /g, ''))
    const back = decode(bytesOf(hex))
    t.ok(isDeepStrictEqual(back, value))
    t.equal(Object.getPrototypeOf(back), Object.getPrototypeOf(value))
    t.end()
  })
}

tape('extension: the description of the format has these bytes', (t) => {
  const description = fs.readFileSync(path.join(__dirname, '..', '..', '..', 'docs', 'internals', 'binary-format.md'), 'utf8')
  for (const [name, hex] of [...EXAMPLES, FLOAT16]) {
    t.ok(description.split('\n').some((line) => line.includes(`\`${name}\``) && line.includes(`\`${hex}\``)), name)
  }
  t.end()
})

tape('extension: a Float16Array comes back where there is one, and is refused elsewhere', (t) => {
  const record = bytesOf(FLOAT16[1])
  if (globalThis.Float16Array === undefined) {
    const expected = { code: 'ERR_CODEC_DECODE', offset: 1, message: /Float16Array, which this version of Node.js/ }
    throwsWith(t, () => decode(record), expected)
    throwsWith(t, () => validate(record), expected)
  } else {
    t.ok(isDeepStrictEqual(decode(record), new globalThis.Float16Array([1.5])))
    t.ok(encode(new globalThis.Float16Array([1.5])).equals(record))
    throwsWith(t, () => decode(bytesOf('17 0a 00')), { code: 'ERR_CODEC_DECODE', offset: 2 })
  }
  t.end()
})

tape('extension: records that were written before there were typed arrays are read as ever', (t) => {
  const record = bytesOf('d5061061744f0100008056febc78421069645f02010000000000000000012873697a6573641702001f0200ff2702' +
    '000001286e657665724f01000000000000f87f187369671901020318726177110405206c697374ac010e0206430000000000000080430000' +
    '000000004043')
  const value = {
    at: new Date(1.7e12),
    id: -(2n ** 64n),
    sizes: [0n, 255n, 256n],
    never: new Date(NaN),
    sig: Buffer.from([1, 2, 3]),
    raw: Buffer.from([4, 5]),
    list: [undefined, null, -0, 2 ** 53]
  }
  const back = decode(record)
  t.ok(Number.isNaN(back.never.getTime()))
  const sound = { never: 0 }
  t.ok(isDeepStrictEqual({ ...back, ...sound }, { ...value, ...sound }), 'a Uint8Array had been written as a Buffer')
  t.ok(encode(value).equals(record), 'and written as ever')
  t.end()
})

tape('extension: a Buffer stays a Buffer, and a Uint8Array a Uint8Array', (t) => {
  const mine = new (class extends Uint8Array {})(1)
  const back = decode(encode({ buffer: Buffer.from([1]), array: new Uint8Array([1]), mine }))
  t.ok(Buffer.isBuffer(back.buffer))
  for (const array of [back.array, back.mine]) t.equal(Object.getPrototypeOf(array), Uint8Array.prototype)
  const ofClass = Object.setPrototypeOf(Buffer.alloc(1), (class extends Buffer {}).prototype)
  t.ok(Buffer.isBuffer(decode(encode(ofClass))), 'or a Buffer of a class')
  t.end()
})

tape('extension: only what a view shows is written, wherever it lies', (t) => {
  const memory = new Uint8Array(64).map((_, i) => i)
  for (const Type of TYPED_ARRAYS) {
    const view = new Type(memory.buffer, 8, 2)
    const record = encode(view)
    t.equal(record.length - (view.byteLength < 15 ? 2 : 3), view.byteLength, Type.name)
    t.ok(isDeepStrictEqual(decode(record), view.slice()))
  }
  t.ok(isDeepStrictEqual(decode(encode(new DataView(memory.buffer, 3, 2))), viewOf(3, 4)))
  t.end()
})

tape('extension: views of shared memory, of other realms and of classes come back as the plain kind', (t) => {
  const shared = new Uint16Array(new SharedArrayBuffer(4))
  shared[1] = 7
  t.ok(isDeepStrictEqual(decode(encode(shared)), new Uint16Array([0, 7])))
  t.ok(isDeepStrictEqual(decode(encode(vm.runInNewContext('new Uint16Array([0, 7])'))), new Uint16Array([0, 7])))
  t.ok(isDeepStrictEqual(decode(encode(vm.runInNewContext('new ArrayBuffer(2)'))), new ArrayBuffer(2)))
  const mine = Object.assign(new (class Mine extends Uint16Array {})([0, 7]), { toJSON: () => 'not asked', extra: 1 })
  t.ok(isDeepStrictEqual(decode(encode(mine)), new Uint16Array([0, 7])))
  t.ok(isDeepStrictEqual(decode(encode(new ArrayBuffer(2, { maxByteLength: 8 }))), new ArrayBuffer(2)))
  t.end()
})

tape('extension: what is decoded has memory of its own', (t) => {
  const value = { a: new Uint8Array([1, 2]), b: new Uint16Array([3]), c: viewOf(4), d: viewOf(5).buffer }
  const record = encode(value)
  const back = decode(record)
  record.fill(0xff)
  t.ok(isDeepStrictEqual(back, value))
  t.equal(back.a.buffer.byteLength, 2, 'and no more of it than it needs')
  t.end()
})

tape('extension: memory that was transferred is refused with its path, not written as empty', (t) => {
  for (const make of [(buf) => new Uint8Array(buf), (buf) => Buffer.from(buf), (buf) => new Float64Array(buf),
    (buf) => new DataView(buf), (buf) => buf]) {
    const buffer = new ArrayBuffer(8)
    const value = make(buffer)
    structuredClone(buffer, { transfer: [buffer] })
    throwsWith(t, () => encode({ a: [value] }), { code: 'ERR_CODEC_ENCODE', path: ['a', 0], message: /detached/ })
  }
  t.ok(isDeepStrictEqual(decode(encode(new Uint8Array(0))), new Uint8Array(0)), 'the next call works')
  t.end()
})

tape('extension: properties of its own do not make a value lie about its bytes', (t) => {
  const lies = { length: { value: 1 }, byteLength: { value: 1 }, byteOffset: { value: 1 }, buffer: { value: null } }
  const values = [Buffer.from('abcd'), new Uint8Array([1, 2, 3, 4]), new Uint16Array([1, 2]), viewOf(1, 2, 3, 4)]
  for (const value of values) {
    const honest = encode([value])
    const lying = Object.defineProperties(value, lies)
    t.ok(encode([lying]).equals(honest))
  }
  t.end()
})

tape('extension: 2^28 bytes and more are refused', (t) => {
  throwsWith(t, () => encode([new Float64Array(2 ** 25)]), { code: 'ERR_CODEC_ENCODE', path: [0], message: /bytes/ })
  t.end()
})

tape('extension: the payload begins with the subtype', (t) => {
  const record = encode({ a: new Uint8Array([7, 8]) })
  t.equal(slice(record, seekKey(record, 0, 'a')).toString('hex'), '030708')
  t.end()
})

tape('reverseElements: turns each element round, for machines of the other order', (t) => {
  const reversed = (size) => [...reverseElements(new Uint8Array([1, 2, 3, 4, 5, 6, 7, 8]), size)]
  t.deepEqual(reversed(1), [1, 2, 3, 4, 5, 6, 7, 8])
  t.deepEqual(reversed(2), [2, 1, 4, 3, 6, 5, 8, 7])
  t.deepEqual(reversed(4), [4, 3, 2, 1, 8, 7, 6, 5])
  t.deepEqual(reversed(8), [8, 7, 6, 5, 4, 3, 2, 1])
  t.end()
})

const random = createExtendedRandom()

tape(`extension: 50,000 random values of all kinds come back (seed ${random.seed})`, (t) => {
  let failure
  for (let i = 0; i < 50_000 && failure === undefined; i++) {
    const value = random.value()
    const record = encode(value)
    if (!isDeepStrictEqual(decode(record), value)) failure = { value }
    if (validate(record) !== record.length) failure = { value, what: 'validate' }
    if (!isDeepStrictEqual(binaryCodec.decodeRange(record, 0, record.length), value)) failure = { value, what: 'range' }
  }
  t.equal(failure, undefined)
  t.end()
})

tape(`extension: of 50,000 damaged records each is a value or an error with a code and an offset (seed ${random.seed})`, (t) => {
  const failures = []
  let refused = 0
  for (let i = 0; i < 50_000 && failures.length === 0; i++) {
    const record = mutate(random, encode(i % 2 === 0 ? [random.typed(), random.typed()] : random.value()))
    const decoded = thrownBy(() => decode(record))
    const validated = thrownBy(() => validate(record))
    if (decoded?.message !== validated?.message) failures.push({ record, decoded, validated })
    if (decoded === undefined) {
      const again = encode(decode(record))
      if (!encode(decode(again)).equals(again)) failures.push({ record, again })
    } else {
      refused++
      const isInside = decoded.offset >= 0 && decoded.offset <= record.length
      if (decoded.code !== 'ERR_CODEC_DECODE' || !isInside) failures.push({ record, decoded })
    }
  }
  t.deepEqual(failures, [], 'and validate agrees with decode')
  t.ok(refused > 1000, `${refused} were refused`)
  t.end()
})
