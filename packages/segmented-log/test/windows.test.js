'use strict'
// The rules of Windows, simulated: an open file cannot be renamed, replaced or removed, others get in the way for a
// while, and folders cannot be synced.

const tape = require('tape')
const { patientStorage } = require('@millrace/block-file')
const { SimulatedDisk, collect, createRandom, failureOf, testLog, until, windowsStorage } = require('@millrace/testkit')
const { SegmentedLog } = require('..')

const FOLDER = '/logs'
const seed = Number(process.env.MILLRACE_SEED) || Date.now() % 2 ** 31
const codec = { name: 'text', encode: (text) => Buffer.from(text), decode: (text) => text }
const keep = { where: { path: [], prefix: '1' } }

/** A log that is in its own way fails the test. @type {(t: any, disk: any) => any} */
function createStorage (t, disk) {
  return patientStorage(windowsStorage(disk.storage, {
    random: createRandom(seed),
    onViolation: ({ message }) => t.fail(`${message} (seed ${seed})`)
  }))
}

/** By folder: the suite opens a log again. */
const storages = new Map()
testLog(tape, (path, options) => {
  if (!storages.has(path)) storages.set(path, createStorage(tape, new SimulatedDisk()))
  return SegmentedLog(path, { segmentSize: 50_000, openSegments: 1, storage: storages.get(path), ...options })
}, { name: 'segmented, as on Windows' })

/** @type {(log: any, count: number, size?: number) => Promise<void>} a segment for every five records */
async function fill (log, count, size = 300) {
  for (let n = 0; n < count; n++) {
    await log.append(`${n % 3} ${n} `.padEnd(size, 'the same words again and again '))
    if (n % 5 === 4) await log.roll()
  }
}

const sealed = async (log) => (await log.segments()).slice(0, -1)
const whenCompressed = (log) => until(async () => (await sealed(log)).every(({ compressed }) => compressed !== null))
const namesIn = (disk) => disk.list().filter((file) => file.includes('.log'))

tape('as on Windows: rolls, compression, deletions, retention and keep are in nobody\'s way', async (t) => {
  const disk = new SimulatedDisk()
  const options = { codec, storage: createStorage(t, disk), compress: 'gzip', maxCount: 4, keep, openSegments: 1 }
  const log = SegmentedLog(FOLDER, options)
  await fill(log, 60)
  await log.dropBefore(0)
  await whenCompressed(log)
  const all = await collect(log.stream())
  await log.del(all.filter((_, index) => index % 4 === 0).map(({ seq }) => seq))
  const rest = all.filter((_, index) => index % 4 !== 0)
  t.deepEqual(await collect(log.stream()), rest)
  await log.sync()
  await log.close()
  const again = SegmentedLog(FOLDER, options)
  t.deepEqual(await collect(again.stream()), rest)
  await whenCompressed(again)
  await again.close()
  t.equal(disk.list().filter((file) => /new|compacting|journal/.test(file)).length, 0, 'nothing is left')
})

tape('as on Windows: a dropped segment that a reader has open is removed later, and so are those behind it', async (t) => {
  const disk = new SimulatedDisk()
  const storage = patientStorage(windowsStorage(disk.storage), { patienceMs: 20 })
  const log = SegmentedLog(FOLDER, { codec, storage })
  await fill(log, 30)
  const segments = await log.segments()
  const reader = SegmentedLog(FOLDER, { codec, storage, flags: 'r' })
  const stream = reader.stream()[Symbol.asyncIterator]()
  const { value } = await stream.next()
  const { first, count } = await log.dropBefore(segments[4].base)
  t.equal(count, 4)
  t.equal(first, segments[4].base)
  t.equal((await collect(log.stream())).length, 10)
  t.ok(namesIn(disk).length > 3, 'the files are still there')
  t.equal(value.value, (await reader.get(value.seq)), 'and can be read')
  await fill(log, 5)
  await stream.return()
  await reader.close()
  await until(() => namesIn(disk).length === 4)
  t.equal((await log.segments()).length, 4)
  await log.close()
})

tape('as on Windows: a segment that a reader has open is compressed later', async (t) => {
  const disk = new SimulatedDisk()
  const storage = patientStorage(windowsStorage(disk.storage), { patienceMs: 20 })
  const first = SegmentedLog(FOLDER, { codec, storage })
  await fill(first, 30)
  const all = await collect(first.stream())
  await first.close()
  const reader = SegmentedLog(FOLDER, { codec, storage, flags: 'r', openSegments: 1 })
  const stream = reader.stream()[Symbol.asyncIterator]()
  await stream.next()
  const log = SegmentedLog(FOLDER, { codec, storage, compress: 'gzip' })
  await until(async () => (await sealed(log)).some(({ compressed }) => compressed !== null))
  t.equal((await sealed(log))[0].compressed, null)
  t.deepEqual(await collect(log.stream()), all)
  await stream.return()
  await reader.close()
  await whenCompressed(log)
  t.deepEqual(await collect(log.stream()), all)
  await log.close()
  t.equal(disk.list().some((file) => file.endsWith('.new')), false, 'nothing is left')
})

tape('as on Windows: keep leaves a segment that a reader has open as it is, and takes it later', async (t) => {
  for (const limits of [{ maxCount: 2 }, { maxSize: 2 ** 20, segmentSize: 2 ** 18 }]) {
    const disk = new SimulatedDisk()
    const storage = patientStorage(windowsStorage(disk.storage), { patienceMs: 20 })
    const first = SegmentedLog(FOLDER, { codec, storage })
    await fill(first, 40, limits.maxSize ? 40_000 : 300)
    const all = await collect(first.stream())
    await first.close()
    const reader = SegmentedLog(FOLDER, { codec, storage, flags: 'r' })
    const stream = reader.stream()[Symbol.asyncIterator]()
    await stream.next()
    const log = SegmentedLog(FOLDER, { codec, storage, keep, ...limits })
    await log.dropBefore(0)
    t.deepEqual((await collect(log.stream())).slice(0, 5), all.slice(0, 5))
    await stream.return()
    await reader.close()
    const { kept } = await log.dropBefore(0)
    t.ok(kept > 0)
    const found = await collect(log.stream())
    const isChosen = ({ value }) => value.startsWith('1')
    // Under a quota, the oldest of them go too.
    if (limits.maxCount) {
      t.deepEqual(found.filter(isChosen), all.filter(isChosen), 'no chosen record is lost')
      t.ok(found.slice(0, 2).every(isChosen))
    }
    await log.close()
  }
})

tape('as on Windows: a deletion in a compressed segment that a reader has open fails, and changes nothing', async (t) => {
  const disk = new SimulatedDisk()
  const storage = patientStorage(windowsStorage(disk.storage), { patienceMs: 20 })
  const log = SegmentedLog(FOLDER, { codec, storage, compress: 'gzip' })
  await fill(log, 10)
  await whenCompressed(log)
  const all = await collect(log.stream())
  const reader = SegmentedLog(FOLDER, { codec, storage, flags: 'r' })
  const stream = reader.stream()[Symbol.asyncIterator]()
  await stream.next()
  t.equal((await failureOf(() => log.del(all[0].seq)))?.code, 'EPERM')
  t.deepEqual(await collect(log.stream()), all)
  await stream.return()
  await reader.close()
  await log.del(all[0].seq)
  t.deepEqual(await collect(log.stream()), all.slice(1))
  await log.close()
})

tape('as on Windows: open: a reader has a segment open of which only chosen records were to stay', async (t) => {
  const disk = new SimulatedDisk()
  const images = []
  const log = SegmentedLog(FOLDER, { codec, storage: patientStorage(windowsStorage(disk.storage)) })
  await fill(log, 20)
  const all = await collect(log.stream())
  await log.close()
  disk.onChange = ({ name, path }) => {
    if (name === 'rename' && path.includes('.chosen.new')) images.push(disk.clone({ onChange: null }))
  }
  const own = patientStorage(windowsStorage(disk.storage))
  const keeping = SegmentedLog(FOLDER, { codec, storage: own, keep, maxCount: 2 })
  await keeping.dropBefore(0)
  await keeping.close()
  t.ok(images.length > 0)
  const storage = patientStorage(windowsStorage(images[0].storage), { patienceMs: 20 })
  const reader = SegmentedLog(FOLDER, { codec, storage, flags: 'r' })
  const stream = reader.stream({ gt: -1 })[Symbol.asyncIterator]()
  await stream.next()
  const again = SegmentedLog(FOLDER, { codec, storage })
  t.deepEqual(await collect(again.stream()), all)
  await stream.return()
  await reader.close()
  await again.close()
})

/** Opening a file of this kind waits for `act`. */
function atOpen (storage, pattern, act) {
  const open = (file, options, cb) => {
    if (!pattern.test(file)) return storage.open(file, options, cb)
    Promise.resolve(act()).then(() => storage.open(file, options, cb))
  }
  return { ...storage, open }
}

const turns = async (count) => {
  for (; count > 0; count--) await new Promise(setImmediate)
}

tape('as on Windows: a segment that is being compressed is dropped only when nothing reads it', async (t) => {
  const disk = new SimulatedDisk()
  const first = SegmentedLog(FOLDER, { codec, storage: createStorage(t, disk) })
  await fill(first, 20)
  const all = await collect(first.stream())
  await first.close()
  let dropping = null
  const storage = atOpen(createStorage(t, disk), /\.gz\.new$/, () => {
    dropping ??= log.dropBefore(all[10].seq)
    return turns(50)
  })
  const log = SegmentedLog(FOLDER, { codec, storage, compress: 'gzip', openSegments: 1 })
  await until(() => dropping !== null)
  t.equal((await dropping).count, 2)
  t.deepEqual(await collect(log.stream({ gt: -1 })), all.slice(10))
  await log.close()
  t.notOk(disk.list().some((file) => file.endsWith('.new')), 'nothing is left')
})

tape('as on Windows: a segment whose size is looked at, to be compressed, is dropped after that', async (t) => {
  const disk = new SimulatedDisk()
  const first = SegmentedLog(FOLDER, { codec, storage: createStorage(t, disk) })
  await fill(first, 20)
  const all = await collect(first.stream())
  const [{ path: oldest }] = await first.segments()
  await first.close()
  let dropping = null
  const storage = createStorage(t, disk)
  const open = (file, options, cb) => storage.open(file, options, (err, handle) => {
    if (err || file !== oldest || options.flags !== 'r') return cb(err, handle)
    const size = (cb) => {
      if (dropping !== null) return handle.size(cb)
      // The records from all[10] on are in the third segment.
      dropping = log.dropBefore(all[10].seq)
      // Long enough to remove it.
      setTimeout(() => handle.size(cb), 300)
    }
    cb(null, { ...handle, size })
  })
  const log = SegmentedLog(FOLDER, { codec, storage: { ...storage, open }, compress: 'gzip', openSegments: 1 })
  await until(() => dropping !== null)
  t.equal((await dropping).count, 2)
  await log.close()
})

tape('as on Windows: chosen records take the place of a segment only when it is not being compressed', async (t) => {
  const disk = new SimulatedDisk()
  const first = SegmentedLog(FOLDER, { codec, storage: createStorage(t, disk) })
  await fill(first, 20)
  const all = await collect(first.stream())
  await first.close()
  const copying = { hasBegun: false }
  const own = atOpen(createStorage(t, disk), /\.chosen\.new$/, () => { copying.hasBegun = true })
  const storage = atOpen(own, /\.gz\.new$/, async () => {
    await until(() => copying.hasBegun)
    await turns(1000)
  })
  const log = SegmentedLog(FOLDER, { codec, storage, compress: 'gzip', keep, maxCount: 2, openSegments: 1 })
  await log.dropBefore(0)
  const isChosen = ({ value }) => value.startsWith('1')
  t.deepEqual((await collect(log.stream())).filter(isChosen), all.filter(isChosen))
  await log.close()
  t.notOk(disk.list().some((file) => file.endsWith('.new')), 'nothing is left')
})
