'use strict'
// Sound records of all kinds of values, at random.

const { STRING, BUFFER, INT, DOUBLE, ARRAY, OBJECT, BOOLNULL, EXTENSION } = require('./tree')

/** @typedef {import('./tree').Node} Node */

/** Keys that a careless reader trips over, and those that filters ask for. */
const KEYS = ['a', 'b', 'c', 'value', 'content', 'type', 'author', 'root', '', '__proto__', 'constructor', 'toString',
  'hasOwnProperty', 'length', 'toJSON', '0', '1', '4294967295', '-1', 'ключ', '\ufffd', '\u0000', 'then',
  'a'.repeat(32), 'b'.repeat(33), 'x'.repeat(300)]
const TEXTS = ['', 'a', 'post', 'vote', 'é', '\ufffd', '😀', '\u0000', 'constructor', '__proto__', 'x'.repeat(12),
  'x'.repeat(13), 'y'.repeat(27), 'y'.repeat(28), 'é'.repeat(40)]
const NUMBERS = [0, 1, -1, 127, 128, 2147483647, 2147483648, -2147483647, -2147483648, 1.5, 1e300, 5e-324, -0, NaN,
  Infinity, -Infinity, 2 ** 53]
const DATES = [0, 1, -1, NaN, 1700000000000, 8.64e15, -8.64e15]
const BIGINT_SIZES = [0, 1, 1, 2, 8, 9, 40]

const keyPayloads = KEYS.map((key) => Buffer.from(key))
const textPayloads = TEXTS.map((text) => Buffer.from(text))

/** @typedef {(limit: number) => number} Random */

/**
 * @param {Random} random
 * @param {number} [depth]  how much further it may nest
 * @returns {Node}
 */
function makeTree (random, depth = 3) {
  const kind = depth === 0 ? 9 : random(10)
  if (kind > 5) return makeScalar(random)
  const count = random(5)
  /** @type {Node[]} */
  const children = []
  if (kind < 2) {
    for (let index = 0; index < count; index++) children.push(makeTree(random, depth - 1))
    return { type: ARRAY, payload: null, children }
  }
  const first = random(keyPayloads.length)
  for (let index = 0; index < count; index++) {
    // One after the other, so that no key comes twice.
    const payload = keyPayloads[(first + index * 7) % keyPayloads.length]
    children.push({ type: STRING, payload, children: null }, makeTree(random, depth - 1))
  }
  return { type: OBJECT, payload: null, children }
}

/**
 * @param {Random} random
 * @returns {Node}
 */
function makeScalar (random) {
  switch (random(9)) {
    case 0: return leaf(STRING, pick(random, textPayloads))
    case 1: return leaf(STRING, Buffer.from(randomBytes(random, random(30)).toString('base64')))
    case 2: return leaf(DOUBLE, double(pick(random, NUMBERS)))
    case 3: return leaf(INT, randomBytes(random, 4))
    case 4: return leaf(BOOLNULL, Buffer.from([[], [0], [1], [2]][random(4)]))
    case 5: return leaf(BUFFER, randomBytes(random, random(20)))
    case 6: return leaf(EXTENSION, Buffer.concat([Buffer.from([1]), double(pick(random, DATES))]))
    case 7: return leaf(EXTENSION, bigint(random, pick(random, BIGINT_SIZES)))
    default: return leaf(INT, int(random(10)))
  }
}

/**
 * @param {number} type
 * @param {Buffer} payload
 * @returns {Node}
 */
function leaf (type, payload) {
  return { type, payload, children: null }
}

/**
 * @param {Random} random
 * @param {number} size  of the magnitude, in bytes
 */
function bigint (random, size) {
  const bytes = Buffer.concat([Buffer.from([2, size === 0 ? 0 : random(2)]), randomBytes(random, size)])
  if (size > 0 && bytes[bytes.length - 1] === 0) bytes[bytes.length - 1] = 1
  return bytes
}

/** @param {number} value */
function double (value) {
  const bytes = Buffer.alloc(8)
  bytes.writeDoubleLE(value)
  return bytes
}

/** @param {number} value */
function int (value) {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32LE(value)
  return bytes
}

/**
 * @param {Random} random
 * @param {number} size
 * @returns {Buffer}
 */
function randomBytes (random, size) {
  const bytes = Buffer.allocUnsafe(size)
  for (let at = 0; at < size; at++) bytes[at] = random(256)
  return bytes
}

/**
 * @template T
 * @param {Random} random
 * @param {T[]} list
 * @returns {T}
 */
function pick (random, list) {
  return list[random(list.length)]
}

exports.KEYS = KEYS
exports.NUMBERS = NUMBERS
exports.TEXTS = TEXTS
exports.keyPayloads = keyPayloads
exports.makeScalar = makeScalar
exports.makeTree = makeTree
exports.pick = pick
exports.randomBytes = randomBytes
