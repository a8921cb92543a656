'use strict'
// `--where`: a condition as people type it, to one of the filter language.

const { misuse } = require('@millrace/errors')

// The longer ones first: `>=` begins with `>`.
const OPERATORS = ['=']
const KEY = /"(?:[^"\\]|\\.)*"|[^."=!<>^~]+/y

/**
 * @typedef {{ path: string[], exists: boolean }} Presence
 * @typedef {{ path: string[], equals: string | number | boolean | null }} Equality
 * @typedef {Presence | Equality} FilterCondition
 */

/**
 * `path=value`, or `path` alone: something is there; or `!path`: nothing is. Dots join keys; a key that holds a dot or
 * an operator is written as a JSON string. The value is JSON if it parses, else text.
 * @param {string} text
 * @returns {FilterCondition}
 * @throws {TypeError} ERR_INVALID_ARGUMENT
 */
function parseFilter (text) {
  const isAbsent = text.startsWith('!')
  const { path, rest } = parsePath(isAbsent ? text.slice(1) : text, text)
  if (rest === '') return { path, exists: !isAbsent }
  const operator = OPERATORS.find((operator) => rest.startsWith(operator))
  if (isAbsent || operator === undefined) throw expected(text)
  return { path, equals: parseValue(rest.slice(operator.length), text) }
}

/**
 * @param {string} text
 * @param {string} whole  for the message
 */
function parsePath (text, whole) {
  const path = []
  let at = 0
  for (;;) {
    KEY.lastIndex = at
    const found = KEY.exec(text)
    if (found === null) throw expected(whole)
    path.push(found[0].startsWith('"') ? parseKey(found[0], whole) : found[0])
    at = KEY.lastIndex
    if (text[at] !== '.') return { path, rest: text.slice(at) }
    at++
  }
}

/** @param {string} quoted @param {string} whole */
function parseKey (quoted, whole) {
  try {
    return JSON.parse(quoted)
  } catch {
    throw expected(whole)
  }
}

/** @param {string} text @param {string} whole */
function parseValue (text, whole) {
  let value
  try {
    value = JSON.parse(text)
  } catch {
    return text
  }
  if (value === null || typeof value !== 'object') return value
  throw misuse(`a record is compared with a text, a number, true, false or null, and ${whole} has an object or an array; ` +
    'write it in quotes if it is a text')
}

/** @param {string} text */
function expected (text) {
  return misuse(`${text} is no filter: expected path=value, path (something is there) or !path (nothing is), as in ` +
    'content.type=post')
}

exports.parseFilter = parseFilter
