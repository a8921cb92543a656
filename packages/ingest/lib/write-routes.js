'use strict'
// POST /v1/logs/:name and /v1/se/:source/:event: records into a log, acknowledged as the client asks and the server
// demands.

const crypto = require('node:crypto')
const { toPromise } = require('@millrace/flow')
const { chooseAck } = require('./asked')
const { expectNoBody, receiveBody } = require('./body')
const { RECORD_TYPES, mediaType } = require('./content')
const { EVENTS } = require('./named-logs')
const { allows } = require('./keys')
const { Problem } = require('./problem')
const { parseFilter } = require('./reading')
const { makeRecord, stampRecords } = require('./record')
const { RecordCutter } = require('./record-cutter')
const { docs } = require('./schemas')

/**
 * @typedef {import('./options').Ack} Ack
 * @typedef {import('./named-logs').NamedLog} NamedLog
 * @typedef {import('./plugin').Context} Context
 * @typedef {import('./memory-budget').HeldMemory} HeldMemory
 * @typedef {import('./record-cutter').Cut} Cut
 * @typedef {import('./committer').Condition} Condition
 * @typedef {Cut & { memory?: HeldMemory | undefined, condition?: Condition | null }} Batch  `memory`: released once
 *   the records are written
 * @typedef {import('./asked').Asked} Asked
 * @typedef {(err: Error | null, seq: number | null) => void} Done  `seq`: of the last record; null if it has none yet
 * @typedef {(err: Error | null, text?: string) => void} Finish  with the body of the answer
 */

/** @type {(routes: any, context: Context) => void} */
function addWriteRoutes (routes, context) {
  const { options, logs, idempotency } = context
  const { limits } = options
  routes.add('POST', '/v1/logs/:name', { action: 'write' }, (/** @type {any} */ request, /** @type {any} */ reply) => {
    const { params: { name }, headers, body, apiKey } = request
    const condition = parseCondition(request)
    const asked = condition === null ? chooseAck(request, options) : atLeastWritten(chooseAck(request, options))
    if (body === undefined || body === null) throw new Problem(400, 'the body is missing')
    const type = mediaType(headers['content-type'])
    if (!RECORD_TYPES.includes(type)) throw new Problem(415, `send one of ${RECORD_TYPES.join(', ')}`)
    const given = headers['idempotency-key']
    const hash = given === undefined ? null : crypto.createHash('sha256').update(`${type}\n`)
    receiveBody(request, body, new RecordCutter(type, limits, name === EVENTS), context, (err, cut, memory) => {
      if (err) return sendSafely(reply, err)
      const batch = { records: [], pairs: [], ...cut, memory, condition }
      withLog(logs, name, reply, (entry, finishNow) => {
        const finish = condition === null ? finishNow : asScan(context, finishNow)
        if (hash === null) return storeAndAnswer(entry, batch, asked, reply, finish)
        idempotency.begin(entry, given, apiKey?.id ?? '', hash.digest('hex'))
          .then((retry) => storeOnce(reply, asked, entry, batch, retry, idempotency))
          .then((text) => finish(null, text), finish)
      }, memory)
    }, hash)
  }, { doc: docs.write })
}

/**
 * `/v1/se/:source/:event` records that something happened, without a body: the shortest request that a client can make.
 * @type {(routes: any, context: Context) => void}
 */
function addEventRoutes (routes, context) {
  const { options, logs } = context
  const access = { action: 'write', log: EVENTS }
  routes.add(['GET', 'PUT', 'POST'], '/v1/se/:source/:event', access, (/** @type {any} */ request, /** @type {any} */ reply) => {
    const { params: { source, event }, query: { key, value }, method } = request
    const asked = chooseAck(request, options, { refusesKey: true })
    // Whoever looks before it gets changes nothing.
    if (method === 'HEAD') return reply.header('Content-Type', 'application/json; charset=utf-8').send()
    const batch = { records: [makeRecord(JSON.stringify({ source, event, key, value }))], pairs: [source, event] }
    expectNoBody(request, context, 'an event has no body; send key and value as parameters of the URL', (err) => {
      if (err) sendSafely(reply, err)
      else withLog(logs, EVENTS, reply, (entry, finish) => storeAndAnswer(entry, batch, asked, reply, finish))
    })
  }, { doc: docs.event })
}

/**
 * Answers with what `use` gives back. If the log is open, no promise is made for the request: this is the way of most
 * requests, and a promise has a price.
 * @param {import('./named-logs').NamedLogs} logs
 * @param {string} name
 * @param {any} reply
 * @param {(entry: NamedLog, finish: Finish) => void} use  calls `finish` unless it throws
 * @param {HeldMemory} [memory]  of what is stored
 */
function withLog (logs, name, reply, use, memory) {
  try {
    const acquired = logs.acquire(name, true)
    if ('then' in acquired) acquired.then(begin).catch(fail)
    else begin(acquired)
  } catch (err) {
    fail(/** @type {Error} */ (err))
  }

  /** @param {Error} err */
  function fail (err) {
    memory?.release()
    sendSafely(reply, err)
  }

  /** @param {NamedLog} entry */
  function begin (entry) {
    try {
      use(entry, (err, text) => {
        logs.release(entry)
        if (err) fail(err)
        else sendSafely(reply, text)
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

/** @type {(entry: NamedLog, batch: Batch, asked: Asked, reply: any, finish: Finish) => void} */
function storeAndAnswer (entry, batch, asked, reply, finish) {
  commit(entry, batch, asked.ack, null, (err, seq) => {
    if (err) finish(err)
    else finish(null, answer(reply, asked, batch.records.length, seq))
  })
}

/**
 * @param {NamedLog} entry
 * @param {Batch} batch
 * @param {Ack} ack
 * @param {{ key: string, body: string } | null} mark
 * @param {Done} done
 */
function commit (entry, batch, ack, mark, done) {
  const { counter, committer } = entry
  if (counter !== null && !counter.hasRoom) {
    counter.save().then(() => commit(entry, batch, ack, mark, done)).catch((err) => done(err, null))
    return
  }
  const { records, pairs, memory, condition } = batch
  const timeMs = entry.now()
  stampRecords(records, timeMs, mark && { ...mark, count: records.length })
  committer.submit(records, ack, done, { events: counter?.admit(timeMs, pairs), memory, condition })
}

/**
 * @param {any} reply
 * @param {Asked} asked
 * @param {NamedLog} entry
 * @param {Batch} batch
 * @param {{ key: string, body: string, first: import('./idempotency').Stored | null }} retry
 * @param {import('./idempotency').Idempotency} idempotency
 */
async function storeOnce (reply, asked, entry, batch, { key, body, first }, idempotency) {
  const count = batch.records.length
  if (first !== null) {
    batch.memory?.release()
    if (asked.ack === 'synced') await toPromise((cb) => entry.committer.whenSynced(first.seq, cb))
    reply.header('Idempotency-Replayed', 'true')
    return answer(reply, asked, first.count, first.seq)
  }
  /** @type {import('./idempotency').Stored | null} */
  let stored = null
  try {
    // A retry must find it, so it is written in any case.
    const seq = Number(await toPromise((cb) => commit(entry, batch, 'written', { key, body }, cb)))
    stored = { body, count, seq }
  } finally {
    idempotency.end(key, stored)
  }
  const { seq } = stored
  if (asked.ack === 'synced') await toPromise((cb) => entry.committer.whenSynced(seq, cb))
  return answer(reply, asked, count, seq)
}

/**
 * On which condition the records are stored; null if there is none. Whether it holds says what is in the log.
 * @type {(request: any) => Condition | null} throws a Problem
 */
function parseCondition ({ query: { if: filter, since }, params: { name }, apiKey }) {
  if (filter === undefined) {
    if (since === undefined) return null
    throw new Problem(400, 'since belongs to if, which is missing', { code: 'bad_query' })
  }
  if (apiKey !== null && !allows(apiKey, 'read', name)) {
    throw new Problem(403, `if: this key may not read ${JSON.stringify(name)}`, { code: 'scope' })
  }
  return { where: parseFilter(filter, 'if'), since: since ?? -1 }
}

/**
 * A decision may read the log, and the number of those who read is bounded.
 * @type {(context: Context, finish: Finish) => Finish}
 */
function asScan ({ scans }, finish) {
  const leave = scans.enter()
  return (err, text) => {
    leave()
    finish(err, text)
  }
}

/** What is only buffered is not decided yet. @param {Asked} asked @returns {Asked} */
function atLeastWritten (asked) {
  return asked.ack === 'buffered' ? { ack: 'written', isAsked: false } : asked
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
exports.commit = commit
