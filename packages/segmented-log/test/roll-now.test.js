'use strict'
// A segment begins in few turns of the event loop, and without any for an append that cannot wait.

const fs = require('node:fs')
const path = require('node:path')
const { setImmediate: nextTurn } = require('node:timers/promises')
const tape = require('tape')
const { promisesOf } = require('@millrace/flow')
const { SEGMENT_NAME, fileStorage } = require('@millrace/block-file')
const { SimulatedDisk, createRandom, failureOf, newPath } = require('@millrace/testkit')
const { SegmentedLog } = require('..')

const MIB = 2 ** 20
const FOLDER = '/logs'
const QUOTA = { maxSize: MIB, segmentSize: 64 * 1024 }
const seed = Number(process.env.MILLRACE_SEED) || Date.now() % 2 ** 31

function record (i, size = 4000) {
  const buf = Buffer.alloc(size, 'r')
  buf.writeUInt32BE(i)
  return buf
}

async function collect (log) {
  const numbers = []
  for await (const value of log.stream({ seqs: false })) numbers.push(value.readUInt32BE())
  return numbers
}

tape('roll: takes few turns of the event loop', async (t) => {
  const { storage } = new SimulatedDisk()
  const log = SegmentedLog(FOLDER, { storage, ...QUOTA })
  for (let i = 0; i < 12; i++) {
    await log.append(record(i))
    const state = { isDone: false }
    log.roll().then(() => { state.isDone = true })
    let turns = 0
    for (; !state.isDone; turns++) await nextTurn()
    // It was 20, and 40 with calls that go through the folder.
    if (turns > 12) t.fail(`${turns} turns`)
  }
  t.equal((await log.segments()).length, 13)
  await log.close()
})

tape('roll: what an append without waiting has begun meanwhile counts, and leaves nothing behind', async (t) => {
  for (let turns = 0; turns < 12; turns++) {
    const disk = new SimulatedDisk()
    const log = SegmentedLog(FOLDER, { storage: disk.storage, ...QUOTA })
    await log.append(record(0))
    const rolled = log.roll()
    const later = log.append(record(1))
    for (let i = 0; i < turns; i++) await nextTurn()
    for (let i = 2; i < 500; i++) log.appendSync(record(i), { sync: false })
    await rolled
    await later
    const numbers = await collect(log)
    t.equal(numbers.at(-1), 499)
    t.equal(499 - numbers[0], numbers.length - 1, `after ${turns} turns, the newest ${numbers.length} in order`)
    await log.close()
    const names = disk.list().map((file) => path.basename(file))
    t.deepEqual(names.filter((name) => !SEGMENT_NAME.test(name)), [])
  }
})

tape(`roll: a power cut or a kill at any step of one that does not wait loses only the end (seed ${seed})`, async (t) => {
  const random = createRandom(seed)
  const images = []
  const disk = new SimulatedDisk()
  const log = SegmentedLog(FOLDER, { storage: disk.storage, ...QUOTA })
  await log.ready()
  let called = -1
  disk.onChange = ({ name }) => {
    if (random(name === 'write' ? 30 : 3) > 0) return
    const [durable, written] = [Number(log.durable.value), Number(log.since.value)]
    images.push({ disk: disk.clone({ onChange: null }), durable, written, called })
  }
  for (let i = 0; i < 600; i++) {
    log.appendSync(record(i), { sync: i % 7 === 0 })
    called = i
    if (i % 90 === 0) await nextTurn()
  }
  disk.onChange = null
  await log.close()
  t.ok(images.length > 50, `${images.length} moments`)
  for (const { disk, durable, written, called } of images) {
    for (const [what, after, least] of [['power cut', disk.crash(random), durable], ['kill', disk, written]]) {
      const again = SegmentedLog(FOLDER, { storage: after.storage, ...QUOTA })
      const numbers = await collect(again)
      const fault = (numbers.length > 0 && numbers.at(-1) - numbers[0] !== numbers.length - 1 && `a hole: ${numbers}`) ||
        (again.since.value < least && `since is ${again.since.value}, not ${least}`) ||
        (what === 'kill' && called >= 0 && numbers.at(-1) < called && `${called} is lost`) ||
        (again.recovery?.damage.length > 0 && JSON.stringify(again.recovery))
      if (fault) t.fail(`${what}: ${fault}`)
      await again.append(record(9999))
      await again.close()
      const left = after.list().filter((file) => !/\.log(\.cut-\d+)?$/.test(file))
      if (left.length > 0) t.fail(`${what}: left behind: ${left}`)
    }
  }
  t.pass('no fault')
})

tape('roll: a segment that was dropped while it was being closed is no failure', async (t) => {
  const open = fileStorage.open
  const slow = (/** @type {any} */ handle) => ({
    ...handle,
    sync: (cb) => setTimeout(() => handle.sync(cb), 5),
    isKnownAt: undefined
  })
  const storage = {
    ...fileStorage,
    open: (file, options, cb) => open(file, options, (err, handle) => cb(err, handle && slow(handle))),
    openSync: (file, options) => slow(fileStorage.openSync(file, options))
  }
  const log = SegmentedLog(newPath('logs'), { storage, ...QUOTA })
  await log.ready()
  for (let i = 0; i < 600; i++) {
    log.appendSync(record(i), { sync: false })
    if (i % 100 === 50) await log.append(record(i))
    if (i % 100 === 60) log.sync().catch((err) => t.fail(err.message))
  }
  t.equal(await failureOf(() => log.sync()), null)
  t.equal(await failureOf(() => log.close()), null)
})

tape('roll: on a full disk, an append without waiting is refused, and later ones are not', async (t) => {
  const disk = new SimulatedDisk()
  const log = SegmentedLog(FOLDER, { storage: disk.storage, ...QUOTA })
  await log.ready()
  const warned = []
  const onWarning = (/** @type {Error} */ { name, message }) => { if (name === 'SegmentedLogWarning') warned.push(message) }
  process.on('warning', onWarning)
  let refused = 0
  disk.decide = ({ name, path: file }) => name === 'open' && file.endsWith('.new') ? { code: 'ENOSPC' } : undefined
  let taken = []
  for (let i = 0; i < 600; i++) {
    const err = await failureOf(() => log.appendSync(record(i), { sync: false }))
    if (err === null) taken.push(i)
    else if (err.code === 'ERR_LOG_NOT_READY') refused++
    else t.fail(err.message)
  }
  t.ok(refused > 100, `${refused} are refused`)
  t.ok(disk.list().every((file) => file.endsWith('.log')))
  disk.decide = () => {}
  await new Promise((resolve) => setTimeout(resolve, 1100))
  for (let i = 600; i < 900; i++) {
    log.appendSync(record(i), { sync: false })
    taken.push(i)
  }
  taken = taken.slice(-(await log.count()))
  t.deepEqual(await collect(log), taken)
  await log.close()
  process.off('warning', onWarning)
  t.equal(warned.length, 1, warned[0])
})

tape('roll: a folder that was moved away gets no segment, nor the one in its place', async (t) => {
  const folder = newPath('logs')
  const log = SegmentedLog(folder, QUOTA)
  await log.append(record(0))
  fs.renameSync(folder, `${folder}.moved`)
  fs.mkdirSync(folder)
  const codes = new Set()
  for (let i = 1; i < 400; i++) codes.add((await failureOf(() => log.appendSync(record(i), { sync: false })))?.code)
  t.ok(codes.has('ERR_LOG_POISONED'), [...codes].join())
  t.deepEqual(fs.readdirSync(folder), [])
  await promisesOf(log).close().catch(() => {})
  t.deepEqual(fs.readdirSync(folder), [])
  t.equal(fs.readdirSync(`${folder}.moved`).filter((name) => SEGMENT_NAME.test(name)).length, 1)
})
