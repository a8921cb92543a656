'use strict'
// What the load generator sends. `events` is how many events are in one request.

const LINES_TYPE = 'application/x-ndjson'
const SOURCE_COUNT = 30
const EVENT_COUNT = 100
/** Pairs of source and event that each connection goes through. */
const PAIR_COUNT = 100
const BATCH_COUNT = 100

/**
 * @typedef {object} Request
 * @property {'GET' | 'PUT' | 'POST'} method
 * @property {string} path
 * @property {Record<string, string>} [headers]
 * @property {string | Buffer} [body]
 * @typedef {{ events: number, list: Request[] }} Requests
 */

/** @type {(method: 'GET' | 'PUT') => Requests} */
function bare (method) {
  const list = Array.from({ length: PAIR_COUNT }, (_, index) => {
    // 37 and 31 have no divisor in common with the counts, so the pairs differ.
    const path = `/v1/se/source${index * 31 % SOURCE_COUNT}/event${index * 37 % EVENT_COUNT}`
    return { method, path }
  })
  return { events: 1, list }
}

/** @type {(type: string, body: string | Buffer, events: number) => Requests} */
function post (type, body, events) {
  return { events, list: [{ method: 'POST', path: '/v1/logs/a', headers: { 'content-type': type }, body }] }
}

/** @param {number} n */
function createEvent (n) {
  return JSON.stringify({ source: `source${n % SOURCE_COUNT}`, event: `event${n % EVENT_COUNT}`, n, user: 'u'.repeat(n % 20) })
}

/** By name. Other forms of a body belong here. @type {Record<string, Requests>} */
const requests = {
  put: bare('PUT'),
  get: bare('GET'),
  single: post('application/json', '{"source":"s1","event":"e1","n":12}', 1),
  lines: post(LINES_TYPE, Array.from({ length: BATCH_COUNT }, (_, n) => `${createEvent(n)}\n`).join(''), BATCH_COUNT)
}

exports.requests = requests
exports.createEvent = createEvent
exports.LINES_TYPE = LINES_TYPE
