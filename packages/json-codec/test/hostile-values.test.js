'use strict'
// Whatever is handed to encode: it is refused with its path, or decode gives back what its JSON says.

const { isDeepStrictEqual } = require('node:util')
const fc = require('fast-check')
const tape = require('tape')
const { inQuickRuns } = require('@millrace/testkit')
const { jsonCodec } = require('..')
const { parseRightly } = require('./parse-rightly')

const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)

const texts = fc.constantFrom('\ud800', '\udfff', '\udc00\ud800', '\ufffd', 'a\ud83d', '😀', '__proto__', 'toJSON', '', 'a', '\u2028', '\0')
const oddities = fc.constantFrom(
  () => 1n, () => Symbol('symbol'), () => () => {}, () => undefined, () => NaN, () => -0, () => new Date(NaN), () => new Map([[1, 2]]),
  () => Object(1n), () => Object('text'), () => Buffer.from('a'), () => Object.create(null), () => new Array(3),
  () => ({ toJSON () { throw Object.create(null) } }), () => ({ toJSON: () => 1n }), () => ({ toJSON: 5 }),
  () => ({ get a () { throw new Error('no') } }), () => new Proxy([], { get () { throw Object.create(null) } }),
  () => { const cycle = {}; return Object.assign(cycle, { a: [cycle] }) }
).map((make) => make())

const values = fc.letrec((tie) => ({
  value: fc.oneof({ depthSize: 'small', withCrossShrink: true }, texts, fc.double(), { arbitrary: oddities, weight: 1 },
    fc.array(tie('value'), { maxLength: 4 }), fc.dictionary(texts, tie('value'), { maxKeys: 4 }))
})).value

tape(`hostile values: jsonCodec refuses with a path, or decode gives back what the JSON says (seed ${seed})`, (t) => {
  const details = fc.check(fc.property(values, (value) => {
    let bytes
    try {
      bytes = jsonCodec.encode(value)
    } catch (err) {
      return err.code === 'ERR_CODEC_ENCODE' && Array.isArray(err.path)
    }
    const found = jsonCodec.decode(bytes)
    return isDeepStrictEqual(found, parseRightly(JSON.stringify(value))) && jsonCodec.encode(found).equals(bytes)
  }), { seed, numRuns: inQuickRuns(5000) })
  t.notOk(details.failed, fc.defaultReportMessage(details) ?? `${details.numRuns} values`)
  t.end()
})
