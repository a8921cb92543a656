'use strict'
// The log below flumedb, as flumelog-offset was: what flumedb and its views ask of a log.

const { setTimeout: sleep } = require('node:timers/promises')
const tape = require('tape')
const pull = require('pull-stream')
const { failureOf, newPath } = require('@millrace/testkit')
const { FlumeDatabase, collect } = require('./flume/database')

for (const framing of ['checked', 'offset32', 'offset48', 'offset53']) {
  const open = (file, views) => new FlumeDatabase(file, { framing }, views)

  tape(`flumedb on ${framing}: views follow appends, and are there after reopening`, async (t) => {
    const file = newPath('flume', 'log')
    const db = open(file)
    const seq = await db.append([{ n: 1 }, { n: 2 }])
    t.equal(await db.sum(), 3)
    t.deepEqual(await db.find('key 2'), { n: 2 })
    await db.append({ n: 4 })
    t.equal(await db.sum(), 7)
    t.deepEqual(await db.get(seq), { n: 2 })
    // flumedb passes its second argument on, so the option works there too, with the promise.
    const seqs = await db.db.append([{ n: 8 }, { n: 16 }], { seqs: true })
    t.deepEqual(await Promise.all(seqs.map((seq) => db.get(seq))), [{ n: 8 }, { n: 16 }])
    await db.close()
    const again = open(file)
    t.equal(await again.sum(), 31)
    await again.append({ n: 32 })
    t.equal(await again.sum(), 63)
    t.equal(await again.findFault(), null)
    await again.close()
  })

  tape(`flumedb on ${framing}: deleting the last record does not hang the views of the next opening`, async (t) => {
    const file = newPath('flume', 'log')
    const db = open(file)
    await db.append({ n: 1 })
    const last = await db.append({ n: 2 })
    t.equal(await db.sum(), 3)
    await db.del(last)
    t.equal((await failureOf(() => db.get(last))).code, 'flumelog:deleted')
    t.equal(await db.sum(), 3, 'the views answer at once: since is where it was')
    await db.close()
    const again = open(file)
    await again.settled()
    t.equal(await again.sum(), 1, 'the view, which was ahead, was built again')
    t.equal(await again.findFault(), null)
    await again.append({ n: 4 })
    t.equal(await again.sum(), 5)
    t.equal(await again.findFault(), null)
    await again.close()
  })

  tape(`flumedb on ${framing}: views that are behind a last record that is deleted go on with the next one`, async (t) => {
    const db = open(newPath('flume', 'log'), ['sum'])
    const seqs = [await db.append({ n: 1 }), await db.append({ n: 2 })]
    await db.settled()
    await db.del(seqs[1])
    // flumedb waits until the view has seen the record that since names.
    const rebuilt = db.rebuild()
    t.equal(await Promise.race([rebuilt, sleep(20, 'still waiting')]), 'still waiting')
    await db.append({ n: 4 })
    await rebuilt
    t.equal(await db.findFault(), null)
    t.equal(await db.sum(), 5)
    await db.close()
  })

  tape(`flumedb on ${framing}: deleting all records leaves an empty database that works`, async (t) => {
    const file = newPath('flume', 'log')
    const db = open(file)
    const seqs = []
    for (const n of [1, 2, 3]) seqs.push(await db.append({ n }))
    t.equal(await db.sum(), 6)
    await db.del(seqs)
    await db.close()
    const again = open(file)
    await again.settled()
    t.equal(again.db.since.value, -1)
    t.equal(await again.sum(), 0)
    t.equal(await again.findFault(), null)
    await again.append({ n: 8 })
    t.equal(await again.sum(), 8)
    t.equal(await again.findFault(), null)
    await again.close()
    const last = open(file)
    t.equal(await last.findFault(), null)
    await last.close()
  })

  tape(`flumedb on ${framing}: an index forgets a deleted record when it is asked for it`, async (t) => {
    const db = open(newPath('flume', 'log'))
    const seqs = []
    for (const n of [1, 2, 3]) seqs.push(await db.append({ n }))
    await db.settled()
    await db.del([seqs[0], seqs[1]])
    t.equal((await failureOf(() => db.find('key 1'))).code, 'flumelog:deleted')
    t.equal((await failureOf(() => db.find('key 1'))).name, 'NotFoundError', 'flumeview-level looks for this code')
    t.deepEqual(await collect(db.db.index.read({ seqs: false })), [{ key: 'key 3', value: { n: 3 } }])
    t.deepEqual(await collect(db.db.index.read({ values: false })), [{ key: 'key 3', seq: seqs[2] }])
    await db.close()
  })

  tape(`flumedb on ${framing}: what is asked before the log is loaded waits for it`, async (t) => {
    const file = newPath('flume', 'log')
    const first = open(file)
    const seq = await first.append([{ n: 1 }, { n: 2 }])
    await first.close()
    const db = open(file)
    t.equal(db.db.since.value, undefined)
    const [appended, got, sum, found, streamed, live] = await Promise.all([db.append({ n: 4 }), db.get(seq), db.sum(),
      db.find('key 1'), collect(db.db.stream({ lte: seq, seqs: false })),
      collect(pull(db.db.stream({ gt: seq, live: true, sync: false, values: false }), pull.take(1)))])
    t.deepEqual([got, found, streamed, live], [{ n: 2 }, { n: 1 }, [{ n: 1 }, { n: 2 }], [appended]])
    t.ok([3, 7].includes(sum), `the sum is ${sum}`)
    t.equal(await db.findFault(), null)
    await db.close()
  })

  tape(`flumedb on ${framing}: close waits for appends, and the views catch up at the next opening`, async (t) => {
    const file = newPath('flume', 'log')
    const db = open(file)
    await db.append({ n: 1000 })
    const appended = []
    for (let n = 0; n < 300; n++) appended.push(db.append({ n }))
    const lost = failureOf(() => db.sum())
    await db.close()
    t.equal(new Set(await Promise.all(appended)).size, 300)
    await lost
    await db.close()
    t.throws(() => db.db.append({ n: 5 }, () => {}), /closed/, 'flumedb says so itself')
    const again = open(file)
    t.equal((await collect(again.log.stream())).length, 301)
    t.equal(await again.findFault(), null)
    await again.close()
  })

  tape(`flumedb on ${framing}: a view that is added later, and one that was left out for a while, catch up`, async (t) => {
    const file = newPath('flume', 'log')
    const first = open(file, ['sum'])
    const seqs = []
    for (let n = 1; n < 50; n++) seqs.push(await first.append({ n }))
    t.equal(await first.findFault(), null)
    await first.close()
    const second = open(file, ['index'])
    t.equal(await second.findFault(), null)
    await second.del(seqs[10])
    for (let n = 50; n < 100; n++) await second.append({ n })
    await second.close()
    const both = open(file)
    await both.settled()
    t.equal((await collect(both.db.index.read({}))).length, 98)
    t.equal(await both.sum(), 99 * 50, 'what was deleted after a view has seen it stays in its sum')
    await both.rebuild()
    t.equal(await both.findFault(), null, 'until it is built again')
    await both.append({ n: 100 })
    t.equal(await both.findFault(), null)
    await both.close()
  })

  tape(`flumedb on ${framing}: the streams that its views ask for, and those of its users`, async (t) => {
    const db = open(newPath('flume', 'log'))
    const seqs = []
    for (const n of [1, 2, 3, 4]) seqs.push(await db.append({ n }))
    await db.del(seqs[1])
    const { since: { value: since } } = db.db
    const first = (options) => collect(pull(db.db.stream(options), pull.take(1)))
    const ofViews = { live: true, seqs: true, values: true }
    t.deepEqual(await first({ gt: -1, ...ofViews, cache: false }), [{ seq: seqs[0], value: { n: 1 } }])
    t.deepEqual(await first({ gt: seqs[0], ...ofViews }), [{ seq: seqs[2], value: { n: 3 } }])
    const next = [first({ gt: since, live: true, sync: false }), first({ gt: since, live: true, seqs: false }),
      first({ old: false, values: false }), first({ live: true, old: false, sync: false, cache: false, seqs: false })]
    const seq = await db.append({ n: 5 })
    t.deepEqual(await Promise.all(next), [[{ seq, value: { n: 5 } }], [{ n: 5 }], [seq], [{ n: 5 }]])
    t.deepEqual(await collect(db.db.stream({ reverse: true, limit: 2, seqs: false })), [{ n: 5 }, { n: 4 }])
    t.deepEqual(await collect(db.db.stream({ gt: since + 0.5, lt: since })), [])
    await db.close()
  })
}
