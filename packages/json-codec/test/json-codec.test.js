'use strict'

const tape = require('tape')
const { jsonCodec } = require('..')

const { encode, decode, decodeRange } = jsonCodec

function thrownBy (run) {
  try {
    run()
    return undefined
  } catch (err) {
    return err
  }
}

tape('encode: gives the UTF-8 bytes of the JSON text', (t) => {
  t.equal(encode({ a: 'é', b: [1, null] }).toString(), '{"a":"é","b":[1,null]}')
  t.end()
})

tape('encode: what has no JSON text fails with a code', (t) => {
  for (const value of [undefined, () => {}, Symbol('s'), { toJSON () {} }]) {
    t.equal(thrownBy(() => encode(value)).code, 'ERR_CODEC_ENCODE')
  }
  t.end()
})

tape('encode: what JSON.stringify throws is the cause', (t) => {
  const cyclic = {}
  cyclic.self = cyclic
  let deep = 1
  for (let i = 0; i < 100_000; i++) deep = [deep]
  for (const value of [cyclic, 1n, deep, { toJSON () { throw new Error('mine') } }]) {
    const err = thrownBy(() => encode(value))
    t.equal(err.code, 'ERR_CODEC_ENCODE')
    t.ok(err.cause instanceof Error)
  }
  t.match(thrownBy(() => encode({ toJSON () { throw 'text' } })).message, /text/) // eslint-disable-line no-throw-literal
  t.end()
})

tape('decode: from a Buffer, a Uint8Array, or a range', (t) => {
  const bytes = Buffer.from('xx{"a":"é"}xx')
  t.deepEqual(decodeRange(bytes, 2, bytes.length - 2), { a: 'é' })
  t.deepEqual(decodeRange(new Uint8Array(bytes), 2, bytes.length - 2), { a: 'é' })
  t.deepEqual(decode(new Uint8Array(encode([1]))), [1])
  t.end()
})

tape('decode: a __proto__ key is an own property', (t) => {
  const value = decode(Buffer.from('{"__proto__":{"a":1}}'))
  t.deepEqual(Object.keys(value), ['__proto__'])
  t.equal(value.a, undefined)
  t.end()
})

tape('decode: the offset is told in bytes, where it can be known', (t) => {
  const cases = [['', 0], ['[1,2', 4], ['{"a":1,}', 7], ['{"éé":1,}', 10], ['[1 2]', 3], ['nope', undefined]]
  for (const [text, offset] of cases) {
    const err = thrownBy(() => decode(Buffer.from(text)))
    t.equal(err.code, 'ERR_CODEC_DECODE', err.message)
    t.equal(err.offset, offset, JSON.stringify(text))
    t.ok(err.cause instanceof SyntaxError)
  }
  const invalid = Buffer.from([0x5b, 0x22, 0xff, 0x22, 0x20, 0x31])
  t.equal(thrownBy(() => decode(invalid)).offset, undefined, 'behind invalid UTF-8 it cannot')
  t.equal(thrownBy(() => decodeRange(Buffer.from('xx[1 2]'), 2, 7)).offset, 3, 'it counts from the start of the record')
  t.end()
})

tape('decode: misuse is a TypeError', (t) => {
  const buf = encode(1)
  const calls = [() => decode('1'), () => decode(null), () => decodeRange('1', 0, 1), () => decodeRange(buf, 1, 0),
    () => decodeRange(buf, 0, 2), () => decodeRange(buf, -1, 1), () => decodeRange(buf, 0.5, 1),
    () => decodeRange(buf, 0)]
  for (const call of calls) t.equal(thrownBy(call).code, 'ERR_INVALID_ARGUMENT')
  t.end()
})

tape('decode: what JSON.parse throws without being an Error is still told', (t) => {
  const parse = JSON.parse
  JSON.parse = () => { throw 'odd' } // eslint-disable-line no-throw-literal
  const err = thrownBy(() => decode(encode(1)))
  JSON.parse = parse
  t.equal(err.code, 'ERR_CODEC_DECODE')
  t.match(err.message, /odd/)
  t.end()
})

tape('encode: what is refused is told with its path', (t) => {
  const cyclic = { a: [{}] }
  cyclic.a[0].b = cyclic
  const throwing = Object.defineProperty([], 0, { enumerable: true, get () { throw Object.create(null) } })
  const cases = [[{ a: [0, 1n] }, ['a', 1]], [cyclic, ['a', 0, 'b']], [1n, []], [{ a: { toJSON () { throw new Error('no') } } }, ['a']],
    [{ b: throwing }, ['b', 0]], [undefined, []], [{ a: 1, b: Object(1n) }, ['b']],
    [{ a: { toJSON: () => ({ c: [2n] }) } }, ['a', 'c', 0]], [[new Proxy({}, { ownKeys () { throw new Error('no') } })], [0]]]
  for (const [value, path] of cases) {
    const err = thrownBy(() => encode(value))
    t.equal(err?.code, 'ERR_CODEC_ENCODE')
    t.deepEqual(err?.path, path)
  }
  t.end()
})

tape('encode: what is nested deeper than 1000 levels is refused in every version of Node.js', (t) => {
  const nest = (depth) => {
    let value = '[[['
    for (let level = 0; level < depth; level++) value = level % 2 ? [value] : { a: value }
    return value
  }
  for (const around of [(value) => value, (value) => ['"[{\\', [[]], value, { b: {} }]]) {
    const extra = Array.isArray(around(1)) ? 1 : 0
    const value = around(nest(1000 - extra))
    t.deepEqual(decode(encode(value)), value)
    for (const depth of [1001, 5000, 200_000]) {
      const err = thrownBy(() => encode(around(nest(depth - extra))))
      t.equal(err?.code, 'ERR_CODEC_ENCODE')
      t.equal(err?.path.length, 1000)
      t.ok(err?.cause instanceof Error)
    }
  }
  const wide = Array.from({ length: 3000 }, () => ({ a: ['{', ']'] }))
  t.deepEqual(decode(encode(wide)), wide)
  t.end()
})

tape('decode: records that are nested deeper, as older versions wrote them, are read', (t) => {
  const value = decode(Buffer.from('['.repeat(5000) + ']'.repeat(5000)))
  t.ok(Array.isArray(value[0]))
  t.end()
})
