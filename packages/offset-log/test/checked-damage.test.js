'use strict'
// Damage to logs of the checked framing: it is found, named and counted; nothing wrong is read, nothing durable is cut.
// MILLRACE_DAMAGE=all tries every bit and every pair of sectors, for hours; MILLRACE_DAMAGE=2/4 the second quarter.

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { SimulatedDisk, collect, createRandom, failureOf, flip, inQuickRuns, newPath, temporaryFolder, truncate, zero } = require('@millrace/testkit')
const { OffsetLog } = require('..')
const { checkDamage } = require('./checked-damage')
const { decodeLog } = require('../../framing/test/checked-oracle')
const { makeTakenBack } = require('./taken-back')

const FILE = '/folder/log'
const HEAD_SIZE = 32768
const PAGE_SIZE = 16384
const seed = Date.now() % 2 ** 31

tape(`damage: every flipped bit and every sector out of place is noticed (seed ${seed})`, async (t) => {
  const { MILLRACE_DAMAGE: scope = '' } = process.env
  const [index, count] = scope.includes('/') ? scope.split('/').map(Number) : [1, 1]
  const tally = await checkDamage({
    exhaustive: scope !== '',
    seed,
    samples: inQuickRuns(60, 3),
    share: { index: index - 1, count },
    onProgress: ({ cases, faults }) => t.comment(`${cases} cases, ${faults.length} faults`)
  })
  const { cases, noticed, mended, harmless, faults } = tally
  t.comment(`${cases} cases: ${noticed} noticed, ${mended} mended at once, ${harmless} without any harm`)
  for (const fault of faults.slice(0, 20)) t.fail(fault)
  t.equal(faults.length, 0)
  t.ok(noticed > cases / 2)
})

/** A closed log: records 0 to 9 of one append each, the fifth split over pages. */
async function makeLog () {
  const file = newPath('log')
  const random = createRandom(5)
  const log = OffsetLog(file)
  const records = []
  for (const size of [100, 9000, 100, 5000, 50000, 100, 3000, 200, 14000, 100]) {
    const data = Buffer.from(Array.from({ length: size }, () => random(256)))
    records.push({ seq: await log.append(data), data })
  }
  await log.close()
  return { file, records, bytes: fs.readFileSync(file) }
}

async function readAll (source) {
  const seqs = []
  const err = await failureOf(async () => {
    for await (const { seq } of source) seqs.push(seq)
  })
  return { seqs, err }
}

const seqsOf = (records) => records.map(({ seq }) => seq)

tape('damage: reads end at it, on either side, and what is not damaged is there', async (t) => {
  const { file, records } = await makeLog()
  flip(file, records[2].seq + 20)
  const log = OffsetLog(file)
  await log.ready()
  t.equal(log.recovery, null, 'opening does not look at all of the file')
  const forward = await readAll(log.stream())
  t.deepEqual(forward.seqs, seqsOf(records.slice(0, 2)))
  t.equal(forward.err.code, 'ERR_LOG_CORRUPT')
  t.equal(forward.err.offset, records[2].seq - 40, 'the chunk is named')
  t.match(forward.err.message, new RegExp(`damaged from ${records[2].seq - 40} to`))
  const backward = await readAll(log.stream({ reverse: true }))
  t.equal(backward.err.code, 'ERR_LOG_CORRUPT')
  t.ok(backward.seqs.length > 0 && backward.seqs.every((seq) => seq > records[2].seq))
  t.equal((await failureOf(() => log.scan({}, () => {}))).code, 'ERR_LOG_CORRUPT')
  t.equal((await failureOf(() => log.get(records[2].seq))).code, 'ERR_LOG_CORRUPT')
  for (const { seq, data } of records.slice(5)) t.ok(data.equals(await log.get(seq)))
  const seq = await log.append(Buffer.from('a log that was opened whole goes on'))
  t.equal((await readAll(log.stream({ gt: records[9].seq }))).seqs[0], seq)
  await log.close()
})

tape('damage: a reader may skip it, and is told what was lost', async (t) => {
  const { file, records } = await makeLog()
  flip(file, records[2].seq + 20)
  const expected = seqsOf(records.filter((_, index) => index !== 2))
  for (const reverse of [false, true]) {
    const log = OffsetLog(file, { onCorrupt: 'skip' })
    const order = reverse ? [...expected].reverse() : expected
    const stream = log.stream({ reverse })
    t.deepEqual(await readAll(stream), { seqs: order, err: null })
    t.deepEqual(stream.lost, { count: 1, size: 40 + 4 + 100 })
    const seqs = []
    const { lost } = await log.scan({ reverse }, (chunk) => seqs.push(...chunk.seqs.subarray(0, chunk.count)))
    t.deepEqual(seqs, order)
    t.deepEqual(lost, { count: 1, size: 40 + 4 + 100 })
    t.equal((await readAll(log.stream({ reverse, onCorrupt: 'error' }))).err.code, 'ERR_LOG_CORRUPT')
    await log.close()
  }
})

tape('damage: skipping loses no record that is whole, wherever one bit flips', async (t) => {
  const { file, records, bytes } = await makeLog()
  const random = createRandom(seed)
  for (let round = 0; round < inQuickRuns(300, 12); round++) {
    const offset = HEAD_SIZE + random(bytes.length - HEAD_SIZE)
    const hurt = Buffer.from(bytes)
    hurt[offset] ^= 1 << random(8)
    fs.writeFileSync(file, hurt)
    // The chunks that a record lies in: one that begins with it, and those of the pages that it goes on in.
    const isHit = ({ seq, data }) => {
      const first = Math.min(seq + 4 + data.length, Math.ceil(seq / PAGE_SIZE) * PAGE_SIZE)
      const rest = data.length - (first - seq - 4)
      const fullPages = Math.floor(rest / (PAGE_SIZE - 40))
      const end = rest > 0 ? first + fullPages * PAGE_SIZE + 40 + rest % (PAGE_SIZE - 40) : first
      return offset >= seq - 40 && offset < end
    }
    const expected = seqsOf(records.filter((record) => !isHit(record)))
    for (const reverse of [false, true]) {
      const log = OffsetLog(file, { flags: 'r', onCorrupt: 'skip' })
      const { seqs, err } = await readAll(log.stream({ reverse }))
      if (reverse) seqs.reverse()
      if (err) t.fail(`byte ${offset}: ${err.stack}`)
      const missing = expected.filter((seq) => !seqs.includes(seq))
      if (missing.length > 0) t.fail(`byte ${offset}, reverse: ${reverse}: ${missing} are whole, and were not read`)
      await log.close()
    }
  }
  t.pass('all flips')
})

tape('open: damage at the end makes a log read-only, and nothing is changed', async (t) => {
  for (const hurt of ['a bit', 'the end', 'zeros']) {
    const { file, records, bytes } = await makeLog()
    if (hurt === 'a bit') flip(file, records[9].seq + 50)
    if (hurt === 'the end') truncate(file, bytes.length - 30)
    if (hurt === 'zeros') zero(file, records[9].seq - 40, bytes.length)
    const before = fs.readFileSync(file)
    for (const flags of ['r', 'r+']) {
      const log = OffsetLog(file, { flags })
      await log.ready()
      const { damage, keptAt, size } = log.recovery
      t.deepEqual(damage.map(({ offset }) => offset), [records[9].seq - 40], `${hurt}, flags ${flags}`)
      t.ok(damage[0].size > 0 && damage[0].what.length > 0)
      t.deepEqual({ keptAt, size }, { keptAt: null, size: 0 })
      const append = () => log.append(Buffer.from('x'))
      for (const call of [append, () => log.append([]), () => log.del(records[0].seq), () => log.sync()]) {
        const err = await failureOf(call)
        t.equal(err.code, 'ERR_LOG_READ_ONLY')
        t.equal(err.cause?.code, 'ERR_LOG_CORRUPT')
        t.equal(err.cause?.offset, damage[0].offset)
      }
      const { seqs, err } = await readAll(log.stream())
      t.deepEqual(seqs, seqsOf(records.slice(0, 9)))
      t.equal(err.code, 'ERR_LOG_CORRUPT')
      const skipping = log.stream({ onCorrupt: 'skip' })
      t.deepEqual(await readAll(skipping), { seqs, err: null })
      t.equal(skipping.lost.count, 1)
      t.ok(records[8].data.equals(await log.get(records[8].seq)))
      await log.close()
    }
    t.ok(fs.readFileSync(file).equals(before))
    t.deepEqual(fs.readdirSync(path.dirname(file)), ['log'])
  }
})

tape('open: with both slots lost all of the file counts, and a torn end is damage', async (t) => {
  const { file, bytes } = await makeLog()
  const log = OffsetLog(file, { fsync: 'never' })
  await log.append(Buffer.alloc(500, 'x'))
  const torn = fs.readFileSync(file).subarray(0, bytes.length + 100)
  await log.close()
  fs.writeFileSync(file, torn)
  const copy = newPath('copy')
  fs.copyFileSync(file, copy)
  const cut = OffsetLog(copy)
  await cut.ready()
  t.equal(cut.recovery.size, 100, 'a slot says that it was never durable')
  t.deepEqual(cut.recovery.damage, [])
  await cut.close()
  for (const position of [4096, 12288]) zero(file, position, position + 512)
  const blind = OffsetLog(file)
  await blind.ready()
  t.deepEqual(blind.recovery.damage.map(({ offset }) => offset), [bytes.length])
  await blind.close()
  t.equal(fs.statSync(file).size, torn.length)
})

tape('open: what is wrong in the head is named, and the next close puts it right', async (t) => {
  const names = ['copy 1', 'slot 1', 'copy 2', 'slot 2', 'journal 1', '', 'journal 2']
  for (const [index, name] of names.entries()) {
    const offset = index * 4096
    if (name === '') continue
    for (const at of [offset, offset + 30, offset + 4000]) {
      const { file, records, bytes } = await makeLog()
      flip(file, at)
      const reader = OffsetLog(file, { flags: 'r' })
      await reader.ready()
      t.equal(reader.recovery?.flaws.length, 1, `${name}, byte ${at}`)
      t.equal(reader.recovery?.flaws[0]?.offset, offset)
      t.match(reader.recovery?.flaws[0]?.what ?? '', new RegExp(name))
      await reader.close()
      t.equal(fs.readFileSync(file).compare(bytes), fs.readFileSync(file)[at] > bytes[at] ? 1 : -1, 'a reader mends nothing')
      const log = OffsetLog(file)
      t.deepEqual((await readAll(log.stream())).seqs, seqsOf(records))
      await log.close()
      decodeLog(fs.readFileSync(file))
      const again = OffsetLog(file)
      await again.ready()
      t.equal(again.recovery, null)
      await again.close()
    }
  }
})

tape('open: a file whose headers are both damaged is refused, and left as it is', async (t) => {
  for (const offset of [0, 20]) {
    const { file } = await makeLog()
    flip(file, offset)
    flip(file, 8192 + offset)
    const before = fs.readFileSync(file)
    const log = OffsetLog(file)
    const err = await failureOf(() => log.ready())
    t.equal(err.code, offset === 0 ? 'ERR_LOG_UNKNOWN_FORMAT' : 'ERR_LOG_CORRUPT')
    await log.close()
    t.ok(fs.readFileSync(file).equals(before))
  }
})

tape('open: a file that ends within its head is damaged, whatever is left', async (t) => {
  const { file, bytes } = await makeLog()
  for (const size of [HEAD_SIZE - 1, 20000, 9000, 8192 + 64, 8192, 5000, 64]) {
    fs.writeFileSync(file, bytes.subarray(0, size))
    const log = OffsetLog(file)
    const err = await failureOf(() => log.append(Buffer.from('x')))
    t.equal(err.code, 'ERR_LOG_READ_ONLY', `${size} bytes`)
    t.equal((await readAll(log.stream())).err?.code, 'ERR_LOG_CORRUPT')
    await log.close()
    t.ok(fs.readFileSync(file).equals(bytes.subarray(0, size)))
  }
})

tape('verify: false believes what is there, and true does on every path', async (t) => {
  const { file, records } = await makeLog()
  flip(file, records[7].seq + 20)
  const trusting = OffsetLog(file, { verify: false })
  t.deepEqual(await readAll(trusting.stream()), { seqs: seqsOf(records), err: null })
  t.equal((await trusting.get(records[7].seq)).length, 200)
  await trusting.close()
  const { length } = records
  for (const options of [{ cache: 0 }, { blockSize: 512 }, { cache: 2 ** 24 }]) {
    const log = OffsetLog(file, options)
    for (let round = 0; round < 3; round++) {
      t.equal((await failureOf(() => log.get(records[7].seq))).code, 'ERR_LOG_CORRUPT')
      t.ok((await readAll(log.stream({ gte: records[6].seq }))).seqs.length < length - 6)
      t.equal((await failureOf(() => log.scan({ gt: records[6].seq }, () => {}))).code, 'ERR_LOG_CORRUPT')
    }
    await log.close()
  }
})

tape('verify: false erases nothing that is damaged, whose new checksums would hide that', async (t) => {
  const { file, records } = await makeLog()
  flip(file, records[7].seq + 20)
  const log = OffsetLog(file, { verify: false })
  await log.del(records[0].seq)
  t.equal((await failureOf(() => log.del(records[7].seq)))?.code, 'ERR_LOG_CORRUPT')
  await log.close()
  const again = OffsetLog(file)
  t.equal((await failureOf(() => again.get(records[0].seq))).code, 'flumelog:deleted')
  t.equal((await failureOf(() => again.get(records[7].seq))).code, 'ERR_LOG_CORRUPT')
  await again.close()
})

tape('del: a split record whose second page is damaged is left as it is', async (t) => {
  const { file, records } = await makeLog()
  flip(file, records[4].seq + 40000)
  const before = fs.readFileSync(file)
  const log = OffsetLog(file)
  t.equal((await failureOf(() => log.del([records[0].seq, records[4].seq]))).code, 'ERR_LOG_CORRUPT')
  t.ok(records[0].data.equals(await log.get(records[0].seq)))
  await log.close()
  t.ok(fs.readFileSync(file).subarray(HEAD_SIZE).equals(before.subarray(HEAD_SIZE)))
})

tape('open: a batch that ends too early is damage, when all of the file was durable', async (t) => {
  const file = newPath('log')
  const log = OffsetLog(file)
  const seq = await log.append(Buffer.from('before'))
  await log.append([Buffer.alloc(20000, 1), Buffer.alloc(20000, 2)])
  await log.close()
  for (const position of [4096, 12288]) zero(file, position, position + 512)
  // All chunks that are left are whole.
  truncate(file, HEAD_SIZE + 2 * PAGE_SIZE)
  const again = OffsetLog(file)
  await again.ready()
  t.equal(again.recovery.damage.length, 1)
  t.equal(again.recovery.damage[0].offset, seq + 10)
  const { seqs, err } = await readAll(again.stream())
  t.equal(seqs[0], seq)
  t.equal(err?.code, 'ERR_LOG_CORRUPT')
  t.equal((await failureOf(() => again.append(Buffer.from('x')))).code, 'ERR_LOG_READ_ONLY')
  await again.close()
})

tape('open: a log that was cut behind the back of its journals is damaged, and not written', async (t) => {
  const disk = new SimulatedDisk()
  const log = OffsetLog(FILE, { storage: disk.storage })
  const seqs = []
  for (const size of [100, 40000, 100]) seqs.push(await log.append(Buffer.alloc(size, 1)))
  await log.del(seqs[2])
  await log.sync()
  const bytes = disk.read(FILE)
  await log.close()
  const cut = new SimulatedDisk()
  cut.put(FILE, bytes.subarray(0, HEAD_SIZE + PAGE_SIZE))
  const before = cut.read(FILE)
  const again = OffsetLog(FILE, { storage: cut.storage })
  await again.ready()
  t.equal(again.recovery.damage.length, 1)
  t.deepEqual((await readAll(again.stream())).seqs, [seqs[0]])
  await again.close()
  t.ok(cut.read(FILE).equals(before))
})

tape('open: how many records were deleted may be unknown, and then nobody is told a wrong number', async (t) => {
  const disk = new SimulatedDisk()
  const log = OffsetLog(FILE, { storage: disk.storage })
  const seqs = []
  for (const size of [100, 100, 100]) seqs.push(await log.append(Buffer.alloc(size, 1)))
  await log.del(seqs[0])
  await log.close()
  for (const position of [4096, 12288]) disk.damage(FILE, (medium) => medium.fill(0, position, position + 512))
  const blind = OffsetLog(FILE, { storage: disk.storage })
  await blind.del(seqs[1])
  await blind.sync()
  const killed = disk.clone()
  await blind.close()
  for (const each of [killed, disk]) {
    for (const flags of ['r', 'r+']) {
      const again = OffsetLog(FILE, { storage: each.storage, flags })
      t.deepEqual(await readAll(again.stream()), { seqs: [seqs[2]], err: null })
      t.deepEqual(again.recovery?.damage ?? [], [])
      await again.close()
    }
  }
})

tape('a page of another log: it verifies nowhere else', async (t) => {
  const one = await makeLog()
  const other = await makeLog()
  for (const start of [HEAD_SIZE, HEAD_SIZE + PAGE_SIZE, HEAD_SIZE + 3 * PAGE_SIZE]) {
    const bytes = Buffer.from(one.bytes)
    other.bytes.copy(bytes, start, start, start + PAGE_SIZE)
    fs.writeFileSync(one.file, bytes)
    const log = OffsetLog(one.file)
    t.equal((await readAll(log.stream())).err?.code, 'ERR_LOG_CORRUPT')
    t.equal((await readAll(log.stream({ reverse: true }))).err?.code, 'ERR_LOG_CORRUPT')
    await log.close()
  }
})

tape('a page that recovery took back: one that the disk brings up again is not part of any record', async (t) => {
  // Of that record only the second page had reached the disk.
  const [lost, record] = [Buffer.alloc(20000, 'A'), Buffer.alloc(20000, 'B')]
  const { disk, taken, seqs: [seq], recovery } = await makeTakenBack(FILE, [lost], [record])
  t.equal(recovery.size, taken.length - HEAD_SIZE)
  disk.damage(FILE, (medium) => taken.copy(medium, HEAD_SIZE + PAGE_SIZE, HEAD_SIZE + PAGE_SIZE))
  const log = OffsetLog(FILE, { storage: disk.storage })
  t.equal((await failureOf(() => log.get(seq)))?.code, 'ERR_LOG_CORRUPT')
  for (const options of [{}, { reverse: true }, { gte: seq }]) {
    t.equal((await failureOf(() => log.scan(options, () => {})))?.code, 'ERR_LOG_CORRUPT', JSON.stringify(options))
  }
  const before = disk.read(FILE)
  const { code } = await failureOf(() => log.del(seq))
  t.ok(['ERR_LOG_CORRUPT', 'ERR_LOG_READ_ONLY'].includes(code), 'nothing that is damaged is erased')
  t.ok(disk.read(FILE).equals(before))
  await log.close()
})

tape('a page that recovery took back: one that verifies, chunk by chunk, does not follow the page before it', async (t) => {
  const lost = [Buffer.alloc(20000, 'A'), Buffer.alloc(50000, 'C')]
  const { disk, taken, seqs } = await makeTakenBack(FILE, lost, [Buffer.alloc(20000, 'B'), Buffer.alloc(50000, 'D')])
  const page = HEAD_SIZE + PAGE_SIZE
  disk.damage(FILE, (medium) => taken.copy(medium, page, page, page + PAGE_SIZE))
  const again = OffsetLog(FILE, { storage: disk.storage })
  await again.ready()
  t.equal(again.recovery, null)
  const before = disk.read(FILE)
  for (const seq of seqs) {
    t.equal((await failureOf(() => again.get(seq)))?.code, 'ERR_LOG_CORRUPT')
    t.equal((await failureOf(() => again.del(seq)))?.code, 'ERR_LOG_CORRUPT')
  }
  for (const reverse of [false, true]) {
    t.equal((await readAll(again.stream({ reverse }))).err?.code, 'ERR_LOG_CORRUPT')
    t.deepEqual((await readAll(again.stream({ reverse, onCorrupt: 'skip' }))).seqs, [])
  }
  t.ok(disk.read(FILE).equals(before))
  await again.close()
})

tape('a page from before a deletion: whoever reads all is told, and nobody gets half a record', async (t) => {
  const file = newPath('log')
  const log = OffsetLog(file)
  const seqs = []
  for (const size of [100, 30000, 100]) seqs.push(await log.append(Buffer.alloc(size, 7)))
  await log.sync()
  const before = fs.readFileSync(file)
  await log.del(seqs[1])
  await log.close()
  const after = fs.readFileSync(file)
  for (const pages of [[0], [1], [0, 1]]) {
    const bytes = Buffer.from(after)
    for (const page of pages) {
      const start = HEAD_SIZE + page * PAGE_SIZE
      before.copy(bytes, start, start, start + PAGE_SIZE)
    }
    fs.writeFileSync(file, bytes)
    const log = OffsetLog(file)
    const { err } = await readAll(log.stream())
    t.equal(err?.code, 'ERR_LOG_CORRUPT', `page ${pages}`)
    const data = await log.get(seqs[1]).catch((err) => err)
    const isWhole = Buffer.isBuffer(data) && data.equals(Buffer.alloc(30000, 7))
    t.ok(isWhole || ['flumelog:deleted', 'ERR_LOG_CORRUPT'].includes(data.code), 'old bytes, or none')
    await log.close()
  }
})

tape('reverse: damage behind the range, in the same page, is nobody\'s concern', async (t) => {
  const file = newPath('log')
  let log = OffsetLog(file)
  const seqs = []
  for (let i = 0; i < 5; i++) seqs.push(await log.append(Buffer.from(`record ${i}`)))
  await log.close()
  flip(file, fs.statSync(file).size - 3)
  log = OffsetLog(file)
  for (const reverse of [false, true]) {
    const found = (await collect(log.stream({ reverse, lte: seqs[2] }))).map(({ seq }) => seq)
    t.deepEqual(found, reverse ? seqs.slice(0, 3).reverse() : seqs.slice(0, 3))
    const err = await failureOf(async () => {
      for await (const { seq } of log.stream({ reverse, lte: seqs[4] })) found.push(seq)
    })
    t.equal(err?.code, 'ERR_LOG_CORRUPT', 'in the range it is')
  }
  await log.close()
})

tape('damage: a reader that looks again finds again that a page does not follow the one before', async (t) => {
  const folder = temporaryFolder()
  const [file, other] = ['log', 'other'].map((name) => path.join(folder, name))
  const first = OffsetLog(file)
  await first.append(Buffer.alloc(16240, 1))
  await first.close()
  fs.copyFileSync(file, other)
  // A page a record. Two logs that went on from the same one: their chunks verify in each other's place.
  for (const [at, fill] of [[file, 2], [other, 3]]) {
    const log = OffsetLog(at)
    for (let left = 8; left > 0; left--) await log.append(Buffer.alloc(16240, fill))
    await log.close()
  }
  const [good, others] = [fs.readFileSync(file), fs.readFileSync(other)]
  for (let turn = 4; turn < 18; turn++) {
    // Wherever one span ends that is read, and the next begins.
    const page = HEAD_SIZE + (turn >> 1) * PAGE_SIZE
    const onCorrupt = turn % 2 ? 'error' : 'skip'
    const bytes = Buffer.from(good)
    others.copy(bytes, page, page, page + PAGE_SIZE)
    fs.writeFileSync(file, bytes)
    const found = []
    for (const flags of ['r+', 'r']) {
      const log = OffsetLog(file, { flags, onCorrupt })
      const seqs = []
      const onRecords = (chunk) => { seqs.push(...chunk.seqs.subarray(0, chunk.count)) }
      const result = await log.scan({}, onRecords).catch(({ code, message }) => ({ code, message }))
      found.push({ seqs, result })
      await log.close()
    }
    t.deepEqual(found[1], found[0])
    t.match(JSON.stringify(found[0].result), onCorrupt === 'error' ? /its link to the chunk before/ : /"count":[12]/)
  }
})
