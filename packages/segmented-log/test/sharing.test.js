'use strict'
// One writer, and readers in other processes, which follow from segment to segment.

const { fork } = require('node:child_process')
const { once } = require('node:events')
const fs = require('node:fs')
const path = require('node:path')
const { setTimeout: sleep } = require('node:timers/promises')
const tape = require('tape')
const { fileStorage } = require('@millrace/block-file')
const { jsonCodec } = require('@millrace/json-codec')
const { OffsetLog } = require('@millrace/offset-log')
const { SimulatedDisk, collect, createRandom, failureOf, newPath, slowStorage, until } = require('@millrace/testkit')
const { SegmentedLog, listSegments } = require('..')

const CHILD = path.join(__dirname, 'follower-child.js')
const COUNT = 40
const seed = Number(process.env.MILLRACE_SEED) || Date.now() % 2 ** 31

async function start (folder, segmentSize = 40_000) {
  const child = fork(CHILD, [folder, String(segmentSize)])
  const ask = async (command) => {
    child.send(command)
    const [answer] = await once(child, 'message')
    return answer.n
  }
  const [{ n }] = await once(child, 'message')
  return { child, ask, n }
}

async function end ({ child }) {
  child.send('close')
  await once(child, 'exit')
}

async function numbersOf (stream) {
  return (await collect(stream)).map(({ n }) => n)
}

/** A storage whose locks know nothing of folders. */
function withSimpleLocks (disk) {
  const locked = new Set()
  const lock = (file, request, cb) => {
    if (locked.has(file)) return process.nextTick(cb, Object.assign(new Error('locked'), { code: 'ERR_LOG_LOCKED' }))
    locked.add(file)
    const done = (cb) => process.nextTick(cb, null)
    const release = (cb) => {
      locked.delete(file)
      done(cb)
    }
    process.nextTick(cb, null, { noteFile: done, forgetFile: done, release })
  }
  const listFolder = (folder, cb) => process.nextTick(cb, null, disk.list().map((file) => path.basename(file)))
  return { locked, storage: { ...disk.storage, listFolder, lock } }
}

tape('sharing: a storage whose locks have no `cover` keeps the folder locked when segments begin and are closed', async (t) => {
  const { locked, storage } = withSimpleLocks(new SimulatedDisk())
  const options = { codec: jsonCodec, storage, openSegments: 1 }
  const log = SegmentedLog('/logs', options)
  for (let n = 0; n < 4; n++) {
    await log.append({ n })
    await log.roll()
    t.deepEqual([...locked], ['/logs/writer'], `after roll ${n}`)
  }
  t.equal((await failureOf(() => SegmentedLog('/logs', options).ready()))?.code, 'ERR_LOG_LOCKED')
  t.deepEqual(await numbersOf(log.stream({ seqs: false })), [0, 1, 2, 3])
  await log.close()
  t.equal(locked.size, 0)
  const next = SegmentedLog('/logs', options)
  await next.append({ n: 4 })
  t.equal(await next.count(), 5)
  await next.close()
  const alone = OffsetLog((await listSegments('/logs', storage))[0], { codec: jsonCodec, storage })
  t.equal(await alone.count(), 1)
  await alone.close()
  t.equal(locked.size, 0)
})

tape('sharing: a second writer is refused, in this process and another, and waits if asked', async (t) => {
  const folder = newPath('logs')
  const writer = await start(folder)
  await writer.ask({ count: COUNT })
  const refused = await failureOf(() => SegmentedLog(folder).ready())
  t.equal(refused?.code, 'ERR_LOG_LOCKED')
  t.equal(refused?.holder?.pid, writer.child.pid)
  const waiting = SegmentedLog(folder, { codec: jsonCodec, lockTimeout: 20_000 })
  const opened = waiting.ready()
  await writer.ask({ count: COUNT })
  await end(writer)
  await opened
  t.equal(await waiting.count(), 2 * COUNT)
  t.equal((await failureOf(() => SegmentedLog(folder).ready()))?.code, 'ERR_LOG_LOCKED')
  await waiting.close()
})

tape('sharing: writers that begin together agree on one', async (t) => {
  const folder = newPath('logs')
  const logs = Array.from({ length: 5 }, () => SegmentedLog(folder, { codec: jsonCodec }))
  const results = await Promise.allSettled(logs.map((log) => log.append('a')))
  const failures = results.filter(({ status }) => status === 'rejected').map(({ reason }) => reason.code)
  t.ok(failures.every((code) => code === 'ERR_LOG_LOCKED'), failures.join())
  t.ok(failures.length < 5, 'one of them writes')
  await Promise.allSettled(logs.map((log) => log.close()))
  const log = SegmentedLog(folder, { codec: jsonCodec })
  t.equal(await log.count(), 5 - failures.length)
  t.equal((await log.segments()).length, 1)
  await log.close()
})

tape('sharing: a reader follows its writer from segment to segment, and writes nothing', async (t) => {
  const folder = newPath('logs')
  t.equal((await failureOf(() => SegmentedLog(folder, { flags: 'r' }).ready()))?.code, 'ENOENT')
  const writer = await start(folder)
  await writer.ask({ count: 3 })
  const reader = SegmentedLog(folder, { codec: jsonCodec, flags: 'r' })
  const numbers = []
  const reading = (async () => {
    for await (const { n } of reader.stream({ live: true, seqs: false })) {
      numbers.push(n)
      if (n === 9 * COUNT + 2) break
    }
  })()
  for (let i = 0; i < 9; i++) await writer.ask({ count: COUNT })
  await reading
  t.deepEqual(numbers, Array.from({ length: 9 * COUNT + 3 }, (_, n) => n))
  t.ok((await reader.segments()).length > 5)
  t.equal((await reader.last({ seqs: false })).n, 9 * COUNT + 2)
  for (const call of [() => reader.append('a'), () => reader.hold('a', 1), () => reader.dropBefore(1), () => reader.roll()]) {
    t.equal((await failureOf(call))?.code, 'ERR_LOG_READ_ONLY')
  }
  await end(writer)
  const owner = SegmentedLog(folder, { codec: jsonCodec })
  const gone = (await owner.first()).seq
  await owner.dropBefore(Infinity)
  await until(async () => (await reader.segments()).length === 1)
  t.equal((await failureOf(() => reader.get(gone)))?.code, 'ERR_LOG_SEQ_RETAINED')
  await reader.close()
  await owner.close()
})

tape('sharing: a reader that segments are dropped under fails, or misses nothing, and goes on', async (t) => {
  const folder = newPath('logs')
  const writer = SegmentedLog(folder, { codec: jsonCodec, segmentSize: 1 })
  let n = 0
  await writer.append({ n: n++ })
  const reader = SegmentedLog(folder, { codec: jsonCodec, flags: 'r' })
  await reader.ready()
  const counts = { failed: 0, whole: 0 }
  for (let round = 0; round < 12; round++) {
    const seen = []
    const stream = reader.stream({ live: true, old: false, seqs: false })
    // It may fail at any time from here on.
    const failure = failureOf(async () => { for await (const value of stream) seen.push(value.n) })
    const first = n
    for (let i = 0; i < 4; i++) await writer.append({ n: n++ })
    await writer.dropBefore(Infinity)
    await until(async () => (await reader.last({ seqs: false }))?.n === n - 1)
    let isOver = false
    failure.then(() => { isOver = true })
    await until(() => isOver || seen.length === 4)
    stream(true)
    const code = (await failure)?.code
    t.deepEqual(seen, Array.from(seen, (_, index) => first + index), 'no gap')
    if (code === 'ERR_LOG_SEQ_RETAINED') counts.failed++
    else if (seen.length === 4 && code === undefined) counts.whole++
    else t.fail(`${code} after ${seen.length} records`)
  }
  t.comment(JSON.stringify(counts))
  await reader.close()
  await writer.close()
})

tape('sharing: a reader that was not told of a drop yet reads what is left', async (t) => {
  for (const isReading of [false, true]) {
    const calls = {
      first: async (reader) => (await reader.first({ seqs: false })).n,
      last: async (reader) => (await reader.last({ seqs: false })).n,
      count: (reader) => reader.count(),
      scan: async (reader) => {
        let count = 0
        await reader.scan({}, (records) => { count += records.count })
        return count
      },
      stream: (reader) => numbersOf(reader.stream({ seqs: false })),
      reverse: (reader) => numbersOf(reader.stream({ seqs: false, reverse: true }))
    }
    for (const [name, call] of Object.entries(calls)) {
      const folder = newPath('logs')
      const writer = SegmentedLog(folder, { codec: jsonCodec, segmentSize: 1 })
      for (let n = 0; n < 6; n++) await writer.append({ n })
      const reader = SegmentedLog(folder, { codec: jsonCodec, flags: 'r', openSegments: 1 })
      await reader.ready()
      await writer.append({ n: 6 })
      const backwards = reader.stream({ seqs: false, reverse: true })[Symbol.asyncIterator]()
      if (isReading) await backwards.next()
      await writer.dropBefore(Infinity)
      // What the reader has open, the segment of 5, it may still show; and that there is a 6 it may not know yet. Who
      // reads all finds nothing if 6 came after the call, and the drop before 5 was read.
      const isShown = {
        first: (n) => n === 5 || n === 6,
        last: (n) => n === 5 || n === 6,
        count: (count) => count <= 2,
        scan: (count) => count <= 2,
        stream: (numbers) => ['', '5', '6', '5,6'].includes(String(numbers)),
        reverse: (numbers) => ['5', '6', '6,5'].includes(String(numbers))
      }[name]
      const got = await call(reader)
      t.ok(isShown(got), `${name}: ${JSON.stringify(got)}`)
      if (isReading) t.deepEqual(await numbersOf(backwards), [], 'a stream backwards ends where the log begins now')
      await reader.close()
      await writer.close()
    }
  }
})

tape('sharing: a writer that was killed loses nothing, and the next one goes on', async (t) => {
  const folder = newPath('logs')
  let last = 0
  for (let round = 0; round < 6; round++) {
    const writer = await start(folder)
    t.ok(writer.n >= last, `${writer.n} records, ${last} were acknowledged`)
    last = await writer.ask({ count: COUNT })
    writer.child.send({ count: 10_000 })
    await sleep(30 * round)
    writer.child.kill('SIGKILL')
    await once(writer.child, 'exit')
  }
  const log = SegmentedLog(folder, { codec: jsonCodec })
  let expected = 0
  for await (const { n } of log.stream({ seqs: false })) if (n !== expected++) t.fail(`${n} instead of ${expected - 1}`)
  t.ok(expected >= last)
  await log.close()
  t.deepEqual(fs.readdirSync(folder).filter((name) => !/^writer$|Z\.log(\.cut-\d+)?$/.test(name)), [], 'nothing is left behind')
})

tape(`sharing: whoever closes a log whose opening was aborted can open it again at once (seed ${seed})`, async (t) => {
  const folder = newPath('logs')
  const log = SegmentedLog(folder, { codec: jsonCodec })
  for (let n = 0; n < 100; n++) await log.append({ n })
  await log.close()
  const random = createRandom(seed)
  for (let round = 0; round < 30; round++) {
    const controller = new AbortController()
    const { signal } = controller
    const aborted = SegmentedLog(folder, { codec: jsonCodec, storage: slowStorage(fileStorage, random), signal })
    for (let left = random(250); left > 0; left--) await new Promise(setImmediate)
    controller.abort()
    await aborted.ready().catch(({ code }) => { if (code !== 'ABORT_ERR') t.fail(`round ${round}: ${code}`) })
    await aborted.close()
    const again = SegmentedLog(folder, { codec: jsonCodec })
    const count = await again.count().catch(({ message }) => message)
    if (count !== 100) t.fail(`round ${round}: ${count}`)
    await again.close()
  }
  t.pass('30 times')
})
