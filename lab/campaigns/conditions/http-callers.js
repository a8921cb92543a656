// @ts-nocheck
'use strict'
// A thread with callers who append over HTTP. If the server is killed, they send what was not answered again, with the
// same idempotency key: so each must find out what has become of it.

const { setTimeout: sleep } = require('node:timers/promises')
const { parentPort, workerData } = require('node:worker_threads')
const { createRandom } = require('@millrace/testkit')

const { seed, first, callerCount, keyCount, logName, answerCount } = workerData
const JSON_TYPE = { 'content-type': 'application/json' }
/** Of a server that is beginning, or that is handling a request whose client has gone. */
const LATER = new Set([409, 503])
const LATER_MS = 2

const random = createRandom(seed)
const told = { accepted: [], buffered: [], refused: [], faults: [], again: 0 }
let next = first
/** What the parent has said last. */
const state = { server: null, hasEnded: false }

parentPort.on('message', ({ url }) => {
  if (url === null) state.hasEnded = true
  else state.server = url
})

/** @returns {Promise<{ status: number, text: string } | null>} null if the server was killed, and no other comes */
async function send (target, init) {
  for (let isAgain = false; ; isAgain = true) {
    const url = state.server
    try {
      const response = await fetch(url + target, init)
      const text = await response.text()
      if (!LATER.has(response.status)) return { status: response.status, text }
      await sleep(LATER_MS)
    } catch {
      while (state.server === url && !state.hasEnded) await sleep(LATER_MS)
      if (state.server === url) return null
      if (!isAgain) told.again++
    }
  }
}

const whereKey = (key) => encodeURIComponent(JSON.stringify({ path: 'key', equals: key }))

/** @returns {Promise<number | null>} the seq of the newest record of a key; -1 if there is none */
async function findNewest (key) {
  const answer = await send(`/v1/logs/${logName}?where=${whereKey(key)}&reverse=true&limit=1`)
  if (answer === null) return null
  // The log begins with the first record.
  if (answer.status === 404) return -1
  const [line] = answer.text.split('\n').map((line) => line && JSON.parse(line))
  return line.seq ?? -1
}

async function appendOne (known) {
  const key = random(keyCount)
  const isPlain = random(5) === 0
  const since = isPlain ? null : random(2) === 0 ? known.get(key) ?? -1 : await findNewest(key)
  if (since === null && !isPlain) return
  const batch = next
  const values = Array.from({ length: 1 + random(3) }, () => ({ n: next++, key, batch, since, pad: 'x'.repeat(random(200)) }))
  const ack = ['buffered', 'written', 'synced'][random(3)]
  const query = isPlain ? `ack=${ack}` : `ack=${ack}&if=${whereKey(key)}&since=${since}`
  const headers = { ...JSON_TYPE, 'idempotency-key': `batch-${batch}` }
  const answer = await send(`/v1/logs/${logName}?${query}`, { method: 'POST', headers, body: JSON.stringify(values) })
  if (answer === null) return
  Atomics.add(answerCount, 0, 1)
  const body = JSON.parse(answer.text)
  if (answer.status === 200 && body.last !== undefined) {
    told.accepted.push(batch)
    known.set(key, body.last)
  } else if (answer.status === 202) {
    told.buffered.push(batch)
    if (!isPlain) told.faults.push(`batch ${batch} has a condition, and is only buffered`)
  } else if (answer.status === 412 && !isPlain) {
    told.refused.push({ batch, key, since, seq: body.seq })
    known.set(key, body.seq)
  } else {
    told.faults.push(`batch ${batch}: ${answer.status}: ${answer.text.slice(0, 200)}`)
  }
}

async function call () {
  const known = new Map()
  while (!state.hasEnded) {
    if (random(4) === 0) await Promise.all([appendOne(known), appendOne(known)])
    else await appendOne(known)
  }
}

async function main () {
  while (state.server === null) await sleep(LATER_MS)
  await Promise.all(Array.from({ length: callerCount }, call))
  parentPort.postMessage(told)
  parentPort.close()
}

main()
