'use strict'
// What one process measures: records a second, published or consumed. The clients take turns, so that what slows the
// disk or the machine for a while slows all of them.

const { createPrng } = require('../lib/prng')

const RECORD_SIZE = 200
const TURN_MS = 250
/** Before the clock starts: connections, compiled code, the first file of the stream. */
const WARM_MS = 250
const APART_COUNT = 1000

/**
 * @typedef {import('./clients').Client} Client
 *
 * @typedef {object} Setting
 * @property {import('./clients').Place} place
 * @property {'publish' | 'apart' | 'consume'} work
 * @property {number} size  of a batch, or how many records are consumed
 * @property {number} turns  of each client
 *
 * @param {{ setting: Setting, first: Peer, second: Peer }} order
 * @returns {Promise<Record<string, number[]>>}  the rates of each client, by its name
 * @typedef {import('./clients').Peer} Peer
 */
async function measure ({ setting, first, second }) {
  const peers = [first, second]
  const clients = await Promise.all(peers.map((peer) => peer.open(setting.place)))
  const records = createRecords(1000)
  const takeTurn = (/** @type {Client} */ client, /** @type {number} */ ms) => {
    return setting.work === 'consume' ? consume(client, setting.size) : publish(client, setting, records, ms)
  }
  if (setting.work !== 'consume') for (const client of clients) await takeTurn(client, WARM_MS)
  /** @type {number[][]} */
  const rates = peers.map(() => [])
  for (let turn = 0; turn < setting.turns; turn++) {
    // Each is the first one as often as the other.
    const order = turn % 2 === 0 ? [0, 1] : [1, 0]
    for (const index of order) rates[index].push(await takeTurn(clients[index], TURN_MS))
  }
  for (const client of clients) await client.close()
  return Object.fromEntries(peers.map(({ name }, index) => [name, rates[index]]))
}

/** @type {(client: Client, setting: Setting, records: Buffer[], turnMs: number) => Promise<number>} */
async function publish (client, { work, size }, records, turnMs) {
  const batch = records.slice(0, work === 'apart' ? APART_COUNT : size)
  const started = performance.now()
  let count = 0
  let ms = 0
  for (; ms < turnMs; ms = performance.now() - started) {
    await (work === 'apart' ? client.publishApart(batch) : client.publish(batch))
    count += batch.length
  }
  return 1000 * count / ms
}

/** @type {(client: Client, count: number) => Promise<number>} */
async function consume (client, count) {
  const started = performance.now()
  const size = await client.consume(count)
  const ms = performance.now() - started
  if (size !== count * RECORD_SIZE) throw new Error(`${size} bytes were consumed, expected ${count * RECORD_SIZE}`)
  return 1000 * count / ms
}

/** Fills a stream for `consume`. @param {{ setting: Setting, peer: import('./clients').Peer }} order */
async function fill ({ setting: { place, size }, peer }) {
  const client = await peer.open(place)
  const records = createRecords(1000)
  for (let count = 0; count < size; count += records.length) await client.publish(records)
  await client.close()
  return {}
}

/** @param {number} count @returns {Buffer[]}  of text that a compressing disk cannot make much smaller */
function createRecords (count) {
  const random = createPrng(20)
  return Array.from({ length: count }, () => {
    const bytes = Buffer.alloc(RECORD_SIZE)
    for (let i = 0; i < RECORD_SIZE; i++) bytes[i] = 32 + random.below(95)
    return bytes
  })
}

exports.RECORD_SIZE = RECORD_SIZE
exports.fill = fill
exports.measure = measure
