'use strict'
// Strings as the sequences of characters that their UTF-8 is, rather than of UTF-16 units.

/**
 * @param {string} text
 * @returns {boolean}  whether it has no half of a surrogate pair, which UTF-8 cannot say
 */
function isWellFormed (text) {
  return /** @type {any} */ (text).isWellFormed()
}

/**
 * The order of the UTF-8 bytes. That of the units differs: those of a pair are below U+E000, what they stand for is
 * above U+FFFF.
 * @param {string} a  well-formed, as `b`
 * @param {string} b
 * @returns {number}
 */
function compareCodePoints (a, b) {
  const length = Math.min(a.length, b.length)
  for (let i = 0; i < length; i++) {
    const difference = rank(a.charCodeAt(i)) - rank(b.charCodeAt(i))
    if (difference !== 0) return difference
  }
  return a.length - b.length
}

/**
 * @param {number} unit
 * @returns {number}  its place when surrogates come last
 */
function rank (unit) {
  if (unit < 0xd800) return unit
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800
}

/**
 * @param {string} text
 * @returns {boolean}  whether another text may have the same UTF-8: each half of a surrogate pair becomes U+FFFD
 */
function mayCollide (text) {
  return !isWellFormed(text) || text.includes('\ufffd')
}

/**
 * @param {string} text
 * @returns {string}  what its UTF-8 says
 */
function toWellFormed (text) {
  return /** @type {any} */ (text).toWellFormed()
}

exports.mayCollide = mayCollide
exports.toWellFormed = toWellFormed
exports.isWellFormed = isWellFormed
exports.compareCodePoints = compareCodePoints
