'use strict'

const tape = require('tape')
const { binaryCodec, rawCodec, decode, encode, validate, seekKey, seekPath, iterate } = require('..')
const { DEPTH_MAX } = require('../lib/wire-format')
const { createRandom, mutate } = require('./random-values')
const { throwsWith, thrownBy } = require('./helpers')

const bytes = (hex) => Buffer.from(hex.replace(/ /g, ''), 'hex')
const ERR = 'ERR_CODEC_DECODE'

const damages = [
  ['an empty record', '', 0],
  ['a tag that is cut off', '80', 0],
  ['a string cut off', '10 61', 0],
  ['a child longer than its parent', '1c 18 61 62', 1],
  ['a child longer than its parent, though not than the record', '2c 0c 18 61 62 63', 2],
  ['a key longer than its object', '15 10 61', 1],
  ['a key without a value', '15 08 61', 3],
  ['a value longer than its object', '25 08 61 10 62', 3],
  ['a key that is no string', '15 06 06', 1],
  ['a tag of more bytes than it needs', '80 00', 0],
  ['the same in a child', '14 86 00', 1],
  ['a length above 2^28 - 1', '80 80 80 80 08', 0],
  ['a tag of six bytes', '80 80 80 80 80 01', 0],
  ['an int of 3 bytes', '1a 01 02 03', 1],
  ['an int of 5 bytes', '2a 01 02 03 04 05', 1],
  ['a double of 4 bytes', '23 00 00 00 00', 1],
  ['a boolnull of 2 bytes', '16 01 01', 1],
  ['a boolnull of value 3', '0e 03', 1],
  ['an extension without a subtype', '07', 1],
  ['an extension of subtype 0', '0f 00', 1],
  ['an extension of subtype 17', '0f 11', 1],
  ['an extension of subtype 255', '17 ff 00', 1],
  ['a Uint16Array of 1 byte', '17 06 00', 2],
  ['an Int32Array of 6 bytes', '3f 09 00 00 00 00 00 00', 2],
  ['a Float64Array of 7 bytes', '47 0c 00 00 00 00 00 00 00', 2],
  ['a BigInt64Array of 9 bytes', '57 0e 00 00 00 00 00 00 00 00 00', 2],
  ['a Float64Array longer than the record', 'c7 ff ff ff 07 0c 00 00', 0],
  ['a Uint8Array longer than its array, though not than the record', '2c 1c 1f 03 01 06', 2],
  ['a date of 7 bytes', '47 01 00 00 00 00 00 00 00', 2],
  ['a date of half a millisecond', `4f 01 ${encode(0.5).toString('hex', 1)}`, 2],
  ['a date beyond the last one', `4f 01 ${encode(8.64e15 + 2).toString('hex', 1)}`, 2],
  ['a BigInt without a sign', '0f 02', 2],
  ['a BigInt of sign 2', '1f 02 02 01', 2],
  ['a negative zero BigInt', '17 02 01', 2],
  ['a BigInt of more bytes than it needs', '27 02 00 01 00', 4],
  ['a key that comes twice, the second time without a value', '2d 08 61 06 08 61', 4],
  ['a key that comes twice', '35 08 61 06 08 61 06', 4],
  ['an uncommon key that comes twice', '45 10 c3a9 06 10 c3a9 06', 5],
  ['two keys that differ in invalid UTF-8 only', '35 08 ff 06 08 fe 06', 4],
  ['an empty key that comes twice', '25 00 06 00 06', 3]
]

for (const [name, hex, offset] of damages) {
  tape(`decode: ${name} is refused with its offset`, (t) => {
    throwsWith(t, () => decode(bytes(hex)), { code: ERR, offset })
    throwsWith(t, () => binaryCodec.decode(bytes(hex)), { code: ERR, offset })
    throwsWith(t, () => validate(bytes(hex)), { code: ERR, offset })
    const embedded = Buffer.concat([bytes('0102'), bytes(hex)])
    throwsWith(t, () => validate(embedded, 2), { code: ERR, offset: offset + 2 })
    throwsWith(t, () => binaryCodec.decodeRange(embedded, 2, embedded.length), { code: ERR, offset })
    t.end()
  })
}

tape('decode: a __proto__ key twice is refused, once is an own property', (t) => {
  const once = encode(JSON.parse('{"__proto__":1}'))
  const pair = once.subarray(1)
  const twice = Buffer.concat([Buffer.from([once[0] + pair.length * 8 & 0x7f | 0x80, 1]), pair, pair])
  throwsWith(t, () => decode(twice), { code: ERR, offset: 2 + pair.length, message: /__proto__/ })
  t.ok(Object.hasOwn(decode(once), '__proto__'))
  t.end()
})

tape('decode: a 27-byte record that sends bipf into an endless loop ends with an error', (t) => {
  // Tags of five bytes with a length that bipf, reading it as signed, takes for -5: each leads back to its beginning.
  const hostile = bytes(`cc 01 ${'d8 ff ff ff 0f '.repeat(5)}`)
  t.equal(hostile.length, 27)
  throwsWith(t, () => decode(hostile), { code: ERR, offset: 2 })
  throwsWith(t, () => validate(hostile), { code: ERR, offset: 2 })
  throwsWith(t, () => iterate(hostile, 0, () => {}), { code: ERR, offset: 2 })
  t.equal(seekPath(hostile, 0, [1]), -1)
  const asObject = Buffer.from(hostile)
  asObject[0] = 0xcd
  throwsWith(t, () => decode(asObject), { code: ERR, offset: 2 })
  t.equal(seekKey(asObject, 0, ''), -1)
  t.end()
})

tape('decode: nesting beyond the limit is an error, not a stack overflow', (t) => {
  let record = Buffer.from([6])
  for (let level = 0; level < DEPTH_MAX; level++) record = Buffer.concat([tagOf(record.length, 4), record])
  t.equal(validate(record), record.length)
  t.ok(decode(record))
  const deeper = Buffer.concat([tagOf(record.length, 4), record])
  throwsWith(t, () => decode(deeper), { code: ERR, message: /deeper/ })
  throwsWith(t, () => validate(deeper), { code: ERR, message: /deeper/ })

  let object = Buffer.from([6])
  const emptyKey = Buffer.from([0])
  for (let level = 0; level <= DEPTH_MAX; level++) {
    object = Buffer.concat([tagOf(object.length + 1, 5), emptyKey, object])
  }
  throwsWith(t, () => decode(object), { code: ERR, message: /deeper/ })
  throwsWith(t, () => validate(object), { code: ERR, message: /deeper/ })

  const levels = []
  for (let level = 0, size = 0; level < 100_000; level++) {
    levels.push(tagOf(size, 4))
    size += levels[level].length
  }
  const abyss = Buffer.concat(levels.reverse())
  throwsWith(t, () => decode(abyss), { code: ERR, message: /deeper/ })
  throwsWith(t, () => validate(abyss), { code: ERR, message: /deeper/ })
  t.end()
})

function tagOf (size, type) {
  const tag = []
  let left = size * 8 + type
  for (; left >= 128; left = Math.floor(left / 128)) tag.push(left % 128 | 128)
  return Buffer.from([...tag, left])
}

tape('decode: what the process cannot hold is an error with a code', (t) => {
  // A buffer whose strings the engine refuses, as it does those above its limit.
  const texts = [['é'.repeat(100), 'utf8Slice'], ['x'.repeat(100), 'latin1Slice'], ['x'.repeat(5000), 'utf8Slice']]
  for (const [text, method] of texts) {
    const buf = encode(text)
    buf[method] = () => { throw new RangeError('too long') }
    const err = thrownBy(() => decode(buf))
    t.equal(err.code, ERR)
    t.equal(err.cause.message, 'too long')
  }
  t.end()
})

tape('decode: invalid UTF-8 becomes U+FFFD, in values and keys', (t) => {
  t.equal(decode(bytes('10 61 ff')), 'a\ufffd')
  t.deepEqual(decode(bytes('1d 08 ff 06')), { '\ufffd': null })
  t.end()
})

tape('decode: reads at an offset, and nothing behind the value', (t) => {
  const record = Buffer.concat([bytes('ff'), encode('abc'), bytes('ff')])
  t.equal(decode(record, 1), 'abc')
  t.equal(validate(record, 1), 5)
  t.equal(validate(record, 1, 5), 5)
  throwsWith(t, () => validate(record, 1, 4), { code: ERR, offset: 1 })
  t.equal(decode(new Uint8Array(record), 1), 'abc', 'from a Uint8Array too')
  t.end()
})

tape('decode: misuse is a TypeError', (t) => {
  const buf = encode(1)
  const calls = [() => decode('text'), () => decode(buf, -1), () => decode(buf, 6), () => decode(buf, 0.5), () => decode(null),
    () => validate(buf, 2, 1), () => validate(buf, 0, 6), () => validate(buf, 0, 0.5), () => binaryCodec.decode('text'),
    () => binaryCodec.decodeRange(buf, 2, 1), () => binaryCodec.decodeRange(buf, 0, 6), () => binaryCodec.decodeRange('x', 0, 1),
    () => rawCodec.decodeRange(buf, -1, 2), () => rawCodec.decodeRange(buf, 0.5, 2)]
  for (const call of calls) throwsWith(t, call, { code: 'ERR_INVALID_ARGUMENT' })
  t.end()
})

tape('decode: Buffers are views; decodeRange copies them', (t) => {
  const record = encode({ b: Buffer.from('abc') })
  const viewing = decode(record)
  const copying = binaryCodec.decodeRange(record, 0, record.length)
  record.fill(0x7a)
  t.equal(viewing.b.toString(), 'zzz')
  t.equal(copying.b.toString(), 'abc')
  t.end()
})

tape('binaryCodec.decode: bytes behind the value are refused', (t) => {
  const record = Buffer.concat([encode('abc'), bytes('00')])
  throwsWith(t, () => binaryCodec.decode(record), { code: ERR, offset: 4 })
  throwsWith(t, () => binaryCodec.decodeRange(record, 0, 5), { code: ERR, offset: 4 })
  t.notEqual(validate(record), record.length, 'validate tells by the end that it returns')
  t.end()
})

tape('rawCodec: hands out the bytes', (t) => {
  const buf = Buffer.from('abc')
  t.equal(rawCodec.encode(buf), buf)
  t.ok(Buffer.isBuffer(rawCodec.encode(new Uint8Array(2))))
  t.equal(rawCodec.decode(buf), buf)
  throwsWith(t, () => rawCodec.encode('text'), { code: 'ERR_CODEC_ENCODE' })
  t.end()
})

tape('decode: many keys, in an object that must not repeat one', (t) => {
  const wide = Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`key-${i}`, i]))
  t.deepEqual(decode(encode(wide)), wide)
  t.end()
})

const random = createRandom()
tape(`decode: of 50,000 damaged records each is a value or an error with a code and an offset (seed ${random.seed})`, (t) => {
  const failures = []
  let refused = 0
  for (let i = 0; i < 50_000 && failures.length === 0; i++) {
    const record = mutate(random, encode(random.value()))
    const decoded = thrownBy(() => decode(record))
    const validated = thrownBy(() => validate(record))
    if (decoded !== undefined) refused++
    if (decoded?.offset !== validated?.offset || decoded?.message !== validated?.message) {
      failures.push({ record: record.toString('hex'), decoded, validated })
    }
    const isInside = decoded === undefined || (decoded.offset >= 0 && decoded.offset <= record.length)
    if (!isInside || (decoded !== undefined && decoded.code !== ERR)) failures.push(decoded)
  }
  t.deepEqual(failures, [], 'and validate agrees with decode')
  t.ok(refused > 1000, `${refused} were refused`)
  t.end()
})
