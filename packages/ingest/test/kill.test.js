'use strict'
// A server that is killed under load loses no record that it has acknowledged as written, and stores none twice under
// one idempotency key. One that is stopped loses none at all. MILLRACE_KILLS=100 and MILLRACE_STOPS=50 make it longer.

const http = require('node:http')
const { setTimeout: sleep } = require('node:timers/promises')
const tape = require('tape')
const { createRandom, inQuickRuns, temporaryFolder } = require('@millrace/testkit')
const { startProcess } = require('./helpers')

const KILL_COUNT = Number(process.env.MILLRACE_KILLS ?? inQuickRuns(4, 2))
const STOP_COUNT = Number(process.env.MILLRACE_STOPS ?? inQuickRuns(2, 2))
const SENDER_COUNT = 8
/** Records that are acknowledged in each round. */
const ENOUGH = 50
const ACKS = ['written', 'synced', 'buffered']

/** Sends records one after the other, and the same one again until the answer says what became of it. */
class Sender {
  /** Ids that were acknowledged, by acknowledgement. */
  acknowledged = { written: [], synced: [], buffered: [] }
  #next = 0

  constructor (name, hasKeys) {
    this.name = name
    this.hasKeys = hasKeys
    this.agent = new http.Agent({ keepAlive: true })
  }

  /** Until the server is gone. */
  async run (url) {
    for (;;) {
      const ack = this.hasKeys ? ACKS[this.#next % 2] : ACKS[this.#next % 3]
      const id = `${this.name}-${this.#next}`
      const status = await this.#send(url, id, ack)
      // Without a key, nobody knows whether it was stored.
      if (status === null && !this.hasKeys) this.#next++
      if (status === null) return
      if (status >= 400) continue
      this.acknowledged[ack].push(id)
      this.#next++
    }
  }

  #send (url, id, ack) {
    return new Promise((resolve) => {
      const headers = { 'content-type': 'application/json', prefer: `ack=${ack}` }
      if (this.hasKeys) headers['idempotency-key'] = id
      const request = http.request(`${url}/v1/logs/a`, { method: 'POST', headers, agent: this.agent }, (response) => {
        response.resume()
        response.on('end', () => resolve(response.statusCode))
        response.on('error', () => resolve(null))
      })
      request.on('error', () => resolve(null))
      request.end(JSON.stringify({ id }))
    })
  }
}

function countAcknowledged (senders) {
  return senders.flatMap(({ acknowledged }) => Object.values(acknowledged)).reduce((sum, { length }) => sum + length, 0)
}

async function readIds ({ read }) {
  const ids = []
  let query = 'gt=-1'
  for (;;) {
    const { status, records, end, body } = await read(`/v1/logs/a?${query}`)
    if (status !== 200) throw new Error(`reading failed: ${JSON.stringify(body)}`)
    for (const { value } of records) ids.push(value.id)
    if (end.reason === 'end') return ids
    query = new URLSearchParams(end.next)
  }
}

/** Starts, loads and ends a server again and again. */
async function campaign (t, { count, signal, lossless, log }) {
  const folder = temporaryFolder()
  const seed = Date.now() % 1e9
  const random = createRandom(seed)
  const senders = Array.from({ length: SENDER_COUNT }, (_, index) => new Sender(`s${index}`, index % 2 === 0))
  for (let round = 0; round < count; round++) {
    const server = await startProcess(folder, { bufferMs: 40, log })
    const running = senders.map((sender) => sender.run(server.url))
    const before = countAcknowledged(senders)
    while (countAcknowledged(senders) < before + ENOUGH) await sleep(10)
    await sleep(random(300))
    server.child.kill(signal)
    const [code] = await server.ended
    if (signal === 'SIGTERM') t.equal(code, 0, 'it ends well')
    await Promise.all(running)
  }
  const server = await startProcess(folder)
  t.teardown(() => server.child.kill('SIGKILL'))
  const ids = await readIds(server)
  const stored = new Map()
  for (const id of ids) stored.set(id, (stored.get(id) ?? 0) + 1)
  for (const ack of lossless) {
    const acknowledged = senders.flatMap((sender) => sender.acknowledged[ack])
    const lost = acknowledged.filter((id) => !stored.has(id))
    t.ok(acknowledged.length > 0, `${acknowledged.length} records were acknowledged as ${ack}`)
    t.deepEqual(lost.slice(0, 5), [], `none of them is lost (seed ${seed})`)
  }
  const doubled = ids.filter((id) => stored.get(id) > 1)
  t.deepEqual(doubled.slice(0, 5), [], 'none is there twice')
  server.child.kill('SIGTERM')
  await server.ended
}

tape('kill: SIGKILL under load loses nothing that was written', async (t) => {
  await campaign(t, { count: KILL_COUNT, signal: 'SIGKILL', lossless: ['written', 'synced'] })
})

tape('kill: the same with segments that begin often', async (t) => {
  const log = { segmentSize: 50_000 }
  await campaign(t, { count: Math.ceil(KILL_COUNT / 2), signal: 'SIGKILL', lossless: ['written', 'synced'], log })
})

tape('stop: SIGTERM under load loses nothing, buffered records included', async (t) => {
  await campaign(t, { count: STOP_COUNT, signal: 'SIGTERM', lossless: ['written', 'synced', 'buffered'] })
})
