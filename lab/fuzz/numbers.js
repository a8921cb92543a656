'use strict'
// Numbers that a careless reader trips over: around what widths, pages and sizes end at.

/** @typedef {(limit: number) => number} Random */

const NUMBERS = [
  0, 1, 2, 3, 4, 5, 7, 8, 20, 39, 40, 41, 43, 44, 255, 256, 511, 512, 4095, 4096, 8192, 16343, 16344, 16345,
  16383, 16384, 16385, 24576, 32767, 32768, 32769, 65535, 65536, 2 ** 20, 2 ** 30 - 1, 2 ** 30, 2 ** 30 + 1,
  2 ** 31 - 1, 2 ** 31, 3 * 2 ** 30, 2 ** 32 - 2, 2 ** 32 - 1,
  2 ** 32, 2 ** 40, 2 ** 48 - 2, 2 ** 48 - 1]

/**
 * @param {Random} random
 * @param {number[]} near  numbers of the file at hand: sizes, positions
 * @returns {number}  whole, from 0 to below 2^48
 */
function hostileNumber (random, near) {
  switch (random(6)) {
    case 0: case 1: return NUMBERS[random(NUMBERS.length)]
    case 2: return random(2 ** 32)
    case 3: return random(300)
    default:
      if (near.length === 0) return random(2 ** 16)
      return Math.max(0, near[random(near.length)] + DISTANCES[random(DISTANCES.length)])
  }
}

const DISTANCES = [0, 0, 0, 1, -1, 4, -4, 8, -8, 12, -12, 40, -40, 44, -44, 16384, -16384]

/**
 * @param {Buffer} bytes
 * @param {number} offset
 * @param {number} width  in bytes, at most 8
 * @param {number} value  its lowest bytes are written
 */
function writeNumber (bytes, offset, width, value) {
  for (let at = offset + width - 1; at >= offset; at--) {
    if (at < bytes.length) bytes[at] = value % 256
    value = Math.floor(value / 256)
  }
}

exports.hostileNumber = hostileNumber
exports.writeNumber = writeNumber
