'use strict'
// What one process measures: records a second, published or consumed.

const { createPrng } = require('../lib/prng')

const RECORD_SIZE = 200
const PUBLISH_MS = 1000
/** Published before the clock starts: connections, compiled code, the first file of the stream. */
const WARM_COUNT = 2000
const APART_COUNT = 1000

/**
 * @typedef {object} Setting
 * @property {import('./clients').Place} place
 * @property {'publish' | 'apart' | 'consume'} work
 * @property {number} size  of a batch, or how many records are consumed
 *
 * @param {{ setting: Setting, peer: import('./clients').Peer }} order
 */
async function measure ({ setting: { place, work, size }, peer }) {
  const client = await peer.open(place)
  const records = createRecords(1000)
  const rate = work === 'consume' ? await measureConsume(client, size) : await measurePublish(client, work, records, size)
  await client.close()
  return { rate }
}

/** @type {(client: import('./clients').Client, work: string, records: Buffer[], size: number) => Promise<number>} */
async function measurePublish (client, work, records, size) {
  const batch = records.slice(0, work === 'apart' ? APART_COUNT : size)
  const publish = () => work === 'apart' ? client.publishApart(batch) : client.publish(batch)
  const warmUntil = performance.now() + PUBLISH_MS / 2
  for (let warm = 0; warm < WARM_COUNT && performance.now() < warmUntil; warm += batch.length) await publish()
  const started = performance.now()
  let count = 0
  let ms = 0
  for (; ms < PUBLISH_MS; ms = performance.now() - started) {
    await publish()
    count += batch.length
  }
  return 1000 * count / ms
}

/** @type {(client: import('./clients').Client, count: number) => Promise<number>} */
async function measureConsume (client, count) {
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
