'use strict'
// The cursor: what a crash at any moment leaves of it, what damage does, and where a forwarder begins if the log is not
// the one that the cursor has seen.

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { fileStorage } = require('@millrace/block-file')
const { LogError } = require('@millrace/errors')
const { jsonCodec } = require('@millrace/json-codec')
const { OffsetLog } = require('@millrace/offset-log')
const { SimulatedDisk, collect, createRandom, failureOf, inQuickRuns, newPath, temporaryFolder, until } = require('@millrace/testkit')
const { openCursor } = require('../lib/cursor')
const { refused } = require('..')
const { createCollector, fill, forward, makeLog, range } = require('./helpers')

const seed = Date.now() % 2 ** 31
const CURSOR = '/folder/log.default'
const SLOT_SIZE = 4096

/** @type {(log: any) => Promise<number[]>} */
async function seqsOf (log) {
  return collect(log.stream({ values: false }))
}

tape(`crash: at every step of the cursor nothing is missing and little is sent twice, seed ${seed}`, async (t) => {
  const random = createRandom(seed)
  for (const fsync of ['always', 'interval']) {
    const log = makeLog()
    await fill(log, 60)
    const seqs = await seqsOf(log)
    const poison = seqs[33]
    /** By change of the disk: the disk, what the sink had accepted, and how far the cursor had come. */
    const moments = []
    const onChange = () => moments.push({ disk: disk.clone(), accepted, passed: forwarder?.stats().seq ?? -1 })
    const disk = new SimulatedDisk({ onChange })
    let accepted = -1
    let forwarder = null
    forwarder = forward(log, {
      path: CURSOR,
      storage: disk.storage,
      fsync,
      batch: { count: 5 },
      sink: async (records) => {
        if (records.some(({ seq }) => seq === poison)) throw refused('no')
        accepted = records.at(-1).seq
      }
    })
    await forwarder.drained()
    await forwarder.close()
    t.ok(moments.length > 20, `${fsync}: ${moments.length} moments`)
    const outcomes = new Set()
    for (const [index, { disk, accepted, passed }] of moments.entries()) {
      const picks = [() => 0, (count) => count - 1, ...Array.from({ length: inQuickRuns(8) }, () => random)]
      for (const pick of picks) {
        const left = disk.crash(pick)
        const { cursor, position, isDamaged } = await openCursor(`${CURSOR}.cursor`, left.storage)
        await cursor.close()
        const seq = position?.seq ?? -1
        outcomes.add(seq)
        const isSafe = !isDamaged && seq <= Math.max(accepted, poison <= passed || seq === poison ? poison : -1)
        // Of the batches before the last one nothing is taken back.
        const isClose = fsync === 'interval' || seqs.indexOf(seq) >= seqs.indexOf(passed) - 5
        const isKept = seq < poison || await countRefused(left) >= 1
        if (isSafe && isClose && isKept) continue
        t.fail(JSON.stringify({ fsync, index, seq, accepted, passed, isDamaged, isSafe, isClose, isKept }))
      }
    }
    t.ok(outcomes.size >= (fsync === 'always' ? 10 : 2), `${outcomes.size} different places`)
    await log.close()
  }
})

/** @param {any} disk */
async function countRefused (disk) {
  const log = OffsetLog(`${CURSOR}.refused`, { codec: jsonCodec, storage: disk.storage, mustExist: true })
  const count = await log.count()
  await log.close()
  return count
}

tape('crash: the batch that was begun comes again with the same key, however the batches are made then', async (t) => {
  const log = makeLog()
  await fill(log, 20)
  const keys = []
  const killed = new SimulatedDisk()
  const left = {}
  const first = forward(log, {
    path: CURSOR,
    storage: killed.storage,
    batch: { count: 8 },
    sink: async (records, { key }) => {
      keys.push(key)
      if (keys.length === 2) {
        // The kill: what was written is left.
        left.disk = killed.clone()
        throw new Error('down')
      }
    }
  })
  while (!left.disk) await new Promise(setImmediate)
  await first.close()
  await fill(log, 20, 20)
  const sink = createCollector()
  const second = forward(log, { path: CURSOR, storage: left.disk.storage, batch: { count: 100 }, sink })
  await second.drained()
  t.equal(sink.keys[0], keys[1])
  t.deepEqual(sink.batches, [range(8, 16), range(16, 40)])
  t.deepEqual(second.reports, [])
  await second.close()
  await log.close()
})

/** A log of 30 records that were forwarded in batches of 3, and its cursor. */
async function makeForwarded (options) {
  const log = makeLog(options)
  await fill(log, 30)
  const forwarder = forward(log, { sink: async () => {}, batch: { count: 3 }, fsync: 'always' })
  await forwarder.drained()
  await forwarder.close()
  return { log, cursorFile: `${log.filename}.default.cursor` }
}

/** What is forwarded now, and what is reported. */
async function forwardAgain (log, options) {
  const sink = createCollector()
  const forwarder = forward(log, { sink, ...options })
  await forwarder.drained()
  await forwarder.close()
  return { all: sink.all, reports: forwarder.reports }
}

tape('damage: any flipped bit, cut or overwritten byte of the newest slot costs one step at most', async (t) => {
  const { log, cursorFile } = await makeForwarded()
  const good = fs.readFileSync(cursorFile)
  t.equal(good.length, 2 * SLOT_SIZE)
  const text = good.toString()
  t.deepEqual(text.split('\n').map((line) => line.slice(0, 15)), ['millrace-cursor', 'millrace-cursor', ''], 'people can read it')
  const generations = [0, 1].map((slot) => Number(/"generation":(\d+)/.exec(text.slice(slot * SLOT_SIZE))[1]))
  const newest = generations[0] > generations[1] ? 0 : SLOT_SIZE
  const used = text.slice(newest).indexOf('}}') + 2
  const damages = [
    ...Array.from({ length: 40 }, (_, i) => (bytes) => { bytes[newest + Math.floor(used * i / 40)] ^= 1 << (i % 8) }),
    (bytes) => bytes.fill(0, newest, newest + SLOT_SIZE),
    (bytes) => bytes.fill(0x20, newest, newest + 512),
    (bytes) => bytes.fill(0, newest + 64, newest + 512)
  ]
  for (const [index, damage] of damages.entries()) {
    const bytes = Buffer.from(good)
    damage(bytes)
    fs.writeFileSync(cursorFile, bytes)
    const { cursor, position, isDamaged } = await openCursor(cursorFile, fileStorage)
    await cursor.close()
    if (isDamaged || position === null || position.step < 9) t.fail(`damage ${index}`)
  }
  fs.writeFileSync(cursorFile, good)
  t.deepEqual((await forwardAgain(log)).all, [], 'and the undamaged one still works')
  await log.close()
})

tape('damage: without a whole slot the forwarder begins with the first record, and says so', async (t) => {
  for (const damage of [(bytes) => bytes.fill(0), (bytes) => bytes.subarray(0, 1), () => Buffer.from('x'.repeat(10_000)),
    () => Buffer.from('millrace-cursor 1 00000000 {}\n')]) {
    const { log, cursorFile } = await makeForwarded()
    fs.writeFileSync(cursorFile, damage(fs.readFileSync(cursorFile)))
    const { all, reports } = await forwardAgain(log)
    t.deepEqual(all, range(0, 30))
    t.deepEqual(reports.map(({ what, from, to }) => [what, from, to]), [['cursor', null, -1]])
    t.deepEqual(await forwardAgain(log), { all: [], reports: [] }, 'and mends the file')
    await log.close()
  }
})

tape('state: what a sink notes may have any letters', async (t) => {
  const log = makeLog()
  await fill(log, 3)
  const state = { name: 'Żółw 🐢' }
  const first = forward(log, { sink: async () => ({ state }) })
  await first.drained()
  await first.close()
  const found = []
  const begin = async ({ seq, state }) => {
    found.push(state)
    return { seq, state, problem: null }
  }
  const second = forward(log, { sink: { send: async () => {}, begin } })
  await fill(log, 1)
  await second.drained()
  await second.close()
  t.deepEqual(found, [state])
  t.deepEqual(second.reports, [], 'the cursor is not damaged')
  await log.close()
})

tape('damage: an empty file, as after a power cut, is a new cursor', async (t) => {
  const { log, cursorFile } = await makeForwarded()
  fs.writeFileSync(cursorFile, '')
  t.deepEqual(await forwardAgain(log), { all: range(0, 30), reports: [] })
  await log.close()
})

tape('resume: the cursor of another log is noticed, even if that log has the same seqs', async (t) => {
  const { log } = await makeForwarded()
  const other = makeLog()
  await fill(other, 40)
  const { all, reports } = await forwardAgain(other, { path: `${log.filename}.default` })
  t.deepEqual(all, range(0, 40))
  t.equal(reports[0].what, 'cursor')
  await other.close()
  await log.close()
  for (const count of [40, 10]) {
    const { log } = await makeForwarded({ framing: 'offset32' })
    const other = makeLog({ framing: 'offset32' })
    await fill(other, count, 100)
    const { all, reports } = await forwardAgain(other, { path: `${log.filename}.default` })
    t.deepEqual(all, range(100, 100 + count), `without ids: by the records, ${count}`)
    t.equal(reports[0].what, 'cursor')
    await other.close()
    await log.close()
  }
})

tape('resume: a backup that was restored: what it lacks is not missed, what was added since is forwarded', async (t) => {
  for (const [backedUp, added] of [[20, 5], [20, 10], [20, 40], [0, 5]]) {
    const log = makeLog()
    await fill(log, backedUp)
    const backup = newPath('backup')
    await log.snapshot(backup)
    await fill(log, 30 - backedUp, backedUp)
    const forwarder = forward(log, { sink: async () => {}, batch: { count: 2 } })
    await forwarder.drained()
    await forwarder.close()
    await log.close()
    const restored = makeLog({}, backup)
    // Seqs are given again, to records of the same size.
    await fill(restored, added, 50)
    const { all, reports } = await forwardAgain(restored, { path: `${log.filename}.default` })
    const fresh = all.filter((n) => n >= 50)
    t.deepEqual(fresh, range(50, 50 + added), `${backedUp} in the backup, ${added} added: none is missing`)
    const again = all.filter((n) => n < 50)
    t.deepEqual(again, range(backedUp - again.length, backedUp))
    t.ok(again.length <= 8, `${again.length} again`)
    t.deepEqual(reports.map(({ what }) => what), ['cursor'])
    await restored.close()
  }
})

tape('resume: a power cut took the end of the log: the forwarder goes on behind what is left', async (t) => {
  for (const framing of ['checked', 'offset32']) {
    for (const appendsFirst of [false, true]) {
      const disk = new SimulatedDisk()
      const log = OffsetLog('/log', { codec: jsonCodec, storage: disk.storage, fsync: 'never', framing })
      await fill(log, 20)
      await log.sync()
      await fill(log, 10, 20)
      const place = newPath('cursor')
      const forwarder = forward(log, { sink: async () => {}, path: place, storage: fileStorage, batch: { count: 2 } })
      await forwarder.drained()
      await forwarder.close()
      const left = disk.crash(() => 0)
      const again = OffsetLog('/log', { codec: jsonCodec, storage: left.storage, framing })
      if (appendsFirst) await fill(again, 15, 30)
      const { all, reports } = await forwardAgain(again, { path: place, storage: fileStorage })
      if (!appendsFirst) await fill(again, 15, 30)
      const rest = await forwardAgain(again, { path: place, storage: fileStorage })
      const got = [...all, ...rest.all]
      t.deepEqual(got.filter((n) => n >= 30), range(30, 45), `${framing}: none is missing, each once`)
      t.ok(got.filter((n) => n < 30).length <= 8, `few again: ${got.filter((n) => n < 30)}`)
      t.deepEqual(reports.map(({ what }) => what), ['cursor'])
      t.deepEqual(rest.reports, [])
      await again.close()
    }
  }
})

tape('resume: the points of a long life fit into the slot, and reach back', async (t) => {
  const { advance } = require('../lib/resume')
  let position = { log: 'f'.repeat(32), id: 'e'.repeat(32), seq: -1, end: null, step: 0, points: [], forwarded: 0, refused: 0 }
  let most = 0
  for (let step = 1; step <= 300_000; step++) {
    position = advance(position, { seq: 2 ** 48 + step, crc: 2 ** 32 - 1 }, { forwarded: 1, refused: 0 })
    most = Math.max(most, position.points.length)
  }
  t.ok(most <= 60, `${most} points`)
  const steps = position.points.map(([step]) => step)
  for (const distance of [1, 10, 100, 1000, 10_000, 100_000]) {
    const older = steps.find((step) => step <= 300_000 - distance)
    t.ok(older >= 300_000 - 4 * distance, `a point at most 4 * ${distance} steps back: ${300_000 - older}`)
  }
  const file = newPath('cursor')
  const { cursor } = await openCursor(file, fileStorage)
  position.step = 2 ** 50
  position.end = position.forwarded = position.refused = 2 ** 53 - 1
  await cursor.write(position)
  await cursor.close()
  const again = await openCursor(file, fileStorage)
  t.deepEqual(again.position, position)
  await again.cursor.close()
})

for (const what of ['moved', 'replaced', 'removed']) {
  for (const fsync of ['always', 'interval']) {
    tape(`folder: of a cursor, ${what}: no other cursor is written, fsync ${fsync}`, { skip: process.platform === 'win32' }, async (t) => {
      const root = temporaryFolder()
      const [at, other] = [path.join(root, 'at'), path.join(root, 'other')]
      const log = makeLog()
      await fill(log, 3)
      const first = forward(log, { sink: createCollector(), path: path.join(other, 'of') })
      await first.drained()
      await first.close()
      const sink = createCollector()
      const forwarder = forward(log, { sink, path: path.join(at, 'of'), fsync })
      await forwarder.drained()
      if (what === 'removed') fs.rmSync(at, { recursive: true })
      else fs.renameSync(at, `${at}.old`)
      if (what === 'replaced') fs.renameSync(other, at)
      const before = what === 'replaced' ? fs.readFileSync(path.join(at, 'of.cursor')) : null
      await fill(log, 3, 3)
      await until(() => sink.all.length === 6)
      const isMoved = ({ what, error }) => what === 'retry' && error.code === 'ERR_FILE_MOVED'
      if (fsync === 'always') await until(() => forwarder.reports.some(isMoved))
      await forwarder.close()
      if (before === null) t.notOk(fs.existsSync(at), 'nothing is made at the path')
      else t.ok(before.equals(fs.readFileSync(path.join(at, 'of.cursor'))), 'the other cursor is as it was')
      if (what !== 'removed') {
        const { cursor, position } = await openCursor(path.join(`${at}.old`, 'of.cursor'), fileStorage)
        t.equal(position.forwarded, 6, 'its own cursor has what was forwarded')
        await cursor.close()
      }
      await log.close()
    })
  }
}

tape('lock: of a cursor: a message without a holder is not cut, and a holder that cannot be seen is named', async (t) => {
  const holder = { host: 'elsewhere', pid: 7, thread: null, since: '2026-01-01T00:00:00.000Z' }
  const nameless = new LogError('ERR_LOG_LOCKED', 'open: a may be open for writing; if it is not, remove a.lock', { path: 'a' })
  const foreign = new LogError('ERR_LOG_LOCKED', 'in any words', { path: 'a', holder })
  for (const [error, end] of [[nameless, nameless.message], [foreign, `process 7 on elsewhere, since ${holder.since}`]]) {
    const storage = { ...new SimulatedDisk().storage, lock: (path, request, cb) => process.nextTick(cb, error) }
    const err = await failureOf(() => openCursor('/folder/of.cursor', storage, { what: 'name', value: 'x' }))
    t.equal(err.code, 'ERR_LOG_LOCKED')
    t.ok(err.message.endsWith(`give this one another name: ${end}`), err.message)
    t.equal(err.cause, error)
    t.equal(err.holder, error.holder)
  }
})
