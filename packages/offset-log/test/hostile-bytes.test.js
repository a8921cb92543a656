'use strict'
// Bytes that no writer leaves, and that `npm run fuzz` found a way to be misled by: each by its name.

const fs = require('node:fs')
const path = require('node:path')
const { crc32 } = require('node:zlib')
const tape = require('tape')
const { failureOf, temporaryFolder } = require('@millrace/testkit')
const { OffsetLog } = require('..')
const { LogBuilder } = require('./checked-builder')

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
  const file = path.join(temporaryFolder(), 'log')
  fs.writeFileSync(file, bytes)
  return file
}

async function readAll (log) {
  const values = []
  for await (const { value } of log.stream()) values.push(value.toString())
  return values
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
    [10, 4, 2 ** 32 - 1], [32, 6, 2 ** 48 - 1]]
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

tape('open: a chunk whose checksums are right but which nothing can follow is damaged', async (t) => {
  // The last epoch, and more erased records than there can be.
  for (const [offset, width, value] of [[12, 4, 2 ** 32 - 1], [30, 2, 65535]]) {
    const { bytes, seqs } = buildLog()
    const start = seqs[2] - 40
    bytes.writeUIntBE(value, start + offset, width)
    seal(bytes, start, 40)
    setSlots(bytes, 38, 4, bytes.readUInt32BE(start))
    const file = writeLog(bytes)
    const log = OffsetLog(file)
    const err = await failureOf(() => readAll(log))
    t.equal(err.code, 'ERR_LOG_CORRUPT')
    t.equal(err.offset, start)
    await log.close()
    t.ok(fs.readFileSync(file).equals(bytes), 'nothing is written')
  }
})
