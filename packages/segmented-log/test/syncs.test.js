'use strict'
// What syncs promise over segments, and what a power cut takes where one ends.

const path = require('node:path')
const tape = require('tape')
const { jsonCodec } = require('@millrace/json-codec')
const {
  SimulatedDisk, collect, createRandom, failureOf, inQuickRuns, slowStorage, until
} = require('@millrace/testkit')
const { SegmentedLog } = require('..')

const seed = Number(process.env.MILLRACE_SEED) || Date.now() % 2 ** 31
const FOLDER = '/logs'
const NOTHING = Buffer.alloc(0)

/** Of a file or of its unfinished name. @type {(file: string) => string} */
const nameOf = (file) => path.basename(file).replace(/\.new$/, '')

/** The disk after a power cut that takes all that is not durable. */
const cut = (disk) => disk.crash(() => 0)

tape('sync: after one that failed, all later ones fail (second-sync-ok)', async (t) => {
  for (const fsync of ['always', 'interval', 'never']) {
    for (const isClosed of [false, true]) {
      const disk = new SimulatedDisk()
      const log = SegmentedLog(FOLDER, { fsync, codec: jsonCodec, openSegments: 1, storage: disk.storage })
      const seqs = []
      for (let n = 0; n < 6; n++) {
        seqs.push(await log.append(n))
        if (n % 2) await log.roll()
      }
      await log.sync()
      const [{ path: sealed }] = await log.segments()
      let left = 1
      disk.decide = ({ name, path }) => {
        if (name === 'sync' && path === sealed && left-- > 0) return { code: 'EIO', losesPages: true }
      }
      const delErr = await failureOf(() => log.del(seqs[0]))
      if (fsync === 'always') t.equal(delErr?.code, 'ERR_LOG_POISONED')
      // Its file is closed for others, which fails.
      if (isClosed) for (const seq of seqs.slice(2)) await log.get(seq)
      if (isClosed) await until(() => left <= 0)
      for (let n = 0; n < 3; n++) t.equal((await failureOf(() => log.sync()))?.code, 'ERR_LOG_POISONED', `${fsync} ${n}`)
      t.equal((await failureOf(() => log.append('a')))?.code, 'ERR_LOG_POISONED')
      t.equal((await failureOf(() => log.del(seqs[1])))?.code, 'ERR_LOG_POISONED')
      t.equal(await log.get(seqs[1]), 1, 'reads go on')
      t.equal((await failureOf(() => log.close()))?.code, 'ERR_LOG_POISONED')
    }
  }
})

tape('sync: covers what was deleted while a segment began (sync-misses-deletion)', async (t) => {
  const disk = new SimulatedDisk()
  let go = null
  let isHeld = false
  const { storage } = disk
  const open = (file, options, cb) => {
    const run = () => storage.open(file, options, cb)
    if (!isHeld || !file.endsWith('.new')) return run()
    isHeld = false
    go = run
  }
  const log = SegmentedLog(FOLDER, { fsync: 'interval', codec: jsonCodec, storage: { ...storage, open } })
  const seq = await log.append('a secret')
  await log.append('b')
  await log.sync()
  isHeld = true
  const rolling = log.roll()
  await until(() => go !== null)
  await log.del(seq)
  go()
  await rolling
  await log.sync()
  const after = SegmentedLog(FOLDER, { codec: jsonCodec, storage: cut(disk).storage })
  t.equal((await failureOf(() => after.get(seq)))?.code, 'flumelog:deleted')
  await after.close()
  await log.close()
})

tape('sync: a segment that is dropped meanwhile does not fail it (sync-fails-retained)', async (t) => {
  const disk = new SimulatedDisk()
  const { storage } = disk
  let onOpen = null
  const open = (file, options, cb) => {
    const run = () => storage.open(file, options, cb)
    if (onOpen === null) run()
    else onOpen(file, run)
  }
  const log = SegmentedLog(FOLDER, { fsync: 'never', codec: jsonCodec, openSegments: 1, storage: { ...storage, open } })
  const seqs = []
  for (let n = 0; n < 8; n++) {
    seqs.push(await log.append(n))
    if (n % 2) await log.roll()
  }
  await log.sync()
  const [{ path: first }] = await log.segments()
  await log.del(seqs[0])
  for (const seq of seqs.slice(2)) await log.get(seq)
  const last = await log.append('not durable yet')
  onOpen = (file, run) => {
    if (nameOf(file) !== nameOf(first)) return run()
    onOpen = null
    log.dropBefore(seqs[3]).then(run, run)
  }
  t.equal(await failureOf(() => log.sync()), null)
  onOpen = null
  t.ok(log.durable.value >= last)
  await log.close()
})

tape(`sync: what it promised survives a power cut, whatever segments do (seed ${seed})`, async (t) => {
  const random = createRandom(seed)
  for (let run = 0; run < inQuickRuns(60); run++) {
    const fsync = ['always', 'interval', 'never'][random(3)]
    const disk = new SimulatedDisk()
    const options = { fsync, codec: jsonCodec, segmentSize: 40_000, openSegments: 1 + random(2) }
    const storage = slowStorage(disk.storage, random, { isBlocking: random(2) === 0 })
    const log = SegmentedLog(FOLDER, { ...options, storage })
    await log.ready()
    /** By seq: the value, or null once it is deleted. What is under way is in neither. */
    const records = new Map()
    const failures = []
    const pending = []
    const checkCut = async (expected, first) => {
      const after = SegmentedLog(FOLDER, { codec: jsonCodec, storage: cut(disk).storage })
      await after.ready()
      for (const [seq, value] of expected) {
        if (seq < first) continue
        const found = await after.get(seq).catch((err) => err.code)
        // What is being deleted may be gone already.
        const isRight = found === (value ?? 'flumelog:deleted') || (found === 'flumelog:deleted' && records.get(seq) !== value)
        if (!isRight && found !== 'ERR_LOG_SEQ_RETAINED') failures.push(`${seq}: ${found} instead of ${value}`)
      }
      await after.close()
    }
    let count = 0
    for (let step = 0; step < 60; step++) {
      const what = random(10)
      const seqs = [...records.keys()].filter((seq) => records.get(seq) !== null)
      if (what < 4) {
        const value = `${count++} ${'x'.repeat(random(9000))}`
        pending.push(log.append(value).then((seq) => {
          records.set(seq, value)
          if (log.since.value < seq) failures.push(`since ${log.since.value} behind ${seq}`)
          if (fsync === 'always' && log.durable.value < seq) failures.push(`durable ${log.durable.value} behind ${seq}`)
        }))
      } else if (what === 4 && log.supports.flushSync) {
        const value = `${count++}`
        try {
          records.set(log.appendSync(value, { sync: random(2) === 0 }), value)
        } catch (err) {
          if (err.code !== 'ERR_LOG_NOT_READY') throw err
        }
      } else if (what === 5 && seqs.length > 0) {
        const seq = seqs[random(seqs.length)]
        records.delete(seq)
        pending.push(log.del(seq).then(() => records.set(seq, null), (err) => {
          if (err.code !== 'ERR_LOG_SEQ_RETAINED' && err.code !== 'flumelog:deleted') failures.push(`del ${err.stack}`)
        }))
      } else if (what === 6) pending.push(log.roll())
      else if (what === 7 && random(4) === 0 && seqs.length > 0) pending.push(log.dropBefore(seqs[random(seqs.length)]))
      else if (what === 8) {
        const expected = [...records]
        const { value: since } = log.since
        pending.push(log.sync().then(() => {
          if (log.durable.value < since) failures.push(`durable ${log.durable.value} after a sync at ${since}`)
          return checkCut(expected, 0)
        }))
      } else if (random(2)) await Promise.all(pending.splice(0))
      else await new Promise(setImmediate)
    }
    await Promise.all(pending)
    await log.close()
    await checkCut([...records], 0)
    t.deepEqual(failures, [], `run ${run}, ${fsync}`)
  }
})

/** A disk on which calls that wait take some turns, and those that do not are too slow to be made. */
function slowDisk () {
  const disk = new SimulatedDisk()
  const defer = (left, run) => setImmediate(() => left > 0 ? defer(left - 1, run) : run())
  disk.defer = (run) => defer(4, run)
  const adapt = (handle) => ({
    ...handle,
    syncSync () {
      for (const began = performance.now(); performance.now() - began < 3;);
      handle.syncSync()
    }
  })
  const open = (file, options, cb) => {
    disk.storage.open(file, options, (err, handle) => cb(err, handle && adapt(handle)))
  }
  const openSync = (...args) => adapt(disk.storage.openSync(...args))
  return { disk, storage: { ...disk.storage, open, openSync } }
}

/** Runs in each turn until it is told to stop. */
function eachTurn (act) {
  let isOver = false
  const run = () => {
    if (isOver) return
    act()
    setImmediate(run)
  }
  run()
  return () => { isOver = true }
}

tape('roll: ends beside a program whose records are being synced all the time (roll-waits-for-a-pause)', async (t) => {
  for (const fsync of ['always', 'interval']) {
    const { disk, storage } = slowDisk()
    const segmentSize = 65_536
    const log = SegmentedLog(FOLDER, { fsync, segmentSize, storage })
    await log.ready()
    const seqs = []
    const stop = eachTurn(() => seqs.push(log.appendSync(Buffer.alloc(1000), { sync: false })))
    await until(() => seqs.length > 1200)
    stop()
    const sizes = (await log.segments()).map((segment) => disk.size(segment.path))
    t.ok(Math.max(...sizes) < 3 * segmentSize, `${fsync}: segments of ${sizes} bytes`)
    await log.sync()
    t.deepEqual((await collect(log.stream({ values: false }))), seqs)
    await log.close()
  }
})

tape('sync and roll: wait for what was appended before, not for what comes later (sync-waits-for-a-pause)', async (t) => {
  const { disk } = slowDisk()
  const log = SegmentedLog(FOLDER, { segmentSize: 65_536, storage: disk.storage })
  await log.ready()
  const appended = []
  const stop = eachTurn(() => appended.push(log.append(Buffer.alloc(9000))))
  await until(() => appended.length > 100)
  const done = []
  log.sync().then(() => done.push('sync'))
  log.roll().then(() => done.push('roll'))
  // It comes to what waits now after ten times as much.
  await until(() => done.length === 2 || appended.length > 6000)
  stop()
  t.deepEqual(done.sort(), ['roll', 'sync'], `after ${appended.length} appends`)
  const seqs = await Promise.all(appended)
  t.deepEqual(await collect(log.stream({ values: false })), seqs)
  await log.close()
})

tape('lost: what a power cut takes while a segment begins is told by every read (lost-behind-roll)', async (t) => {
  const first = SegmentedLog(FOLDER, { storage: new SimulatedDisk().storage })
  await first.ready()
  const { flushSync } = first.supports
  await first.close()
  if (!flushSync) return t.comment('the storage has no synchronous calls')
  // At each change of the disk, records are shown, and the power goes.
  for (let index = 0, isDone = false; !isDone; index++) {
    const disk = new SimulatedDisk()
    const log = SegmentedLog(FOLDER, { fsync: 'never', segmentSize: 65_536, storage: disk.storage })
    for (let n = 0; n < 5; n++) await log.append(Buffer.alloc(500, n))
    await log.sync()
    const seqs = []
    let after = null
    let left = index
    disk.onChange = () => {
      if (after !== null || left-- > 0) return
      after = disk.clone()
      for (let n = 0; n < 3; n++) {
        try {
          seqs.push(log.appendSync(Buffer.alloc(500, 9), { sync: false }))
        } catch (err) {
          if (err.code !== 'ERR_LOG_NOT_READY') throw err
        }
      }
    }
    await log.roll()
    isDone = after === null
    disk.onChange = null
    await log.close()
    if (isDone) break
    const next = SegmentedLog(FOLDER, { segmentSize: 65_536, storage: cut(after).storage })
    await next.append(Buffer.from('next'))
    await next.roll()
    await next.append(Buffer.from('later'))
    for (const seq of seqs) {
      const codes = await Promise.all([
        failureOf(() => next.get(seq)),
        failureOf(() => next.stream({ gt: seq })[Symbol.asyncIterator]().next()),
        failureOf(() => next.stream({ lt: seq, reverse: true })[Symbol.asyncIterator]().next()),
        failureOf(() => next.count({ gt: seq })),
        failureOf(() => next.first({ gt: seq }))
      ])
      t.deepEqual([...new Set(codes.map((err) => err?.code))], ['ERR_LOG_SEQ_LOST'], `change ${index}, seq ${seq}`)
    }
    await next.close()
  }
})

tape('lost: what the next session takes over, and then rolls, is told (lost-get-after-roll)', async (t) => {
  const disk = new SimulatedDisk()
  const log = SegmentedLog(FOLDER, { fsync: 'never', segmentSize: 65_536, storage: disk.storage })
  for (let n = 0; n < 5; n++) await log.append(Buffer.alloc(1000, n))
  await log.sync()
  const lost = []
  for (let n = 0; n < 5; n++) lost.push(await log.append(Buffer.alloc(1000, n)))
  const next = SegmentedLog(FOLDER, { segmentSize: 65_536, storage: cut(disk).storage })
  await next.append(Buffer.alloc(64_000))
  t.equal((await next.segments()).length, 2, 'the first append begins a segment')
  for (const seq of lost) {
    t.equal((await failureOf(() => next.get(seq)))?.code, 'ERR_LOG_SEQ_LOST')
    t.equal((await failureOf(() => next.count({ gt: seq })))?.code, 'ERR_LOG_SEQ_LOST')
    t.equal((await failureOf(() => next.last({ lt: seq })))?.code, 'ERR_LOG_SEQ_LOST')
  }
  await next.append(NOTHING)
  await next.close()
  await log.close()
})
