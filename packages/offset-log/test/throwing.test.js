'use strict'
// Callbacks that throw, where the contract of every log does not come: logs opened for reading, compaction.

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { SimulatedDisk, collectThrown, slowStorage, createRandom, temporaryFolder, testThrows, until } = require('@millrace/testkit')
const { OffsetLog } = require('..')

const READING = ['ready', 'get', 'get of no record', 'get of a deleted record', 'getMany', 'first', 'last', 'count', 'scan',
  'scan that awaits its function', 'stream, and reads on', 'stream in reverse, and reads on', 'append', 'del', 'sync', 'stats',
  'measureReclaimable', 'compact', 'snapshot', 'a live stream that closing ends', 'close']

/** @type {(options?: object) => Promise<{ create: (more?: object) => any, seqs: number[] }>} a log of five records */
async function fill (options) {
  const file = path.join(temporaryFolder(), 'log')
  const create = (more) => OffsetLog(file, { ...options, ...more })
  const log = create({ flags: 'r+' })
  const seqs = []
  for (const text of ['a', 'b', 'c', 'd', 'e']) seqs.push(await log.append(Buffer.from(text)))
  await log.del(seqs[4])
  await log.close()
  return { create, seqs }
}

for (const framing of ['checked', 'offset32']) {
  testThrows(tape, { name: `${framing}, for reading`, prepare: () => fill({ framing, flags: 'r' }), names: READING })
}

testThrows(tape, {
  name: 'checked',
  prepare: fill,
  calls: {
    refresh: (log, cb) => log.refresh(cb),
    'del while the log is compacted': (log, cb) => {
      log.compact(() => {})
      log.del([], cb)
    },
    'del that fails while the log is compacted': (log, cb) => {
      log.compact(() => {})
      log.del(2 ** 40, cb)
    },
    'sync while the log is compacted': (log, cb) => {
      log.compact(() => {})
      log.sync(cb)
    }
  }
})

tape('follow: a stream whose consumer throws when the file is gone does not keep the others from hearing it', async (t) => {
  const { create } = await fill()
  const log = create({ flags: 'r' })
  await log.ready()
  const ends = []
  const read = (cb) => log.stream({ live: true, old: false })(null, cb)
  const thrown = await collectThrown(async () => {
    read((end) => { ends.push(end.code) })
    read(() => { throw new Error('planned') })
    read((end) => { ends.push(end.code) })
    await until(() => log._file.waitingStreams.size === 3)
    fs.rmSync(log.filename)
    await until(() => ends.length === 2)
    let isTold = false
    log._file.follower.refresh(() => { isTold = true })
    await until(() => isTold)
    await log.close()
  })
  t.deepEqual(ends, ['ERR_LOG_CORRUPT', 'ERR_LOG_CORRUPT'])
  t.deepEqual(thrown, { exceptions: ['planned'], rejections: [] })
})

tape('toReadable: a listener of its data that throws keeps neither the log open nor others from reading', async (t) => {
  const { create } = await fill()
  const log = create()
  const thrown = await collectThrown(async () => {
    log.toReadable({ live: true }).on('data', () => { throw new Error('planned') })
    const rest = []
    log.toReadable({ live: true }).on('data', (item) => { rest.push(item) })
    await until(() => rest.length === 4)
    let isClosed = false
    log.close(() => { isClosed = true })
    await until(() => isClosed)
  })
  t.ok(thrown.exceptions.length > 0 && thrown.exceptions.every((message) => message === 'planned'), String(thrown.exceptions))
  t.deepEqual(thrown.rejections, [])
  const again = create()
  t.equal(await again.count(), 4, 'the lock was released')
  await again.close()
})

// Calls wait for one another in other places if every answer of the disk is late.
for (const framing of ['checked', 'offset48']) {
  const seed = Date.now() % 2 ** 31
  testThrows(tape, {
    name: `${framing}, on a slow disk (seed ${seed})`,
    prepare: () => fill({ framing, storage: slowStorage(new SimulatedDisk().storage, createRandom(seed)) }),
    names: [...READING, 'append of a batch', 'append with seqs', 'append of nothing', 'drained', 'a live stream', 'toSink']
  })
}
