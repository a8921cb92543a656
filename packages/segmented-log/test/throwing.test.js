'use strict'
// Callbacks that throw, of the calls that only a segmented log has. Those of every log are in the contract.

const path = require('node:path')
const { setImmediate: turn } = require('node:timers/promises')
const tape = require('tape')
const { jsonCodec } = require('@millrace/json-codec')
const { SimulatedDisk, collectThrown, temporaryFolder, testThrows, until } = require('@millrace/testkit')
const { SegmentedLog } = require('..')

/** A log of which every segment has one record. */
async function fill (options) {
  const folder = path.join(temporaryFolder(), 'logs')
  const create = (more) => SegmentedLog(folder, { codec: jsonCodec, segmentSize: 1, time: ['time'], ...options, ...more })
  const log = create({ flags: 'r+' })
  const seqs = []
  for (let time = 1; time <= 5; time++) seqs.push(await log.append({ time }))
  await log.del(seqs[4])
  await log.close()
  return { create, seqs }
}

const time = { gte: 2, lte: 4 }

const reading = {
  segments: (log, cb) => log.segments(cb),
  holds: (log, cb) => log.holds(cb),
  'count of a period': (log, cb) => log.count({ time }, cb),
  'first of a period': (log, cb) => log.first({ time }, cb),
  'scan of a period': (log, cb) => log.scan({ time }, () => {}, cb),
  'scan of a period that awaits its function': (log, cb) => log.scan({ time }, async () => {}, cb),
  'a stream of a period': (log, cb) => log.stream({ time })(null, cb),
  'a read behind records that were dropped': (log, cb) => log.stream({ gt: -1, reverse: true })(null, cb)
}

testThrows(tape, {
  name: 'segmented',
  prepare: fill,
  calls: {
    ...reading,
    roll: (log, cb) => log.roll(cb),
    dropBefore: (log, cb, seqs) => log.dropBefore(seqs[2], cb),
    'dropBefore that fails': (log, cb) => log.dropBefore('a', cb),
    hold: (log, cb, seqs) => log.hold('reader', seqs[3], cb),
    release: (log, cb) => log.release('reader', cb),
    'release of what is not held': (log, cb) => log.release('nobody', cb),
    'append of nothing while a segment is made': (log, cb) => {
      log.append({ time: 6 }, () => {})
      log.append({ time: 7 }, () => {})
      log.append([], cb)
      log.append({ time: 8 }, () => {})
    },
    'drained while a segment is made': (log, cb) => {
      log.append({ time: 6 }, () => {})
      log.append({ time: 7 }, () => {})
      log.drained(cb)
    }
  }
})

testThrows(tape, {
  name: 'segmented, for reading',
  prepare: () => fill({ flags: 'r' }),
  names: ['ready', 'get', 'getMany', 'get of no record', 'first', 'last', 'count', 'scan', 'scan that awaits its function',
    'stream, and reads on', 'append', 'del', 'sync', 'stats', 'a live stream that closing ends', 'close'],
  calls: reading
})

tape('append: a callback that throws while a segment is made does not take the appends behind it', async (t) => {
  const disk = new SimulatedDisk()
  const log = SegmentedLog('/logs', { segmentSize: 1, storage: disk.storage })
  await log.append(Buffer.from('a'))
  const appended = []
  const thrown = await collectThrown(async () => {
    log.append(Buffer.from('b'), () => appended.push('b'))
    log.append([], () => { throw new Error('planned') })
    log.append(Buffer.from('c'), () => appended.push('c'))
    await until(() => appended.length === 2)
    let isClosed = false
    log.close(() => { isClosed = true })
    await until(() => isClosed)
  })
  t.deepEqual(thrown, { exceptions: ['planned'], rejections: [] })
  const again = SegmentedLog('/logs', { segmentSize: 1, storage: disk.storage })
  t.equal(await again.count(), 3, 'the lock was released')
  await again.close()
})

tape('dropped: a listener that throws stops neither the next one nor what drops', async (t) => {
  const disk = new SimulatedDisk()
  const log = SegmentedLog('/logs', { segmentSize: 1, storage: disk.storage })
  const seqs = []
  for (const text of ['a', 'b', 'c']) seqs.push(await log.append(Buffer.from(text)))
  const told = []
  const thrown = await collectThrown(async () => {
    log.dropped(() => { throw new Error('planned') }, false)
    log.dropped((dropped) => { told.push(dropped) }, false)
    t.equal((await log.dropBefore(seqs[1])).count, 1)
    await turn()
  })
  t.equal(told.length, 1)
  t.deepEqual(thrown, { exceptions: ['planned'], rejections: [] })
  await log.close()
})
