'use strict'
// What a client asks of an acknowledgement: `?ack`, `Prefer: ack`, and headers that would promise what a route does not
// keep. A request never gets less than it has asked for: what is not understood is refused before anything is stored.

const { ACKS } = require('./options')
const { Problem } = require('./problem')

/** The elements of a list; commas in quoted texts do not count. */
const ELEMENT = /(?:[^",]|"(?:[^"\\]|\\.)*"?)+/g
const ACK = /^\s*ack(?![\w!#$%&'*+.^`|~-])\s*/i
const VALUE = /^=\s*(?:"([^"]*)"|([^\s";]*))\s*(?:;.*)?$/
const KEY = 'idempotency-key'
/** By these a client limits what is done. Without entity tags and dates of change, none of them can be true. */
const CONDITIONS = ['if-match', 'if-none-match', 'if-unmodified-since']

/**
 * @typedef {import('./options').Ack} Ack
 * @typedef {{ ack: Ack, isAsked: boolean }} Asked  `isAsked`: by `Prefer`, which the answer confirms
 * @typedef {Record<string, any>} Headers
 */

/**
 * @param {{ headers: Headers, query: { ack?: Ack } }} request
 * @param {{ ack: Ack, floor: Ack }} options
 * @param {{ refusesKey?: boolean }} [route]  `refusesKey`: it stores a retry again, whatever `Idempotency-Key` says
 * @returns {Asked}
 * @throws {Problem}
 */
function chooseAck ({ headers, query }, { ack, floor }, { refusesKey = false } = {}) {
  refuseUnkept(headers, refusesKey)
  const preferred = headers.prefer === undefined ? null : parsePrefer(headers.prefer)
  const asked = strongest(query.ack, preferred) ?? ack
  const chosen = /** @type {Ack} */ (strongest(asked, floor))
  return { ack: chosen, isAsked: chosen === preferred }
}

/**
 * Other preferences are ignored, as RFC 7240 says. It says so of values that a server does not know, too, and yet an
 * `ack` that is not known is refused: a client that asks for `synkt`, or for something that a later version can do,
 * relies on a promise, and would learn that it was not made when its records are lost. If there are several, the
 * strongest counts: nobody gets less than what somebody on the way has asked for.
 * @param {string} header
 * @returns {Ack | null}
 * @throws {Problem}
 */
function parsePrefer (header) {
  /** @type {Ack | null} */
  let found = null
  for (const element of header.match(ELEMENT) ?? []) {
    const begin = ACK.exec(element)
    if (begin === null) continue
    const [, quoted, plain] = VALUE.exec(element.slice(begin[0].length)) ?? []
    const value = /** @type {Ack} */ ((quoted ?? plain ?? '').trim().toLowerCase())
    if (!ACKS.includes(value)) throw new Problem(400, `Prefer: ${element.trim()} is not known; use ack=${ACKS.join(', ack=')}. Nothing was stored`, { code: 'bad_header' })
    found = strongest(found, value)
  }
  return found
}

/** @type {(one: Ack | null | undefined, other: Ack | null | undefined) => Ack | null} */
function strongest (one, other) {
  if (one == null || other == null) return one ?? other ?? null
  return one === other || ACKS.indexOf(one) > ACKS.indexOf(other) ? one : other
}

/** @type {(headers: Headers, refusesKey: boolean) => void} throws a Problem */
function refuseUnkept (headers, refusesKey) {
  if (refusesKey && headers[KEY] !== undefined) {
    throw new Problem(400, 'Idempotency-Key is not known here: a retry would be counted again. Send events with a key to /v1/logs/se', { code: 'bad_header' })
  }
  if (headers['content-range'] !== undefined) {
    throw new Problem(400, 'Content-Range is not known here: send a body as a whole', { code: 'bad_header' })
  }
  for (const name of CONDITIONS) {
    if (headers[name] !== undefined) throw new Problem(412, `nothing was stored: the condition ${name} cannot be checked here`, { code: 'bad_header' })
  }
}

exports.chooseAck = chooseAck
