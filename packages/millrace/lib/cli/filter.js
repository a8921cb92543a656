'use strict'
// `--where`: a condition as people type it, to one of the filter language.

const { misuse } = require('@millrace/errors')
const { parseWhere } = require('@millrace/where')

/**
 * @typedef {string | number | boolean | null} Value
 * @typedef {Array<string | number>} Path
 * @typedef {(path: Path, value: Value) => import('@millrace/where').Where} Compare
 */

/** The longer ones first: `>=` begins with `>`. @type {Array<[operator: string, compare: Compare]>} */
const OPERATORS = [
  ['!=', (path, value) => ({ not: { path, equals: value } })],
  ['>=', (path, value) => ({ path, gte: toBound('>=', value) })],
  ['<=', (path, value) => ({ path, lte: toBound('<=', value) })],
  ['~=', (path, value) => ({ path, includes: value })],
  ['=', (path, value) => ({ path, equals: value })],
  ['>', (path, value) => ({ path, gt: toBound('>', value) })],
  ['<', (path, value) => ({ path, lt: toBound('<', value) })]
]
const PREFIX = '^='
const KEY = /"(?:[^"\\]|\\.)*"|[^."=!<>^~]+/y
const INDEX = /^(?:0|[1-9]\d*)$/

/**
 * `path`, an operator and a value; or `path` alone: something is there; or `!path`: nothing is. Dots join keys; whole
 * numbers are indexes; a key that holds a dot or an operator is written as a JSON string. The value is JSON if it
 * parses, else text.
 * @param {string} text
 * @returns {import('@millrace/where').Where}
 * @throws {TypeError} ERR_INVALID_ARGUMENT
 */
function parseFilter (text) {
  const filter = toFilter(text)
  // It knows what is too much.
  parseWhere(filter)
  return filter
}

/** @type {typeof parseFilter} */
function toFilter (text) {
  const isAbsent = text.startsWith('!')
  const { path, rest } = parsePath(isAbsent ? text.slice(1) : text, text)
  if (rest === '') return { path, exists: !isAbsent }
  if (isAbsent) throw expected(text)
  if (rest.startsWith(PREFIX)) return { path, prefix: parseText(rest.slice(PREFIX.length)) }
  const [operator, compare] = OPERATORS.find(([operator]) => rest.startsWith(operator)) ?? []
  if (operator === undefined || compare === undefined) throw expected(text)
  return compare(path, parseValue(rest.slice(operator.length), text))
}

/**
 * @param {string} operator
 * @param {Value} value
 */
function toBound (operator, value) {
  if (typeof value === 'number' || typeof value === 'string') return value
  throw misuse(`${operator} compares numbers with numbers and texts with texts, and ${value} is neither.`)
}

/**
 * What a text begins with is a text, also if it is digits.
 * @param {string} text
 */
function parseText (text) {
  try {
    const value = JSON.parse(text)
    return typeof value === 'string' ? value : text
  } catch {
    return text
  }
}

/**
 * @param {string} text
 * @param {string} whole  for the message
 */
function parsePath (text, whole) {
  /** @type {Path} */
  const path = []
  let at = 0
  for (;;) {
    KEY.lastIndex = at
    const found = KEY.exec(text)
    if (found === null) throw expected(whole)
    path.push(toStep(found[0], whole))
    at = KEY.lastIndex
    if (text[at] !== '.') return { path, rest: text.slice(at) }
    at++
  }
}

/** @param {string} word @param {string} whole */
function toStep (word, whole) {
  if (!word.startsWith('"')) return INDEX.test(word) ? Number(word) : word
  try {
    return JSON.parse(word)
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
    'write it in quotes if it is a text.')
}

/** @param {string} text */
function expected (text) {
  return misuse(`${text} is no filter. Expected a path, one of = != > >= < <= ^= ~= and a value, as in content.type=post; or ` +
    'a path alone (something is there), or !path (nothing is).')
}

exports.parseFilter = parseFilter
