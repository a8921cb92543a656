'use strict'
// The end of a log that a session has left unsynced is written anew from a copy beside it, whatever happens meanwhile.

const { fork } = require('node:child_process')
const { once } = require('node:events')
const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { CrashPoint, SimulatedDisk, collect, failureOf, temporaryFolder } = require('@millrace/testkit')
const { OffsetLog } = require('..')
const { repair, verify } = require('@millrace/repair')

const FILE = '/folder/log'
const LINK = '/folder/link'
const bytes = (text) => Buffer.from(text)
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

async function textsOf (log, options) {
  return (await collect(log.stream({ ...options, seqs: false }))).map((value) => value.toString())
}

/** A disk with a log of which the last records were never synced. */
async function unsyncedLog ({ count = 5, size = 20_000 } = {}) {
  const disk = new SimulatedDisk()
  const log = OffsetLog(FILE, { storage: disk.storage, fsync: 'never' })
  await log.append(bytes('durable'))
  await log.sync()
  const texts = ['durable']
  for (let index = 0; index < count; index++) {
    texts.push(`${index} `.repeat(size / 2))
    await log.append(bytes(texts.at(-1)))
  }
  // The process is killed: the log is never closed.
  const left = disk.clone()
  await log.close()
  return { disk: left, texts }
}

tape('tail: an unsynced end is durable once the log is open, and nothing is left of its copy', async (t) => {
  const { disk, texts } = await unsyncedLog()
  const before = disk.read(FILE)
  const log = OffsetLog(FILE, { storage: disk.storage })
  await log.ready()
  t.equal(log.durable.value, log.since.value)
  t.deepEqual(disk.list(), [FILE])
  t.ok(disk.read(FILE).subarray(32768).equals(before.subarray(32768, disk.read(FILE).length)), 'the same bytes at the same offsets')
  const after = OffsetLog(FILE, { storage: disk.crash(() => 0).storage })
  t.deepEqual(await textsOf(after), texts)
  await after.close()
  await log.close()
})

tape('tail: blocks that a failed writeback left marked as never written are brought to the disk', async (t) => {
  const disk = new SimulatedDisk()
  const log = OffsetLog(FILE, { storage: disk.storage, fsync: 'always' })
  await log.append(bytes('durable'))
  disk.decide = ({ name }) => name === 'sync' ? { losesPages: true } : {}
  t.equal((await failureOf(() => log.append(Buffer.alloc(50_000, 'x')))).code, 'ERR_LOG_POISONED')
  disk.decide = () => {}
  await failureOf(() => log.close())
  const again = OffsetLog(FILE, { storage: disk.storage, fsync: 'always' })
  await again.append(bytes('later'))
  await again.close()
  disk.dropCaches()
  const reader = OffsetLog(FILE, { storage: disk.storage, flags: 'r' })
  t.deepEqual((await textsOf(reader)).map((text) => text.length), [7, 50_000, 5])
  await reader.close()
})

tape('tail: whatever step a power cut or a kill comes at, the next open has all that was there', async (t) => {
  const { disk, texts } = await unsyncedLog({ count: 3 })
  // All of it is on the disk, though nobody knows: so nothing may be lost.
  const synced = disk.clone()
  await new Promise((resolve) => synced.storage.open(FILE, { flags: 'r+' }, (_, handle) => handle.sync(resolve)))
  const moments = []
  const opened = synced.clone()
  opened.onChange = ({ name, path }) => moments.push({ name: `${name} ${path}`, disk: opened.clone() })
  const log = OffsetLog(FILE, { storage: opened.storage, fsync: 'never' })
  await log.ready()
  opened.onChange = null
  await log.close()
  t.ok(moments.length > 8, `${moments.length} steps`)
  for (const { name, disk } of moments) {
    for (const [how, left] of [['kill', disk], ['power cut', disk.crash(() => 0)], ['power cut, names kept', disk.crash((count, what) => what.startsWith('names') ? count - 1 : 0)]]) {
      const again = OffsetLog(FILE, { storage: left.storage })
      const found = await textsOf(again)
      if (found.join() !== texts.join()) t.fail(`${how} before ${name}: ${found.length} records`)
      await again.append(bytes('later'))
      await again.close()
      if (left.list().join() !== FILE) t.fail(`${how} before ${name}: ${left.list()}`)
      const once = OffsetLog(FILE, { storage: left.crash(() => 0).storage })
      t.equal((await textsOf(once)).length, texts.length + 1)
      await once.close()
    }
  }
})

tape('tail: a kill right behind the naming of the copy, and a power cut while it is replayed, lose nothing', async (t) => {
  const { disk, texts } = await unsyncedLog({ count: 1, size: 300 })
  const synced = disk.clone()
  await new Promise((resolve) => synced.storage.open(FILE, { flags: 'r+' }, (_, handle) => handle.sync(resolve)))
  const opened = synced.clone()
  let killed = null
  opened.onChange = ({ name, path }) => {
    // What is left when the process ends before it has synced the folder.
    if (name === 'syncFolder' && opened.list().includes(`${FILE}.tail`)) killed ??= opened.clone()
  }
  const log = OffsetLog(FILE, { storage: opened.storage })
  await log.ready()
  await log.close()
  t.deepEqual(killed.list(), [FILE, `${FILE}.tail`])
  const moments = []
  killed.onChange = () => moments.push(killed.clone())
  const again = OffsetLog(FILE, { storage: killed.storage })
  await again.ready()
  killed.onChange = null
  await again.close()
  for (const moment of moments) {
    // Of each file all that it was made of is kept, of the folder only what was synced.
    const point = new CrashPoint(moment)
    const choice = { ...point.all(), names: point.none().names }
    const found = OffsetLog(FILE, { storage: point.choose(choice).toDisk().storage })
    t.deepEqual(await textsOf(found), texts)
    await found.close()
  }
})

tape('tail: if there is no room for the copy the log is opened for reading only, whole, and says why', async (t) => {
  for (const code of ['ENOSPC', 'EDQUOT']) {
    const { disk, texts } = await unsyncedLog()
    disk.decide = ({ name, path }) => name === 'write' && path.includes('.tail') ? { code } : {}
    const before = disk.read(FILE)
    const log = OffsetLog(FILE, { storage: disk.storage })
    t.deepEqual(await textsOf(log), texts)
    for (const call of [() => log.append(bytes('x')), () => log.del(0), () => log.sync(), () => log.compact()]) {
      const err = await failureOf(call)
      t.equal(err?.code, 'ERR_LOG_READ_ONLY')
      t.equal(err.cause.code, code)
      t.match(err.message, /may not be on the disk, and could not be copied to .*\.tail .*make room, and open it again/)
    }
    t.equal(log.recovery.uncopied.cause.code, code)
    t.ok(log.durable.value < log.since.value)
    await log.close()
    t.ok(disk.read(FILE).equals(before), 'nothing is cut')
    t.deepEqual(disk.list(), [FILE])
    disk.decide = () => {}
    const again = OffsetLog(FILE, { storage: disk.storage })
    await again.append(bytes('later'))
    t.deepEqual(await textsOf(again), [...texts, 'later'])
    await again.close()
  }
})

tape('tail: a file of that name that is not ours is neither replayed nor removed', async (t) => {
  const { disk, texts } = await unsyncedLog()
  disk.put(`${FILE}.tail`, bytes('my notes'))
  const log = OffsetLog(FILE, { storage: disk.storage })
  t.deepEqual(await textsOf(log), texts)
  const err = await failureOf(() => log.append(bytes('x')))
  t.equal(err.code, 'ERR_LOG_READ_ONLY')
  t.equal(err.cause.code, 'EEXIST')
  await log.close()
  t.equal(String(disk.read(`${FILE}.tail`)), 'my notes')
  t.deepEqual(disk.list(), [FILE, `${FILE}.tail`])
})

tape('tail: a copy that was damaged is never replayed; nothing is cut, and the error names both', async (t) => {
  const { disk } = await unsyncedLog()
  let cut = null
  const opening = disk.clone()
  opening.onChange = ({ name, path }) => { if (name === 'write' && path === FILE) cut ??= opening.clone() }
  const log = OffsetLog(FILE, { storage: opening.storage })
  await log.ready()
  await log.close()
  t.deepEqual(cut.list(), [FILE, `${FILE}.tail`])
  const flipped = cut.clone()
  flipped.damage(`${FILE}.tail`, (medium) => { medium[1000] ^= 1 })
  const before = flipped.read(FILE)
  const damaged = OffsetLog(FILE, { storage: flipped.storage })
  const err = await failureOf(() => damaged.ready())
  t.equal(err.code, 'ERR_LOG_CORRUPT')
  t.equal(err.path, `${FILE}.tail`)
  await damaged.close()
  t.ok(flipped.read(FILE).equals(before))
  t.deepEqual(flipped.list(), [FILE, `${FILE}.tail`])
})

tape('tail: if the end is in the copy only, readers and verify say so, and repair does not do without it', async (t) => {
  const { disk, texts } = await unsyncedLog()
  let cut = null
  const opening = disk.clone()
  opening.onChange = ({ name, path }) => { if (name === 'write' && path === FILE) cut ??= opening.clone() }
  const log = OffsetLog(FILE, { storage: opening.storage })
  await log.ready()
  await log.close()
  const reader = OffsetLog(FILE, { storage: cut.storage, flags: 'r' })
  const found = await textsOf(reader)
  t.ok(found.length < texts.length)
  t.deepEqual(found, texts.slice(0, found.length))
  const { offset, size, path } = reader.recovery.unrestored
  t.deepEqual([path, offset + size], [`${FILE}.tail`, disk.read(FILE).length])
  await reader.close()
  const report = await verify(FILE, { storage: cut.storage })
  t.equal(report.isSound, false)
  t.deepEqual(report.unrestored, { offset, size, path })
  const err = await failureOf(() => repair(FILE, '/folder/repaired', { storage: cut.storage, write: true }))
  t.equal(err.code, 'ERR_NOT_SUPPORTED')
  t.match(err.message, /Open the log for writing once/)
  t.deepEqual(cut.list(), [FILE, `${FILE}.tail`])
  const again = OffsetLog(FILE, { storage: cut.storage })
  t.deepEqual(await textsOf(again), texts)
  t.equal(again.recovery, null)
  await again.close()
  t.equal((await verify(FILE, { storage: cut.storage })).unrestored, null)
})

tape('tail: who only reads the log by a link to its file learns of the copy, and repair does not do without it', async (t) => {
  const { disk } = await unsyncedLog()
  let cut = null
  disk.onChange = ({ name, path }) => { if (name === 'write' && path === FILE) cut ??= disk.clone() }
  const log = OffsetLog(FILE, { storage: disk.storage })
  await log.ready()
  await log.close()
  const { storage } = cut
  const follow = (path) => path === LINK ? FILE : path
  const linked = {
    ...storage,
    open: (path, ...others) => storage.open(follow(path), ...others),
    realPath: (path, cb) => process.nextTick(cb, null, follow(path))
  }
  const reader = OffsetLog(LINK, { storage: linked, flags: 'r' })
  await reader.ready()
  t.equal(reader.recovery?.unrestored?.path, `${FILE}.tail`)
  await reader.close()
  t.equal((await verify(LINK, { storage: linked })).isSound, false)
  const err = await failureOf(() => repair(LINK, '/folder/repaired', { storage: linked, write: true }))
  t.equal(err?.code, 'ERR_NOT_SUPPORTED')
})

tape('tail: a copy from before the last append is not replayed', async (t) => {
  const { disk, texts } = await unsyncedLog()
  let copy = null
  disk.onChange = ({ name, path }) => { if (name === 'unlink' && path === `${FILE}.tail`) copy = disk.read(path) }
  const log = OffsetLog(FILE, { storage: disk.storage })
  await log.append(bytes('later'))
  await log.sync()
  disk.onChange = null
  t.ok(copy)
  // Somebody brings it back, and the process is killed.
  const left = disk.clone()
  left.put(`${FILE}.tail`, copy)
  const again = OffsetLog(FILE, { storage: left.storage })
  t.deepEqual(await textsOf(again), [...texts, 'later'])
  await again.close()
  t.deepEqual(left.list(), [FILE])
  await log.close()
})

const skip = process.platform !== 'linux'
// The lock of a process that was killed while the file system stayed mounted.
function takenOver (disk, past) {
  const answer = (cb) => process.nextTick(cb, null)
  const lock = {
    kind: 'file',
    noteFile: answer,
    forgetFile: answer,
    release: answer,
    findPast: (cb) => process.nextTick(cb, null, past)
  }
  return { ...disk.storage, lock: (file, request, cb) => process.nextTick(cb, null, lock) }
}

tape('tail: if the file system counts no failures, a sync may have failed just before the kill: all is written anew', async (t) => {
  const { disk, texts } = await unsyncedLog({ count: 2 })
  // The kernel reports the failure to the process that is killed, and to nobody else.
  disk.decide = ({ name }) => name === 'sync' ? { losesPages: true } : {}
  await new Promise((resolve) => disk.storage.open(FILE, { flags: 'r+' }, (_, handle) => handle.sync(resolve)))
  disk.decide = () => {}
  const unmarked = OffsetLog(FILE, { storage: disk.clone().storage, fsync: 'never' })
  const shown = (await unmarked.ready(), unmarked.since.value)
  const log = OffsetLog(FILE, { storage: takenOver(disk, 'unsynced'), fsync: 'never' })
  const seq = await log.append(bytes('later'))
  await log.sync()
  t.ok(seq > shown && seq < shown + 2 ** 32, 'no positions are left out: every record ever shown is there')
  const after = OffsetLog(FILE, { storage: disk.crash(() => 0).storage })
  t.deepEqual(await textsOf(after), [...texts, 'later'])
  for (const one of [unmarked, log, after]) await one.close()
})

tape('tail: under the kernel that still runs, and with nothing failed, nothing is copied', { skip }, async (t) => {
  const file = path.join(fs.realpathSync.native(temporaryFolder()), 'log')
  const child = fork(path.join(__dirname, 'tail-copy-child.js'), [file, '3'])
  const [seq] = await once(child, 'message')
  child.kill('SIGKILL')
  await once(child, 'exit')
  const names = new Set()
  const { rename } = fs
  fs.rename = (from, to, cb) => { names.add(path.basename(to)); rename(from, to, cb) }
  const log = OffsetLog(file)
  await log.ready()
  fs.rename = rename
  const isProven = (await log.append(bytes('later'))) < 2 ** 32
  const { mount } = JSON.parse(fs.readFileSync(`${file}.lock`, 'utf8'))
  // xfs and f2fs do not count failures.
  const isCopied = !isProven || mount.endsWith(' -')
  t.equal(names.has('log.tail'), isCopied, isProven ? 'nothing was lost' : 'this file system does not prove it')
  t.ok(log.since.value > seq)
  await log.close()
})

tape('tail: a live reader goes on with what it has while the end is written anew, and misses nothing', async (t) => {
  const { disk, texts } = await unsyncedLog({ count: 10, size: 200_000 })
  const reader = OffsetLog(FILE, { storage: disk.storage, flags: 'r' })
  await reader.ready()
  const { value: since } = reader.since
  const found = []
  const reading = (async () => {
    for await (const text of reader.stream({ live: true, seqs: false })) found.push(text.toString())
  })()
  const slow = reader.stream({ seqs: false })[Symbol.asyncIterator]()
  const slowTexts = [String((await slow.next()).value)]
  // Each step takes a while, so that readers come between.
  disk.defer = (run) => setTimeout(run, 15)
  const writer = OffsetLog(FILE, { storage: disk.storage })
  const isOpen = writer.ready().then(() => true)
  let wasCut = false
  while (!await Promise.race([isOpen, sleep(5)])) {
    if (disk.list().includes(`${FILE}.tail`)) wasCut = true
    t.equal((await reader.get(since)).length, texts.at(-1).length)
    t.equal(reader.since.value, since)
  }
  t.ok(wasCut)
  disk.defer = setImmediate
  for await (const text of slow) slowTexts.push(String(text))
  t.deepEqual(slowTexts.map((text) => text.length), texts.map((text) => text.length))
  await writer.append(bytes('later'))
  while (found.length < texts.length + 1) await sleep(5)
  t.ok(found.join() === [...texts, 'later'].join())
  await reader.close()
  await reading
  await writer.close()
})

tape('tail: a writer that is killed in the middle does not keep a reader waiting for ever', async (t) => {
  const { disk, texts } = await unsyncedLog()
  const reader = OffsetLog(FILE, { storage: disk.storage, flags: 'r' })
  t.deepEqual(await textsOf(reader), texts)
  const copied = disk.clone()
  let cut = null
  copied.onChange = ({ name, path }) => { if (name === 'write' && path === FILE) cut ??= copied.clone() }
  const writer = OffsetLog(FILE, { storage: copied.storage })
  await writer.ready()
  await writer.close()
  // What the reader sees is what that one has left.
  disk.put(`${FILE}.tail`, cut.read(`${FILE}.tail`))
  await new Promise((resolve) => disk.storage.open(FILE, { flags: 'r+' }, (_, handle) => handle.truncate(cut.read(FILE).length, resolve)))
  const reading = reader.stream({ live: true, old: false })[Symbol.asyncIterator]()
  t.equal((await failureOf(() => reading.next())).code, 'ERR_LOG_CORRUPT', 'after ten seconds')
  const next = OffsetLog(FILE, { storage: disk.storage })
  t.deepEqual(await textsOf(next), texts, 'the next writer brings it back')
  await next.close()
  await reader.close()
})
