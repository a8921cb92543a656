'use strict'
// Filters of every operator, of binary records, sound and damaged, against decoding and comparing. Longer than a test
// has time for: node filter-cases.js [--cases 1000000] [--seed N]

const { parseArgs } = require('node:util')
const { makeValue, runFilterCases } = require('@millrace/testkit')
const { binaryCodec, encode } = require('..')
const { createExtendedRandom } = require('./random-extended')
const { mutate } = require('./random-values')

/** @param {{ cases: number, seed?: number }} options */
function runBinaryFilterCases ({ cases, seed }) {
  const random = createExtendedRandom(seed)
  const makeRecord = () => {
    const value = random.below(4) === 0 ? random.value() : makeSome(random)
    const bytes = encode(value)
    if (random.below(10) > 0) return { value, bytes: asDoubles(random, bytes) }
    // Invalid UTF-8, or any damage.
    return { value, bytes: random.below(2) === 0 ? mutate(random, bytes) : spoilText(random, Buffer.from(bytes)) }
  }
  const result = runFilterCases({ codec: binaryCodec, random: random.below, makeRecord, parse, cases })
  return { seed: random.seed, ...result }
}

function makeSome (random) {
  for (;;) {
    const value = makeValue(random.below)
    try {
      encode(value)
      return value
    } catch {
      // Two keys become one: U+FFFD and half a pair.
    }
  }
}

function parse (bytes) {
  try {
    return { value: binaryCodec.decode(bytes) }
  } catch {
    return undefined
  }
}

/** An int on its own, written as a double: other writers do so. */
function asDoubles (random, bytes) {
  if (bytes[0] !== 0x22 || random.below(2) === 0) return bytes
  const double = Buffer.alloc(9, 0x43)
  double.writeDoubleLE(bytes.readInt32LE(1), 1)
  return double
}

function spoilText (random, bytes) {
  return bytes.map((byte) => byte >= 0xc0 && random.below(2) === 0 ? 0x80 + random.below(128) : byte)
}

exports.runBinaryFilterCases = runBinaryFilterCases

if (require.main === module) {
  const { values: { cases, seed } } = parseArgs({
    options: { cases: { type: 'string', default: '1000000' }, seed: { type: 'string' } }
  })
  const result = runBinaryFilterCases({ cases: Number(cases), seed: seed === undefined ? undefined : Number(seed) })
  console.dir(result, { depth: 9 })
  process.exitCode = result.failure === null ? 0 : 1
}
