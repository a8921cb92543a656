'use strict'
// flushSync, appendSync, and the end of the process, while the next segment is being made.

const { spawnSync } = require('node:child_process')
const path = require('node:path')
const { setImmediate: turn } = require('node:timers/promises')
const tape = require('tape')
const { SimulatedDisk, collect, createRandom, failureOf, inQuickRuns, newPath } = require('@millrace/testkit')
const { SegmentedLog } = require('..')

const seed = Date.now() % 2 ** 31
const FOLDER = '/logs'

tape(`flushSync, appendSync: everything appended before it survives a crash, at every step of a roll (seed ${seed})`, async (t) => {
  const random = createRandom(seed)
  for (let round = 0; round < inQuickRuns(60); round++) {
    const disk = new SimulatedDisk()
    const options = { storage: disk.storage, segmentSize: 34_000 }
    const log = SegmentedLog(FOLDER, options)
    await log.append(Buffer.from('0'))
    const appended = []
    const pending = []
    let next = 1
    for (let step = 0; step < 6; step++) {
      for (let i = random(4); i >= 0; i--) {
        const value = Buffer.from(`${next++} `.padEnd(random(1500), 'x'))
        pending.push(random(3) > 0 ? log.append(value) : log.appendSync(value, { sync: false }))
        if (random(4) === 0) await turn()
      }
      for (let i = random(40); i > 0; i--) await turn()
      if (random(2) === 0) log.flushSync()
      else pending.push(log.appendSync(Buffer.from(`${next++} `)))
      const after = SegmentedLog(FOLDER, { storage: disk.crash(() => 0).storage })
      const numbers = (await collect(after.stream({ seqs: false }))).map((value) => parseInt(value))
      await after.close()
      if (numbers.join() !== Array.from({ length: next }, (_, n) => n).join()) t.fail(`${next} appended, ${numbers} are there`)
    }
    appended.push(...await Promise.all(pending))
    t.ok(appended.every((seq, i) => i === 0 || seq > appended[i - 1]), 'seqs rise')
    t.equal(await log.count(), next)
    await log.close()
    const again = SegmentedLog(FOLDER, options)
    const seqs = await collect(again.stream({ values: false }))
    t.deepEqual(seqs.slice(1), appended)
    await again.close()
  }
})

tape('appendSync: begins a segment, and a process that uses nothing else gets there', async (t) => {
  const { storage } = new SimulatedDisk()
  const log = SegmentedLog(FOLDER, { storage, segmentSize: 40_000 })
  await log.ready()
  const seqs = []
  for (let i = 0; i < 200; i++) {
    seqs.push(log.appendSync(Buffer.alloc(1000, i), { sync: i % 3 === 0 }))
    t.equal(log.since.value, seqs[i])
    await turn()
  }
  t.ok((await log.segments()).length > 5, `${(await log.segments()).length} segments`)
  t.deepEqual((await log.getMany(seqs)).map(([byte]) => byte), seqs.map((_, i) => i))
  t.equal(log.appendSync([]), log.since.value)
  t.equal(log.appendSync([Buffer.from('x'), Buffer.from('y')]), log.since.value)
  t.equal(String(await log.get(log.since.value)), 'y')
  await log.close()
})

tape('appendSync, always: a segment begins although records are not shown yet, and they can be deleted', async (t) => {
  const { storage } = new SimulatedDisk()
  const log = SegmentedLog(FOLDER, { storage, segmentSize: 34_000, fsync: 'always' })
  await log.ready()
  const seqs = []
  for (let i = 0; i < 100; i++) {
    seqs.push(log.appendSync(Buffer.alloc(500, i), { sync: false }))
    if (i % 5 === 4) await log.del([seqs[i], seqs[i - 4]])
    else for (let turns = i % 7; turns > 0; turns--) await turn()
  }
  await log.sync()
  t.equal(log.since.value, seqs.at(-1))
  t.ok((await log.segments()).length > 2)
  const found = (await collect(log.stream())).map(({ seq, value }) => [seq, value[0]])
  const kept = seqs.map((seq, i) => [seq, i]).filter((_, i) => i % 5 > 0 && i % 5 < 4)
  t.deepEqual(found, kept)
  await log.close()
})

tape('appendSync: does not reach the seqs of the segment that is being made, if files cannot be named without waiting', async (t) => {
  const disk = new SimulatedDisk()
  const { renameSync, ...storage } = disk.storage
  const log = SegmentedLog(FOLDER, { storage })
  await log.append(Buffer.from('a'))
  const rolled = log.roll()
  while (disk.list().length < 2) await turn()
  const record = Buffer.alloc(8 * 2 ** 20)
  let count = 0
  const err = await failureOf(async () => { for (;;) count += Number(log.appendSync(record, { sync: false }) > 0) })
  t.equal(err?.code, 'ERR_LOG_NOT_READY')
  t.equal(count, 7, 'of 64 MiB')
  const later = log.append(record)
  t.equal((await failureOf(async () => log.flushSync()))?.code, 'ERR_LOG_NOT_READY')
  await rolled
  const [, { base }] = await log.segments()
  t.ok(await later > base)
  t.ok(log.appendSync(Buffer.from('b')) > base)
  t.equal(await log.count(), 10)
  await log.close()
})

tape('flushSync, appendSync: say why they cannot', async (t) => {
  const { storage } = new SimulatedDisk()
  const log = SegmentedLog(FOLDER, { storage })
  t.equal((await failureOf(async () => log.flushSync()))?.code, 'ERR_LOG_NOT_READY')
  t.equal((await failureOf(async () => log.appendSync(Buffer.from('a'))))?.code, 'ERR_LOG_NOT_READY')
  await log.append(Buffer.from('a'))
  t.equal((await failureOf(async () => log.flushSync({ synk: true })))?.code, 'ERR_INVALID_ARGUMENT')
  t.equal((await failureOf(async () => log.appendSync(Buffer.from('a'), { sync: 1 })))?.code, 'ERR_INVALID_ARGUMENT')
  t.ok(await failureOf(async () => log.appendSync({})), 'a value that the codec does not take')
  log.flushSync({ sync: false })
  const reader = SegmentedLog(FOLDER, { storage, flags: 'r' })
  await reader.ready()
  t.equal((await failureOf(async () => reader.appendSync(Buffer.from('a'))))?.code, 'ERR_LOG_READ_ONLY')
  await reader.close()
  await log.close()
  t.equal((await failureOf(async () => log.flushSync()))?.code, 'ERR_LOG_CLOSED')
  t.equal((await failureOf(async () => log.appendSync(Buffer.from('a'))))?.code, 'ERR_LOG_CLOSED')
})

tape('flushSync: writes what was appended before close, also a record without bytes', async (t) => {
  const { storage } = new SimulatedDisk()
  const log = SegmentedLog(FOLDER, { storage })
  await log.ready()
  const appending = log.append(Buffer.alloc(0))
  const closing = log.close()
  log.flushSync()
  await Promise.all([appending, closing])
})

tape('process.exit: what was appended is there, also while a segment begins', async (t) => {
  for (const turns of [0, 1, 3, 10, 30]) {
    const folder = newPath('logs')
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
