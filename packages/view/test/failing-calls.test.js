'use strict'
// Every call to the storage of a view and its log fails in turn: the state is always the fold of what the log has, and
// the same view goes on once the storage works again.

const tape = require('tape')
const { jsonCodec } = require('@millrace/json-codec')
const { OffsetLog } = require('@millrace/offset-log')
const { SegmentedLog } = require('@millrace/segmented-log')
const { failEachCall, isLongRun } = require('@millrace/testkit')
const { createView } = require('..')
const { compare, listing, scanOf } = require('./helpers')

const kinds = {
  'a log of one file': (storage) => OffsetLog('/folder/log', { codec: jsonCodec, storage }),
  'a log of lines': (storage) => OffsetLog('/folder/log', { codec: jsonCodec, framing: 'lines', storage }),
  'a log of segments': (storage) => SegmentedLog('/folder/log', { codec: jsonCodec, storage, segmentSize: 300, cache: 0 }),
  'segments of lines': (storage) => SegmentedLog('/folder/log', { codec: jsonCodec, framing: 'lines', storage, segmentSize: 300, cache: 0 })
}
const path = '/folder/view'
const saveMs = Infinity

/** Appends, folds and saves, in three sessions; in the last one the storage is mended. */
async function work (run, openLog) {
  const { failing, did, must } = bound(run)
  let n = 0
  const append = async (log, count) => {
    await did('append', () => log.append(Array.from({ length: count }, () => ({ n: n++, text: 'x'.repeat(50) }))))
  }
  const check = async (call, log, view, name) => {
    const { value } = await call(name, () => view.get())
    if (value === undefined) return
    const { value: scanned } = await did('scan', () => scanOf(log))
    const problem = scanned && compare(value, scanned, new Map())
    if (problem) run.report(`${name}: ${problem}`)
  }
  for (let session = 0; session < 3; session++) {
    let log = openLog(failing.storage)
    let view = createView(log, { ...listing, path, storage: failing.storage, saveMs })
    await append(log, 3)
    await check(did, log, view, 'get')
    await did('save', () => view.save())
    await append(log, 2)
    await check(did, log, view, 'get again')
    if (session === 1) await did('rebuild', () => view.rebuild())
    if (session === 2) {
      failing.isMended = true
      // A log that could not be opened is opened anew, and so is one that says that it takes no more.
      const { err } = await did('append', () => log.append({ n: n++ }))
      if (err) {
        await did('close', () => view.close())
        await did('close the log', () => log.close())
        log = openLog(failing.storage)
        view = createView(log, { ...listing, path, storage: failing.storage, saveMs })
      }
      await check(async (name, run) => ({ value: await must(name, run) }), log, view, 'get, mended')
      await must('save, mended', () => view.save())
      const { saved, since } = view.status()
      if (saved !== since || since !== log.since.value) run.report(`saved ${saved}, folded ${since}, of ${log.since.value}`)
    }
    await did('close', () => view.close())
    await did('close the log', () => log.close())
  }
}

function bound (run) {
  return { failing: run.failing, did: run.did.bind(run), must: run.must.bind(run) }
}

async function examine (run, disk, where, openLog) {
  const log = openLog(disk.storage)
  const view = createView(log, { ...listing, path, storage: disk.storage, saveMs })
  const state = await run.must(`open ${where}`, () => view.get())
  const problem = state && compare(state, await scanOf(log), new Map())
  if (problem) run.report(`${where}: ${problem}`)
  await log.append({ n: 1000 })
  await run.must(`close ${where}`, () => view.close())
  await log.close()
}

for (const [name, openLog] of Object.entries(kinds)) {
  tape(`view: whatever call fails, the state is the fold of the log, and the view goes on: ${name}`, async (t) => {
    const runs = await failEachCall({
      work: (run) => work(run, openLog),
      examine: (run, disk, where) => examine(run, disk, where, openLog),
      step: isLongRun ? 1 : 73,
      report: (problem) => t.fail(problem)
    })
    t.ok(runs > 60, `${runs} runs`)
  })
}
