'use strict'
// POST /v1/logs/:name and /v1/se/:source/:event: records into a log, acknowledged as the client asks and the server
// demands.

const { RECORD_TYPES, parseRecords } = require('./body')
const { pairOf } = require('./counts/tally')
const { EVENTS } = require('./named-logs')
const { ACKS } = require('./options')
const { Problem } = require('./problem')
const { encodeRecords } = require('./record')
const { docs } = require('./schemas')

const PREFERENCE = /(?:^|[\s,;])ack\s*=\s*"?([a-z]+)"?/i
const STATUS = { buffered: 202, written: 200, synced: 200 }

/**
 * @typedef {import('./options').Ack} Ack
 * @typedef {import('./named-logs').NamedLog} NamedLog
 * @typedef {import('./plugin').Context} Context
 * @typedef {{ ack: Ack, isAsked: boolean }} Asked
 */

/** @type {(routes: any, context: Context) => void} */
function addWriteRoutes (routes, context) {
  const { options, logs, idempotency } = context
  const { limits } = options
  routes.add('POST', '/v1/logs/:name', { action: 'write' }, async (/** @type {any} */ request, /** @type {any} */ reply) => {
    const { params: { name }, headers, body, apiKey } = request
    const asked = chooseAck(request, options)
    if (body === undefined || body === null) throw new Problem(400, 'the body is missing')
    const type = mediaType(headers['content-type'])
    if (!RECORD_TYPES.includes(type)) throw new Problem(415, `send one of ${RECORD_TYPES.join(', ')}`)
    const texts = parseRecords(body, type, limits)
    const acquired = logs.acquire(name, true)
    const entry = 'then' in acquired ? await acquired : acquired
    try {
      const given = headers['idempotency-key']
      if (given === undefined) return answer(reply, asked, texts.length, await store(entry, texts, asked.ack, null))
      const retry = await idempotency.begin(entry, given, apiKey?.id ?? '', type, body)
      return await storeOnce(reply, asked, entry, texts, retry, idempotency)
    } finally {
      logs.release(entry)
    }
  }, { doc: docs.write })
}

/**
 * `/v1/se/:source/:event` records that something happened, without a body: the shortest request that a client can make.
 * @type {(routes: any, context: Context) => void}
 */
function addEventRoutes (routes, { options, logs }) {
  const access = { action: 'write', log: EVENTS }
  routes.add(['GET', 'PUT', 'POST'], '/v1/se/:source/:event', access, async (/** @type {any} */ request, /** @type {any} */ reply) => {
    const { params: { source, event }, query: { key, value }, body } = request
    const asked = chooseAck(request, options)
    if (body?.length > 0) throw new Problem(400, 'an event has no body; send key and value as parameters of the URL')
    const record = { source, event, key, value }
    const acquired = logs.acquire(EVENTS, true)
    const entry = 'then' in acquired ? await acquired : acquired
    try {
      return answer(reply, asked, 1, await store(entry, [JSON.stringify(record)], asked.ack, null, [source, event]))
    } finally {
      logs.release(entry)
    }
  }, { doc: docs.event })
}

/** @param {string} [header] */
function mediaType (header = '') {
  if (RECORD_TYPES.includes(header)) return header
  return header.split(';')[0].trim().toLowerCase()
}

/** @type {(request: any, options: { ack: Ack, floor: Ack }) => Asked} */
function chooseAck ({ headers, query }, { ack, floor }) {
  const preferred = headers.prefer === undefined ? undefined : PREFERENCE.exec(headers.prefer)?.[1].toLowerCase()
  const asked = query.ack ?? preferred
  // A preference that is not known is ignored, as RFC 7240 says.
  const isAsked = ACKS.includes(asked)
  const least = Math.max(ACKS.indexOf(isAsked ? asked : ack), ACKS.indexOf(floor))
  return { ack: ACKS[least], isAsked: isAsked && preferred !== undefined && ACKS[least] === asked }
}

/**
 * @param {NamedLog} entry
 * @param {string[]} texts
 * @param {Ack} ack
 * @param {{ key: string, body: string } | null} mark
 * @param {string[]} [pairs]  source, event, source, event and so on, if they are known
 * @returns {Promise<number | null>}  the seq of the last record; null if it has none yet
 * @throws {Problem}
 */
function store (entry, texts, ack, mark, pairs) {
  const counted = mark && { ...mark, count: texts.length }
  const makeRecords = (/** @type {number} */ timeMs) => encodeRecords(timeMs, texts, counted)
  return commit(entry, makeRecords, ack, () => pairs ?? texts.flatMap((text) => pairOf(JSON.parse(text))))
}

/**
 * The same, of records that are made once their time is known. It makes one promise: most requests have one record.
 * @param {NamedLog} entry
 * @param {(timeMs: number) => Buffer[]} makeRecords
 * @param {Ack} ack
 * @param {() => string[]} pairsOf
 * @returns {Promise<number | null>}
 * @throws {Problem}
 */
function commit (entry, makeRecords, ack, pairsOf) {
  const { counter } = entry
  if (counter !== null && !counter.hasRoom) return counter.save().then(() => commit(entry, makeRecords, ack, pairsOf))
  return new Promise((resolve, reject) => {
    const timeMs = entry.now()
    const records = makeRecords(timeMs)
    if (records.length === 0) return resolve(null)
    const events = counter?.admit(timeMs, pairsOf()) ?? null
    entry.committer.submit(records, ack, (err, seq) => err ? reject(err) : resolve(seq), events)
  })
}

/**
 * @param {any} reply
 * @param {Asked} asked
 * @param {NamedLog} entry
 * @param {string[]} texts
 * @param {{ key: string, body: string, first: import('./idempotency').Stored | null }} retry
 * @param {import('./idempotency').Idempotency} idempotency
 */
async function storeOnce (reply, asked, entry, texts, { key, body, first }, idempotency) {
  if (first !== null) {
    if (asked.ack === 'synced') await synced(entry, first.seq)
    reply.header('Idempotency-Replayed', 'true')
    return answer(reply, asked, first.count, first.seq)
  }
  /** @type {import('./idempotency').Stored | null} */
  let stored = null
  try {
    // A retry must find it, so it is written in any case.
    const seq = Number(await store(entry, texts, 'written', { key, body }))
    stored = { body, count: texts.length, seq, timeMs: entry.now() }
  } finally {
    idempotency.end(key, stored)
  }
  if (asked.ack === 'synced') await synced(entry, stored.seq)
  return answer(reply, asked, texts.length, stored.seq)
}

/** @type {(entry: NamedLog, seq: number) => Promise<unknown>} */
function synced (entry, seq) {
  return new Promise((resolve, reject) => entry.committer.whenSynced(seq, (err) => err ? reject(err) : resolve(null)))
}

/** @type {(reply: any, asked: Asked, count: number, last: number | null) => string} */
function answer (reply, { ack, isAsked }, count, last) {
  reply.code(STATUS[ack]).header('Content-Type', 'application/json; charset=utf-8')
  if (isAsked) reply.header('Preference-Applied', `ack=${ack}`)
  return last === null ? `{"ack":"${ack}","count":${count}}\n` : `{"ack":"${ack}","count":${count},"last":${last}}\n`
}

exports.addWriteRoutes = addWriteRoutes
exports.addEventRoutes = addEventRoutes
exports.chooseAck = chooseAck
exports.mediaType = mediaType
exports.commit = commit
