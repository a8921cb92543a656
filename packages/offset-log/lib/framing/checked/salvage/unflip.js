'use strict'
// Finds the one bit of a chunk's header that was flipped. A flipped bit changes a checksum by the same difference
// whatever the other bits are, and each bit by another one.

const { crc32OfFew } = require('../crc32')
const { CHUNK_HEADER_SIZE } = require('../layout')

/** By that difference: which bit it is, from bit 0 of byte 0 on. */
const bitsByDifference = findDifferences()

function findDifferences () {
  const head = Buffer.alloc(CHUNK_HEADER_SIZE)
  const base = differenceOf(head, 0)
  /** @type {Map<number, number>} */
  const bits = new Map()
  for (let bit = 0; bit < 8 * CHUNK_HEADER_SIZE; bit++) {
    flip(head, bit)
    bits.set((differenceOf(head, 0) ^ base) >>> 0, bit)
    flip(head, bit)
  }
  return bits
}

/**
 * @param {Buffer} head  a chunk's header
 * @param {number} salt
 * @returns {Buffer | null}  a copy of it that has its own checksum; null if not one bit makes the difference
 */
function unflip (head, salt) {
  const bit = bitsByDifference.get(differenceOf(head, salt))
  if (bit === undefined) return null
  const copy = Buffer.from(head)
  flip(copy, bit)
  return copy
}

/**
 * @param {Buffer} head
 * @param {number} salt
 * @returns {number}  between the checksum that it has and the one that it should have
 */
function differenceOf (head, salt) {
  return (crc32OfFew(head, 4, CHUNK_HEADER_SIZE, salt) ^ head.readUInt32BE(0)) >>> 0
}

/**
 * @param {Buffer} head
 * @param {number} bit
 */
function flip (head, bit) {
  head[bit >>> 3] ^= 1 << (bit & 7)
}

exports.unflip = unflip
