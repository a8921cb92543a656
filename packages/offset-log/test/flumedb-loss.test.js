'use strict'
// flumedb's views after the power took records that they had seen, and the log has grown past them before they open:
// nothing in flumedb tells, but the log does, and they are built again.

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { jsonCodec } = require('@millrace/json-codec')
const { SimulatedDisk, createRandom, newPath } = require('@millrace/testkit')
const { OffsetLog } = require('..')
const { FlumeDatabase, collect } = require('./flume/database')

const seed = Date.now() % 2 ** 31

/** Views in a folder, and their log on a disk that the power takes from. */
async function makeViewsOfTheLost (file, disk, { views, safe, lost }) {
  const db = new FlumeDatabase(file, { storage: disk.storage, fsync: 'never' }, views)
  for (let n = 0; n < safe; n++) await db.append({ n, text: 'x'.repeat(50) })
  await db.log.sync()
  for (let n = 0; n < lost; n++) await db.append({ n: 1000 + n, text: 'y'.repeat(50) })
  await db.settled()
  const seen = db.db.since.value
  const left = disk.crash(() => 0)
  // What the views keep is on stable storage.
  await db.close()
  return { left, seen }
}

/** Nothing else is to be heard of a view that is built again. */
async function quietly (run) {
  const { error } = console
  const messages = []
  console.error = (err) => messages.push(String(err?.message ?? err))
  try {
    await run()
  } finally {
    console.error = error
  }
  return messages
}

for (const views of [['sum'], ['index'], ['sum', 'index']]) {
  tape(`flumedb: ${views.join(' and ')} of records that the power took, with a log grown past them`, async (t) => {
    const file = newPath('flume', 'log')
    const { left, seen } = await makeViewsOfTheLost(file, new SimulatedDisk(), { views, safe: 5, lost: 5 })
    const log = OffsetLog(file, { codec: jsonCodec, storage: left.storage })
    for (let n = 20; n < 40; n++) await log.append({ n, text: 'z'.repeat(70) })
    t.ok(log.since.value > seen, 'flumedb cannot see that the views are ahead')
    await log.close()
    const messages = await quietly(async () => {
      const db = new FlumeDatabase(file, { storage: left.storage }, views)
      t.equal(await db.findFault(), null)
      t.equal((await collect(db.log.stream())).length, 25)
      for (let n = 40; n < 50; n++) await db.append({ n })
      t.equal(await db.findFault(), null)
      await db.close()
    })
    t.equal(messages.filter((message) => /rebuilding/.test(message)).length, views.length, 'each is built again once')
    const again = new FlumeDatabase(file, { storage: left.storage }, views)
    t.equal(await again.findFault(), null)
    await again.close()
  })
}

tape('flumedb: views that have seen no more than what is left go on where they were', async (t) => {
  const file = newPath('flume', 'log')
  const { left } = await makeViewsOfTheLost(file, new SimulatedDisk(), { views: ['sum', 'index'], safe: 5, lost: 0 })
  const messages = await quietly(async () => {
    const log = OffsetLog(file, { codec: jsonCodec, storage: left.storage })
    for (let n = 20; n < 40; n++) await log.append({ n })
    await log.close()
    const db = new FlumeDatabase(file, { storage: left.storage })
    t.equal(await db.findFault(), null)
    await db.close()
  })
  t.deepEqual(messages, [])
})

tape(`flumedb: power cuts again and again, with views that are there now and then (seed ${seed})`, async (t) => {
  const random = createRandom(seed)
  const file = newPath('flume', 'log')
  let disk = new SimulatedDisk()
  let count = 0
  await quietly(async () => {
    for (let round = 0; round < 8; round++) {
      const hasViews = random(2) === 0
      const db = new FlumeDatabase(file, { storage: disk.storage, fsync: 'never' }, hasViews ? ['sum', 'index'] : [])
      if (hasViews) t.equal(await db.findFault(), null, `round ${round}`)
      for (let left = random(6); left > 0; left--) await db.append({ n: count++, text: 'x'.repeat(random(200)) })
      if (random(3) === 0) await db.log.sync()
      for (let left = random(6); left > 0; left--) await db.append({ n: count++ })
      if (hasViews) await db.settled()
      const crashed = disk.crash((count) => random(count))
      const isCut = random(4) > 0
      await db.close()
      if (isCut) disk = crashed
    }
    const db = new FlumeDatabase(file, { storage: disk.storage })
    await db.append({ n: count })
    t.equal(await db.findFault(), null)
    await db.close()
  })
  t.ok(fs.existsSync(path.join(path.dirname(file), 'sum.json')))
})
