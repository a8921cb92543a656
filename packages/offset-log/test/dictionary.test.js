'use strict'
// Logs with a dictionary: the whole contract, beside a log without one, and never a record without its words.

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { withDictionary } = require('@millrace/dictionary')
const { jsonCodec } = require('@millrace/json-codec')
const { repair, verify } = require('@millrace/repair')
const { SimulatedDisk, collect, createRandom, failureOf, faultyStorage, temporaryFolder, testLog } = require('@millrace/testkit')
const { OffsetLog } = require('..')
const { RecordCodec } = require('../lib/codec')

const codec = withDictionary(jsonCodec)
const FILE = '/folder/log'
const seed = Date.now() % 2 ** 31

testLog(tape, (path, options) => OffsetLog(path, { ...options, codec: withDictionary(options.codec) }), { name: 'dictionary' })
testLog(tape, (path, options) => OffsetLog(path, { fsync: 'always', ...options, codec: withDictionary(options.codec) }),
  { name: 'dictionary, fsync always' })

function newPath () {
  return path.join(temporaryFolder(), 'test.log')
}

/** The seed's events: 30 sources, 100 events. */
function makeEvent (random, index) {
  return { time: 1790000000000 + index * 7, value: { source: `source-${random(30)}`, event: `event-${random(100)}` } }
}

/** Events whose words keep coming. */
function makeMixed (random, index) {
  const kind = random(6)
  if (kind === 0) return { ...makeEvent(random, index), key: `key ${index >> 3}` }
  if (kind === 1) return { text: 'x'.repeat(random(1000)), list: [1, 'a', null, `key ${index >> 2}`] }
  return makeEvent(random, index)
}

async function appendEvents (log, random, commits, size = 64) {
  for (let commit = 0; commit < commits; commit++) {
    await log.append(Array.from({ length: size }, (_, index) => makeEvent(random, commit * size + index)))
  }
}

tape('dictionary: the events of the seed take at most 24 bytes each in the file, its head included', async (t) => {
  const file = newPath()
  const random = createRandom(seed)
  const log = OffsetLog(file, { codec })
  await appendEvents(log, random, 200)
  await log.close()
  const size = fs.statSync(file).size
  t.ok(size / (200 * 64) <= 24, `${(size / (200 * 64)).toFixed(1)} bytes`)
})

/** What every way to read gives. */
async function readAll (log, wheres) {
  const forward = await collect(log.stream())
  const backward = await collect(log.stream({ reverse: true }))
  const scanned = []
  await log.scan({}, ({ buffer, starts, ends, seqs, count }) => {
    for (let index = 0; index < count; index++) {
      const value = jsonCodec.decodeRange(buffer, starts[index], ends[index])
      scanned.push({ seq: seqs[index], value })
    }
  })
  const got = await log.getMany(forward.map(({ seq }) => seq))
  const filtered = []
  for (const where of wheres) {
    filtered.push((await collect(log.stream({ where }))).map(({ value }) => value), await log.count({ where }))
  }
  const ends = [await log.first(), await log.last()].map((item) => item?.value)
  return { forward, backward: backward.reverse(), scanned, got, filtered, ends, since: log.since.value }
}

const WHERES = [{ path: 'value.source', equals: 'source-3' }, { path: 'key', prefix: 'key 1' }, { path: 'list', includes: 'a' },
  { not: { path: 'value.event', exists: true } }]

/** Compares all that can be read, but the seqs, with a log without a dictionary. */
async function compare (t, title, log, plain) {
  const [found, expected] = [await readAll(log, WHERES), await readAll(plain, WHERES)]
  const values = (items) => items.map(({ value }) => value)
  const seqs = found.forward.map(({ seq }) => seq)
  const isSame = JSON.stringify([values(found.forward), found.got, found.filtered, found.ends]) ===
    JSON.stringify([values(expected.forward), expected.got, expected.filtered, expected.ends])
  const agrees = JSON.stringify([found.backward, found.scanned]) === JSON.stringify([found.forward, found.forward])
  const plainSeqs = expected.forward.map(({ seq }) => seq)
  // A log whose last records were deleted has another `since` until it is opened again.
  const isSinceRight = (found.since === (seqs.at(-1) ?? -1)) === (expected.since === (plainSeqs.at(-1) ?? -1))
  if (!isSame || !agrees || !isSinceRight) t.fail(`${title}: ${isSame} ${agrees} ${found.since} ${seqs.at(-1)}`)
  return { seqs, plainSeqs }
}

tape(`dictionary: whatever is done, it reads as a log without one (seed ${seed})`, async (t) => {
  const random = createRandom(seed)
  for (let round = 0; round < 8; round++) {
    const [file, plainFile] = [newPath(), newPath()]
    let log = OffsetLog(file, { codec })
    let plain = OffsetLog(plainFile, { codec: jsonCodec })
    await Promise.all([log.ready(), plain.ready()])
    let reader = null
    let index = 0
    for (let step = 0; step < 25; step++) {
      const action = random(10)
      if (action < 5) {
        const values = Array.from({ length: 1 + random(200) }, () => makeMixed(random, index++))
        if (action === 0) {
          for (const each of [log, plain]) each.appendSync(values)
        } else if (action === 1) {
          const waiting = [log, plain].flatMap((each) => values.map((value) => each.append(value)))
          if (random(2)) for (const each of [log, plain]) each.flushSync()
          await Promise.all(waiting)
        } else {
          for (const each of [log, plain]) await each.append(values)
        }
      } else if (action === 5) {
        const { seqs, plainSeqs } = await compare(t, 'before del', log, plain)
        // Often the last ones: then the words of their commit are behind the last record.
        const from = random(2) ? Math.max(0, seqs.length - random(300)) : random(seqs.length + 1)
        const to = from + random(300)
        await log.del(seqs.slice(from, to))
        await plain.del(plainSeqs.slice(from, to))
      } else if (action === 6) {
        for (const each of [log, plain]) await each.compact()
      } else if (action === 7) {
        await log.close()
        await plain.close()
        log = OffsetLog(file, { codec: random(2) ? codec : jsonCodec })
        plain = OffsetLog(plainFile, { codec: jsonCodec })
        await Promise.all([log.ready(), plain.ready()])
      } else if (action === 8) {
        reader ??= OffsetLog(file, { codec: jsonCodec, flags: 'r' })
        await reader.ready()
      } else {
        await compare(t, `step ${step}`, log, plain)
      }
      if (reader !== null) {
        const { seq } = await log.last() ?? { seq: -1 }
        while (reader.since.value < seq) await new Promise((resolve) => setTimeout(resolve, 5))
        const [read, written] = [await collect(reader.stream()), await collect(log.stream())]
        if (JSON.stringify(read) !== JSON.stringify(written)) t.fail(`a reader has ${read.length} records, the writer ${written.length}`)
      }
    }
    await compare(t, 'at the end', log, plain)
    const copy = newPath()
    await log.snapshot(copy)
    const snapshot = OffsetLog(copy, { codec: jsonCodec })
    await plain.close()
    plain = OffsetLog(plainFile, { codec: jsonCodec })
    await compare(t, 'snapshot', snapshot, plain)
    for (const each of [log, plain, snapshot, reader]) await each?.close()
    t.ok((await verify(file)).isSound)
  }
})

tape('dictionary: partitions and codecs without one read it', async (t) => {
  const file = newPath()
  const log = OffsetLog(file, { codec })
  await appendEvents(log, createRandom(1), 3000)
  const expected = await log.count({ where: WHERES[0] })
  const partitions = await log.partitions(3)
  t.equal(partitions.length, 3)
  let found = 0
  for (const range of partitions) found += await log.count({ ...range, where: WHERES[0] })
  t.equal(found, expected)
  const bytes = OffsetLog(file, { flags: 'r' })
  const [first] = await collect(bytes.stream({ limit: 1 }))
  t.deepEqual(jsonCodec.decode(first.value), (await log.first()).value)
  await bytes.close()
  await log.close()
})

tape('dictionary: an open reads a bounded part of a large log, and finds all words', async (t) => {
  const file = newPath()
  const random = createRandom(2)
  const log = OffsetLog(file, { codec, fsync: 'never' })
  // The last words that are new come at the beginning.
  await appendEvents(log, random, 4000, 64)
  const rare = { time: 1, value: { source: 'source-7', event: 'event-9' } }
  const seq = await log.append(rare)
  const { size } = log._file.store.blocks
  await log.close()
  t.ok(size.value > 4 * 1024 * 1024)
  const again = OffsetLog(file, { codec: jsonCodec })
  await again.ready()
  t.deepEqual(await again.get(seq), rare)
  const { store } = again._file
  t.ok(store.words.dictionary.count > 130)
  const read = []
  const { openReader } = store
  store.openReader = (range, cb) => openReader.call(store, range, (err, reader) => {
    if (reader) {
      const { next } = reader
      reader.next = (end, cb) => next.call(reader, end, (err, run) => {
        if (run) for (let index = 0; index < run.count; index++) read.push(run.seqs[index])
        cb(err, run)
      })
    }
    cb(err, reader)
  })
  await store.words.load(store)
  t.ok(store.logEnd - Math.min(...read) < 2 * 1024 * 1024, `${store.logEnd - Math.min(...read)} bytes`)
  await again.close()
})

tape('dictionary: a stream goes on after a deletion in the midst of it, without a double', async (t) => {
  for (const options of [{}, { where: WHERES[0] }, { reverse: true }, { reverse: true, where: WHERES[0] }]) {
    const log = OffsetLog(newPath(), { codec })
    await appendEvents(log, createRandom(3), 40)
    const expected = (await collect(log.stream(options))).map(({ seq }) => seq)
    const seqs = []
    const deleted = expected.splice(expected.length - 10, 1)
    for await (const { seq } of log.stream(options)) {
      seqs.push(seq)
      if (seqs.length === 20) await log.del(deleted)
    }
    t.deepEqual(seqs, expected)
    await log.close()
  }
})

tape('dictionary: bytes that a live stream gave stay what they are', async (t) => {
  const log = OffsetLog(newPath(), { codec: withDictionary({ name: 'text', buffer: true, encode: Buffer.from, decode: (bytes) => bytes }) })
  const texts = Array.from({ length: 50 }, (_, index) => `{"a":"word ${index % 5}","index":${index}}`)
  await log.append(texts.slice(0, 30))
  const found = []
  const reading = (async () => {
    for await (const { value } of log.stream({ live: true, limit: 50 })) found.push(value)
  })()
  for (const text of texts.slice(30)) {
    await log.append(text)
    await new Promise((resolve) => setImmediate(resolve))
  }
  await reading
  t.deepEqual(found.map(String), texts)
  await log.close()
})

tape('dictionary: words cannot be read, deleted, or seen', async (t) => {
  const log = OffsetLog(newPath(), { codec })
  const seq = await log.append({ a: 'one' })
  const words = []
  for (let at = 32768; at < seq; at++) {
    const [code, delCode] = [(await failureOf(() => log.get(at))).code, (await failureOf(() => log.del(at))).code]
    if (code !== 'ERR_RECORD_NOT_FOUND' || delCode !== code) t.fail(`${at}: ${code} ${delCode}`)
    words.push(at)
  }
  t.ok(words.includes(32808), 'where the words record begins')
  await log.del(seq)
  t.deepEqual(await collect(log.stream()), [])
  t.equal(await log.count(), 0)
  await log.close()
})

tape('dictionary: a new log refuses what it cannot do, and a version without dictionaries refuses its file', async (t) => {
  t.throws(() => OffsetLog(newPath(), { codec, framing: 'offset32' }), { code: 'ERR_INVALID_ARGUMENT' })
  const file = newPath()
  const log = OffsetLog(file, { codec })
  await log.append({ a: 1 })
  await log.close()
  // What that version checks: the flags of the file header.
  t.equal(fs.readFileSync(file).readUInt16BE(10), 6)
  const other = OffsetLog(file, { codec: { ...jsonCodec, name: 'other' } })
  t.equal((await failureOf(() => other.ready())).code, 'ERR_CODEC_MISMATCH')
  t.equal(new RecordCodec(jsonCodec).hasDictionary, false)
})

tape(`dictionary: appends that fail leave no id whose word is missing (seed ${seed})`, async (t) => {
  const random = createRandom(seed)
  for (let round = 0; round < 20; round++) {
    const disk = new SimulatedDisk()
    let fails = false
    const storage = faultyStorage(disk.storage, ({ name }) => {
      if (fails && name === 'write') return { error: Object.assign(new Error('full'), { code: 'ENOSPC' }) }
    })
    const log = OffsetLog(FILE, { codec, storage, fsync: ['never', 'interval'][round % 2] })
    await log.ready()
    const kept = []
    for (let step = 0; step < 12; step++) {
      fails = random(3) === 0
      const values = Array.from({ length: 1 + random(40) }, (_, index) => ({ word: `word ${step} ${index >> 2}` }))
      const results = await Promise.allSettled(values.map((value) => log.append(value)))
      fails = false
      results.forEach(({ status }, index) => { if (status === 'fulfilled') kept.push(values[index]) })
      if (log._file.durability.error) break
    }
    const read = (await collect(log.stream())).map(({ value }) => value)
    await log.close().catch(() => {})
    const again = OffsetLog(FILE, { codec, storage: disk.storage })
    const found = (await collect(again.stream())).map(({ value }) => value)
    await again.close()
    if (JSON.stringify([read, found]) !== JSON.stringify([kept, kept])) return t.fail(`round ${round}`)
  }
  t.pass()
})

tape(`dictionary: after a power cut, never a record without its words (seed ${seed})`, async (t) => {
  const random = createRandom(seed)
  let imageCount = 0
  for (let round = 0; round < 24; round++) {
    const fsync = ['always', 'interval', 'never'][round % 3]
    let disk = new SimulatedDisk()
    /** What was appended and is not lost, in order. */
    let kept = []
    for (let session = 0; session < 3; session++) {
      const log = OffsetLog(FILE, { codec, storage: disk.storage, fsync, cache: 2 ** 17 })
      await log.ready()
      let durable = kept.length
      for (let step = 0; step < 5; step++) {
        const first = round * 1000 + session * 100 + step * 20
        const values = Array.from({ length: 1 + random(30) }, (_, index) => makeMixed(random, first + (index >> 2)))
        const written = log.append(values)
        kept.push(...values)
        if (random(2)) await checkImage(t, disk.crash(random), kept, durable)
        await written
        if (fsync === 'always') durable = kept.length
        if (random(4) === 0) {
          await log.sync()
          durable = kept.length
        }
        await checkImage(t, disk.crash(random), kept, durable)
        imageCount++
      }
      const crashed = disk.crash(random)
      kept = await checkImage(t, crashed, kept, durable)
      await log.close()
      disk = crashed
    }
  }
  t.ok(imageCount > 300, `${imageCount} images`)
})

/** @returns {Promise<any[]>}  what is left; it is a prefix of what was appended, with all that is durable */
async function checkImage (t, disk, all, durable) {
  const log = OffsetLog(FILE, { codec: jsonCodec, storage: disk.storage, cache: 2 ** 17 })
  const found = (await collect(log.stream())).map(({ value }) => value)
  await log.close()
  const isPrefix = JSON.stringify(found) === JSON.stringify(all.slice(0, found.length))
  if (!isPrefix || found.length < durable) t.fail(`${found.length} records, ${durable} of ${all.length} durable, a prefix: ${isPrefix}`)
  return found
}

tape(`dictionary: what damage takes from a repaired log is never read as something else (seed ${seed})`, async (t) => {
  const random = createRandom(seed)
  let lostCount = 0
  for (let round = 0; round < 25; round++) {
    const file = newPath()
    const log = OffsetLog(file, { codec, fsync: 'never' })
    const values = new Map()
    for (let step = 0; step < 12; step++) {
      const batch = Array.from({ length: 1 + random(60) }, (_, index) => makeMixed(random, step * 100 + (index >> 2)))
      await log.append(batch)
    }
    for (const { seq, value } of await collect(log.stream())) values.set(seq, JSON.stringify(value))
    await log.close()
    const bytes = fs.readFileSync(file)
    const isHeadLost = round % 3 === 0
    if (isHeadLost) for (const at of [20, 8192 + 33]) bytes[at] ^= 0xff
    const at = 32768 + random(bytes.length - 32768)
    bytes.fill(0x55, at, Math.min(bytes.length, at + 1 + random(200)))
    fs.writeFileSync(file, bytes)
    const copy = newPath()
    await repair(file, copy, { write: true })
    const repaired = OffsetLog(copy, { codec: jsonCodec })
    await repaired.append(Array.from({ length: 50 }, (_, index) => ({ fresh: `fresh ${index >> 1}` })))
    for (const seq of values.keys()) {
      const found = await repaired.get(seq).catch((err) => err)
      if (found instanceof Error) {
        lostCount++
        if (!['ERR_CODEC_DECODE', 'flumelog:deleted', 'ERR_RECORD_NOT_FOUND'].includes(found.code)) t.fail(found.stack)
      } else if (JSON.stringify(found) !== values.get(seq)) {
        return t.fail(`round ${round}: ${JSON.stringify(found)} instead of ${values.get(seq)}`)
      }
    }
    const stream = repaired.stream({ onCorrupt: 'skip' })
    let count = 0
    for await (const { seq, value } of stream) {
      if (values.has(seq) && values.get(seq) !== JSON.stringify(value)) t.fail('another value in the stream')
      count++
    }
    t.ok(count >= 50)
    await repaired.close()
  }
  t.ok(lostCount > 0, `${lostCount} records`)
})

/** A log in which every other record needs words that were lost. @returns {Promise<any>} */
async function makeUnreadable () {
  const file = newPath()
  const log = OffsetLog(file, { codec })
  for (let n = 0; n < 3; n++) await log.append({ lost: 'word' })
  const at = fs.statSync(file).size
  await log.append(Array.from({ length: 40 }, (_, n) => n % 2 ? { lost: 'word' } : `kept ${n}`))
  await log.close()
  const bytes = fs.readFileSync(file)
  fs.writeFileSync(file, bytes.fill(0x55, 32768 + 40, at))
  const copy = newPath()
  await repair(file, copy, { write: true })
  return OffsetLog(copy, { codec })
}

for (const reverse of [false, true]) {
  for (const deletions of [[], [3], [3, 4, 9, 15]]) {
    const title = `dictionary: what cannot be unpacked is counted once, ${reverse ? 'backwards' : 'forwards'}, with ` +
      `${deletions.length} deletions meanwhile`
    tape(title, async (t) => {
      const log = await makeUnreadable()
      const options = { onCorrupt: 'skip', reverse }
      const whole = log.stream(options)
      const seqs = (await collect(whole)).map(({ seq }) => seq)
      t.equal(seqs.length, 20)
      const stream = log.stream(options)
      const found = []
      for await (const { seq } of stream) {
        found.push(seq)
        // The last one, so that what lies between is read again.
        if (deletions.includes(found.length)) await log.del(seqs.at(-1 - deletions.indexOf(found.length)))
      }
      t.deepEqual(found, seqs.slice(0, seqs.length - deletions.length))
      t.ok(whole.lost.count >= 20, `${whole.lost.count} in all`)
      t.deepEqual(stream.lost, whole.lost)
      await log.close()
    })
  }
}
