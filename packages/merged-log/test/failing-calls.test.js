'use strict'
// Every call to the storage of slots and of a merged log fails in turn: what an append has promised is there, a read
// that succeeds has all of it in order, and both go on once the storage works again.

const { readdirSync, writeFileSync } = require('node:fs')
const { basename, join } = require('node:path')
const tape = require('tape')
const { fileStorage } = require('@millrace/block-file')
const { jsonCodec } = require('@millrace/json-codec')
const { collect, failEachCall, failureOf, isLongRun, newPath, until } = require('@millrace/testkit')
const { MergedLog, SlotLog } = require('..')

const FOLDER = '/folder/slots'
const TEXT = 'x'.repeat(100)
const kinds = { checked: {}, lines: { framing: 'lines' }, limited: { slots: 1, maxSize: 1024 * 1024 } }

const openSlot = (storage, options, folder = FOLDER) => {
  return SlotLog(folder, { codec: jsonCodec, storage, segmentSize: 1000, cache: 0, ...options })
}
const openMerged = (storage, folder = FOLDER) => MergedLog(folder, { codec: jsonCodec, storage, cache: 0 })
const numbersOf = async (log, options) => (await collect(log.stream(options))).map(({ value }) => value.n)

/** What is wrong with the numbers that a read gave; undefined if nothing is. */
function problemOf (numbers, acknowledged, tried) {
  if (numbers.some((n, index) => index > 0 && numbers[index - 1] >= n)) return `out of order: ${numbers}`
  const found = new Set(numbers)
  const lost = acknowledged.filter((n) => !found.has(n))
  if (lost.length > 0) return `lost ${lost} of ${acknowledged}`
  const strange = numbers.filter((n) => n >= tried)
  return strange.length > 0 ? `nobody appended ${strange}` : undefined
}

/** Appends and reads in two sessions; in the second one the storage is mended. */
async function work (run, options) {
  const { failing } = run
  const acknowledged = []
  let n = 0
  const append = async (slot, count) => {
    const values = Array.from({ length: count }, () => ({ time: 1.7e12 + n, n: n++, text: TEXT }))
    const { err } = await run.did('append', () => slot.append(values))
    if (!err) acknowledged.push(...values.map(({ n }) => n))
  }
  // One that has been open for long learns a moment later what was appended.
  const look = async (call, name) => {
    const merged = openMerged(failing.storage)
    for (const reverse of [false, true]) {
      const { value } = await call(name, () => numbersOf(merged, { reverse }))
      const problem = value && problemOf(reverse ? value.reverse() : value, acknowledged, n)
      if (problem) run.report(`${name}${reverse ? ', reverse' : ''}: ${problem}`)
    }
    await run.did('close the merged log', () => merged.close())
  }
  for (let session = 0; session < 2; session++) {
    let slot = openSlot(failing.storage, options)
    await append(slot, 6)
    await look(run.did.bind(run), 'read')
    await append(slot, 1)
    await append(slot, 9)
    await look(run.did.bind(run), 'read again')
    await run.did('roll', () => slot.roll?.() ?? slot.log?.roll())
    await append(slot, 2)
    await run.did('sync', () => slot.sync())
    if (session === 1) {
      failing.isMended = true
      await run.did('close, to open again', () => slot.close())
      slot = openSlot(failing.storage, options)
      const { err } = await run.did('append, mended', () => slot.append({ time: 1.7e12 + n, n: n++ }))
      if (err) run.report(`append, mended: ${err.stack}`)
      else acknowledged.push(n - 1)
      await look(async (name, call) => ({ value: await run.must(name, call) }), 'read, mended')
    }
    await run.did('close', () => slot.close())
  }
  return { acknowledged, tried: n }
}

async function examine (run, disk, where, { acknowledged, tried }) {
  const merged = openMerged(disk.storage)
  const numbers = await run.must(`read ${where}`, () => numbersOf(merged))
  // Only the last second of appends may be lost by a power cut.
  const kept = where === 'in a new process' ? acknowledged : []
  const problem = numbers && problemOf(numbers, kept, tried)
  if (problem) run.report(`${where}: ${problem}`)
  await merged.close()
}

for (const [name, options] of Object.entries(kinds)) {
  tape(`slots: whatever call fails, what was promised is read in order, and all goes on: ${name}`, async (t) => {
    const runs = await failEachCall({
      work: (run) => work(run, options),
      examine,
      step: isLongRun ? 1 : 211,
      report: (problem) => t.fail(problem)
    })
    t.ok(runs > 60, `${runs} runs`)
  })
}

tape('merged log: a new slot that cannot be opened takes no other one with it, and is read once it can be', async (t) => {
  const folder = newPath('slots')
  let isFailing = true
  const storage = Object.create(fileStorage)
  storage.listFolder = (path, cb) => {
    const isNew = isFailing && basename(path) === '1'
    if (isNew) setImmediate(cb, Object.assign(new Error('EACCES: mine'), { code: 'EACCES' }))
    else fileStorage.listFolder(path, cb)
  }
  const warnings = []
  const note = (warning) => warnings.push(warning)
  process.on('warning', note)
  const slots = [openSlot(fileStorage, { slots: 2 }, folder)]
  await slots[0].append([{ n: 1 }, { n: 2 }])
  const merged = openMerged(storage, folder)
  t.equal(await merged.count(), 2)
  slots.push(openSlot(fileStorage, { slots: 2 }, folder))
  await slots[1].append({ n: 3 })
  await until(() => warnings.length > 0)
  t.equal(await merged.count(), 2, 'the others are read')
  t.deepEqual([warnings[0].name, warnings[0].code], ['MergedLogWarning', 'EACCES'])
  isFailing = false
  await until(async () => await merged.count() === 3)
  t.equal(warnings.length, 1, 'it is told once')
  process.off('warning', note)
  await Promise.all([merged, ...slots].map((log) => log.close()))
})

tape('merged log: a slot that cannot be opened when the log is opened takes no other one with it', async (t) => {
  const folder = newPath('slots')
  const slots = []
  for (const n of [1, 2, 3]) {
    slots.push(openSlot(fileStorage, { slots: 3 }, folder))
    await slots.at(-1).append({ n })
  }
  let failing = ['0', '2']
  const storage = Object.create(fileStorage)
  storage.listFolder = (path, cb) => {
    if (failing.includes(basename(path))) setImmediate(cb, Object.assign(new Error(`EACCES: ${path}`), { code: 'EACCES' }))
    else fileStorage.listFolder(path, cb)
  }
  const warnings = []
  const note = (warning) => warnings.push(warning)
  process.on('warning', note)
  const merged = openMerged(storage, folder)
  t.deepEqual(await numbersOf(merged), [2], 'the others are read')
  t.deepEqual(merged.failing.map(({ slot, error }) => [slot, error.code]), [[0, 'EACCES'], [2, 'EACCES']])
  await until(() => warnings.length > 0)
  t.deepEqual(warnings.map(({ name, code }) => [name, code]), Array(2).fill(['MergedLogWarning', 'EACCES']))
  failing = []
  await until(async () => await merged.count() === 3)
  t.deepEqual(merged.failing, [])
  t.equal(warnings.length, 2, 'each is told once')
  failing = ['0', '1', '2']
  const none = openMerged(storage, folder)
  t.equal((await failureOf(() => none.ready()))?.code, 'EACCES', 'if none can be opened, the log cannot')
  t.equal(warnings.length, 2)
  process.off('warning', note)
  await Promise.all([merged, ...slots].map((log) => log.close()))
})

tape('merged log: a stream fails if the last segment of a slot cannot be read, as one of the slot does', async (t) => {
  const folder = newPath('slots')
  const slots = []
  for (const n of [0, 1]) {
    const slot = openSlot(fileStorage, { slots: 2 }, folder)
    slots.push(slot)
    await slot.append({ n })
    await slot.log.roll()
    await slot.append({ n: n + 2 })
  }
  await Promise.all(slots.map((slot) => slot.close()))
  const ofSlot = readdirSync(join(folder, '1')).filter((name) => name.endsWith('.log')).sort()
  writeFileSync(join(folder, '1', ofSlot.at(-1)), Buffer.alloc(40_000, 7))
  const merged = openMerged(fileStorage, folder)
  for (const options of [{}, { reverse: true }, { live: true }]) {
    t.equal((await failureOf(() => numbersOf(merged, options)))?.code, 'ERR_LOG_CORRUPT', JSON.stringify(options))
  }
  t.deepEqual((await numbersOf(merged, { onCorrupt: 'skip' })).sort(), [0, 1, 2])
  await merged.close()
})

tape('merged log: a signal that is aborted after the open keeps no new slot away', async (t) => {
  const folder = newPath('slots')
  const controller = new AbortController()
  const { signal } = controller
  const first = openSlot(fileStorage, { slots: 2, signal }, folder)
  await first.append({ n: 1 })
  const merged = MergedLog(folder, { codec: jsonCodec, signal })
  await merged.ready()
  controller.abort()
  const second = openSlot(fileStorage, { slots: 2 }, folder)
  await second.append({ n: 2 })
  await until(async () => await merged.count() === 2)
  await first.close()
  const again = first.openAgain()
  await again.append({ n: 3 })
  t.equal(again.slot, 0, 'and a log that is opened again is opened')
  await Promise.all([merged, again, second].map((log) => log.close()))
})
