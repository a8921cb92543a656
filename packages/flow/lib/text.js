'use strict'
// Text that comes from a file and goes to a terminal: whatever a terminal would obey, or show in another order than it
// is stored, is spelled out.

// C0, DEL and C1; the marks and embeddings of bidirectional text; what ends a line where nobody expects it.
// eslint-disable-next-line no-control-regex -- these are the ones to be found
const HARMFUL = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/
const ALL_HARMFUL = new RegExp(HARMFUL, 'g')

/**
 * Spells out what a terminal would obey, such as `\u001b`.
 * The spelling is that of JSON: in a JSON text without line breaks, such characters are in strings only, and the text
 * means the same as before.
 * @param {string} text
 * @returns {string}
 */
function escapeControls (text) {
  return HARMFUL.test(text) ? text.replace(ALL_HARMFUL, spell) : text
}

/** @param {string} character */
function spell (character) {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}

exports.escapeControls = escapeControls
