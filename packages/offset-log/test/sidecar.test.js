'use strict'
// A log of a legacy framing with a sidecar: its bytes are as ever, and no bit of them flips unnoticed.

const fs = require('node:fs')
const path = require('node:path')
const zlib = require('node:zlib')
const tape = require('tape')
const { SimulatedDisk, createRandom, failureOf, temporaryFolder, testLog } = require('@millrace/testkit')
const { fileStorage } = require('@millrace/block-file')
const { OffsetLog } = require('..')
const { checkBlocks, readSidecar } = require('../lib/sidecar/read-sidecar')

const FIXTURE = path.join(__dirname, 'fixtures', 'ssb-2000.offset')
const FILE = '/folder/log'
const SIDECAR = `${FILE}.sidecar`
const BLOCK_SIZE = 64 * 1024
const FRAMINGS = ['offset32', 'offset48', 'offset53']
const seed = Date.now() % 2 ** 31

const open = (storage, options) => OffsetLog(FILE, { storage, framing: 'offset32', sidecar: true, ...options })
const promise = (run) => new Promise((resolve, reject) => run((err, result) => err ? reject(err) : resolve(result)))

async function textsOf (log, options) {
  const texts = []
  for await (const value of log.stream({ ...options, seqs: false })) texts.push(value.toString('latin1'))
  return texts
}

/** A disk with a log that was closed: records that fill some blocks. */
async function makeDisk (count = 30, size = 10000) {
  const disk = new SimulatedDisk()
  const log = open(disk.storage)
  const records = Array.from({ length: count }, (_, index) => Buffer.alloc(size, 1 + index))
  const seqs = []
  for (const record of records) seqs.push(await log.append(record))
  await log.close()
  return { disk, seqs, records, bytes: disk.read(FILE) }
}

function flip (disk, at, bit = 0, file = FILE) {
  disk.damage(file, (medium) => { medium[at] ^= 1 << bit })
}

testLog(tape, (path, options) => OffsetLog(path, { framing: 'offset48', sidecar: true, ...options }), { name: 'with a sidecar' })

testLog(tape, (path, options) => {
  const log = OffsetLog(path, { framing: 'offset32', sidecar: true, fsync: 'always', ...options })
  log._file.blocks._file.pace.mayBlock = () => false
  log._file.blocks._writer._writePace.mayBlock = () => false
  log._file.blocks._writer._syncPace.mayBlock = () => false
  return log
}, { name: 'with a sidecar, all of it asynchronous' })

for (const framing of FRAMINGS) {
  tape(`${framing}: the same calls leave the same bytes, with a sidecar and without (seed ${seed})`, async (t) => {
    const random = createRandom(seed)
    const disks = [new SimulatedDisk(), new SimulatedDisk()]
    const openBoth = () => disks.map(({ storage }, index) => {
      return OffsetLog(FILE, { storage, framing, sidecar: index === 1 })
    })
    let logs = openBoth()
    const seqs = []
    for (let step = 0; step < 60; step++) {
      const kind = random(8)
      if (kind < 4) {
        const randomRecord = () => Buffer.alloc(1 + random(random(3) === 0 ? 90000 : 300), 1 + random(255))
        const batch = Array.from({ length: 1 + random(4) }, randomRecord)
        const [seq] = await Promise.all(logs.map((log) => log.append(batch)))
        seqs.push(seq)
      } else if (kind === 4 && seqs.length > 0) {
        const erased = [seqs[random(seqs.length)], seqs[random(seqs.length)]]
        await Promise.all(logs.map((log) => log.del(erased)))
      } else if (kind === 5) {
        await Promise.all(logs.map((log) => log.sync()))
      } else if (kind === 6) {
        await Promise.all(logs.map((log) => log.close()))
        logs = openBoth()
      }
    }
    await Promise.all(logs.map((log) => log.close()))
    t.ok(disks[0].read(FILE).equals(disks[1].read(FILE)))
    t.deepEqual(disks[0].list(), [FILE])
    t.deepEqual(disks[1].list(), [FILE, SIDECAR])
  })
}

tape('flip: every bit of a small log is noticed', async (t) => {
  const disk = new SimulatedDisk()
  const log = open(disk.storage)
  for (const text of ['one', 'two', 'three']) await log.append(Buffer.from(text))
  await log.close()
  const size = disk.read(FILE).length
  let unseen = 0
  for (let bit = 0; bit < 8 * size; bit++) {
    const hurt = disk.clone()
    flip(hurt, bit >> 3, bit & 7)
    const before = { log: hurt.read(FILE), sidecar: hurt.read(SIDECAR) }
    const plain = OffsetLog(FILE, { storage: hurt.clone().storage })
    const wasSeen = await plain.ready().then(() => plain.recovery !== null, () => true)
    if (!wasSeen && (await textsOf(plain).catch(() => [])).length > 0) unseen++
    await plain.close().catch(() => {})
    const log = open(hurt.storage)
    const err = await failureOf(() => log.ready())
    if (err) {
      if (err.code !== 'ERR_LOG_CORRUPT') t.fail(`bit ${bit}: ${err.stack}`)
    } else {
      const [damage] = log.recovery?.damage ?? []
      if (damage?.offset !== 0 || damage.size !== size) t.fail(`bit ${bit}: ${JSON.stringify(log.recovery)}`)
      if ((await failureOf(() => textsOf(log)))?.code !== 'ERR_LOG_CORRUPT') t.fail(`bit ${bit}: it was read`)
      if ((await failureOf(() => log.append(Buffer.from('x'))))?.code !== 'ERR_LOG_READ_ONLY') t.fail(`bit ${bit}: it was written`)
    }
    await log.close().catch(() => {})
    if (!hurt.read(FILE).equals(before.log) || !hurt.read(SIDECAR).equals(before.sidecar)) t.fail(`bit ${bit}: something was written`)
  }
  t.ok(unseen >= 8 * 'onetwothree'.length - 1, `${unseen} of them are not noticed without a sidecar`)
})

tape(`flip: a bit anywhere in a larger log is noticed by whoever reads it (seed ${seed})`, async (t) => {
  const random = createRandom(seed)
  const { disk, bytes, records, seqs } = await makeDisk()
  for (let round = 0; round < 60; round++) {
    const at = random(bytes.length)
    const start = Math.floor(at / BLOCK_SIZE) * BLOCK_SIZE
    const hurt = disk.clone()
    flip(hurt, at, random(8))
    const flags = random(2) === 0 ? 'r' : 'r+'
    const log = open(hurt.storage, { flags, blockSize: [1000, BLOCK_SIZE, 2 ** 20][random(3)] })
    const isAsync = random(2) === 0
    if (isAsync) log._file.blocks._file.pace.mayBlock = () => false
    await log.ready()
    // The first and the last block are looked at when a log is opened.
    const isSeen = start === 0 || start + BLOCK_SIZE > bytes.length
    const found = log.recovery?.damage ?? []
    if ((isSeen && found.length === 0) || found.some(({ offset }) => offset !== start)) t.fail(`at ${at}: ${JSON.stringify(found)}`)
    // What lies in other blocks can be read, in every way.
    const isNear = (index) => seqs[index] < start + BLOCK_SIZE && (seqs[index + 1] ?? bytes.length) > start
    const first = seqs.findIndex((_, index) => isNear(index))
    const last = seqs.findLastIndex((_, index) => isNear(index))
    for (const reverse of [false, true]) {
      const found = []
      const onChunk = ({ seqs, count }) => { found.push(...seqs.slice(0, count)) }
      const err = await failureOf(() => log.scan({ reverse }, onChunk))
      if (err?.code !== 'ERR_LOG_CORRUPT' || err.offset !== start) t.fail(`at ${at}, reverse ${reverse}: ${err?.stack}`)
      const expected = reverse ? seqs.slice(last + 1).reverse() : seqs.slice(0, first)
      if (found.join() !== expected.join()) t.fail(`at ${at}, reverse ${reverse}: found ${found}, expected ${expected}`)
    }
    for (let index = 0; index < seqs.length; index++) {
      const err = await failureOf(async () => {
        if (!(await log.get(seqs[index])).equals(records[index])) t.fail('wrong bytes')
      })
      if (err && err.code !== 'ERR_LOG_CORRUPT') t.fail(err.stack)
      // The frame before is looked at as well, to see where it ends.
      if (Boolean(err) !== isNear(index) && !(err && isNear(index - 1))) t.fail(`at ${at}: record ${index}: ${err?.stack}`)
    }
    await log.close()
  }
  t.end()
})

tape('fixture: an existing flumelog-offset file gains detection', async (t) => {
  const file = path.join(temporaryFolder(), 'log')
  fs.copyFileSync(FIXTURE, file)
  // A date that can be set again, as if only the disk had changed something.
  const date = new Date('2020-01-01T00:00:00Z')
  fs.utimesSync(file, date, date)
  const log = OffsetLog(file, { sidecar: true })
  await log.ready()
  t.equal(log.recovery.flaws.length, 1)
  t.match(log.recovery.flaws[0].what, /^the sidecar is missing/)
  t.equal(log.durable.value, 1854081, 'what was there is on stable storage now')
  t.equal((await textsOf(log)).length, 2000)
  await log.close()
  const bytes = fs.readFileSync(file)
  t.ok(bytes.equals(fs.readFileSync(FIXTURE)), 'its bytes are as they were')
  const again = OffsetLog(file, { sidecar: true })
  t.equal((await textsOf(again)).length, 2000)
  t.equal(again.recovery, null)
  t.equal(again.durable.value, 1854081)
  await again.close()
  const random = createRandom(seed)
  let unseen = 0
  for (let round = 0; round < 20; round++) {
    const at = random(bytes.length)
    const hurt = Buffer.from(bytes)
    hurt[at] ^= 1 << random(8)
    fs.writeFileSync(file, hurt)
    fs.utimesSync(file, date, date)
    const plain = OffsetLog(file, { flags: 'r' })
    if (!await failureOf(() => plain.scan({}, () => {}))) unseen++
    await plain.close()
    const log = OffsetLog(file, { sidecar: true })
    const err = await failureOf(() => log.scan({}, () => {}))
    if (err?.code !== 'ERR_LOG_CORRUPT' || !(err.offset <= at && at < err.offset + BLOCK_SIZE)) t.fail(`at ${at}: ${err?.stack}`)
    await log.close()
    if (!fs.readFileSync(file).equals(hurt)) t.fail('it was changed')
  }
  t.ok(unseen > 15, `${unseen} of 20 are not noticed without a sidecar`)
})

tape('verify: false checks nothing that is read, and keeps the sums all the same', async (t) => {
  const { disk, seqs, records } = await makeDisk()
  const log = open(disk.storage, { verify: false })
  await log.append(Buffer.from('more'))
  await log.close()
  flip(disk, seqs[3] + 100)
  const careless = open(disk.clone().storage, { verify: false })
  t.equal((await textsOf(careless)).length, records.length + 1)
  await careless.close()
  const careful = open(disk.storage)
  t.equal((await failureOf(() => textsOf(careful))).code, 'ERR_LOG_CORRUPT')
  await careful.close()
})

tape('del: a record in a block that is damaged stays as it is', async (t) => {
  const { disk, seqs } = await makeDisk()
  flip(disk, seqs[8] + 100)
  const before = disk.read(FILE)
  for (const verify of [true, false]) {
    const log = open(disk.storage, { verify })
    t.equal((await failureOf(() => log.del(seqs[9]))).code, 'ERR_LOG_CORRUPT')
    await log.del(seqs[20])
    await log.close()
  }
  const after = disk.read(FILE)
  t.ok(before.subarray(0, 2 * BLOCK_SIZE).equals(after.subarray(0, 2 * BLOCK_SIZE)))
  const log = open(disk.storage)
  t.equal((await failureOf(() => log.get(seqs[9]))).code, 'ERR_LOG_CORRUPT', 'and is still noticed')
  t.equal((await failureOf(() => log.get(seqs[20]))).code, 'flumelog:deleted')
  await log.close()
})

tape('del: many records cost the sidecar a few syncs, not some for each', async (t) => {
  const { disk, seqs } = await makeDisk()
  const log = open(disk.storage)
  await log.ready()
  let syncs = 0
  disk.onChange = ({ name, path }) => { if (name === 'sync' && path === SIDECAR) syncs++ }
  await log.del(seqs.filter((_, index) => index % 2 === 0))
  await log.sync()
  t.equal(syncs, 3)
  syncs = 0
  for (let index = 0; index < 5; index++) await log.append(Buffer.from('more'))
  t.equal(syncs, 0)
  await log.sync()
  t.equal(syncs, 1)
  await log.sync()
  t.equal(syncs, 1, 'nothing had changed')
  await log.close()
})

tape('durable: is known when a log is opened, as far as its last sync went', async (t) => {
  const disk = new SimulatedDisk()
  const log = open(disk.storage, { fsync: 'never' })
  await log.append(Buffer.from('one'))
  const promised = await log.append(Buffer.from('two'))
  await log.sync()
  const last = await log.append(Buffer.from('three'))
  for (const flags of ['r', 'r+']) {
    const again = open(disk.clone().storage, { flags })
    await again.ready()
    t.deepEqual([again.durable.value, again.since.value, again.recovery], [promised, last, null], flags)
    await again.close()
  }
  await log.close()
  const closed = open(disk.storage)
  await closed.ready()
  t.deepEqual([closed.durable.value, closed.since.value], [last, last])
  await closed.close()
})

tape('recovery: what was never synced may be torn anywhere, and is cut; the log is not read-only', async (t) => {
  const disk = new SimulatedDisk()
  const log = open(disk.storage, { fsync: 'never' })
  await log.append(Buffer.from('one'))
  await log.sync()
  const seq = await log.append(Buffer.alloc(3000, 2))
  await log.append(Buffer.from('three'))
  // The sector with the record's size did not arrive, and those behind it did.
  const torn = disk.clone()
  torn.write(FILE, Buffer.alloc(4), seq)
  const again = open(torn.storage)
  t.deepEqual(await textsOf(again), ['one'])
  t.deepEqual([again.recovery.offset, again.recovery.keptAt, again.recovery.damage], [seq, `${FILE}.cut-${seq}`, []])
  await again.append(Buffer.from('four'))
  await again.close()
  const whole = open(torn.storage)
  t.deepEqual(await textsOf(whole), ['one', 'four'])
  t.equal(whole.recovery, null)
  await whole.close()
  await log.close()
})

tape('recovery: a file that ends before what was synced is damaged: nothing is cut, or written', async (t) => {
  const { disk, seqs, bytes } = await makeDisk()
  for (const size of [bytes.length - 1, seqs[20], seqs[20] + 100, 20 + seqs[1], 0]) {
    const cut = disk.clone()
    const handle = await promise((cb) => cut.storage.open(FILE, { flags: 'r+' }, cb))
    await promise((cb) => handle.truncate(size, cb))
    const sidecar = cut.read(SIDECAR)
    for (const flags of ['r', 'r+']) {
      const log = open(cut.storage, { flags })
      await log.ready()
      const lost = log.recovery.damage.at(-1)
      t.deepEqual([lost.offset, lost.size], [size, bytes.length - size], `${size}, ${flags}`)
      t.equal((await failureOf(() => log.append(Buffer.from('x')))).code, 'ERR_LOG_READ_ONLY')
      const err = await failureOf(() => textsOf(log))
      t.equal(err.code, 'ERR_LOG_CORRUPT', 'who reads to the end is told')
      await log.close()
    }
    t.ok(cut.read(FILE).length === size && cut.read(SIDECAR).equals(sidecar))
  }
})

tape('sync: after one that lost what it should have written, the sidecar does not say that it is there', async (t) => {
  let isBroken = false
  const disk = new SimulatedDisk({ decide: ({ name, path }) => isBroken && name === 'sync' && path === FILE ? { losesPages: true } : {} })
  const log = open(disk.storage)
  await log.append(Buffer.from('one'))
  await log.sync()
  await log.append(Buffer.from('two'))
  isBroken = true
  t.equal((await failureOf(() => log.sync())).code, 'ERR_LOG_POISONED')
  isBroken = false
  t.equal((await failureOf(() => log.close())).code, 'ERR_LOG_POISONED')
  const lost = open(disk.crash(() => 0).storage)
  t.deepEqual(await textsOf(lost), ['one'])
  t.deepEqual((lost.recovery?.damage ?? []), [])
  await lost.close()
  // The next process still sees it, and writes it anew before it promises it.
  const next = open(disk.storage)
  t.deepEqual(await textsOf(next), ['one', 'two'])
  await next.sync()
  const after = open(disk.crash(() => 0).storage)
  t.deepEqual(await textsOf(after), ['one', 'two'])
  t.equal(after.recovery, null)
  await after.close()
  await next.close()
})

tape('checked: a log that has its own checksums takes no sidecar, and nothing is written', async (t) => {
  const folder = temporaryFolder()
  const file = path.join(folder, 'below', 'log')
  const refused = async () => (await failureOf(async () => {
    const log = OffsetLog(file, { sidecar: true })
    await log.ready().finally(() => log.close().catch(() => {}))
  }))?.code
  t.equal(await refused(), 'ERR_NOT_SUPPORTED', 'there is no file')
  t.deepEqual(fs.readdirSync(folder), [])
  fs.mkdirSync(path.dirname(file))
  t.equal(await refused(), 'ERR_NOT_SUPPORTED', 'there is a folder')
  t.deepEqual(fs.readdirSync(path.dirname(file)), [])
  fs.writeFileSync(file, '')
  t.equal(await refused(), 'ERR_NOT_SUPPORTED', 'there is an empty file')
  t.equal(fs.readFileSync(file).length, 0)
  const log = OffsetLog(file)
  await log.append(Buffer.from('one'))
  await log.close()
  const before = fs.readFileSync(file)
  t.equal(await refused(), 'ERR_NOT_SUPPORTED', 'there is a checked log')
  t.ok(fs.readFileSync(file).equals(before))
  t.deepEqual(fs.readdirSync(path.dirname(file)).filter((name) => name.includes('sidecar')), [])
  t.throws(() => OffsetLog(file, { sidecar: 'yes' }), { code: 'ERR_INVALID_ARGUMENT' })
})

tape('flags r: a sidecar is used, and nothing is ever written', async (t) => {
  const folder = temporaryFolder()
  const file = path.join(folder, 'log')
  const write = OffsetLog(file, { framing: 'offset32' })
  await write.append(Buffer.from('one'))
  await write.close()
  const without = OffsetLog(file, { sidecar: true, flags: 'r' })
  t.deepEqual(await textsOf(without), ['one'])
  t.match(without.recovery.flaws[0].what, /^the sidecar is missing: nothing is checked/)
  await without.close()
  t.deepEqual(fs.readdirSync(folder), ['log'])
  await OffsetLog(file, { sidecar: true }).close()
  const names = fs.readdirSync(folder)
  const before = fs.readFileSync(`${file}.sidecar`)
  const log = OffsetLog(file, { sidecar: true, flags: 'r' })
  t.deepEqual(await textsOf(log), ['one'])
  t.equal(log.recovery, null)
  await log.close()
  if (process.platform !== 'win32') {
    fs.symlinkSync(file, path.join(folder, 'link'))
    for (const flags of ['r', 'r+']) {
      const linked = OffsetLog(path.join(folder, 'link'), { sidecar: true, flags })
      t.deepEqual(await textsOf(linked), ['one'])
      t.equal(linked.recovery, null, `${flags}: through a link it is the same one`)
      await linked.close()
    }
    fs.unlinkSync(path.join(folder, 'link'))
  }
  t.deepEqual(fs.readdirSync(folder), names)
  t.ok(fs.readFileSync(`${file}.sidecar`).equals(before))
})

tape('readSidecar, checkBlocks: say which 64 KiB are damaged, in little memory', async (t) => {
  const { disk, bytes } = await makeDisk()
  t.equal(await promise((cb) => readSidecar(disk.storage, '/folder/log.sidecar', cb)), null, 'there is none')
  const sidecar = await promise((cb) => readSidecar(disk.storage, FILE, cb))
  t.ok(sidecar.isBelieved && sidecar.isClean)
  t.deepEqual([sidecar.end, sidecar.logSize, sidecar.blockCount], [bytes.length, bytes.length, 5])
  t.equal(sidecar.block(sidecar.blockCount), null)
  t.equal(sidecar.block(1).sum, zlib.crc32(bytes.subarray(BLOCK_SIZE, 2 * BLOCK_SIZE)))
  const check = async () => {
    const ranges = []
    const result = await promise((cb) => checkBlocks(disk.storage, FILE, sidecar, (range) => ranges.push(range), cb))
    return { ranges, ...result }
  }
  t.deepEqual(await check(), { ranges: [], comparedCount: 5, damagedCount: 0 })
  flip(disk, BLOCK_SIZE + 5)
  flip(disk, bytes.length - 1)
  const ranges = [{ start: BLOCK_SIZE, end: 2 * BLOCK_SIZE }, { start: 4 * BLOCK_SIZE, end: bytes.length }]
  t.deepEqual(await check(), { ranges, comparedCount: 5, damagedCount: 2 })
  disk.damage(SIDECAR, (medium) => medium.fill(7))
  const damaged = await promise((cb) => readSidecar(disk.storage, FILE, cb))
  t.deepEqual([damaged.verdict, damaged.isBelieved], ['damaged', false])
  t.equal((await failureOf(() => promise((cb) => readSidecar(disk.storage, '/folder/nothing', cb)))).code, 'ENOENT')
})

tape('flags r: beside a writer that deletes nothing is called damaged, and what is damaged is', async (t) => {
  const file = path.join(temporaryFolder(), 'log')
  const writer = OffsetLog(file, { framing: 'offset32', sidecar: true })
  const seqs = []
  for (let index = 0; index < 60; index++) seqs.push(await writer.append(Buffer.alloc(8000, 1 + index)))
  await writer.sync()
  const readers = []
  for (let round = 0; round < 12; round++) {
    // Each has loaded the sums before the next deletion, and reads after it.
    const reader = OffsetLog(file, { sidecar: true, flags: 'r', cache: 0 })
    await reader.ready()
    readers.push(reader)
    await writer.del([seqs[4 * round], seqs[4 * round + 2]])
    if (round % 3 === 0) await writer.sync()
    if (round % 3 === 1) await writer.append(Buffer.alloc(8000, 200))
    for (const each of readers) {
      const err = await failureOf(() => each.scan({}, () => {}))
      if (err) t.fail(`round ${round}: ${err.stack}`)
      if ((each.recovery?.damage.length ?? 0) > 0) t.fail(`round ${round}: ${JSON.stringify(each.recovery)}`)
    }
  }
  await writer.sync()
  const reader = OffsetLog(file, { sidecar: true, flags: 'r', cache: 0 })
  await reader.ready()
  const fd = fs.openSync(file, 'r+')
  fs.writeSync(fd, Buffer.from([99]), 0, 1, seqs[55] + 100)
  fs.closeSync(fd)
  const err = await failureOf(() => reader.scan({}, () => {}))
  t.equal(err?.code, 'ERR_LOG_CORRUPT')
  for (const each of [...readers, reader]) await each.close()
  const sidecar = await promise((cb) => readSidecar(fileStorage, file, cb))
  t.ok(sidecar.isBelieved && !sidecar.isClean, 'the writer is still there')
  // What was read of the sidecar is old by now.
  await writer.del([seqs[1], seqs[30]])
  await writer.sync()
  await writer.del(seqs[31])
  const ranges = []
  await promise((cb) => checkBlocks(fileStorage, file, sidecar, (range) => ranges.push(range), cb))
  t.deepEqual(ranges.map(({ start }) => start), [Math.floor((seqs[55] + 100) / BLOCK_SIZE) * BLOCK_SIZE])
  await writer.close()
})
