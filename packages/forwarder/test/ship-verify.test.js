'use strict'
// The check of a target against its source finds every kind of difference, and says where.

const tape = require('tape')
const { collect, createRandom } = require('@millrace/testkit')
const { verifyShipped } = require('..')
const { fill, makeLog } = require('./helpers')
const { shipAll } = require('./ship-helpers')

const seed = Date.now() % 2 ** 31

/** A source, and what its target should hold. */
async function prepare (count) {
  const source = makeLog()
  await fill(source, count)
  const { id: log } = await source.stats()
  const records = (await collect(source.stream())).map(({ seq, value }) => ({ log, seq, value }))
  return { source, records }
}

/** @type {(source: any, records: any[], options?: any) => Promise<any>} */
async function verifyWith (source, records, options) {
  const target = makeLog()
  await target.append(records)
  const report = await verifyShipped(source, target, options)
  await target.close()
  return report
}

tape('verifyShipped: counts and digests by range', async (t) => {
  const { source, records } = await prepare(250)
  const target = makeLog()
  await shipAll(source, target)
  const report = await verifyShipped(source, target, { rangeCount: 100 })
  t.deepEqual([report.isSame, report.source, report.target, report.differences], [true, 250, 250, []])
  t.deepEqual(report.ranges.map(({ from, to, source, isSame }) => [from, to, source.count, isSame]), [
    [records[0].seq, records[99].seq, 100, true],
    [records[100].seq, records[199].seq, 100, true],
    [records[200].seq, records[249].seq, 50, true]
  ])
  t.equal(new Set(report.ranges.flatMap(({ source, target }) => [source.digest, target.digest])).size, 3)
  const changed = structuredClone(records)
  changed[150].value.n = -1
  const { ranges } = await verifyWith(source, changed, { rangeCount: 100 })
  t.deepEqual(ranges.map(({ isSame }) => isSame), [true, false, true])
  t.deepEqual((await verifyWith(source, records.slice(0, 90), { lte: records[89].seq })).isSame, true, 'lte')
  await target.close()
  await source.close()
})

tape(`verifyShipped: finds each change that was made, seed ${seed}`, async (t) => {
  const random = createRandom(seed)
  const { source, records } = await prepare(60)
  const changes = {
    missing: (all, at) => all.splice(at, 1),
    different: (all, at) => { all[at].value.n = -1 },
    twice: (all, at) => all.splice(at, 0, all[at]),
    disordered: (all, at) => all.splice(Math.min(at + 2, all.length), 0, all[at]),
    foreign: (all, at) => all.splice(at, 0, { log: 'f'.repeat(32), seq: 1, value: {} }),
    extra: (all, at) => all.splice(at + 1, 0, { ...all[at], seq: all[at].seq + 1 })
  }
  for (const [what, change] of Object.entries(changes)) {
    for (let round = 0; round < 5; round++) {
      const all = structuredClone(records)
      const at = random(all.length - 1)
      change(all, at)
      const { isSame, counts, differences } = await verifyWith(source, all)
      t.deepEqual([isSame, counts[what], differences.length], [false, 1, 1], `${what} at ${at}`)
    }
  }
  await source.close()
})
