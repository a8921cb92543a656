'use strict'
// Live streams and logs that follow a writer, while the log's file is replaced by its compacted copy.

const fs = require('node:fs')
const tape = require('tape')
const { fileStorage } = require('@millrace/block-file')
const { jsonCodec } = require('@millrace/json-codec')
const {
  collect, createRandom, failureOf, inQuickRuns, newPath, slowStorage, until
} = require('@millrace/testkit')
const { OffsetLog } = require('..')

/** Reads one record of a pull-stream. */
function readOne (source) {
  return new Promise((resolve, reject) => source(null, (end, item) => {
    if (end && end !== true) reject(end)
    else resolve(end ? 'the end' : item)
  }))
}

/** A log with records, of which one is deleted; and a reader that looks only when it is told to. */
async function openBoth () {
  const file = newPath('log')
  const writer = OffsetLog(file, { codec: jsonCodec })
  const seqs = []
  for (let i = 0; i < 20; i++) seqs.push(await writer.append({ i }))
  await writer.del(seqs[3])
  const reader = OffsetLog(file, { codec: jsonCodec, flags: 'r' })
  await reader.ready()
  const { follower } = reader._file
  follower._watch._onChange = (done) => done()
  const look = () => new Promise((resolve, reject) => follower.refresh((err) => err ? reject(err) : resolve()))
  const close = async () => {
    await reader.close()
    await writer.close()
  }
  return { writer, reader, look, close, seqs }
}

for (const where of [undefined, { path: 'i', gte: 0 }]) {
  const how = where ? 'with a filter' : 'of all records'
  tape(`follow: a live stream ${how} that asks while the follower opens the compacted file goes on`, async (t) => {
    const { writer, reader, look, close } = await openBoth()
    const source = reader.stream({ live: true, where })
    for (let i = 0; i < 19; i++) await readOne(source)
    await writer.append({ i: 20 })
    await writer.compact()
    await writer.append({ i: 21 })
    const { replacement } = reader._file
    const begin = replacement.holdReads.bind(replacement)
    let reading = null
    replacement.holdReads = (store) => {
      begin(store)
      reading ??= readOne(source)
    }
    await look()
    const items = [await reading]
    for (let i = 21; i < 23; i++) {
      await writer.append({ i: i + 1 })
      await look()
      items.push(await readOne(source))
    }
    t.deepEqual(items.map((item) => item.value?.i ?? item), [20, 21, 22])
    source(true, () => {})
    await close()
  })
}

tape('follow: while the follower opens the compacted file, nothing is seen that `since` has not reached', async (t) => {
  const { writer, reader, look, close } = await openBoth()
  const { _file: file, since } = reader
  const before = { end: file.logEnd, since: since.value }
  await writer.append({ i: 20 })
  await writer.compact()
  let isOver = false
  let turnCount = 0
  const watch = () => {
    turnCount++
    if ((file.logEnd === before.end) !== (since.value === before.since)) t.fail(`${file.logEnd}, since ${since.value}`)
    if (!isOver) setImmediate(watch)
  }
  watch()
  const { replacement } = file
  const end = replacement.end.bind(replacement)
  replacement.end = (store) => {
    t.equal(since.value, writer.since.value, 'when readers go on')
    end(store)
  }
  await look()
  isOver = true
  t.ok(turnCount > 1, 'other turns ran meanwhile')
  await close()
})

/** A storage whose next read, once armed, gets its bytes at once, but calls back only when it is let go. */
function holdingStorage () {
  const held = { isArmed: false, goOn: () => {}, whenHeld: Promise.resolve('') }
  let noteHeld = () => {}
  held.whenHeld = new Promise((resolve) => { noteHeld = resolve })
  const hold = (handle) => ({
    ...handle,
    read (...args) {
      if (!held.isArmed) return handle.read(...args)
      held.isArmed = false
      const cb = args.pop()
      handle.read(...args, (...result) => {
        held.goOn = () => cb(...result)
        noteHeld('held')
      })
    }
  })
  const open = (path, options, cb) => fileStorage.open(path, options, (err, handle) => cb(err, handle && hold(handle)))
  return { held, storage: { ...fileStorage, openSync: undefined, open } }
}

/** Reads until a read is held back. It is let go when the file is being replaced. */
async function readUntilHeld (log, held, source) {
  const seen = [(await readOne(source)).value.i]
  held.isArmed = true
  let reading = readOne(source)
  for (let item; (item = await Promise.race([held.whenHeld, reading])) !== 'held'; reading = readOne(source)) seen.push(item.value.i)
  const { replacement } = log._file
  const begin = replacement.holdReads.bind(replacement)
  replacement.holdReads = (store) => {
    begin(store)
    held.goOn()
  }
  return { seen, reading }
}

/** All reads of the log wait. */
function neverBlock (log) {
  log._file.blocks._file.adaptiveIo.mayBlock = () => false
}

const text = 'x'.repeat(500)

tape('compact: a live stream that waits for a read meanwhile goes on in the new file', async (t) => {
  const { held, storage } = holdingStorage()
  const log = OffsetLog(newPath('log'), { codec: jsonCodec, storage, cache: 0 })
  await log.ready()
  neverBlock(log)
  for (let i = 0; i < 2000; i++) await log.append({ i, text })
  const source = log.stream({ live: true })
  const { seen, reading } = await readUntilHeld(log, held, source)
  t.ok(seen.length < 2000, `a read is held back after ${seen.length} records`)
  await log.append({ i: 2000, text })
  await log.compact()
  await log.append({ i: 2001, text })
  for (let item = await reading; item.value && seen.push(item.value.i) < 2002;) item = await readOne(source)
  t.deepEqual(seen, Array.from({ length: 2002 }, (_, i) => i))
  source(true, () => {})
  await log.close()
})

tape('follow: records that were read, then deleted and compacted away, are not delivered later, nor any twice', async (t) => {
  const { held, storage } = holdingStorage()
  const file = newPath('log')
  const writer = OffsetLog(file, { codec: jsonCodec })
  const seqs = []
  for (let i = 0; i < 2000; i++) seqs.push(await writer.append({ i, text }))
  const reader = OffsetLog(file, { codec: jsonCodec, flags: 'r', storage, cache: 0 })
  await reader.ready()
  neverBlock(reader)
  // It looks when it is told to.
  reader._file.follower._watch._onChange = (done) => done()
  const source = reader.stream({ live: true })
  const { seen, reading } = await readUntilHeld(reader, held, source)
  t.ok(seen.length < 1000, `a read is held back after ${seen.length} records`)
  await writer.del(seqs.slice(seen.length))
  await writer.compact()
  await reader.refresh()
  await until(() => reader._file.waitingStreams.size === 1)
  await writer.append({ i: 2000, text })
  await reader.refresh()
  seen.push((await reading).value.i)
  await writer.append({ i: 2001, text })
  await reader.refresh()
  seen.push((await readOne(source)).value.i)
  t.deepEqual(seen.slice(-3), [seen.length - 3, 2000, 2001])
  source(true, () => {})
  await reader.close()
  await writer.close()
})

/** A log whose first records are deleted, and one that follows it and cannot read the file that it opens anew. */
async function openFailing () {
  const file = newPath('log')
  const writer = OffsetLog(file, { codec: jsonCodec })
  const seqs = []
  for (let i = 0; i < 100; i++) seqs.push(await writer.append({ i, text }))
  const disk = { isFailing: false }
  const fail = () => {
    if (disk.isFailing) throw Object.assign(new Error('EIO: simulated'), { code: 'EIO' })
  }
  const wrap = (handle) => ({
    ...handle,
    readSync (...args) {
      fail()
      return handle.readSync(...args)
    },
    read (...args) {
      try {
        fail()
        handle.read(...args)
      } catch (err) {
        args.pop()(err)
      }
    }
  })
  const open = (path, options, cb) => fileStorage.open(path, options, (err, handle) => cb(err, handle && wrap(handle)))
  const storage = { ...fileStorage, openSync: undefined, open }
  const reader = OffsetLog(file, { codec: jsonCodec, flags: 'r', storage, cache: 0 })
  await reader.ready()
  const { blocks, follower } = reader._file
  // It looks when it is told to.
  follower._watch._onChange = (done) => done()
  const { reopen } = blocks
  blocks.reopen = (cb) => reopen.call(blocks, (...result) => {
    disk.isFailing = true
    cb(...result)
  })
  disk.repair = () => {
    disk.isFailing = false
    blocks.reopen = reopen
  }
  await writer.del(seqs.slice(0, 50))
  await writer.compact()
  return { writer, reader, seqs, disk }
}

tape('follow: a compacted file that could not be read at first is opened by the next look, or by who reads', async (t) => {
  for (const how of ['get', 'stream', 'look']) {
    const { writer, reader, seqs, disk } = await openFailing()
    const last = await writer.append({ i: 100, text })
    const waiting = reader.stream({ gte: seqs[60] })
    const numbers = [(await readOne(waiting)).value.i]
    t.equal((await failureOf(() => reader.refresh()))?.code, 'EIO', how)
    const failure = await failureOf(() => reader.get(seqs[70]))
    t.ok(failure?.message.includes('EIO: simulated'), `a read: ${failure}`)
    disk.repair()
    if (how === 'get') t.equal((await reader.get(seqs[70])).i, 70)
    if (how === 'look') await reader.refresh()
    const all = await collect(reader.stream({ values: false }))
    t.deepEqual(all.filter((seq) => seq < last), seqs.slice(50))
    t.equal(reader.since.value, last)
    for (let item; (item = await readOne(waiting)).value;) numbers.push(item.value.i)
    t.deepEqual(numbers, Array.from({ length: 40 }, (_, i) => i + 60), 'a stream of before')
    const next = await writer.append({ i: 101, text })
    await reader.refresh()
    t.equal((await reader.get(next)).i, 101, 'it is followed')
    await reader.close()
    await writer.close()
  }
})

tape('follow: a log that is closed while its compacted file cannot be read ends what reads', async (t) => {
  const { writer, reader, seqs } = await openFailing()
  t.equal((await failureOf(() => reader.refresh()))?.code, 'EIO')
  const reads = [failureOf(() => reader.get(seqs[70])), failureOf(() => collect(reader.stream({ live: true })))]
  const closing = reader.close()
  const codes = (await Promise.all(reads)).map((err) => err?.code)
  t.ok(codes.every((code) => ['EIO', 'ERR_LOG_CLOSED'].includes(code)), codes.join())
  await closing
  await writer.close()
})

/** A storage that can be made to open nothing. */
function failingOpen (code) {
  let isFailing = false
  const open = (path, options, cb) => {
    if (isFailing) process.nextTick(cb, Object.assign(new Error(`${code}: simulated`), { code }))
    else fileStorage.open(path, options, cb)
  }
  return { storage: { ...fileStorage, openSync: undefined, open }, fail: (fails) => { isFailing = fails } }
}

for (const code of ['EIO', 'EMFILE', 'EACCES', 'ENOENT']) {
  tape(`follow: ${code} while it looks who the file at the path is`, async (t) => {
    const file = newPath('log')
    const writer = OffsetLog(file, { codec: jsonCodec })
    const first = await writer.append({ i: 0 })
    const { storage, fail } = failingOpen(code)
    const reader = OffsetLog(file, { codec: jsonCodec, flags: 'r', storage })
    await reader.ready()
    reader._file.follower._watch._onChange = (done) => done()
    const waiting = failureOf(() => collect(reader.stream({ live: true })))
    await writer.del(first)
    await writer.compact()
    fail(true)
    const expected = code === 'ENOENT' ? 'ERR_LOG_CORRUPT' : code
    t.equal((await failureOf(() => reader.refresh()))?.code, expected, 'it is another file only if this one is gone')
    t.equal((await waiting)?.code, expected, 'a live stream is told')
    fail(false)
    const next = await writer.append({ i: 1 })
    await reader.refresh()
    t.deepEqual(await reader.get(next), { i: 1 }, 'the next look goes on')
    await reader.close()
    await writer.close()
  })
}

tape('follow: while it cannot open the copy of an end that is written anew, nobody says that the log was cut', async (t) => {
  const file = newPath('log')
  const writer = OffsetLog(file, { codec: jsonCodec })
  await writer.append({ i: 0 })
  await writer.sync()
  const { size } = await writer.stats()
  await writer.append({ i: 1 })
  const { storage, fail } = failingOpen('EMFILE')
  const reader = OffsetLog(file, { codec: jsonCodec, flags: 'r', storage })
  await reader.ready()
  await writer.close()
  reader._file.follower._watch._onChange = (done) => done()
  const bytes = fs.readFileSync(file)
  fs.writeFileSync(`${file}.tail`, bytes.subarray(size))
  fs.truncateSync(file, size)
  fail(true)
  t.equal((await failureOf(() => reader.refresh()))?.code, 'EMFILE')
  fail(false)
  fs.writeFileSync(file, bytes)
  await reader.refresh()
  t.equal(await reader.count(), 2)
  await reader.close()
})

const seed = Number(process.env.MILLRACE_SEED) || Date.now() % 2 ** 31

tape(`follow: live streams are exact, of the writer and of logs that follow it, while it compacts again and again (seed ${seed})`, async (t) => {
  const random = createRandom(seed)
  for (let run = 0; run < inQuickRuns(8); run++) {
    const file = newPath('log')
    const writer = OffsetLog(file, { codec: jsonCodec, fsync: ['always', 'interval', 'never'][run % 3] })
    await writer.ready()
    const follow = () => OffsetLog(file, {
      codec: jsonCodec, flags: 'r', storage: slowStorage(fileStorage, random), cache: random(2) === 0 ? 0 : undefined
    })
    const logs = [writer, follow(), follow()]
    // All that were appended, by seq: whether the filter wants them, and whether they are deleted since.
    const records = new Map()
    const streams = []
    for (const [index, log] of logs.entries()) {
      for (const where of [undefined, { path: 'isWanted', equals: true }]) {
        const stream = { name: `log ${index} ${where ? 'filtered' : 'whole'}`, where, seqs: [], end: null }
        const pace = random(3)
        const read = async () => {
          for await (const { seq } of log.stream({ live: true, where })) {
            stream.seqs.push(seq)
            if (pace > 0 && random(100) < pace) await new Promise((resolve) => setTimeout(resolve, random(6)))
          }
        }
        read().then(() => { stream.end = 'the end' }, (err) => { stream.end = err })
        streams.push(stream)
      }
    }
    let isOver = false
    const goesOn = () => !isOver
    const appending = (async () => {
      while (goesOn()) {
        const values = Array.from({ length: 1 + random(12) }, () => {
          return { isWanted: random(3) === 0, text: 'x'.repeat(random(10) === 0 ? random(20_000) : random(200)) }
        })
        const seqs = await writer.append(values, { seqs: true })
        for (const [index, { isWanted }] of values.entries()) records.set(seqs[index], { isWanted, isDeleted: false })
        await new Promise((resolve) => random(4) === 0 ? setTimeout(resolve, random(12)) : setImmediate(resolve))
      }
    })()
    for (let count = 0; count < 8; count++) {
      const some = [...records].filter(([, { isDeleted }]) => !isDeleted && random(8) > 0)
      const old = some.slice(0, -20).map(([seq]) => seq)
      for (const seq of old) records.get(seq).isDeleted = true
      await writer.del(old)
      await writer.compact()
    }
    isOver = true
    await appending
    const last = await writer.append({ isWanted: true, text: '' })
    records.set(last, { isWanted: true, isDeleted: false })
    await until(() => streams.every(({ seqs, end }) => end !== null || seqs[seqs.length - 1] === last))
    for (const { name, where, seqs, end } of streams) {
      const got = new Set(seqs)
      const isWanted = ({ isWanted }) => isWanted || where === undefined
      const missed = [...records].filter(([seq, record]) => !record.isDeleted && isWanted(record) && !got.has(seq))
      const isAlien = (seq, before) => seq <= before || !records.has(seq) || !isWanted(records.get(seq))
      const alien = seqs.filter((seq, index) => isAlien(seq, seqs[index - 1] ?? -1))
      t.deepEqual({ end, missed: missed.length, alien: alien.length }, { end: null, missed: 0, alien: 0 }, `run ${run}, ${name}`)
    }
    for (const log of logs.reverse()) await log.close()
  }
})
