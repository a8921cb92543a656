'use strict'
// Random logs, paths and filters: what an index names, verified, is what a scan finds.

const tape = require('tape')
const { binaryCodec } = require('@millrace/binary-codec')
const { jsonCodec } = require('@millrace/json-codec')
const { createRandom, isLongRun } = require('@millrace/testkit')
const { createIndex } = require('..')
const { appendSome, compareMany, makePaths, pick } = require('./cases')
const { MemoryLog } = require('./memory-log')

const ROUNDS = isLongRun ? 1000 : 10
const FILTERS = 60
const CODECS = [jsonCodec, binaryCodec, { name: 'mine', encode: jsonCodec.encode, decode: jsonCodec.decode }]

/** Something that happens to a log and its index. */
async function step (log, index, random) {
  switch (random(9)) {
    case 0:
      appendSome(log, random, random(300))
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
      log.durableEnd = log.end
      break
    case 5:
      if (log.borders === null) return
      log.roll()
      if (random(4) === 0) log.dropBefore(random(log.end))
      break
    default:
      appendSome(log, random, random(40))
      index.appended()
      await new Promise(setImmediate)
  }
}

for (const hashBits of [32, 8]) {
  tape(`index: finds what a scan finds, with hashes of ${hashBits} bits`, async (t) => {
    for (let round = 0; round < ROUNDS; round++) {
      const seed = Date.now() & 0xffffff
      const random = createRandom(seed + round)
      const log = new MemoryLog({ codec: pick(random, CODECS), seed })
      if (random(2) === 0) log.borders = [0]
      const recordsMax = pick(random, [1, 7, 50, 200, 700])
      const tuning = { hashBits, recordsMax, fanOut: pick(random, [2, 3, 8]), waitMs: 1 }
      const paths = makePaths(random)
      appendSome(log, random, random(500))
      let index = createIndex(paths, { tuning }).open(log)
      let wrong = null
      for (let left = 8; left > 0 && wrong === null; left--) {
        await step(log, index, random)
        wrong = compareMany(log, index, random, FILTERS / 8)
      }
      await index.ready()
      wrong ??= compareMany(log, index, random)
      if (!index.status().isReady) wrong ??= 'it is not ready'
      await index.close()
      index = createIndex(paths, { tuning }).open(log)
      wrong ??= compareMany(log, index, random, 5)
      await index.ready()
      wrong ??= compareMany(log, index, random)
      await index.close()
      if (wrong !== null) return t.end(t.fail(`seed ${seed + round}, ${log.codec.name}: ${wrong}`))
    }
    t.pass(`${ROUNDS} logs`)
    t.end()
  })
}
