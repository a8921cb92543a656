'use strict'
// Secrets that are found wherever they are in a line, by their form or by the name before them: numbers of cards,
// tokens, email addresses, passwords in URLs, and members such as `password`. The line stays JSON.
//
// Time is linear in the length of a line: every repetition is bounded, or begins only where no other one does. Most
// lines have no secret, so a line is first asked for what every secret has.

const { misuse, reasonOf } = require('@millrace/errors')
const { NAME_HINT, redactNamed } = require('./names')

const KINDS = Object.freeze(['name', 'credentials', 'email', 'token', 'card'])
const LOCAL_LENGTH_MAX = 64
const LOCAL = /[A-Za-z0-9._%+-]/
const DOMAIN = /[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){0,8}\.[A-Za-z]{2,63}(?![A-Za-z0-9-])/y
// A password may have an @, and an escaped quote or backslash.
const CREDENTIALS = /:\/\/[^\s"\\/:]{0,256}:(?:[^\s"\\/]|\\["\\]){1,4096}@/g
const TOKEN_HINT = /eyJ|earer |asic |AKIA|ASIA|AIza|xox|gh[pousr]_|hub_pat_|k_live_|k_test_|npm_|IVATE KEY/
// At the beginning of a word. In a line, a word may follow an escape.
const TOKEN = new RegExp(String.raw`(?:(?<![\w-])|(?<=\\(?:[bfnrt]|u[\da-f]{4})))(?:${[
  String.raw`eyJ[\w-]{8,4096}\.[\w-]{8,8192}(?:\.[\w-]{0,4096})?`,
  String.raw`(?<=[Bb]earer )(?=[A-Za-z._~+/=-]{0,8192}\d)[A-Za-z0-9._~+/=-]{8,8192}`,
  String.raw`(?<=[Bb]asic )(?=[A-Za-z+/]{0,8192}[\d=])[A-Za-z0-9+/=]{8,8192}`,
  String.raw`(?:AKIA|ASIA)[0-9A-Z]{16}(?!\w)`,
  String.raw`AIza[\w-]{35}`,
  String.raw`xox[abeoprs]-[A-Za-z0-9-]{10,255}`,
  String.raw`gh[pousr]_[A-Za-z0-9]{36,255}`,
  String.raw`github_pat_\w{22,255}`,
  String.raw`[sr]k_(?:live|test)_[A-Za-z0-9]{10,255}`,
  String.raw`npm_[A-Za-z0-9]{36}`
].join('|')})|-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----(?:[A-Za-z0-9+/=:, -]|\\[nrt]){0,65536}`, 'g')
const CARD_HINT = /[2-6]\d{3}(?:\d{9}|[ -]\d{4}[ -]\d{4}|[ -]\d{6}[ -])/
// Not in a number with a fraction, nor in a word.
const CARD = /(?:(?<![\w.])|(?<=\\(?:[bfnrt]|u[\da-f]{4})))[2-6]\d{3}(?:\d{9,15}|([ -])\d{4}\1\d{4}\1\d{4}|([ -])\d{6}\2\d{4,5})(?!\w|\.\d)/g
/** How the numbers of the large networks begin, with their lengths. */
const NETWORKS = /^(?:4(?:\d{12}|\d{15}|\d{18})|(?:5[1-5]|2[2-7])\d{14}|3[47]\d{13}|3(?:0[0-5]|[68]\d)\d{11}|35\d{14}|6(?:011|4[4-9]\d|5\d\d)\d{12}|62\d{14,17})$/

/**
 * A kind of secret. `'name'`: the values of members whose names end in `password`, `passwd`, `passphrase`, `pwd`,
 * `secret`, `token`, `apiKey`, `privateKey`, `secretKey`, `accessKey`, `authorization`, `cookie`, `credential`,
 * `cardNumber`, `sessionId`, `cvv` and the like, in any case, with `_` or `-`, and in the plural; members named `pass`,
 * `pin`, `otp`, `jwt` and `ssn`; and what follows such a name and `=` in a text. `'card'`: numbers of cards of the
 * large networks, with a valid check digit. `'token'`: JSON web tokens, `Bearer` tokens, `Basic` passwords, private
 * keys, and tokens of AWS, GitHub, Google, npm, Slack and Stripe. `'email'`: email addresses. `'credentials'`: user and
 * password in a URL.
 * @typedef {'name' | 'credentials' | 'email' | 'token' | 'card'} PatternName
 */

/**
 * @typedef {object} Redactor
 * @property {(line: string) => string} redact
 * @property {(line: string) => string} search  the same, without asking for hints first
 */

/**
 * @param {readonly PatternName[]} kinds
 * @param {string} censor
 * @returns {Redactor}
 */
function createRedactor (kinds = /** @type {PatternName[]} */ (KINDS), censor = '[Redacted]') {
  const unknown = Array.isArray(kinds) ? kinds.find((kind) => !KINDS.includes(kind)) : kinds
  if (unknown !== undefined) {
    const hint = /[.[*]/.test(reasonOf(unknown)) ? '. Paths belong in the option redact of pino itself' : ''
    throw misuse(`destination: redact: there is no kind of secret ${reasonOf(unknown)}; there are ${KINDS.join(', ')}${hint}`)
  }
  if (typeof censor !== 'string') throw misuse(`destination: redact: the censor must be a text, got ${reasonOf(censor)}`)
  const mark = JSON.stringify(censor).slice(1, -1)
  const has = Object.fromEntries(KINDS.map((kind) => [kind, kinds.includes(/** @type {PatternName} */ (kind))]))
  const search = (/** @type {string} */ line) => {
    let text = has.name ? redactNamed(line, censor) : line
    if (has.credentials) text = text.replace(CREDENTIALS, () => `://${mark}@`)
    if (has.email) text = redactEmails(text, mark)
    if (has.token) text = redactTokens(text, mark)
    return has.card ? redactCards(text, mark) : text
  }
  const redact = (/** @type {string} */ line) => {
    let text = has.name && NAME_HINT.test(line) ? redactNamed(line, censor) : line
    if ((has.email || has.credentials) && text.includes('@')) {
      if (has.credentials) text = text.replace(CREDENTIALS, () => `://${mark}@`)
      if (has.email) text = redactEmails(text, mark)
    }
    if (has.token && TOKEN_HINT.test(text)) text = redactTokens(text, mark)
    return has.card && CARD_HINT.test(text) ? redactCards(text, mark) : text
  }
  return { redact, search }
}

/** Whether the character is part of an escape, such as the n of \n. @type {(text: string, at: number) => boolean} */
function isEscaped (text, at) {
  let count = 0
  while (text[at - 1 - count] === '\\') count++
  return count % 2 === 1
}

/** Where the escape ends that a place is in; or the place itself. @type {(text: string, at: number) => number} */
function skipEscape (text, at) {
  if (isEscaped(text, at) && text[at] !== 'u') return at + 1
  for (let back = 0; back < 5; back++) {
    if (text[at - back] === 'u' && isEscaped(text, at - back)) return at - back + 5
  }
  return at
}

/** @type {(text: string, mark: string) => string} */
function redactEmails (text, mark) {
  let found = ''
  let done = 0
  for (let at = text.indexOf('@'); at !== -1; at = text.indexOf('@', at + 1)) {
    DOMAIN.lastIndex = at + 1
    if (!DOMAIN.test(text)) continue
    const end = DOMAIN.lastIndex
    let begin = at
    while (begin > done && at - begin < LOCAL_LENGTH_MAX && LOCAL.test(text[begin - 1])) begin--
    begin = skipEscape(text, begin)
    if (begin >= at) continue
    found += text.slice(done, begin) + mark
    done = end
    at = end - 1
  }
  return done === 0 ? text : found + text.slice(done)
}

/** @type {(text: string, mark: string) => string} */
function redactTokens (text, mark) {
  return text.replace(TOKEN, (found, offset) => isEscaped(text, offset) ? found : mark)
}

/** @type {(text: string, mark: string) => string} */
function redactCards (text, mark) {
  /** How far the quotes were counted, and whether that is in a string. */
  let counted = 0
  let isInString = false
  return text.replace(CARD, (found, space, dash, /** @type {number} */ offset) => {
    const digits = found.replace(/[ -]/g, '')
    if (!NETWORKS.test(digits) || !hasCheckDigit(digits)) return found
    for (; counted < offset; counted++) {
      if (text[counted] === '\\') counted++
      else if (text[counted] === '"') isInString = !isInString
    }
    if (isInString) return mark
    // A number of JSON, if it is all of it.
    const isWhole = /[[:,\s]/.test(text[offset - 1] ?? ' ') && /[\],}\s]/.test(text[offset + found.length] ?? ' ')
    return isWhole ? `"${mark}"` : found
  })
}

/** The algorithm of Luhn. @param {string} digits */
function hasCheckDigit (digits) {
  let sum = 0
  for (let index = 0; index < digits.length; index++) {
    const digit = Number(digits[digits.length - 1 - index])
    const doubled = digit * 2
    sum += index % 2 === 0 ? digit : doubled > 9 ? doubled - 9 : doubled
  }
  return sum % 10 === 0
}

exports.createRedactor = createRedactor
