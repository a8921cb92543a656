'use strict'
// A process may have few files open, and a log of many segments has many runs. Few of their files are open: what is
// removed while it is closed, or cannot be opened, is scanned.

const tape = require('tape')
const { jsonCodec } = require('@millrace/json-codec')
const { createRandom, inQuickRuns } = require('@millrace/testkit')
const { createIndex } = require('..')
const { appendSome, compareMany } = require('./cases')
const { MemoryLog } = require('./memory-log')

const SEED = Number(process.env.SEED ?? Date.now() & 0xffffff)
const ROUNDS = inQuickRuns(60, 8)
const PATHS = ['type', { path: 'key', range: true }, { path: 'tags', each: true }, { path: 'n', range: true }]

/** A storage that counts the files that are open, and fails to open one if it is told to. */
function watch (inner, { hasCloseSync = true } = {}) {
  const watched = { count: 0, most: 0, /** @type {string | null} */ failure: null, /** @type {any} */ storage: null }
  const fail = (file) => {
    const { failure } = watched
    if (failure === null || !file.endsWith('.run')) return
    throw Object.assign(new Error(failure), { code: failure })
  }
  const adapt = (handle) => {
    watched.most = Math.max(watched.most, ++watched.count)
    const close = (cb) => handle.close((err) => {
      watched.count--
      cb(err)
    })
    const closeSync = () => {
      watched.count--
      handle.close(() => {})
    }
    return { ...handle, close, ...hasCloseSync && { closeSync } }
  }
  const open = (file, options, cb) => {
    try {
      fail(file)
    } catch (err) {
      return process.nextTick(cb, err)
    }
    inner.open(file, options, (err, handle) => err ? cb(err) : cb(null, adapt(handle)))
  }
  const openSync = (file, options) => {
    fail(file)
    return adapt(inner.openSync(file, options))
  }
  watched.storage = { ...inner, open, openSync }
  return watched
}

/** A log of some files, with an index whose runs are written. */
async function makeIndexed (random, { hasCloseSync = true, replacesOpenFiles = true, ...tuning } = {}) {
  const log = new MemoryLog({ codec: jsonCodec, seed: random(1e6) })
  const watched = watch({ ...log.disk.storage, replacesOpenFiles }, { hasCloseSync })
  log.storage = watched.storage
  for (let files = 6 + random(8); files > 0; files--) {
    appendSome(log, random, 20 + random(80))
    log.roll()
  }
  const [cachedPages, sieveRunsMin] = [1 + random(5), [2, 1000][random(2)]]
  const own = { recordsMax: 30, fanOut: 3, waitMs: 1, openRuns: 2, cachedPages, sieveRunsMin, ...tuning }
  const open = (of = log) => createIndex(PATHS, { tuning: own }).open(of)
  const index = open()
  await index.ready()
  return { log, watched, index, open }
}

const runsOf = (log) => log.disk.list().filter((file) => file.endsWith('.run'))

/** Runs it with random numbers, again and again, until something is wrong. */
async function many (t, run) {
  for (let round = 0; round < ROUNDS; round++) {
    const wrong = await run(createRandom(SEED + round))
    if (wrong !== null) return t.fail(`SEED=${SEED + round}: ${wrong}`)
  }
  t.pass(`SEED=${SEED}`)
}

tape('run files: few are open, however many are read', (t) => many(t, async (random) => {
  const { log, watched, index, open } = await makeIndexed(random)
  let wrong = compareMany(log, index, random, 30)
  if (watched.count > 2) wrong ??= `${watched.count} files are open`
  await index.close()
  if (watched.count > 0) wrong ??= `${watched.count} files are left open`
  // As at the start of a process.
  watched.most = 0
  const again = open()
  await again.ready()
  wrong ??= compareMany(log, again, random, 30)
  // One is read in the background before it counts.
  if (watched.most > 3) wrong ??= `${watched.most} files were open`
  await again.close()
  return wrong
}))

tape('run files: those that were removed while they were closed are scanned, and written again', (t) => many(t, async (random) => {
  const { log, index } = await makeIndexed(random, { hasCloseSync: random(2) === 0 })
  for (const file of runsOf(log)) if (random(2) === 0) log.disk._names.delete(file)
  let wrong = compareMany(log, index, random, 30)
  await index.ready()
  wrong ??= compareMany(log, index, random, 30)
  await index.ready()
  if (!index.status().isReady) wrong ??= 'it is not complete'
  const { runs } = index.status()
  if (runs !== runsOf(log).length) wrong ??= `${runs} runs, of ${runsOf(log).length} files`
  await index.close()
  return wrong
}))

tape('run files: a follower whose runs were merged while they were closed takes the new ones', (t) => many(t, async (random) => {
  const { log, index, open } = await makeIndexed(random, { fanOut: 2 })
  const other = log.copy({ isReadOnly: true })
  other.storage = log.storage
  const follower = open(other)
  await follower.ready()
  let wrong = compareMany(other, follower, random, 5)
  const before = runsOf(log)
  for (let left = 3; left > 0; left--) {
    appendSome(log, random, 30 + random(60))
    await index.flush()
  }
  log.dropBefore(log.end - random(log.end))
  index.dropped({ from: 0, to: log.start })
  await index.ready()
  const gone = before.filter((file) => !runsOf(log).includes(file)).length
  // What was dropped is still there for one that has not looked.
  wrong ??= compareMany(other, follower, random, 40)
  await follower.ready()
  wrong ??= compareMany(other, follower, random, 10)
  if (follower.status().failure !== null) wrong ??= `${follower.status().failure}`
  await follower.close()
  await index.close()
  return wrong && `${gone} of ${before.length} are gone: ${wrong}`
}))

for (const code of ['EMFILE', 'EIO', 'ENOMEM', 'EPERM']) {
  tape(`run files: what cannot be opened for a while (${code}) is scanned, and used again later`, (t) => many(t, async (random) => {
    // As on Windows, where a virus scanner may hold a file.
    const { log, watched, index } = await makeIndexed(random, { replacesOpenFiles: code !== 'EPERM' })
    const files = runsOf(log)
    watched.failure = code
    let wrong = compareMany(log, index, random, 30)
    const { scanned, why } = index.explain({ path: 'key', equals: 'key 7' })
    if (scanned !== null && !why.includes('a file of the index cannot be read')) wrong ??= why
    watched.failure = null
    const { runs, failure } = index.status()
    if (runs !== files.length || failure !== null) wrong ??= `${runs} runs of ${files.length}, ${failure}`
    if (runsOf(log).join() !== files.join()) wrong ??= 'files were removed'
    wrong ??= compareMany(log, index, random, 30)
    await index.close()
    return wrong
  }))
}

tape('run files: one that may not be read any more is scanned', (t) => many(t, async (random) => {
  const { log, watched, index } = await makeIndexed(random)
  watched.failure = 'EACCES'
  let wrong = compareMany(log, index, random, 30)
  watched.failure = null
  await index.ready()
  wrong ??= compareMany(log, index, random, 30)
  await index.close()
  return wrong
}))

tape('run files: a storage that opens none without waiting keeps all open', async (t) => {
  const random = createRandom(SEED)
  const log = new MemoryLog({ codec: jsonCodec })
  const { openSync, ...rest } = log.disk.storage
  const watched = watch(rest)
  log.storage = { ...watched.storage, openSync: undefined }
  for (let files = 8; files > 0; files--) {
    appendSome(log, random, 40)
    log.roll()
  }
  const index = createIndex(PATHS, { tuning: { recordsMax: 30, waitMs: 1, openRuns: 2 } }).open(log)
  await index.ready()
  t.equal(watched.count, index.status().runs)
  t.equal(compareMany(log, index, random, 30), null, `SEED=${SEED}`)
  await index.close()
  t.equal(watched.count, 0)
})
