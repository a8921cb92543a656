'use strict'

const tape = require('tape')
const { encode, seekKey, compare, compareString, createCompareAt } = require('..')
const { createRandom, mutate } = require('./random-values')
const { thrownBy, throwsWith } = require('./helpers')

tape('compare: one order over everything', (t) => {
  const ordered = [
    null, '', 'a', 'aa', 'b', Buffer.alloc(0), Buffer.from('a'),
    -Infinity, -1e10, -1, 0, 0.5, 1, 2147483648, Infinity, NaN,
    [], [1], {}, false, true,
    new Date(-1), new Date(0), new Date(256), new Date(NaN), -(2n ** 70n), -1n, 0n, 1n, 256n,
    new Uint8Array(0), new Uint8Array([1]), new Uint8Array([1, 0]), new Uint8Array([2]), new Uint8ClampedArray(1),
    new Float64Array(1), new DataView(new ArrayBuffer(1)), new ArrayBuffer(0), undefined
  ]
  const encoded = ordered.map((value) => encode(value))
  for (let i = 0; i < encoded.length; i++) {
    for (let j = 0; j < encoded.length; j++) {
      const expected = Math.sign(i - j)
      if (Math.sign(compare(encoded[i], 0, encoded[j], 0)) !== expected) {
        t.fail(`${String(ordered[i])} and ${String(ordered[j])}: expected ${expected}`)
      }
    }
  }
  t.pass(`${encoded.length} values`)
  t.end()
})

tape('compare: ints and doubles compare as numbers, and 0 equals -0', (t) => {
  const three = Buffer.from('430000000000000840', 'hex')
  t.equal(compare(encode(3), 0, three, 0), 0)
  t.equal(compare(three, 0, encode(3), 0), 0)
  t.equal(compare(encode(4), 0, three, 0), 1)
  t.equal(compare(encode(0), 0, encode(-0), 0), 0)
  t.equal(compare(encode(NaN), 0, encode(NaN), 0), 0)
  t.end()
})

tape('compare: what was not found comes before everything', (t) => {
  const bytes = encode({ a: null })
  t.equal(compare(bytes, seekKey(bytes, 0, 'b'), bytes, seekKey(bytes, 0, 'a')), -1)
  t.equal(compare(bytes, 0, bytes, -1), 1)
  t.equal(compare(bytes, -1, bytes, -1), 0)
  t.end()
})

tape('compare: damage is an error with a code', (t) => {
  const random = createRandom()
  for (let i = 0; i < 5000; i++) {
    const a = mutate(random, encode(random.value(1)))
    const b = mutate(random, encode(random.value(1)))
    const err = thrownBy(() => compare(a, 0, b, 0))
    if (err !== undefined && err.code !== 'ERR_CODEC_DECODE') t.fail(`${err.stack} (seed ${random.seed})`)
  }
  throwsWith(t, () => compare(Buffer.from('1a010203', 'hex'), 0, encode(1), 0), { code: 'ERR_CODEC_DECODE', offset: 1 })
  const short = Buffer.from('470c00000000000000', 'hex')
  throwsWith(t, () => compare(short, 0, encode(new Float64Array(1)), 0), { code: 'ERR_CODEC_DECODE', offset: 2 })
  throwsWith(t, () => compare(encode(1), 7, encode(1), 0), { code: 'ERR_INVALID_ARGUMENT' })
  t.end()
})

tape('compareString: the sign says how the stored string compares to the target', (t) => {
  const bytes = encode('ab')
  t.equal(compareString(bytes, 0, 'ab'), 0)
  t.equal(compareString(bytes, 0, Buffer.from('aa')), 1)
  t.equal(compareString(bytes, 0, 'ac'), -1)
  t.equal(compareString(bytes, 0, 'abc'), -1, 'a prefix is lower')
  t.equal(compareString(bytes, 0, 'a'), 1)
  t.equal(compareString(bytes, -1, 'a'), null)
  t.equal(compareString(encode(5), 0, 'a'), null)
  throwsWith(t, () => compareString(bytes, 0, 5), { code: 'ERR_INVALID_ARGUMENT' })
  t.end()
})

tape('createCompareAt: sorts by the first path that differs', (t) => {
  const values = [{ a: 2, b: { c: 1 } }, { a: 1, b: { c: 2 } }, { a: 1, b: { c: 1 } }, { b: { c: 0 } }, { a: 1 }]
  const sorted = values.map((value) => ({ value, bytes: encode(value) }))
  const order = createCompareAt([['a'], ['b', 'c']])
  sorted.sort((x, y) => order(x.bytes, y.bytes))
  t.deepEqual(sorted.map(({ value }) => value), [values[3], values[4], values[2], values[1], values[0]])
  t.equal(order(sorted[0].bytes, sorted[0].bytes), 0)
  throwsWith(t, () => createCompareAt('a'), { code: 'ERR_INVALID_ARGUMENT' })
  t.end()
})
