'use strict'
// Random values from a seed, quickly: fast-check's shrinking is not worth its time over 100,000 of them.

const { randomInt } = require('node:crypto')

const STRINGS = ['', 'a', 'é', '\ufffd', '\u0000', '😀', 'x'.repeat(15), 'x'.repeat(16), 'é'.repeat(8), 'y'.repeat(27),
  'y'.repeat(28), 'é'.repeat(1024), 'z'.repeat(2047), 'z'.repeat(2048)]
const NUMBERS = [0, 1, -1, 127, 128, 2147483647, 2147483648, -2147483647, -2147483648, -2147483649, 1.5, 1e300, 5e-324,
  Number.MAX_SAFE_INTEGER]
const KEYS = ['a', 'b', 'c', 'd', 'value', 'content', 'constructor', 'toString', 'length', '0', '7', '', 'ключ']

/**
 * @param {number} [seed]
 * @returns {{ seed: number, next: () => number, below: (n: number) => number, pick: (list: any[]) => any,
 *   value: (depth?: number) => any, bytes: (size: number) => Buffer }}
 */
function createRandom (seed = randomInt(2 ** 31)) {
  let state = seed
  // mulberry32
  const next = () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
  const below = (n) => Math.floor(next() * n)
  const pick = (list) => list[below(list.length)]
  const bytes = (size) => Buffer.from(Array.from({ length: size }, () => below(256)))

  const scalar = () => {
    switch (below(8)) {
      case 0: return pick(STRINGS)
      case 1: return bytes(below(20)).toString('base64')
      case 2: return pick(NUMBERS)
      case 3: return below(2 ** 32) - 2 ** 31
      case 4: return (next() - 0.5) * 10 ** below(20)
      case 5: return pick([true, false, null, undefined])
      case 6: return bytes(below(20))
      default: return below(10)
    }
  }
  const value = (depth = 3) => {
    const kind = depth === 0 ? 9 : below(10)
    if (kind > 4) return scalar()
    const items = Array.from({ length: below(5) }, () => value(depth - 1))
    if (kind < 2) return items
    return Object.fromEntries(items.map((item) => [below(4) === 0 ? `k${below(1000)}` : pick(KEYS), item]))
  }
  return { seed, next, below, pick, value, bytes }
}

/**
 * @param {any} value
 * @param {Array<string | number>} [path]
 * @returns {Array<{ path: Array<string | number>, value: any }>}  the value and all that is in it
 */
function listPaths (value, path = []) {
  const self = [{ path, value }]
  if (value === null || typeof value !== 'object' || ArrayBuffer.isView(value)) return self
  const keys = Array.isArray(value) ? value.map((_, index) => index) : Object.keys(value)
  return self.concat(...keys.map((key) => listPaths(value[key], [...path, key])))
}

/**
 * @param {ReturnType<typeof createRandom>} random
 * @param {Buffer} bytes
 * @returns {Buffer}  damaged: bits flipped, bytes replaced, cut short, or a part copied over another
 */
function mutate (random, bytes) {
  let buf = Buffer.from(bytes)
  for (let edits = 1 + random.below(3); edits > 0 && buf.length > 0; edits--) {
    const at = random.below(buf.length)
    switch (random.below(5)) {
      case 0: buf[at] ^= 1 << random.below(8); break
      case 1: buf[at] = random.below(256); break
      case 2: buf = buf.subarray(0, at); break
      case 3: buf.copy(buf, random.below(buf.length), at, at + random.below(16)); break
      default: buf = Buffer.concat([buf.subarray(0, at), random.bytes(random.below(4)), buf.subarray(at)])
    }
  }
  return buf
}

exports.createRandom = createRandom
exports.listPaths = listPaths
exports.mutate = mutate
