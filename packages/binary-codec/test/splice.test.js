'use strict'

const tape = require('tape')
const {
  encode, encodeIdempotent, decode, encodingLength, markIdempotent, isIdempotent, pluck, seekKey, getValueType, types
} = require('..')
const { DEPTH_MAX } = require('../lib/wire-format')
const { throwsWith } = require('./helpers')

tape('markIdempotent: a marked buffer is copied in as it is', (t) => {
  const inner = { street: '123 Main St' }
  t.ok(encode({ address: encodeIdempotent(inner) }).equals(encode({ address: inner })))
  t.ok(encode(encodeIdempotent(inner)).equals(encode(inner)))
  t.deepEqual(decode(encode([encodeIdempotent(1), encode(1)])), [1, encode(1)], 'one that is not marked is a buffer')
  t.equal(encodingLength(encodeIdempotent(inner)), encodingLength(inner))
  t.end()
})

tape('markIdempotent: takes the part of another record', (t) => {
  const record = encode({ a: { b: [1, 2] } })
  const part = markIdempotent(pluck(record, seekKey(record, 0, 'a')))
  t.deepEqual(decode(encode({ moved: part })), { moved: { b: [1, 2] } })
  t.end()
})

tape('markIdempotent: leaves no trace on the buffer', (t) => {
  const buf = encode(1)
  t.notOk(isIdempotent(buf))
  t.equal(markIdempotent(buf), buf)
  t.ok(isIdempotent(buf))
  t.deepEqual(Object.keys(buf).filter((key) => !/^\d+$/.test(key)), [])
  t.notOk(isIdempotent('text'))
  throwsWith(t, () => markIdempotent('text'), { code: 'ERR_INVALID_ARGUMENT' })
  t.end()
})

tape('markIdempotent: bytes that are no value are refused when they are encoded', (t) => {
  throwsWith(t, () => encode([markIdempotent(Buffer.from([0x10]))]), { code: 'ERR_CODEC_ENCODE', path: [0] })
  throwsWith(t, () => encode([markIdempotent(Buffer.alloc(0))]), { code: 'ERR_CODEC_ENCODE', path: [0] })
  throwsWith(t, () => encode({ a: markIdempotent(Buffer.from([6, 6])) }), { code: 'ERR_CODEC_ENCODE', path: ['a'] })
  t.end()
})

tape('markIdempotent: the depth of a marked value counts', (t) => {
  let deep = 1
  for (let i = 0; i < DEPTH_MAX - 1; i++) deep = [deep]
  const marked = encodeIdempotent(deep)
  t.ok(decode(encode([marked])))
  throwsWith(t, () => encode([[marked]]), { code: 'ERR_CODEC_ENCODE' })
  t.end()
})

tape('getValueType: of a marked buffer is that of its value', (t) => {
  t.equal(getValueType(encodeIdempotent([1])), types.array)
  t.equal(getValueType(encode([1])), types.buffer)
  t.end()
})
