'use strict'
// The log below flumedb: its views follow from segment to segment, and are built again, once, when they are too old.

const fs = require('node:fs')
const path = require('node:path')
const { setTimeout: sleep } = require('node:timers/promises')
const { promisify } = require('node:util')
const tape = require('tape')
const Flume = require('flumedb')
const Index = require('flumeview-level')
const Reduce = require('flumeview-reduce')
const { jsonCodec } = require('@millrace/json-codec')
const { newPath, until } = require('@millrace/testkit')
const { SegmentedLog } = require('..')

const call = (target, name, ...args) => promisify(target[name])(...args)

function open (folder, views = ['sum', 'index']) {
  // LevelDB makes its own folder only.
  fs.mkdirSync(folder, { recursive: true })
  const log = SegmentedLog(path.join(folder, 'log'), { codec: jsonCodec, segmentSize: 34_000 })
  let streamCount = 0
  const { stream } = log
  log.stream = (options) => {
    streamCount++
    return stream(options)
  }
  const db = Flume(log)
  if (views.includes('sum')) db.use('sum', Reduce(1, (total, { n }) => total + n, null, null, 0))
  if (views.includes('index')) db.use('index', Index(1, ({ n }) => [`key ${n}`]))
  return { log, db, views, streams: () => streamCount }
}

async function settled ({ db, views }) {
  await until(() => db.since.value !== undefined && views.every((name) => db[name].since.value === db.since.value))
}

const text = 'x'.repeat(1000)

tape('flumedb: views follow from segment to segment, and go on after reopening', async (t) => {
  const folder = newPath('flume')
  let flume = open(folder)
  for (let n = 1; n <= 10; n++) await call(flume.db, 'append', { n, text })
  await settled(flume)
  t.ok((await flume.log.segments()).length > 3)
  t.equal(await call(flume.db.sum, 'get', {}), 55)
  await call(flume.db, 'close')
  flume = open(folder)
  await settled(flume)
  t.equal(await call(flume.db.sum, 'get', {}), 55)
  t.equal((await call(flume.db.index, 'get', 'key 3')).n, 3)
  await call(flume.db, 'append', { n: 100 })
  t.equal(await call(flume.db.sum, 'get', {}), 155)
  await call(flume.db, 'close')
})

tape('flumedb: a view that is older than the first record kept is built again, once', async (t) => {
  const folder = newPath('flume')
  let flume = open(folder)
  for (let n = 1; n <= 3; n++) await call(flume.db, 'append', { n, text })
  await settled(flume)
  await call(flume.db, 'close')
  // Nobody looks while the log goes on and drops what the views have not seen.
  const log = SegmentedLog(path.join(folder, 'log'), { codec: jsonCodec, segmentSize: 34_000 })
  for (let n = 4; n <= 12; n++) await log.append({ n, text })
  await log.dropBefore((await log.last()).seq)
  let kept = 0
  for await (const { n } of log.stream({ seqs: false })) kept += n
  t.ok(kept >= 12 && kept < 50)
  await log.close()
  flume = open(folder)
  await settled(flume)
  t.equal(await call(flume.db.sum, 'get', {}), kept)
  // On a busy machine the last one may come later.
  await until(async () => {
    const before = flume.streams()
    await sleep(200)
    return flume.streams() === before
  })
  t.ok(flume.streams() <= 6, `${flume.streams()} streams, and not for ever`)
  await call(flume.db, 'append', { n: 1000 })
  t.equal(await call(flume.db.sum, 'get', {}), kept + 1000)
  t.equal((await call(flume.db.index, 'get', 'key 1000')).n, 1000)
  await call(flume.db, 'close')
})
