'use strict'
// Strings from bytes. Invalid UTF-8 becomes U+FFFD, as everywhere in Node.

const { TextTable } = require('./text-table')

/**
 * The methods below are Node's own and public in practice (`toString` calls them after looking up the encoding), but
 * its type declarations leave them out.
 * @typedef {Buffer & {
 *   latin1Slice: (start: number, end: number) => string,
 *   utf8Slice: (start: number, end: number) => string,
 *   utf8Write: (text: string, start: number) => number
 * }} TextBuffer
 */

/**
 * @param {Uint8Array} buf
 * @returns {TextBuffer}  the same memory
 */
function asTextBuffer (buf) {
  return /** @type {TextBuffer} */ (Buffer.isBuffer(buf) ? buf : Buffer.from(buf.buffer, buf.byteOffset, buf.length))
}

const commonKeys = new TextTable(32)
/** Values repeat less than keys do, and must not push them out: they have a table of their own. */
const commonValues = new TextTable(12)

/**
 * @param {TextBuffer} buf
 * @param {number} pos
 * @param {number} end
 * @returns {string}  '' unless it is a short text in ASCII, and no name of what all objects inherit
 */
function commonKey (buf, pos, end) {
  const slot = commonKeys.slotOf(buf, pos, end)
  return slot < 0 ? '' : commonKeys.read(buf, pos, end, slot)
}

/**
 * @param {TextBuffer} buf
 * @param {number} pos
 * @param {number} end
 * @returns {string}  '' unless it is a shorter one
 */
function commonText (buf, pos, end) {
  const slot = commonValues.slotOf(buf, pos, end)
  return slot < 0 ? '' : commonValues.read(buf, pos, end, slot)
}

/**
 * @param {TextBuffer} buf
 * @param {number} pos
 * @param {number} end
 * @returns {string}
 */
function readKey (buf, pos, end) {
  const text = commonKey(buf, pos, end)
  return text === '' && end > pos ? buf.utf8Slice(pos, end) : text
}

exports.asTextBuffer = asTextBuffer
exports.commonKey = commonKey
exports.commonText = commonText
exports.readKey = readKey
