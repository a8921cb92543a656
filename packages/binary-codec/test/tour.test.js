'use strict'
// A tour of the package, in the order of its README.

const tape = require('tape')
const { binaryCodec, canonicalCodec, createSeekPath, decode, encode, encodeCanonical, validate } = require('..')

tape('tour: one field is found without decoding the rest', (t) => {
  const record = encode({ author: '@alice', content: { type: 'post', likes: [7, 8] } })
  const seekLike = createSeekPath(['content', 'likes', 1])
  t.equal(decode(record, seekLike(record, 0)), 8)
  t.equal(seekLike(encode({ author: '@bob' }), 0), -1)
  t.end()
})

tape('tour: a filter decodes nothing', (t) => {
  const isPost = binaryCodec.compile({ path: ['content', 'type'], equals: 'post' })
  const holds = (value) => {
    const record = encode(value)
    return isPost(record, 0, record.length)
  }
  t.ok(holds({ content: { type: 'post' } }))
  t.notOk(holds({ content: { type: 'vote' } }))
  t.notOk(holds({}))
  t.end()
})

tape('tour: values come back as they were', (t) => {
  const values = ['Grüße', true, null, -0, NaN, 2 ** 53, -258n, undefined, new Date(0), Buffer.from('abc'), new Uint16Array([1, 2])]
  for (const value of values) t.deepEqual(decode(encode(value)), value)
  t.ok(Object.is(decode(encode(-0)), -0))
  t.ok('gone' in decode(encode({ gone: undefined })), 'the key of an undefined value stays')
  t.deepEqual(decode(encode({ toJSON: () => 'what it returns' })), 'what it returns')
  t.end()
})

tape('tour: what has no bytes is refused, with its path', (t) => {
  try {
    encode({ list: [1, { run: () => {} }] })
    t.fail('a function was encoded')
  } catch (err) {
    t.equal(err.code, 'ERR_CODEC_ENCODE')
    t.deepEqual(err.path, ['list', 1, 'run'])
  }
  const cycle = {}
  cycle.self = cycle
  t.throws(() => encode(cycle), { code: 'ERR_CODEC_ENCODE' })
  t.throws(() => encode(new Map()), { code: 'ERR_CODEC_ENCODE' })
  t.end()
})

tape('tour: damage is an error', (t) => {
  const record = encode({ text: 'a text that is cut' })
  const cut = record.subarray(0, record.length - 4)
  t.throws(() => decode(cut), { code: 'ERR_CODEC_DECODE' })
  t.throws(() => validate(cut), { code: 'ERR_CODEC_DECODE' })
  t.doesNotThrow(() => validate(record))
  t.equal(createSeekPath(['other'])(cut, 0), -1, 'a seek ends')
  t.end()
})

tape('tour: equal values have equal bytes in the canonical form', (t) => {
  t.ok(encodeCanonical({ a: 1, b: 2 }).equals(encodeCanonical({ b: 2, a: 1 })))
  t.notOk(encode({ a: 1, b: 2 }).equals(encode({ b: 2, a: 1 })))
  t.deepEqual(binaryCodec.decode(canonicalCodec.encode({ b: 2, a: 1 })), { a: 1, b: 2 })
  t.end()
})

tape('tour: decode shares memory with the buffer, decodeRange copies', (t) => {
  const record = encode(Buffer.from('abc'))
  const shared = decode(record)
  const copied = binaryCodec.decodeRange(record, 0, record.length)
  record.fill(0x7a, record.length - 3)
  t.equal(shared.toString(), 'zzz')
  t.equal(copied.toString(), 'abc')
  t.end()
})
