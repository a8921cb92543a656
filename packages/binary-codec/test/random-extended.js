'use strict'
// Random values of every kind that a record holds, beside those that bipf knows. Not the invalid Date: some versions of
// Node.js say that it does not equal itself.

const { createRandom } = require('./random-values')

const TYPED_ARRAYS = [Uint8Array, Uint8ClampedArray, Int8Array, Uint16Array, Int16Array, Uint32Array, Int32Array,
  globalThis.Float16Array, Float32Array, Float64Array, BigUint64Array, BigInt64Array].filter(Boolean)
const NUMBERS = [NaN, Infinity, -Infinity, -0, 0, 5, 2 ** 53, 2 ** 63]
const KEYS = ['a', 'b', 'c', '__proto__', 'constructor', 'toString', 'length', '0', 'buffer', 'byteLength', '', 'é',
  '\uffff', '😀']

/**
 * @param {number} [seed]
 * @returns {ReturnType<typeof createRandom> & { typed: () => any }}  `value` gives all kinds
 */
function createExtendedRandom (seed) {
  const random = createRandom(seed)
  const { below, pick, bytes, value: bipfValue } = random

  const bigint = () => {
    const magnitude = BigInt(`0x0${bytes(below(12)).toString('hex')}`)
    return below(2) === 0 ? magnitude : -magnitude
  }
  const typed = () => {
    const Type = pick([...TYPED_ARRAYS, DataView, ArrayBuffer])
    const size = below(4) * (Type.BYTES_PER_ELEMENT ?? 1)
    const before = 8 * below(2)
    const { buffer } = new Uint8Array([...bytes(before), ...bytes(size)])
    if (Type === ArrayBuffer) return buffer.slice(before)
    return below(2) === 0 ? new Type(buffer.slice(before)) : new Type(buffer, before)
  }
  const scalar = () => {
    switch (below(6)) {
      case 0: return typed()
      case 1: return bigint()
      case 2: return new Date(below(3) === 0 ? below(3) : below(2 ** 40) - 2 ** 39)
      case 3: return pick(NUMBERS)
      case 4: return below(6)
      default: return bipfValue(0)
    }
  }
  const value = (depth = 3) => {
    const kind = depth === 0 ? 9 : below(10)
    if (kind > 4) return scalar()
    const items = Array.from({ length: below(5) }, () => value(depth - 1))
    return kind < 2 ? items : Object.fromEntries(items.map((item) => [pick(KEYS), item]))
  }
  return { ...random, value, typed }
}

exports.TYPED_ARRAYS = TYPED_ARRAYS
exports.createExtendedRandom = createExtendedRandom
