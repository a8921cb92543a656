'use strict'
// Random logs, paths and filters: what an index names, verified, is what a scan finds.

const tape = require('tape')
const { binaryCodec } = require('@millrace/binary-codec')
const { jsonCodec } = require('@millrace/json-codec')
const { createRandom, isLongRun } = require('@millrace/testkit')
const { createIndex } = require('..')
const { KINDS, createBuilder } = require('./builders')
const { appendSome, compareMany, createOrdinary, pick } = require('./cases')
const { MemoryLog } = require('./memory-log')
const { createOdd } = require('./odd-cases')

const ROUNDS = Number(process.env.ROUNDS ?? (isLongRun ? 500 : 6))
const SEED = Number(process.env.SEED ?? Date.now() & 0xffffff)
const FILTERS = Number(process.env.FILTERS ?? 60)
const CODECS = [jsonCodec, binaryCodec, { name: 'mine', encode: jsonCodec.encode, decode: jsonCodec.decode }]

/** Something that happens to a log and its index. */
async function step (log, index, random, makeBytes) {
  switch (random(9)) {
    case 0:
      appendSome(log, random, random(300), makeBytes)
      break
    case 1: return index.ready()
    case 2: {
      const seqs = log.records.filter(({ bytes }) => bytes !== null && random(40) === 0).map(({ seq }) => seq)
      for (const seq of seqs) log.del(seq)
      return index.deleted(seqs)
    }
    case 3: {
      if (random(4) > 0) return
      index.compacting()
      log.compact()
      return index.compacted()
    }
    case 4:
      if (log.borders === null) return
      log.roll()
      if (random(4) === 0) log.dropBefore(random(log.end))
      break
    default:
      appendSome(log, random, random(40), makeBytes)
      index.appended()
      await new Promise(setImmediate)
  }
}

/** @returns {Promise<{ wrong: string | null, asked: number }>} */
async function tryLog (seed, hashBits, create) {
  const random = createRandom(seed)
  const codec = pick(random, CODECS)
  const log = new MemoryLog({ codec, seed })
  const { paths, makeBytes, makeWhere } = create(random, codec)
  if (random(2) === 0) log.borders = [0]
  const recordsMax = pick(random, [1, 7, 50, 200, 700])
  const [fanOut, sieveRunsMin] = [pick(random, [2, 3, 8, 100]), pick(random, [1, 2, 1000])]
  const tuning = {
    hashBits, recordsMax, fanOut, waitMs: 1,
    sieveRunsMin, cachedPages: pick(random, [1, 2, 3, 5, 2048])
  }
  appendSome(log, random, random(500), makeBytes)
  const builder = createBuilder(pick(random, KINDS), log, createRandom(seed))
  let index = createIndex(paths, { builder, tuning }).open(log)
  let wrong = null
  let asked = 0
  const compare = (count) => {
    wrong ??= compareMany(log, index, random, count, makeWhere)
    asked += count
  }
  for (let left = 8; left > 0; left--) {
    await step(log, index, random, makeBytes)
    compare(Math.floor(FILTERS / 8))
  }
  await index.ready()
  compare(FILTERS)
  if (!index.status().isReady) wrong ??= 'it is not ready'
  if (index.status().failure !== null) wrong ??= index.status().failure.stack
  await index.close()
  index = createIndex(paths, { builder, tuning }).open(log)
  compare(5)
  await index.ready()
  compare(FILTERS)
  await index.close()
  return { wrong: wrong && `seed ${seed}, ${codec.name}: ${JSON.stringify(paths)}: ${wrong}`, asked }
}

for (const [kind, create] of [['ordinary', createOrdinary], ['odd', createOdd]]) {
  for (const hashBits of [32, 8]) {
    tape(`index: finds what a scan finds in ${kind} records, with hashes of ${hashBits} bits (seed ${SEED})`, async (t) => {
      let sum = 0
      for (let round = 0; round < ROUNDS; round++) {
        const { wrong, asked } = await tryLog(SEED + round, hashBits, create)
        sum += asked
        if (wrong !== null) return t.end(t.fail(wrong))
      }
      t.pass(`${ROUNDS} logs, ${sum} filters`)
      t.end()
    })
  }
}
