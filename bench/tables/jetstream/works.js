'use strict'
// What a process measures: records a second, published or consumed by one client, on servers that are running.

const { createPrng } = require('../../lib/prng')

const RECORD_SIZE = 200
const TURN_MS = 250
/** Before the clock starts: connections, compiled code, the first file of the stream. */
const WARM_MS = 250
const APART_COUNT = 1000

/**
 * @typedef {import('./clients').Client} Client
 * @typedef {{ place: import('./clients').Place, work: 'publish' | 'apart' | 'consume', size: number }} Setting
 *   `size`: of a
 *   batch, or how many records are consumed
 */

/** @type {(order: any) => Promise<import('../../engine/row').Reading>} */
async function measure ({ peer, setting }) {
  const client = await peer.open(setting.place)
  const records = createRecords(1000)
  if (setting.work !== 'consume') await publish(client, setting, records, WARM_MS)
  const rate = await (setting.work === 'consume' ? consume(client, setting.size) : publish(client, setting, records, TURN_MS))
  await client.close()
  return { figures: { rate } }
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

/**
 * Fills a stream for `consume`.
 * @type {(peer: import('./clients').Peer, place: import('./clients').Place, size: number) => Promise<void>}
 */
async function fill (peer, place, size) {
  const client = await peer.open(place)
  const records = createRecords(1000)
  for (let count = 0; count < size; count += records.length) await client.publish(records)
  await client.close()
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
