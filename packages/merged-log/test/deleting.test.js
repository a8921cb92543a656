'use strict'
// deleting: who may delete a record of a slot, and what those are told who may not.

const path = require('node:path')
const tape = require('tape')
const { jsonCodec } = require('@millrace/json-codec')
const { SegmentedLog } = require('@millrace/segmented-log')
const { collect, failureOf, newPath } = require('@millrace/testkit')
const { MergedLog, SlotLog } = require('..')

const codec = jsonCodec

async function times (folder) {
  const merged = MergedLog(folder, { codec })
  const found = (await collect(merged.stream())).map(({ time }) => time)
  await merged.close()
  return found
}

tape('deleting: SlotLog deletes records of its own slot, and MergedLog says so', async (t) => {
  const folder = newPath('logs')
  const logs = [SlotLog(folder, { codec }), SlotLog(folder, { codec })]
  for (let time = 1; time <= 6; time++) await logs[time % 2].append({ time })
  const own = await logs[0].append({ time: 7 })
  const seqs = [await logs[1].append({ time: 8 }), await logs[1].append({ time: 9 })]
  const merged = MergedLog(folder, { codec })
  for (const key of ['1:4096', undefined]) {
    const err = await failureOf(() => merged.del(key))
    t.equal(err?.code, 'ERR_LOG_READ_ONLY')
    t.match(err?.message, /`del` of the SlotLog that has its slot, or if no process has slot N, with SegmentedLog in .*N$/)
  }
  await merged.close()
  await logs[0].del(own)
  t.deepEqual(await times(folder), [1, 2, 3, 4, 5, 6, 8, 9])
  await new Promise((resolve, reject) => logs[1].del(seqs, (err) => err ? reject(err) : resolve()))
  t.deepEqual(await times(folder), [1, 2, 3, 4, 5, 6])
  t.equal((await failureOf(() => logs[0].del('1:4096')))?.code, 'ERR_INVALID_ARGUMENT', 'a key of another slot')
  for (const log of logs) await log.close()
  t.equal((await failureOf(() => logs[0].del(own)))?.code, 'ERR_LOG_CLOSED')
})

tape('deleting: without a process in the slot, SegmentedLog deletes there', async (t) => {
  const folder = newPath('logs')
  const log = SlotLog(folder, { codec })
  await log.append({ time: 1 })
  const seq = await log.append({ time: 2 })
  await log.close()
  const slot = SegmentedLog(path.join(folder, '0'), { codec })
  await slot.del(seq)
  await slot.close()
  t.deepEqual(await times(folder), [1])
})
