'use strict'
// Blocks take the keys of appends that were noted for conditions: what they have then is what a scan finds.

const tape = require('tape')
const { binaryCodec } = require('@millrace/binary-codec')
const { jsonCodec } = require('@millrace/json-codec')
const { createRandom, isLongRun } = require('@millrace/testkit')
const { createIndex } = require('..')
const { HidingLog, Queue, step } = require('./appending')
const { compareMany, makePaths, pick } = require('./cases')
const { MemoryLog } = require('./memory-log')

const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)
const ROUNDS = isLongRun ? 600 : 12
const CODECS = [jsonCodec, binaryCodec, { name: 'mine', encode: jsonCodec.encode, decode: jsonCodec.decode }]
const NOBODY = [{ path: ['key'], equals: 'nobody' }]

tape(`noted keys: an index that takes them answers as a scan does (seed ${seed})`, async (t) => {
  for (let round = 0; round < ROUNDS; round++) {
    const random = createRandom(seed + round)
    const log = new HidingLog({ codec: pick(random, CODECS), seed: seed + round })
    if (random(2) === 0) log.borders = [0]
    const [hashBits, recordsMax] = [pick(random, [8, 32]), pick(random, [7, 50, 200])]
    const tuning = { hashBits, recordsMax, fanOut: 2, waitMs: random(3) }
    const index = createIndex(makePaths(random), { tuning }).open(log)
    const queue = new Queue(log, random)
    for (let left = 60; left > 0; left--) {
      await step(queue, index, random)
      queue.endFlush()
      if (queue.recent === null || random(10) === 0) queue.begin(index)
      if (log.hiddenFrom < Infinity) continue
      const wrong = compareMany(log, index, random, 5)
      if (wrong === null) continue
      await index.close()
      return t.fail(`seed ${seed + round}, ${log.codec.name}: ${wrong}`)
    }
    await index.close()
  }
  t.pass()
})

/** A log with an index that notes what is appended. */
async function openNoting (recordsMax = 40) {
  const log = new MemoryLog({ codec: jsonCodec })
  const index = createIndex(['key', { path: 'n', range: true }], { tuning: { recordsMax, waitMs: 1 } }).open(log)
  await index.ready()
  const recent = index.recent()
  recent.settle(recent.begin(), 0)
  const note = (values) => {
    recent.rulesOut(NOBODY, -1)
    return recent.note(values.map((value) => jsonCodec.encode(value)))
  }
  const append = (...values) => {
    const position = note(values)
    const seqs = values.map((value) => log.append(value))
    recent.settle(position, seqs.at(-1))
    return seqs
  }
  // What was there before is read.
  append({ key: 'first' })
  await index.ready()
  log.scanned = 0
  return { log, index, note, append, recent }
}

const find = (log, index, equals) => log.findIn(index.parts({ path: 'key', equals }, {}), { path: 'key', equals })

tape('noted keys: what was noted is not read again; a batch is, as only its last seq is told', async (t) => {
  const { log, index, append } = await openNoting()
  const seqs = []
  for (let n = 0; n < 100; n++) {
    seqs.push(...append({ key: `key ${n}`, n }))
    if (n % 30 === 0) await index.ready()
  }
  await index.ready()
  t.equal(log.scanned, 0)
  t.equal(index.status().records + index.status().tail, 101)
  t.deepEqual([0, 50, 99].map((n) => find(log, index, `key ${n}`)), [0, 50, 99].map((n) => [seqs[n]]))
  t.equal(index.count({ path: 'n', gte: 50 }).sure, 50)
  append({ key: 'a' }, { key: 'b' })
  append({ key: 'c' })
  await index.ready()
  t.equal(log.scanned, 3)
  append({ key: 'd' })
  await index.ready()
  t.equal(log.scanned, 3, 'it goes on after them')
  await index.close()
})

tape('noted keys: what has failed is no record, and what is not told yet is read', async (t) => {
  const { log, index, note, append, recent } = await openNoting(1000)
  append({ key: 'a' })
  note([{ key: 'failed' }])
  append({ key: 'b' })
  await index.ready()
  t.equal(log.scanned, 1, 'what comes after it')
  t.equal(index.count({ path: 'key', equals: 'failed' }).sure, 0)
  const early = note([{ key: 'early' }])
  const first = log.append({ key: 'early' })
  const [second] = append({ key: 'late' })
  await index.ready()
  recent.settle(early, first)
  t.deepEqual(['early', 'late'].map((key) => find(log, index, key)), [[first], [second]])
  append({ key: 'last' })
  await index.ready()
  t.equal(log.scanned, 3)
  await index.close()
})

tape('noted keys: what is deleted before a block takes it is not counted', async (t) => {
  const { log, index, append } = await openNoting(1000)
  append({ key: 'a' })
  const [seq] = append({ key: 'a' })
  index.deleted([seq])
  log.del(seq)
  index.deleted([seq])
  append({ key: 'a' })
  await index.ready()
  t.equal(index.count({ path: 'key', equals: 'a' }).sure, 2)
  t.equal(log.compare(index, { path: 'key', equals: 'a' }), null)
  await index.close()
})
