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
const LISTED = '= != > >= < <= ^= ~='
/** What people write who know other languages. @type {Array<[written: RegExp, meant: string]>} */
const FOREIGN = [
  [/^!==/, '!='], [/^===?/, '='], [/^=>/, '>='], [/^=</, '<='], [/^=!/, '!='], [/^=~/, '~='], [/^=\^/, '^='], [/^<>/, '!='],
  [/^>>/, '>'], [/^<</, '<'], [/^~==/, '~='], [/^\^==/, '^='], [/^>==/, '>='], [/^<==/, '<=']
]
const SIGNS = /^[=!<>~^]+(?:\s+[=!<>~^]+)*/
const NAMES = [PREFIX, ...OPERATORS.map(([operator]) => operator)]
const KEY = /"(?:[^"\\]|\\.)*"|[^."=!<>^~]+/y
const INDEX = /^(?:0|[1-9]\d*)$/

/** A condition, or something that can be one: with an operator, or `!` before it. */
const CONDITION = /^\s*(?:!|(?:"(?:[^"\\]|\\.)*"|[^"=!<>^~])+(?:[=<>]|[!^~]=))/
const QUOTED_OR_WORD = /"(?:[^"\\]|\\.)*"|\s(or|and|\|\||&&)\s/gi
const QUOTED = /"(?:[^"\\]|\\.)*"/g
const JOINED = /=.*\s(or|and|\|\||&&)(?:\s|$)/i
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
  const found = filters.flatMap((filter) => doubts.get(filter) ?? [])
  for (const filter of filters) doubts.delete(filter)
  return found
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
  const isAbsent = text.startsWith('!')
  const { path, rest } = parsePath(isAbsent ? text.slice(1) : text, text)
  if (rest === '') {
    refuseSpace(path, text)
    return { path, exists: !isAbsent }
  }
  if (isAbsent) throw expected(text)
  refuseSigns(text, rest)
  if (rest.startsWith(PREFIX)) return { path, prefix: parseText(rest.slice(PREFIX.length).trim()) }
  const [operator, compare] = OPERATORS.find(([operator]) => rest.startsWith(operator)) ?? []
  if (operator === undefined || compare === undefined) throw expected(text)
  return compare(path, parseValue(rest.slice(operator.length).trim(), text))
}

/**
 * In a path alone: `n in` and `type post` are the filters of somebody who has another language in mind.
 * @type {(path: Path, text: string) => void}
 */
function refuseSpace (path, text) {
  if (text.includes('"') || !path.some((step) => /\s/.test(String(step)))) return
  const key = text.replace(/^!\s*/, '')
  throw misuse(`${text} has no operator. Expected one of ${LISTED} after the path, as in content.type=post; a key ` +
    `that has a space is written in quotes: '"${key}"'.`)
}

/**
 * Signs that are no operator, and signs without a value after them.
 * @param {string} text
 * @param {string} rest  the operator and the value
 */
function refuseSigns (text, rest) {
  const [written] = SIGNS.exec(rest) ?? ['']
  const operator = NAMES.find((name) => rest.startsWith(name))
  const before = text.slice(0, text.length - rest.length).trim()
  if (rest === written) {
    throw misuse(`${text} has no value after ${written}. For an empty text, write ${before}${operator ?? '='}""; to ask whether ` +
      `something is there, write ${before} alone.`)
  }
  if (written === operator) return
  const signs = written.replace(/\s/g, '')
  const meant = NAMES.includes(signs) ? signs : FOREIGN.find(([pattern]) => pattern.test(signs))?.[1]
  if (meant === undefined && operator === undefined) throw expected(text)
  // What follows is a text in any case, such as <html.
  if (meant === undefined && operator === PREFIX) return
  const value = rest.slice((operator ?? '=').length).trim()
  const asMeant = meant === undefined ? '' : ` Write ${before}${meant}${rest.slice(written.length).trim()} if that is what you mean;`
  throw misuse(`${written} is not an operator.${asMeant} ${meant === undefined ? 'For' : 'for'} a value that begins with ` +
    `${JSON.stringify(value[0])}, put it in quotes: '${before}${operator ?? '='}${JSON.stringify(value)}'.`)
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

/** @param {string} text */
function expected (text) {
  return misuse(`${text.trim() === '' ? 'an empty text' : text} is not a filter. Expected a path, one of ${LISTED} and a value, as in content.type=post; or ` +
    'a path alone (something is there), or !path (nothing is).')
}

exports.parseFilter = parseFilter
exports.parsePath = parsePath
exports.takeDoubts = takeDoubts
