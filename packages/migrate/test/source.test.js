'use strict'
// Reading a log of any format: which one it is, what is torn, what is damaged, and what is none.

const fs = require('node:fs')
const path = require('node:path')
const AlignedOffset = require('flumelog-aligned-offset')
const pull = require('pull-stream')
const tape = require('tape')
const { OffsetLog } = require('@millrace/offset-log')
const { createRandom, failureOf, flip, splice, truncate, zero } = require('@millrace/testkit')
const { formats, openSource } = require('..')
const { FIXTURE, newPath, randomBytes, readSource, texts } = require('./helpers')
const { writers } = require('./old-packages')

const BLOCK_SIZE = 64 * 1024
const BLOCK_FORMATS = ['flumelog-aligned-offset', 'async-append-only-log']
const seed = Date.now() % 2 ** 31

async function writeChecked (file, records, { deleted = [] } = {}) {
  const log = OffsetLog(file)
  const seqs = []
  for (const record of records) seqs.push(await log.append(record))
  await log.del(deleted.map((index) => seqs[index]))
  await log.close()
  return seqs
}

const allWriters = { checked: writeChecked, ...writers }

/** Records whose text tells which they are, about 100 a block. */
function numbered (count) {
  return Array.from({ length: count }, (_, index) => Buffer.from(`${index} `.padEnd(500 + index % 300, 'abcdefg')))
}

tape('formats: are those that have a writer here', (t) => {
  t.deepEqual([...formats].sort(), [...Object.keys(allWriters), 'lines'].sort())
  t.end()
})

tape('openSource: JSON Lines are told, and read', async (t) => {
  const file = newPath()
  fs.writeFileSync(file, '{"n":1}\n{"n":2}\r\n\n{"n":3}')
  const { items, ...met } = await readSource(file)
  t.equal(met.format, 'lines')
  t.deepEqual(texts(items), ['{"n":1}', '{"n":2}', '{"n":3}'])
  t.deepEqual(items.map(({ seq }) => seq), [0, 8, 18])
  t.equal(met.deleted, null)
})

for (const [format, write] of Object.entries(allWriters)) {
  for (const count of [1, 2, 500]) {
    tape(`openSource: ${format} with ${count} records is told, and read`, async (t) => {
      const file = newPath()
      const records = numbered(count)
      const seqs = await write(file, records)
      const { items, ...met } = await readSource(file)
      t.equal(met.format, format)
      t.deepEqual(texts(items), records.map(String))
      t.deepEqual(items.map(({ seq }) => seq), seqs)
      t.deepEqual({ ...met.lost }, { count: 0, size: 0, ranges: [] })
      t.equal(met.torn, null)
      t.equal(met.deleted, format === 'checked' ? null : 0)
      t.deepEqual(texts((await readSource(file, { format })).items), records.map(String), 'and when it is said')
    })
  }

  tape(`openSource: ${format}: what is said to be another format is refused, or found damaged`, async (t) => {
    const file = newPath()
    await write(file, numbered(300))
    for (const other of formats.filter((name) => name !== format)) {
      const err = await failureOf(() => readSource(file, { format: other }))
      // Any bytes may be lines, unless they are a log of offset-log.
      const isRead = BLOCK_FORMATS.includes(other) || (other === 'lines' && BLOCK_FORMATS.includes(format))
      t.equal(err?.code, isRead ? 'ERR_LOG_CORRUPT' : 'ERR_LOG_UNKNOWN_FORMAT', other)
    }
  })

  tape(`openSource: ${format}: a torn end is reported, and takes nothing that is whole`, async (t) => {
    const file = newPath()
    const records = numbered(500)
    const seqs = await write(file, records)
    truncate(file, seqs[400] + 200)
    // What was on stable storage is not torn: only this format knows.
    if (format === 'checked') return t.equal((await failureOf(() => readSource(file))).code, 'ERR_LOG_CORRUPT')
    const { items, torn, lost } = await readSource(file)
    t.deepEqual(texts(items), records.slice(0, 400).map(String))
    t.deepEqual(torn, { offset: seqs[400], size: 200 })
    t.equal(lost.count, 0)
  })
}

tape('openSource: an empty file is a log without records, of any format', async (t) => {
  const file = newPath()
  fs.writeFileSync(file, '')
  t.deepEqual((await readSource(file)).items, [])
  t.equal((await readSource(file)).format, 'empty')
  for (const format of formats) t.deepEqual((await readSource(file, { format })).items, [], format)
})

tape('openSource: what is no log is refused with a code, and not written to', async (t) => {
  const folder = path.dirname(newPath())
  const random = createRandom(seed)
  const files = [__filename, process.execPath, path.join(__dirname, '..', '..', '..', 'package-lock.json')]
  const contents = [Buffer.alloc(3 * BLOCK_SIZE), randomBytes(random, 200000), Buffer.from('x'), randomBytes(random, 100), Buffer.alloc(5)]
  for (const [index, bytes] of contents.entries()) {
    files.push(path.join(folder, `${index}`))
    fs.writeFileSync(files.at(-1), bytes)
  }
  for (const file of files) t.equal((await failureOf(() => readSource(file)))?.code, 'ERR_LOG_UNKNOWN_FORMAT', path.basename(file))
  for (const [index, bytes] of contents.entries()) t.ok(fs.readFileSync(files[3 + index]).equals(bytes))
  t.equal((await failureOf(() => readSource(path.join(folder, 'missing')))).code, 'ENOENT')
  t.equal((await failureOf(() => readSource(folder))).code, 'EISDIR')
})

tape('openSource: a file that two formats fit is not guessed at', async (t) => {
  // To the one format a record and zeros, to the other a record and a deleted one.
  const block = Buffer.alloc(BLOCK_SIZE)
  Buffer.from('04006162636404000000', 'hex').copy(block)
  const file = newPath()
  fs.writeFileSync(file, block)
  const err = await failureOf(() => readSource(file))
  t.equal(err.code, 'ERR_LOG_AMBIGUOUS_FORMAT')
  for (const format of BLOCK_FORMATS) {
    t.ok(err.message.includes(format))
    t.deepEqual(texts((await readSource(file, { format })).items), ['abcd'])
  }
})

for (const format of BLOCK_FORMATS) {
  tape(`openSource: ${format}: damage ends a pass behind the records before it, or is left out and counted`, async (t) => {
    const file = newPath()
    const records = numbered(1200)
    const seqs = await writers[format](file, records)
    const at = seqs.findIndex((seq) => seq > 3 * BLOCK_SIZE) + 10
    splice(file, seqs[at], seqs[at] + 2, Buffer.from([255, 255]))
    const source = openSource(file)
    const seen = []
    const err = await failureOf(async () => { for await (const item of source.stream()) seen.push(item) })
    await source.close()
    t.equal(err.code, 'ERR_LOG_CORRUPT')
    t.equal(err.offset, seqs[at])
    t.deepEqual(texts(seen), records.slice(0, at).map(String))
    const { items, lost } = await readSource(file, { onCorrupt: 'skip' })
    // The second size of a frame leads back to it; without one, the rest of the block is lost.
    const next = format === 'flumelog-aligned-offset' ? at + 1 : seqs.findIndex((seq) => seq >= 4 * BLOCK_SIZE)
    t.deepEqual(texts(items), [...records.slice(0, at), ...records.slice(next)].map(String))
    t.equal(lost.count, 1)
    t.deepEqual(lost.ranges.map(({ offset, size }) => [offset, size]), [[seqs[at], seqs[next] - seqs[at]]])
    t.equal(lost.size, seqs[next] - seqs[at])
  })

  tape(`openSource: ${format}: other block sizes are read when they are said`, async (t) => {
    const file = newPath()
    const records = numbered(100)
    await writers[format](file, records, { blockSize: 4096 })
    t.deepEqual(texts((await readSource(file, { blockSize: 4096 })).items), records.map(String))
    t.equal((await failureOf(() => readSource(file))).code, 'ERR_LOG_UNKNOWN_FORMAT')
  })
}

tape('openSource: an offset log that is damaged ends there, or what is behind counts as lost', async (t) => {
  const file = newPath()
  const records = numbered(500)
  const seqs = await writers.offset32(file, records)
  flip(file, seqs[300] + 2, 1)
  const err = await failureOf(() => readSource(file))
  t.equal(err.code, 'ERR_LOG_CORRUPT')
  t.equal(err.offset, seqs[300])
  const { items, lost } = await readSource(file, { onCorrupt: 'skip' })
  t.deepEqual(texts(items), records.slice(0, 300).map(String))
  t.deepEqual([lost.count, lost.size], [1, fs.statSync(file).size - seqs[300]])
})

tape('openSource: a checked log that is damaged in its middle is read on behind it', async (t) => {
  const file = newPath()
  const records = numbered(500)
  const seqs = await writeChecked(file, records)
  zero(file, seqs[200] + 10, seqs[200] + 20)
  t.equal((await failureOf(() => readSource(file))).code, 'ERR_LOG_CORRUPT')
  const { items, lost } = await readSource(file, { onCorrupt: 'skip' })
  t.ok(items.length > 400 && items.length < 500)
  t.ok(lost.count > 0 && lost.size > 0)
})

tape('async-append-only-log: records erased, and taken out by its compaction, are gone', async (t) => {
  const records = numbered(400)
  const deleted = [...records.keys()].filter((index) => index % 3 === 0)
  const kept = records.filter((_, index) => index % 3 !== 0)
  for (const compact of [false, true]) {
    const file = newPath()
    await writers['async-append-only-log'](file, records, { deleted, compact })
    const { items, ...met } = await readSource(file)
    t.deepEqual(texts(items), kept.map(String))
    t.equal(met.deleted, compact ? 0 : deleted.length)
  }
})

tape('async-append-only-log: while a compaction is unfinished some records are there twice, so it is refused', async (t) => {
  const file = newPath()
  await writers['async-append-only-log'](file, numbered(10))
  fs.writeFileSync(`${file}.compaction`, Buffer.alloc(20 + BLOCK_SIZE))
  const err = await failureOf(() => readSource(file))
  t.equal(err.code, 'ERR_NOT_SUPPORTED')
  t.ok(err.message.includes('.compaction'))
})

for (const size of [65527, 65528, 65529, 65530]) {
  tape(`flumelog-aligned-offset: a record of ${size} bytes, behind which it reads nothing, is read, and those behind it`, async (t) => {
    const records = [10, size, 20, 30].map((length, index) => Buffer.alloc(length, 65 + index))
    const file = newPath()
    await writers['flumelog-aligned-offset'](file, records)
    t.deepEqual(texts((await readSource(file)).items), records.map(String))
  })
}

tape('flumelog-aligned-offset: where it has written one record over another, that is damage', async (t) => {
  // A record of 65,532 bytes fills a block; what it is given before that is written goes to the block's start.
  const random = createRandom(seed)
  const block = Buffer.concat([Buffer.from('fcff', 'hex'), randomBytes(random, 65532), Buffer.from('fcff', 'hex')])
  Buffer.from('020068690200' + 'ffffffff', 'hex').copy(block)
  const file = newPath()
  fs.writeFileSync(file, block)
  const err = await failureOf(() => readSource(file, { format: 'flumelog-aligned-offset' }))
  t.equal(err.code, 'ERR_LOG_CORRUPT')
  t.equal(err.offset, 6)
})

tape('flumelog-aligned-offset: what it hides after deleting from the last block is there', async (t) => {
  const file = newPath()
  const records = numbered(5)
  await writers['flumelog-aligned-offset'](file, records.slice(0, 4), { deleted: [1] })
  t.equal(fs.statSync(file).size, BLOCK_SIZE, 'it fills the block with zeros')
  await writers['flumelog-aligned-offset'](file, records.slice(4))
  const theirs = AlignedOffset(file, {})
  const seen = await new Promise((resolve) => pull(
    require('push-stream-to-pull-stream/source')(theirs.stream({ seqs: false })),
    pull.collect((_, items) => resolve(items))
  ))
  await new Promise((resolve) => theirs.close(resolve))
  t.equal(seen.length, 3, 'its own stream stops there')
  const { items, deleted } = await readSource(file, { format: 'flumelog-aligned-offset' })
  t.deepEqual(texts(items), [0, 2, 3, 4].map((index) => String(records[index])))
  t.equal(deleted, 1)
})

tape('flumelog-aligned-offset: what was appended behind a torn write is found', async (t) => {
  const file = newPath()
  const records = numbered(200)
  const seqs = await writers['flumelog-aligned-offset'](file, records.slice(0, 50))
  truncate(file, seqs[49] + 100)
  await writers['flumelog-aligned-offset'](file, records.slice(50))
  // Of two blocks one is damaged: that is too little to tell the format by.
  t.equal((await failureOf(() => readSource(file))).code, 'ERR_LOG_UNKNOWN_FORMAT')
  const { items, lost } = await readSource(file, { format: 'flumelog-aligned-offset', onCorrupt: 'skip' })
  t.deepEqual(texts(items), records.filter((_, index) => index !== 49).map(String))
  t.deepEqual(lost.ranges.map(({ offset, size }) => [offset, size]), [[seqs[49], 100]])
})

tape('openSource: is a pull-stream source, and ends when it is left', async (t) => {
  const source = openSource(FIXTURE)
  const items = await new Promise((resolve, reject) => {
    pull(source.stream(), pull.take(10), pull.collect((err, items) => err ? reject(err) : resolve(items)))
  })
  t.equal(items.length, 10)
  for await (const { seq } of source.stream()) if (seq > 5000) break
  const aborted = source.stream()
  await new Promise((resolve) => aborted(true, resolve))
  t.equal(await new Promise((resolve) => aborted(null, resolve)), true)
  await source.close()
  await source.close()
  t.equal((await failureOf(() => source.ready())).code, 'ERR_LOG_CLOSED')
  t.equal((await failureOf(async () => { for await (const item of source.stream()) t.fail(item) })).code, 'ERR_LOG_CLOSED')
})

tape('openSource: takes callbacks, and refuses misuse at once', (t) => {
  const source = openSource(FIXTURE)
  source.ready((err) => {
    t.error(err)
    t.equal(source.format, 'offset32')
    t.equal(source.size, 1855242)
    source.close((err) => {
      t.error(err)
      for (const [file, options] of [[1], [''], [FIXTURE, null], [FIXTURE, { format: 'csv' }], [FIXTURE, { blockSize: 1 }],
        [FIXTURE, { blockSize: 2.5 }], [FIXTURE, { onCorrupt: 'no' }], [FIXTURE, { verify: true }], [FIXTURE, { storage: {} }]]) {
        t.throws(() => openSource(file, options), { code: 'ERR_INVALID_ARGUMENT' })
      }
      t.end()
    })
  })
})
