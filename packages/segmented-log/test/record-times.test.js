'use strict'
// Reads of a period: the same records as a filter, and segments outside of it are not opened.

const path = require('node:path')
const tape = require('tape')
const { jsonCodec } = require('@millrace/json-codec')
const { SimulatedDisk, collect, createRandom, failureOf, inQuickRuns, until } = require('@millrace/testkit')
const { SegmentedLog } = require('..')

const seed = Number(process.env.MILLRACE_SEED) || Date.now() % 2 ** 31
const FOLDER = '/logs'
const START_MS = Date.UTC(2026, 0, 1)

/** Waits until the times of so many segments are in the file. */
async function awaitTimes (disk, count) {
  const find = () => disk.list().find((name) => name.endsWith('/times'))
  await until(() => find() !== undefined && String(disk.read(find())).split('"segment"').length > count)
  return find()
}

tape(`times: a period has the records that a filter finds (seed ${seed})`, async (t) => {
  const random = createRandom(seed)
  for (let round = 0; round < inQuickRuns(6, 3); round++) {
    const disk = new SimulatedDisk()
    const time = round % 2 === 0 ? ['at', 'time'] : (value) => value.at?.time
    const compress = round % 3 === 0 && 'gzip'
    const options = { codec: jsonCodec, storage: disk.storage, segmentSize: 36_000, time, strict: true, compress }
    let log = SegmentedLog(FOLDER, options)
    const all = []
    for (let i = 0; i < 200; i++) {
      const ms = START_MS + 1000 * (i + random(20))
      const times = [ms, new Date(ms).toISOString(), undefined, 'never']
      const kind = random(20)
      const at = kind === 18 ? null : { time: times[Math.max(0, kind - 16)] }
      const value = { i, ms: kind > 17 ? null : ms, at, text: 'x'.repeat(random(800)) }
      all.push({ seq: await log.append(value), value })
    }
    const sealed = (await log.segments()).length - 1
    if (random(2) === 0) await awaitTimes(disk, sealed)
    for (let step = 0; step < 60; step++) {
      if (step === 30) {
        await log.close()
        log = SegmentedLog(FOLDER, { ...options, flags: step % 2 === 0 ? 'r' : 'r+' })
      }
      const bounds = {}
      for (const name of ['gt', 'gte', 'lt', 'lte']) if (random(3) === 0) bounds[name] = START_MS + 1000 * random(220)
      const { gt = -Infinity, gte = -Infinity, lt = Infinity, lte = Infinity } = bounds
      const isWithin = ({ value: { ms } }) => ms !== null && ms > gt && ms >= gte && ms < lt && ms <= lte
      const read = { time: bounds, reverse: random(2) === 0 }
      if (random(3) === 0) read.limit = random(20)
      if (random(3) === 0) read.gt = all[random(all.length)].seq
      const expected = all.filter((entry) => isWithin(entry) && entry.seq > (read.gt ?? -1))
      if (read.reverse) expected.reverse()
      const found = await collect(log.stream(read))
      const wanted = JSON.stringify(expected.slice(0, read.limit))
      if (JSON.stringify(found) !== wanted) t.fail(`${JSON.stringify(read)}: ${JSON.stringify(found)} instead of ${wanted}`.slice(0, 600))
      if (read.limit === undefined && await log.count({ time: bounds, gt: read.gt }) !== expected.length) t.fail('count')
    }
    await log.close()
    t.pass(`round ${round}: ${sealed} segments`)
  }
})

tape('times: segments outside of the period are not opened', async (t) => {
  const opened = new Set()
  const disk = new SimulatedDisk({
    decide: ({ name, path: file }) => { if (name === 'open') opened.add(path.basename(file)) }
  })
  const options = { codec: jsonCodec, storage: disk.storage, segmentSize: 1, openSegments: 1, time: ['time'] }
  const log = SegmentedLog(FOLDER, options)
  for (let i = 0; i < 20; i++) await log.append({ time: START_MS + i })
  const file = await awaitTimes(disk, 19)
  await log.close()
  const reader = SegmentedLog(FOLDER, { ...options, flags: 'r' })
  await reader.ready()
  opened.clear()
  const period = { gte: new Date(START_MS + 5), lt: new Date(START_MS + 7).toISOString() }
  const found = await collect(reader.stream({ time: period, seqs: false }))
  t.deepEqual(found, [{ time: START_MS + 5 }, { time: START_MS + 6 }])
  const segments = [...opened].filter((name) => name.endsWith('.log'))
  t.ok(segments.length <= 3, `${segments.length} of 20 segments were read`)
  await reader.close()

  // What the file lost is found again; what it says of others is not believed.
  const text = String(disk.read(file)).split('\n')
  const changed = [text[0], ...text.slice(5), text[3].replace('"untimed":0', '"untimed":1')]
  disk.put(file, Buffer.from(changed.join('\n').slice(0, -40)))
  const again = SegmentedLog(FOLDER, options)
  await awaitTimes(disk, 19)
  const first = await collect(again.stream({ time: { lte: START_MS + 2 }, seqs: false }))
  t.deepEqual(first.map(({ time }) => time - START_MS), [0, 1, 2])
  await again.close()
  const other = SegmentedLog(FOLDER, { ...options, time: ['other'] })
  t.deepEqual(await collect(other.stream({ time: { gte: 0 } })), [], 'the times of another field are not used')
  await other.close()
})

tape('times: the file of another field, or one that could not be written anew, is replaced: it grew with each open', async (t) => {
  let isFailing = false
  const disk = new SimulatedDisk({
    decide: ({ name, path }) => isFailing && name === 'write' && path.endsWith('/times') ? { code: 'ENOSPC' } : {}
  })
  const options = { codec: jsonCodec, storage: disk.storage, segmentSize: 1 }
  const openLog = (field) => SegmentedLog(FOLDER, { ...options, time: [field] })
  const log = openLog('time')
  for (let i = 0; i < 6; i++) await log.append({ time: START_MS + i, other: START_MS - i })
  const file = await awaitTimes(disk, 5)
  await log.close()
  const { length } = disk.read(file)
  isFailing = true
  const failed = openLog('other')
  await until(() => disk.read(file).length === 0)
  await failed.close()
  isFailing = false
  for (let i = 0; i < 3; i++) {
    const again = openLog('other')
    await awaitTimes(disk, 5)
    const found = await collect(again.stream({ time: { gte: START_MS }, seqs: false }))
    t.deepEqual(found.map(({ other }) => other), [START_MS])
    await again.close()
    t.ok(disk.read(file).length < length + 50, `${disk.read(file).length} bytes, ${length} before`)
  }
})

tape('times: of segments that were restored beside them, those of the newest one are forgotten: its new records were left out', async (t) => {
  for (const knowsTime of [true, false]) {
    let disk = new SimulatedDisk()
    const openLog = (hasTime = true) => SegmentedLog(FOLDER, { codec: jsonCodec, storage: disk.storage, ...hasTime && { time: ['time'] } })
    const appendAll = async (log, ...times) => {
      for (const time of times) await log.append({ time: START_MS + time })
    }
    let log = openLog()
    await appendAll(log, 10)
    await log.close()
    const older = disk.clone()
    log = openLog()
    await appendAll(log, 20)
    await log.roll()
    await appendAll(log, 30)
    const file = await awaitTimes(disk, 1)
    await log.close()
    older.put(file, disk.read(file))
    disk = older
    // Who does not ask for times leaves none that are wrong, either.
    log = openLog(knowsTime)
    await appendAll(log, 5, 40)
    await log.roll()
    await log.close()
    log = openLog()
    await appendAll(log, 50)
    await awaitTimes(disk, 1)
    for (const [gte, lte, expected] of [[35, 100, [40, 50]], [10, 40, [10, 40]]]) {
      const time = { gte: START_MS + gte, lte: START_MS + lte }
      const found = await collect(log.stream({ time, seqs: false }))
      t.deepEqual(found.map(({ time }) => time - START_MS), expected)
    }
    await log.close()
  }
})

tape('times: a live stream goes on within the period', async (t) => {
  const { storage } = new SimulatedDisk()
  const log = SegmentedLog(FOLDER, { codec: jsonCodec, storage, segmentSize: 1, time: ['time'] })
  const live = collect(log.stream({ live: true, time: { gte: START_MS + 5 }, seqs: false, limit: 5 }))
  for (let i = 0; i < 10; i++) await log.append({ time: START_MS + i })
  t.deepEqual((await live).map(({ time }) => time - START_MS), [5, 6, 7, 8, 9])
  await log.close()
})

tape('times: misuse', async (t) => {
  for (const time of [[], 'time', [1], {}]) t.throws(() => SegmentedLog('logs', { time }), { code: 'ERR_INVALID_ARGUMENT' })
  const plain = SegmentedLog(FOLDER, { storage: new SimulatedDisk().storage })
  t.equal((await failureOf(() => collect(plain.stream({ time: { gte: 1 } }))))?.code, 'ERR_INVALID_ARGUMENT')
  await plain.close()
  const { storage } = new SimulatedDisk()
  const log = SegmentedLog(FOLDER, { storage, codec: jsonCodec, time: ['time'] })
  for (const time of [1, null, { since: 1 }, { gte: 'yesterday' }]) {
    const reads = [() => collect(log.stream({ time })), () => log.count({ time }), () => log.scan({ time }, () => {})]
    for (const read of reads) {
      t.equal((await failureOf(read))?.code, 'ERR_INVALID_ARGUMENT', JSON.stringify(time))
    }
  }
  await log.close()
})
