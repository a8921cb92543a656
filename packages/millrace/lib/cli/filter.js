'use strict'
// `--where`: a condition as people type it, to one of the filter language.

const { misuse } = require('@millrace/errors')
const { parseWhere } = require('@millrace/where')
const { compareLevel, equalsLevel, isLevel, isLevelField } = require('./filter-levels')
const { OPERATORS, PREFIX, expected, noParentheses, refuseBound, refuseSigns, refuseSpace, refuseText } = require('./filter-refusals')

/**
 * @typedef {string | number | boolean | null} Value
 * @typedef {Array<string | number>} Path
 * @typedef {{ text: string, written: string, value: Value }} Typed  `text`: the whole condition; `written`: its value
 * @typedef {(path: Path, typed: Typed) => import('@millrace/where').Where} Compare
 */

/** @type {Record<string, Compare>} */
const COMPARE = {
  [PREFIX]: (path, { value }) => ({ path, prefix: String(value) }),
  '!=': (path, typed) => ({ not: equals(path, typed) }),
  '>=': (path, typed) => isWithin('gte', path, typed),
  '<=': (path, typed) => isWithin('lte', path, typed),
  '~=': (path, { value }) => ({ path, includes: value }),
  '=': equals,
  '>': (path, typed) => isWithin('gt', path, typed),
  '<': (path, typed) => isWithin('lt', path, typed)
}
const KEY = /"(?:[^"\\]|\\.)*"|[^."=!<>^~]+/y
const INDEX = /^(?:0|[1-9]\d*)$/

/** A condition, or something that can be one: with an operator, or `!` before it. */
const CONDITION = /^\s*(?:!|(?:"(?:[^"\\]|\\.)*"|[^"=!<>^~])+(?:[=<>]|[!^~]=))/
const QUOTED_OR_WORD = /"(?:[^"\\]|\\.)*"|\s(or|and|\|\||&&)\s/gi
const QUOTED = /"(?:[^"\\]|\\.)*"/g
/** A number with a unit, or with what is no condition. */
const MEASURE = /^[+-]?\d+(?:\.\d+)?\s*[a-z%!]/i
const JOINED = /[=<>].*\s(or|and|\|\||&&)(?:\s|$)/i
const WORDS = { any: ['or', '||'], all: ['and', '&&'] }

/**
 * `path`, an operator and a value; or `path` alone: something is there; or `!path`: nothing is. Dots join keys; whole
 * numbers are indexes; a key that holds a dot, an operator or a space at its end is written as a JSON string. The value
 * is JSON if it parses, else text. Conditions may be joined by `or` and `and`, which binds more tightly.
 * @param {string} text
 * @returns {import('@millrace/where').Where}
 * @throws {TypeError} ERR_INVALID_ARGUMENT
 */
function parseFilter (text) {
  const filter = joinAny(text)
  // It knows what is too much.
  parseWhere(filter)
  const joined = JOINED.exec(text.replace(QUOTED, ''))
  if (joined !== null && !('any' in filter) && !('all' in filter)) doubts.set(filter, describeDoubt(text, joined[1]))
  return filter
}

/** What is typed in one way and may be meant in another, by filter. @type {WeakMap<object, string>} */
const doubts = new WeakMap()

/**
 * @param {object[]} filters  of `parseFilter`
 * @returns {string[]}  a sentence for each that may be meant in another way; the next call has none of them
 */
function takeDoubts (filters) {
  return filters.flatMap((/** @type {any} */ filter) => {
    const own = doubts.get(filter) ?? []
    doubts.delete(filter)
    return [own, takeDoubts(filter.any ?? filter.all ?? [])].flat()
  })
}

/** @param {string} text @param {string} word */
function describeDoubt (text, word) {
  return `${text} is one condition, whose value has the word "${word}". A condition must follow, as in type=post ${word} ` +
    'type=vote; a value in quotes is a text in any case'
}

/** @type {typeof parseFilter} */
function joinAny (text) {
  const any = splitAt(WORDS.any, text).map(joinAll)
  return any.length === 1 ? any[0] : { any }
}

/** @type {typeof parseFilter} */
function joinAll (text) {
  const all = splitAt(WORDS.all, text).map(toFilter)
  return all.length === 1 ? all[0] : { all }
}

/**
 * Splits a text at a word, outside of quotes, and only where a condition follows: `title=War or Peace` is one.
 * @param {string[]} words
 * @param {string} text
 */
function splitAt (words, text) {
  const parts = []
  let from = 0
  for (const { 0: found, 1: word, index } of text.matchAll(QUOTED_OR_WORD)) {
    const end = index + found.length
    if (!words.includes(word?.toLowerCase()) || !CONDITION.test(text.slice(end))) continue
    parts.push(text.slice(from, index))
    from = end
  }
  return [...parts, text.slice(from)]
}

/** @type {typeof parseFilter} */
function toFilter (whole) {
  const text = whole.trim()
  if (text.startsWith('(')) throw noParentheses(text)
  const isAbsent = text.startsWith('!')
  const { path, rest } = parsePath(isAbsent ? text.slice(1) : text, text)
  if (rest === '') {
    refuseSpace(path, text)
    return { path, exists: !isAbsent }
  }
  if (isAbsent) throw expected(text)
  refuseSigns(text, rest)
  const operator = OPERATORS.find((name) => rest.startsWith(name))
  if (operator === undefined) throw expected(text)
  const written = rest.slice(operator.length).trim()
  const value = operator === PREFIX ? parseText(written) : parseValue(written, text)
  if (value === written) refuseText(text, written)
  return COMPARE[operator](path, { text, written, value })
}

/** @type {Compare} */
function equals (path, { written, value }) {
  return isLevel(path, written) ? equalsLevel(path, written) : { path, equals: value }
}

/** @type {(bound: import('./filter-levels').BoundName, path: Path, typed: Typed) => import('@millrace/where').Where} */
function isWithin (bound, path, { text, written, value }) {
  if (isLevel(path, written)) return compareLevel(path, bound, written)
  if (value === written) refuseBound(text, written)
  if (typeof value !== 'number' && typeof value !== 'string') {
    throw misuse(`numbers are compared with numbers and texts with texts, and in ${text} ${value} is neither.`)
  }
  const filter = /** @type {any} */ ({ path, [bound]: value })
  const unlike = isLevelField(path) ? 'the name of a level' : 'a number'
  if (value === written && (isLevelField(path) || MEASURE.test(written))) {
    doubts.set(filter, `${text} compares texts: ${written} is not ${unlike}. A value in quotes is a text in any case`)
  }
  return filter
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
    while (found[0].startsWith('"') && text[at] === ' ') at++
    if (text[at] !== '.') return { path, rest: text.slice(at) }
    at++
  }
}

/** @param {string} word @param {string} whole */
function toStep (word, whole) {
  if (!word.startsWith('"')) {
    const name = word.trim()
    if (name === '') throw expected(whole)
    return INDEX.test(name) ? Number(name) : name
  }
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

exports.parseFilter = parseFilter
exports.parsePath = parsePath
exports.takeDoubts = takeDoubts
