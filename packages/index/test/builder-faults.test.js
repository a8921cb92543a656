// @ts-nocheck
'use strict'
// An index with a builder beside what drops records, deletes them, or looks at the log from another place.

const { spawnSync } = require('node:child_process')
const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { jsonCodec } = require('@millrace/json-codec')
const { SegmentedLog } = require('@millrace/segmented-log')
const { newPath, until } = require('@millrace/testkit')
const { createIndex } = require('..')
const { connect, openWith, viewOf, whenOpened } = require('./builders')
const { MemoryLog } = require('./memory-log')

const where = { path: 'type', equals: 't3' }

function append (log, count) {
  for (let n = 0; n < count; n++) log.append({ type: `t${n % 7}`, n })
}

/** @returns {number}  where the second file begins */
function appendToTwo (log) {
  append(log, 40)
  log.roll()
  append(log, 120)
  return log.borders[1]
}

/** An index whose builder sees the same log. `there`: what the log tells the builder. */
async function openBoth (log, own = {}, tuning = {}) {
  let there
  const index = await openWith(log, (source) => {
    there = source.open(viewOf(log, own))
    return { index: there }
  }, tuning)
  return { index, there }
}

tape('builder: one that sees old records dropped keeps what it has of others, and writes it', async (t) => {
  const log = new MemoryLog({ codec: jsonCodec })
  const { index, there } = await openBoth(log)
  const border = appendToTwo(log)
  const { findErased } = log
  let drops = 0
  log.findErased = async (range) => {
    // The last word before the run is written.
    if (range.from >= border && ++drops > 0) there.dropped({ from: 0, to: border })
    return await findErased.call(log, range)
  }
  await index.ready()
  t.ok(drops > 0, `${drops} times`)
  t.equal(index.status().failure, null, 'the builder is not given up')
  t.equal(log.scanned, 0, 'and nothing is read twice')
  t.equal(log.compare(index, where), null)
  await index.close()
})

tape('builder: of a log of segments it writes the last run of each, too', async (t) => {
  const log = new MemoryLog({ codec: jsonCodec })
  const written = []
  const open = (file, options, cb) => {
    if (options.flags === 'r+') written.push(path.basename(file))
    log.storage.open(file, options, cb)
  }
  const { index } = await openBoth(log, { storage: { ...log.storage, open } }, { recordsMax: 1000 })
  for (let round = 0; round < 3; round++) {
    append(log, 40)
    await index.ready()
    log.roll()
    append(log, 20)
    await index.ready()
  }
  const runs = log.disk.list().map((file) => path.basename(file))
  t.ok(runs.length > 2 && runs.every((name) => written.includes(`${name}.new`)), `${runs.length} runs`)
  t.equal(index.status().failure, null)
  t.equal(log.compare(index, where), null)
  await index.close()
})

tape('builder: a drop of the records that it is about to write is no failure of the builder', async (t) => {
  for (const moment of ['before it is asked', 'while it is']) {
    const log = new MemoryLog({ codec: jsonCodec })
    let isDropped = false
    const drop = () => {
      if (isDropped) return
      isDropped = true
      log.dropBefore(border)
      index.dropped({ from: 0, to: border })
    }
    const open = (file, options, cb) => {
      if (moment === 'while it is' && file.endsWith('.new')) drop()
      log.storage.open(file, options, cb)
    }
    const { index } = await openBoth(log, { storage: { ...log.storage, open } })
    const border = appendToTwo(log)
    if (moment === 'before it is asked') log.erasedCountAt = () => { drop(); return 0 }
    await index.ready()
    t.ok(isDropped, moment)
    t.equal(index.status().failure, null, 'it is not given up')
    t.equal(log.compare(index, where), null)
    await index.close()
  }
})

tape('builder: a deletion after the end of a full block is not forgotten before the next one is read', async (t) => {
  const log = new MemoryLog({ codec: jsonCodec })
  let old = null
  const late = viewOf(log, { scanRaw: async (range, ...rest) => {
    // Of the second block it still sees what was there while the first one was read.
    await (range.from === 0 ? log : old).scanRaw(range, ...rest)
    if (range.from > 0) return
    old = log.copy()
    const seq = log.find(where).find((seq) => seq > log.records[60].seq)
    index.deleted([seq])
    log.del(seq)
    index.deleted([seq])
  } })
  const { storage } = log
  // No run is written, so none is looked through for what was deleted.
  const open = (file, options, cb) => file.endsWith('.new') ? cb(new Error('mine')) : storage.open(file, options, cb)
  log.storage = { ...storage, open }
  const index = await openWith(log, (source) => ({ index: source.open(late) }))
  append(log, 90)
  await index.ready().catch(() => {})
  t.equal(index.status().tail, 90, 'both are read')
  t.equal(log.compare(index, where), null)
  await index.close()
})

tape('builder: a log that is opened there by another path is the same one', { skip: process.platform === 'win32' }, async (t) => {
  const folder = newPath('segments')
  const link = newPath('link')
  fs.symlinkSync(path.dirname(folder), link)
  const builder = connect((index) => SegmentedLog(path.join(link, 'segments'), { codec: jsonCodec, flags: 'r', index }))
  const opened = whenOpened(builder)
  const log = SegmentedLog(folder, { codec: jsonCodec, index: createIndex(['type'], { builder, tuning: { waitMs: 1 } }) })
  await log.ready()
  await opened
  await log.append([{ type: 't3' }])
  await log.index.ready()
  t.equal((await log.index.status()).failure, null)
  await log.close()
})

tape('builder: what it writes ends soon after a compaction has made it worthless', async (t) => {
  const log = new MemoryLog({ codec: jsonCodec })
  let release
  const calls = []
  const open = (file, options, cb) => log.storage.open(file, options, async (err, handle) => {
    if (!file.endsWith('.new') || release !== undefined) return cb(err, handle)
    await new Promise((resolve) => { release = resolve })
    const noted = ['write', 'close'].map((name) => [name, (...args) => {
      calls.push(name)
      handle[name](...args)
    }])
    cb(err, { ...handle, ...Object.fromEntries(noted) })
  })
  const view = viewOf(log, { storage: { ...log.storage, open } })
  const index = await openWith(log, (source) => ({ index: source.open(view) }), { recordsMax: 20_000 })
  append(log, 20_000)
  index.appended()
  await until(() => release !== undefined)
  index.compacting()
  log.compact()
  await index.compacted()
  release()
  await until(() => calls.includes('close'))
  t.deepEqual(calls, ['close'], 'nothing is written')
  await index.ready()
  t.equal(index.status().failure, null)
  t.equal(log.compare(index, where), null)
  await index.close()
})

tape('builder: a codec that only has the name of another one is refused there', async (t) => {
  const log = new MemoryLog({ codec: jsonCodec })
  const codec = { name: 'json', decode: () => ({ type: 'none' }) }
  const index = await openWith(log, (source) => ({ index: source.open(viewOf(log, { codec })) }))
  append(log, 80)
  await index.ready()
  t.match(index.status().failure?.message ?? '', /another codec of the name json/)
  t.equal(log.compare(index, where), null)
  await index.close()
})

tape('builder: one that returns no log is told to', async (t) => {
  const log = new MemoryLog({ codec: jsonCodec })
  const builder = connect((source) => { source.open(viewOf(log)) })
  const index = createIndex(['type'], { builder }).open(log)
  await until(() => index.status().failure !== null)
  t.match(index.status().failure?.message ?? '', /the function that opens the log must return it, .*got undefined/)
  await index.close()
})

tape('builder: a log that throws when it is closed there ends nothing', async (t) => {
  const log = new MemoryLog({ codec: jsonCodec })
  let hasThrown = false
  const close = () => {
    hasThrown = true
    throw new Error('mine')
  }
  const index = await openWith(log, (source) => ({ index: source.open(viewOf(log)), close }))
  await index.close()
  await until(() => hasThrown)
  // What is rejected fails the test.
  await new Promise(setImmediate)
  t.pass('closed')
})

tape('builder: its Worker does not keep the process running, although no log uses it', (t) => {
  const program = `
    const { Worker } = require('node:worker_threads')
    const worker = new Worker('setInterval(() => {}, 1000)', { eval: true })
    require(${JSON.stringify(require.resolve('..'))}).createIndex(['n'], { builder: worker })
    console.log('declared')`
  const { stdout, stderr, status } = spawnSync(process.execPath, ['-e', program], { encoding: 'utf8', timeout: 60_000 })
  t.equal(status, 0, stderr)
  t.equal(stdout, 'declared\n')
  t.end()
})

tape('builder: one that was stopped with the whole process for a while is not given up', async (t) => {
  const log = new MemoryLog({ codec: jsonCodec })
  const silenceMs = 2000
  const said = []
  const listeners = new Map()
  const tell = (message) => listeners.get('message')({ millrace: 'index', owner: said[0].owner, ...message })
  const on = (event, listen) => listeners.set(event, listen)
  const builder = { postMessage: (message) => said.push(message), on, off: () => {} }
  const index = createIndex(['type'], { builder, tuning: { waitMs: 1, silenceMs } }).open(log)
  await until(() => said.length > 0)
  tell({ kind: 'opened', folder: log.folder, codec: 'json', compiles: true })
  append(log, 20)
  index.appended()
  await until(() => said.length > 1)
  const [, { id }] = said
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, silenceMs + 100)
  // Its word comes some turns after the time is over.
  for (let turns = 5; turns > 0; turns--) await new Promise((resolve) => { setImmediate(resolve) })
  tell({ kind: 'alive', id })
  await new Promise((resolve) => { setImmediate(resolve) })
  t.equal(index.status().failure, null)
  await index.close()
})

tape('builder: one that is stuck in a read, or a write, is given up although its thread is alive', async (t) => {
  const never = () => new Promise(() => {})
  for (const [what, makeOwn] of [
    ['read', () => ({ scanRaw: never })],
    ['write', ({ storage }) => {
      const open = (file, ...rest) => file.endsWith('.new') ? never() : storage.open(file, ...rest)
      return { storage: { ...storage, open } }
    }]
  ]) {
    const log = new MemoryLog({ codec: jsonCodec })
    const view = viewOf(log, makeOwn(log))
    const index = await openWith(log, (source) => ({ index: source.open(view) }), { idleBeatsMax: 2 })
    append(log, 80)
    await index.ready()
    t.match(index.status().failure?.message ?? '', /is alive, but has got no further/, what)
    t.equal(log.compare(index, where), null)
    await index.close()
  }
})

/** An index whose builder is played by the test. */
async function openPlayed (log, tuning) {
  const said = []
  const listeners = new Map()
  const tell = (message) => listeners.get('message')({ millrace: 'index', owner: said[0].owner, ...message })
  const on = (event, listen) => listeners.set(event, listen)
  const builder = { postMessage: (message) => said.push(message), on, off: () => {} }
  const index = createIndex(['type'], { builder, tuning: { waitMs: 1, ...tuning } }).open(log)
  await until(() => said.length > 0)
  return { index, said, tell }
}

tape('builder: one that gets further is not given up, however long it takes', async (t) => {
  const log = new MemoryLog({ codec: jsonCodec })
  const { index, said, tell } = await openPlayed(log, { idleBeatsMax: 2 })
  tell({ kind: 'opened', folder: log.folder, codec: 'json', compiles: true })
  append(log, 20)
  index.appended()
  await until(() => said.length > 1)
  const [, { id }] = said
  for (const progress of [0, 1, 1, 2, 2, 3, 4, 4]) tell({ kind: 'alive', id, progress })
  t.equal(index.status().failure, null)
  tell({ kind: 'alive', id, progress: 4 })
  t.equal(index.status().failure?.code, 'ERR_INDEX_BUILDER')
  await index.ready()
  t.equal(log.compare(index, where), null)
  await index.close()
})

const MiB = 2 ** 20

/** An index with a builder, of a log that has nothing left in 192 MiB. `scanRaw`: how the builder reads it. */
async function openSparse (log, scanRaw) {
  const seen = { beats: 0 }
  const builder = connect((source) => {
    return { index: source.open(viewOf(log, { scanRaw: (...args) => scanRaw(seen, ...args) })) }
  })
  builder.on('message', ({ kind }) => { if (kind === 'alive') seen.beats++ })
  const opened = whenOpened(builder)
  const index = createIndex(['type', 'n'], { builder, tuning: { waitMs: 1, idleBeatsMax: 2 } }).open(log)
  await opened
  append(log, 40)
  log._end += 192 * MiB
  append(log, 40)
  return index
}

tape('builder: one that reads where all was deleted for longer than it may say nothing new is not given up', async (t) => {
  const log = new MemoryLog({ codec: jsonCodec })
  const index = await openSparse(log, async (seen, range, ...rest) => {
    // It reads 64 MiB between two words that it is alive.
    for (let at = range.from; at < range.to; at += 64 * MiB) {
      const { beats } = seen
      await until(() => seen.beats > beats)
    }
    await log.scanRaw(range, ...rest)
  })
  await index.ready()
  t.equal(index.status().failure, null)
  t.equal(log.compare(index, where), null)
  await index.close()
})

tape('builder: one that would go on to read amid what a power cut took goes past it', async (t) => {
  const log = new MemoryLog({ codec: jsonCodec })
  let failures = 0
  const index = await openSparse(log, async (seen, range, ...rest) => {
    if (range.from > 10 * MiB && range.from <= 180 * MiB) {
      failures++
      throw Object.assign(new Error('lost'), { code: 'ERR_LOG_SEQ_LOST' })
    }
    await log.scanRaw(range, ...rest)
  })
  await index.ready()
  t.equal(failures, 1)
  t.equal(index.status().failure, null)
  t.equal(log.scanned, 80, 'each record is read once, by the builder')
  t.equal(log.compare(index, where), null)
  await index.close()
})

tape('builder: one that has failed while the owner looked where its log is stays so', async (t) => {
  const log = new MemoryLog({ codec: jsonCodec })
  let found
  const storage = { ...log.storage, realPath: (folder, cb) => { found = () => cb(null, folder) } }
  const { index, said, tell } = await openPlayed(viewOf(log, { storage, isReadOnly: false }))
  tell({ kind: 'opened', folder: '/another', place: log.folder, codec: 'json', compiles: true })
  await until(() => found !== undefined)
  tell({ kind: 'failed', why: 'mine' })
  found()
  await new Promise((resolve) => { setImmediate(resolve) })
  index.compacting()
  await index.compacted(false)
  t.deepEqual(said.map(({ kind }) => kind), ['open', 'end'], 'it is told nothing more')
  await index.close()
})
