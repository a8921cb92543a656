'use strict'
// Short strings that come again and again, found in a table instead of being made anew: a call into the engine takes
// longer than comparing a dozen bytes. For keys it also gives the engine the one string that it wants for a property.

/** @typedef {import('./text').TextBuffer} TextBuffer */

const SLOTS = 512

/** A newcomer replaces what is in its slot, so the table never grows. It holds ASCII only. */
class TextTable {
  /** @param {number} sizeMax  bytes of the longest string kept */
  constructor (sizeMax) {
    this.sizeMax = sizeMax
    /** @type {string[]} */
    this.texts = new Array(SLOTS).fill('')
  }

  /**
   * @param {Uint8Array} buf
   * @param {number} pos
   * @param {number} end
   * @returns {number}  where a string of these bytes may be; -1 when it is empty or too long to be kept
   */
  slotOf (buf, pos, end) {
    const size = end - pos
    if (size === 0 || size > this.sizeMax) return -1
    const inner = buf[pos + (size >> 1)] * 7 + buf[pos + (size * 3 >> 2)] * 13
    return (buf[pos] + inner + buf[end - 1] * 31 + size * 67) & (SLOTS - 1)
  }

  /**
   * @param {TextBuffer} buf
   * @param {number} pos
   * @param {number} end
   * @param {number} slot  from `slotOf`, not -1
   * @returns {string}  '' for bytes that are not ASCII, and for names of what all objects inherit
   */
  read (buf, pos, end, slot) {
    const known = this.texts[slot]
    if (known.length === end - pos && equalsAscii(buf, pos, known)) return known
    for (let i = pos; i < end; i++) if (buf[i] >= 0x80) return ''
    const text = buf.latin1Slice(pos, end)
    if (text in Object.prototype) return ''
    this.texts[slot] = text
    return text
  }
}

/**
 * @param {Uint8Array} buf
 * @param {number} pos
 * @param {string} text  all ASCII
 * @returns {boolean}
 */
function equalsAscii (buf, pos, text) {
  for (let i = 0; i < text.length; i++) if (buf[pos + i] !== text.charCodeAt(i)) return false
  return true
}

exports.TextTable = TextTable
