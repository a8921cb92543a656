'use strict'
// Encoded values lie beside each other in memory that they share: none may change what another one is.

const { MessageChannel } = require('node:worker_threads')
const tape = require('tape')
const { decode, encode, encodeCanonical, encodingLength } = require('..')
const { createRandom } = require('./random-values')
const { thrownBy } = require('./helpers')

const RUN_COUNT = 4000
const KEPT_COUNT = 200
/** Around what a slab holds, what is left of one, and what a scratch buffer has at first. */
const SIZES = [0, 1, 10, 100, 300, 900, 1020, 1100, 3000, 7000, 15_000, 16_370, 16_390, 33_000, 70_000]

const random = createRandom()
tape(`write memory: what was encoded stays as it was, whatever comes next (seed ${random.seed})`, (t) => {
  const kept = []
  const check = () => kept.every(({ bytes, copy }) => bytes.equals(copy))
  for (let index = 0; index < RUN_COUNT; index++) {
    const size = SIZES[random.below(random.below(4) === 0 ? SIZES.length : 6)]
    const text = (random.below(2) === 0 ? 'x' : 'é').repeat(size)
    const value = { index, list: [text, { text: Buffer.from(text), inner: null }], n: index / 2 }
    const [encodeOne, other] = random.below(2) === 0 ? [encode, encodeCanonical] : [encodeCanonical, encode]
    const bytes = encodeOne(random.below(10) === 0 ? { ...value, inner: { toJSON: () => other(value) } } : value)
    kept.push({ bytes, copy: Buffer.from(bytes), value })
    if (!disturb(random.below(8), value)) t.fail('what should be refused was not')
    if (kept.length < KEPT_COUNT) continue
    if (!check()) return t.end(new Error(`an earlier value changed before run ${index}`))
    kept.splice(0, random.below(KEPT_COUNT))
  }
  t.ok(check())
  t.ok(kept.every(({ bytes, value }) => decode(bytes).index === value.index))
  t.end()
})

tape('write memory: a value in it that is transferred to another thread takes nothing along', (t) => {
  const values = Array.from({ length: 200 }, (_, index) => ({ index, text: 'x'.repeat(index) }))
  const encoded = []
  for (const value of values) {
    const bytes = encode(value)
    if (value.index % 7 === 0) transfer(bytes)
    else encoded.push(bytes)
  }
  t.deepEqual(encoded.map((bytes) => decode(bytes)), values.filter(({ index }) => index % 7 !== 0))
  t.end()
})

tape('write memory: values larger than what is left of it do not go the long way one after the other', (t) => {
  for (const size of [600, 1200, 2000]) {
    const value = { text: 'x'.repeat(size) }
    const encoded = Array.from({ length: 500 }, () => encode(value))
    const copiedCount = encoded.filter((bytes, index) => index > 0 && !isBeside(bytes, encoded[index - 1])).length
    t.ok(copiedCount < 500 / 2, `${size} bytes: ${copiedCount} of 500 lie elsewhere than the one before`)
  }
  t.end()
})

tape('write memory: what a toJSON encodes shares memory too', (t) => {
  for (const encodeOne of [encode, encodeCanonical]) {
    const inner = []
    const keep = (index) => ({ toJSON () { inner.push(encodeOne({ index })); return null } })
    for (let index = 0; index < 500; index++) encodeOne([keep(index), { more: keep(index) }])
    const memories = new Set(inner.map(({ buffer }) => buffer))
    t.ok(memories.size < 10, `${inner.length} values in ${memories.size} pieces of memory`)
    t.ok(inner.every((bytes, index) => decode(bytes).index === index >> 1))
  }
  t.end()
})

/**
 * @param {Buffer} bytes
 * @param {Buffer} before
 */
function isBeside (bytes, before) {
  return bytes.buffer === before.buffer && bytes.byteOffset === before.byteOffset + before.length
}

/**
 * What writes to the same memory, and takes nothing of it.
 * @param {number} kind
 * @param {object} value
 * @returns {boolean}  whether it went as it should
 */
function disturb (kind, value) {
  switch (kind) {
    case 0: return encodingLength(value) > 0
    case 1: return encode(value, Buffer.alloc(encodingLength(value) + 3), 2) > 0
    case 2: return thrownBy(() => encode([value, new Map()])).code === 'ERR_CODEC_ENCODE'
    case 3: return thrownBy(() => encode(value, Buffer.alloc(2))).code === 'ERR_INVALID_ARGUMENT'
    default: return true
  }
}

/** @param {Buffer} bytes */
function transfer (bytes) {
  const { port1 } = new MessageChannel()
  try {
    port1.postMessage(bytes, [bytes.buffer])
  } catch (err) {
    if (/** @type {Error} */ (err).name !== 'DataCloneError') throw err // what Node.js does from version 21 on
  } finally {
    port1.close()
  }
}
