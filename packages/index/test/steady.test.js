// @ts-nocheck
'use strict'
// A log that grows as fast as it is indexed: who waits for the index waits for what was there when they asked. All is
// counted in passes over the log, nothing in time.

const tape = require('tape')
const { jsonCodec } = require('@millrace/json-codec')
const { failureOf } = require('@millrace/testkit')
const { createIndex } = require('..')
const { MemoryLog } = require('./memory-log')

const BLOCK = 4
const SCANS_MAX = 3000
/** Of what is there, some blocks may be scanned in two pieces. */
const SPARE = 4

/** Each scan of it finds it longer afterwards, by some blocks; and it is told at once. */
class GrowingLog extends MemoryLog {
  index = null
  growsBy = 0
  scans = 0

  async scanRaw (range, onRecords, onDamage) {
    if (++this.scans > SCANS_MAX) this.growsBy = 0
    await super.scanRaw(range, onRecords, onDamage)
    for (let left = this.growsBy; left > 0; left--) this.append({ n: this.records.length })
    if (this.growsBy > 0) this.index.appended()
  }
}

function open (count, growsBy) {
  const log = new GrowingLog({ codec: jsonCodec })
  for (let n = 0; n < count; n++) log.append({ n })
  const index = log.index = createIndex(['n'], { tuning: { recordsMax: BLOCK, waitMs: 0 } }).open(log)
  log.growsBy = growsBy
  return { log, index }
}

/** @returns {number}  up to where runs lie next to each other, from the first record on */
function endOfRuns (log, index) {
  const known = index.status().records
  return log.records[known]?.seq ?? log.end
}

for (const growsBy of [1, BLOCK - 1, BLOCK, 10 * BLOCK]) {
  tape(`steady: ready ends, though each scan leaves ${growsBy} more records`, async (t) => {
    const { log, index } = open(10 * BLOCK, growsBy)
    const wait = async (what, ready) => {
      const { end, scans } = log
      const { records, tail } = index.status()
      const needed = Math.ceil((log.records.length - records - tail) / BLOCK) + SPARE
      await ready()
      t.ok(log.scans - scans <= needed, `${what}: ${log.scans - scans} scans of at most ${needed}`)
      return endOfRuns(log, index) - end
    }
    t.ok(await wait('ready', () => index.ready()) >= 0, 'what was readable then is in runs')
    await wait('ready, for three at once', () => Promise.all([index.ready(), index.ready(), index.ready()]))
    const { end } = log
    log.append({ n: 'last' })
    await wait('ready, for one that came later', async () => {
      const first = index.ready()
      log.append({ n: 'later' })
      await index.ready()
      await first
    })
    t.ok(endOfRuns(log, index) >= end - BLOCK * 12, 'and what came since is in runs, but for a block that is not full')
    await wait('close', () => index.close())
  })

  tape(`steady: flush ends, though each scan leaves ${growsBy} more records`, async (t) => {
    const { log, index } = open(10 * BLOCK + 1, growsBy)
    const { end } = log
    await index.flush()
    t.ok(log.scans < SCANS_MAX, `after ${log.scans} scans`)
    t.ok(endOfRuns(log, index) >= end, 'what was readable then is in runs, to the last record')
    await index.close()
  })

  tape(`steady: a compaction ends, though each scan leaves ${growsBy} more records`, async (t) => {
    const { log, index } = open(10 * BLOCK, growsBy)
    for (let n = 0; n < 3; n++) {
      const { scans: before } = log
      while (log.scans < before + 2) await new Promise(setImmediate)
      index.compacting()
      log.compact()
      const { scans } = log
      await index.compacted()
      t.ok(log.scans <= scans + 1, `after ${log.scans - scans} scans`)
    }
    await index.ready()
    t.ok(log.scans < SCANS_MAX, 'and goes on')
    t.equal(log.compare(index, { path: 'n', equals: 7 }), null)
    await index.close()
  })
}

tape('steady: ready ends if the index is closed, dropped or fails meanwhile', async (t) => {
  for (const end of ['close', 'drop']) {
    const { index } = open(10 * BLOCK, BLOCK)
    const ready = index.ready()
    await new Promise(setImmediate)
    const [err] = await Promise.all([failureOf(() => ready), index[end]()])
    t.equal(err?.code, 'ERR_LOG_CLOSED', end)
  }
  const { log, index } = open(10 * BLOCK, BLOCK)
  log.scanRaw = async () => { throw new Error('mine') }
  t.match(await index.ready().then(() => 'ended', ({ message }) => message), /mine/)
  await index.close()
})

tape('steady: ready during a compaction waits for it, and the index is complete then', async (t) => {
  const { log, index } = open(10 * BLOCK, 0)
  for (const isChanged of [true, false]) {
    await index.ready()
    index.compacting()
    let hasEnded = false
    const ready = index.ready().then(() => { hasEnded = true })
    for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate)
    t.notOk(hasEnded, 'it waits')
    if (isChanged) log.compact()
    await index.compacted(isChanged)
    await ready
    t.ok(index.status().isReady, `the log was ${isChanged ? '' : 'not '}changed`)
  }
  index.compacting()
  const ready = failureOf(() => index.ready())
  await Promise.all([index.close(), index.compacted(false)])
  t.equal((await ready)?.code, 'ERR_LOG_CLOSED')
})

tape('steady: ready that a compaction overtakes is complete, too', async (t) => {
  const { log, index } = open(10 * BLOCK, 1)
  const ready = index.ready()
  while (log.scans < 2) await new Promise(setImmediate)
  const { end } = log
  index.compacting()
  log.compact()
  await index.compacted()
  await ready
  t.ok(endOfRuns(log, index) >= end - 2 * BLOCK, 'what was readable before is in the index again')
  await index.close()
})
