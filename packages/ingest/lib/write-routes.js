'use strict'
// POST /v1/logs/:name and /v1/se/:source/:event: records into a log, acknowledged as the client asks and the server
// demands.

const { toPromise } = require('@millrace/flow')
const { parseRecords } = require('./body')
const { RECORD_TYPES, mediaType } = require('./content')
const { pairOf } = require('./counts/tally')
const { EVENTS } = require('./named-logs')
const { ACKS } = require('./options')
const { Problem } = require('./problem')
const { encodeRecords } = require('./record')
const { docs } = require('./schemas')

const PREFERENCE = /(?:^|[\s,;])ack\s*=\s*"?([a-z]+)"?/i

/**
 * @typedef {import('./options').Ack} Ack
 * @typedef {import('./named-logs').NamedLog} NamedLog
 * @typedef {import('./plugin').Context} Context
 * @typedef {{ ack: Ack, isAsked: boolean }} Asked
 * @typedef {(err: Error | null, seq: number | null) => void} Done  `seq`: of the last record; null if it has none yet
 * @typedef {(err: Error | null, text?: string) => void} Finish  with the body of the answer
 */

/** @type {(routes: any, context: Context) => void} */
function addWriteRoutes (routes, context) {
  const { options, logs, idempotency } = context
  const { limits } = options
  routes.add('POST', '/v1/logs/:name', { action: 'write' }, (/** @type {any} */ request, /** @type {any} */ reply) => {
    const { params: { name }, headers, body, apiKey } = request
    const asked = chooseAck(request, options)
    if (body === undefined || body === null) throw new Problem(400, 'the body is missing')
    const type = mediaType(headers['content-type'])
    if (!RECORD_TYPES.includes(type)) throw new Problem(415, `send one of ${RECORD_TYPES.join(', ')}`)
    const texts = parseRecords(body, type, limits)
    const given = headers['idempotency-key']
    withLog(logs, name, reply, (entry, finish) => {
      if (given === undefined) return storeAndAnswer(entry, texts, asked, reply, finish)
      idempotency.begin(entry, given, apiKey?.id ?? '', type, body)
        .then((retry) => storeOnce(reply, asked, entry, texts, retry, idempotency))
        .then((text) => finish(null, text), finish)
    })
  }, { doc: docs.write })
}

/**
 * `/v1/se/:source/:event` records that something happened, without a body: the shortest request that a client can make.
 * @type {(routes: any, context: Context) => void}
 */
function addEventRoutes (routes, { options, logs }) {
  const access = { action: 'write', log: EVENTS }
  routes.add(['GET', 'PUT', 'POST'], '/v1/se/:source/:event', access, (/** @type {any} */ request, /** @type {any} */ reply) => {
    const { params: { source, event }, query: { key, value }, body, method } = request
    const asked = chooseAck(request, options)
    // Whoever looks before it gets changes nothing.
    if (method === 'HEAD') return reply.header('Content-Type', 'application/json; charset=utf-8').send()
    if (body?.length > 0) throw new Problem(400, 'an event has no body; send key and value as parameters of the URL')
    const text = JSON.stringify({ source, event, key, value })
    const pairs = [source, event]
    withLog(logs, EVENTS, reply, (entry, finish) => storeAndAnswer(entry, [text], asked, reply, finish, pairs))
  }, { doc: docs.event })
}

/**
 * Answers with what `use` gives back. If the log is open, no promise is made for the request: this is the way of most
 * requests, and a promise has a price.
 * @param {import('./named-logs').NamedLogs} logs
 * @param {string} name
 * @param {any} reply
 * @param {(entry: NamedLog, finish: Finish) => void} use  calls `finish` unless it throws
 * @throws {Problem}
 */
function withLog (logs, name, reply, use) {
  const acquired = logs.acquire(name, true)
  if ('then' in acquired) acquired.then(begin).catch((err) => sendSafely(reply, err))
  else begin(acquired)

  /** @param {NamedLog} entry */
  function begin (entry) {
    try {
      use(entry, (err, text) => {
        logs.release(entry)
        sendSafely(reply, err ?? text)
      })
    } catch (err) {
      logs.release(entry)
      throw err
    }
  }
}

/**
 * A hook of the application around the plugin may make an answer that cannot be sent. It troubles this client, and
 * no other whose batch is in the same write.
 * @type {(reply: any, answer: Error | string | undefined) => void}
 */
function sendSafely (reply, answer) {
  try {
    reply.send(answer)
  } catch (err) {
    reply.log.error({ err })
    reply.raw.destroy()
  }
}

/** @type {(request: any, options: { ack: Ack, floor: Ack }) => Asked} */
function chooseAck ({ headers, query }, { ack, floor }) {
  const preferred = headers.prefer === undefined ? undefined : PREFERENCE.exec(headers.prefer)?.[1].toLowerCase()
  const asked = query.ack ?? preferred
  // A preference that is not known is ignored, as RFC 7240 says.
  const isAsked = asked !== undefined && ACKS.includes(asked)
  const chosen = stronger(isAsked ? asked : ack, floor)
  return { ack: chosen, isAsked: isAsked && preferred !== undefined && chosen === asked }
}

/** @type {(one: Ack, other: Ack) => Ack} */
function stronger (one, other) {
  return one === other || ACKS.indexOf(one) > ACKS.indexOf(other) ? one : other
}

/** @type {(entry: NamedLog, texts: string[], asked: Asked, reply: any, finish: Finish, pairs?: string[]) => void} */
function storeAndAnswer (entry, texts, asked, reply, finish, pairs) {
  store(entry, texts, asked.ack, null, (err, seq) => {
    if (err) finish(err)
    else finish(null, answer(reply, asked, texts.length, seq))
  }, pairs)
}

/**
 * @param {NamedLog} entry
 * @param {string[]} texts
 * @param {Ack} ack
 * @param {{ key: string, body: string } | null} mark
 * @param {Done} done
 * @param {string[]} [pairs]  source, event, source, event and so on, if they are known
 * @throws {Problem}
 */
function store (entry, texts, ack, mark, done, pairs) {
  const counted = mark && { ...mark, count: texts.length }
  const makeRecords = (/** @type {number} */ timeMs) => encodeRecords(timeMs, texts, counted)
  commit(entry, makeRecords, ack, () => pairs ?? texts.flatMap((text) => pairOf(JSON.parse(text))), done)
}

/**
 * The same, of records that are made once their time is known.
 * @param {NamedLog} entry
 * @param {(timeMs: number) => Buffer[]} makeRecords
 * @param {Ack} ack
 * @param {() => string[]} pairsOf
 * @param {Done} done
 * @throws {Problem}  what `makeRecords` throws; nothing is stored, and `done` is not called
 */
function commit (entry, makeRecords, ack, pairsOf, done) {
  const { counter, committer } = entry
  if (counter !== null && !counter.hasRoom) {
    counter.save().then(() => commit(entry, makeRecords, ack, pairsOf, done)).catch((err) => done(err, null))
    return
  }
  const timeMs = entry.now()
  const records = makeRecords(timeMs)
  if (records.length === 0) return done(null, null)
  committer.submit(records, ack, done, counter?.admit(timeMs, pairsOf()))
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
    if (asked.ack === 'synced') await toPromise((cb) => entry.committer.whenSynced(first.seq, cb))
    reply.header('Idempotency-Replayed', 'true')
    return answer(reply, asked, first.count, first.seq)
  }
  /** @type {import('./idempotency').Stored | null} */
  let stored = null
  try {
    // A retry must find it, so it is written in any case.
    const seq = Number(await toPromise((cb) => store(entry, texts, 'written', { key, body }, cb)))
    stored = { body, count: texts.length, seq, timeMs: entry.now() }
  } finally {
    idempotency.end(key, stored)
  }
  const { seq } = stored
  if (asked.ack === 'synced') await toPromise((cb) => entry.committer.whenSynced(seq, cb))
  return answer(reply, asked, texts.length, seq)
}

/** @type {(reply: any, asked: Asked, count: number, last: number | null) => string} */
function answer (reply, { ack, isAsked }, count, last) {
  if (ack === 'buffered') reply.code(202)
  reply.header('Content-Type', 'application/json; charset=utf-8')
  if (isAsked) reply.header('Preference-Applied', `ack=${ack}`)
  return last === null ? `{"ack":"${ack}","count":${count}}\n` : `{"ack":"${ack}","count":${count},"last":${last}}\n`
}

exports.addWriteRoutes = addWriteRoutes
exports.addEventRoutes = addEventRoutes
exports.chooseAck = chooseAck
exports.commit = commit
