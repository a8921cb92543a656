'use strict'
// Every call to the storage of a forwarder fails in turn: of its cursor, of its log, of a target. No record is skipped,
// and the same forwarder goes on once the storage works again.

const { setTimeout: sleep } = require('node:timers/promises')
const tape = require('tape')
const { jsonCodec } = require('@millrace/json-codec')
const { OffsetLog } = require('@millrace/offset-log')
const { SegmentedLog } = require('@millrace/segmented-log')
const { collect, failEachCall, isLongRun } = require('@millrace/testkit')
const { createCollector, forward } = require('./helpers')
const { numbersOf, shipTo } = require('./ship-helpers')

const path = '/folder/cursor'
const TURNS = 8

const kinds = {
  'a log of one file': { open: (storage) => OffsetLog('/folder/log', { codec: jsonCodec, storage }) },
  'a log of lines': { open: (storage) => OffsetLog('/folder/log', { codec: jsonCodec, framing: 'lines', storage }) },
  'a log of segments': { open: (storage) => SegmentedLog('/folder/log', { codec: jsonCodec, storage, segmentSize: 300, cache: 0 }) },
  'a log of one file, shipped': { open: (storage) => OffsetLog('/folder/log', { codec: jsonCodec, storage }), ships: true },
  'a log of lines, shipped': { open: (storage) => OffsetLog('/folder/log', { codec: jsonCodec, framing: 'lines', storage }), ships: true }
}

/** Opens a log, its forwarder and what that needs. */
function begin (storage, { open, ships }, sent) {
  const log = open(storage)
  if (!ships) {
    const sink = createCollector()
    const send = (records, context) => sink.send(records, context)
    const forwarder = forward(log, { name: 'f', path, storage, fsync: 'always', sink: send })
    const end = async () => { sent.before.push(...sink.all) }
    return { log, forwarder, numbers: async () => [...sent.before, ...sink.all], end }
  }
  const target = OffsetLog('/folder/target', { codec: jsonCodec, storage })
  const forwarder = shipTo(log, target, { name: 'f', path, storage, fsync: 'always' })
  return { log, forwarder, target, numbers: () => numbersOf(target), end: () => target.close() }
}

/** Waits for a while only: what fails forever is tried forever. */
async function forNow (call) {
  const state = { isOver: false }
  const called = call.finally(() => { state.isOver = true })
  called.catch(() => {})
  for (let turn = 0; turn < TURNS && !state.isOver; turn++) await sleep(1)
  if (state.isOver) await called
}

async function work (run, kind) {
  const { failing } = run
  const did = (name, action) => run.did(name, action)
  const acked = []
  const sent = { before: [] }
  let n = 0
  let all = begin(failing.storage, kind, sent)
  const append = async (count) => {
    const numbers = Array.from({ length: count }, () => n++)
    const { err } = await did('append', () => all.log.append(numbers.map((n) => ({ n, text: 'x'.repeat(50) }))))
    if (!err) acked.push(...numbers)
    return !err
  }
  const end = async () => {
    await did('close the forwarder', () => all.forwarder.close())
    await did('close what it needs', () => all.end())
    await did('close the log', () => all.log.close())
  }
  for (let session = 0; session < 3; session++) {
    await did('ready', () => forNow(all.forwarder.ready()))
    await append(3)
    await did('drained', () => forNow(all.forwarder.drained()))
    await append(2)
    await did('drained', () => forNow(all.forwarder.drained()))
    if (session === 2) break
    await end()
    all = begin(failing.storage, kind, sent)
  }
  failing.isMended = true
  const isAppending = await append(1)
  // What could not be opened is opened again, and so is a log that says that it takes no more.
  const opening = await did('ready', () => all.forwarder.ready())
  const taking = all.target && await did('append to the target', () => all.target.append([]))
  if (!isAppending || opening.err || taking?.err) {
    await end()
    all = begin(failing.storage, kind, sent)
    await run.must('append again', () => all.log.append({ n: n++ }))
  }
  await run.must('drained, mended', () => all.forwarder.drained())
  await check(run, all, acked, 'mended', kind)
  await end()
  return { acked, sent }
}

async function check (run, { log, numbers }, acked, where, { ships }) {
  const found = await run.must(`numbers ${where}`, numbers)
  const inLog = await run.must(`read ${where}`, async () => (await collect(log.stream())).map(({ value }) => value.n))
  if (found === undefined || inLog === undefined) return
  const lost = inLog.filter((n) => !found.includes(n))
  if (lost.length > 0) run.report(`${where}: ${lost} were skipped, of ${inLog}: ${found}`)
  const gone = acked.filter((n) => !inLog.includes(n))
  if (gone.length > 0) run.report(`${where}: ${gone} are not in the log`)
  if (ships && found.join() !== inLog.join()) run.report(`${where}: the target has ${found}, and the log ${inLog}`)
}

async function examine (run, disk, where, { sent }, kind) {
  const all = begin(disk.storage, kind, { before: [...sent.before] })
  await run.must(`append ${where}`, () => all.log.append({ n: 1000 }))
  await run.must(`drained ${where}`, () => all.forwarder.drained())
  await check(run, all, [], where, where.includes('cut') ? {} : kind)
  await run.must(`close ${where}`, () => all.forwarder.close())
  await all.end()
  await all.log.close()
}

for (const [name, kind] of Object.entries(kinds)) {
  tape(`forwarder: whatever call fails, nothing is skipped, and the forwarder goes on: ${name}`, async (t) => {
    const runs = await failEachCall({
      work: (run) => work(run, kind),
      examine: (run, disk, where, facts) => examine(run, disk, where, facts, kind),
      step: isLongRun ? 1 : 701,
      report: (problem) => t.fail(problem)
    })
    t.ok(runs > 20, `${runs} runs`)
  })
}
