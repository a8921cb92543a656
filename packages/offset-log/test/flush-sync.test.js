'use strict'
// flushSync: what was appended is in the file when it returns, whatever was under way; and what was under way changes
// nothing when it ends. appendSync: the same for a record of its own.

const { spawnSync } = require('node:child_process')
const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { fileStorage } = require('@millrace/block-file')
const { SimulatedDisk, createRandom, faultyStorage, inQuickRuns, isLongRun, temporaryFolder } = require('@millrace/testkit')
const { AdaptiveIo } = require('../../block-file/lib/whole-io')
const { OffsetLog } = require('..')

const newPath = () => path.join(fs.realpathSync.native(temporaryFolder()), 'log')
const bytes = (text) => Buffer.from(text)
const codeOf = (run) => {
  try {
    run()
  } catch (err) {
    return err.code
  }
}

async function readAll (file, options) {
  const log = OffsetLog(file, { flags: 'r', ...options })
  const found = []
  for await (const data of log.stream({ seqs: false })) found.push(data.length > 100 ? data.length : String(data))
  await log.close()
  return found
}

for (const framing of ['checked', 'offset32']) {
  for (const fsync of ['always', 'interval', 'never']) {
    tape(`flushSync, ${framing}, ${fsync}: all earlier appends are in the file, then are called back in order`, async (t) => {
      const file = newPath()
      const log = OffsetLog(file, { framing, fsync })
      await log.ready()
      t.equal(log.supports.flushSync, true)
      const answers = []
      const append = (what) => log.append(typeof what === 'number' ? Buffer.alloc(what, 1) : bytes(what), (err, seq) => {
        if (err || log.since.value < seq) t.fail(String(err))
        answers.push(what)
      })
      for (const text of ['a', 'b', 'c']) append(text)
      log.flushSync()
      t.deepEqual(await readAll(file), ['a', 'b', 'c'])
      t.deepEqual(answers, ['a', 'b', 'c'])
      // So large that a thread of the pool writes it.
      append(3_000_000)
      await new Promise(process.nextTick)
      append('d')
      log.flushSync()
      t.ok(fs.statSync(file).size > 3_000_000)
      append('e')
      log.flushSync()
      t.equal(log.durable.value, log.since.value)
      await log.append(bytes('f'))
      t.deepEqual(answers, ['a', 'b', 'c', 3_000_000, 'd', 'e'])
      t.equal(log.pendingSize, 0)
      await log.close()
      const again = OffsetLog(file)
      await again.ready()
      t.equal(again.recovery, null)
      await again.close()
      t.deepEqual(await readAll(file), ['a', 'b', 'c', 3_000_000, 'd', 'e', 'f'])
    })
  }
}

tape('flushSync: without a sync, records are written and not durable', async (t) => {
  const file = newPath()
  const log = OffsetLog(file, { fsync: 'never' })
  await log.ready()
  log.append(bytes('a'))
  log.flushSync({ sync: false })
  t.ok(log.since.value > 0)
  t.equal(log.durable.value, -1)
  t.deepEqual(await readAll(file), ['a'])
  log.flushSync()
  t.equal(log.durable.value, log.since.value)
  t.equal(codeOf(() => log.flushSync({ sync: 1 })), 'ERR_INVALID_ARGUMENT')
  t.equal(codeOf(() => log.flushSync({ synch: true })), 'ERR_INVALID_ARGUMENT')
  await log.close()
})

tape('flushSync: with fsync always, readers see what it wrote without a sync once that is durable', async (t) => {
  const log = OffsetLog(newPath(), { fsync: 'always' })
  await log.append(bytes('a'))
  const { value: before } = log.since
  const appended = log.append(bytes('b'))
  log.flushSync({ sync: false })
  t.equal(log.since.value, before)
  const seq = await appended
  t.equal(log.since.value, seq)
  t.equal(log.durable.value, seq)
  await log.close()
})

tape('flushSync: a log that cannot be flushed says why', async (t) => {
  const file = newPath()
  const log = OffsetLog(file)
  const early = log.append(bytes('early'))
  t.equal(codeOf(() => log.flushSync()), 'ERR_LOG_NOT_READY')
  await early
  const reader = OffsetLog(file, { flags: 'r' })
  await reader.ready()
  t.equal(codeOf(() => reader.flushSync()), 'ERR_LOG_READ_ONLY')
  await reader.close()
  const second = OffsetLog(file)
  await second.ready().catch(() => {})
  t.equal(codeOf(() => second.flushSync()), 'ERR_LOG_LOCKED')
  const late = log.append(bytes('late'))
  const closed = log.close()
  log.flushSync()
  t.deepEqual(await readAll(file), ['early', 'late'], 'what was appended before close')
  await late
  await closed
  t.equal(codeOf(() => log.flushSync()), 'ERR_LOG_CLOSED')
  const plain = OffsetLog(newPath(), { storage: faultyStorage(fileStorage, () => {}) })
  await plain.ready()
  t.equal(plain.supports.flushSync, false)
  t.equal(codeOf(() => plain.flushSync()), 'ERR_NOT_SUPPORTED')
  await plain.close()
})

/** A log whose disk refuses large writes after `fail('ENOSPC')`, and loses pages after `fail('EIO')`. */
function failingLog () {
  let code
  const disk = new SimulatedDisk({
    decide: ({ name, length }) => {
      if (code === 'EIO' && name === 'sync') return { losesPages: true }
      if (code === 'ENOSPC' && name === 'write' && length > 1000) return { code }
    }
  })
  return { disk, log: OffsetLog('/log', { storage: disk.storage }), fail: (next) => { code = next } }
}

tape('flushSync: a failed sync poisons the log, a failed write fails its append only', async (t) => {
  const { log, fail } = failingLog()
  await log.append(bytes('a'))
  fail('ENOSPC')
  const large = log.append(Buffer.alloc(2000, 1)).catch((err) => err.code)
  t.equal(codeOf(() => log.flushSync()), 'ENOSPC')
  t.equal(await large, 'ENOSPC')
  const small = log.append(bytes('b'))
  log.flushSync()
  await small
  fail('EIO')
  const lost = log.append(bytes('c')).catch(() => {})
  t.equal(codeOf(() => log.flushSync()), 'ERR_LOG_POISONED')
  t.equal(codeOf(() => log.flushSync()), 'ERR_LOG_POISONED')
  await lost
  await log.close().catch(() => {})
})

/** The file system, with large writes of the pool that wait for `release`. */
function slowStorage () {
  const held = []
  const open = (path, options, cb) => fileStorage.open(path, options, (err, handle) => {
    if (!handle) return cb(err)
    const { write } = handle
    cb(null, {
      ...handle,
      write: (...args) => {
        if (args[2] < 1_000_000) return write(...args)
        held.push((err) => err ? process.nextTick(args[4], err) : write(...args))
      }
    })
  })
  return { storage: { ...fileStorage, open }, held, release: (err) => held.splice(0).forEach((run) => run(err)) }
}

for (const fsync of ['always', 'interval']) {
  for (const failure of [null, Object.assign(new Error('planned'), { code: 'EIO' })]) {
    const how = failure ? 'fails' : 'ends'
    tape(`flushSync, ${fsync}: a write that ${how} later changes nothing`, async (t) => {
      const file = newPath()
      const { storage, held, release } = slowStorage()
      const log = OffsetLog(file, { fsync, storage })
      await log.append(bytes('first'))
      const large = log.append(Buffer.alloc(2_000_000, 1))
      while (held.length === 0) await new Promise(setImmediate)
      const after = log.append(bytes('after'))
      log.flushSync()
      // It lies where the write under way would put reserved zeros.
      const last = log.append(bytes('last'))
      log.flushSync()
      const before = fs.readFileSync(file)
      t.deepEqual(await readAll(file), ['first', 2_000_000, 'after', 'last'])
      release(failure)
      const seqs = await Promise.all([large, after, last])
      t.ok(before.equals(fs.readFileSync(file).subarray(0, before.length)), 'the same bytes')
      await log.del(seqs[0])
      await log.append(bytes('end'))
      await log.close()
      t.deepEqual(await readAll(file), ['first', 'after', 'last', 'end'])
      const again = OffsetLog(file)
      await again.ready()
      t.equal(again.recovery, null)
      await again.close()
    })
  }
}

tape('flushSync: a compaction under way takes what was flushed, or makes the call fail', async (t) => {
  const outcomes = new Set()
  for (let turn = 0; turn < 60; turn++) {
    const disk = new SimulatedDisk({ defer: process.nextTick })
    const log = OffsetLog('/log', { storage: disk.storage })
    const seqs = []
    for (let i = 0; i < 5; i++) seqs.push(await log.append(Buffer.alloc(300, 65 + i)))
    await log.del(seqs[1])
    const compacted = log.compact()
    for (let tick = 0; tick < 4 * turn; tick++) await new Promise(process.nextTick)
    const appended = log.append(bytes('late'))
    outcomes.add(codeOf(() => log.flushSync()) ?? 'flushed')
    await Promise.all([compacted, appended])
    await log.close()
    t.deepEqual(await readAll('/log', { storage: disk.storage }), [300, 300, 300, 300, 'late'])
  }
  t.deepEqual([...outcomes].sort(), ['ERR_LOG_NOT_READY', 'flushed'])
})

const HEAD = `
  const { OffsetLog } = require(${JSON.stringify(require.resolve('..'))})
  const file = process.argv[1]
  const record = (text) => Buffer.from(text)
`
const run = (program, file) => spawnSync(process.execPath, ['-e', HEAD + program, file], { encoding: 'utf8' })

tape('flushSync: nothing is lost when the process ends right after it, or in an exit handler', async (t) => {
  const append = "for (let i = 0; i < 100; i++) log.append(record('' + i), () => {});"
  const large = 'log.append(Buffer.alloc(3e6, 1), () => {});'
  const inTheMiddle = (ending) => `log.append(record('first'), () => { ${large} process.nextTick(() => { ${append} ${ending} }) })`
  const all = Array.from({ length: 100 }, (_, i) => String(i))
  const programs = {
    'SIGKILL after it': [`log.ready(() => { ${append} log.flushSync(); process.kill(process.pid, 'SIGKILL') })`, all],
    'SIGKILL after it, unsynced': [`log.ready(() => { ${append} log.flushSync({ sync: false }); process.kill(process.pid, 'SIGKILL') })`, all],
    'SIGKILL, in the middle of a write': [inTheMiddle("log.flushSync(); process.kill(process.pid, 'SIGKILL')"), ['first', 3e6, ...all]],
    'abort, in the middle of a write': [inTheMiddle('log.flushSync(); process.abort()'), ['first', 3e6, ...all]],
    'an exit handler': [`log.ready(() => { process.on('exit', () => { ${append} log.flushSync() }); process.exit() })`, all],
    'an exit handler before that of the log': [`process.on('exit', () => { ${append} log.flushSync() }); log.ready(() => process.exit())`, all],
    'an exit handler after a throw': [`log.ready(() => { process.on('exit', () => { ${append} log.flushSync() }); throw new Error('planned') })`, all],
    'process.exit without it': [`log.ready(() => { ${append} process.exit() })`, all],
    'process.exit without it, in the middle of a write': [inTheMiddle('process.exit()'), ['first', 3e6, ...all]],
    'process.exit after close': [`log.ready(() => { ${append} log.close(); process.exit() })`, all],
    'process.exit without it, in the middle of a compaction': [
      `log.append(record('first'), () => { log.compact(() => {}); setImmediate(() => { ${append} process.exit() }) })`,
      ['first', ...all]
    ],
    'process.exit without it, in the middle of a deletion': [
      // Deleted twice: it is gone whether the second deletion was begun or not.
      `log.append(record('first'), (_, seq) => log.del(seq, () => { log.del(seq, () => {}); ${append} process.exit() }))`, all
    ],
    'a throw without it': [`log.ready(() => { ${append} throw new Error('planned') })`, all]
  }
  for (const [index, [what, [program, expected]]] of Object.entries(programs).entries()) {
    // In a quick run each program in one of the two ways.
    for (const fsync of isLongRun ? ['always', 'interval'] : [index % 2 === 0 ? 'always' : 'interval']) {
      const file = newPath()
      run(`const log = OffsetLog(file, { fsync: '${fsync}' }); ${program}`, file)
      const log = OffsetLog(file)
      await log.ready()
      t.deepEqual(log.recovery?.damage ?? [], [])
      await log.close()
      t.deepEqual(await readAll(file), expected, `${what}, ${fsync}`)
    }
  }
})

tape('flushSync: a log that an exit handler has written is left as if it were closed', async (t) => {
  const file = newPath()
  run("const log = OffsetLog(file); log.ready(() => { process.on('exit', () => { log.append(record('a')); log.flushSync() }); process.exit() })", file)
  t.deepEqual(fs.readdirSync(path.dirname(file)), ['log'])
  const log = OffsetLog(file)
  t.ok(await log.append(bytes('b')) < 2 ** 31, 'no seqs are left out')
  t.equal(log.recovery, null)
  await log.close()
})

tape('flushSync, always: what a running sync will show is not overwritten by what is flushed meanwhile', async (t) => {
  const disk = new SimulatedDisk()
  const log = OffsetLog('/log', { storage: disk.storage, fsync: 'always' })
  const first = await log.append(bytes('first'))
  await log.get(first)
  const { mayBlock } = AdaptiveIo.prototype
  AdaptiveIo.prototype.mayBlock = () => false
  const isSyncing = new Promise((resolve) => { disk.onChange = ({ name }) => name === 'sync' && resolve() })
  const second = log.append(Buffer.alloc(1000, 'b'))
  disk.defer = (run) => setTimeout(run, 2)
  await isSyncing
  disk.onChange = null
  log.append(Buffer.alloc(500, 'c'))
  log.flushSync()
  AdaptiveIo.prototype.mayBlock = mayBlock
  t.equal(String(await log.get(await second)), 'b'.repeat(1000))
  await log.del(await second)
  t.equal(String(await log.get(log.since.value)), 'c'.repeat(500))
  await log.close()
})

tape('flushSync, always: what a sync has shown before is not shown again, in a file that is compacted meanwhile', async (t) => {
  const log = OffsetLog('/log', { storage: new SimulatedDisk().storage, fsync: 'always' })
  const first = await log.append(Buffer.alloc(3000))
  await log.del(first)
  const second = await log.append(bytes('second'))
  await log.compact()
  log.flushSync()
  t.equal(String(await log.get(second)), 'second')
  await log.close()
})

for (const framing of ['checked', 'offset32']) {
  for (const fsync of ['always', 'interval', 'never']) {
    tape(`appendSync, ${framing}, ${fsync}: the record is in the file, behind all earlier appends, and its seq is that of append`, async (t) => {
      const file = newPath()
      const log = OffsetLog(file, { framing, fsync })
      await log.ready()
      const plain = OffsetLog(newPath(), { framing, fsync })
      const texts = ['a', 'b', 'c', 'd', 'e', 'f']
      const expected = []
      for (const part of [['a'], ['b'], ['c'], ['d', 'e'], ['f']]) expected.push(await plain.append(part.map(bytes)))
      const first = log.append(bytes('a'))
      const seqs = [log.appendSync(bytes('b')), log.appendSync(bytes('c'), { sync: false })]
      const batch = log.appendSync([bytes('d'), bytes('e')])
      t.deepEqual(await readAll(file), ['a', 'b', 'c', 'd', 'e'])
      t.equal(log.since.value, batch)
      // A sync that was running is answered later: the kernel tells a failure to one sync only, so it is awaited.
      await log.sync()
      t.equal(log.durable.value, batch)
      t.deepEqual([await first, ...seqs, batch, await log.append(bytes('f'))], expected)
      t.equal(log.appendSync([]), log.since.value)
      for (const [index, seq] of expected.entries()) t.deepEqual(await log.get(seq), await plain.get(seq), texts[index])
      await log.close()
      await plain.close()
      t.deepEqual(await readAll(file), texts)
    })
  }
}

tape('flushSync: appends that are flushed one by one in a turn become one commit, which is called back at once', async (t) => {
  for (const fsync of ['always', 'interval']) {
    const log = OffsetLog(newPath(), { fsync })
    await log.append(bytes('a'))
    let tickCount = 0
    const ticks = []
    const appends = []
    for (let i = 0; i < 200; i++) {
      appends.push(new Promise((resolve, reject) => log.append(bytes(`${i}`), (err, seq) => {
        if (i === 0) process.nextTick(() => { tickCount++ })
        ticks.push(tickCount)
        if (err) reject(err)
        else resolve(seq)
      })))
      log.flushSync()
      // Nobody is called back for these.
      if (i % 50 === 0) log.appendSync(bytes('now'))
    }
    const seqs = await Promise.all(appends)
    t.deepEqual(ticks, Array(200).fill(0), fsync)
    t.deepEqual(await log.getMany(seqs), Array.from({ length: 200 }, (_, i) => bytes(`${i}`)))
    await log.close()
  }
})

tape('appendSync: without a sync, a record is written and not durable; with fsync always it is shown once durable', async (t) => {
  const file = newPath()
  const log = OffsetLog(file, { fsync: 'never' })
  await log.ready()
  t.equal(log.appendSync(bytes('a'), { sync: false }), log.since.value)
  t.equal(log.durable.value, -1)
  t.deepEqual(await readAll(file), ['a'])
  await log.close()
  const strict = OffsetLog(file, { fsync: 'always' })
  await strict.ready()
  const seq = strict.appendSync(bytes('b'), { sync: false })
  t.ok(strict.since.value < seq)
  await strict.sync()
  t.deepEqual([strict.since.value, strict.durable.value], [seq, seq])
  await strict.close()
})

tape('appendSync: what it cannot append it refuses by throwing, and nothing of it is in the log', async (t) => {
  const file = newPath()
  const log = OffsetLog(file, { maxRecordSize: 100 })
  t.equal(codeOf(() => log.appendSync(bytes('early'))), 'ERR_LOG_NOT_READY')
  await log.ready()
  t.equal(codeOf(() => log.appendSync(Buffer.alloc(101))), 'ERR_RECORD_TOO_LARGE')
  try {
    log.appendSync([bytes('a'), Buffer.alloc(101)])
  } catch ({ code, index }) {
    t.deepEqual([code, index], ['ERR_RECORD_TOO_LARGE', 1])
  }
  t.ok(codeOf(() => log.appendSync({})), 'a value that the codec does not take')
  t.equal(codeOf(() => log.appendSync(bytes('a'), { sync: 1 })), 'ERR_INVALID_ARGUMENT')
  t.equal(codeOf(() => log.appendSync(bytes('a'), { synch: true })), 'ERR_INVALID_ARGUMENT')
  const reader = OffsetLog(file, { flags: 'r' })
  await reader.ready()
  t.equal(codeOf(() => reader.appendSync(bytes('a'))), 'ERR_LOG_READ_ONLY')
  await reader.close()
  const closed = log.close()
  t.equal(codeOf(() => log.appendSync(bytes('late'))), 'ERR_LOG_CLOSED')
  await closed
  t.deepEqual(await readAll(file), [])
})

tape('appendSync: after a failed write the log is as before; after a failed sync it is poisoned', async (t) => {
  const { disk, log, fail } = failingLog()
  await log.append(bytes('a'))
  const { value: since } = log.since
  fail('ENOSPC')
  t.equal(codeOf(() => log.appendSync(Buffer.alloc(2000, 1))), 'ENOSPC')
  t.equal(log.since.value, since)
  log.appendSync(bytes('b'))
  const large = log.append(Buffer.alloc(2000, 1)).catch((err) => err.code)
  t.equal(codeOf(() => log.appendSync(bytes('c'))), 'ENOSPC', 'an earlier append has failed')
  t.equal(await large, 'ENOSPC')
  t.deepEqual(await readAll('/log', { storage: disk.storage }), ['a', 'b'])
  fail('EIO')
  t.equal(codeOf(() => log.appendSync(bytes('d'))), 'ERR_LOG_POISONED')
  t.equal(codeOf(() => log.appendSync(bytes('e'))), 'ERR_LOG_POISONED')
  await log.close().catch(() => {})
})

const seed = Date.now() % 2 ** 31
tape('appendSync, always: a record that is not shown yet can be deleted', async (t) => {
  const log = OffsetLog('/log', { storage: new SimulatedDisk().storage, fsync: 'always' })
  await log.append(bytes('a'))
  const seq = log.appendSync(bytes('b'), { sync: false })
  await log.del(seq)
  t.equal(await log.count(), 1)
  await log.close()
})

tape(`flushSync, appendSync: any mixture with other calls leaves what the plain way leaves (seed ${seed})`, async (t) => {
  const random = createRandom(seed)
  const { mayBlock } = AdaptiveIo.prototype
  for (let round = 0; round < inQuickRuns(150); round++) {
    const script = makeScript(random)
    const options = { fsync: ['always', 'interval', 'never'][round % 3], framing: round % 5 === 4 ? 'offset48' : 'checked' }
    const plainly = script.filter(([what]) => !what.startsWith('flush')).map(([what, size]) => [what.replace('Sync', ''), size])
    const plain = await perform(plainly, options, () => 0)
    AdaptiveIo.prototype.mayBlock = () => random(2) === 0
    const flushed = await perform(script, options, random).finally(() => { AdaptiveIo.prototype.mayBlock = mayBlock })
    if (JSON.stringify(flushed) !== JSON.stringify(plain)) {
      return t.fail(`${JSON.stringify({ script, options })}: ${JSON.stringify(flushed)} and not ${JSON.stringify(plain)}`)
    }
  }
  t.pass('all mixtures')
})

/** @returns {Array<[string, number]>} */
function makeScript (random) {
  const steps = ['append', 'append', 'append', 'batch', 'appendSync', 'batchSync', 'flush', 'flush', 'flushUnsynced', 'del', 'sync', 'compact', 'wait', 'turns']
  const script = [['append', 1]]
  for (let count = 5 + random(20); count > 0; count--) script.push([steps[random(steps.length)], random(3000)])
  return script
}

/** Returns the lengths of the records, in the log and after it is opened again. */
async function perform (script, { framing, fsync }, random) {
  const disk = new SimulatedDisk({ defer: (run) => random(2) === 0 ? process.nextTick(run) : setImmediate(run) })
  const options = { storage: disk.storage, framing, fsync }
  const log = OffsetLog('/log', options)
  await log.ready()
  const appended = []
  const calls = []
  const acts = {
    append: (size) => appended.push(log.append(Buffer.alloc(size + 1, size % 255 + 1))),
    batch: (size) => calls.push(log.append(batchOf(size))),
    appendSync: (size) => appended.push(appendNow(Buffer.alloc(size + 1, size % 255 + 1), size)),
    batchSync: (size) => calls.push(appendNow(batchOf(size), size)),
    flush: () => flush(),
    flushUnsynced: () => flush({ sync: false }),
    del: async (size) => calls.push(log.del(await appended[size % appended.length])),
    sync: () => calls.push(log.sync()),
    compact: () => log.supports.compact && calls.push(log.compact()),
    wait: () => Promise.all(appended),
    turns: async (size) => { for (let turn = size % 7; turn > 0; turn--) await new Promise(setImmediate) }
  }
  const batchOf = (size) => [0, 1, 2].map((more) => Buffer.alloc(size + more + 1, 7))
  const appendNow = (values, size) => {
    try {
      const isSynced = size % 3 === 0
      const seq = log.appendSync(values, { sync: isSynced })
      if (isSynced && fsync !== 'always' && log.since.value !== seq) throw new Error('appendSync has not shown its record')
      // With fsync always, nobody sees it before it is durable.
      return isSynced || fsync !== 'always' ? Promise.resolve(seq) : log.sync().then(() => seq)
    } catch (err) {
      if (err.code !== 'ERR_LOG_NOT_READY') throw err
      return log.append(values)
    }
  }
  const flush = (how) => {
    const { pendingSize } = log
    const code = codeOf(() => log.flushSync(how))
    if (code === 'ERR_LOG_NOT_READY') return
    if (code) throw new Error(code)
    const written = disk.read('/log').length
    if (written < pendingSize) throw new Error('flushSync has not written')
    if (how === undefined && log.durable.value > log.since.value) throw new Error('durable is above since')
  }
  for (const [what, size] of script) await acts[what](size)
  await Promise.all([...appended, ...calls])
  const lengths = async (log) => {
    const found = []
    for await (const { length } of log.stream({ seqs: false })) found.push(length)
    return found
  }
  const before = await lengths(log)
  await log.close()
  const again = OffsetLog('/log', options)
  await again.ready()
  const found = { before, after: await lengths(again), recovery: again.recovery }
  await again.close()
  return found
}
