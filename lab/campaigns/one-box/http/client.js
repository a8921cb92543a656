// @ts-nocheck
'use strict'
// A client of the server: it appends, with and without conditions and keys, sends again, reads, counts, and listens.

const { setTimeout: sleep } = require('node:timers/promises')
const { chooseFilter, createValue, isRight } = require('../records')
const { Caller } = require('./caller')
const { LiveClient } = require('./live')

const CALLERS = 4
const KEPT_COUNT = 200
const EVENTS = ['open', 'close', 'ring']

async function run (life) {
  const caller = new Caller(life)
  await life.step('wait for the server', caller.url())
  await life.tell({ opened: true })
  const state = { life, caller, next: life.first, kept: [], last: -1, sent: {}, acked: {} }
  const lives = [true, false].map((isWhole) => new LiveClient(life, caller, isWhole))
  const failed = Promise.race(lives.map(({ done }) => done.then(() => new Promise(() => {}))))
  await Promise.race([failed, Promise.all(Array.from({ length: CALLERS }, () => call(state)))])
  await life.step('counts', checkCounts(state))
  for (const live of lives) await life.step('live', live.check())
  await Promise.all(lives.map((live) => live.close()))
}

async function call (state) {
  const { life } = state
  const names = Object.keys(ACTIONS).flatMap((name) => Array(ACTIONS[name][0]).fill(name))
  while (!life.isStopping) {
    const name = names[life.random(names.length)]
    await life.step(name, ACTIONS[name][1](state))
    if (life.random(10) === 0) await sleep(life.random(50))
  }
}

const whereUser = (user) => encodeURIComponent(JSON.stringify({ path: 'user', equals: user }))

/** @param {string | null} user  on the condition that no record of this user was appended since the last look */
async function append (state, user = null) {
  const { life, caller } = state
  const { random } = life
  const ns = Array.from({ length: 1 + random(random(3) === 0 ? 40 : 3) }, () => state.next++)
  const ack = ['buffered', 'written', 'synced'][random(3)]
  const since = random(3) === 0 ? -1 : state.last
  const query = user === null ? '' : `&if=${whereUser(user)}&since=${since}`
  const hasKey = random(3) > 0
  const isLines = random(3) === 0
  const values = ns.map((n) => JSON.stringify(createValue(n)))
  const request = {
    method: 'POST',
    headers: { 'content-type': isLines ? 'application/x-ndjson' : 'application/json', ...hasKey && { 'idempotency-key': `key-${ns[0]}` } },
    body: isLines ? values.join('\n') : `[${values}]`
  }
  const target = `/v1/logs/events?ack=${ack}${query}`
  const answer = await caller.send(target, { ...request, isOnce: !hasKey })
  if (answer === null) return
  const { status, text } = answer
  const body = JSON.parse(text)
  // What has a key is written before the answer, also if that says that it is buffered.
  if (status === 200 || (status === 202 && hasKey)) {
    life.tell({ http: { acked: ns, last: body.last } })
    state.last = Math.max(state.last, body.last)
    if (body.count !== ns.length) await life.fault(`${ns.length} records were acknowledged as ${text}`)
    if (hasKey) state.kept.push({ target, request, first: status, last: body.last })
    if (state.kept.length > KEPT_COUNT) state.kept.shift()
  } else if (status === 412 && user !== null) {
    life.tell({ http: { refused: ns } })
    await checkConflict(state, user, since, body)
  } else if (status !== 202 || user !== null) {
    await life.fault(`an append was answered with ${status}: ${text}`)
  }
}

async function checkConflict ({ life, caller }, user, since, { seq, code }) {
  const { status, text } = await caller.send(`/v1/logs/events?gte=${seq}&lte=${seq}`)
  if (status === 410 && life.setting.http.drops) return
  const [line] = text.split('\n')
  const isReal = seq > since && status === 200 && JSON.parse(line).value?.user === user
  if (!isReal) await life.fault(`a condition of ${user} since ${since} was refused for ${seq} (${code}): ${status}: ${line.slice(0, 300)}`)
}

/** By name: how often, and what. */
const ACTIONS = {
  append: [6, (state) => append(state)],
  condition: [4, (state) => append(state, createValue(state.next + state.life.random(3)).user)],
  again: [2, async ({ life, caller, kept }) => {
    if (kept.length === 0) return
    const { target, request, first, last } = kept[life.random(kept.length)]
    const { status, text, headers } = await caller.send(target, request)
    // With the record, the limit has dropped what a new server knows of the key.
    const isForgotten = life.setting.http.drops && headers.get('idempotency-replayed') === null
    if (isForgotten && (await caller.send(`/v1/logs/events?gte=${last}&limit=1`)).status === 410) return
    const isSame = status === first && JSON.parse(text).last === last && headers.get('idempotency-replayed') === 'true'
    if (!isSame) await life.fault(`a retry of ${request.headers['idempotency-key']}, which got ${first} and ${last}, got ${status}: ${text}`)
  }],
  read: [2, checkRead],
  event: [3, sendEvent],
  counts: [1, checkCounts]
}

/** By a filter it reads what a scan says. */
async function checkRead ({ life, caller }) {
  const before = await caller.read('/v1/logs/events?gt=-1')
  if (before.length === 0) return
  const wrong = before.find(({ value }, i) => !isRight(value) || (i > 0 && before[i - 1].seq >= before[i].seq))
  if (wrong) await life.fault(`the answer has ${JSON.stringify(wrong).slice(0, 300)}`)
  const { where, matches } = chooseFilter(life.random, before[life.random(before.length)].value.n)
  const last = before.at(-1).seq
  const reverse = life.random(2) === 0
  const bounds = reverse ? `lte=${last}&reverse=true` : `lte=${last}`
  const found = await caller.read(`/v1/logs/events?${bounds}&where=${encodeURIComponent(JSON.stringify(where))}`)
  if (reverse) found.reverse()
  const after = (await caller.read('/v1/logs/events?gt=-1')).filter(({ seq }) => seq <= last)
  const select = (records) => records.filter(({ value }) => matches(value)).map(({ seq }) => seq)
  const [may, must] = [select(before), select(after)]
  const seqs = new Set(found.map(({ seq }) => seq))
  const isMissing = must.some((seq) => !seqs.has(seq))
  const isTooMuch = found.length > seqs.size || [...seqs].some((seq) => !may.includes(seq))
  if (isMissing || isTooMuch) await life.fault(`${JSON.stringify(where)} gives ${[...seqs]}, not ${must} to ${may}`)
}

async function sendEvent ({ life, caller, sent, acked }) {
  const { random, first } = life
  const event = EVENTS[random(EVENTS.length)]
  const source = `s${first}`
  const count = random(2) === 0 ? 1 : 1 + random(5)
  sent[event] = (sent[event] ?? 0) + count
  const hasKey = random(2) === 0
  const body = JSON.stringify(Array(count).fill({ source, event }))
  const headers = { 'content-type': 'application/json', ...hasKey && { 'idempotency-key': `event-${first}-${random(1e9)}` } }
  const isBatch = count > 1 || hasKey
  const answer = isBatch
    ? await caller.send('/v1/logs/se', { method: 'POST', headers, body, isOnce: !hasKey })
    : await caller.send(`/v1/se/${source}/${event}`, { method: 'PUT', isOnce: true })
  if (answer === null) return
  if (answer.status !== 200) await life.fault(`an event was answered with ${answer.status}: ${answer.text}`)
  acked[event] = (acked[event] ?? 0) + count
}

/** Of this client. */
async function checkCounts ({ life, caller, sent, acked }) {
  const must = { ...acked }
  const target = `/v1/se/counts?source=s${life.first}`
  let { status, text } = await caller.send(target)
  if (text.includes('counts_stale') && life.isChanged) {
    await caller.send('/v1/se/counts', { method: 'POST' })
    ;({ status, text } = await caller.send(target))
  }
  // A server that is killed cuts the answer off.
  if (status === 200 && !text.endsWith('{"end":{"reason":"end"}}\n') && !text.includes('"error"')) return
  const rows = text.split('\n').slice(0, -1).map((line) => JSON.parse(line))
  if (status !== 200 || rows.at(-1).error) await life.fault(`counts were answered with ${status}: ${text.slice(0, 500)}`)
  for (const event of EVENTS) {
    const counted = rows.filter((row) => row.event === event).reduce((sum, { count }) => sum + count, 0)
    if (counted >= (must[event] ?? 0) && counted <= (sent[event] ?? 0)) continue
    await life.fault(`${counted} of ${event} are counted, not ${must[event] ?? 0} to ${sent[event] ?? 0}: ${text}`)
  }
}

exports.run = run
