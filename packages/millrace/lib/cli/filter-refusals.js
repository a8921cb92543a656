'use strict'
// What a text of `--where` cannot mean: what was found, and what to write for it. As a condition it would let nothing
// through, and nobody would be told why.

const { misuse } = require('@millrace/errors')

/** @typedef {import('./filter').Path} Path */

const PREFIX = '^='
/** The longer ones first: `>=` begins with `>`. */
const OPERATORS = Object.freeze([PREFIX, '!=', '>=', '<=', '~=', '=', '>', '<'])
const LISTED = '= != > >= < <= ^= ~='
/** What people write who know other languages. @type {Array<[written: RegExp, meant: string]>} */
const FOREIGN = [
  [/^!==/, '!='], [/^===?/, '='], [/^=>/, '>='], [/^=</, '<='], [/^=!/, '!='], [/^=~/, '~='], [/^=\^/, '^='], [/^<>/, '!='],
  [/^>>/, '>'], [/^<</, '<'], [/^~==/, '~='], [/^\^==/, '^='], [/^>==/, '>='], [/^<==/, '<=']
]
const SIGNS = /^[=!<>~^]+(?:\s+[=!<>~^]+)*/
const QUOTED = /"(?:[^"\\]|\\.)*"/g
/** Another condition in a value, and what is between the two. */
const SECOND = /([\s,;&|]*\s[\s,;&|]*)(?!(?:and|or)\s)[^\s=!<>~^,;&|]+\s?(?:[=<>]|[!^~]=)/i
const FOREIGN_QUOTES = /^['\u2018\u201c\u201d\u201e](.*)['\u2018\u2019\u201c\u201d]$/
/** With a sign, without a digit before or after the point, with zeros before it, with thousands apart, or as 0x1f. */
const NUMBER = /^[+-]?(?:0x[\da-f]+|\d+(?:[,_']\d{3})*\.?\d*(?:e[+-]?\d+)?|\.\d+(?:e[+-]?\d+)?)$/i

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
  const operator = OPERATORS.find((name) => rest.startsWith(name))
  const before = text.slice(0, text.length - rest.length).trim()
  if (rest === written) {
    throw misuse(`${text} has no value after ${written}. For an empty text, write ${before}${operator ?? '='}""; to ask whether ` +
      `something is there, write ${before} alone.`)
  }
  if (written === operator) return
  const signs = written.replace(/\s/g, '')
  const meant = OPERATORS.includes(signs) ? signs : FOREIGN.find(([pattern]) => pattern.test(signs))?.[1]
  if (meant === undefined && operator === undefined) throw expected(text)
  // What follows is a text in any case, such as <html.
  if (meant === undefined && operator === PREFIX) return
  const value = rest.slice((operator ?? '=').length).trim()
  const asMeant = meant === undefined ? '' : ` Write ${before}${meant}${rest.slice(written.length).trim()} if that is what you mean;`
  throw misuse(`${written} is not an operator.${asMeant} ${meant === undefined ? 'For' : 'for'} a value that begins with ` +
    `${JSON.stringify(value[0])}, put it in quotes: '${before}${operator ?? '='}${JSON.stringify(value)}'.`)
}

/**
 * A text without quotes that nobody means: another condition is in it, or it has the quotes of a shell or a letter.
 * @type {(text: string, written: string) => void}
 */
function refuseText (text, written) {
  const before = text.slice(0, text.length - written.length)
  const second = SECOND.exec(written.replace(QUOTED, (found) => 'x'.repeat(found.length)))
  if (second !== null) {
    const at = before.length + second.index
    throw misuse(`${text} has two conditions, but neither and nor or between them. Write ${quote(`${text.slice(0, at).trim()} and ` +
      text.slice(at + second[1].length))}; for a text, ${quote(before + JSON.stringify(written))}.`)
  }
  const [, inner] = FOREIGN_QUOTES.exec(written) ?? []
  if (inner === undefined) return
  throw misuse(`${text} has a value between ${written[0]} and ${written.slice(-1)}, which are no quotes here. Write ` +
    `${quote(before + JSON.stringify(inner))}; for a text with them, ${quote(before + JSON.stringify(written))}.`)
}

/**
 * What a number is compared with in other languages: as a text it would pass no number, and nobody would be told.
 * @type {(text: string, written: string) => void}
 */
function refuseBound (text, written) {
  const before = text.slice(0, text.length - written.length)
  const asText = `for a text, ${quote(before + JSON.stringify(written))}`
  if (/[=<>]/.test(written)) {
    throw misuse(`${text} has more than one operator. Write a path and an operator for each value, as in 'n>5 and n<10'; ${asText}.`)
  }
  const number = NUMBER.test(written) ? Number(written.replace(/[,_']/g, '')) : NaN
  if (Number.isFinite(number)) throw misuse(`${written} is not a number in JSON. Write ${quote(before + number)}; ${asText}.`)
}

/** As a shell takes it, if it can be told simply. @param {string} filter */
function quote (filter) {
  return filter.includes("'") ? filter : `'${filter}'`
}

/** @param {string} text */
function noParentheses (text) {
  return misuse(`${text} begins with a parenthesis, and filters have none. Write (a=1 or b=2) and c=3 as ` +
    "'a=1 and c=3 or b=2 and c=3', or give --where twice; a key that begins with ( is written in quotes.")
}

/** @param {string} text */
function expected (text) {
  return misuse(`${text.trim() === '' ? 'an empty text' : text} is not a filter. Expected a path, one of ${LISTED} and a value, as in content.type=post; or ` +
    'a path alone (something is there), or !path (nothing is).')
}

exports.OPERATORS = OPERATORS
exports.PREFIX = PREFIX
exports.expected = expected
exports.noParentheses = noParentheses
exports.refuseBound = refuseBound
exports.refuseSigns = refuseSigns
exports.refuseSpace = refuseSpace
exports.refuseText = refuseText
