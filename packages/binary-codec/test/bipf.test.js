'use strict'
// Against bipf 1.9.0 itself: the same bytes, both ways.

const tape = require('tape')
const bipf = require('bipf')
const { isDeepStrictEqual } = require('node:util')
const { encode, encodingLength, decode, validate, seekPath, createSeekPath, compare, types } = require('..')
const { createRandom, listPaths } = require('./random-values')

const random = createRandom()

tape(`bipf: 100,000 random values have equal bytes, and are read both ways (seed ${random.seed})`, (t) => {
  let failure
  for (let i = 0; i < 100_000 && failure === undefined; i++) {
    const value = random.value()
    const bytes = encode(value)
    if (!bytes.equals(bipf.allocAndEncode(value))) failure = { value, what: 'bytes' }
    if (!isDeepStrictEqual(bipf.decode(bytes, 0), value)) failure = { value, what: 'bipf decodes' }
    if (!isDeepStrictEqual(decode(bytes), value)) failure = { value, what: 'decode' }
    if (encodingLength(value) !== bytes.length || validate(bytes) !== bytes.length) failure = { value, what: 'length' }
    for (const part of listPaths(value)) {
      const found = seekPath(bytes, 0, part.path)
      if (found < 0 || !isDeepStrictEqual(decode(bytes, found), part.value)) failure = { value, what: part.path }
    }
  }
  t.equal(failure, undefined)
  t.end()
})

tape('bipf: decodes the numbers that it refuses to encode', (t) => {
  for (const value of [NaN, Infinity, -Infinity, -0]) {
    t.ok(Object.is(bipf.decode(encode(value), 0), value), String(value))
  }
  t.end()
})

tape('bipf: -2147483648 and what is beyond an int32 is a double, as bipf writes it', (t) => {
  for (const value of [-2147483648, 2147483648, -2147483649]) {
    t.ok(encode(value).equals(bipf.allocAndEncode(value)), String(value))
    t.equal(encode(value)[0] & 7, types.double)
  }
  t.equal(encode(-2147483647)[0] & 7, types.int)
  t.end()
})

tape('bipf: lone surrogates become U+FFFD, as in bipf', (t) => {
  for (const text of ['\ud800', 'a\udc00b', '\ud800'.repeat(40)]) {
    t.ok(encode(text).equals(bipf.allocAndEncode(text)))
    t.equal(decode(encode(text)), text.toWellFormed?.() ?? Buffer.from(text).toString())
  }
  t.end()
})

tape('bipf: a path in its encoded form is taken', (t) => {
  const value = { a: { b: 1, c: 'long enough for bipf to find c' }, z: 0 }
  const bytes = encode(value)
  const path = bipf.allocAndEncode(['a', 'b'])
  t.equal(seekPath(bytes, 0, path), bipf.seekPath(bytes, 0, path))
  t.equal(createSeekPath(path)(bytes, 0), bipf.seekPath(bytes, 0, path))
  t.end()
})

tape(`bipf: compare orders as bipf does what bipf orders (seed ${random.seed})`, (t) => {
  let differing = 0
  for (let i = 0; i < 20_000; i++) {
    const a = encode(random.value(1))
    const b = encode(random.value(1))
    if (Math.sign(compare(a, 0, b, 0)) !== Math.sign(bipf.compare(a, 0, b, 0))) differing++
  }
  t.equal(differing, 0)
  t.equal(Math.sign(compare(encode(1), -1, encode(1), 0)), Math.sign(bipf.compare(encode(1), -1, encode(1), 0)))
  t.end()
})
