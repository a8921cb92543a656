'use strict'
// A process may have few files open. Segments that nobody uses are closed for those that are needed.

const tape = require('tape')
const { fileStorage } = require('@millrace/block-file')
const { jsonCodec } = require('@millrace/json-codec')
const { collect, failureOf, newPath } = require('@millrace/testkit')
const { SegmentedLog } = require('..')

const SEGMENTS = 40

/** A storage that has so many files open at most, and room for some more if it opens a folder. */
function createBounded (max, spare = 0) {
  let [count, limit] = [0, max]
  const fail = (needed = 0) => {
    if (count + needed >= limit) throw Object.assign(new Error('EMFILE: too many open files'), { code: 'EMFILE' })
  }
  const counted = (handle) => {
    count++
    const { close } = handle
    handle.close = (cb) => close.call(handle, (...answer) => {
      count--
      cb(...answer)
    })
    return handle
  }
  const open = (file, options, cb) => {
    try {
      fail()
    } catch (err) {
      return process.nextTick(cb, err)
    }
    fileStorage.open(file, options, (err, handle) => err ? cb(err) : cb(null, counted(handle)))
  }
  const openSync = (...parameters) => {
    fail()
    return counted(fileStorage.openSync(...parameters))
  }
  // These open the folder for a moment.
  const ofFolder = (name) => (folder, cb) => {
    try {
      fail(spare)
    } catch (err) {
      return process.nextTick(cb, err)
    }
    fileStorage[name](folder, cb)
  }
  const syncFolderSync = (folder) => {
    fail(spare)
    fileStorage.syncFolderSync(folder)
  }
  const folders = { syncFolder: ofFolder('syncFolder'), listFolder: ofFolder('listFolder'), syncFolderSync }
  return { ...fileStorage, ...folders, open, openSync, count: () => count, limit: (max) => { limit = max } }
}

async function fill (folder) {
  const log = SegmentedLog(folder, { codec: jsonCodec })
  const seqs = []
  for (let n = 0; n < SEGMENTS; n++) {
    seqs.push(await log.append({ n }))
    await log.roll()
  }
  await log.close()
  return seqs
}

for (const flags of ['r+', 'r']) {
  tape(`open files: with fewer than segments, all of the log can be read, flags ${flags}`, async (t) => {
    const folder = newPath()
    const seqs = await fill(folder)
    const storage = createBounded(12)
    const log = SegmentedLog(folder, { codec: jsonCodec, storage, flags })
    const found = []
    for (const seq of [...seqs, ...seqs]) found.push((await log.get(seq)).n)
    t.deepEqual(found, [...seqs.keys(), ...seqs.keys()], 'get')
    t.equal((await log.getMany(seqs)).length, SEGMENTS, 'getMany')
    const expected = [...seqs.keys()]
    const streams = [log.stream({ seqs: false }), log.stream({ seqs: false, reverse: true })]
    const [forward, backward] = await Promise.all(streams.map((stream) => collect(stream)))
    t.deepEqual([forward.map(({ n }) => n), backward.map(({ n }) => n).reverse()], [expected, expected], 'two streams')
    const all = await Promise.all(seqs.map((seq) => log.get(seq)))
    t.deepEqual(all.map(({ n }) => n), expected, 'all at once')
    await log.close()
    t.equal(storage.count(), 0, 'no file is left open')
  })
}

tape('open files: segments that were read are not in the way of the next one', async (t) => {
  const folder = newPath()
  const seqs = await fill(folder)
  const log = SegmentedLog(folder, { codec: jsonCodec, storage: createBounded(12), segmentSize: 100_000 })
  for (let round = 0; round < 5; round++) {
    for (const seq of seqs) await log.get(seq)
    await log.append({ n: SEGMENTS + round })
    await log.roll()
    for (const seq of seqs) await log.get(seq)
    log.appendSync({ n: SEGMENTS + round, text: 'x'.repeat(200_000) })
  }
  await log.sync()
  t.equal(await log.count(), SEGMENTS + 10)
  await log.close()
})

tape('open files: segments of another log that nobody uses are closed, too', async (t) => {
  const [one, other] = [newPath(), newPath()]
  const seqs = await fill(one)
  const otherSeqs = await fill(other)
  const storage = createBounded(100)
  const log = SegmentedLog(one, { codec: jsonCodec, storage })
  for (const seq of seqs) await log.get(seq)
  storage.limit(storage.count())
  const second = SegmentedLog(other, { codec: jsonCodec, storage })
  const found = []
  for (const seq of otherSeqs) found.push((await second.get(seq)).n)
  t.deepEqual(found, [...seqs.keys()])
  await second.close()
  await log.close()
  t.equal(storage.count(), 0, 'no file is left open')
})

tape('open files: to sync the folder takes one, and a log that cannot be synced takes no more appends', async (t) => {
  const folder = newPath()
  const seqs = await fill(folder)
  const storage = createBounded(20, 15)
  const log = SegmentedLog(folder, { codec: jsonCodec, storage, fsync: 'always' })
  for (let round = 0; round < 5; round++) {
    for (const seq of seqs) await log.get(seq)
    await log.append({ n: SEGMENTS + round })
    await log.roll()
  }
  await log.sync()
  t.equal(await log.count(), SEGMENTS + 5)
  await log.close()
})

tape('open files: if none can be closed, the call says that there are too many', async (t) => {
  const folder = newPath()
  const seqs = await fill(folder)
  let isFailing = false
  const open = (file, options, cb) => {
    if (!isFailing) return fileStorage.open(file, options, cb)
    process.nextTick(cb, Object.assign(new Error('EMFILE: too many open files'), { code: 'EMFILE' }))
  }
  const log = SegmentedLog(folder, { codec: jsonCodec, storage: { ...fileStorage, open } })
  await log.get(seqs[0])
  isFailing = true
  t.equal((await failureOf(() => log.get(seqs[7])))?.code, 'EMFILE')
  isFailing = false
  t.equal((await log.get(seqs[7])).n, 7)
  await log.close()
})
