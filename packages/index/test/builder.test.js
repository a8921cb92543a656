// @ts-nocheck
'use strict'
// An index with a builder, in this thread or in a Worker: whatever becomes of it, each answer is that of a scan.

const { spawnSync } = require('node:child_process')
const fs = require('node:fs')
const path = require('node:path')
const { MessageChannel, Worker } = require('node:worker_threads')
const tape = require('tape')
const { jsonCodec } = require('@millrace/json-codec')
const { OffsetLog } = require('@millrace/offset-log')
const { SegmentedLog } = require('@millrace/segmented-log')
const { SimulatedDisk, createRandom, inQuickRuns, newPath, until } = require('@millrace/testkit')
const { createIndex, runBuilder } = require('..')
const { connect, openWith, viewOf, whenOpened } = require('./builders')
const { FOLDER, MemoryLog } = require('./memory-log')
const { PATHS, compare, makeValue } = require('./real-log')
const { takeApart } = require('./run-bytes')
const { Hasher } = require('../lib/hash')

const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)
const TUNING = { recordsMax: 50, fanOut: 3, waitMs: 1 }
/** So many a builder has in a test, or fewer. */
const STEPS_MAX = 80
const SECRET = { path: 'type', equals: 'secret' }

const turn = () => new Promise(setImmediate)

async function turns (count = 50) {
  for (let left = count; left > 0; left--) await turn()
}

function append (log, index, count) {
  for (let n = 0; n < count; n++) log.append({ type: n % 40 === 3 ? 'secret' : `t${n % 7}`, n })
  index.appended()
}

function differences (log, index) {
  const filters = [SECRET, { path: 'type', equals: 't3' }, { path: 'n', equals: 17 }, { path: 'n', equals: 'none' }]
  return filters.map((where) => log.compare(index, where)).filter((wrong) => wrong !== null)
}

tape('builder: it reads the records and writes the runs, and the owner reads none', async (t) => {
  const log = new MemoryLog({ codec: jsonCodec })
  const written = []
  const storage = { ...log.storage, open: (file, options, cb) => {
    if (options.flags === 'r+') written.push(path.basename(file))
    log.storage.open(file, options, cb)
  } }
  const view = viewOf(log, { storage, scanned: 0 })
  const index = await openWith(log, (source) => ({ index: source.open(view) }))
  for (let round = 0; round < 8; round++) {
    append(log, index, 60)
    await index.ready()
    t.deepEqual(differences(log, index), [], `after ${log.records.length} records`)
  }
  const { isReady, runs, failure } = index.status()
  t.ok(isReady && failure === null && runs > 0, 'it is ready')
  t.equal(log.scanned, 0, 'the owner has read nothing')
  t.ok(view.scanned >= log.records.length, 'the builder has read all')
  t.ok(log.disk.list().every((file) => written.includes(`${path.basename(file)}.new`)), 'and has written all runs')
  await index.close()
  const next = createIndex(['type', 'n'], { tuning: TUNING }).open(log)
  await next.ready()
  t.equal(next.status().runs, runs, 'they are found again')
  t.deepEqual(differences(log, next), [])
  await next.close()
})

tape('builder: until it is ready, and in a log that is only read, the index is built without it', async (t) => {
  for (const isReadOnly of [false, true]) {
    const log = new MemoryLog({ codec: jsonCodec })
    log.isReadOnly = isReadOnly
    const index = createIndex(['type', 'n'], { builder: connect(() => new Promise(() => {})), tuning: TUNING }).open(log)
    append(log, index, 80)
    await index.ready()
    t.ok(index.status().isReady && index.status().failure === null)
    t.deepEqual(differences(log, index), [])
    await index.close()
  }
})

tape('builder: one that cannot help says why in the status, and the index is built without it', async (t) => {
  const foreign = () => {
    const other = new MemoryLog({ codec: jsonCodec })
    for (let n = 0; n < 1000; n++) other.append({ type: 'other', n: -n, text: 'x'.repeat(90) })
    return other
  }
  const codec = { ...jsonCodec, name: 'mine' }
  const cases = [
    ['opens no log', () => { throw new Error('mine') }, /could not open the log: mine/],
    ['fails to open', () => ({ ready: async () => { throw new Error('mine') } }), /could not open the log: mine/],
    ['gives the log no index', () => ({}), /was not given the index/],
    ['opens another folder', (source, log) => ({ index: source.open(viewOf(log, { folder: '/logs/b.index' })) }), /another log, whose index is in .*b\.index/],
    ['has another codec', (source, log) => ({ index: source.open(viewOf(log, { codec })) }), /the codec mine, not json/],
    ['reads other records', (source) => ({ index: source.open(foreign()) }), /does not read the same records/],
    ['fails to write', (source, log) => ({ index: source.open(viewOf(log, { storage: null })) }), /has failed: /],
    ['sees other files', (source, log) => ({ index: source.open(viewOf(log, { storage: new SimulatedDisk().storage })) }), /has failed: ENOENT/]
  ]
  for (const [what, openLog, message] of cases) {
    const log = new MemoryLog({ codec: jsonCodec })
    const index = createIndex(['type', 'n'], { builder: connect((source) => openLog(source, log)), tuning: TUNING }).open(log)
    for (let round = 0; round < 200 && index.status().failure === null; round++) {
      append(log, index, 20)
      await index.ready()
      await turns(10)
    }
    await index.ready()
    const { isReady, failure } = index.status()
    t.equal(failure?.code, 'ERR_INDEX_BUILDER', what)
    t.match(failure?.message ?? '', message, what)
    t.ok(isReady, 'the index is complete')
    t.deepEqual(differences(log, index), [])
    await index.close()
  }
})

/** Lets a builder wait in one kind of call, of those for run files: its storage is that of a disk. */
class Gate {
  held = []

  constructor ({ storage }, name) {
    this.name = name
    const hold = this.hold.bind(this)
    const openRun = hold('open', (file, options, cb) => storage.open(file, options, (err, handle) => {
      cb(err, handle && { ...handle, write: hold('write', handle.write), sync: hold('sync', handle.sync) })
    }))
    this.storage = { ...storage, open: (...args) => /\.new$/.test(args[0]) ? openRun(...args) : storage.open(...args) }
  }

  hold (of, call) {
    return async (...args) => {
      if (of === this.name && this.held !== null) await new Promise((resolve) => { this.held.push(resolve) })
      return await call(...args)
    }
  }

  release () {
    const { held } = this
    this.held = null
    for (const run of held) run()
  }
}

/** Whether a run has the hash of a value. */
function hasHash (log, file, value) {
  const bytes = log.disk.read(file)
  const hasher = new Hasher(Buffer.from(takeApart(bytes).footer.key, 'hex'))
  hasher.hashValue(value)
  for (let at = 0; at < bytes.length - 4; at += 4) if (bytes.readUInt32LE(at) === hasher.short) return true
  return false
}

/** A log whose builder is in the middle of a step, and has a record that is to go. */
async function openHeld (step) {
  const log = new MemoryLog({ codec: jsonCodec })
  const gate = new Gate(log.disk, step)
  const own = { storage: gate.storage, scanRaw: gate.hold('scan', (...args) => log.scanRaw(...args)) }
  const index = await openWith(log, (source) => ({ index: source.open(viewOf(log, own)) }))
  append(log, index, 120)
  await until(() => gate.held.length > 0)
  return { log, index, release: () => gate.release() }
}

for (const step of ['scan', 'open', 'write', 'sync']) {
  tape(`builder: a compaction does not wait for one that hangs at ${step}, and leaves no byte of what was deleted`, async (t) => {
    const { log, index, release } = await openHeld(step)
    for (const seq of log.find(SECRET)) {
      index.deleted([seq])
      log.del(seq)
      index.deleted([seq])
    }
    t.deepEqual(differences(log, index), [], 'deleted')
    index.compacting()
    log.compact()
    index.compacting()
    await index.compacted()
    t.deepEqual(log.disk.list().filter((file) => file.startsWith(FOLDER)), [], 'no file is left')
    release()
    await turns()
    t.deepEqual(log.disk.list().filter((file) => file.startsWith(FOLDER)), [], 'nor made, once it goes on')
    await index.compacted(false)
    await index.ready()
    t.deepEqual(differences(log, index), [], 'compacted')
    t.ok(index.status().runs > 0 && index.status().failure === null, 'there are runs again')
    for (const file of log.disk.list()) t.notOk(hasHash(log, file, 'secret'), 'without the hash of the deleted value')
    t.ok(log.disk.list().some((file) => hasHash(log, file, 't3')), 'which would be found')
    await index.close()
  })

  for (const end of ['close', 'drop']) {
    tape(`builder: ${end} does not wait for one that hangs at ${step}, and leaves no file that is not finished`, async (t) => {
      const { log, index, release } = await openHeld(step)
      await index[end]()
      const left = () => log.disk.list().filter((file) => end === 'drop' || file.endsWith('.new'))
      t.deepEqual(left(), [])
      release()
      await turns()
      t.deepEqual(left(), [], 'nor once it goes on')
      const next = createIndex(['type', 'n'], { tuning: TUNING }).open(log)
      await next.ready()
      t.deepEqual(differences(log, next), [])
      await next.close()
    })
  }
}

tape('builder: one that says nothing is given up, and the index is complete without it', async (t) => {
  const log = new MemoryLog({ codec: jsonCodec })
  const stuck = viewOf(log, { scanRaw: () => new Promise(() => {}) })
  const index = await openWith(log, (source) => ({ index: source.open(stuck) }), { silenceMs: 20 })
  append(log, index, 120)
  await index.ready()
  t.match(index.status().failure.message, /has said nothing for 20 ms/)
  t.deepEqual(differences(log, index), [])
  await index.close()
})

tape('builder: a record that was deleted while it was read is not counted', async (t) => {
  const log = new MemoryLog({ codec: jsonCodec })
  let old = null
  const late = viewOf(log, { scanRaw: (...args) => (old ?? log).scanRaw(...args) })
  const index = await openWith(log, (source) => ({ index: source.open(late) }))
  // Too few for a run, which would be looked through for it.
  append(log, index, 10)
  old = log.copy()
  const [seq] = log.find(SECRET)
  index.deleted([seq])
  log.del(seq)
  index.deleted([seq])
  await index.ready()
  t.equal(old.scanned, 10, 'it has read it before')
  t.deepEqual(differences(log, index), [])
  await index.close()
})

tape('builder: what it finds damaged or missing of runs, the owner looks at itself', async (t) => {
  for (const isMissing of [true, false]) {
    const log = new MemoryLog({ codec: jsonCodec })
    let merges = 0
    const open = (file, options, cb) => {
      const isRun = file.endsWith('.run')
      merges += isRun
      if (isRun && isMissing) process.nextTick(cb, Object.assign(new Error('ENOENT: mine'), { code: 'ENOENT' }))
      else log.storage.open(isRun ? log.disk.list().find((name) => name.endsWith('.new')) : file, options, cb)
    }
    const view = viewOf(log, { storage: { ...log.storage, open } })
    const index = await openWith(log, (source) => ({ index: source.open(view) }))
    for (let round = 0; round < 12; round++) {
      append(log, index, 60)
      await index.ready()
    }
    t.ok(merges > 0, `${merges} runs were opened`)
    t.equal(log.scanned, 0, 'nothing is built again')
    t.ok(index.status().isReady && index.status().failure === null)
    t.deepEqual(differences(log, index), [])
    await index.close()
  }
})

async function appendReal (log, random, count) {
  return await log.append(Array.from({ length: count }, (_, n) => makeValue(random, n)), { seqs: true })
}

tape(`builder: a Worker that ends, throws or hangs at any step leaves an index that is right (seed ${seed})`, async (t) => {
  const count = Number(process.env.STEPS ?? inQuickRuns(80, 16))
  const random = createRandom(seed)
  for (const how of ['exit', 'throw', 'hang']) {
    for (let tried = 0; tried < count; tried++) {
      const at = count === STEPS_MAX ? tried + 1 : 1 + random(STEPS_MAX)
      const file = newPath('events.log')
      const worker = new Worker(path.join(__dirname, 'builder-worker.js'), { workerData: { file, at, how } })
      // It may hang before it says that it is open.
      const opened = how === 'hang' && at < 6 ? turn() : whenOpened(worker)
      const index = createIndex(PATHS, { builder: worker, tuning: { ...TUNING, silenceMs: how === 'hang' ? 100 : 30_000 } })
      const log = OffsetLog(file, { codec: jsonCodec, index, fsync: 'never' })
      await log.ready()
      await opened
      const plain = OffsetLog(file, { codec: jsonCodec, flags: 'r' })
      const wrong = []
      const check = async () => {
        await plain.refresh()
        wrong.push(...await compare(log, plain, random))
      }
      for (let round = 0; round < 3; round++) {
        const seqs = await appendReal(log, random, 60)
        await check()
        await log.index.ready()
        await log.del(seqs[random(seqs.length)])
        await check()
      }
      const before = fs.existsSync(`${file}.index`) ? fs.readdirSync(`${file}.index`) : []
      await log.compact()
      const after = fs.existsSync(`${file}.index`) ? fs.readdirSync(`${file}.index`) : []
      const left = before.filter((name) => after.includes(name))
      if (left.length > 0) wrong.push(`the compaction has left ${left}`)
      await appendReal(log, random, 100)
      await log.index.ready()
      await check()
      const { isReady, failure } = await log.index.status()
      if (!isReady || (failure !== null && failure.code !== 'ERR_INDEX_BUILDER')) wrong.push(failure?.stack ?? 'not ready')
      await plain.close()
      await log.close()
      const unfinished = fs.readdirSync(`${file}.index`).filter((name) => name.endsWith('.new'))
      if (unfinished.length > 0) wrong.push(`${unfinished} is left`)
      await worker.terminate()
      if (wrong.length > 0) t.fail(`${how} at step ${at}: ${wrong}`.slice(0, 600))
      else t.pass(`${how} at step ${at}: ${failure === null ? 'not reached' : 'reached'}`)
    }
  }
})

tape('builder: of a log of segments, each segment gets runs of its own', async (t) => {
  const folder = newPath('segments')
  const options = { codec: jsonCodec, segmentSize: 4096 }
  const builder = connect((index) => SegmentedLog(folder, { ...options, flags: 'r', index }))
  const opened = whenOpened(builder)
  const log = SegmentedLog(folder, { ...options, index: createIndex(PATHS, { builder, tuning: TUNING }) })
  await log.ready()
  await opened
  const random = createRandom(seed)
  const plain = SegmentedLog(folder, { ...options, flags: 'r' })
  for (let round = 0; round < 6; round++) {
    const seqs = await appendReal(log, random, 60)
    if (round % 2 === 0) await log.index.ready()
    await log.del(seqs[random(60)])
    await plain.refresh()
    t.deepEqual(await compare(log, plain, random), [])
  }
  await log.index.ready()
  const { isReady, runs, failure } = await log.index.status()
  t.ok(isReady && runs > 2 && failure === null, `${runs} runs`)
  await plain.close()
  await log.close()
})

tape('builder: neither it nor its Worker keeps the process running', (t) => {
  for (const how of ['none', 'hang']) {
    const [file, index] = [newPath('events.log'), require.resolve('..')]
    const program = `
      const { MessageChannel, Worker } = require('node:worker_threads')
      const worker = new Worker(${JSON.stringify(path.join(__dirname, 'builder-worker.js'))}, { workerData: { file: ${JSON.stringify(file)}, at: 4, how: '${how}' } })
      const index = require(${JSON.stringify(index)}).createIndex(['n'], { builder: worker, tuning: { waitMs: 0 } })
      const log = require(${JSON.stringify(require.resolve('@millrace/offset-log'))}).OffsetLog(${JSON.stringify(file)}, { codec: require(${JSON.stringify(require.resolve('@millrace/json-codec'))}).jsonCodec, index })
      log.append({ n: 1 }).then(() => console.log('appended'))`
    const { stdout, stderr, status } = spawnSync(process.execPath, ['-e', program], { encoding: 'utf8', timeout: 60_000 })
    t.equal(status, 0, `${how}: ${stderr}`)
    t.equal(stdout, 'appended\n')
  }
  t.end()
})

tape('builder: what is no port is refused, with what was given', (t) => {
  for (const builder of [null, 5, 'worker', {}, () => {}]) {
    t.throws(() => createIndex(['a'], { builder }), { code: 'ERR_INVALID_ARGUMENT', message: /^createIndex: builder must be a Worker/ })
    t.throws(() => runBuilder(builder, () => {}), { code: 'ERR_INVALID_ARGUMENT', message: /^runBuilder: port must be/ })
  }
  const port = connect(() => {})
  t.throws(() => runBuilder(port, 'events.log'), { code: 'ERR_INVALID_ARGUMENT', message: /a function that opens the log, got events/ })
  port.close()
  t.end()
})

tape('builder: many indexes that use one port are no leak of listeners, and each hears what is for it', async (t) => {
  const warnings = []
  const onWarning = (warning) => warnings.push(warning.name)
  process.on('warning', onWarning)
  const logs = Array.from({ length: 15 }, (_, n) => {
    const log = new MemoryLog({ codec: jsonCodec })
    log.folder = `${log.folder}-${n}`
    return log
  })
  const { port1, port2 } = new MessageChannel()
  port2.unref()
  let opened = 0
  runBuilder(port2, (source) => ({ index: source.open(logs[opened++]) }))
  const indexes = logs.map((log) => createIndex(['type', 'n'], { builder: port1, tuning: TUNING }).open(log))
  for (const [n, log] of logs.entries()) append(log, indexes[n], 60)
  await Promise.all(indexes.map((index) => index.ready()))
  const wrongAt = (n) => [...differences(logs[n], indexes[n]), indexes[n].status().failure]
  t.deepEqual(logs.flatMap((log, n) => wrongAt(n)), logs.map(() => null))
  await indexes[0].close()
  append(logs[1], indexes[1], 60)
  await indexes[1].ready()
  t.deepEqual(wrongAt(1), [null], 'after another was closed')
  for (const index of indexes) await index.close()
  t.equal(port1.listenerCount('message'), 0, 'nobody listens after the last one')
  port1.close()
  await turns()
  process.off('warning', onWarning)
  t.deepEqual(warnings, [])
})
