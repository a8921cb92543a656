'use strict'
// flushSync, and the end of the process, while the next segment is being made.

const { spawnSync } = require('node:child_process')
const path = require('node:path')
const { setImmediate: turn } = require('node:timers/promises')
const tape = require('tape')
const { SimulatedDisk, createRandom, failureOf, temporaryFolder } = require('@millrace/testkit')
const { SegmentedLog } = require('..')

const seed = Date.now() % 2 ** 31
const FOLDER = '/logs'

tape(`flushSync: everything appended before it survives a crash, at every step of a roll (seed ${seed})`, async (t) => {
  const random = createRandom(seed)
  for (let round = 0; round < 60; round++) {
    const disk = new SimulatedDisk()
    const options = { storage: disk.storage, segmentSize: 34_000 }
    const log = SegmentedLog(FOLDER, options)
    await log.append(Buffer.from('0'))
    const appended = []
    const pending = []
    let next = 1
    for (let step = 0; step < 6; step++) {
      for (let i = random(4); i >= 0; i--) {
        pending.push(log.append(Buffer.from(`${next++} `.padEnd(random(1500), 'x'))))
      }
      for (let i = random(40); i > 0; i--) await turn()
      log.flushSync()
      const after = SegmentedLog(FOLDER, { storage: disk.crash(() => 0).storage })
      const numbers = []
      for await (const value of after.stream({ seqs: false })) numbers.push(parseInt(value))
      await after.close()
      if (numbers.join() !== Array.from({ length: next }, (_, n) => n).join()) t.fail(`${next} appended, ${numbers} are there`)
    }
    appended.push(...await Promise.all(pending))
    t.ok(appended.every((seq, i) => i === 0 || seq > appended[i - 1]), 'seqs rise')
    t.equal(await log.count(), next)
    await log.close()
    const again = SegmentedLog(FOLDER, options)
    const seqs = []
    for await (const seq of again.stream({ values: false })) seqs.push(seq)
    t.deepEqual(seqs.slice(1), appended)
    await again.close()
  }
})

tape('flushSync: says why it cannot', async (t) => {
  const { storage } = new SimulatedDisk()
  const log = SegmentedLog(FOLDER, { storage })
  t.equal((await failureOf(async () => log.flushSync()))?.code, 'ERR_LOG_NOT_READY')
  await log.append(Buffer.from('a'))
  t.equal((await failureOf(async () => log.flushSync({ synk: true })))?.code, 'ERR_INVALID_ARGUMENT')
  log.flushSync({ sync: false })
  await log.close()
  t.equal((await failureOf(async () => log.flushSync()))?.code, 'ERR_LOG_CLOSED')
})

tape('process.exit: what was appended is there, also while a segment begins', async (t) => {
  for (const turns of [0, 1, 3, 10, 30]) {
    const folder = path.join(temporaryFolder(), 'logs')
    const program = `
      const { SegmentedLog } = require(${JSON.stringify(path.join(__dirname, '..'))})
      const log = SegmentedLog(${JSON.stringify(folder)}, { segmentSize: 40_000 })
      log.append(Buffer.alloc(5000)).then(async () => {
        for (let i = 0; i < 10; i++) log.append(Buffer.alloc(1000, 97 + i), () => {})
        for (let i = 0; i < ${turns}; i++) await new Promise(setImmediate)
        process.exit()
      })`
    const { stderr, status } = spawnSync(process.execPath, ['-e', program], { encoding: 'utf8' })
    t.equal(status, 0, stderr)
    const log = SegmentedLog(folder)
    t.equal(await log.count(), 11, `after ${turns} turns`)
    await log.close()
  }
})

tape('id: all segments have that of the log', async (t) => {
  const { storage } = new SimulatedDisk()
  const log = SegmentedLog(FOLDER, { storage })
  await log.append(Buffer.from('a'))
  const { id } = await log.stats()
  t.match(id, /^[0-9a-f]{32}$/)
  await log.roll()
  t.equal((await log.stats()).id, id)
  await log.close()
})
