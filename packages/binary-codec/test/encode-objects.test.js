'use strict'

const tape = require('tape')
const { encode, encodeCanonical, decode } = require('..')
const { createRandom } = require('./random-values')
const { throwsWith } = require('./helpers')

/** By the plain rule: own enumerable string keys in their order. */
function rebuild (object) {
  return Object.fromEntries(Object.keys(object).map((key) => [key, object[key]]))
}

const random = createRandom()
tape(`encode: an object has its own enumerable string keys and no other, in their order (seed ${random.seed})`, (t) => {
  const KEYS = ['a', 'b', 'c', '10', '9', '4294967295', '-1', '1.5', '__proto__', 'constructor', 'toString', '', 'é', '\ud800']
  const define = (target, count) => {
    for (; count > 0; count--) {
      const enumerable = random.below(4) > 0
      const value = random.value(1)
      const isGetter = random.below(5) === 0
      const property = isGetter ? { get: () => value, enumerable } : { value, enumerable, writable: true }
      Object.defineProperty(target, random.pick(KEYS), { ...property, configurable: true })
    }
    return target
  }
  let failure
  for (let index = 0; index < 5000 && failure === undefined; index++) {
    const parent = random.pick([Object.prototype, null, define({}, 3), Object.create(define({}, 3))])
    const object = define(Object.create(parent), random.below(7))
    if (random.below(3) === 0) delete object[random.pick(KEYS)]
    if (random.below(3) === 0) object[Symbol('s')] = 1
    if (random.below(10) === 0) for (let count = 0; count < 40; count++) object[`key ${count}`] = count
    if (typeof object.toJSON === 'function') continue
    const value = random.below(5) === 0 ? new Proxy(object, {}) : object
    if (!encode(value).equals(encode(rebuild(object)))) failure = rebuild(object)
  }
  t.equal(failure, undefined)
  t.end()
})

tape('encode: what all objects inherit is no key of them, even if it is enumerable', (t) => {
  const bytes = encode({ a: { b: 1 } })
  Object.prototype.inherited = 7 // eslint-disable-line no-extend-native
  try {
    t.deepEqual(encode({ a: { b: 1 } }), bytes)
    t.deepEqual(encodeCanonical({ a: { b: 1 } }), bytes)
  } finally {
    delete Object.prototype.inherited
  }
  t.end()
})

tape('encode: keys that come and go while an object is read', (t) => {
  const shrinking = { get a () { delete this.c; return 1 }, b: 2, c: 3, d: 4 }
  t.deepEqual(decode(encode(shrinking)), { a: 1, b: 2, d: 4 }, 'one that is gone by its turn is left out')
  const growing = { get a () { this.c = 3; return 1 }, b: 2 }
  t.deepEqual(decode(encode(growing)), { a: 1, b: 2 }, 'one that was not there at first, too')
  t.end()
})

tape('encode: the path of a refusal leads to where it is, behind values that were entered and left', (t) => {
  const before = { list: [1, { x: 2 }], empty: {}, none: [], deep: { a: { b: {} } } }
  const refuse = () => { throw new Error('no') }
  const cases = [
    [{ ...before, bad: () => {} }, ['bad']],
    [{ before, list: [before, [], () => {}] }, ['list', 2]],
    [{ before, proxy: new Proxy({}, { ownKeys: refuse }) }, ['proxy']],
    [{ before, proxy: new Proxy({}, { getPrototypeOf: refuse }) }, ['proxy']],
    [[before, new Proxy({ a: 1 }, { getOwnPropertyDescriptor: refuse })], [1]],
    [{ before, get bad () { return refuse() } }, ['bad']],
    [{ before, a: { b: { toJSON: refuse } } }, ['a', 'b']]
  ]
  for (const [value, path] of cases) {
    throwsWith(t, () => encode(value), { code: 'ERR_CODEC_ENCODE', path })
    throwsWith(t, () => encodeCanonical(value), { code: 'ERR_CODEC_ENCODE', path })
  }
  t.deepEqual(decode(encode(before)), before, 'and nothing is left over')
  t.end()
})

tape('encode: a text has the same bytes whatever the engine holds it as', (t) => {
  const units = ['a', 'é', '€', '😀']
  for (const unit of units) {
    for (let length = 0; length < 70; length++) {
      const text = unit.repeat(length)
      const half = length >> 1
      const kinds = [text, unit.repeat(half) + unit.repeat(length - half), `€${text}`.slice(1), `x${text}x`.slice(1, -1),
        text.split('').join(''), Buffer.from(text).toString(), Object.keys({ [text]: 1 })[0]]
      const expected = encode(Buffer.from(text).toString())
      for (const kind of kinds) if (!encode(kind).equals(expected)) t.fail(`${length} times ${unit}`)
      if (decode(expected) !== text) t.fail(`${length} times ${unit}, decoded`)
      const key = { [kinds[1]]: 1 }
      if (!Object.hasOwn(decode(encode(key)), text)) t.fail(`${length} times ${unit}, as a key`)
    }
  }
  t.pass('seven kinds of strings')
  t.end()
})
