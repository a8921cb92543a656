'use strict'
// Hostile records: sound ones that were tampered with, two in one, nests, giants and noise.

const { pickWeighted } = require('../../torture/seeded')
const { makeNoise, mutateBytes } = require('../mutate-bytes')
const { makeScalar, makeTree, pick, randomBytes } = require('./make-tree')
const { mutateTree } = require('./mutate-tree')
const { STRING, BUFFER, INT, ARRAY, OBJECT, EXTENSION, writeTree } = require('./tree')

/**
 * @typedef {import('./tree').Node} Node
 * @typedef {(limit: number) => number} Random
 */

/** How many levels there are in nests: around what a reader takes, and far more. */
const LEVELS = [100, 998, 999, 1000, 1001, 1002, 10_000, 20_000]
const GIANT_COUNTS = [100, 1000, 5000]

/** @type {Array<[number, (random: Random) => Buffer]>} by how often */
const MAKERS = [
  [400, (random) => writeTree(makeTree(random))],
  [4500, makeTampered],
  [3000, (random) => mutateBytes(random, writeTree(makeTree(random)))],
  [1000, makeSplice],
  [1000, makeNoiseOfTags],
  [80, (random) => makeNoise(random, random(200))],
  [10, makeNest],
  [10, makeGiant]
]

/**
 * @param {Random} random
 * @returns {Buffer}
 */
function makeRecord (random) {
  return pickWeighted(random, MAKERS)(random)
}

/** @param {Random} random */
function makeTampered (random) {
  const tree = makeTree(random)
  mutateTree(random, tree)
  const bytes = writeTree(tree)
  return random(4) === 0 ? mutateBytes(random, bytes, { edits: 1 }) : bytes
}

/** @param {Random} random */
function makeSplice (random) {
  const [one, other] = [writeTree(makeTree(random)), writeTree(makeTree(random))]
  const parts = [one.subarray(0, random(one.length + 1)), other.subarray(random(other.length + 1))]
  return Buffer.concat(random(2) === 0 ? parts : [one, other])
}

/**
 * Bytes that are tags more often than not.
 * @param {Random} random
 */
function makeNoiseOfTags (random) {
  const bytes = Buffer.allocUnsafe(random(40))
  for (let at = 0; at < bytes.length; at++) {
    bytes[at] = random(3) === 0 ? random(256) : random(8) * 8 + pick(random, [0, 4, 5, 6])
  }
  return bytes
}

/**
 * Arrays or objects inside one another.
 * @param {Random} random
 */
function makeNest (random) {
  const levels = pick(random, LEVELS)
  const isObject = random(2) === 0
  const key = Buffer.from([8, 0x61])
  /** @type {Buffer[]} */
  const parts = [writeTree(makeScalar(random))]
  let size = parts[0].length
  for (let level = 0; level < levels; level++) {
    if (isObject) parts.push(key)
    size += isObject ? key.length : 0
    const tag = encodeTag(size * 8 + (isObject ? OBJECT : ARRAY))
    parts.push(tag)
    size += tag.length
  }
  const bytes = Buffer.concat(parts.reverse())
  return random(3) === 0 ? mutateBytes(random, bytes, { edits: 1 }) : bytes
}

/** @param {number} tag */
function encodeTag (tag) {
  const bytes = []
  for (; tag >= 128; tag = Math.floor(tag / 128)) bytes.push(tag % 128 + 128)
  return Buffer.from([...bytes, tag])
}

/**
 * So large that more than linear work shows.
 * @param {Random} random
 */
function makeGiant (random) {
  const count = pick(random, GIANT_COUNTS)
  const bytes = writeTree(giantTree(random, count))
  return random(3) === 0 ? mutateBytes(random, bytes, { edits: 1 }) : bytes
}

/**
 * @param {Random} random
 * @param {number} count
 * @returns {Node}
 */
function giantTree (random, count) {
  const keyOf = pick(random, [(/** @type {number} */ index) => `k${index}`, String, (/** @type {number} */ index) => 'x'.repeat(index % 50) + index])
  switch (random(6)) {
    case 0: return { type: ARRAY, payload: null, children: Array.from({ length: count }, () => makeScalar(random)) }
    case 1: return { type: STRING, payload: Buffer.alloc(count * 20, pick(random, ['a', 'é', '\xff'])), children: null }
    case 2: return { type: BUFFER, payload: randomBytes(random, count * 20), children: null }
    case 3: {
      const payload = Buffer.concat([Buffer.from([2, 1]), Buffer.alloc(count * 10, 0xa5)])
      return { type: EXTENSION, payload, children: null }
    }
    // One key, often for the second time at the end.
    case 4: return objectOf(random, count, (index) => keyOf(index === count - 1 ? random(count) : index))
    default: return objectOf(random, count, keyOf)
  }
}

/**
 * @param {Random} random
 * @param {number} count
 * @param {(index: number) => string} keyOf
 * @returns {Node}
 */
function objectOf (random, count, keyOf) {
  /** @type {Node[]} */
  const children = []
  for (let index = 0; index < count; index++) {
    const value = { type: INT, payload: Buffer.alloc(4, random(256)), children: null }
    children.push({ type: STRING, payload: Buffer.from(keyOf(index)), children: null }, value)
  }
  return { type: OBJECT, payload: null, children }
}

exports.makeRecord = makeRecord
