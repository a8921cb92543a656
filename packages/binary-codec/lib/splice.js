'use strict'
// Buffers that hold an encoded value already: encode copies their bytes in as they are. Kept in a set beside them, so
// that marking leaves no property on the buffer.

const { misuse } = require('@millrace/errors')

/** @type {WeakSet<Uint8Array>} */
const marked = new WeakSet()

/**
 * @template {Uint8Array} T
 * @param {T} buf  holds exactly one encoded value by the time it is encoded into another; `encode` checks it then
 * @returns {T}  the same buffer
 */
function markIdempotent (buf) {
  if (!(buf instanceof Uint8Array)) throw misuse(`markIdempotent: expected a Buffer, got ${typeof buf}`)
  marked.add(buf)
  return buf
}

/**
 * @param {any} buf
 * @returns {boolean}
 */
function isIdempotent (buf) {
  return marked.has(buf)
}

exports.markIdempotent = markIdempotent
exports.isIdempotent = isIdempotent
