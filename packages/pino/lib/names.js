'use strict'
// Secrets that are found by their name, at any depth of a line, also in JSON that is a text of the line: the value of
// a member is replaced. So is what follows `name=` in a text, as in the query of a URL.
//
// The text is not parsed. A quote that belongs to the line itself has no backslash before it; one in a text of JSON
// has one; one in a text of that three. So the same steps find names and values on each of these levels.

/** What the name of every secret has, so that most lines are looked at only once. */
const NAME_HINT = /pass|pwd|secret|token|key|auth|cookie|credential|cv[cv]|card|jwt|otp|pin|ssn|session|raw.?headers/i
// In lower case, without what is neither letter nor digit.
const ENDS = ['password', 'passwort', 'passwd', 'passphrase', 'passcode', 'pwd', 'secret', 'token', 'apikey', 'privatekey',
  'secretkey', 'accesskey', 'signingkey', 'encryptionkey', 'authorization', 'credential', 'cookie', 'cardnumber',
  'creditcard', 'sessionid', 'cvv', 'cvv2', 'cvc', 'cvc2']
const SECRET = new RegExp(`(?:${ENDS.join('|')})s?(?:hash|digest|confirm|confirmation|again|repeat|\\d)?$|` +
  '^(?:pass|jwt|otp|pin|ssn|rawheaders)$')
const KEY = /(?<!\\)(\\*)"([\w$.: -]{1,128})\1"[ \t]*:[ \t]*/g
const PAIR = /([\w.-]{1,64})=([^&\s"'\\;,<>[\]]{1,8192})/g
const NUMBER = /-?\d[\d.eE+-]*/y

/** @param {string} name */
function isSecret (name) {
  return SECRET.test(name.toLowerCase().replace(/[^a-z0-9]/g, ''))
}

/** @type {(text: string, censor: string) => string} */
function redactNamed (text, censor) {
  let found = ''
  let done = 0
  KEY.lastIndex = 0
  for (let key = KEY.exec(text); key !== null; key = KEY.exec(text)) {
    const [{ length }, slashes, name] = key
    if (!isSecret(name) || !isLevel(slashes.length)) continue
    const begin = key.index + length
    const end = findEnd(text, begin, slashes.length, name)
    if (end === begin) continue
    found += `${text.slice(done, begin)}${slashes}"${escape(censor, slashes.length)}${slashes}"`
    done = KEY.lastIndex = end
  }
  const named = done === 0 ? text : found + text.slice(done)
  const mark = escape(censor, 0)
  return named.includes('=') ? named.replace(PAIR, (pair, name) => isSecret(name) ? `${name}=${mark}` : pair) : named
}

/** 0, 1, 3, 7 and so on. @param {number} slashCount */
function isLevel (slashCount) {
  return (slashCount & (slashCount + 1)) === 0
}

/**
 * As it is written between quotes with so many backslashes before each.
 * @type {(text: string, slashCount: number) => string}
 */
function escape (text, slashCount) {
  let escaped = JSON.stringify(text).slice(1, -1)
  for (let left = slashCount; left > 0; left = (left - 1) / 2) escaped = JSON.stringify(escaped).slice(1, -1)
  return escaped
}

/**
 * Where the value ends that begins here; the begin itself if it tells nothing, such as null.
 * @type {(text: string, begin: number, slashCount: number, name: string) => number}
 */
function findEnd (text, begin, slashCount, name) {
  const first = text[begin]
  if (first === '"' || first === '\\') {
    if (text.indexOf('"', begin) !== begin + slashCount) return begin
    return findQuote(text, begin + slashCount + 1, slashCount)
  }
  if (first === '{' || first === '[') return findClosed(text, begin, slashCount)
  NUMBER.lastIndex = begin
  // How many there are is no secret: `tokens` of a language model.
  return /s$/i.test(name) || !NUMBER.test(text) ? begin : NUMBER.lastIndex
}

/** After the quote that ends a text. @type {(text: string, from: number, slashCount: number) => number} */
function findQuote (text, from, slashCount) {
  for (let at = text.indexOf('"', from); at !== -1; at = text.indexOf('"', at + 1)) {
    const count = countSlashes(text, at, from)
    const outer = findOuter(count, slashCount)
    if (outer !== null) return at - outer
    // Each backslash of the text itself is written as so many.
    if (((count - slashCount) / (slashCount + 1)) % 2 === 0) return at + 1
  }
  return text.length
}

/**
 * If a quote ends a text around this one, because that was cut: how many of its backslashes belong to it. Else null.
 * @type {(count: number, slashCount: number) => number | null}
 */
function findOuter (count, slashCount) {
  let level = slashCount
  while (count < level || (count - level) % (level + 1) !== 0) level = (level - 1) / 2
  return level === slashCount ? null : level
}

/** @type {(text: string, at: number, from: number) => number} */
function countSlashes (text, at, from) {
  let begin = at
  while (begin > from && text[begin - 1] === '\\') begin--
  return at - begin
}

/**
 * After the bracket that ends an object or an array.
 * @type {(text: string, begin: number, slashCount: number) => number}
 */
function findClosed (text, begin, slashCount) {
  let depth = 0
  for (let at = begin; at < text.length; at++) {
    const char = text[at]
    if (char === '{' || char === '[') depth++
    if ((char === '}' || char === ']') && --depth === 0) return at + 1
    if (char !== '"') continue
    const outer = findOuter(countSlashes(text, at, begin), slashCount)
    if (outer !== null) return at - outer
    at = findQuote(text, at + 1, slashCount) - 1
  }
  return text.length
}

exports.NAME_HINT = NAME_HINT
exports.redactNamed = redactNamed
