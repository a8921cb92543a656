'use strict'
// Random numbers from a seed: sfc32, by Chris Doty-Humphrey (PractRand). A weaker generator makes a log whose record
// lengths repeat, and the branch predictor of the machine learns them.

/**
 * @typedef {object} Prng
 * @property {() => number} uint32  0 to 2^32 - 1
 * @property {() => number} fraction  0 to just below 1
 * @property {(count: number) => number} below  a whole number, 0 to count - 1
 * @property {(probability: number) => boolean} chance
 * @property {<T>(list: ReadonlyArray<T>) => T} pick
 * @property {(count: number) => string} base64  of that many random bytes
 */

const POOL_SIZE = 4096

/**
 * @param {number} seed  a 32-bit integer
 * @returns {Prng}
 */
function createPrng (seed) {
  let [a, b, c, counter] = [0, seed >>> 0, 0x9e3779b9, 1]
  // The state begins nearly empty: the first rounds spread the seed over all of it.
  for (let i = 0; i < 16; i++) uint32()

  function uint32 () {
    const result = (((a + b) | 0) + counter) | 0
    counter = (counter + 1) | 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) | 0
    c = (((c << 21) | (c >>> 11)) + result) | 0
    return result >>> 0
  }

  const fraction = () => uint32() / 4294967296
  /** @param {number} count */
  const below = (count) => Math.floor(fraction() * count)
  const pool = Buffer.alloc(POOL_SIZE)

  /** @param {number} count */
  function base64 (count) {
    const bytes = count <= POOL_SIZE ? pool : Buffer.alloc(count + 3)
    for (let i = 0; i < count; i += 4) bytes.writeInt32LE(uint32() | 0, i)
    return bytes.toString('base64', 0, count)
  }

  return {
    uint32,
    fraction,
    below,
    chance: (probability) => fraction() < probability,
    pick: (list) => list[below(list.length)],
    base64
  }
}

exports.createPrng = createPrng
