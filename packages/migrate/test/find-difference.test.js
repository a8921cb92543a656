'use strict'
// Differences between decoded values, beside util.isDeepStrictEqual.

const { isDeepStrictEqual } = require('node:util')
const tape = require('tape')
const { createRandom, inQuickRuns } = require('@millrace/testkit')
const { findDifference } = require('../lib/value-loss')

const seed = Date.now() % 2 ** 31

const scalars = [
  null, undefined, true, false, 0, -0, 1, NaN, Infinity, '', 'a', '0', 1n, 2n, Buffer.from('a'), Buffer.from('b'), new Date(0),
  new Date(1), new Date(NaN), new Uint8Array([97])
]

/** @returns {any}  fresh, so that equal values are not the same object */
function randomValue (random, depth = 0) {
  const kind = random(depth > 3 ? 1 : 3)
  if (kind === 0) {
    const value = scalars[random(scalars.length)]
    if (Buffer.isBuffer(value)) return Buffer.from(value)
    return value instanceof Date ? new Date(value) : value
  }
  if (kind === 1) return Array.from({ length: random(3) }, () => randomValue(random, depth + 1))
  const entries = Array.from({ length: random(3) }, () => [['a', 'b', '__proto__', 'toString'][random(4)], randomValue(random, depth + 1)])
  return Object.fromEntries(entries)
}

/** @param {any} value  @param {Array<string | number>} path */
function follow (value, path) {
  for (const key of path) value = value !== null && typeof value === 'object' && Object.hasOwn(value, key) ? value[key] : undefined
  return value
}

tape(`findDifference: tells the same as isDeepStrictEqual, and the way to what differs (seed ${seed})`, (t) => {
  const random = createRandom(seed)
  let equalCount = 0
  for (let round = 0; round < inQuickRuns(30000); round++) {
    const [a, b] = [randomValue(random), randomValue(random)]
    const path = findDifference(a, b)
    if ((path === null) !== isDeepStrictEqual(a, b)) t.fail(`${JSON.stringify([a, b], (_, value) => String(value))} ${path}`)
    if (path === null) equalCount++
    // A key that is missing on one side may be undefined on the other.
    else if (isDeepStrictEqual(follow(a, path), follow(b, path)) && follow(a, path) !== undefined) t.fail(`the way ${path} leads nowhere`)
  }
  t.ok(equalCount > 100, `${equalCount} of them were equal`)
  t.end()
})

tape('findDifference: paths lead from the root to the first difference', (t) => {
  t.equal(findDifference({ a: [1, { b: 'x' }] }, { a: [1, { b: 'x' }] }), null)
  t.deepEqual(findDifference({ a: [1, { b: 'x' }] }, { a: [1, { b: 'y' }] }), ['a', 1, 'b'])
  t.deepEqual(findDifference([1, 2], [1, 2, 3]), [2])
  t.deepEqual(findDifference({ a: 1 }, { a: 1, b: undefined }), ['b'])
  t.deepEqual(findDifference({ a: 1, b: 2 }, { b: 2 }), ['a'])
  t.deepEqual(findDifference(JSON.parse('{"__proto__":{"x":1}}'), JSON.parse('{"__proto__":{"x":2}}')), ['__proto__', 'x'])
  t.deepEqual(findDifference(1, '1'), [])
  t.deepEqual(findDifference([], {}), [])
  t.end()
})
