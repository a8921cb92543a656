'use strict'
// repair, of logs that end before they should: wherever a file is cut, all that is whole in front of it comes back.

const tape = require('tape')
const { SimulatedDisk, failureOf } = require('@millrace/testkit')
const { OffsetLog } = require('@millrace/offset-log')
const { repair, verify } = require('..')
const { decodeLog } = require('../../framing/test/checked-oracle')

const FILE = '/folder/log'
const OUT = '/folder/out'
const HEAD_SIZE = 32768
const PAGE_SIZE = 16384
// Too few bytes for a chunk, and a few around that.
const REMAINDERS = [0, 1, 20, 39, 40, 41, 43, 44]

/**
 * Cuts a log behind every page's start, and wants of each what is whole in it.
 * @param {import('tape').Test} t
 * @param {Array<Buffer | Buffer[]>} appends
 * @param {boolean} [isCompacted]
 */
async function cutEverywhere (t, appends, isCompacted = false) {
  const disk = new SimulatedDisk({ defer: queueMicrotask })
  const log = OffsetLog(FILE, { storage: disk.storage, fsync: 'never' })
  const first = await log.append(Buffer.alloc(3000, 'd'))
  for (const records of appends) await log.append(records)
  if (isCompacted) {
    await log.del(first)
    await log.compact()
  }
  await log.close()
  const whole = disk.read(FILE)
  let count = 0
  for (let page = HEAD_SIZE; page < whole.length; page += PAGE_SIZE) {
    for (const remainder of REMAINDERS) {
      const size = page + remainder
      if (size >= whole.length) continue
      count++
      const { storage } = disk
      disk.put(FILE, whole.subarray(0, size))
      const report = await verify(FILE, { storage })
      const out = `${OUT}-${size}`
      const err = await failureOf(() => repair(FILE, out, { storage, write: true }))
      if (err) {
        t.fail(`cut to ${size}: ${err.message}`)
        continue
      }
      const records = decodeLog(disk.read(out)).frames.filter(({ isErased }) => !isErased)
      if (records.length !== report.records) t.fail(`cut to ${size}: ${records.length} of ${report.records} records`)
      const { isSound, tail } = await verify(out, { storage })
      if (!isSound || tail) t.fail(`cut to ${size}: the new log is not sound`)
    }
  }
  t.pass(`${count} cuts`)
}

const BATCH = Array.from({ length: 700 }, (_, index) => Buffer.alloc(100, index % 255 + 1))
const RECORDS = [Buffer.alloc(100, 'a'), Buffer.alloc(200, 'b')]

tape('repair: a log that is cut within a batch', async (t) => {
  await cutEverywhere(t, [...RECORDS, BATCH, ...RECORDS])
})

tape('repair: a log that is cut within a large record', async (t) => {
  await cutEverywhere(t, [...RECORDS, Buffer.alloc(100000, 'c'), ...RECORDS])
})

tape('repair: a log that is cut within a large record of a batch', async (t) => {
  await cutEverywhere(t, [...RECORDS, [...RECORDS, Buffer.alloc(60000, 'c'), ...BATCH], ...RECORDS])
})

tape('repair: a compacted log that is cut', async (t) => {
  await cutEverywhere(t, [...RECORDS, BATCH, Buffer.alloc(60000, 'c'), ...RECORDS], true)
})
