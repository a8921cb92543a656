'use strict'
// What is dropped, what holds keep, and what readers of dropped records see.

const fs = require('node:fs')
const tape = require('tape')
const { jsonCodec } = require('@millrace/json-codec')
const { SimulatedDisk, failureOf, newPath } = require('@millrace/testkit')
const { SegmentedLog } = require('..')

const DAY_MS = 24 * 3_600_000
const text = (i) => Buffer.from(`record ${i}`)

async function collect (source) {
  const items = []
  for await (const item of source) items.push(String(item))
  return items
}

/** A log with one record in each segment. */
async function fill (options, count) {
  const log = SegmentedLog('/logs', { segmentSize: 1, ...options })
  const seqs = []
  for (let n = 0; n < count; n++) seqs.push(await log.append(options.codec === jsonCodec ? { n } : text(n)))
  return { log, seqs }
}

tape('dropBefore: drops whole segments, and reads begin at the first record kept', async (t) => {
  const disk = new SimulatedDisk()
  const { log, seqs } = await fill({ storage: disk.storage }, 6)
  const told = []
  log.dropped((dropped) => told.push(dropped))
  const dropped = await log.dropBefore(seqs[3])
  t.equal(dropped.count, 3)
  t.deepEqual(told, [dropped])
  t.equal(disk.list().length, 3)
  t.deepEqual(await collect(log.stream({ seqs: false })), [3, 4, 5].map((i) => `record ${i}`))
  t.deepEqual(await collect(log.stream({ gt: -1, seqs: false, limit: 1 })), ['record 3'])
  t.deepEqual(await collect(log.stream({ reverse: true, gt: seqs[0], seqs: false })), [5, 4, 3].map((i) => `record ${i}`))
  const codes = []
  const calls = [() => collect(log.stream({ gt: seqs[1] })), () => collect(log.stream({ gte: seqs[2], live: true })),
    () => collect(log.stream({ reverse: true, lt: seqs[2] })), () => log.get(seqs[0]),
    () => log.getMany([seqs[4], seqs[0]]),
    () => log.del(seqs[1]), () => log.scan({ gt: seqs[0] }, () => {}), () => log.count({ gt: seqs[0] })]
  for (const call of calls) codes.push((await failureOf(call))?.code)
  t.deepEqual(codes, calls.map(() => 'ERR_LOG_SEQ_RETAINED'))
  t.equal((await log.dropBefore(Infinity)).count, 2)
  t.equal(log.since.value, seqs[5])
  t.equal(String(await log.get(seqs[5])), 'record 5', 'the last record stays')
  await log.close()
  const again = SegmentedLog('/logs', { storage: disk.storage })
  await again.ready()
  t.equal(again.since.value, seqs[5])
  await again.roll()
  t.equal((await again.dropBefore(Infinity)).count, 0, 'even if a segment without records is behind it')
  t.ok(await again.append(text(6)) > seqs[5])
  t.equal((await again.dropBefore(Infinity)).count, 1)
  await again.close()
})

tape('dropBefore: count, first and explain without a bound tell of what is left, whatever is dropped meanwhile', async (t) => {
  for (const call of ['count', 'first', 'explain', 'scan']) {
    const { log, seqs } = await fill({ storage: new SimulatedDisk().storage, codec: jsonCodec }, 60)
    const state = { isOver: false }
    const outcome = failureOf(() => call === 'scan' ? log.scan({}, () => {}) : log[call]({ where: { path: 'n', equals: 59 } }))
    outcome.then(() => { state.isOver = true })
    for (let n = 2; n < 59 && !state.isOver; n++) await log.dropBefore(seqs[n])
    const code = (await outcome)?.code
    if (call === 'scan') t.ok(code === undefined || code === 'ERR_LOG_SEQ_RETAINED', `${call}: ${code}`)
    else t.equal(code, undefined, call)
    if (call === 'count' || call === 'first') {
      t.equal((await failureOf(() => log[call]({ gt: seqs[0] })))?.code, 'ERR_LOG_SEQ_RETAINED', `${call} from a seq on`)
    }
    await log.close()
  }
})

tape('limits: maxCount counts what earlier processes wrote', async (t) => {
  const disk = new SimulatedDisk()
  const { log } = await fill({ storage: disk.storage }, 9)
  await log.close()
  t.equal(disk.list().length, 9)
  const again = SegmentedLog('/logs', { storage: disk.storage, segmentSize: 1, maxCount: 4 })
  await again.append(text(9))
  await again.append(text(10))
  await again.close()
  t.equal(disk.list().length, 4)
})

tape('limits: maxAge drops a segment once all its records are older', async (t) => {
  const { now } = Date
  let ms = Date.UTC(2026, 0, 1)
  Date.now = () => ms
  try {
    const disk = new SimulatedDisk()
    const log = SegmentedLog('/logs', { storage: disk.storage, segmentDay: 'UTC', maxAge: 3 * DAY_MS })
    for (let i = 0; i < 10; i++, ms += DAY_MS) await log.append(text(i))
    await log.close()
    const kept = disk.list().map((name) => name.match(/-(\d{8})T/)[1])
    t.deepEqual(kept, ['20260106', '20260107', '20260108', '20260109', '20260110'].slice(-kept.length))
    t.ok(kept.length === 4 || kept.length === 5)
  } finally {
    Date.now = now
  }
})

tape('limits: maxSize holds at every moment, for all files in the folder', async (t) => {
  const disk = new SimulatedDisk()
  const maxSize = 2 ** 20
  let most = 0
  disk.onChange = () => { most = Math.max(most, disk.list().reduce((sum, file) => sum + disk.read(file).length, 0)) }
  const log = SegmentedLog('/logs', { storage: disk.storage, maxSize })
  disk.put('/logs/0000000000000000-20200101T000000000Z.log.cut-5', Buffer.alloc(1000))
  const seqs = []
  for (let i = 0; i < 400; i++) seqs.push(await log.append([Buffer.alloc(5000, i), Buffer.alloc(100)]))
  t.ok(most <= maxSize && most > maxSize / 2, `${most} bytes at most`)
  const kept = await log.count()
  t.ok(kept > 150, `${kept} records are kept`)
  t.equal(log.since.value, seqs.at(-1))
  await log.close()
})

tape('hold: keeps records until it is released, also after a restart', async (t) => {
  const folder = newPath('logs')
  const options = { segmentSize: 1, maxCount: 2 }
  const log = SegmentedLog(folder, options)
  const seqs = []
  seqs.push(await log.append(text(0)), await log.append(text(1)))
  await log.hold('f', seqs[1])
  for (let i = 2; i < 6; i++) seqs.push(await log.append(text(i)))
  await log.close()
  const again = SegmentedLog(folder, options)
  t.equal((await again.dropBefore(Infinity)).count, 0)
  t.deepEqual(await collect(again.stream({ gte: seqs[1], seqs: false })), [1, 2, 3, 4, 5].map((i) => `record ${i}`))
  t.deepEqual(await again.holds(), [{ name: 'f', seq: seqs[1], cut: null }])
  await again.hold('f', seqs[3])
  await again.hold('g', seqs[2])
  t.equal(fs.readdirSync(folder).filter((name) => name.endsWith('.hold')).length, 2)
  await again.dropBefore(Infinity)
  t.equal(await again.count(), 4)
  await again.release('g')
  await again.release('unknown')
  t.equal((await again.dropBefore(Infinity)).count, 1)
  await again.release('f')
  t.equal((await again.dropBefore(Infinity)).count, 2)
  t.equal(await again.count(), 1)
  t.deepEqual(fs.readdirSync(folder).filter((name) => name.endsWith('.hold')), [])
  for (const call of [() => again.hold('a/b', 1), () => again.hold('a', '1'), () => again.hold('', 1), () => again.dropBefore('a')]) {
    t.equal((await failureOf(call))?.code, 'ERR_INVALID_ARGUMENT')
  }
  await again.close()
})

tape('hold: is cut at its bound and at the quota, and says so', async (t) => {
  const disk = new SimulatedDisk()
  const { log, seqs } = await fill({ storage: disk.storage, maxHeldSize: 100_000 }, 8)
  await log.hold('slow', seqs[0])
  const { count, first, cutHolds } = await log.dropBefore(Infinity)
  t.ok(count >= 4 && count < 7, `${count} were dropped`)
  t.deepEqual(cutHolds, ['slow'])
  t.deepEqual(await log.holds(), [{ name: 'slow', seq: seqs[0], cut: { from: seqs[0], to: first } }])
  await log.close()

  const small = new SimulatedDisk()
  const bounded = SegmentedLog('/logs', { storage: small.storage, maxSize: 2 ** 20 })
  await bounded.hold('none', -1)
  for (let i = 0; i < 300; i++) await bounded.append(Buffer.alloc(5000))
  const [hold] = await bounded.holds()
  t.ok(hold.cut !== null && bounded.dropped.value.cutHolds.includes('none'))
  t.equal((await failureOf(() => collect(bounded.stream({ gt: hold.seq + 40_000 })))).code, 'ERR_LOG_SEQ_RETAINED')
  await bounded.close()
})

tape('drop: a slow stream finishes or fails, and leaves nothing out', async (t) => {
  const disk = new SimulatedDisk()
  const { log, seqs } = await fill({ storage: disk.storage, openSegments: 1 }, 10)
  const iterator = log.stream({ seqs: false })[Symbol.asyncIterator]()
  t.equal(String((await iterator.next()).value), 'record 0')
  await log.dropBefore(seqs[5])
  t.equal((await failureOf(() => iterator.next()))?.code, 'ERR_LOG_SEQ_RETAINED')
  await log.close()
})
