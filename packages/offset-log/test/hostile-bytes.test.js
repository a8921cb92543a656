'use strict'
// Bytes that no writer leaves, and that `npm run fuzz` found a way to be misled by: each by its name.

const fs = require('node:fs')
const { crc32 } = require('node:zlib')
const tape = require('tape')
const { collect, failureOf, newPath } = require('@millrace/testkit')
const { OffsetLog } = require('..')
const { LogBuilder } = require('../../framing/test/checked-builder')
const { countReads } = require('./count-reads')

const HEAD_SIZE = 32768
const SLOTS = [4096, 12288]
const SLOT_SIZE = 512
const JOURNALS = [16384, 24576]
const JOURNAL_SIZE = 8192
const SALT = 0x01020304

/** A log by hand, of one record a chunk. */
function buildLog (datas = ['one', 'two', 'three']) {
  const builder = new LogBuilder({ salt: SALT })
  for (const data of datas) {
    builder.open()
    builder.record(Buffer.from(data))
    builder.close({ commitContinues: false })
  }
  return { bytes: builder.build(), seqs: builder.frames.map(({ seq }) => seq) }
}

/** Makes the checksum of a part of the head right again. */
function seal (bytes, start, size) {
  bytes.writeUInt32BE(crc32(bytes.subarray(start + 4, start + size), SALT), start)
}

/** Both slots say the same. */
function setSlots (bytes, offset, width, value) {
  for (const start of SLOTS) {
    bytes.writeUIntBE(value, start + offset, width)
    seal(bytes, start, SLOT_SIZE)
  }
}

function writeLog (bytes) {
  const file = newPath('log')
  fs.writeFileSync(file, bytes)
  return file
}

async function readAll (log) {
  return (await collect(log.stream())).map(({ value }) => value.toString())
}

tape('get: a damaged record of many pages, in a log that another process may write, is reported and not looked for for ever', async (t) => {
  const data = Buffer.alloc(200_000, 'large ')
  const { bytes, seqs: [seq] } = buildLog([data])
  bytes[HEAD_SIZE + 150_000] ^= 1
  const log = OffsetLog(writeLog(bytes), { flags: 'r' })
  t.equal((await failureOf(() => log.get(seq))).code, 'ERR_LOG_CORRUPT')
  await log.close()
})

tape('open: a slot whose checksum is right but which cannot be is not believed, and nothing is cut', async (t) => {
  // The end within the head, the logical end elsewhere, the last record elsewhere; numbers that nothing can follow.
  const lies = [[14, 6, 0], [14, 6, 20000], [20, 6, HEAD_SIZE], [26, 6, 1], [26, 6, 2 ** 40], [4, 6, 2 ** 48 - 1],
    [4, 6, 2 ** 48 - 2], [32, 6, 2 ** 48 - 1]]
  for (const [offset, width, value] of lies) {
    const { bytes } = buildLog()
    setSlots(bytes, offset, width, value)
    const file = writeLog(bytes)
    const log = OffsetLog(file)
    await log.ready()
    t.equal(log.recovery.flaws.length, 2, `${value} at ${offset}`)
    t.deepEqual(await readAll(log), ['one', 'two', 'three'])
    const seq = await log.append(Buffer.from('four'))
    await log.close()
    const again = OffsetLog(file, { flags: 'r' })
    t.equal((await again.get(seq)).toString(), 'four')
    t.deepEqual(await readAll(again), ['one', 'two', 'three', 'four'])
    await again.close()
  }
})

/** An entry that erases the first record of the log that `buildLog` makes, as bytes. */
function entryOf ({ position = HEAD_SIZE, size = 7, count = 1, patches = [[0, 3, 2 ** 31 + 3]] } = {}) {
  const entry = Buffer.alloc(48 + patches.length * 8)
  entry.writeUIntBE(position, 0, 6)
  entry.writeUInt16BE(size, 6 + 8)
  entry.writeUInt16BE(count, 46)
  for (const [index, [offset, zeros, mark]] of patches.entries()) {
    entry.writeUInt16BE(offset, 48 + index * 8)
    entry.writeUInt16BE(zeros, 50 + index * 8)
    entry.writeUInt32BE(mark, 52 + index * 8)
  }
  return entry
}

tape('open: a journal whose checksum is right but which cannot be is no journal', async (t) => {
  const lies = {
    'more entries than there is room for': { count: 65535 },
    'more patches than there is room for': { entries: [entryOf({ count: 65535 })] },
    'a patch that begins behind its chunk': { entries: [entryOf({ patches: [[9000, 3, 2 ** 31 + 3]] })] },
    'a patch that ends behind its chunk': { entries: [entryOf({ patches: [[0, 60000, 0]] })] },
    'a chunk in the head': { entries: [entryOf({ position: 0 })] },
    'a chunk that crosses a page': { entries: [entryOf({ position: HEAD_SIZE + 16384 - 44 })] },
    'a chunk twice': { entries: [entryOf(), entryOf()] },
    'the same bytes again and again': { entries: [entryOf({ count: 3, patches: [[0, 7, 0], [0, 7, 0], [0, 7, 0]] })] },
    'the round of the other area': { round: 3 },
    'a round that nothing can follow': { round: 2 ** 48 - 1, area: 1 }
  }
  for (const [name, { entries = [entryOf()], count = entries.length, round = 2, area = 0 }] of Object.entries(lies)) {
    const { bytes } = buildLog()
    const journal = Buffer.alloc(JOURNAL_SIZE)
    journal.writeUIntBE(round, 4, 6)
    journal.writeUInt16BE(count, 16)
    Buffer.concat(entries).copy(journal, 20)
    journal.copy(bytes, JOURNALS[area])
    seal(bytes, JOURNALS[area], JOURNAL_SIZE)
    const file = writeLog(bytes)
    for (const flags of ['r', 'r+']) {
      const log = OffsetLog(file, { flags })
      await log.ready()
      t.deepEqual(log.recovery.flaws.map(({ what }) => what), [`journal ${area + 1}`], name)
      t.deepEqual(await readAll(log), ['one', 'two', 'three'])
      await log.close()
    }
    t.ok(fs.readFileSync(file).subarray(16384, HEAD_SIZE).every((byte) => byte === 0), 'it is gone afterwards')
  }
})

tape('open: a journal of a chunk that the file does not have all of any more', async (t) => {
  const { bytes } = buildLog()
  const journal = Buffer.alloc(JOURNAL_SIZE)
  journal.writeUIntBE(2, 4, 6)
  journal.writeUInt16BE(1, 16)
  entryOf({ position: HEAD_SIZE + 94, size: 9, patches: [[0, 5, 2 ** 31 + 5]] }).copy(journal, 20)
  journal.copy(bytes, JOURNALS[0])
  seal(bytes, JOURNALS[0], JOURNAL_SIZE)
  for (const flags of ['r', 'r+']) {
    const log = OffsetLog(writeLog(bytes.subarray(0, bytes.length - 3)), { flags })
    await log.ready()
    t.equal(log.recovery.damage.length, 1)
    t.equal((await failureOf(() => readAll(log))).code, 'ERR_LOG_CORRUPT')
    await log.close()
  }
})

tape('open: a chunk that says of more erased records than it can have is damaged', async (t) => {
  const { bytes, seqs } = buildLog()
  const start = seqs[2] - 40
  bytes.writeUInt16BE(65535, start + 30)
  seal(bytes, start, 40)
  setSlots(bytes, 38, 4, bytes.readUInt32BE(start))
  const file = writeLog(bytes)
  const log = OffsetLog(file)
  const err = await failureOf(() => readAll(log))
  t.equal(err.code, 'ERR_LOG_CORRUPT')
  t.equal(err.offset, start)
  await log.close()
  t.ok(fs.readFileSync(file).equals(bytes), 'nothing is written')
})

tape('open: a chunk that says of something behind it that it was on stable storage is damaged', async (t) => {
  const { bytes, seqs } = buildLog()
  const start = seqs[1] - 40
  bytes.writeUIntBE(start + 1, start + 22, 6)
  seal(bytes, start, 40)
  const log = OffsetLog(writeLog(bytes))
  const err = await failureOf(() => readAll(log))
  t.equal(err.code, 'ERR_LOG_CORRUPT')
  t.equal(err.offset, start)
  await log.close()
})

tape('open: a chunk that reaches past the last position that there is is damaged', async (t) => {
  const { bytes, seqs } = buildLog()
  for (const start of [0, 8192]) {
    bytes.writeUInt16BE(3, start + 10)
    bytes.writeUIntBE(2 ** 48 - 2, start + 32, 6)
    bytes.writeUInt32BE(crc32(bytes.subarray(start, start + 60)), start + 60)
  }
  const start = seqs[0] - 40
  bytes.writeUIntBE(2 ** 48 - 2, start + 16, 6)
  seal(bytes, start, 40)
  for (const slot of SLOTS) bytes.fill(0, slot, slot + SLOT_SIZE)
  const log = OffsetLog(writeLog(bytes))
  await log.ready()
  t.deepEqual(log.recovery.damage.map(({ offset }) => offset), [start])
  t.equal((await failureOf(() => log.append(Buffer.from('more')))).code, 'ERR_LOG_READ_ONLY')
  await log.close()
})

tape('append: after the last epoch that there is', async (t) => {
  for (const epoch of [2 ** 32 - 2, 2 ** 32 - 1]) {
    const { bytes, seqs } = buildLog()
    const start = seqs[2] - 40
    bytes.writeUInt32BE(epoch, start + 12)
    seal(bytes, start, 40)
    // As after a crash: the checkpoint is older.
    setSlots(bytes, 14, 6, start)
    setSlots(bytes, 20, 6, start)
    setSlots(bytes, 26, 6, seqs[1] + 1)
    setSlots(bytes, 38, 4, bytes.readUInt32BE(seqs[1] - 40))
    const file = writeLog(bytes)
    for (const data of ['four', 'five']) {
      const log = OffsetLog(file)
      await log.append(Buffer.from(data))
      await log.close()
    }
    const log = OffsetLog(file)
    t.deepEqual(await readAll(log), ['one', 'two', 'three', 'four', 'five'], String(epoch))
    t.equal(log.recovery, null)
    await log.close()
  }
})

tape('reader: a gap in a log that was never compacted moves nothing', async (t) => {
  const builder = new LogBuilder({ salt: SALT })
  for (const data of ['one', 'two']) {
    builder.open()
    builder.gap(1000)
    builder.shift -= 1000
    builder.record(Buffer.from(data))
    builder.close({ commitContinues: false })
  }
  const file = writeLog(builder.build())
  const log = OffsetLog(file)
  const forward = []
  await log.scan({}, ({ seqs, count }) => { forward.push(...seqs.subarray(0, count)) })
  const backward = []
  await log.scan({ reverse: true }, ({ seqs, count }) => { backward.push(...seqs.subarray(0, count)) })
  t.deepEqual(forward, builder.frames.map(({ seq }) => seq))
  t.deepEqual(backward, [...forward].reverse())
  for (const seq of [...forward, await log.append(Buffer.from('three'))]) t.equal((await log.get(seq)).length > 2, true, String(seq))
  await log.close()
})

tape('get: in a log with gaps that was cut off within its head', async (t) => {
  const builder = new LogBuilder({ salt: SALT, hasGaps: true })
  builder.jump(2 ** 30)
  builder.open()
  builder.record(Buffer.from('one'))
  builder.close({ commitContinues: false })
  const log = OffsetLog(writeLog(builder.build().subarray(0, 5000)), { flags: 'r' })
  for (const seq of [0, 40000, 2 ** 30, 2 ** 30 + 3000]) t.equal((await failureOf(() => log.get(seq))).code, 'ERR_RECORD_NOT_FOUND')
  await log.close()
})

tape('reader: lengths that claim all of the file, one in every page, do not make it be read again for each', async (t) => {
  const pageCount = 64
  const builder = new LogBuilder({ salt: SALT })
  for (let page = 0; page < pageCount; page++) {
    builder.open()
    builder.record(Buffer.alloc(16000, 'x'))
    builder._length(0, (pageCount - page) * 16344 - 16008 - 4)
    builder._put(Buffer.alloc(builder.room))
    builder.close({ commitContinues: false })
  }
  const bytes = builder.build()
  const file = writeLog(bytes)
  for (const [flags, reverse, most] of [['r+', false, 4], ['r+', true, 4], ['r', false, 5], ['r', true, 12]]) {
    const { counted, storage } = countReads()
    const log = OffsetLog(file, { storage, onCorrupt: 'skip', flags })
    await log.ready()
    const before = counted.bytes
    await log.scan({ reverse }, () => {})
    // A reader beside a writer looks at each damaged page again, and at the head of the log.
    t.ok(counted.bytes - before < most * bytes.length, `${flags}: ${counted.bytes - before} bytes read of ${bytes.length}`)
    await log.close()
  }
})

tape('open: a legacy file that names an end of a frame every few bytes is not read again for each', async (t) => {
  const size = 100_000
  const bytes = Buffer.alloc(size)
  // One whole frame, then numbers that are their own positions, and say of every size that it is in the other half.
  bytes.writeUInt32BE(28, 0)
  bytes.fill('x', 4, 32)
  bytes.writeUInt32BE(28, 32)
  bytes.writeUInt32BE(40, 36)
  for (let at = 40; at + 8 <= size; at += 8) {
    bytes.writeUInt32BE(at > size / 2 ? size / 2 : 8, at)
    bytes.writeUInt32BE(at + 8, at + 4)
  }
  const { counted, storage } = countReads()
  const log = OffsetLog(writeLog(bytes), { flags: 'r', storage, cache: 65536 })
  await log.ready()
  t.ok(counted.bytes < 5 * size, `${counted.bytes} bytes read of ${size}`)
  await log.close()
})
