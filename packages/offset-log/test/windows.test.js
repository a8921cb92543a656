'use strict'
// The rules of Windows, simulated: an open file cannot be renamed, replaced or removed, others get in the way for a
// while, and folders cannot be synced.

const path = require('node:path')
const tape = require('tape')
const { patientStorage } = require('@millrace/block-file')
const { convert } = require('@millrace/migrate')
const { repair } = require('@millrace/repair')
const testkit = require('@millrace/testkit')
const { OffsetLog } = require('..')

const { SimulatedDisk, collect, createRandom, failureOf, faultyStorage, isLongRun, testLog, windowsStorage } = testkit
const FILE = '/folder/log'
const seed = Number(process.env.MILLRACE_SEED) || Date.now() % 2 ** 31

/** Fails a test in which the program was in its own way. @type {(t: any, disk: any) => any} */
function createStorage (t, disk) {
  const own = windowsStorage(disk.storage, {
    random: createRandom(seed),
    onViolation: ({ message }) => t.fail(`${message} (seed ${seed})`)
  })
  return patientStorage(own)
}

/** By the log's path: the suite opens a log again. */
const storages = new Map()
for (const framing of isLongRun ? ['checked', 'offset32', 'offset48', 'offset53'] : ['checked']) {
  testLog(tape, (file, options) => {
    if (!storages.has(file)) storages.set(file, createStorage(tape, new SimulatedDisk()))
    return OffsetLog(file, { framing, storage: storages.get(file), ...options })
  }, { name: `${framing}, as on Windows` })
}

/** @type {(options: object, count?: number) => Promise<any>} a log of which every second record was deleted */
async function makeLog (options, count = 300) {
  const log = OffsetLog(FILE, options)
  for (let n = 0; n < count; n++) await log.append(Buffer.alloc(400, 1 + n % 250))
  const seqs = (await collect(log.stream())).map(({ seq }) => seq)
  await log.del(seqs.filter((_, index) => index % 2 === 0))
  return log
}

tape('compact, as on Windows: the open log is replaced, and goes on beside readers and appends', async (t) => {
  const disk = new SimulatedDisk()
  const log = await makeLog({ storage: createStorage(t, disk) })
  for (let round = 0; round < 5; round++) {
    const before = await collect(log.stream())
    const appends = []
    const compacting = log.compact().then(() => { appends.isDone = true })
    while (!appends.isDone) {
      appends.push(log.append(Buffer.alloc(50, appends.length)))
      const [{ seq, value }] = before
      if (!value.equals(await log.get(seq))) t.fail(`get ${seq}`)
    }
    await compacting
    const seqs = await Promise.all(appends)
    const after = await collect(log.stream())
    t.deepEqual(after.slice(0, before.length), before)
    t.deepEqual(after.slice(before.length).map(({ seq }) => seq), seqs)
    await log.del(seqs)
  }
  await log.close()
  t.deepEqual(disk.list(), [FILE])
})

tape('compact, as on Windows: a file that another process has open stays, and the log goes on', async (t) => {
  const disk = new SimulatedDisk()
  const storage = patientStorage(windowsStorage(disk.storage), { patienceMs: 30 })
  const log = await makeLog({ storage })
  const reader = OffsetLog(FILE, { flags: 'r', storage })
  await reader.ready()
  const before = await collect(log.stream())
  t.equal((await failureOf(() => log.compact()))?.code, 'EPERM')
  t.deepEqual(await collect(log.stream()), before)
  const seq = await log.append(Buffer.from('more'))
  await log.sync()
  t.equal(String(await log.get(seq)), 'more')
  t.deepEqual(disk.list(), [FILE], 'nothing is left')
  await reader.close()
  const { size, sizeBefore } = await log.compact()
  t.ok(size < sizeBefore)
  await log.close()
  const again = OffsetLog(FILE, { storage })
  t.equal((await collect(again.stream())).length, before.length + 1)
  await again.close()
})

tape('compact, as on Windows: if the file cannot be opened again, the log is poisoned, and nothing is lost', async (t) => {
  for (const renames of [true, false]) {
    const disk = new SimulatedDisk()
    let isFailing = false
    const inner = windowsStorage(disk.storage)
    const rename = (from, to, cb) => {
      isFailing = true
      if (renames) inner.rename(from, to, cb)
      else process.nextTick(cb, Object.assign(new Error('EIO'), { code: 'EIO' }))
    }
    const storage = faultyStorage({ ...inner, rename }, ({ name }) => {
      if (isFailing && name === 'open') return { error: Object.assign(new Error('EMFILE'), { code: 'EMFILE' }) }
    })
    const ordinary = patientStorage(inner)
    await (await makeLog({ storage: ordinary })).close()
    const log = OffsetLog(FILE, { storage })
    const before = await collect(log.stream())
    const err = await failureOf(() => log.compact())
    t.equal(err?.code, 'ERR_LOG_POISONED')
    t.match(err.message, /could not be opened again \(EMFILE\)/)
    t.equal((await failureOf(() => log.append(Buffer.from('a'))))?.code, 'ERR_LOG_POISONED')
    t.ok((await failureOf(() => collect(log.stream())))?.code, 'reads fail with a code')
    t.equal(typeof (await failureOf(() => log.get(before[0].seq)))?.code, 'string')
    await failureOf(() => log.close())
    const again = OffsetLog(FILE, { storage: ordinary })
    t.deepEqual(await collect(again.stream()), before)
    await again.close()
    t.deepEqual(disk.list(), [FILE])
  }
})

tape('compact, as on Windows: a kill or a power cut at every step loses nothing', async (t) => {
  const random = createRandom(seed)
  const images = []
  const disk = new SimulatedDisk()
  const log = await makeLog({ storage: createStorage(t, disk) }, 60)
  await log.sync()
  const expected = await collect(log.stream())
  disk.onChange = () => images.push(disk.clone({ onChange: null }))
  await log.compact()
  disk.onChange = null
  await log.close()
  t.ok(images.length > 5)
  for (const image of images) {
    for (const after of [image, image.crash(random), image.crash(() => 0)]) {
      const storage = createStorage(t, after)
      const again = OffsetLog(FILE, { storage })
      t.deepEqual(await collect(again.stream()), expected)
      await again.compact()
      t.deepEqual(await collect(again.stream()), expected)
      await again.close()
      t.deepEqual(after.list(), [FILE])
    }
  }
})

tape('snapshot, convert and repair, as on Windows', async (t) => {
  const disk = new SimulatedDisk()
  const storage = createStorage(t, disk)
  const log = await makeLog({ storage, framing: 'offset32' })
  const expected = (await collect(log.stream())).map(({ value }) => value)
  await log.close()
  await convert(FILE, '/folder/converted', { storage })
  const converted = OffsetLog('/folder/converted', { storage })
  await converted.snapshot('/folder/copy')
  await converted.close()
  await repair('/folder/copy', '/folder/repaired', { storage, write: true })
  for (const name of ['converted', 'copy', 'repaired']) {
    const log = OffsetLog(path.posix.join('/folder', name), { storage })
    t.deepEqual((await collect(log.stream())).map(({ value }) => value), expected, name)
    await log.close()
  }
  t.deepEqual(disk.list(), ['converted', 'copy', 'log', 'repaired'].map((name) => `/folder/${name}`))
})
