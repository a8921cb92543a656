'use strict'
// A strict codec refuses what JSON would leave out or change without a word, and takes everything else as it was.

const vm = require('node:vm')
const tape = require('tape')
const { createRandom, testCodec } = require('@millrace/testkit')
const { createJsonCodec, jsonCodec } = require('..')

const strict = createJsonCodec({ strict: true })
class Empty { #secret = 1; get secret () { return this.#secret } }
class Point { x = 1; y = 2 }
class Money { #cents = 5; toJSON () { return { cents: this.#cents } } }

testCodec(tape, strict, { name: 'json, strict', runs: 200 })

const LOST = {
  Map: new Map([[1, 2]]),
  'an empty Map': new Map(),
  Set: new Set([1]),
  WeakMap: new WeakMap(),
  WeakSet: new WeakSet(),
  RegExp: /x/,
  Error: Object.assign(new Error('lost'), { code: 'E' }),
  Promise: Promise.resolve(1),
  'a typed array': new Uint8Array(3),
  'a view': new DataView(new ArrayBuffer(2)),
  ArrayBuffer: new ArrayBuffer(2),
  'an object of a class that has no fields': new Empty(),
  'a Map of another realm': vm.runInNewContext('new Map([[1, 2]])'),
  'no number': NaN,
  Infinity: -Infinity,
  'a boxed NaN': Object(NaN),
  'a boxed symbol': Object(Symbol('s')),
  'a function': () => {},
  'a symbol': Symbol('s'),
  'a date without a time': new Date(NaN),
  'a generator': (function * () {})()
}
const KEPT = {
  'a date': new Date(0),
  'an object with toJSON': new Money(),
  'an object of a class with fields': new Point(),
  'an object without a prototype': Object.assign(Object.create(null), { a: 1 }),
  'an object of another realm': vm.runInNewContext('({})'),
  'a member that is undefined': { a: undefined, b: 1 },
  'boxed values': [Object(1), Object('a'), Object(true)],
  'a symbol as a key': { [Symbol('s')]: 1 },
  'bytes, which have toJSON': Buffer.from('a'),
  'a URL': new URL('http://a/'),
  'null and others': [null, true, -0, 1e300, '\ud800', [], {}]
}

tape('strict: what JSON loses is refused, with its place in the value', (t) => {
  for (const [name, value] of Object.entries(LOST)) {
    for (const [path, whole] of [[['a', 1, 'b'], { x: 1, a: [0, { b: value }] }], [['0'], [value].reduce((o, v) => ({ 0: v }), {})]]) {
      try {
        strict.encode(whole)
        t.fail(name)
      } catch (err) {
        t.equal(err.code, 'ERR_CODEC_ENCODE', `${name}: ${err.message}`)
        t.deepEqual(err.path.map(String), path.map(String))
      }
    }
    if (typeof value !== 'function' && typeof value !== 'symbol') t.throws(() => strict.encode(value), { code: 'ERR_CODEC_ENCODE' }, `${name}, alone`)
  }
  t.throws(() => strict.encode([1, undefined]), { code: 'ERR_CODEC_ENCODE' }, 'undefined in an array')
  // eslint-disable-next-line no-sparse-arrays
  t.throws(() => strict.encode([1, , 2]), { code: 'ERR_CODEC_ENCODE' }, 'a hole in an array')
  t.throws(() => strict.encode(undefined), { code: 'ERR_CODEC_ENCODE' })
  t.throws(() => strict.encode({ a: 1n }), { code: 'ERR_CODEC_ENCODE' })
  const cycle = { a: {} }
  cycle.a.b = cycle
  t.throws(() => strict.encode(cycle), { code: 'ERR_CODEC_ENCODE' })
  t.end()
})

tape('strict: all else has the same bytes as without', (t) => {
  for (const [name, value] of Object.entries(KEPT)) {
    for (const whole of [value, { a: [value] }]) t.ok(strict.encode(whole).equals(jsonCodec.encode(whole)), name)
  }
  t.equal(strict.name, jsonCodec.name)
  t.equal(createJsonCodec(), jsonCodec)
  for (const wrong of [{ strict: 1 }, { strikt: true }, null]) t.throws(() => createJsonCodec(wrong), { code: 'ERR_INVALID_ARGUMENT' })
  t.end()
})

/** The slow, obvious way: JSON.stringify shows each value to a function. */
function losesSomething (value) {
  let isLost = false
  JSON.stringify(value, function (key, shown) {
    const given = this[key]
    const isMember = !Array.isArray(this)
    if (typeof given === 'number' && !Number.isFinite(given)) isLost = true
    if (given === undefined && !isMember) isLost = true
    if (typeof given === 'function' || typeof given === 'symbol') isLost = true
    if (given instanceof Map || given instanceof Set || given instanceof RegExp) isLost = true
    return shown
  })
  return isLost
}

tape('strict: random values are refused if and only if something is lost', (t) => {
  const random = createRandom(7)
  const leaf = () => {
    const leaves = [1, 'a', true, null, new Date(0), '', 0.5, {}, [], undefined, 2, 'b', 3, 'c', 4]
    const bad = [NaN, new Map(), () => {}, /x/, Symbol('s'), Infinity]
    return random(60) === 0 ? bad[random(bad.length)] : leaves[random(leaves.length)]
  }
  const make = (depth) => {
    if (depth === 0 || random(4) === 0) return leaf()
    const parts = Array.from({ length: random(5) }, () => make(depth - 1))
    return random(2) ? parts : Object.fromEntries(parts.map((part, index) => [`k${index}`, part]))
  }
  let lostCount = 0
  for (let run = 0; run < 5000; run++) {
    const value = { root: make(4) }
    const isLost = losesSomething(value)
    if (isLost) lostCount++
    let code
    try {
      strict.encode(value)
    } catch (err) {
      code = err.code
    }
    if ((code === 'ERR_CODEC_ENCODE') !== isLost) t.fail(`run ${run}: ${code}`)
  }
  t.ok(lostCount > 100 && lostCount < 4900, `${lostCount} of 5000 were refused`)
  t.end()
})
