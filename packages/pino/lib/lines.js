'use strict'
// What a line is to a log: one JSON object. Text that is none becomes the message of one.

const { findLevel, labelOf } = require('@millrace/where')

const NEWLINE = 10
const RETURN = 13
const BRACE = 123
const BRACE_END = 125
const QUOTE = 34

/** @typedef {{ text: string, level: unknown }} Line */

/** Without the end of the line. @param {string} text */
function trimEnd (text) {
  let end = text.length
  if (end > 0 && text.charCodeAt(end - 1) === NEWLINE) end--
  if (end > 0 && text.charCodeAt(end - 1) === RETURN) end--
  return end === text.length ? text : text.slice(0, end)
}

/** Whether a text that pino made is whole. It does not parse: that would cost as much as making the line. */
function looksWhole (/** @type {string} */ text) {
  return text.charCodeAt(0) === BRACE && text.charCodeAt(1) === QUOTE && text.charCodeAt(text.length - 1) === BRACE_END
}

/**
 * Checks a text that may be anything.
 * @param {string} text
 * @param {object} about
 * @param {unknown} about.level  undefined if only the text can say it
 * @param {string} about.messageKey
 * @returns {Line}
 */
function checkLine (text, { level, messageKey }) {
  const found = parseObject(text)
  if (found !== null) return { text, level: level ?? levelOf(found) }
  const line = { level: typeof level === 'number' ? level : 30, time: Date.now(), [messageKey]: text }
  return { text: JSON.stringify(line), level: line.level }
}

/** @type {(text: string) => Record<string, unknown> | null} */
function parseObject (text) {
  try {
    const value = JSON.parse(text)
    return typeof value === 'object' && !Array.isArray(value) ? value : null
  } catch {
    return null
  }
}

/** A number or a label, as the line says; info if it says none. @param {Record<string, unknown>} line */
function levelOf (line) {
  const { level } = line
  if (typeof level === 'string') return level.toLowerCase()
  if (typeof level === 'number') return level
  const found = findLevel(line)
  return found === null ? 'info' : labelOf(found.level)
}

exports.checkLine = checkLine
exports.looksWhole = looksWhole
exports.trimEnd = trimEnd
