'use strict'
// Sidecars that are lost, damaged, stale, swapped, copied or from another time: noticed, and never believed.

const fs = require('node:fs')
const path = require('node:path')
const { promisify } = require('node:util')
const FlumelogOffset = require('flumelog-offset')
const codecs = require('flumecodec')
const pull = require('pull-stream')
const tape = require('tape')
const { SimulatedDisk, createRandom, failureOf, temporaryFolder } = require('@millrace/testkit')
const { fileStorage } = require('@millrace/block-file')
const { OffsetLog } = require('..')
const { readSidecar } = require('../lib/sidecar/read-sidecar')

const BLOCK_SIZE = 64 * 1024
const seed = Date.now() % 2 ** 31

const open = (file, options) => OffsetLog(file, { framing: 'offset32', codec: codecs.json, sidecar: true, ...options })
const sidecarOf = (file) => `${file}.sidecar`
const textOf = (index) => ({ index, text: String.fromCharCode(97 + index % 26).repeat(5000) })
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

async function valuesOf (log) {
  const values = []
  for await (const value of log.stream({ seqs: false })) values.push(value)
  return values
}

/** @returns {Promise<number[]>}  the seqs of the records of a log that was closed */
async function makeLog (file, count = 30, first = 0) {
  const log = open(file)
  const seqs = []
  for (let index = first; index < first + count; index++) seqs.push(await log.append(textOf(index)))
  await log.close()
  return seqs
}

/** Opens it, reads it all, and closes it. */
async function examine (t, file, options) {
  const log = open(file, options)
  const values = await valuesOf(log)
  const { recovery } = log
  await log.close()
  if (recovery?.damage.length > 0) t.fail(`called damaged: ${JSON.stringify(recovery)}`)
  return { values, flaws: recovery?.flaws ?? [], indices: values.map(({ index }) => index).join() }
}

/** What was made anew is believed from then on, and finds what flips. */
async function checkRenewed (t, file, name) {
  t.deepEqual((await examine(t, file)).flaws, [], `${name}: the next time all is well`)
  const copy = path.join(temporaryFolder(), 'log')
  for (const end of ['', '.sidecar']) fs.copyFileSync(file + end, copy + end)
  const bytes = fs.readFileSync(copy)
  bytes[Math.floor(bytes.length / 2)] ^= 1
  fs.writeFileSync(copy, bytes)
  const damaged = await failureOf(() => examine(t, copy, { storage: datelessStorage }))
  t.equal(damaged?.code, 'ERR_LOG_CORRUPT', `${name}: and a bit that flips is noticed`)
}

// Like the file system, but no date or number of a file can be asked for: so only bytes speak.
const datelessStorage = {
  ...fileStorage,
  open: (file, options, cb) => fileStorage.open(file, options, (err, handle) => {
    if (err) return cb(err)
    const { stat, ...dateless } = handle
    cb(null, dateless)
  })
}

const indices = (count) => Array.from({ length: count }, (_, index) => index)

tape('lost: it is said, and a new one is made of the log as it is', async (t) => {
  const file = path.join(temporaryFolder(), 'log')
  await makeLog(file)
  fs.unlinkSync(sidecarOf(file))
  const { flaws, values } = await examine(t, file)
  t.equal(values.length, 30)
  t.deepEqual(flaws.map(({ offset, size }) => [offset, size]), [[0, 0]])
  t.match(flaws[0].what, /^the sidecar is missing: /)
  await checkRenewed(t, file, 'lost')
  const empty = open(path.join(temporaryFolder(), 'log'))
  await empty.ready()
  t.equal(empty.recovery, null, 'nothing is missing beside an empty log')
  await empty.close()
})

tape('damaged: it is said, put aside, and made anew', async (t) => {
  for (const [name, damage] of Object.entries({
    garbage: () => Buffer.from('something else'.repeat(5000)),
    zeros: (bytes) => Buffer.alloc(bytes.length),
    empty: () => Buffer.alloc(0),
    'cut off': (bytes) => bytes.subarray(0, 8000),
    'both slots': (bytes) => { bytes[30] ^= 1; bytes[8192 + 30] ^= 1; return bytes },
    'a later version': (bytes) => { bytes[9] = bytes[8192 + 9] = 2; return bytes }
  })) {
    const file = path.join(temporaryFolder(), 'log')
    await makeLog(file)
    const bytes = damage(fs.readFileSync(sidecarOf(file)))
    fs.writeFileSync(sidecarOf(file), bytes)
    const reader = await examine(t, file, { flags: 'r' })
    t.match(reader.flaws[0].what, /^the sidecar is damaged, or is none: nothing is checked/, name)
    const { flaws, values } = await examine(t, file)
    t.equal(values.length, 30)
    t.match(flaws[0].what, /^the sidecar is damaged, or is none: it was made anew/, name)
    t.ok(fs.readFileSync(`${sidecarOf(file)}.old`).equals(bytes), `${name}: nothing is destroyed`)
    await checkRenewed(t, file, name)
  }
})

tape(`damaged: no bit of it can flip so that the log is called damaged, or its damage goes unseen (seed ${seed})`, async (t) => {
  const random = createRandom(seed)
  const file = '/folder/log'
  const disk = new SimulatedDisk()
  const log = open(file, { storage: disk.storage })
  for (let index = 0; index < 30; index++) await log.append(textOf(index))
  await log.del(0)
  await log.close()
  const size = disk.read(file).length
  const flips = [0, 8192].flatMap((area) => Array.from({ length: 60 }, () => 8 * area + random(8 * 100)))
  for (const at of flips) {
    const hurt = disk.clone()
    hurt.damage(sidecarOf(file), (medium) => { medium[at >> 3] ^= 1 << (at & 7) })
    const healthy = await examine(t, file, { storage: hurt.clone().storage })
    if (healthy.values.length !== 29 || healthy.flaws.length > 1) t.fail(`bit ${at}: ${JSON.stringify(healthy.flaws)}`)
    const position = random(size)
    hurt.damage(file, (medium) => { medium[position] ^= 1 })
    const log = open(file, { storage: hurt.storage })
    const err = await failureOf(() => valuesOf(log))
    if (err?.code !== 'ERR_LOG_CORRUPT') t.fail(`bit ${at}, and one at ${position} of the log: ${err?.stack}`)
    await log.close().catch(() => {})
  }
  const hurt = disk.clone()
  hurt.damage(sidecarOf(file), (medium) => { medium[20] ^= 1 })
  t.match((await examine(t, file, { storage: hurt.storage })).flaws[0].what, /damaged in a part that is there twice/)
  t.deepEqual((await examine(t, file, { storage: hurt.storage })).flaws, [], 'closing the log mends it')
})

tape('stale: what flumelog-offset appended is not called damage', async (t) => {
  const file = path.join(temporaryFolder(), 'log')
  await makeLog(file)
  const before = fs.statSync(file).size
  const theirs = FlumelogOffset(file, { blockSize: 1024, codec: codecs.json })
  await promisify(theirs.append)([textOf(30), textOf(31)])
  const reader = await examine(t, file, { flags: 'r' })
  const { flaws, indices: found } = await examine(t, file)
  t.equal(found, indices(32).join())
  for (const each of [reader.flaws, flaws]) {
    t.deepEqual(each.map(({ offset, size }) => [offset, size]), [[before, fs.statSync(file).size - before]])
    t.match(each[0].what, /another program has changed the log.*: what was appended was not covered/)
  }
  t.notOk(fs.existsSync(`${sidecarOf(file)}.old`))
  await checkRenewed(t, file, 'appended')
})

tape('stale: what flumelog-offset deleted is not called damage', async (t) => {
  const file = path.join(temporaryFolder(), 'log')
  const seqs = await makeLog(file)
  const theirs = FlumelogOffset(file, { blockSize: 1024, codec: codecs.json })
  await promisify(theirs.del)(seqs[20])
  const { flaws, indices: found } = await examine(t, file)
  t.equal(found, indices(30).filter((index) => index !== 20).join())
  t.equal(flaws.length, 1)
  const start = Math.floor(seqs[20] / BLOCK_SIZE) * BLOCK_SIZE
  t.match(flaws[0].what, /another program has changed the log since .* [12] of 3 blocks of 64 KiB differ/)
  t.equal(flaws[0].offset, start)
  await checkRenewed(t, file, 'deleted')
  const left = await new Promise((resolve, reject) => {
    const theirs = FlumelogOffset(file, { blockSize: 1024, codec: codecs.json })
    pull(theirs.stream(), pull.collect((err, items) => err ? reject(err) : resolve(items)))
  })
  t.equal(left.length, 29, 'and it still reads it')
})

tape('stale: a log that was only touched is as it was', async (t) => {
  const file = path.join(temporaryFolder(), 'log')
  await makeLog(file)
  fs.utimesSync(file, new Date(), new Date(2021, 1, 1))
  t.deepEqual((await examine(t, file)).flaws, [])
  await checkRenewed(t, file, 'touched')
})

tape('stale: a reader that was there before another program deletes notices', async (t) => {
  const file = path.join(temporaryFolder(), 'log')
  const seqs = await makeLog(file)
  await pause(20)
  const reader = open(file, { flags: 'r', cache: 0 })
  await reader.ready()
  const theirs = FlumelogOffset(file, { blockSize: 1024, codec: codecs.json })
  // In the block that opening does not look at.
  await promisify(theirs.del)(seqs[18])
  t.equal((await valuesOf(reader)).length, 29)
  t.equal((await reader.get(seqs[17])).index, 17)
  await reader.close()
})

tape('swapped: the sidecar of another log is not believed', async (t) => {
  const folder = temporaryFolder()
  const [one, other] = ['one', 'other'].map((name) => path.join(folder, name))
  await makeLog(one, 30)
  await makeLog(other, 30, 100)
  fs.renameSync(sidecarOf(one), path.join(folder, 'aside'))
  fs.renameSync(sidecarOf(other), sidecarOf(one))
  fs.renameSync(path.join(folder, 'aside'), sidecarOf(other))
  for (const [file, first] of [[one, 0], [other, 100]]) {
    const bytes = fs.readFileSync(sidecarOf(file))
    const reader = await examine(t, file, { flags: 'r' })
    const { flaws, indices: found } = await examine(t, file)
    t.equal(found, indices(30).map((index) => first + index).join())
    for (const each of [reader.flaws, flaws]) {
      t.match(each[0].what, /^the sidecar was made for another file, and (\d) of \1 blocks of 64 KiB differ: it is not believed; /)
    }
    t.ok(fs.readFileSync(`${sidecarOf(file)}.old`).equals(bytes))
    await checkRenewed(t, file, path.basename(file))
  }
})

tape('swapped: where a storage tells nothing of files, a log of another size is another one', async (t) => {
  const disk = new SimulatedDisk()
  const make = async (file, count) => {
    const log = open(file, { storage: disk.storage })
    for (let index = 0; index < count; index++) await log.append(textOf(index + count))
    await log.close()
  }
  await make('/folder/one', 20)
  await make('/folder/other', 30)
  disk.put(sidecarOf('/folder/other'), disk.read(sidecarOf('/folder/one')))
  const { flaws, values } = await examine(t, '/folder/other', { storage: disk.storage })
  t.equal(values.length, 30)
  t.match(flaws[0].what, /not believed/)
})

tape('copied: a log that was copied with its sidecar is known again', async (t) => {
  const file = path.join(temporaryFolder(), 'log')
  await makeLog(file)
  for (const isOpen of [false, true]) {
    const log = isOpen ? open(file) : null
    await log?.append(textOf(30))
    await log?.sync()
    const copy = path.join(temporaryFolder(), 'copy')
    for (const end of ['', '.sidecar']) fs.copyFileSync(file + end, copy + end)
    t.deepEqual((await examine(t, copy, { flags: 'r' })).flaws, [], 'for reading')
    const { flaws, indices: found } = await examine(t, copy)
    t.deepEqual(flaws, [])
    t.equal(found, indices(isOpen ? 31 : 30).join())
    t.notOk(fs.existsSync(`${sidecarOf(copy)}.old`))
    await checkRenewed(t, copy, `copied while ${isOpen ? 'open' : 'closed'}`)
    await log?.close()
  }
})

tape('copied: where the copy has other bytes it is said how many, and where', async (t) => {
  const file = path.join(temporaryFolder(), 'log')
  await makeLog(file)
  const copy = path.join(temporaryFolder(), 'copy')
  for (const end of ['', '.sidecar']) fs.copyFileSync(file + end, copy + end)
  const fd = fs.openSync(copy, 'r+')
  fs.writeSync(fd, 'X', BLOCK_SIZE + 5000)
  fs.closeSync(fd)
  const { flaws } = await examine(t, copy, { flags: 'r' })
  t.match(flaws[0].what, /made for another file, and 1 of 3 blocks of 64 KiB differ/)
  t.deepEqual([flaws[0].offset, flaws[0].size], [BLOCK_SIZE, BLOCK_SIZE])
})

tape('older: the sidecar of an earlier time is not believed beside the log of a later one', async (t) => {
  for (const wasOpen of [false, true]) {
    for (const isInPlace of [false, true]) {
      const name = `${wasOpen ? 'open' : 'closed'} then, ${isInPlace ? 'the same file' : 'another file'}`
      const file = path.join(temporaryFolder(), 'log')
      const seqs = await makeLog(file)
      const before = open(file)
      await before.append(textOf(30))
      await before.sync()
      if (!wasOpen) await before.close()
      const old = path.join(path.dirname(file), 'old')
      fs.copyFileSync(sidecarOf(file), old)
      if (wasOpen) await before.close()
      const log = open(file)
      await log.append(textOf(31))
      await log.del(seqs[3])
      await log.close()
      // What was written this second could have been written by its own writer.
      if (wasOpen) await pause(1100)
      if (isInPlace) fs.writeFileSync(sidecarOf(file), fs.readFileSync(old))
      else fs.renameSync(old, sidecarOf(file))
      const { flaws, values } = await examine(t, file)
      t.equal(values.length, 31, name)
      t.match(flaws[0]?.what, /, and [12] of 3 blocks of 64 KiB differ: it is not believed/, name)
      await checkRenewed(t, file, name)
    }
  }
})

tape('older: one that is put beside a log which has only grown is right as far as it goes', async (t) => {
  const file = path.join(temporaryFolder(), 'log')
  await makeLog(file)
  fs.copyFileSync(sidecarOf(file), `${file}-old`)
  const log = open(file)
  await log.append(textOf(30))
  await log.close()
  fs.renameSync(`${file}-old`, sidecarOf(file))
  const { flaws, values } = await examine(t, file)
  t.equal(values.length, 31)
  t.match(flaws[0].what, /what was appended was not covered/)
  await checkRenewed(t, file, 'grown')
})

tape('older: a log that was put back from a backup is shorter than was promised: damage, not to be written', async (t) => {
  const file = path.join(temporaryFolder(), 'log')
  await makeLog(file)
  const older = fs.readFileSync(file)
  await makeLog(file, 5, 30)
  fs.writeFileSync(file, older)
  const log = open(file)
  await log.ready()
  t.equal(log.recovery.damage.at(-1).offset, older.length)
  t.equal((await failureOf(() => log.append(textOf(1)))).code, 'ERR_LOG_READ_ONLY')
  await log.close()
  t.ok(fs.readFileSync(file).equals(older))
  fs.unlinkSync(sidecarOf(file))
  t.equal((await examine(t, file)).values.length, 30, 'without the sidecar it is a log again')
})

tape('killed: a log whose writer was killed is as it was left, and what it synced is checked', async (t) => {
  const file = path.join(temporaryFolder(), 'log')
  const log = open(file, { fsync: 'never' })
  for (let index = 0; index < 20; index++) await log.append(textOf(index))
  await log.sync()
  for (let index = 20; index < 30; index++) await log.append(textOf(index))
  const copies = path.join(temporaryFolder(), 'log')
  for (const end of ['', '.sidecar']) fs.copyFileSync(file + end, copies + end)
  await log.close()
  const storage = datelessStorage
  const sidecar = await promisify(readSidecar)(storage, copies)
  t.ok(sidecar.isBelieved && !sidecar.isClean && sidecar.end < sidecar.logSize)
  const { flaws, values } = await examine(t, copies, { storage })
  t.equal(values.length, 30)
  t.deepEqual(flaws, [])
  await checkRenewed(t, copies, 'killed')
})
