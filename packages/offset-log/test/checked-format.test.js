'use strict'
// The checked framing against docs/internals/format.md: what is written reads by that page, and what that page allows
// is read.

const fs = require('node:fs')
const tape = require('tape')
const { collect, createRandom, failureOf, inQuickRuns, newPath } = require('@millrace/testkit')
const { OffsetLog } = require('..')
const { LogBuilder, buildRandomLog, randomData, randomSize } = require('../../framing/test/checked-builder')
const { crc, decodeLog, findLosses } = require('../../framing/test/checked-oracle')

const PAGE_SIZE = 16384
const HEAD_SIZE = 32768
const seed = Date.now() % 2 ** 31

function putFile (bytes) {
  const file = newPath('log')
  fs.writeFileSync(file, bytes)
  return file
}

async function scanAll (log, options = {}) {
  const items = []
  await log.scan(options, ({ buffer, count, seqs, starts, ends }) => {
    for (let index = 0; index < count; index++) {
      items.push({ seq: seqs[index], value: Buffer.from(buffer.subarray(starts[index], ends[index])) })
    }
  })
  return items
}

/** @returns {string | null}  how two lists of records differ */
function difference (found, expected) {
  if (found.length !== expected.length) return `${found.length} records instead of ${expected.length}`
  const index = found.findIndex(({ seq, value }, index) => {
    return seq !== expected[index].seq || !value.equals(expected[index].data)
  })
  return index === -1 ? null : `record ${index}: ${found[index].seq} instead of ${expected[index].seq}`
}

/** What `since` is once a log of these frames is opened. */
function lastOf (frames) {
  return frames.findLast(({ isErased }) => !isErased)?.seq ?? -1
}

/** Every way of reading gives what the frames say. */
async function checkReads (t, log, frames, random, name, since = lastOf(frames)) {
  await log.ready()
  const there = frames.filter(({ isErased }) => !isErased)
  const compare = (found, expected, what) => {
    const fault = difference(found, expected)
    if (fault) t.fail(`${name}: ${what}: ${fault}`)
  }
  if (log.since.value !== since) t.fail(`${name}: since is ${log.since.value}, not ${since}`)
  compare(await collect(log.stream()), there, 'stream')
  compare(await scanAll(log), there, 'scan')
  compare(await collect(log.stream({ reverse: true })), [...there].reverse(), 'reverse')
  const seqs = new Set(frames.map(({ seq }) => seq))
  for (const { seq, data, isErased } of frames) {
    const found = await log.get(seq).catch((err) => err)
    if (isErased ? found.code !== 'flumelog:deleted' : !data.equals(found)) t.fail(`${name}: get(${seq}): ${found}`)
    const other = seq + [-1, 1, 4, -40][random(4)]
    if (seqs.has(other)) continue
    const err = await failureOf(() => log.get(other))
    // Between records compaction, or an unclean end, may have left something out.
    const leftOut = log._file.store.rules.hasGaps ? ['flumelog:deleted'] : []
    const codes = ['ERR_RECORD_NOT_FOUND', 'ERR_LOG_SEQ_LOST', ...leftOut]
    if (!codes.includes(err?.code)) t.fail(`${name}: get(${other}), where nothing begins: ${err?.stack}`)
  }
  for (let round = 0; round < inQuickRuns(30); round++) {
    const options = randomRange(random, frames)
    const expected = applyRange(there, options)
    const check = async (/** @type {() => Promise<any>} */ read, /** @type {string} */ what) => {
      const found = await read().catch((err) => err)
      if (found.code === 'ERR_LOG_SEQ_LOST' && beginsInLoss(log.filename, options)) return
      if (found instanceof Error) throw found
      compare(found, expected, what)
    }
    await check(() => collect(log.stream(options)), JSON.stringify(options))
    await check(() => scanAll(log, options), `scan ${JSON.stringify(options)}`)
  }
}

/** Whether the range begins where an unclean end left positions out: seq-lost.test.js says exactly where that fails. */
function beginsInLoss (file, { gt, gte, lt, lte, reverse }) {
  const losses = findLosses(fs.readFileSync(file))
  const bounds = reverse ? [gt, gte, lt, lte] : [gt, gte]
  return bounds.some((bound) => losses.some(({ end, position }) => bound >= end - 1 && bound <= position + 1))
}

/** Bounds at seqs, beside them, and far from all. */
function randomRange (random, frames) {
  const bound = () => {
    const { seq } = frames.length > 0 ? frames[random(frames.length)] : { seq: HEAD_SIZE }
    return seq + [0, 0, 0, 1, -1, 5, random(100000), -random(100000)][random(8)]
  }
  const options = { reverse: random(2) === 0 }
  if (random(2)) options[['gt', 'gte'][random(2)]] = bound()
  if (random(2)) options[['lt', 'lte'][random(2)]] = bound()
  if (random(3) === 0) options.limit = random(5)
  return options
}

function applyRange (records, { gt = -1, gte = -1, lt = Infinity, lte = Infinity, reverse, limit = Infinity }) {
  const inside = records.filter(({ seq }) => seq > gt && seq >= gte && seq < lt && seq <= lte)
  return (reverse ? inside.reverse() : inside).slice(0, limit)
}

tape(`writer: what is appended and deleted decodes by the page, and reads back every way (seed ${seed})`, async (t) => {
  const random = createRandom(seed)
  for (let round = 0; round < inQuickRuns(15); round++) {
    const file = newPath('log')
    const frames = []
    for (let opening = 1 + random(3); opening > 0; opening--) {
      const log = OffsetLog(file, { fsync: ['always', 'interval', 'never'][random(3)], blockSize: 1024 << random(8) })
      for (let step = 1 + random(8); step > 0; step--) await takeStep(log, frames, random)
      await log.close()
      const decoded = decodeLog(fs.readFileSync(file))
      const found = decoded.frames.map(({ seq, data }) => ({ seq, value: data }))
      const fault = difference(found, frames.map(({ seq, data, isErased }) => {
        return { seq, data: isErased ? Buffer.alloc(data.length) : data }
      }))
      if (fault) t.fail(`round ${round}: ${fault}`)
      if (decoded.slot.erased === null) t.fail(`round ${round}: the number of deletions is known`)
    }
    const log = OffsetLog(file, { cache: 2 ** 18 })
    await checkReads(t, log, frames, random, `round ${round}`)
    if (log.recovery !== null) t.fail(`round ${round}: ${JSON.stringify(log.recovery)}`)
    await log.close()
  }
  t.pass('15 logs')
})

/** Appends a batch, or several at once, or deletes. */
async function takeStep (log, frames, random) {
  if (random(4) === 0 && frames.length > 0) {
    const chosen = Array.from({ length: 1 + random(6) }, () => frames[random(frames.length)])
    await log.del(chosen.map(({ seq }) => seq))
    for (const frame of chosen) frame.isErased = true
    return
  }
  const batches = Array.from({ length: 1 + random(3) }, () => {
    const count = random(6) === 0 ? 500 : 1 + random(5)
    return Array.from({ length: count }, () => randomData(random, count > 5 ? random(80) : randomSize(random)))
  })
  const before = frames.at(-1)?.seq ?? -1
  const lasts = await Promise.all(batches.map((batch) => log.append(batch)))
  const seqs = await collect(log.stream({ gt: before, values: false }))
  const added = batches.flat().map((data, index) => ({ seq: seqs[index], data, isErased: false }))
  frames.push(...added)
  let count = 0
  batches.forEach((batch, index) => {
    count += batch.length
    if (added[count - 1].seq !== lasts[index]) throw new Error(`append gave ${lasts[index]}, not ${added[count - 1].seq}`)
  })
}

tape(`reader: everything that the page allows is read, in files that no writer made (seed ${seed})`, async (t) => {
  const random = createRandom(seed)
  for (let round = 0; round < inQuickRuns(40); round++) {
    const builder = buildRandomLog(random, { steps: 10 + random(100) })
    const bytes = builder.build()
    const decoded = decodeLog(bytes)
    if (decoded.frames.length !== builder.frames.length) t.fail('the oracle reads what the builder makes')
    const log = OffsetLog(putFile(bytes), { flags: ['r', 'r+'][random(2)], cache: [0, 2 ** 18][random(2)] })
    if (random(2)) log._file.blocks._file.adaptiveIo.mayBlock = () => false
    await checkReads(t, log, builder.frames, random, `round ${round}`)
    if (log.recovery !== null) t.fail(`round ${round}: ${JSON.stringify(log.recovery)}`)
    await log.close()
  }
  t.pass('40 logs')
})

tape(`reader: a file with gaps goes on, loses records, and keeps every seq (seed ${seed})`, async (t) => {
  const random = createRandom(seed)
  for (let round = 0; round < inQuickRuns(12); round++) {
    const builder = buildRandomLog(random, { steps: 50, hasGaps: true })
    const { frames } = builder
    const file = putFile(builder.build())
    const log = OffsetLog(file)
    await log.ready()
    const { length } = frames
    const before = lastOf(frames)
    for (let step = 0; step < 6; step++) await takeStep(log, frames, random)
    // No deletion moves it; the next opening does.
    const since = frames.length > length ? frames.at(-1).seq : before
    await checkReads(t, log, frames, random, `round ${round}, before closing`, since)
    await log.close()
    decodeLog(fs.readFileSync(file))
    const again = OffsetLog(file)
    await checkReads(t, again, frames, random, `round ${round}, after closing`)
    await again.close()
  }
  t.pass('12 logs')
})

tape(`reader: a file with gaps whose slots are both lost goes on behind its last record (seed ${seed})`, async (t) => {
  const random = createRandom(seed)
  for (let round = 0; round < inQuickRuns(12); round++) {
    const builder = buildRandomLog(random, { steps: 30, hasGaps: true })
    const { frames } = builder
    const bytes = builder.build()
    bytes[4096 + 20] ^= 1
    bytes[12288 + 20] ^= 1
    const file = putFile(bytes)
    const log = OffsetLog(file, { cache: 2 ** 18 })
    await checkReads(t, log, frames, random, `round ${round}`)
    t.deepEqual(log.recovery.flaws.map(({ offset }) => offset), [4096, 12288])
    t.deepEqual(log.recovery.damage, [])
    await takeStep(log, frames, random)
    await log.close()
    decodeLog(fs.readFileSync(file))
    const again = OffsetLog(file)
    await checkReads(t, again, frames, random, `round ${round}, after closing`)
    await again.close()
  }
})

tape('reader: a live stream and since go on over gaps', async (t) => {
  const builder = buildRandomLog(createRandom(7), { steps: 40, hasGaps: true })
  const log = OffsetLog(putFile(builder.build()))
  const live = log.stream({ live: true, old: false })
  const seqs = []
  const reading = (async () => {
    for await (const { seq } of live) {
      seqs.push(seq)
      if (seqs.length === 3) break
    }
  })()
  await log.ready()
  const appended = []
  for (const size of [10, 40000, 0]) appended.push(await log.append(Buffer.alloc(size, 1)))
  await reading
  t.deepEqual(seqs, appended)
  t.equal(log.since.value, appended[2])
  await log.close()
})

tape('header: another version, flag or checksum is refused, and nothing is written', async (t) => {
  for (const [offset, value, what] of [[9, 2, 'version'], [11, 4, 'flag'], [10, 128, 'flag'], [38, 2, 'checksum']]) {
    for (const positions of [[0, 8192], [8192]]) {
      const bytes = new LogBuilder().build()
      for (const position of positions) {
        bytes[position + offset] = value
        bytes.writeUInt32BE(crc(bytes.subarray(position, position + 60)), position + 60)
      }
      const file = putFile(bytes)
      for (const flags of ['r', 'r+']) {
        const log = OffsetLog(file, { flags })
        t.equal((await failureOf(() => log.ready())).code, 'ERR_LOG_UNKNOWN_FORMAT', `${what} ${value}`)
        await log.close()
      }
      t.ok(fs.readFileSync(file).equals(bytes))
    }
  }
})

tape('header: seqs above 2^47 work, and one above 2^48 is refused with ERR_LOG_FULL', async (t) => {
  const base = 2 ** 48 - 3 * PAGE_SIZE
  const file = putFile(new LogBuilder({ base }).build())
  const log = OffsetLog(file)
  const seqs = [await log.append(Buffer.from('a')), await log.append(Buffer.alloc(20000, 'b'))]
  t.deepEqual(seqs, [base + 40, base + 85])
  const err = await failureOf(() => log.append(Buffer.alloc(40000, 'c')))
  t.equal(err.code, 'ERR_LOG_FULL')
  seqs.push(await log.append(Buffer.from('d')))
  t.equal((await log.get(seqs[2])).toString(), 'd')
  t.deepEqual((await collect(log.stream({ values: false, gt: seqs[0] }))), seqs.slice(1))
  await log.close()
  t.equal(decodeLog(fs.readFileSync(file)).frames.length, 3)
})

tape('reader: a length that lies is bounded by the file and by maxRecordSize before anything is allocated', async (t) => {
  for (const size of [2 ** 30 - 1, 2 ** 29, 70000, 17000]) {
    const builder = new LogBuilder()
    builder.open()
    builder.record(Buffer.from('before'))
    builder.gap(0)
    builder.pad()
    builder.close({ commitContinues: false })
    builder.open()
    builder.record(Buffer.from('behind'))
    builder.close({ commitContinues: false })
    const bytes = builder.build()
    // What was a gap is a record now, of that size, in a chunk that verifies.
    const at = HEAD_SIZE + 40 + 10
    bytes.writeUInt32BE(size, at)
    forge(bytes, HEAD_SIZE)
    const log = OffsetLog(putFile(bytes))
    const seq = at
    const calls = [
      () => log.get(seq), () => collect(log.stream({ gte: seq })), () => scanAll(log),
      () => collect(log.stream({ reverse: true }))
    ]
    for (const call of calls) {
      const used = process.memoryUsage().rss
      const err = await failureOf(call)
      t.equal(err?.code, 'ERR_LOG_CORRUPT', `${size}: ${err?.message}`)
      if (process.memoryUsage().rss - used > 2 ** 27) t.fail(`${size}: memory grew by ${process.memoryUsage().rss - used}`)
    }
    await log.close()
    const small = OffsetLog(log.filename, { maxRecordSize: 1000 })
    for (const call of [() => small.get(seq), () => collect(small.stream({ gte: seq })), () => scanAll(small)]) {
      t.equal((await failureOf(call))?.code, 'ERR_RECORD_TOO_LARGE')
    }
    await small.close()
  }
})

tape('reader: each rule of a good chunk, broken by one whose checksums are right', async (t) => {
  const broken = {
    'a size that reaches past its page': (bytes, at) => bytes.writeUInt16BE(PAGE_SIZE - 39, at + 8),
    'a size that reaches past the file': (bytes, at) => bytes.writeUInt16BE(bytes.readUInt16BE(at + 8) + 1, at + 8),
    'fewer bytes than it continues': (bytes, at) => bytes.writeUInt16BE(bytes.readUInt16BE(at + 8) + 1, at + 28),
    'fewer bytes than a length': (bytes, at) => bytes.writeUInt16BE(3, at + 8),
    'an unknown flag': (bytes, at) => { bytes[at + 11] |= 16 },
    'another place': (bytes, at) => bytes.writeUIntBE(at + 1, at + 16, 6),
    'the rest of a record, in the middle of a page': (bytes, at) => bytes.writeUInt16BE(4, at + 28),
    'a lower epoch': (bytes, at) => bytes.writeUInt32BE(1, at + 12),
    'another chunk before it': (bytes, at) => { bytes[at + 32] ^= 1 }
  }
  for (const [what, change] of Object.entries(broken)) {
    const builder = new LogBuilder({ epoch: 2 })
    const starts = []
    for (const text of ['first', 'second', 'third']) {
      starts.push(builder.at)
      builder.open()
      builder.record(Buffer.from(text.repeat(3)))
      builder.close({ commitContinues: false })
    }
    const bytes = builder.build()
    const at = what.endsWith('the file') ? starts[2] : starts[1]
    change(bytes, at)
    sign(bytes, at)
    const log = OffsetLog(putFile(bytes), { flags: 'r' })
    const seqs = []
    const err = await failureOf(async () => {
      for await (const { seq } of log.stream()) seqs.push(seq)
    })
    t.equal(err?.code, 'ERR_LOG_CORRUPT', what)
    t.equal(err?.offset, at)
    t.deepEqual(seqs, starts.slice(0, starts.indexOf(at)).map((start) => start + 40))
    t.equal((await failureOf(() => collect(log.stream({ reverse: true }))))?.code, 'ERR_LOG_CORRUPT')
    t.equal((await failureOf(() => log.get(at + 40)))?.code, 'ERR_LOG_CORRUPT')
    t.equal(String(await log.get(starts[0] + 40)), 'firstfirstfirst')
    await log.close()
  }
})

tape('reader: bytes that are not zero where a page ends, and a page that is only begun', async (t) => {
  const builder = new LogBuilder()
  for (const size of [PAGE_SIZE - 44 - 30, 100, 100]) {
    builder.open()
    builder.record(Buffer.alloc(size, 1))
    builder.close({ commitContinues: false })
  }
  const { frames } = builder
  const bytes = builder.build()
  bytes[HEAD_SIZE + PAGE_SIZE - 5] = 1
  const log = OffsetLog(putFile(bytes))
  for (const options of [{}, { reverse: true }]) {
    t.equal((await failureOf(() => collect(log.stream(options))))?.code, 'ERR_LOG_CORRUPT')
  }
  t.equal((await collect(log.stream({ onCorrupt: 'skip' }))).length, 3)
  t.equal((await collect(log.stream({ onCorrupt: 'skip', reverse: true }))).length, 3)
  t.equal((await collect(log.stream({ gt: frames[1].seq }))).length, 1)
  for (const { seq, data } of frames) t.ok(data.equals(await log.get(seq)))
  await log.close()
  // A slot says that all was durable: what is left of the last chunk's header is damage.
  for (const size of [1, 39]) {
    const cut = builder.build().subarray(0, HEAD_SIZE + PAGE_SIZE + 144 + size)
    const log = OffsetLog(putFile(cut))
    await log.ready()
    t.deepEqual(log.recovery.damage.map(({ offset }) => offset), [HEAD_SIZE + PAGE_SIZE + 144])
    t.equal((await failureOf(() => collect(log.stream())))?.code, 'ERR_LOG_CORRUPT')
    t.equal((await collect(log.stream({ onCorrupt: 'skip' }))).length, 2)
    t.ok(frames[1].data.equals(await log.get(frames[1].seq)))
    await log.close()
  }
})

tape('reader: a page that does not follow the one before it, in both directions', async (t) => {
  const builder = new LogBuilder()
  for (let page = 0; page < 4; page++) {
    builder.open()
    builder.record(Buffer.alloc(200, page))
    builder.record(Buffer.alloc(300, page))
    builder.pad()
    builder.close({ commitContinues: false })
  }
  const { frames } = builder
  const bytes = builder.build()
  const at = HEAD_SIZE + 2 * PAGE_SIZE
  bytes[at + 32] ^= 1
  sign(bytes, at)
  // The page after it knows this one by its new checksum.
  bytes.writeUInt32BE(bytes.readUInt32BE(at), at + PAGE_SIZE + 32)
  sign(bytes, at + PAGE_SIZE)
  const log = OffsetLog(putFile(bytes), { flags: 'r' })
  for (const [options, count] of [[{}, 4], [{ reverse: true }, 4]]) {
    const seqs = []
    const err = await failureOf(async () => {
      for await (const { seq } of log.stream(options)) seqs.push(seq)
    })
    t.equal(err?.code, 'ERR_LOG_CORRUPT')
    t.equal(seqs.length, count)
    t.equal((await collect(log.stream({ ...options, onCorrupt: 'skip' }))).length >= 6, true)
  }
  for (const { seq, data } of frames) t.ok(data.equals(await log.get(seq)), 'a record lies within its chunk')
  await log.close()
})

tape('reader: damage where a seq is looked for among gaps', async (t) => {
  const builder = new LogBuilder({ hasGaps: true })
  for (let page = 0; page < 8; page++) {
    builder.jump(5000)
    builder.open()
    builder.record(Buffer.alloc(500, page))
    builder.gap(300)
    builder.record(Buffer.alloc(500, page))
    builder.pad()
    builder.close({ commitContinues: false })
  }
  const { frames } = builder
  const bytes = builder.build()
  const hurtPage = 4
  bytes[HEAD_SIZE + hurtPage * PAGE_SIZE + 20] ^= 1
  const file = putFile(bytes)
  const log = OffsetLog(file)
  await log.ready()
  for (const [index, { seq, data }] of frames.entries()) {
    const found = await log.get(seq).catch((err) => err)
    // Its own page may be good, and one on the way to it not.
    if (Buffer.isBuffer(found) ? !found.equals(data) : found.code !== 'ERR_LOG_CORRUPT') t.fail(`record ${index}: ${found}`)
    const { value: err, values } = await collectUntilError(log.stream({ gte: seq }))
    if (err?.code !== 'ERR_LOG_CORRUPT' && values.length < frames.length - index) t.fail(`from record ${index}: ${err}`)
    const skipped = await collect(log.stream({ gte: seq, onCorrupt: 'skip' }))
    const expected = frames.slice(index).filter((frame, at) => Math.floor((index + at) / 2) !== hurtPage)
    const fault = difference(skipped, expected)
    if (fault) t.fail(`from record ${index}, skipping: ${fault}`)
  }
  t.equal((await failureOf(() => collect(log.stream({ reverse: true })))).code, 'ERR_LOG_CORRUPT')
  t.equal((await failureOf(() => log.del(frames[2 * hurtPage].seq))).code, 'ERR_LOG_CORRUPT')
  await log.close()
})

async function collectUntilError (source) {
  const values = []
  const value = await failureOf(async () => {
    for await (const item of source) values.push(item)
  })
  return { value, values }
}

tape('maxRecordSize: a log is opened all the same when its last records are larger', async (t) => {
  const file = newPath('log')
  const log = OffsetLog(file, { fsync: 'never' })
  const first = await log.append(Buffer.alloc(10, 1))
  const last = await log.append(Buffer.alloc(50000, 1))
  await log.append(Buffer.alloc(40000, 1))
  await log.del(log.since.value)
  const copy = putFile(fs.readFileSync(file))
  await log.close()
  const small = OffsetLog(copy, { maxRecordSize: 1000 })
  await small.ready()
  t.equal(small.since.value, last)
  t.equal((await failureOf(() => collect(small.stream({ reverse: true })))).code, 'ERR_RECORD_TOO_LARGE')
  t.equal((await collect(small.stream({ lt: last })))[0].seq, first)
  await small.del(last)
  t.equal((await collect(small.stream({ reverse: true }))).length, 1)
  await small.close()
})

/** Gives a chunk whose payload was changed the checksums that it should have. The chunk after it must not care. */
function forge (bytes, at) {
  const size = bytes.readUInt16BE(at + 8)
  const before = bytes.readUInt32BE(at)
  bytes.writeUInt32BE(crc(bytes.subarray(at + 40, at + 40 + size)), at + 4)
  // As if something had been erased: then its neighbour knows it by what it was.
  bytes[at + 11] |= 2
  bytes.writeUInt32BE(before, at + 36)
  sign(bytes, at)
}

/** Gives a chunk's header, and the payload that it says it has, the checksums that they should have. */
function sign (bytes, at) {
  const size = bytes.readUInt16BE(at + 8)
  bytes.writeUInt32BE(crc(bytes.subarray(at + 40, at + 40 + size)), at + 4)
  bytes.writeUInt32BE(crc(bytes.subarray(at + 4, at + 40), bytes.readUInt32BE(12)), at)
}
