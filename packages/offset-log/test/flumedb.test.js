'use strict'
// The log below flumedb, as flumelog-offset was.

const path = require('node:path')
const { setTimeout: sleep } = require('node:timers/promises')
const { promisify } = require('node:util')
const Flume = require('flumedb')
const Reduce = require('flumeview-reduce')
const tape = require('tape')
const { jsonCodec } = require('@millrace/json-codec')
const { temporaryFolder } = require('@millrace/testkit')
const { OffsetLog } = require('..')

function open (file, framing) {
  const sum = Reduce(1, (total, { n }) => total + n, null, null, 0)
  const db = Flume(OffsetLog(file, { framing, codec: jsonCodec })).use('sum', sum)
  const call = (target, name, ...args) => promisify(target[name])(...args)
  return {
    append: (value) => call(db, 'append', value),
    get: (seq) => call(db, 'get', seq),
    del: (seq) => call(db, 'del', seq),
    sum: () => call(db.sum, 'get', {}),
    // A view that was ahead of the log answers from its old state until flumedb has noticed and built it again.
    settled: async () => {
      while (db.since.value === undefined || db.sum.since.value !== db.since.value) await sleep(1)
    },
    close: () => call(db, 'close')
  }
}

for (const framing of ['checked', 'offset48']) {
  tape(`flumedb on ${framing}: a view follows appends, and is there after reopening`, async (t) => {
    const file = path.join(temporaryFolder(), 'flume', 'log')
    const db = open(file, framing)
    const seq = await db.append([{ n: 1 }, { n: 2 }])
    t.equal(await db.sum(), 3)
    await db.append({ n: 4 })
    t.equal(await db.sum(), 7)
    t.deepEqual(await db.get(seq), { n: 2 })
    await db.close()
    const again = open(file, framing)
    t.equal(await again.sum(), 7)
    await again.append({ n: 8 })
    t.equal(await again.sum(), 15)
    await again.close()
  })

  tape(`flumedb on ${framing}: del is there, and deleting the last record does not hang the views of the next opening`, async (t) => {
    const file = path.join(temporaryFolder(), 'flume', 'log')
    const db = open(file, framing)
    await db.append({ n: 1 })
    const last = await db.append({ n: 2 })
    t.equal(await db.sum(), 3)
    await db.del(last)
    await db.get(last).then(() => t.fail('deleted'), (err) => t.equal(err.code, 'flumelog:deleted'))
    await db.close()
    const again = open(file, framing)
    await again.settled()
    t.equal(await again.sum(), 1, 'the view, which was ahead, was built again')
    await again.append({ n: 4 })
    t.equal(await again.sum(), 5)
    await again.close()
  })
}
