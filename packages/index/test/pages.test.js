'use strict'
// Whatever room there is for pages of runs, and whoever else reads, the answers are the same.

const tape = require('tape')
const { jsonCodec } = require('@millrace/json-codec')
const { createRandom } = require('@millrace/testkit')
const { createIndex } = require('..')
const { pick } = require('./cases')
const { MemoryLog } = require('./memory-log')

const SEED = Number(process.env.SEED ?? Date.now() & 0xffffff)
const RECORDS = 12_000
const PATHS = ['a', 'b', 'c', { path: 'n', range: true }]

/** Its lists are longer than a page. */
function makeLog (random) {
  const log = new MemoryLog({ codec: jsonCodec })
  for (let n = 0; n < RECORDS; n++) {
    log.append(jsonCodec.encode({ a: random(40), b: random(60), c: random(2000), n: random(1000) }))
  }
  return log
}

function makeWhere (random) {
  const n = random(1000)
  const one = () => pick(random, [
    { path: 'a', equals: random(40) }, { path: 'b', equals: random(60) }, { path: 'c', in: [random(2000), random(2000)] },
    { path: 'n', gte: n, lt: n + 30 }
  ])
  return pick(random, [one(), [one(), one()], { any: [one(), one()] }])
}

/** Takes the parts of several reads in turn. @returns {any[][]} */
function readInTurn (indexes, asked) {
  const reads = indexes.flatMap((index) => asked.map(({ where, reverse }) => {
    return { parts: index.parts(where, { reverse }), found: [] }
  }))
  for (let left = reads.length; left > 0;) {
    for (const read of reads) {
      if (read.parts === null) continue
      const { done, value } = read.parts.next()
      if (!done) read.found.push(...value.seqs ?? [`${value.from} to ${value.to}`])
      else read.parts = null
      if (done) left--
    }
  }
  return reads.map(({ found }) => found)
}

tape(`pages: reads in turn find the same, with room for one page (seed ${SEED})`, async (t) => {
  const random = createRandom(SEED)
  const log = makeLog(random)
  const tuning = { recordsMax: RECORDS / 4, fanOut: 4, sieveRunsMin: 1 }
  const open = (cachedPages) => createIndex(PATHS, { tuning: { ...tuning, cachedPages } }).open(log)
  const first = open(2048)
  await first.flush()
  await first.close()
  const indexes = [open(2048), open(1), open(3), open(20)]
  for (const index of indexes) await index.ready()
  t.ok(indexes.every((index) => index.status().tail === 0), 'all is in runs')
  let differences = 0
  for (let left = 60; left > 0; left--) {
    const asked = Array.from({ length: 1 + random(4) }, () => ({ where: makeWhere(random), reverse: random(2) === 0 }))
    const found = readInTurn(indexes, asked)
    asked.forEach((_, at) => {
      for (const other of [1, 2, 3]) if (String(found[at]) !== String(found[other * asked.length + at])) differences++
    })
    const wrong = log.compare(pick(random, indexes), asked[0].where, {})
    if (wrong !== null) return t.end(t.fail(wrong))
  }
  t.equal(differences, 0)
  for (const index of indexes) await index.close()
  t.end()
})
