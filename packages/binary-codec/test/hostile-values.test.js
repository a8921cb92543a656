'use strict'
// Whatever is handed to encode: it is refused with its path, or decode gives it back.

const { isDeepStrictEqual } = require('node:util')
const tape = require('tape')
const { inQuickRuns } = require('@millrace/testkit')
const { binaryCodec, canonicalCodec, validate } = require('..')
const { createExtendedRandom } = require('./random-extended')

const ROUND_COUNT = inQuickRuns(20_000)
const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)

const TEXTS = ['\ud800', '\udfff', '\udc00\ud800', 'a\ud800b', 'a\udfffb', '\ufffd', 'a\ufffdb', '\ufffd\ufffd', '😀', '\ud83d', 'é', '', 'a',
  '__proto__', 'x'.repeat(30), 'x'.repeat(29) + '\ud800', 'x'.repeat(29) + '\udbff']

/** Each refused, or what comes back of it. */
const ODDITIES = [
  () => () => {}, () => Symbol('symbol'), () => new Map([[1, 2]]), () => new Set([1]), () => /a/, () => new Error('no'), () => Object(1n),
  () => Object.setPrototypeOf(new Date(5), null), () => Object.setPrototypeOf(new Map(), Object.prototype),
  () => Object.setPrototypeOf(Buffer.from('a').buffer, null), () => ({ get a () { throw new Error('no') } }),
  () => ({ toJSON () { throw Object.create(null) } }), () => new Proxy({}, { ownKeys () { throw Object.create(null) } })
]

/** What the README says comes back. */
function expected (value) {
  if (typeof value === 'string') return value.toWellFormed()
  if (Array.isArray(value)) return Array.from(value, expected)
  if (value === null || typeof value !== 'object') return value
  if (![Object.prototype, null].includes(Object.getPrototypeOf(value))) return value
  return Object.fromEntries(Object.keys(value).map((key) => [key.toWellFormed(), expected(value[key])]))
}

/** @param {ReturnType<typeof createExtendedRandom>} random */
function createHostile ({ below, pick, value }) {
  const make = (/** @type {number} */ depth) => {
    switch (depth === 0 ? 4 + below(3) : below(8)) {
      case 0: case 1: case 2: return fill(depth)
      case 3: return Array.from({ length: below(4) }, () => make(depth - 1))
      case 4: return pick(TEXTS)
      case 5: return below(6) === 0 ? pick(ODDITIES)() : pick(TEXTS)
      case 6: return value(1)
      default: return [undefined, , make(depth - 1)] // eslint-disable-line no-sparse-arrays
    }
  }
  const fill = (/** @type {number} */ depth) => {
    const object = below(5) === 0 ? Object.create(null) : {}
    for (let count = below(5); count > 0; count--) {
      const value = make(depth - 1)
      Object.defineProperty(object, pick(TEXTS), { value, enumerable: true, configurable: true, writable: true })
    }
    return object
  }
  return () => make(3)
}

for (const [name, codec] of Object.entries({ binaryCodec, canonicalCodec })) {
  tape(`hostile values: ${name} refuses with a path, or decode gives it back (seed ${seed})`, (t) => {
    const makeValue = createHostile(createExtendedRandom(seed))
    let refusedCount = 0
    for (let round = 0; round < ROUND_COUNT; round++) {
      const value = makeValue()
      let bytes
      try {
        bytes = codec.encode(value)
      } catch (err) {
        if (err.code !== 'ERR_CODEC_ENCODE' || !Array.isArray(err.path)) t.fail(`round ${round}: ${err.stack}`)
        refusedCount++
        continue
      }
      if (validate(bytes) !== bytes.length) t.fail(`round ${round}: does not validate`)
      const found = codec.decode(bytes)
      if (!isDeepStrictEqual(found, expected(value))) t.fail(`round ${round}: ${bytes.toString('hex')}`)
    }
    t.ok(refusedCount > 100 && refusedCount < ROUND_COUNT - 100, `${refusedCount} of ${ROUND_COUNT} were refused`)
    t.end()
  })
}

tape('hostile values: keys that become one are refused, with the path to the second', (t) => {
  const values = [
    [{ '\ud800': 1, '\udfff': 2 }, ['\udfff']],
    [{ '\ufffd': 1, '\udfff': 2 }, ['\udfff']],
    [{ '\udfff': 1, a: 2, '\ufffd': 3 }, ['\ufffd']],
    [[{ a: { 'x\ud800': 1, 'x\udbff': { b: 1 } } }], [0, 'a', 'x\udbff']],
    [{ ['x'.repeat(99) + '\ud800']: 1, ['x'.repeat(99) + '\ud801']: 1 }, ['x'.repeat(99) + '\ud801']],
    [{ '\ufffd': 1, get a () { delete this['\ufffd']; return 1 }, '\udfff': 2 }, ['\udfff']]
  ]
  for (const [value, path] of values) {
    for (const codec of [binaryCodec, canonicalCodec]) {
      let err = null
      try {
        codec.encode(value)
      } catch (thrown) {
        err = thrown
      }
      t.equal(err?.code, 'ERR_CODEC_ENCODE')
      if (codec === binaryCodec) t.deepEqual(err?.path, path)
    }
  }
  t.deepEqual(binaryCodec.decode(binaryCodec.encode({ '\ud800': 1, 'a\udfff': 2 })), { '\ufffd': 1, 'a\ufffd': 2 })
  t.end()
})

tape('hostile values: contents are not lost because their prototype was changed', (t) => {
  for (const value of [new Date(5), new Map([[1, 2]]), new Set([1]), /a/, new ArrayBuffer(4), Object(5)]) {
    for (const prototype of [null, Object.prototype]) {
      for (const codec of [binaryCodec, canonicalCodec]) {
        t.throws(() => codec.encode({ a: [Object.setPrototypeOf(value, prototype)] }), { code: 'ERR_CODEC_ENCODE' })
      }
    }
  }
  t.end()
})
