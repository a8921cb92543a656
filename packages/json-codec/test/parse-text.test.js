'use strict'
// Keys with escapes, on engines that mistake them, and the parser that is used for these instead.

const fc = require('fast-check')
const tape = require('tape')
const { jsonCodec } = require('..')
const { ValidText } = require('../lib/parse-text')

const seed = Number(process.env.SEED) || Date.now() % 2 ** 31
const ESCAPED = ['\n', '\t', '"', '\u0001', 'a\b', 'a\bb', 'ж\n', '\\', '\\n', '\\\\', 'a\\b']

tape('decode: a key with an escape is never taken for another that objects of its shape had before', (t) => {
  for (const before of ['\\', 'a\\', 'ж\\', 'a\\b', '\\n', '\\u0041']) jsonCodec.decode(jsonCodec.encode({ b: 1, [before]: 2 }))
  for (const key of ESCAPED) {
    for (const value of [{ b: 1, [key]: 3 }, { b: 1, [key]: { [key]: [key] } }, [{ b: 1, [key]: 'x' }]]) {
      t.deepEqual(jsonCodec.decode(jsonCodec.encode(value)), value, JSON.stringify(value))
    }
    const record = jsonCodec.encode({ b: 1, [key]: 'wanted' })
    const isWanted = jsonCodec.compile({ path: [key], equals: 'wanted' })
    t.ok(isWanted(record, 0, record.length), `a filter finds ${JSON.stringify(key)}`)
  }
  t.deepEqual(jsonCodec.decode(Buffer.from('{"b":1,"\\u0041":2}')), { b: 1, A: 2 })
  t.end()
})

tape(`decode: the parser for escaped keys gives what JSON.parse does (seed ${seed})`, (t) => {
  const spaced = fc.tuple(fc.jsonValue(), fc.constantFrom(undefined, 1, '\t\n\r ')).map(([value, space]) => [value, JSON.stringify(value, null, space)])
  const keyed = fc.tuple(fc.constantFrom(...ESCAPED, '__proto__', '0'), fc.jsonValue()).map(([key, value]) => {
    return [{ ...Object.fromEntries([[key, value]]) }, `\n{ ${JSON.stringify(key)}\t:${JSON.stringify(value)} }\r`]
  })
  fc.assert(fc.property(fc.oneof(spaced, keyed), ([value, text]) => {
    JSON.parse(text)
    return JSON.stringify(new ValidText(text).readValue()) === JSON.stringify(value)
  }), { seed, numRuns: 2000 })
  t.pass('2,000 values')
  t.deepEqual(new ValidText('{"a":1,"a":2}').readValue(), { a: 2 })
  t.deepEqual(Object.keys(new ValidText('{"__proto__":1}').readValue()), ['__proto__'])
  t.end()
})
