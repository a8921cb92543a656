'use strict'
// What an index knows of the last appends: it rules out a match only if no record matches, written or not.

const tape = require('tape')
const { binaryCodec } = require('@millrace/binary-codec')
const { jsonCodec } = require('@millrace/json-codec')
const { createRandom, isLongRun } = require('@millrace/testkit')
const { parseWhere } = require('@millrace/where')
const { createIndex } = require('..')
const { HidingLog, Queue, step } = require('./appending')
const { makePaths, makeRecord, makeWhere, pick } = require('./cases')
const { MemoryLog } = require('./memory-log')

const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)
const ROUNDS = isLongRun ? 600 : 15
const CODECS = [jsonCodec, binaryCodec, { name: 'mine', encode: jsonCodec.encode, decode: jsonCodec.decode }]

const isOther = (path) => path !== 'type' && path.path !== 'key'

/** Often of a key that few records have. */
function makeFilter (queue, random) {
  const { key: known } = queue.pickValue() ?? {}
  const key = { path: 'key', equals: typeof known === 'string' && random(3) > 0 ? known : `key ${random(400)}` }
  if (random(3) > 0) return random(2) === 0 ? key : [key, { path: 'type', equals: pick(random, ['post', 'vote']) }]
  return makeWhere(random, makeRecord(random))
}

const makeSince = ({ log, since }, random) => {
  const seqs = log.records.map(({ seq }) => seq)
  return [-1, since, seqs.at(-1 - random(20)) ?? -1, seqs[random(seqs.length)] ?? 0, random(log.end + 5)][random(5)]
}

for (const hashBits of [32, 8]) {
  tape(`recent keys: what they rule out is nowhere, with hashes of ${hashBits} bits (seed ${seed})`, async (t) => {
    let count = 0
    for (let round = 0; round < ROUNDS; round++) {
      const random = createRandom(seed + round)
      const log = new HidingLog({ codec: pick(random, CODECS), seed: seed + round })
      if (random(2) === 0) log.borders = [0]
      const tuning = {
        hashBits, recordsMax: pick(random, [7, 50, 200]), fanOut: 2, waitMs: 1,
        sieveRunsMin: random(4), cachedPages: 1 + random(4)
      }
      const paths = ['type', { path: 'key', range: random(2) === 0 }, ...makePaths(random).filter(isOther)]
      const index = createIndex(paths, { tuning }).open(log)
      const queue = new Queue(log, random)
      for (let left = 40; left > 0; left--) {
        await step(queue, index, random)
        queue.endFlush()
        if (random(3) === 0) queue.begin(index)
        if (queue.recent === null) continue
        for (let asked = 0; asked < 30; asked++) {
          const [where, since] = [makeFilter(queue, random), makeSince(queue, random)]
          if (!queue.recent.rulesOut(parseWhere(where), since)) continue
          count++
          if (!queue.hasMatch(where, since)) continue
          await index.close()
          return t.fail(`seed ${seed + round}, ${log.codec.name}: ${JSON.stringify(where)} matches after ${since}`)
        }
      }
      await index.close()
    }
    t.ok(count > ROUNDS, `${count} were ruled out`)
  })
}

/** A log with an index, and what it knows of appends from now on. */
async function openRecent (codec = jsonCodec, more = {}) {
  const log = new MemoryLog({ codec })
  const tuning = { recordsMax: 40, fanOut: 2, waitMs: 1, ...more }
  const index = createIndex(['key', 'type', { path: 'n', range: true }], { tuning }).open(log)
  await index.ready()
  const recent = index.recent()
  recent.settle(recent.begin(), 0)
  const rulesOut = (where, since = -1) => recent.rulesOut(parseWhere(where), since)
  const append = (value) => {
    const bytes = typeof value === 'string' ? Buffer.from(value) : Buffer.from(codec.encode(value))
    const position = recent.note(bytes)
    const seq = log.append(bytes)
    recent.settle(position, seq)
    return seq
  }
  return { log, index, recent, rulesOut, append }
}

const whereKey = (key) => ({ path: 'key', equals: key })

tape('recent keys: know what waits, what was written, and since when; not values of a range', async (t) => {
  const { log, index, recent, rulesOut, append } = await openRecent()
  t.ok(rulesOut(whereKey('a')))
  const position = recent.note(log.codec.encode({ key: 'a', type: 'x', n: 1 }))
  t.notOk(rulesOut(whereKey('a')), 'it waits')
  t.ok(rulesOut(whereKey('b')))
  t.ok(rulesOut([whereKey('a'), { path: 'type', equals: 'y' }]), 'one of both is nowhere')
  t.notOk(rulesOut({ any: [whereKey('b'), { path: 'type', in: ['y', 'x'] }] }))
  t.ok(rulesOut({ any: [whereKey('b'), { path: 'type', in: ['y', 'z'] }] }))
  t.notOk(rulesOut({ path: 'n', equals: 2 }), 'numbers of a path with ranges are not looked for')
  t.ok(rulesOut([{ path: 'n', equals: 1 }, whereKey('b')]))
  t.notOk(rulesOut({ path: 'text', equals: 'b' }), 'the path is not declared')
  const seq = log.append(log.codec.encode({ key: 'a', type: 'x', n: 1 }))
  t.notOk(rulesOut(whereKey('a'), seq), 'its seq is not told yet')
  recent.settle(position, seq)
  t.ok(rulesOut(whereKey('a'), seq))
  t.notOk(rulesOut(whereKey('a'), seq - 1))
  const again = append({ key: 'a' })
  t.notOk(rulesOut(whereKey('a'), again - 1))
  t.ok(rulesOut(whereKey('a'), again))
  await index.close()
  t.notOk(rulesOut(whereKey('b')), 'it ends with the index')
})

tape('recent keys: a new value is ruled out, although the short hash of many others is its own', async (t) => {
  // Of 32 bits it is once in 40,000 appends, if 100,000 are known; and then the end of the log was read.
  const { index, rulesOut, append } = await openRecent(jsonCodec, { hashBits: 2, recordsMax: 1000 })
  for (let n = 0; n < 100; n++) append({ key: n, type: `type ${n}` })
  t.ok(rulesOut(whereKey(100)) && rulesOut(whereKey('none')))
  t.notOk(rulesOut(whereKey(99)) || rulesOut({ path: 'type', equals: 'type 50' }))
  await index.close()
})

tape('recent keys: a record that is a candidate of every filter is one here, before and after it is in a run', async (t) => {
  const odd = `{"deep":${'['.repeat(1500)}${']'.repeat(1500)},"key":"odd"}`
  const { log, index, recent, rulesOut, append } = await openRecent()
  t.ok(log.compile(whereKey('odd'))(Buffer.from(odd)), 'the index looks less deep than a filter')
  append(odd)
  t.notOk(rulesOut(whereKey('odd')))
  for (let n = 0; n < 20; n++) append({ key: n })
  await index.ready()
  recent.stop()
  recent.settle(recent.begin(), log.end)
  t.notOk(rulesOut(whereKey('odd')), 'it is in a block')
  await index.flush()
  t.equal(index.status().runs, 1)
  t.notOk(rulesOut(whereKey('odd')), 'it is in a run')
  t.notOk(rulesOut(whereKey('none')))
  await index.close()
})

tape('recent keys: what is in runs is forgotten, and found there; what no run has for long is not answered', async (t) => {
  const { log, index, rulesOut, append } = await openRecent()
  const seqs = []
  const appendSome = () => {
    for (let left = 200; left > 0; left--) {
      seqs.push(append({ key: seqs.length }))
      if (!rulesOut(whereKey('none'))) return false
    }
    return true
  }
  for (let round = 0; round < 5; round++) {
    t.notOk(appendSome(), 'what the index does not read for long is not answered')
    await index.ready()
    for (const key of [0, seqs.length - 1, seqs.length >> 1]) {
      t.notOk(rulesOut(whereKey(key), seqs[key] - 1), `the key ${key} is found`)
      t.ok(rulesOut(whereKey(key), seqs[key]))
    }
  }
  t.ok(index.status().runs > 0)
  t.ok(log.records.length > 400, `${log.records.length} records`)
  const [from, to] = [seqs[100], seqs[150]]
  t.ok(rulesOut(whereKey('none')))
  index.dropped({ from, to })
  t.notOk(rulesOut(whereKey('none')), 'nor what it must read again')
  await index.close()
})

tape('recent keys: it ends if nobody asks, when the log is compacted, and with another key of the hashes', async (t) => {
  const { log, index, recent, rulesOut, append } = await openRecent()
  for (let n = 0; n < 100; n++) append({ key: n })
  t.notOk(recent.isActive)
  recent.settle(recent.begin(), log.end)
  t.ok(recent.isActive)
  index.compacting()
  t.notOk(recent.isActive)
  t.equal(recent.begin(), -1, 'not while it is compacted')
  t.equal(recent.note(log.codec.encode({ key: 'a' })), -1)
  await index.compacted()
  t.notOk(rulesOut(whereKey('a')))
  const position = recent.begin()
  t.ok(position >= 0)
  t.notOk(rulesOut(whereKey('b')), 'what was appended before is not known yet')
  recent.settle(position, log.end)
  await index.ready()
  t.ok(rulesOut(whereKey('b')))
  await index.flush()
  await index.close()
  // The runs in the folder have a key of their own, which is known once they are open.
  const again = createIndex(['key', 'type', { path: 'n', range: true }]).open(log)
  const early = again.recent()
  early.settle(early.begin(), log.end)
  early.note(log.codec.encode({ key: 'a' }))
  await again.ready()
  t.notOk(early.isActive)
  t.notOk(early.rulesOut(parseWhere(whereKey('a')), log.end))
  await again.close()
})
