'use strict'
// repair: every good record comes back with its seq and its bytes, no other ever does, and the damaged log stays as it
// is. MILLRACE_DAMAGE=all flips every byte of every log, and tries hundreds of each other injury, for hours;
// MILLRACE_DAMAGE=2/4 the second quarter of that. `node packages/repair/test/salvage 1 2000` runs as many seeds.

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const testkit = require('@millrace/testkit')
const { OffsetLog } = require('@millrace/offset-log')
const { repair, verify } = require('..')
const { decodeLog } = require('../../framing/test/checked-oracle')
const { checkSalvage } = require('./salvage/check-salvage')
const { forge } = require('./salvage/forge')
const { makeImages } = require('./salvage/images')
const { makeOffsetImages } = require('./salvage/offset-images')
const { makeTakenBack } = require('../../offset-log/test/taken-back')

const { SimulatedDisk, createRandom, failureOf, isLongRun, temporaryFolder } = testkit
const FILE = '/folder/log'
const OUT = '/folder/out'
const HEAD_SIZE = 32768
const PAGE_SIZE = 16384
const seed = Date.now() % 2 ** 31

tape(`repair: every good record, and no other, whatever is damaged (seed ${seed})`, async (t) => {
  const { MILLRACE_DAMAGE: scope = '' } = process.env
  const [index, count] = scope.includes('/') ? scope.split('/').map(Number) : [1, 1]
  const images = [...await makeImages(), ...await makeOffsetImages()]
  const onProgress = ({ cases, faults }) => t.comment(`${cases} cases, ${faults.length} faults`)
  const share = { index: index - 1, count }
  const rounds = scope === '' ? [{ samples: isLongRun ? 0.4 : 0.15 }] : [{ samples: 200 }, { everyByte: true }]
  for (const round of rounds) {
    const { faults, ...counts } = await checkSalvage({ images, seed, share, onProgress, ...round })
    t.comment(JSON.stringify(counts))
    for (const fault of faults.slice(0, 20)) t.fail(fault)
    t.equal(faults.length, 0)
  }
})

tape(`repair: what somebody forged, with checksums that are right, ends well or with a code (seed ${seed})`, async (t) => {
  const random = createRandom(seed)
  const images = (await makeImages()).filter(({ model }) => model.chunks.length > 0)
  const count = process.env.MILLRACE_DAMAGE ? 20000 : 150
  let done = 0
  let refused = 0
  const work = async () => {
    while (done++ < count) {
      const image = images[random(images.length)]
      const disk = new SimulatedDisk({ defer: queueMicrotask })
      disk.put(FILE, forge(image, random))
      const err = await failureOf(() => repair(FILE, OUT, { storage: disk.storage, write: true }))
      if (err && err.code !== 'ERR_LOG_CORRUPT') t.fail(`${image.name}: ${err.stack}`)
      // Lies that fit together so well that no log can be made of them: nothing is kept of what was written then.
      if (err && disk.list().join() !== FILE) t.fail(`${image.name}: ${disk.list()} after ${err.message}`)
      if (err) refused++
      if (!err && !(await verify(OUT, { storage: disk.storage })).isSound) t.fail(`${image.name}: the new log is not sound`)
    }
  }
  await Promise.all(Array.from({ length: 40 }, work))
  t.ok(refused < count / 4, `${refused} of ${count} forgeries are refused`)
})

/** A closed log of records of these sizes, each appended on its own, in memory. */
async function makeLog (sizes, options = {}) {
  const disk = new SimulatedDisk({ defer: queueMicrotask })
  const random = createRandom(sizes.length)
  const log = OffsetLog(FILE, { storage: disk.storage, fsync: 'never', ...options })
  const records = []
  for (const size of sizes) {
    const data = Buffer.from(Array.from({ length: size }, () => 1 + random(255)))
    records.push({ seq: await log.append(data), data })
  }
  await log.close()
  return { disk, storage: disk.storage, records, bytes: disk.read(FILE) }
}

/** @param {SimulatedDisk} disk  @param {(bytes: Buffer) => void} change  in place */
function hurt (disk, change) {
  const bytes = disk.read(FILE)
  disk.put(FILE, change(bytes) ?? bytes)
}

async function readAll (storage, file = OUT) {
  const log = OffsetLog(file, { storage, flags: 'r' })
  const records = new Map()
  for await (const { seq, value } of log.stream()) records.set(seq, value)
  await log.close()
  return records
}

tape('repair: a dry run, the default, writes nothing', async (t) => {
  const { disk, storage, records } = await makeLog([100, 200, 300])
  hurt(disk, (bytes) => { bytes[records[1].seq + 10] ^= 1 })
  const before = disk.read(FILE)
  const changes = disk.changeCount
  const dry = await repair(FILE, OUT, { storage })
  t.equal(disk.changeCount, changes)
  t.deepEqual(disk.list(), [FILE])
  const wet = await repair(FILE, OUT, { storage, write: true })
  t.deepEqual({ ...wet, isDryRun: true }, dry, 'it says beforehand what it will do')
  t.equal(dry.recovered, 2)
  t.deepEqual(dry.lost.map(({ offset, size, isPromised }) => ({ offset, size, isPromised })),
    [{ offset: records[1].seq - 40, size: 244, isPromised: true }])
  t.ok(dry.lost[0].seqs.from <= records[1].seq && records[1].seq < dry.lost[0].seqs.to)
  t.deepEqual(JSON.parse(JSON.stringify(wet)), wet, 'the report is plain')
  t.deepEqual(disk.list(), [FILE, OUT])
  t.ok(disk.read(FILE).equals(before))
  t.deepEqual([...await readAll(storage)], [[records[0].seq, records[0].data], [records[2].seq, records[2].data]])
})

tape('repair: it opens the damaged log for reading only', async (t) => {
  const { disk, records } = await makeLog([100, 50000, 300])
  hurt(disk, (bytes) => bytes.fill(0, records[1].seq, records[1].seq + 20000))
  const opened = []
  const open = (file, options, cb) => {
    opened.push([file, options.flags])
    disk.storage.open(file, options, cb)
  }
  const storage = { ...disk.storage, open }
  await repair(FILE, OUT, { storage, write: true })
  t.ok(opened.some(([file]) => file === FILE))
  t.deepEqual(opened.filter(([file, flags]) => file === FILE && flags !== 'r'), [])
})

tape('repair: what is there is never written over', async (t) => {
  const { disk, storage } = await makeLog([100])
  const before = disk.read(FILE)
  for (const name of [OUT, `${OUT}.new`]) {
    disk.put(name, Buffer.from('mine'))
    const err = await failureOf(() => repair(FILE, OUT, { storage, write: true }))
    t.equal(err?.code, 'EEXIST')
    t.equal(err?.path, name)
    t.equal(disk.read(name).toString(), 'mine')
    await new Promise((resolve) => storage.unlink(name, resolve))
  }
  disk.put('/folder/log.new', before)
  const err = await failureOf(() => repair('/folder/log.new', FILE, { storage, write: true }))
  t.equal(err?.code, 'EEXIST', 'nor the log itself, by the name that the new one has first')
  const aside = await failureOf(() => repair('/folder/log.new', '/folder/log', { storage, write: true }))
  t.equal(aside?.code, 'EEXIST')
  t.ok(disk.read('/folder/log.new').equals(before))
  const folder = temporaryFolder()
  fs.writeFileSync(path.join(folder, 'log'), before)
  t.equal((await failureOf(() => repair(path.join(folder, 'log'), folder, { write: true })))?.code, 'EEXIST', 'a folder')
  t.deepEqual(fs.readdirSync(folder), ['log'])
})

tape('repair: a source under the name that is written first is not touched', async (t) => {
  const { disk, storage } = await makeLog([100])
  disk.put(`${OUT}.new`, disk.read(FILE))
  const before = disk.read(FILE)
  t.equal((await failureOf(() => repair(`${OUT}.new`, OUT, { storage, write: true })))?.code, 'EEXIST')
  t.ok(disk.read(`${OUT}.new`).equals(before))
})

tape('repair: misuse comes through the callback, and so does the report', (t) => {
  const options = [{ wriet: true }, { write: 1 }, null, { rangesMax: -1 }]
  const calls = [['', OUT], [FILE, ''], ...options.map((options) => [FILE, OUT, options])]
  t.plan(calls.length + 3)
  for (const args of calls) repair(...args, (err) => t.equal(err?.code, 'ERR_INVALID_ARGUMENT'))
  repair('/nowhere/at/all', OUT, (err) => t.equal(err?.code, 'ENOENT'))
  makeLog([10]).then(({ storage }) => {
    repair(FILE, OUT, { storage }, (err, report) => {
      t.error(err)
      t.equal(report.isDryRun, true)
    })
  })
})

tape('repair: one flipped bit of a header is found by its checksum, and two cost the chunk', async (t) => {
  const { bytes, records } = await makeLog([100, 9000, 100, 5000, 50000, 100, 3000, 200, 14000, 100])
  const chunks = []
  for (let at = HEAD_SIZE; at < bytes.length;) {
    const room = PAGE_SIZE - at % PAGE_SIZE
    if (room >= 44) chunks.push(at)
    at += room < 44 ? room : 40 + bytes.readUInt16BE(at + 8)
  }
  const recover = async (at, offsets) => {
    const disk = new SimulatedDisk({ defer: queueMicrotask })
    const hurt = Buffer.from(bytes)
    for (const offset of offsets) hurt[at + offset] ^= 1 << offset % 8
    disk.put(FILE, hurt)
    const report = await repair(FILE, OUT, { storage: disk.storage, write: true })
    decodeLog(disk.read(OUT))
    return report
  }
  for (const at of chunks) {
    // One byte of each field, first and last ones.
    for (const offset of [0, 7, 8, 11, 12, 21, 22, 29, 31, 32, 39]) {
      const { recovered } = await recover(at, [offset])
      if (recovered !== records.length) t.fail(`byte ${offset} of the header at ${at}: ${recovered}`)
    }
    const { recovered, lostCount } = await recover(at, [5, 17])
    if (recovered >= records.length || lostCount !== 1) t.fail(`two bits of the header at ${at}: ${recovered}, ${lostCount} lost`)
  }
  t.pass(`${chunks.length} headers`)
})

tape('repair: a chunk that has but the last two bytes of a record can be lost, and what is behind it stays', async (t) => {
  const first = PAGE_SIZE - 40 - 4
  const { disk, storage, records } = await makeLog([first + 2, 100])
  const page = HEAD_SIZE + PAGE_SIZE
  t.equal(records[1].seq, page + 42 + 40 + 4 - 4, 'the next chunk begins 42 bytes behind the page')
  hurt(disk, (bytes) => { bytes[page + 41] ^= 1 })
  const report = await repair(FILE, OUT, { storage, write: true })
  t.equal(report.recovered, 1)
  t.deepEqual([...(await readAll(storage)).keys()], [records[1].seq])
  decodeLog(disk.read(OUT))
})

tape('repair: seqs of records that were cut off the end of a closed log are not used again', async (t) => {
  for (const keptSize of [HEAD_SIZE + 2 * PAGE_SIZE, HEAD_SIZE + PAGE_SIZE + 77, HEAD_SIZE]) {
    const { disk, storage, records } = await makeLog(Array(12).fill(5000))
    disk.put(FILE, disk.read(FILE).subarray(0, keptSize))
    const report = await repair(FILE, OUT, { storage, write: true })
    t.ok(report.recovered < records.length, `${report.recovered} of ${records.length}`)
    const log = OffsetLog(OUT, { storage })
    const seq = await log.append(Buffer.from('new'))
    t.ok(seq > records.at(-1).seq, `${seq} > ${records.at(-1).seq}`)
    await log.close()
    disk.storage.unlink(OUT, () => {})
  }
})

tape('repair: a deletion that was cut off is finished', async (t) => {
  const disk = new SimulatedDisk({ defer: queueMicrotask })
  const log = OffsetLog(FILE, { storage: disk.storage, fsync: 'never' })
  const seqs = []
  for (const size of [100, 60000, 100, 20000]) seqs.push(await log.append(Buffer.alloc(size, seqs.length + 1)))
  await log.sync()
  const moments = []
  disk.onChange = () => moments.push(disk.clone())
  await log.del([seqs[1], seqs[2]])
  disk.onChange = null
  await log.close()
  const outcomes = new Set()
  for (const [index, moment] of moments.entries()) {
    const crashes = [() => 0, (count) => count - 1, (count) => (index * 7) % count].map((pick) => moment.crash(pick))
    for (const state of [moment, ...crashes]) {
      const before = state.read(FILE)
      const report = await repair(FILE, OUT, { storage: state.storage, write: true })
      if (report.damageCount > 0 || !report.isSound) t.fail(`moment ${index}: ${JSON.stringify(report)}`)
      const found = [...(await readAll(state.storage)).keys()]
      outcomes.add(found.join())
      if (found[0] !== seqs[0] || found.at(-1) !== seqs[3]) t.fail(`moment ${index}: ${found}`)
      decodeLog(state.read(OUT))
      if (!state.read(FILE).equals(before)) t.fail('the source was changed')
    }
  }
  t.ok(outcomes.has(seqs.join()) && outcomes.has([seqs[0], seqs[3]].join()), `${moments.length} moments`)
})

tape('repair: what a disk brings back of a write that was taken back is no record', async (t) => {
  const lost = [Buffer.alloc(20000, 'A'), Buffer.alloc(50000, 'C')]
  const records = [Buffer.alloc(20000, 'B'), Buffer.alloc(50000, 'D'), Buffer.from('last')]
  const { disk, taken, seqs: [, , last] } = await makeTakenBack(FILE, lost, records)
  const whole = disk.read(FILE)
  for (let page = HEAD_SIZE; page < whole.length; page += PAGE_SIZE) {
    const bytes = Buffer.from(whole)
    taken.copy(bytes, page, page, Math.min(bytes.length, page + PAGE_SIZE))
    disk.put(FILE, bytes)
    const out = `${OUT}-${page}`
    const report = await repair(FILE, out, { storage: disk.storage, write: true })
    if (!bytes.equals(whole)) t.equal(report.isSound, false, `page ${page}`)
    for (const [seq, data] of await readAll(disk.storage, out)) {
      const is = String.fromCharCode(data[0])
      t.ok(is === 'B' || is === 'D' || seq === last, `page ${page}: the record at ${seq} is ${is}`)
    }
  }
})

tape('repair: a chunk of a write that was taken back is listed if what would date it is damaged', async (t) => {
  const lost = [Buffer.alloc(400, 'A'), Buffer.alloc(20000, 'C')]
  const records = [Buffer.alloc(600, 'B'), Buffer.alloc(500, 'D')]
  const { disk, taken, seqs: [, last] } = await makeTakenBack(FILE, lost, records)
  const { storage } = disk
  t.deepEqual((await verify(FILE, { storage })).unanchored, [])
  // Of the new first chunk only its end is left, in front of the next one: the old one lies over it, and verifies.
  const end = HEAD_SIZE + 40 + 4 + 400
  hurt(disk, (bytes) => { taken.copy(bytes, HEAD_SIZE, HEAD_SIZE, end) })
  const range = { offset: HEAD_SIZE, size: end - HEAD_SIZE, seqs: { from: HEAD_SIZE + 40, to: end } }
  const { isSound, unanchored, unanchoredCount, damage } = await verify(FILE, { storage })
  t.deepEqual({ isSound, unanchored, unanchoredCount }, { isSound: false, unanchored: [range], unanchoredCount: 1 })
  t.deepEqual(damage.map(({ offset, size }) => [offset, size]), [[end, 200]])
  t.deepEqual((await verify(FILE, { storage, rangesMax: 0 })).unanchoredCount, 1)
  const report = await repair(FILE, OUT, { storage, write: true })
  t.deepEqual(report.unanchored, [range])
  t.deepEqual([...(await readAll(storage)).keys()], [HEAD_SIZE + 40, last], 'it is kept')
  t.deepEqual((await verify(OUT, { storage })).unanchored, [])
})

tape('repair: chunks whose records were durable, or whose epoch goes on, are not called unanchored', async (t) => {
  const { disk, storage, records } = await makeLog([100, 200, 300, 400])
  hurt(disk, (bytes) => { bytes[records[1].seq + 10] ^= 1 })
  t.deepEqual((await verify(FILE, { storage })).unanchored, [], 'there is no other epoch')
  const torn = new SimulatedDisk({ defer: queueMicrotask })
  torn.put(FILE, Buffer.concat([disk.read(FILE), Buffer.from('torn')]))
  hurt(torn, (bytes) => { bytes[records[1].seq + 10] ^= 1 })
  const log = OffsetLog(FILE, { storage: torn.storage, fsync: 'never' })
  const first = await log.append(Buffer.alloc(100, 'x'))
  await log.append(Buffer.alloc(100, 'y'))
  await log.close()
  hurt(torn, (bytes) => { bytes[torn.read(FILE).indexOf('xxx') + 10] ^= 1 })
  t.ok(first > records[3].seq)
  const { damageCount, unanchored } = await verify(FILE, { storage: torn.storage })
  t.deepEqual({ damageCount, unanchored }, { damageCount: 1, unanchored: [] }, 'all before it was durable')
})

tape('repair: chunks of the last commit that no later one follows are not its records', async (t) => {
  // Two logs go on from the same beginning; the second one's page is put beside what follows the first one's.
  const disk = new SimulatedDisk()
  const log = OffsetLog(FILE, { storage: disk.storage, fsync: 'never' })
  await log.append(Buffer.alloc(5000, 'a'))
  await log.sync()
  const start = disk.clone()
  await log.append(Buffer.alloc(500, 'X'))
  const taken = disk.read(FILE)
  await log.close()
  const torn = start.clone()
  torn.put(FILE, Buffer.concat([start.read(FILE), Buffer.from('torn')]))
  const second = OffsetLog(FILE, { storage: torn.storage, fsync: 'never' })
  await second.append(Buffer.alloc(500, 'b'))
  const kept = await second.append(Buffer.alloc(700, 'c'))
  await second.close()
  const bytes = torn.read(FILE)
  taken.copy(bytes, start.read(FILE).length, start.read(FILE).length)
  torn.put(FILE, bytes)
  const report = await repair(FILE, OUT, { storage: torn.storage, write: true })
  t.equal(report.lostCount, 1)
  const values = [...(await readAll(torn.storage)).values()].map((data) => `${data.length}${String.fromCharCode(data[0])}`)
  t.deepEqual(values, ['5000a', '700c'])
  t.ok((await readAll(torn.storage)).has(kept))
})

tape('repair: pages from before a deletion are told by the count of deletions', async (t) => {
  const disk = new SimulatedDisk()
  const log = OffsetLog(FILE, { storage: disk.storage })
  const seqs = []
  for (const size of [100, 30000, 100]) seqs.push(await log.append(Buffer.alloc(size, 7)))
  await log.sync()
  const before = disk.read(FILE)
  await log.del(seqs[0])
  await log.close()
  const bytes = disk.read(FILE)
  before.copy(bytes, HEAD_SIZE, HEAD_SIZE, HEAD_SIZE + PAGE_SIZE)
  disk.put(FILE, bytes)
  const report = await repair(FILE, OUT, { storage: disk.storage, write: true })
  t.equal(report.undeleted, 1)
  t.equal(report.isSound, false)
  t.equal((await verify(OUT, { storage: disk.storage })).isSound, true, 'the new one counts what is in it')
})

tape('repair: both copies of the header are lost, and the salt is found in the chunks', async (t) => {
  for (const sizes of [[100], [100, 200], Array(100).fill(700), [90000]]) {
    for (const size of [8, 64, 4096]) {
      const { disk, storage, records } = await makeLog(sizes)
      hurt(disk, (bytes) => { bytes.fill(0, 0, size).fill(0, 8192, 8192 + size) })
      const report = await repair(FILE, OUT, { storage, write: true })
      t.equal(report.recovered, sizes.length, `${sizes.length} records, ${size} bytes`)
      t.equal(report.isSound, false)
      t.deepEqual(report.flaws.map(({ offset }) => offset), [0, 8192])
      t.deepEqual([...(await readAll(storage)).keys()], records.map(({ seq }) => seq))
      const log = OffsetLog(FILE, { storage, flags: 'r' })
      t.ok(['ERR_LOG_CORRUPT', 'ERR_LOG_UNKNOWN_FORMAT'].includes((await failureOf(() => log.ready()))?.code))
      await log.close()
    }
  }
})

tape('repair: the first page is lost too, and the header', async (t) => {
  const { disk, storage, records } = await makeLog(Array(100).fill(700))
  hurt(disk, (bytes) => bytes.fill(0, 0, HEAD_SIZE + PAGE_SIZE))
  const report = await repair(FILE, OUT, { storage, write: true })
  t.equal(report.framing, 'checked')
  t.ok(report.recovered > 50)
  for (const [seq, data] of await readAll(storage)) {
    t.ok(records.some((record) => record.seq === seq && record.data.equals(data)))
  }
})

tape('repair: an offset log whose first frame is damaged', async (t) => {
  for (const framing of ['offset32', 'offset48', 'offset53']) {
    const { disk, storage, records, bytes } = await makeLog([100, 200, 300], { framing })
    hurt(disk, (bytes) => bytes.fill(0xee, 0, 4))
    const report = await repair(FILE, OUT, { storage, write: true })
    t.equal(report.framing, framing)
    t.deepEqual([...(await readAll(storage)).keys()], records.slice(1).map(({ seq }) => seq))
    t.ok(disk.read(OUT).subarray(records[1].seq).equals(bytes.subarray(records[1].seq)), 'the rest is as it was')
    hurt(disk, (bytes) => bytes.fill(0xee))
    t.equal((await failureOf(() => repair(FILE, '/folder/other', { storage })))?.code, 'ERR_LOG_UNKNOWN_FORMAT')
    t.equal((await repair(FILE, '/folder/other', { storage, framing })).recovered, 0, 'unless it is said which framing it has')
  }
})

/** A record that holds four whole frames, as far as anybody can tell who finds them at `position` and behind. */
function imitateFrames (position, endSize, size) {
  const parts = []
  for (let at = position; parts.length < 12;) {
    const end = at + 8 + size + endSize
    const head = Buffer.alloc(4)
    head.writeUInt32BE(size)
    const tail = Buffer.from(BigInt(end).toString(16).padStart(2 * endSize, '0'), 'hex')
    parts.push(head, Buffer.alloc(size, 'i'), Buffer.concat([head, tail]))
    at = end
  }
  return Buffer.concat(parts)
}

tape('repair: imitations of frames inside a damaged record are none', async (t) => {
  for (const [framing, endSize] of [['offset32', 4], ['offset48', 6], ['offset53', 8]]) {
    for (const size of [5, 300]) {
      const disk = new SimulatedDisk()
      const log = OffsetLog(FILE, { storage: disk.storage, framing })
      await log.append(Buffer.alloc(100, 'a'))
      const start = 100 + 8 + endSize
      const imitations = imitateFrames(start + 4 + 1, endSize, size)
      const seq = await log.append(Buffer.concat([Buffer.from('x'), imitations, Buffer.from('rest')]))
      t.equal(seq, start)
      const last = await log.append(Buffer.from('last'))
      await log.close()
      hurt(disk, (bytes) => { bytes.fill(0, seq, seq + 4) })
      const report = await repair(FILE, OUT, { storage: disk.storage, write: true })
      t.deepEqual([...(await readAll(disk.storage)).keys()], [0, last], `${framing}, ${size}`)
      t.deepEqual(report.lost.map(({ offset, size }) => [offset, size]), [[seq, last - seq]])
    }
  }
})

tape('repair: a flipped bit in a size or an end of an offset log costs no record', async (t) => {
  for (const framing of ['offset32', 'offset48', 'offset53']) {
    const { disk, storage, records, bytes } = await makeLog([100, 200, 300], { framing })
    for (const { seq, data } of records) {
      const fields = [seq + 3, seq + 4 + data.length + 3, seq + 4 + data.length + 4]
      for (const offset of fields) {
        disk.put(FILE, bytes)
        hurt(disk, (bytes) => { bytes[offset] ^= 2 })
        const out = `${OUT}-${offset}`
        const report = await repair(FILE, out, { storage, write: true })
        t.equal(report.recoveredFromDamage, 1, `${framing}, byte ${offset}`)
        t.ok(disk.read(out).equals(bytes))
      }
    }
  }
})

tape('repair: a log inside a record of a log', async (t) => {
  const inner = await makeLog([100, 200])
  for (const framing of ['checked', 'offset48']) {
    const disk = new SimulatedDisk()
    const log = OffsetLog(FILE, { storage: disk.storage, framing })
    const seqs = [await log.append(Buffer.from('first')), await log.append(inner.bytes), await log.append(Buffer.from('last'))]
    await log.close()
    const whole = disk.read(FILE)
    for (const offset of [Math.max(0, seqs[1] - 30), seqs[1] + 1, seqs[1] + 20000, seqs[2] - 50]) {
      const bytes = Buffer.from(whole)
      bytes.fill(0xaa, offset, offset + 25)
      disk.put(FILE, bytes)
      const report = await repair(FILE, `${OUT}-${framing}-${offset}`, { storage: disk.storage, write: true })
      const found = await readAll(disk.storage, `${OUT}-${framing}-${offset}`)
      t.ok([...found.keys()].every((seq) => seqs.includes(seq)) && report.recovered === found.size, `${framing}, ${offset}`)
    }
  }
})

tape('repair: a disk that is full, or fails, leaves nothing behind', async (t) => {
  const { disk, bytes } = await makeLog([100, 50000, 300])
  for (const name of ['write', 'sync', 'rename', 'read', 'syncFolder']) {
    let fails = 0
    const failing = new SimulatedDisk({
      decide: (call) => (call.name.startsWith(name) && fails++ >= (name === 'read' ? 6 : 0) ? { code: 'EIO' } : undefined)
    })
    failing.put(FILE, bytes)
    const err = await failureOf(() => repair(FILE, OUT, { storage: failing.storage, write: true }))
    t.equal(err?.code, 'EIO', name)
    t.deepEqual(failing.list().filter((file) => file.endsWith('.new')), [], name)
    t.ok(failing.read(FILE).equals(bytes))
  }
  const full = new SimulatedDisk({ capacity: bytes.length + 1000 })
  full.put(FILE, bytes)
  t.equal((await failureOf(() => repair(FILE, OUT, { storage: full.storage, write: true })))?.code, 'ENOSPC')
  t.deepEqual(full.list(), [FILE])
  t.ok(disk.read(FILE).equals(bytes))
})

tape('repair: what was written is read again before it gets its name', async (t) => {
  const { disk, bytes } = await makeLog([100, 50000, 300])
  const open = (file, options, cb) => disk.storage.open(file, options, (err, handle) => {
    if (err || !file.endsWith('.new')) return cb(err, handle)
    // Loses a byte of what it is given, and says nothing.
    const write = (buf, offset, length, position, cb) => {
      const copy = Buffer.from(buf.subarray(offset, offset + length))
      if (position <= 40000 && position + length > 40000) copy[40000 - position] ^= 1
      handle.write(copy, 0, length, position, cb)
    }
    cb(null, { ...handle, write, writeSync: undefined })
  })
  const storage = { ...disk.storage, open }
  t.equal((await failureOf(() => repair(FILE, OUT, { storage, write: true })))?.code, 'ERR_LOG_CORRUPT')
  t.deepEqual(disk.list(), [FILE])
  t.ok(disk.read(FILE).equals(bytes))
})

tape('repair: when the power goes the new log is there whole, or not at all', async (t) => {
  const { disk, records } = await makeLog([100, 50000, 300, 20000])
  hurt(disk, (bytes) => { bytes[records[1].seq + 20000] ^= 1 })
  const before = disk.read(FILE)
  const random = createRandom(seed)
  const crashes = []
  disk.onChange = () => crashes.push(disk.crash((count) => random(count)))
  await repair(FILE, OUT, { storage: disk.storage, write: true })
  crashes.push(disk.crash((count) => random(count)))
  let wholeCount = 0
  for (const crash of crashes) {
    if (!crash.read(FILE).equals(before)) t.fail('the source was changed')
    if (!crash.list().includes(OUT)) continue
    const report = await verify(OUT, { storage: crash.storage })
    if (!report.isSound || report.records !== 3) t.fail(JSON.stringify(report))
    wholeCount++
  }
  t.ok(wholeCount > 0, `${crashes.length} crashes, whole after ${wholeCount}`)
})

tape('repair: where bytes are gone from the first record of a legacy log nobody can tell its framing, and it says so', async (t) => {
  for (const framing of ['offset32', 'offset48', 'offset53']) {
    const file = path.join(temporaryFolder(), 'log')
    const log = OffsetLog(file, { framing })
    for (let count = 0; count < 20; count++) await log.append(Buffer.alloc(500, 1 + count))
    await log.close()
    testkit.splice(file, 100, 110, Buffer.from('abc'))
    const before = fs.readFileSync(file)
    for (const look of [() => verify(file), () => repair(file, `${file}.new`, { write: true })]) {
      const err = await failureOf(look)
      t.equal(err?.code, 'ERR_LOG_UNKNOWN_FORMAT', framing)
    }
    // No frame lies where it says that it ends.
    const { records, tail } = await verify(file, { framing })
    t.deepEqual([records, tail.size], [0, before.length])
    t.deepEqual(fs.readdirSync(path.dirname(file)), ['log'])
    t.ok(fs.readFileSync(file).equals(before))
  }
})

tape('repair: damage by testkit, on real files, in every framing', async (t) => {
  const random = createRandom(seed)
  for (const framing of ['checked', 'offset32', 'offset48', 'offset53']) {
    for (const kind of ['flip', 'truncate', 'zero', 'splice', 'garble', 'swap', 'misdirect']) {
      const folder = temporaryFolder()
      const file = path.join(folder, 'log')
      const log = OffsetLog(file, { framing })
      const values = new Map()
      for (let count = 0; count < 60; count++) {
        const data = Buffer.alloc(1 + random(2000), 1 + random(255))
        values.set(await log.append(data), data)
      }
      await log.close()
      const { size } = fs.statSync(file)
      // Behind the first record: see below.
      const at = 2100 + random(size - 2700)
      const args = {
        flip: [at],
        truncate: [at + 100],
        zero: [at, at + 500],
        splice: [at, at + 10, Buffer.from('abc')],
        garble: [at, at + 300],
        swap: [512 * random(20), 512 * (30 + random(20)), 512],
        misdirect: [512 * random(20), 512 * (30 + random(20)), 512]
      }[kind]
      testkit[kind](file, ...args)
      const before = fs.readFileSync(file)
      const out = path.join(folder, 'out')
      const report = await repair(file, out, { write: true })
      t.ok(fs.readFileSync(file).equals(before), `${framing}, ${kind} ${args}`)
      t.deepEqual(fs.readdirSync(folder).sort(), ['log', 'out'])
      const again = OffsetLog(out)
      let count = 0
      for await (const { seq, value } of again.stream()) {
        count++
        if (framing === 'checked' && !values.get(seq)?.equals(value)) t.fail(`the record at ${seq}`)
      }
      t.equal(count, report.recovered)
      await again.append(Buffer.from('it goes on'))
      await again.close()
      t.equal((await verify(out)).isSound, true)
    }
  }
})
