'use strict'
// Deleting from a checked log: the bytes are gone, nothing else is, and no crash leaves half of it.

const fs = require('node:fs')
const tape = require('tape')
const { SimulatedDisk, collect, createRandom, failureOf, inQuickRuns, isLongRun, newPath } = require('@millrace/testkit')
const { OffsetLog } = require('..')
const { crc, decodeLog } = require('../../framing/test/checked-oracle')

const FILE = '/folder/log'
const HEAD_SIZE = 32768
const PAGE_SIZE = 16384
// Thousands of logs are opened here.
const CACHE_SIZE = 2 ** 17
const seed = Date.now() % 2 ** 31

/** Records that can be told apart in any sixteen of their bytes. */
function makeRecord (name, size) {
  const text = `<${name}>`.padEnd(16, '.')
  return Buffer.alloc(size, text)
}

/** Whether any eight bytes of a record are in a file. */
function isIn (bytes, name) {
  const needle = `<${name}>`.padEnd(16, '.')
  return bytes.includes(needle.slice(0, 8)) || bytes.includes(needle.slice(8) + needle.slice(0, 8))
}

async function appendAll (log, sizes) {
  const records = []
  for (const [index, size] of sizes.entries()) {
    const name = `r${index}`
    const data = makeRecord(name, size)
    records.push({ name, data, seq: await log.append(data), isErased: false })
  }
  return records
}

/** The log has these records, and the erased ones read as deleted. */
async function check (t, log, records, name = 'reading') {
  const there = records.filter(({ isErased }) => !isErased)
  const forward = await collect(log.stream())
  const backward = (await collect(log.stream({ reverse: true }))).map(({ seq }) => seq)
  const isRight = forward.length === there.length &&
    forward.every(({ seq, value }, index) => seq === there[index].seq && value.equals(there[index].data))
  if (!isRight) t.fail(`${name}: found ${forward.map(({ seq }) => seq)} instead of ${there.map(({ seq }) => seq)}`)
  if (backward.reverse().join() !== there.map(({ seq }) => seq).join()) t.fail(`${name}: other records in reverse`)
  for (const { seq, data, isErased } of records) {
    const found = await log.get(seq).catch((err) => err)
    if (isErased ? found.code !== 'flumelog:deleted' : !data.equals(found)) t.fail(`${name}: get(${seq}) gives ${found}`)
  }
}

/** The bytes of the erased are in no file, neither for readers nor on the medium. */
function checkGone (t, disk, records, name = 'after sync') {
  for (const [where, each] of Object.entries({ cache: disk, medium: disk.crash(() => 0) })) {
    for (const file of each.list()) {
      const bytes = each.read(file)
      for (const record of records) {
        if (record.isErased && isIn(bytes, record.name)) t.fail(`${name}: ${record.name} is still in ${file}, ${where}`)
      }
    }
  }
}

const shapes = {
  'one of many in a chunk': { sizes: [50, 60, 70], batch: true, erased: [1] },
  'one in a chunk of its own': { sizes: [50, 60, 70], erased: [1] },
  'the first': { sizes: [50, 60], erased: [0] },
  'the last': { sizes: [50, 60], erased: [1] },
  all: { sizes: [50, 20000, 60], erased: [0, 1, 2] },
  'an empty one': { sizes: [50, 0, 60], erased: [1] },
  'one that is split': { sizes: [10000, 20000, 50], erased: [1] },
  'those around one that is split': { sizes: [10000, 20000, 50], erased: [0, 2] },
  'two that share a page': { sizes: [10000, 20000, 20000, 50], erased: [1, 2] },
  'one of more than fifty pages': { sizes: [100, 52 * PAGE_SIZE, 100], erased: [1] },
  'one that ends with its page': { sizes: [PAGE_SIZE - 44, 100], erased: [0] },
  'one that fills a page that it did not begin': { sizes: [1000, PAGE_SIZE - 1044 - 44 + 2 * (PAGE_SIZE - 40), 100], erased: [1] }
}

for (const [what, { sizes, batch = false, erased }] of Object.entries(shapes)) {
  tape(`del: ${what}`, async (t) => {
    const disk = new SimulatedDisk()
    const log = OffsetLog(FILE, { storage: disk.storage })
    const records = batch ? await appendBatch(log, sizes) : await appendAll(log, sizes)
    const { value: since } = log.since
    await check(t, log, records)
    await log.del(erased.map((index) => records[index].seq))
    for (const index of erased) records[index].isErased = true
    await check(t, log, records, 'after del')
    t.equal(log.since.value, since, 'since does not move')
    await log.sync()
    checkGone(t, disk, records)
    await log.append(makeRecord('after', 100))
    await log.close()
    checkGone(t, disk, records, 'after close')
    const { frames } = decodeLog(disk.read(FILE))
    t.deepEqual(frames.map(({ isErased }) => isErased), [...records.map(({ isErased }) => isErased), false])
    const again = OffsetLog(FILE, { storage: disk.crash(() => 0).storage })
    await again.del(await again.append([]))
    await check(t, again, records, 'reopened')
    const last = records.findLast(({ isErased }) => !isErased)
    await again.close()
    const third = OffsetLog(FILE, { storage: disk.storage, flags: 'r' })
    await third.ready()
    t.equal(third.recovery, null)
    t.ok(third.since.value > (last?.seq ?? -1))
    await third.close()
  })
}

async function appendBatch (log, sizes) {
  const records = sizes.map((size, index) => {
    return { name: `r${index}`, data: makeRecord(`r${index}`, size), seq: -1, isErased: false }
  })
  await log.append(records.map(({ data }) => data))
  let index = 0
  for await (const seq of log.stream({ values: false })) records[index++].seq = seq
  return records
}

tape('del: the next open finds the last record that is left, if there is one', async (t) => {
  for (const count of [0, 1, 2, 3]) {
    for (const isClosed of [true, false]) {
      const disk = new SimulatedDisk()
      const log = OffsetLog(FILE, { storage: disk.storage })
      const records = await appendAll(log, [40, 30000, 40])
      if (count > 0) await log.del(records.slice(3 - count).map(({ seq }) => seq))
      await log.sync()
      if (isClosed) await log.close()
      const again = OffsetLog(FILE, { storage: disk.crash(() => 0).storage })
      await again.ready()
      t.equal(again.since.value, count === 3 ? -1 : records[2 - count].seq, `${count} deleted, closed: ${isClosed}`)
      if (isClosed) t.equal(again.durable.value, again.since.value)
      t.deepEqual(again.recovery?.damage ?? [], [])
      await again.close()
      await log.close()
    }
  }
})

tape('del: twice, in one call or in two, is no error, and counts once', async (t) => {
  const disk = new SimulatedDisk()
  const log = OffsetLog(FILE, { storage: disk.storage })
  const records = await appendAll(log, [40, 40000, 40])
  const [{ seq: first }, { seq: second }] = records
  await log.del([first, second, first])
  await log.del(second)
  await Promise.all([log.del(first), log.del([second, first])])
  records[0].isErased = records[1].isErased = true
  await check(t, log, records)
  await log.close()
  const { slot, chunks } = decodeLog(disk.read(FILE))
  t.equal(slot.erased, 4, 'a record in one chunk, and one in three')
  t.equal(chunks.reduce((sum, chunk) => sum + chunk.erased, 0), 4)
})

tape('del: an unknown seq among many deletes nothing', async (t) => {
  const disk = new SimulatedDisk()
  const log = OffsetLog(FILE, { storage: disk.storage })
  const records = await appendAll(log, [40, 20000, 40])
  const seqs = records.map(({ seq }) => seq)
  await log.sync()
  const before = disk.read(FILE)
  const numbers = [0, 1, HEAD_SIZE, seqs[0] + 1, seqs[1] + PAGE_SIZE, seqs[2] + 44, 2 ** 40, -1, 1.5, NaN, Infinity]
  for (const wrong of numbers) {
    for (const call of [[...seqs, wrong], [wrong, ...seqs], [seqs[0], wrong, seqs[1]]]) {
      t.equal((await failureOf(() => log.del(call)))?.code, 'ERR_RECORD_NOT_FOUND', `${wrong}`)
    }
  }
  for (const wrong of ['1', null, undefined, {}]) {
    t.equal((await failureOf(() => log.del([seqs[0], wrong])))?.code, 'ERR_INVALID_ARGUMENT')
  }
  t.ok(disk.read(FILE).subarray(HEAD_SIZE).equals(before.subarray(HEAD_SIZE)))
  await check(t, log, records)
  await log.del([])
  await check(t, log, records)
  await log.close()
})

tape('del: a wrong one beside good ones, in calls at once, fails alone', async (t) => {
  const disk = new SimulatedDisk()
  const log = OffsetLog(FILE, { storage: disk.storage })
  const records = await appendAll(log, [40, 40, 40, 40])
  const calls = [records[0].seq, 7, [records[1].seq, 8], records[2].seq]
  const results = await Promise.allSettled(calls.map((seqs) => log.del(seqs)))
  t.deepEqual(results.map(({ status }) => status), ['fulfilled', 'rejected', 'rejected', 'fulfilled'])
  records[0].isErased = records[2].isErased = true
  await check(t, log, records)
  await log.close()
})

tape('del: thousands in one call, in any order', async (t) => {
  const random = createRandom(seed)
  const file = newPath('log')
  const log = OffsetLog(file)
  const records = await appendBatch(log, Array.from({ length: 9000 }, (_, index) => 16 + index % 50))
  const chosen = records.filter((_, index) => index % 3 > 0)
  for (let index = chosen.length - 1; index > 0; index--) {
    const other = random(index + 1)
    ;[chosen[index], chosen[other]] = [chosen[other], chosen[index]]
  }
  await log.del(chosen.map(({ seq }) => seq))
  for (const record of chosen) record.isErased = true
  await check(t, log, records)
  await log.close()
  const bytes = fs.readFileSync(file)
  for (const { name } of chosen.slice(0, 300)) if (isIn(bytes, name)) t.fail(`${name} is still there`)
  t.equal(decodeLog(bytes).slot.erased, 6000)
  const again = OffsetLog(file)
  await check(t, again, records, 'reopened')
  t.equal(again.recovery, null)
  await again.close()
})

tape('del: thousands, of which a failure lets only some go: the rest is there, and can be deleted later', async (t) => {
  for (const failAt of [1, 2, 3]) {
    let syncCount = 0
    let isBroken = false
    const decide = ({ name }) => isBroken && name === 'sync' && ++syncCount === failAt ? { code: 'EIO' } : {}
    const disk = new SimulatedDisk({ decide })
    const log = OffsetLog(FILE, { storage: disk.storage, fsync: 'never' })
    const records = await appendBatch(log, Array(3000).fill(20))
    const seqs = records.map(({ seq }) => seq)
    isBroken = true
    t.equal((await failureOf(() => log.del(seqs)))?.code, 'ERR_LOG_POISONED')
    await failureOf(() => log.close())
    const again = OffsetLog(FILE, { storage: disk.storage })
    const left = await collect(again.stream({ values: false }))
    t.ok(left.length > 0 && (failAt === 1 || left.length < 3000), `${left.length} are left`)
    t.deepEqual(left, seqs.slice(3000 - left.length), 'those at the end')
    await again.del(seqs)
    for (const record of records) record.isErased = true
    await check(t, again, records)
    await again.close()
    checkGone(t, disk, records.slice(0, 100))
  }
})

tape('del, always: once it has called back the record stays gone', async (t) => {
  const disk = new SimulatedDisk()
  const log = OffsetLog(FILE, { storage: disk.storage, fsync: 'always' })
  const records = await appendAll(log, [100, 40000, 100])
  for (const index of [1, 2, 0]) {
    await log.del(records[index].seq)
    records[index].isErased = true
    checkGone(t, disk, records, `record ${index}`)
    const again = OffsetLog(FILE, { storage: disk.crash(() => 0).storage })
    await check(t, again, records, `record ${index}`)
    await again.close()
  }
  await log.close()
})

tape(`del: beside appends, reads and live streams (seed ${seed})`, async (t) => {
  const random = createRandom(seed)
  const disk = new SimulatedDisk()
  const log = OffsetLog(FILE, { storage: disk.storage })
  const records = await appendAll(log, [100, 17000, 300, 40000, 20])
  const running = []
  for (let step = 0; step < 150; step++) {
    const choice = random(5)
    if (choice < 2) {
      const name = `r${records.length}`
      const record = { name, data: makeRecord(name, random(3) ? random(500) : random(20000)), seq: -1, isErased: false }
      record.seq = await log.append(record.data)
      records.push(record)
    } else if (choice < 4) {
      const record = records[random(records.length)]
      const { isGone } = record
      record.isErased = true
      running.push(log.del(record.seq).then(() => { record.isGone = true }))
      running.push(log.get(record.seq).then((data) => {
        if (isGone || !record.data.equals(data)) t.fail(`get(${record.seq}) gives other bytes, deleted: ${isGone}`)
      }, (err) => {
        if (err.code !== 'flumelog:deleted') t.fail(err.stack)
      }))
    } else {
      const known = new Map(records.map((record) => [record.seq, record]))
      running.push((async () => {
        for await (const { seq, value } of log.stream({ reverse: random(2) === 0 })) {
          if (known.has(seq) && !known.get(seq).data.equals(value)) t.fail(`a stream gives other bytes at ${seq}`)
        }
      })())
    }
  }
  await Promise.all(running)
  await check(t, log, records)
  await log.close()
  checkGone(t, disk, records)
  decodeLog(disk.read(FILE))
})

/** Deletions of several kinds, each with what is on the disk just before every change of it. */
const plans = {
  'one record': { sizes: [50, 60, 70], dels: [[1]] },
  'a record over pages': { sizes: [5000, 50000, 70], dels: [[1]] },
  'records that share chunks, one after the other': { sizes: [50, 20000, 60, 70], batch: true, dels: [[2], [1], [0, 3]] },
  // Of so many records only some are looked at.
  'many, in two journals': { sizes: Array(1100).fill(17), batch: true, dels: [[...Array(1100).keys()]], stride: 17 }
}

for (const [what, plan] of Object.entries(plans)) {
  tape(`crash: between any two calls of a deletion, and of its recovery: ${what} (seed ${seed})`, async (t) => {
    const random = createRandom(seed)
    const states = await recordDeletion(plan)
    let count = 0
    for (const { disk, records, isDone } of states) {
      const crashes = Array.from({ length: inQuickRuns(3) }, () => disk.crash(random))
      const images = [disk, disk.crash(() => 0), disk.crash((n) => n - 1), ...crashes]
      for (const image of images) {
        const deeper = await checkAfterCrash(t, image, records, isDone, random)
        count++
        for (const each of deeper) {
          await checkAfterCrash(t, each, records, isDone, random)
          count++
        }
      }
    }
    t.pass(`${count} images of ${states.length} states`)
  })
}

/** @returns {Promise<Array<{ disk: SimulatedDisk, records: object[], isDone: boolean }>>} */
async function recordDeletion ({ sizes, batch = false, dels, stride = 1 }) {
  const states = []
  let records = []
  let isRecording = false
  const note = (isDone) => {
    const some = records.filter((record, index) => index % stride === 0)
    states.push({ disk: disk.clone(), records: some.map((record) => ({ ...record })), isDone })
  }
  const disk = new SimulatedDisk({ onChange: () => { if (isRecording) note(false) } })
  const log = OffsetLog(FILE, { storage: disk.storage, fsync: 'never' })
  records = batch ? await appendBatch(log, sizes) : await appendAll(log, sizes)
  for (const indexes of dels) {
    isRecording = true
    for (const index of indexes) records[index].isDoubtful = true
    await log.del(indexes.map((index) => records[index].seq))
    for (const index of indexes) records[index].isErased = true
    await log.sync()
    for (const index of indexes) records[index].isDoubtful = false
    note(true)
  }
  await log.close()
  isRecording = false
  return states
}

/** @returns {Promise<SimulatedDisk[]>}  what crashes of the recovery may leave */
async function checkAfterCrash (t, disk, records, isDone, random) {
  const reader = OffsetLog(FILE, { storage: disk.storage, flags: 'r', cache: CACHE_SIZE })
  const before = disk.read(FILE)
  const read = await describe(reader, records)
  const hasCopy = Boolean(reader.recovery?.unrestored)
  await reader.close()
  if (!disk.read(FILE).equals(before)) t.fail('a reader has written')
  const deeper = []
  const share = isLongRun ? 4 : 16
  const image = disk.clone({ onChange: () => { if (random(share) === 0) deeper.push(image.crash(random)) } })
  const log = OffsetLog(FILE, { storage: image.storage, cache: CACHE_SIZE })
  const found = await describe(log, records)
  image.onChange = null
  // A reader does without what only the copy of the log's end has, and says so.
  if (read.join() !== (hasCopy ? found.slice(0, read.length) : found).join()) t.fail(`a reader finds ${read}, a writer ${found}`)
  const { length } = found
  records.slice(0, length).forEach(({ isErased, isDoubtful, seq }, index) => {
    if (isDoubtful ? !['there', 'deleted'].includes(found[index]) : found[index] !== (isErased ? 'deleted' : 'there')) {
      t.fail(`the record at ${seq} is ${found[index]}, doubtful: ${isDoubtful}, erased: ${isErased}`)
    }
  })
  if (isDone && length < records.length) t.fail(`${records.length - length} records are missing`)
  if (log.recovery?.damage.length > 0) t.fail(`called damaged: ${JSON.stringify(log.recovery)}`)
  await log.append(makeRecord('after', 40))
  await log.close()
  const gone = records.slice(0, length).map((record, index) => ({ ...record, isErased: found[index] === 'deleted' }))
  checkGone(t, image, gone, 'after recovery')
  decodeLog(image.read(FILE))
  return deeper
}

/** @returns {Promise<string[]>}  of each record, what has become of it; those that a crash took back are left out */
async function describe (log, records) {
  const streamed = new Map()
  for await (const { seq, value } of log.stream()) streamed.set(seq, value)
  const found = []
  for (const { seq, data } of records) {
    const value = await log.get(seq).catch((err) => err)
    if (value.code === 'ERR_RECORD_NOT_FOUND') break
    const isThere = Buffer.isBuffer(value) && value.equals(data) && Boolean(streamed.get(seq)?.equals(data))
    const isDeleted = value.code === 'flumelog:deleted' && !streamed.has(seq)
    found.push(isThere ? 'there' : isDeleted ? 'deleted' : `neither there nor deleted: ${value}`)
  }
  return found
}

tape('journal: one that is made from docs/internals/format.md alone is carried out', async (t) => {
  for (const flags of ['r', 'r+']) {
    for (const isTorn of [false, true]) {
      const { disk, records } = await makeJournaled(isTorn)
      const log = OffsetLog(FILE, { storage: disk.storage, flags })
      records[0].isErased = !isTorn
      await check(t, log, records, `flags ${flags}, torn: ${isTorn}`)
      t.deepEqual(log.recovery?.flaws.map(({ offset }) => offset), isTorn ? [24576] : undefined)
      await log.close()
      if (flags === 'r') continue
      checkGone(t, disk, records)
      t.equal(decodeLog(disk.read(FILE)).slot.erased, isTorn ? 0 : 1)
    }
  }
})

/** A closed log of two records in one chunk, with a journal that says that the first is to be erased. */
async function makeJournaled (isTorn) {
  const disk = new SimulatedDisk()
  const log = OffsetLog(FILE, { storage: disk.storage })
  const records = await appendBatch(log, [100, 50])
  await log.close()
  const bytes = disk.read(FILE)
  const salt = bytes.readUInt32BE(12)
  const before = bytes.subarray(HEAD_SIZE)
  const after = Buffer.from(before)
  after.fill(0, 44, 144)
  after[40] |= 0x80
  const header = after.subarray(0, 40)
  header.writeUInt32BE(crc(after.subarray(40)), 4)
  header[11] |= 2
  header.writeUInt16BE(1, 30)
  header.writeUInt32BE(before.readUInt32BE(0), 36)
  header.writeUInt32BE(crc(header.subarray(4), salt), 0)
  const journal = Buffer.alloc(8192)
  journal.writeUIntBE(1, 4, 6)
  journal.writeUIntBE(1 + 1, 10, 6)
  journal.writeUInt16BE(1, 16)
  journal.writeUIntBE(HEAD_SIZE, 20, 6)
  header.copy(journal, 26)
  journal.writeUInt16BE(1, 66)
  journal.writeUInt16BE(0, 68)
  journal.writeUInt16BE(100, 70)
  journal.writeUInt32BE(0x80000000 + 100, 72)
  journal.writeUInt32BE(crc(journal.subarray(4), salt), 0)
  if (isTorn) journal[73] ^= 1
  journal.copy(bytes, 24576)
  disk.put(FILE, bytes)
  return { disk, records }
}

tape('erase: deletions behind one whose sync failed write no journal, which would damage the chunk at the next open', async (t) => {
  const disk = new SimulatedDisk()
  const log = OffsetLog(FILE, { storage: disk.storage, framing: 'checked', fsync: 'never' })
  const records = await appendAll(log, [100, 100, 100])
  await log.sync()
  disk.decide = ({ name }) => name === 'sync' ? { losesPages: true } : {}
  const deletions = records.map(({ seq }) => failureOf(() => log.del(seq)))
  for (const failure of await Promise.all(deletions)) t.equal(failure?.code, 'ERR_LOG_POISONED')
  disk.decide = () => ({})
  await log.close().catch(() => {})
  const again = OffsetLog(FILE, { storage: disk.storage })
  await again.ready()
  t.deepEqual(again.recovery?.damage ?? [], [])
  // The journal of the first one was written.
  records[0].isErased = true
  await check(t, again, records)
  await again.close()
})
