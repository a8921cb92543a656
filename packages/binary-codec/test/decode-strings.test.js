'use strict'

const tape = require('tape')
const { binaryCodec, decode, encode } = require('..')
const { readTag, tagSize } = require('../lib/wire-format')
const { createRandom } = require('./random-values')
const { throwsWith } = require('./helpers')

/** Decodes strings, doubles, arrays and objects by the wire format and nothing else. */
function decodePlainly (buf, start = 0) {
  const tag = readTag(buf, start, buf.length)
  const pos = start + tagSize(tag)
  const end = pos + (tag >> 3)
  if ((tag & 7) === 0) return { value: buf.toString('utf8', pos, end), end }
  if ((tag & 7) === 3) return { value: buf.readDoubleLE(pos), end }
  const items = []
  for (let at = pos; at < end;) {
    const item = decodePlainly(buf, at)
    items.push(item.value)
    at = item.end
  }
  if ((tag & 7) === 4) return { value: items, end }
  const entries = items.flatMap((item, index) => index % 2 === 0 ? [[item, items[index + 1]]] : [])
  return { value: Object.fromEntries(entries), end }
}

const random = createRandom()
tape(`decode: strings and doubles are what their own bytes say (seed ${random.seed})`, (t) => {
  const units = ['a', '/', '\u0000', '\u007f', '\u0080', 'é', '€', '😀', '\ufffd']
  const text = () => {
    const size = random.below(random.below(20) === 0 ? 5000 : 40)
    const isPlain = random.below(3) > 0
    return Array.from({ length: size }, () => units[isPlain ? random.below(4) : random.below(units.length)]).join('')
  }
  const double = () => {
    const number = random.next() * 1e9
    // The format has integers of its own, which the plain decoder does not know.
    return Number.isInteger(number) ? number + 0.5 : number
  }
  const make = (depth) => {
    const kind = random.below(depth === 0 ? 2 : 4)
    if (kind === 0) return text()
    if (kind === 1) return double()
    const items = Array.from({ length: random.below(6) }, () => make(depth - 1))
    return kind === 2 ? items : Object.fromEntries(items.map((item) => [text().slice(0, 12), item]))
  }
  const large = Buffer.allocUnsafeSlow(2 ** 20 + 50_000)
  let failure
  for (let index = 0; index < 5000 && failure === undefined; index++) {
    const bytes = encode(make(3))
    // Within memory that it shares with others, at any offset; now and then in so much memory that it is not kept.
    const around = random.below(30)
    const memory = random.below(5) === 0 ? large : Buffer.allocUnsafe(bytes.length + 60)
    const buf = memory.subarray(random.below(9))
    if (bytes.length + around > buf.length) continue
    bytes.copy(buf, around)
    const { value, end } = decodePlainly(buf, around)
    const found = decode(buf, around)
    const ranged = binaryCodec.decodeRange(buf, around, end)
    buf.fill(0xee, around, end)
    const expected = JSON.stringify(value)
    if (JSON.stringify(found) !== expected || JSON.stringify(ranged) !== expected) failure = bytes
  }
  t.equal(failure, undefined)
  t.end()
})

tape('decode: one byte above ASCII is seen wherever it is in a string', (t) => {
  for (let length = 1; length < 40; length++) {
    for (let at = 0; at < length; at++) {
      const bytes = encode(['x'.repeat(length), 'y'.repeat(20)])
      bytes[bytes.lastIndexOf('x') - length + 1 + at] = 0xff
      const expected = `${'x'.repeat(at)}\ufffd${'x'.repeat(length - at - 1)}`
      if (decode(bytes)[0] !== expected) t.fail(`byte ${at} of ${length}`)
    }
  }
  t.pass('780 strings')
  t.end()
})

tape('decode: a key that comes twice is refused, in orders that were met before too', (t) => {
  const bytesOf = (keys) => {
    const fields = keys.map((key) => Buffer.from(`\x08${key}\x06`))
    return Buffer.concat([Buffer.from([keys.length * 3 << 3 | 5]), ...fields])
  }
  const orders = ['ab', 'ba', 'abc', 'a', 'acb']
  for (let round = 0; round < 3; round++) {
    for (const order of orders) t.deepEqual(Object.keys(decode(bytesOf([...order]))), [...order])
    for (const order of ['aa', 'aba', 'abb', 'abca', 'abcc', 'acba', 'abab']) {
      throwsWith(t, () => decode(bytesOf([...order])), { code: 'ERR_CODEC_DECODE', message: /second time/ })
    }
  }
  t.end()
})

tape('decode: objects of ever other keys, and of many, come back as they were', (t) => {
  const pick = (index) => `k${Math.imul(index, 0x9e3779b1) >>> 0}`
  for (let index = 0; index < 4000; index++) {
    const value = { type: 'map', [pick(index)]: index, [pick(index + 1)]: { [pick(index)]: 1 }, last: 0 }
    const found = decode(encode(value))
    if (JSON.stringify(found) !== JSON.stringify(value)) t.fail(`object ${index}`)
  }
  for (const count of [31, 32, 33, 34, 500, 5000]) {
    const value = Object.fromEntries(Array.from({ length: count }, (_, index) => [`key ${index}`, index]))
    for (let round = 0; round < 3; round++) t.deepEqual(decode(encode(value)), value, `${count} keys`)
  }
  t.deepEqual(decode(encode({ '': 1, a: 2, '\ufffd': 3 })), { '': 1, a: 2, '\ufffd': 3 })
  t.end()
})
