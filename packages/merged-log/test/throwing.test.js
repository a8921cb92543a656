'use strict'
// Callbacks that throw, of both sides of a merged log.

const path = require('node:path')
const tape = require('tape')
const { jsonCodec } = require('@millrace/json-codec')
const { collectThrown, temporaryFolder, testThrows, until } = require('@millrace/testkit')
const { MergedLog, SlotLog } = require('..')

const codec = jsonCodec

/** A folder with two slots of three records each. @returns {Promise<{ folder: string, keys: string[] }>} */
async function fill () {
  const folder = path.join(temporaryFolder(), 'logs')
  const logs = [SlotLog(folder, { codec }), SlotLog(folder, { codec })]
  const keys = []
  for (const log of logs) {
    await log.ready()
    for (let time = 1; time <= 3; time++) keys.push(`${log.slot}:${await log.append({ time })}`)
  }
  await logs[1].del(Number(keys[5].split(':')[1]))
  for (const log of logs) await log.close()
  return { folder, keys }
}

const NO_RECORD = '0:1099511627776'

testThrows(tape, {
  name: 'merged',
  prepare: async () => {
    const { folder, keys: [a, b, , d, , deleted] } = await fill()
    return { create: () => MergedLog(folder, { codec }), seqs: [a, b, d, a, deleted] }
  },
  names: ['ready', 'get', 'get with options', 'get with a signal', 'get of a deleted record', 'getMany', 'first', 'last', 'count',
    'a read that is aborted', 'stream, and reads on', 'stream in reverse, and reads on', 'the end of a stream',
    'the failure of a stream', 'the abort of a stream', 'a read that an abort ends', 'a stream whose signal is aborted',
    'a live stream that closing ends', 'append', 'append with seqs', 'del', 'sync', 'compact', 'scan', 'snapshot', 'stats', 'close'],
  calls: {
    'get of no record': (log, cb) => log.get(NO_RECORD, cb),
    'get of no slot': (log, cb) => log.get('9:0', cb),
    'getMany that fails': (log, cb) => log.getMany([NO_RECORD], cb),
    'a live stream that is read on': (log, cb) => log.stream({ live: true })(null, cb)
  }
})

testThrows(tape, {
  name: 'slot',
  prepare: async () => {
    const { folder, keys } = await fill()
    const seqs = keys.slice(0, 3).map((key) => Number(key.split(':')[1]))
    return { create: () => SlotLog(folder, { codec }), seqs: [...seqs, seqs[0], seqs[0]] }
  },
  names: ['ready', 'append', 'append of a batch', 'append of nothing', 'append with seqs', 'append that fails',
    'append with a wrong option', 'drained', 'del', 'del that fails', 'sync', 'stats', 'close', 'close beside other calls'],
  calls: { roll: (log, cb) => log.roll(cb) }
})

tape('merged: a stream whose consumer reads on and then throws goes on', async (t) => {
  const { folder } = await fill()
  const log = MergedLog(folder, { codec })
  let count = 0
  let hasEnded = false
  const thrown = await collectThrown(async () => {
    const source = log.stream()
    const read = (end) => {
      if (end) {
        hasEnded = true
        return
      }
      count++
      source(null, read)
      throw new Error('planned')
    }
    source(null, read)
    await until(() => hasEnded)
    await log.close()
  })
  t.equal(count, 5)
  t.deepEqual(thrown, { exceptions: Array(5).fill('planned'), rejections: [] })
})

tape('merged: a live stream whose consumer throws gets what is appended, as others do', async (t) => {
  const { folder } = await fill()
  const [writer, log] = [SlotLog(folder, { codec }), MergedLog(folder, { codec, latenessMs: 0 })]
  await writer.ready()
  const counts = [0, 0]
  const thrown = await collectThrown(async () => {
    for (const [index, doesThrow] of [true, false].entries()) {
      const source = log.stream({ live: true })
      const read = (end) => {
        if (end) return
        counts[index]++
        setImmediate(() => source(null, read))
        if (doesThrow) throw new Error('planned')
      }
      source(null, read)
    }
    await until(() => counts.every((count) => count === 5))
    await writer.append([{ time: 4 }, { time: 5 }])
    await until(() => counts.every((count) => count === 7))
    let isClosed = false
    log.close(() => { isClosed = true })
    await until(() => isClosed)
  })
  t.deepEqual(counts, [7, 7])
  t.deepEqual(thrown, { exceptions: Array(7).fill('planned'), rejections: [] })
  await writer.close()
})

tape('merged: a function of eachSlot that throws hears of the other slots, and of those that are added', async (t) => {
  const { folder } = await fill()
  const log = MergedLog(folder, { codec })
  await log.ready()
  const [heard, others] = [[], []]
  const thrown = await collectThrown(async () => {
    log.eachSlot((_, slot) => {
      heard.push(slot)
      throw new Error('planned')
    })
    log.eachSlot((_, slot) => { others.push(slot) })
    await until(() => others.length === 2)
    const writers = [0, 1, 2].map(() => SlotLog(folder, { codec }))
    for (const writer of writers) await writer.ready()
    const source = log.stream({ old: false, live: true })
    const next = source[Symbol.asyncIterator]().next()
    await until(() => others.length === 3)
    const added = writers.find(({ slot }) => slot === 2)
    await added.append({ time: 9 })
    t.deepEqual((await next).value?.value, { time: 9 }, 'streams have it')
    await log.close()
    for (const writer of writers) await writer.close()
  })
  t.deepEqual([heard, others], [[0, 1, 2], [0, 1, 2]])
  t.deepEqual(thrown, { exceptions: Array(3).fill('planned'), rejections: [] })
})

tape('merged: a function time that throws fails the stream, and closing ends', async (t) => {
  const { folder } = await fill()
  const log = MergedLog(folder, { codec, time: () => { throw new Error('planned') } })
  const ends = []
  const thrown = await collectThrown(async () => {
    log.stream()(null, (end) => { ends.push(end) })
    await until(() => ends.length === 1)
    await log.close()
  })
  t.equal(ends[0]?.message, 'planned')
  t.deepEqual(thrown, { exceptions: [], rejections: [] })
})
