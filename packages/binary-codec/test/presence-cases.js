'use strict'
// Filters that ask whether something is there, of binary records, against decoding and looking: random records, sound
// and damaged. Longer than a test has time for: node presence-cases.js [--cases 100000] [--seed N]

const { parseArgs } = require('node:util')
const { parseWhere, matches } = require('@millrace/where')
const { binaryCodec, encode } = require('..')
const { createExtendedRandom } = require('./random-extended')
const { mutate, listPaths } = require('./random-values')
const { thrownBy } = require('./helpers')

const KEYS = ['a', 'b', '__proto__', 'constructor', 'toString', 'length', '0', '1', '-1', '', 'a.b', '.', 'byteLength', 'é',
  '\ufffd', '\ud800', '\udc00\ud800', 'x'.repeat(15), 'x'.repeat(16), 'x'.repeat(300)]

/**
 * @param {{ cases: number, seed?: number }} options
 * @returns {{ failure: any, hits: number, refused: number, seed: number }}  the first that is answered otherwise; how
 *   many records fulfilled their filter, and how many do not decode
 */
function runPresenceCases ({ cases, seed }) {
  const random = createExtendedRandom(seed)
  let [hits, refused] = [0, 0]
  for (let index = 0; index < cases; index++) {
    const value = makeHostile(random, 3)
    const record = index % 4 === 0 ? mutate(random, encode(value)) : encode(value)
    const where = makeWhere(random, value)
    const around = random.bytes(random.below(40))
    const buf = Buffer.concat([around, record, record.subarray(random.below(record.length + 1))])
    const answer = binaryCodec.compile(where)(buf, around.length, around.length + record.length)
    const isRefused = thrownBy(() => binaryCodec.decode(record)) !== undefined
    const expected = isRefused ? answer : matches(parseWhere(where), binaryCodec.decode(record))
    if (answer !== expected) return { failure: { where, record, answer }, hits, refused, seed: random.seed }
    if (isRefused) refused++
    else if (answer) hits++
  }
  return { failure: null, hits, refused, seed: random.seed }
}

/** Of all kinds of values, under keys that objects, arrays or strings have without having them. */
function makeHostile (random, depth) {
  if (depth === 0 || random.below(4) === 0) return random.value(1)
  const items = Array.from({ length: random.below(6) }, () => makeHostile(random, depth - 1))
  if (random.below(5) === 0) return items
  const object = Object.fromEntries(items.map((item) => [random.pick(KEYS), item]))
  // Of two keys that become one the second is refused.
  if (Object.hasOwn(object, '\ufffd')) delete object['\ud800']
  return object
}

/** One condition or some, of what is there and what is not; one in four is an equality. */
function makeWhere (random, value) {
  const parts = listPaths(value).filter(({ path }) => path.every((key) => typeof key === 'string'))
  const conditions = Array.from({ length: 1 + random.below(3) }, () => {
    const part = random.pick(parts)
    const path = random.below(3) > 0 ? part.path : [...part.path.slice(random.below(2)), random.pick(KEYS)]
    const isPrimitive = part.value === null || ['string', 'boolean'].includes(typeof part.value)
    if (random.below(4) === 0) return { path, equals: isPrimitive ? part.value : null }
    const isLikely = random.below(3) > 0
    return { path, exists: isLikely === (path === part.path) }
  })
  return conditions.length === 1 ? conditions[0] : conditions
}

exports.runPresenceCases = runPresenceCases

if (require.main === module) {
  const { values: { cases, seed } } = parseArgs({
    options: { cases: { type: 'string', default: '100000' }, seed: { type: 'string' } }
  })
  const result = runPresenceCases({ cases: Number(cases), seed: seed === undefined ? undefined : Number(seed) })
  console.log(result)
  process.exitCode = result.failure === null ? 0 : 1
}
