'use strict'
// Damages bytes without knowing what they mean.

/** @typedef {(limit: number) => number} Random */

const BYTES = [0, 1, 0x7f, 0x80, 0xfe, 0xff]

/**
 * @param {Random} random
 * @param {Buffer} bytes  left as they are
 * @param {object} [options]
 * @param {number} [options.edits]
 * @param {number} [options.from]  nothing before it is changed, as far as the bytes reach that far
 * @returns {Buffer}  often of another size
 */
function mutateBytes (random, bytes, { edits = 1 + random(3), from = 0 } = {}) {
  /** @type {Buffer} */
  let buf = Buffer.from(bytes)
  for (; edits > 0 && buf.length > 0; edits--) {
    const start = from < buf.length ? from : 0
    buf = mutateOnce(random, buf, start + random(buf.length - start))
  }
  return buf
}

/**
 * @param {Random} random
 * @param {Buffer} buf  may be changed in place
 * @param {number} at
 * @returns {Buffer}
 */
function mutateOnce (random, buf, at) {
  const size = 1 + random(random(4) === 0 ? Math.max(1, buf.length - at) : 16)
  switch (random(10)) {
    case 0: case 1: buf[at] ^= 1 << random(8); return buf
    case 2: buf[at] = random(256); return buf
    case 3: buf[at] = BYTES[random(BYTES.length)]; return buf
    case 4: return buf.subarray(0, at)
    case 5: return Buffer.concat([buf, makeNoise(random, size)])
    case 6: buf.fill(0, at, Math.min(buf.length, at + size)); return buf
    case 7: makeNoise(random, Math.min(size, buf.length - at)).copy(buf, at); return buf
    case 8: return random(2) === 0 ? swap(random, buf, at, size) : repeat(random, buf, at, size)
    default: return insertOrRemove(random, buf, at, size)
  }
}

/**
 * @param {Random} random
 * @param {Buffer} buf
 * @param {number} at
 * @param {number} size
 */
function swap (random, buf, at, size) {
  const other = random(buf.length)
  const count = Math.min(size, buf.length - at, buf.length - other)
  const kept = Buffer.from(buf.subarray(at, at + count))
  buf.copyWithin(at, other, other + count)
  kept.copy(buf, other)
  return buf
}

/**
 * @param {Random} random
 * @param {Buffer} buf
 * @param {number} at
 * @param {number} size
 */
function repeat (random, buf, at, size) {
  buf.copyWithin(random(buf.length), at, Math.min(buf.length, at + size))
  return buf
}

/**
 * @param {Random} random
 * @param {Buffer} buf
 * @param {number} at
 * @param {number} size
 */
function insertOrRemove (random, buf, at, size) {
  const isInsertion = random(2) === 0
  const inserted = isInsertion ? makeNoise(random, Math.min(size, 64)) : Buffer.alloc(0)
  return Buffer.concat([buf.subarray(0, at), inserted, buf.subarray(isInsertion ? at : at + size)])
}

/**
 * @param {Random} random
 * @param {number} size
 */
function makeNoise (random, size) {
  const bytes = Buffer.allocUnsafe(size)
  // Most bytes cost no number of their own: what matters is that they are not what was there.
  let word = 0
  for (let at = 0; at < size; at++) {
    if (at % 4 === 0) word = random(2 ** 32)
    bytes[at] = word >>> at % 4 * 8
  }
  return bytes
}

exports.makeNoise = makeNoise
exports.mutateBytes = mutateBytes
