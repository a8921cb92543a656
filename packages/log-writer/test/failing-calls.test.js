'use strict'
// Every call to the storage below a log writer fails in turn: each record is in a log, on standard error, or counted as
// dropped, once; what a flush has acknowledged is there; and the writer goes on.

const tape = require('tape')
const { promisesOf } = require('@millrace/flow')
const { OffsetLog } = require('@millrace/offset-log')
const { SegmentedLog } = require('@millrace/segmented-log')
const { createRandom, failEachCall, isLongRun } = require('@millrace/testkit')
const { LogWriter, lines } = require('..')
const { checkCounts, collector } = require('./memory-log')

const openers = {
  'a file': (storage) => OffsetLog('/data/app.log', { storage, codec: lines, framing: 'checked', cache: 0 }),
  'a file of lines': (storage) => OffsetLog('/data/app.jsonl', { storage, codec: lines, framing: 'lines', cache: 0 }),
  segments: (storage) => SegmentedLog('/data/logs', { storage, codec: lines, segmentSize: 400, cache: 0 })
}
const seed = Number(process.env.MILLRACE_SEED) || Date.now() % 2 ** 31
const POLICIES = ['write-through', 'wait', 'drop-new', 'drop-old']
/** The number of a record, from its line or value; undefined of a gap record. */
const numberOf = (record) => (typeof record === 'string' ? JSON.parse(record) : record).n

/** The records of a log, by their numbers. */
async function readAll (log) {
  const numbers = []
  for await (const { value } of log.stream()) numbers.push(numberOf(value))
  return numbers.filter((n) => n !== undefined)
}

/** @type {(open: (storage: any) => any, isReplacing: boolean, whenFull: string) => (run: any) => Promise<any>} */
const working = (open, isReplacing, whenFull) => async (run) => {
  const { failing } = run
  const random = createRandom(seed)
  const standardError = collector()
  const logs = []
  const create = () => {
    logs.push(open(failing.storage))
    return logs.at(-1)
  }
  const replace = async () => {
    await promisesOf(logs.at(-1)).close().catch(() => {})
    return create()
  }
  const dropped = []
  const reports = []
  const writer = LogWriter(create(), {
    standardError,
    whenFull,
    batch: { count: 4, ageMs: 1 },
    queue: { count: 10 },
    onReport: (err) => { reports.push(err.code) },
    onDrop: (record) => { dropped.push(numberOf(String(record))) },
    ...(isReplacing && { replace })
  })
  let count = 0
  const write = () => writer.write(JSON.stringify({ n: count++, text: 'x'.repeat(40) }), ['info', 'info', 'info', 'error', 'fatal'][random(5)])
  /** All records below these numbers are written, or synced. */
  const acked = { written: 0, synced: 0 }
  /** Who syncs was told that these may not be synced. */
  const excused = new Set()
  const note = (err, sync, before) => {
    if (!err) acked[sync ? 'synced' : 'written'] = before
    else if (sync && err.code === 'ERR_LOG_POISONED') for (let n = acked.synced; n < before; n++) excused.add(n)
  }
  await run.did('ready', () => logs[0].ready())
  for (let round = 0; round < 12; round++) {
    for (let left = 1 + random(5); left > 0; left--) write()
    const before = count
    const sync = random(2) === 0
    if (random(3) === 0) {
      // It says no more than that.
      note(writer.flushSync({ sync }) ? null : { code: 'ERR_LOG_POISONED' }, sync, before)
    } else if (random(2) === 0) {
      note((await run.did('flush', () => writer.flush({ sync }))).err, sync, before)
    } else await new Promise(setImmediate)
  }
  failing.isMended = true
  write()
  for (const name of ['flush, mended', 'flush, mended, again']) {
    const { err } = await run.did(name, () => writer.flush())
    note(err, true, count)
    // The first one may hear of a write that failed before.
    if (err && name.endsWith('again')) run.report(`${name}: ${err.stack}`)
  }
  await run.did('close', () => writer.close())
  await run.did('close the log', () => logs.at(-1).close())
  checkCounts({ fail: (text) => run.report(text) }, writer)
  const aside = standardError.lines.map(numberOf).filter((n) => n !== undefined)
  const { total, diverted } = writer.counters()
  if (diverted !== aside.length) run.report(`${diverted} diverted, and ${aside.length} on standard error`)
  if (dropped.length !== total.dropped) run.report(`${total.dropped} dropped, and ${dropped.length} told`)
  if (total.queued > 0) run.report(`${total.queued} still queued`)
  return { count, aside, dropped, acked, excused, reports }
}

/** @type {(open: (storage: any) => any) => (run: any, disk: any, where: string, found: any) => Promise<void>} */
const examining = (open) => async (run, disk, where, { count, aside, dropped, acked, excused, reports }) => {
  const log = open(disk.storage)
  const numbers = await run.must(`read ${where}`, () => readAll(log)) ?? []
  await run.must(`close ${where}`, () => log.close())
  const fail = (what) => run.report(`${where}: ${what}; log ${numbers}, aside ${aside}, dropped ${dropped}, reported ${reports}`)
  if (numbers.some((n, at) => at > 0 && n <= numbers[at - 1])) fail('not in order')
  const all = [...numbers, ...aside, ...dropped]
  if (new Set(all).size !== all.length) fail('a record is in two places')
  const isPowerCut = where.includes('power')
  const needed = isPowerCut ? acked.synced : Math.max(acked.synced, acked.written)
  for (let n = 0; n < (isPowerCut ? needed : count); n++) {
    if (!all.includes(n) && !(isPowerCut && excused.has(n))) return fail(`record ${n} is nowhere`)
  }
}

for (const [name, open] of Object.entries(openers)) {
  for (const isReplacing of [false, true]) {
    tape(`log writer: whatever call fails below ${name}${isReplacing ? ' that is replaced' : ''}, no record is lost uncounted (seed ${seed})`, async (t) => {
      let runs = 0
      for (const whenFull of isLongRun ? POLICIES : [POLICIES[seed % POLICIES.length]]) {
        runs += await failEachCall({
          work: working(open, isReplacing, whenFull),
          examine: examining(open),
          step: isLongRun ? 1 : 211,
          report: (problem) => t.fail(`${whenFull}: ${problem}`)
        })
      }
      t.ok(runs > 20, `${runs} runs`)
    })
  }
}
