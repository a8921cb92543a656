'use strict'
// Many chunks proven by one sum: no more than each of them alone would be, and what is damaged is found all the same.

const tape = require('tape')
const { SimulatedDisk, createRandom, failureOf, inQuickRuns } = require('@millrace/testkit')
const { OffsetLog } = require('@millrace/offset-log')
const { verify } = require('@millrace/repair')
const { ChunkCursor } = require('..')
const { ChunkRun } = require('../lib/chunk-cursor')
const { createShiftTable, shift } = require('../lib/crc32')
const { LogBuilder, buildRandomLog, randomData } = require('./checked-builder')
const { crc, decodeLog } = require('./checked-oracle')

const FILE = '/folder/log'
const HEAD_SIZE = 32768
const PAGE_SIZE = 16384
const seed = Date.now() % 2 ** 31

const viewOf = (bytes) => new DataView(bytes.buffer, bytes.byteOffset, bytes.length)

tape(`shift: the sum of two pieces is the first one, shifted, xor the second one (seed ${seed})`, (t) => {
  const random = createRandom(seed)
  for (const size of [0, 1, 4, 36, 40, 255, 16344, 16384, random(70000)]) {
    const table = createShiftTable(size)
    for (let turn = 0; turn < 20; turn++) {
      const [first, second] = [randomData(random, random(100)), randomData(random, size)]
      const found = shift(table, crc(first)) ^ crc(second)
      if (found >>> 0 !== crc(Buffer.concat([first, second]))) t.fail(`${first.length} bytes and ${size}`)
    }
  }
  t.pass('of many sizes')
  t.end()
})

/** Where each chunk begins and ends, and whether it has the sums that it says, told one by one. */
function listChunks (bytes, salt) {
  const chunks = []
  for (let at = HEAD_SIZE; bytes.length - at >= 44;) {
    const room = PAGE_SIZE - at % PAGE_SIZE
    if (room < 44) { at += room; continue }
    const end = at + 40 + bytes.readUInt16BE(at + 8)
    if (end > Math.min(bytes.length, at + room)) break
    const hasHeader = crc(bytes.subarray(at + 4, at + 40), salt) === bytes.readUInt32BE(at)
    const hasPayload = crc(bytes.subarray(at + 40, end)) === bytes.readUInt32BE(at + 4)
    chunks.push({ start: at, end, isWhole: hasHeader && hasPayload })
    at = end
  }
  return chunks
}

const pick = (random, list) => list[random(list.length)]

tape(`prove: all that is whole, and nothing else, from every chunk on (seed ${seed})`, (t) => {
  const random = createRandom(seed)
  const counts = { proven: 0, refused: 0 }
  for (let turn = 0; turn < 120; turn++) {
    const builder = buildRandomLog(random, { steps: 20 + random(60) })
    const bytes = builder.build()
    const { salt } = builder.header
    const run = new ChunkRun(salt)
    const isHurt = random(3) > 0
    const { start, end } = pick(random, listChunks(bytes, salt))
    // Half of them in the header.
    if (isHurt) bytes[start + random(random(2) ? 40 : end - start)] ^= 1 << random(8)
    const chunks = listChunks(bytes, salt)
    const limit = random(2) ? bytes.length : bytes.length - random(40000)
    for (let index = 0; index < chunks.length; index++) {
      const { start } = chunks[index]
      if (limit <= start) break
      run.forget()
      run.prove(bytes, viewOf(bytes), start, limit, start)
      const tried = chunks.filter((chunk) => chunk.start >= start && chunk.end <= run.triedEnd)
      if (run.provenEnd > start) {
        counts.proven++
        if (tried.length < 2 || tried.some(({ isWhole }) => !isWhole)) t.fail(`turn ${turn}, ${start}`)
        if (run.provenEnd > limit || tried.at(-1).end !== run.provenEnd) t.fail(`turn ${turn}: it ends in a chunk`)
      } else if (tried.length > 0) {
        counts.refused++
        if (tried.every(({ isWhole }) => isWhole)) t.fail(`turn ${turn}, ${start}: nothing is wrong there`)
      } else if (chunks[index + 1]?.end <= limit && chunks[index + 1].start === chunks[index].end) {
        t.fail(`turn ${turn}, ${start}: two could have been proven`)
      }
    }
  }
  t.ok(counts.proven > 200 && counts.refused > 200, JSON.stringify(counts))
  t.end()
})

tape(`prove: no pages of another log, which are whole but have another salt, however many there are (seed ${seed})`, (t) => {
  const random = createRandom(seed)
  const build = (salt) => {
    const builder = new LogBuilder({ salt })
    // The same sizes for both.
    for (let count = 0; count < 200; count++) {
      builder.open()
      builder.record(randomData(random, 100 + count * 37 % 1500))
      builder.close({ commitContinues: false })
    }
    return { bytes: builder.build(), salt }
  }
  const [mine, other] = [build(random(2 ** 31)), build(2 ** 31 + random(2 ** 31))]
  const pages = Math.floor((mine.bytes.length - HEAD_SIZE) / PAGE_SIZE)
  const proven = (bytes) => {
    const run = new ChunkRun(mine.salt)
    run.prove(bytes, viewOf(bytes), HEAD_SIZE, HEAD_SIZE + PAGE_SIZE * pages, HEAD_SIZE)
    return run.provenEnd > HEAD_SIZE
  }
  t.ok(proven(mine.bytes))
  for (let turn = 0; turn < inQuickRuns(300); turn++) {
    const bytes = Buffer.from(mine.bytes)
    const replaced = Array.from({ length: pages }, (_, page) => page).filter(() => turn === 0 || random(2))
    for (const page of replaced) {
      const start = HEAD_SIZE + page * PAGE_SIZE
      other.bytes.copy(bytes, start, start, start + PAGE_SIZE)
    }
    if (proven(bytes) !== (replaced.length === 0)) t.fail(`pages ${replaced}`)
  }
  t.end()
})

/** Puts the sums of the chunk at `at` right, for what somebody forged there. */
function forgeSums (bytes, at, salt) {
  const end = at + 40 + bytes.readUInt16BE(at + 8)
  bytes.writeUInt32BE(crc(bytes.subarray(at + 40, end)), at + 4)
  bytes.writeUInt32BE(crc(bytes.subarray(at + 4, at + 40), salt), at)
}

tape('scan: a chunk in a payload that was proven is not proven by that', async (t) => {
  const builder = new LogBuilder()
  for (let count = 0; count < 6; count++) {
    builder.open()
    builder.record(Buffer.alloc(3000, 1 + count))
    builder.close({ commitContinues: false })
  }
  const bytes = builder.build()
  const { header: { salt }, chunks } = decodeLog(bytes)
  const at = HEAD_SIZE + 2 * 3044
  // A chunk with one record, whose sum is another one.
  const inner = at + 500
  bytes.copy(bytes, inner, at, at + 40)
  bytes.writeUInt16BE(104, inner + 8)
  bytes.writeUIntBE(inner, inner + 16, 6)
  bytes.writeUInt32BE(100, inner + 40)
  forgeSums(bytes, inner, salt)
  bytes[inner + 50] ^= 1
  // The chunk around it is whole, and does not follow the one before.
  bytes.writeUInt32BE((chunks[1].chainCrc ^ 1) >>> 0, at + 32)
  forgeSums(bytes, at, salt)
  const disk = new SimulatedDisk()
  disk.put(FILE, bytes)
  const log = OffsetLog(FILE, { storage: disk.storage, flags: 'r', onCorrupt: 'skip' })
  const seqs = []
  await log.scan({}, (chunk) => { for (let index = 0; index < chunk.count; index++) seqs.push(chunk.seqs[index]) })
  t.notOk(seqs.includes(inner + 40), 'nothing of it is read')
  t.deepEqual(seqs, [0, 1, 3, 4, 5].map((index) => HEAD_SIZE + index * 3044 + 40))
  await log.close()
})

tape('scan: of many chunks only those that are whole, wherever one is not', async (t) => {
  const disk = new SimulatedDisk()
  const log = OffsetLog(FILE, { storage: disk.storage })
  const random = createRandom(4)
  const seqs = []
  for (let count = 0; count < 60; count++) {
    for (let index = 0; index < 20; index++) {
      log.append(randomData(random, 200 + random(1500)), (err, seq) => seqs.push(err ?? seq))
    }
    await log.sync()
  }
  await log.close()
  const whole = disk.read(FILE)
  const chunks = listChunks(whole)
  for (let index = 0; index < chunks.length; index += 3) {
    const { start, end } = chunks[index]
    const bytes = Buffer.from(whole)
    bytes[start + random(random(2) ? 40 : end - start)] ^= 1
    const hurt = new SimulatedDisk()
    hurt.put(FILE, bytes)
    const reader = OffsetLog(FILE, { storage: hurt.storage, flags: 'r' })
    const found = []
    const err = await failureOf(() => reader.scan({}, ({ seqs, count }) => found.push(...seqs.subarray(0, count))))
    if (err?.code !== 'ERR_LOG_CORRUPT' || err.offset !== start) t.fail(`${err?.code} at ${err?.offset}, chunk ${start}`)
    if (found.length === 0 ? index > 0 : found.some((seq, index) => seq !== seqs[index])) t.fail(`records before ${start}`)
    await reader.close()
  }
  t.pass(`${chunks.length} chunks`)
})

/** All records of the log on that disk, as one who cannot repair it reads them, and what that ended with. */
async function readAll (disk) {
  const log = OffsetLog(FILE, { storage: disk.storage, flags: 'r', onCorrupt: 'skip' })
  const records = []
  const err = await failureOf(() => log.scan({}, ({ count, seqs, starts, ends, buffer }) => {
    for (let index = 0; index < count; index++) {
      records.push([seqs[index], crc(buffer.subarray(starts[index], ends[index]))])
    }
  }))
  const unfinished = log._file.store?.unfinished.size ?? 0
  await log.close()
  return { records, end: [err?.code, err?.offset], unfinished }
}

/** The same, every chunk summed alone. */
async function readAllAlone (disk) {
  const { _isProven } = ChunkCursor.prototype
  ChunkCursor.prototype._isProven = () => false
  try {
    return await readAll(disk)
  } finally {
    ChunkCursor.prototype._isProven = _isProven
  }
}

tape(`scan: the same as with a sum for each, wherever the power goes in a deletion (seed ${seed})`, async (t) => {
  const random = createRandom(seed)
  const disk = new SimulatedDisk()
  const log = OffsetLog(FILE, { storage: disk.storage })
  const seqs = []
  for (let count = 0; count < 250; count++) {
    log.append(randomData(random, random(count % 10 ? 900 : 9000)), (err, seq) => seqs.push(err ?? seq))
    if (random(4) === 0) await log.sync()
  }
  await log.sync()
  const images = []
  disk.onChange = () => images.push(disk.clone(), disk.crash((count) => random(count)))
  const { prove } = ChunkRun.prototype
  for (let turn = 0; turn < 8; turn++) await log.del([pick(random, seqs), pick(random, seqs)])
  await log.sync()
  disk.onChange = () => {}
  await log.close()
  let proofs = 0
  ChunkRun.prototype.prove = function (...args) {
    prove.apply(this, args)
    if (this.provenEnd === this.triedEnd) proofs++
  }
  t.teardown(() => { ChunkRun.prototype.prove = prove })
  const counts = { unfinished: 0, proven: 0 }
  for (const image of images) {
    if (random(3) === 0) image.damage(FILE, (bytes) => { bytes[HEAD_SIZE + random(bytes.length - HEAD_SIZE)] ^= 1 })
    proofs = 0
    const found = await readAll(image)
    if (found.unfinished > 0) counts.unfinished++
    if (found.unfinished > 0 && proofs > 0) counts.proven++
    const expected = await readAllAlone(image)
    if (JSON.stringify(found) !== JSON.stringify(expected)) t.fail(`${found.end} instead of ${expected.end}`)
  }
  t.ok(counts.proven > 10, `${images.length} images, ${JSON.stringify(counts)}`)
})

tape('scan: two errors of 32 bits that hide each other are found by what looks at each chunk alone', async (t) => {
  const builder = new LogBuilder()
  for (let count = 0; count < 2; count++) {
    builder.open()
    builder.record(Buffer.alloc(1000, 1))
    builder.close({ commitContinues: false })
  }
  const bytes = builder.build()
  const ends = listChunks(bytes).map(({ end }) => end)
  // Four bytes at the end of the first payload are changed, and those at the end of the second that make up for it.
  const before = crc(bytes.subarray(HEAD_SIZE, ends[0]))
  bytes[ends[0] - 4] ^= 1
  const difference = before ^ crc(bytes.subarray(HEAD_SIZE, ends[0]))
  const later = shift(createShiftTable(ends[1] - ends[0]), difference)
  bytes.writeInt32LE(bytes.readInt32LE(ends[1] - 4) ^ unshift(later), ends[1] - 4)
  const disk = new SimulatedDisk()
  disk.put(FILE, bytes)
  const report = await verify(FILE, { storage: disk.storage })
  t.equal(report.isSound, false)
  t.equal(report.damageCount, 1)
  const log = OffsetLog(FILE, { storage: disk.storage, flags: 'r' })
  t.equal((await failureOf(() => log.get(HEAD_SIZE + 40)))?.code, 'ERR_LOG_CORRUPT')
  await log.close()
})

/** Which four bytes make that sum. */
function unshift (wanted) {
  const table = createShiftTable(4)
  const columns = Array.from({ length: 32 }, (_, bit) => [shift(table, 1 << bit), 1 << bit])
  let [rest, result] = [wanted, 0]
  for (let bit = 0; bit < 32; bit++) {
    const index = columns.findIndex(([sum], at) => at >= bit && sum >>> bit & 1)
    ;[columns[bit], columns[index]] = [columns[index], columns[bit]]
    const [ofSum, ofBits] = columns[bit]
    columns.forEach(([sum, bits], other) => {
      if (other !== bit && sum >>> bit & 1) columns[other] = [sum ^ ofSum, bits ^ ofBits]
    })
  }
  for (const [sum, bits] of columns) if (rest & sum) { rest ^= sum; result ^= bits }
  return result
}
