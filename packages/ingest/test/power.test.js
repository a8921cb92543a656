'use strict'
// A simulated power cut at any call of the disk: no record that was acknowledged as synced is lost, and with an
// idempotency key none is stored twice. MILLRACE_CUTS=500 makes it longer.

const tape = require('tape')
const { SimulatedDisk, createRandom, temporaryFolder } = require('@millrace/testkit')
const { createIngest } = require('..')

const CUT_COUNT = Number(process.env.MILLRACE_CUTS ?? 12)
/** What a cut may leave is drawn so many times. */
const IMAGE_COUNT = 3
const SENDER_COUNT = 6
const CHANGE_MAX = 250
const ACKS = ['synced', 'written', 'buffered']

const folder = temporaryFolder()

/** A server whose logs are on a simulated disk. */
async function serveOn (disk) {
  const server = createIngest({
    folder,
    bufferMs: 5,
    log: { storage: disk.storage, segmentSize: 20_000 },
    onReport: () => {}
  })
  await server.ready()
  const ask = (options) => server.app.inject({ ...options, headers: { host: 'localhost', ...options.headers } })
  const post = async ({ id, key, ack }) => {
    const headers = { 'content-type': 'application/json', prefer: `ack=${ack}`, ...(key && { 'idempotency-key': key }) }
    const payload = JSON.stringify({ id })
    const url = '/v1/logs/a'
    const { statusCode, headers: given } = await ask({ method: 'POST', url, headers, payload })
    return { status: statusCode, isReplayed: given['idempotency-replayed'] === 'true' }
  }
  return { ask, post, close: () => server.close() }
}

/** Sends records until the disk has changed so often. Returns the disk of that moment, and what had been answered. */
async function runUntilCut (before, random) {
  const cutAt = random(CHANGE_MAX)
  const sent = new Map()
  const answered = []
  const cuts = []
  const disk = before.clone({
    onChange: (_, index) => {
      if (index < cutAt || cuts.length > 0) return
      cuts.push({ disk: disk.clone(), answered: [...answered], sent: [...sent.values()] })
    }
  })
  const server = await serveOn(disk)
  await Promise.all(Array.from({ length: SENDER_COUNT }, async (_, sender) => {
    while (cuts.length === 0) {
      const id = `${sender}-${random(2 ** 32)}`
      const record = { id, ack: ACKS[random(ACKS.length)], ...(random(2) === 0 && { key: id }) }
      sent.set(id, record)
      if ((await server.post(record)).status < 300) answered.push(record)
    }
  }))
  await server.close()
  return cuts[0]
}

async function countIds (server) {
  const counts = new Map()
  for (let query = 'gt=-1'; query !== null;) {
    const { statusCode, payload } = await server.ask({ url: `/v1/logs/a?${query}` })
    if (statusCode !== 200) throw new Error(payload)
    const lines = payload.trimEnd().split('\n').map((line) => JSON.parse(line))
    const { end } = lines.pop()
    for (const { value: { id } } of lines) counts.set(id, (counts.get(id) ?? 0) + 1)
    query = end.reason === 'end' ? null : String(new URLSearchParams(end.next))
  }
  return counts
}

/** What is wrong after the cut, and after all requests with a key were sent again. */
async function examine (image, { answered, sent }) {
  const server = await serveOn(image)
  const faults = []
  await server.post({ id: 'first', ack: 'written' })
  const found = await countIds(server)
  const synced = answered.filter(({ ack }) => ack === 'synced')
  for (const { id } of synced) if (!found.has(id)) faults.push(`${id} was synced and is lost`)
  for (const [id, count] of found) if (count > 1) faults.push(`${id} is there ${count} times`)
  for (const record of sent.filter(({ key }) => key)) {
    const { status, isReplayed } = await server.post({ ...record, ack: 'synced' })
    if (status !== 200 || isReplayed !== found.has(record.id)) faults.push(`the retry of ${record.id}: ${status}, replayed: ${isReplayed}`)
  }
  const again = await countIds(server)
  for (const { id, key } of sent) if (key && again.get(id) !== 1) faults.push(`${id} is there ${again.get(id)} times after its retry`)
  await server.close()
  return { faults, syncedCount: synced.length }
}

tape('power cut: nothing that was synced is lost, and nothing is doubled under one key', async (t) => {
  const seed = Date.now() % 1e9
  const random = createRandom(seed)
  let disk = new SimulatedDisk()
  let syncedCount = 0
  for (let round = 0; round < CUT_COUNT; round++) {
    const cut = await runUntilCut(disk, random)
    for (let count = 0; count < IMAGE_COUNT; count++) {
      const image = cut.disk.crash((choices) => random(choices))
      const result = await examine(image.clone(), cut)
      syncedCount += result.syncedCount
      if (result.faults.length > 0) t.fail(`seed ${seed}, cut ${round}: ${result.faults.slice(0, 3).join('; ')}`)
      disk = image
    }
    // A log of many lives is slow to read, and no better a test.
    if (round % 4 === 3) disk = new SimulatedDisk()
  }
  t.ok(syncedCount > CUT_COUNT, `seed ${seed}: ${syncedCount} times a synced record was there after a cut`)
})
