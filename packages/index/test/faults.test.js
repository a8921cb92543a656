'use strict'
// Run files that are damaged, missing, of another log or time; power cuts; disks that fail: the answers stay right.

const tape = require('tape')
const { jsonCodec } = require('@millrace/json-codec')
const { SimulatedDisk, createRandom, isLongRun, until } = require('@millrace/testkit')
const { createIndex } = require('..')
const { appendSome, compareMany } = require('./cases')
const { FOLDER, MemoryLog } = require('./memory-log')

const ROUNDS = isLongRun ? 400 : 8
const PATHS = ['type', { path: 'key', range: true }, { path: 'tags', each: true }, { path: 'n', range: true }, { path: 'items', each: 'id' }]
const TUNING = { recordsMax: 60, fanOut: 3, waitMs: 1, sieveRunsMin: 2, cachedPages: 3 }

const open = (log, paths = PATHS, tuning = TUNING) => createIndex(paths, { tuning }).open(log)
const newSeed = () => Date.now() & 0xffffff

function makeLog (random, count = 400) {
  const log = new MemoryLog({ codec: jsonCodec, seed: random(1e6) })
  appendSome(log, random, count)
  return log
}

/** A log whose runs are written, and its disk. */
async function makeIndexed (random, count) {
  const log = makeLog(random, count)
  const index = open(log)
  await index.ready()
  await index.close()
  return log
}

/** Whether an index that is opened finds what a scan does, at once and when it is ready; gives what is wrong. */
async function check (log, random, paths = PATHS, tuning = TUNING) {
  const index = open(log, paths, tuning)
  let wrong = compareMany(log, index, random, 3)
  await new Promise(setImmediate)
  wrong ??= compareMany(log, index, random, 3)
  await index.ready()
  wrong ??= compareMany(log, index, random, 25)
  // Damage may have been found meanwhile.
  await index.ready()
  if (!index.status().isReady) wrong ??= 'it is not ready'
  wrong ??= compareMany(log, index, random, 5)
  await index.close()
  return wrong
}

/** Changes bytes of a file in place, or its size. */
function damageFile (disk, file, random) {
  const bytes = disk.read(file)
  const at = random(bytes.length)
  // The end, where the footer is, is a small part of the file.
  const any = () => random(4) === 0 ? bytes.length - 1 - random(Math.min(1500, bytes.length)) : random(bytes.length)
  switch (random(4)) {
    case 0: return disk.put(file, bytes.subarray(0, at))
    case 1: return disk.put(file, Buffer.concat([bytes, bytes.subarray(at)]))
    case 2: return disk.put(file, bytes.fill(0, at, Math.min(bytes.length, at + random(8192))))
    default:
      for (let left = 1 + random(3); left > 0; left--) bytes[any()] ^= 1 << random(8)
      return disk.put(file, bytes)
  }
}

tape('faults: run files whose bytes were changed or cut', async (t) => {
  const seed = newSeed()
  const random = createRandom(seed)
  for (let round = 0; round < ROUNDS; round++) {
    const log = await makeIndexed(random)
    const files = log.disk.list()
    for (let left = 1 + random(3); left > 0; left--) damageFile(log.disk, files[random(files.length)], random)
    const wrong = await check(log, random)
    if (wrong !== null) return t.end(t.fail(`seed ${seed}, round ${round}: ${wrong}`))
  }
  t.pass(`seed ${seed}`)
  t.end()
})

tape('faults: run files that change while they are open', async (t) => {
  const seed = newSeed()
  const random = createRandom(seed)
  for (let round = 0; round < ROUNDS; round++) {
    const log = await makeIndexed(random)
    const index = open(log)
    await new Promise((resolve) => { setTimeout(resolve, 2) })
    let wrong = compareMany(log, index, random, random(3))
    for (const file of log.disk.list().filter(() => random(2) === 0)) {
      const position = random(log.disk.size(file))
      log.disk.write(file, Buffer.alloc(1 + random(4096), random(256)), position)
    }
    wrong ??= compareMany(log, index, random, 20)
    await index.ready()
    wrong ??= compareMany(log, index, random, 20)
    await index.close()
    wrong ??= await check(log, random)
    if (wrong !== null) return t.end(t.fail(`seed ${seed}, round ${round}: ${wrong}`))
  }
  t.pass(`seed ${seed}`)
  t.end()
})

tape('faults: runs that are missing, left over, or of another log or time', async (t) => {
  const seed = newSeed()
  const random = createRandom(seed)
  for (let round = 0; round < ROUNDS; round++) {
    const log = await makeIndexed(random)
    const stranger = await makeIndexed(random)
    const [files, strangers] = [log.disk.list(), stranger.disk.list()]
    const cases = {
      missing: () => { for (const file of files) if (random(2) === 0) log.disk._names.delete(file) },
      another: () => { log.id = Buffer.from('ffffffffffffffff', 'hex') },
      none: () => { log.id = null },
      epoch: () => { log.epoch++ },
      older: () => log.cut(random(log.end)),
      diverged: () => {
        log.cut(random(log.end))
        appendSome(log, random, 200)
      },
      mixed: () => { for (const file of strangers) if (random(2) === 0) log.disk.put(file, stranger.disk.read(file)) },
      unfinished: () => { for (const file of strangers) log.disk.put(`${file}.new`, stranger.disk.read(file)) },
      twice: () => { for (const file of files) log.disk.put(file.replace(/[0-9a-f]{12}(?=\.run)/, '0123456789ab'), log.disk.read(file)) },
      text: () => log.disk.put(`${FOLDER}/notes.txt`, Buffer.from('mine'))
    }
    const names = Object.keys(cases)
    const name = names[round % names.length]
    cases[name]()
    const wrong = await check(log, random, name === 'missing' && random(2) === 0 ? ['type'] : PATHS)
    if (wrong !== null) return t.end(t.fail(`seed ${seed}, round ${round}, ${name}: ${wrong}`))
    if (name === 'text') t.equal(String(log.disk.read(`${FOLDER}/notes.txt`)), 'mine', 'a file of somebody else stays')
  }
  t.pass(`seed ${seed}`)
  t.end()
})

tape('faults: a log that went on differently after an older copy was restored has none of the old runs', async (t) => {
  const where = { path: 'n', equals: 1 }
  for (const isSame of [true, false]) {
    const log = new MemoryLog({ codec: jsonCodec })
    for (let n = 0; n < 200; n++) log.append({ n: 1 })
    const index = open(log)
    await index.ready()
    await index.close()
    log.cut(log.records[100].seq)
    log._random = createRandom(1)
    for (let n = 0; n < 100; n++) log._random(3)
    // The same seqs and sizes.
    while (log.records.length < 200) log.append({ n: isSame ? 1 : 2 })
    const again = open(log)
    await new Promise((resolve) => { setTimeout(resolve, 20) })
    t.equal(log.compare(again, where), null)
    await again.ready()
    t.equal(log.compare(again, where), null)
    await again.close()
  }
})

tape('faults: a record that was deleted before the index was made, and is in an older copy that was restored, is found', async (t) => {
  const where = { path: 'n', equals: 1 }
  for (const isDeletedLater of [false, true]) {
    const log = new MemoryLog({ codec: jsonCodec })
    for (let n = 0; n < 2000; n++) log.append({ n: n % 100 === 0 ? 1 : 2 })
    const copy = log.copy()
    log.del(log.records[500].seq)
    const index = open(log)
    await index.ready()
    if (isDeletedLater) {
      index.deleted([log.records[600].seq])
      log.del(log.records[600].seq)
    }
    await index.close()
    const again = open(copy)
    await again.ready()
    t.equal(copy.compare(again, where), null)
    await again.close()
  }
})

tape('faults: records that were deleted while no index was open are not counted', async (t) => {
  const where = { path: 'n', equals: 1 }
  const log = new MemoryLog({ codec: jsonCodec })
  for (let n = 0; n < 200; n++) log.append({ n: 1 })
  const index = open(log)
  await index.ready()
  t.ok(index.count(where).sure >= 180)
  await index.close()
  log.del(log.records[50].seq)
  const again = open(log)
  await again.ready()
  t.equal(log.compare(again, where), null)
  await again.close()
})

tape('faults: a record that is deleted while the runs are opened is not counted', async (t) => {
  const where = { path: 'n', equals: 1 }
  const log = new MemoryLog({ codec: jsonCodec })
  for (let n = 0; n < 200; n++) log.append({ n: 1 })
  const index = open(log)
  await index.ready()
  await index.close()
  const runCount = log.disk.list().length
  t.ok(runCount > 0)
  let left = runCount
  const again = open(Object.assign(log, {
    erasedCountAt () {
      const { erasedCount } = log
      if (--left === 0) {
        const [{ seq }] = log.records
        again.deleted([seq])
        log.del(seq)
        again.deleted([seq])
      }
      return erasedCount
    }
  }))
  await again.ready()
  t.equal(left <= 0, true)
  t.equal(log.compare(again, where), null)
  await again.close()
})

tape('faults: a run whose records are dropped, all but chosen ones, while others are opened is not used', async (t) => {
  const where = { path: 'n', equals: 1 }
  const log = new MemoryLog({ codec: jsonCodec })
  for (let n = 0; n < 200; n++) log.append({ n: 1 })
  log.roll()
  for (let n = 0; n < 200; n++) log.append({ n: 1 })
  const index = open(log)
  await index.ready()
  await index.close()
  const [from, to] = log.borders
  let left = log.disk.list().length
  t.ok(left > 1)
  const again = open(Object.assign(log, {
    erasedCountAt () {
      if (--left === 0) {
        log.records = log.records.filter(({ seq }, at) => seq >= to || at % 10 === 0)
        again.dropped({ from, to })
      }
      return 0
    }
  }))
  for (let asked = 0; asked < 3; asked++) {
    await again.ready()
    t.equal(log.compare(again, where), null)
  }
  t.equal(again.status().records, 220)
  await again.close()
})

tape('faults: a record that is deleted when its block is written, just before the process ends, is not counted', async (t) => {
  const where = { path: 'n', equals: 1 }
  const log = new MemoryLog({ codec: jsonCodec })
  for (let n = 0; n < 200; n++) log.append({ n: 1 })
  const [{ seq }] = log.records
  const { findErased } = MemoryLog.prototype
  // The deletion has begun before the block was filled, so the index is told of it once more, when it has ended.
  const index = open(Object.assign(log, {
    erasedCountAt: () => null,
    async findErased (range) {
      if (!log.isErased(seq)) log.del(seq)
      return findErased.call(log, range)
    }
  }))
  await index.ready()
  const copy = log.copy()
  await index.close()
  const again = open(copy)
  await again.ready()
  for (let asked = 0; asked < 3; asked++) {
    t.equal(copy.compare(again, where), null)
    await again.flush()
  }
  await again.close()
})

tape('faults: a block of dropped records that is being written becomes no run', async (t) => {
  const log = new MemoryLog({ codec: jsonCodec })
  for (let n = 0; n < 200; n++) log.append({ n: 1 })
  log.roll()
  for (let n = 0; n < 200; n++) log.append({ n: 1 })
  const [from, to] = log.borders
  let isLeft = true
  log.disk.decide = ({ name }) => {
    if (name !== 'rename' || !isLeft) return
    isLeft = false
    log.records = log.records.filter(({ seq }, at) => seq >= to || at % 10 === 0)
    index.dropped({ from, to })
  }
  const index = open(log)
  await index.ready()
  t.equal(isLeft, false)
  t.equal(log.compare(index, { path: 'n', equals: 1 }), null)
  await index.flush()
  t.equal(index.status().records, 220)
  await index.close()
})

tape('faults: runs whose hashes have another key are not used beside the others', async (t) => {
  const random = createRandom(3)
  for (let round = 0; round < 10; round++) {
    const log = await makeIndexed(random)
    const other = log.copy({ disk: new SimulatedDisk() })
    other.storage = other.disk.storage
    const index = open(other)
    await index.ready()
    await index.close()
    const files = log.disk.list()
    log.disk._names.delete(files[0])
    for (const file of other.disk.list()) log.disk.put(file, other.disk.read(file))
    t.equal(await check(log, random), null)
  }
})

tape('faults: the power is cut at any step of writing and merging', async (t) => {
  const seed = newSeed()
  const random = createRandom(seed)
  for (let round = 0; round < ROUNDS / 4; round++) {
    const log = makeLog(random, 100)
    /** @type {Array<{ disk: SimulatedDisk, end: number, log: MemoryLog }>} */
    const images = []
    log.disk.onChange = () => {
      if (random(6) > 0) return
      const copy = log.copy()
      // No record need be on stable storage, and the log may have gone on before its index is opened again.
      const lostMax = random(2) === 0 ? copy.end : Math.min(copy.end, 100)
      if (random(4) > 0) copy.cut(copy.end - random(lostMax + 1))
      if (random(2) === 0) appendSome(copy, random, random(300))
      images.push(Object.assign(copy, { disk: null, image: log.disk.crash((count) => random(count)) }))
    }
    const index = open(log)
    for (let left = 5; left > 0; left--) {
      appendSome(log, random, 90)
      index.appended()
      await index.ready()
    }
    await index.close()
    log.disk.onChange = null
    for (const after of images) {
      after.disk = after.image
      after.storage = after.image.storage
      const wrong = await check(after, random)
      if (wrong !== null) return t.end(t.fail(`seed ${seed}, round ${round}: ${wrong}`))
    }
  }
  t.pass(`seed ${seed}`)
  t.end()
})

tape('faults: a disk that is full or fails: the index says so, the answers stay right, and it goes on later', async (t) => {
  const random = createRandom(7)
  for (const name of ['open', 'write', 'sync', 'rename', 'syncFolder']) {
    const log = makeLog(random, 900)
    log.disk.decide = (call) => call.name === name ? { code: 'ENOSPC' } : undefined
    const index = open(log)
    const failure = await index.ready().then(() => null, (err) => err)
    t.equal(failure?.code, 'ENOSPC', name)
    t.equal(index.status().failure?.code, 'ENOSPC', 'status tells it')
    t.ok(index.status().tail <= 60 * 9, 'what is in memory is bounded')
    t.equal(compareMany(log, index, random, 20), null, 'right')
    log.disk.decide = () => {}
    await index.ready()
    t.ok(index.status().records > 800, 'and it is written')
    t.equal(compareMany(log, index, random, 20), null, 'right')
    await index.close()
  }
  t.end()
})

tape('faults: ranges of the log that are damaged are always scanned', async (t) => {
  const seed = newSeed()
  const random = createRandom(seed)
  for (let round = 0; round < ROUNDS; round++) {
    const log = makeLog(random)
    const from = random(log.end)
    log.damages = [{ from, to: from + 1 + random(500) }]
    const wrong = await check(log, random) ?? await check(log, random)
    if (wrong !== null) return t.end(t.fail(`seed ${seed}, round ${round}: ${wrong}`))
    const index = open(log)
    await index.ready()
    const parts = [...index.parts({ path: 'type', equals: 'none' })]
    const isScanned = parts.some((part) => 'from' in part && part.from <= Math.min(from, log.end - 1) && part.to > from)
    if (!isScanned) return t.end(t.fail(`seed ${seed}, round ${round}: ${JSON.stringify(parts)} without ${from}`))
    await index.close()
  }
  t.pass(`seed ${seed}`)
  t.end()
})

tape('faults: a follower has the right answers while runs are written, merged and dropped', async (t) => {
  const seed = newSeed()
  const random = createRandom(seed)
  for (let round = 0; round < ROUNDS / 4; round++) {
    const log = makeLog(random)
    const index = open(log)
    // It sees the same records, but is not told anything.
    const follower = Object.create(log, { isReadOnly: { value: true } })
    const following = open(follower)
    let wrong = null
    for (let left = 12; left > 0 && wrong === null; left--) {
      appendSome(log, random, random(150))
      if (random(2) === 0) await index.ready()
      if (random(2) === 0) await following.refresh()
      if (random(3) === 0) await following.ready()
      wrong = compareMany(follower, following, random, 5)
    }
    await index.drop()
    wrong ??= compareMany(follower, following, random, 5)
    await following.refresh()
    wrong ??= compareMany(follower, following, random, 5)
    await following.close()
    if (wrong !== null) return t.end(t.fail(`seed ${seed}, round ${round}: ${wrong}`))
    t.deepEqual(log.disk.list(), [], 'the follower has written nothing')
  }
  t.end()
})

tape('faults: a follower takes the runs of records that it has not seen before, once it sees them', async (t) => {
  const random = createRandom(4)
  const log = makeLog(random, 1000)
  const index = open(log)
  await index.ready()
  const follower = log.copy({ isReadOnly: true })
  follower.cut(log.records[100].seq)
  const following = open(follower)
  await following.ready()
  t.equal(compareMany(follower, following, random, 10), null)
  Object.assign(follower, { records: log.records, _end: log.end, scanned: 0 })
  await following.refresh()
  await following.ready()
  t.equal(compareMany(follower, following, random, 10), null)
  t.ok(follower.scanned < 200, 'it reads only the tail')
  // A compaction of another process.
  log.compact()
  index.compacting()
  await index.compacted()
  await index.ready()
  Object.assign(follower, { records: log.records, epoch: log.epoch, scanned: 0 })
  await following.replaced()
  await following.ready()
  t.equal(compareMany(follower, following, random, 10), null)
  t.ok(follower.scanned < 200, 'again')
  await following.close()
  await index.close()
})

tape('faults: after a compaction no run has a deleted value', async (t) => {
  const log = new MemoryLog({ codec: jsonCodec })
  for (let n = 0; n < 500; n++) log.append({ type: 'a', n: n === 123 ? 987654321 : n })
  const index = open(log)
  await index.ready()
  const secret = Buffer.alloc(8)
  secret.writeDoubleLE(987654321)
  const has = () => log.disk.list().some((file) => log.disk.read(file).includes(secret))
  t.ok(has())
  const [seq] = log.find({ path: 'n', equals: 987654321 })
  log.del(seq)
  index.deleted([seq])
  index.compacting()
  log.compact()
  await index.compacted()
  t.notOk(has(), 'it is gone when the call ends')
  await index.ready()
  t.notOk(has())
  t.equal(index.status().records, 499)
  t.equal(index.count({ path: 'type', equals: 'a' }).sure, 499)
  index.compacting()
  await index.compacted(false)
  t.equal(index.status().records, 499, 'a compaction that changed nothing')
  await index.close()
  t.end()
})

tape('faults: a read that goes on while runs are merged, or the index is closed', async (t) => {
  const random = createRandom(9)
  for (const reverse of [false, true]) {
    const log = makeLog(random, 3000)
    const index = open(log, PATHS, { ...TUNING, fanOut: 4 })
    await index.ready()
    const appends = async () => {
      await appendSome(log, random, 400)
      await index.ready()
    }
    for (const end of [appends, () => index.close()]) {
      const where = { path: 'tags', includes: 'w' }
      const range = { reverse, to: log.end }
      const parts = index.parts(where, range)
      const expected = log.find(where, range)
      const [first] = [parts.next().value]
      await end()
      t.deepEqual(log.findIn([first, ...parts], where, range), expected)
    }
  }
  t.end()
})

/** A log whose last run cannot be opened while `isFailing`, and how many files of the index are open. */
async function makeFailing (code) {
  const log = await makeIndexed(createRandom(3), 700)
  const files = log.disk.list()
  const runs = files.filter((file) => file.endsWith('.run'))
  const state = { log, files, runs, isFailing: true, openCount: 0 }
  const { storage } = log.disk
  log.storage = {
    ...storage,
    open: (file, options, cb) => storage.open(file, options, (err, handle) => {
      if (err) return cb(err)
      state.openCount++
      const close = (done) => { state.openCount--; handle.close(done) }
      if (!state.isFailing || file !== runs.at(-1)) return cb(null, { ...handle, close })
      close(() => cb(Object.assign(new Error(code), { code })))
    })
  }
  return state
}

for (const code of ['EMFILE', 'EIO']) {
  tape(`faults: a run that cannot be opened for a moment (${code}) leaves no other one open, and none is built again`, async (t) => {
    const state = await makeFailing(code)
    const { log, files, runs } = state
    t.ok(runs.length > 2)
    const index = open(log)
    await until(() => index.status().failure !== null)
    t.equal(state.openCount, 0, 'while the failure lasts')
    t.equal(index.status().failure?.code, code)
    state.isFailing = false
    log.scanned = 0
    await index.ready()
    t.equal(index.status().runs, runs.length)
    t.deepEqual(log.disk.list(), files)
    t.equal(compareMany(log, index, createRandom(4), 5), null)
    await index.close()
    t.equal(state.openCount, 0)
  })
}

tape('faults: work that is under way when runs can be opened at last builds none beside them', async (t) => {
  const state = await makeFailing('EMFILE')
  const { log, files, runs } = state
  /** @type {Promise<void> | null} */
  let ready = null
  log.scanRaw = function (...args) {
    state.isFailing = false
    ready ??= index.ready()
    return MemoryLog.prototype.scanRaw.apply(this, args)
  }
  const index = open(log)
  await until(() => ready !== null)
  await ready
  t.equal(index.status().runs, runs.length)
  t.deepEqual(log.disk.list(), files)
  t.equal(compareMany(log, index, createRandom(4), 5), null)
  await index.close()
  t.equal(state.openCount, 0)
})
