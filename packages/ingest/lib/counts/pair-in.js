'use strict'
// The source and the event of a value, found in its bytes. Parsing the value would build all of it.

const { JsonCheck } = require('@millrace/json-codec')
const { pairOf } = require('./tally')

const [QUOTE, BACKSLASH, OPEN_BRACE, CLOSE_BRACE, SPACE, COMMA, COLON] = Buffer.from('"\\{} ,:')
/** No longer name can be one of the two, and no longer text the text of an event, however each character is spelled. */
const NAME_SIZE_MAX = 6 * 'source'.length + 2
const TEXT_SIZE_MAX = 12 * 100 + 2

const check = new JsonCheck()

/**
 * @type {(bytes: Buffer, from: number, to: number) => string[]}  what `pairOf` gives for the JSON text there, which is
 *   valid
 */
function pairIn (bytes, from, to) {
  if (bytes[from] !== OPEN_BRACE) return []
  /** @type {Record<string, unknown>} */
  const found = {}
  for (let at = skip(bytes, from + 1); bytes[at] !== CLOSE_BRACE; at = skip(bytes, at)) {
    const nameEnd = pass(bytes, at, to)
    const begin = skip(bytes, nameEnd)
    const end = pass(bytes, begin, to)
    const name = nameAt(bytes, at, nameEnd)
    if (name !== undefined) found[name] = textAt(bytes, begin, end)
    at = end
  }
  return pairOf(found)
}

/** Spaces and marks between tokens. @type {(bytes: Buffer, at: number) => number} */
function skip (bytes, at) {
  while (bytes[at] <= SPACE || bytes[at] === COMMA || bytes[at] === COLON) at++
  return at
}

/** @type {(bytes: Buffer, from: number, to: number) => number} */
function pass (bytes, from, to) {
  check.begin()
  return check.pass(bytes, from, to)
}

/** @type {(bytes: Buffer, from: number, to: number) => string | undefined} */
function nameAt (bytes, from, to) {
  if (to - from > NAME_SIZE_MAX) return undefined
  // `source` and `event` begin with these letters, unless they are escaped.
  const first = bytes[from + 1]
  if (first !== BACKSLASH && first !== 0x73 && first !== 0x65) return undefined
  const name = JSON.parse(bytes.toString('utf8', from, to))
  return name === 'source' || name === 'event' ? name : undefined
}

/** @type {(bytes: Buffer, from: number, to: number) => string | undefined} */
function textAt (bytes, from, to) {
  return bytes[from] === QUOTE && to - from <= TEXT_SIZE_MAX ? JSON.parse(bytes.toString('utf8', from, to)) : undefined
}

exports.pairIn = pairIn
