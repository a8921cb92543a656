'use strict'
// What opening does to a file of a legacy framing whose end, or whose anything, is not as it should be.

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { failureOf, faultyStorage, flip, isLongRun, newPath, splice, stopClock, truncate, zero } = require('@millrace/testkit')
const { fileStorage } = require('@millrace/block-file')
const { OffsetLog } = require('..')

const VALUES = ['first', 'second', 'the third, which is longer than the others'].map((text) => Buffer.from(text))

/** A closed log of three records; gives its path, its seqs and its bytes. */
async function makeLog (framing = 'offset32', values = VALUES) {
  const file = newPath('log')
  const log = OffsetLog(file, { framing })
  const seqs = []
  for (const value of values) seqs.push(await log.append(value))
  await log.close()
  return { file, seqs, bytes: fs.readFileSync(file) }
}

async function valuesOf (log) {
  const { values, err } = await readAll(log)
  if (err) throw err
  return values
}

/** What a stream delivers, and what it fails with afterwards. */
async function readAll (log) {
  const values = []
  const err = await failureOf(async () => {
    for await (const value of log.stream({ seqs: false })) values.push(value.toString())
  })
  return { values, err }
}

/** A damaged log is there for reading: it names the range, and nobody writes to it. */
async function checkReadOnly (t, log, { offset, size, name = '' }) {
  await log.ready()
  const { damage, keptAt } = log.recovery ?? {}
  if (damage?.length !== 1 || damage[0].offset !== offset || damage[0].size !== size || keptAt !== null) {
    t.fail(`${name}: ${JSON.stringify(log.recovery)}`)
  }
  if (typeof damage?.[0].what !== 'string') t.fail(`${name}: the damage has no description`)
  for (const call of [() => log.append(Buffer.from('x')), () => log.append([]), () => log.del(0), () => log.sync()]) {
    const err = await failureOf(call)
    if (err?.code !== 'ERR_LOG_READ_ONLY' || err.cause?.code !== 'ERR_LOG_CORRUPT' || err.cause.offset !== offset) {
      t.fail(`${name}: ${err?.stack}`)
    }
  }
}

for (const framing of ['offset32', 'offset48', 'offset53']) {
  tape(`${framing}: a last write cut off anywhere is cut to the last whole record, and kept beside the log`, async (t) => {
    const { bytes, seqs } = await makeLog(framing)
    for (let size = seqs[2] + 1; size < bytes.length; size++) {
      const file = newPath('log')
      fs.writeFileSync(file, bytes.subarray(0, size))
      const log = OffsetLog(file, { lock: false })
      await log.ready()
      const kept = `${file}.cut-${seqs[2]}`
      if (log.recovery?.keptAt !== kept || log.recovery.offset !== seqs[2] || log.since.value !== seqs[1]) {
        t.fail(`cut at ${size}: ${JSON.stringify(log.recovery)}`)
      }
      if (!fs.readFileSync(kept).equals(bytes.subarray(seqs[2], size))) t.fail(`cut at ${size}: kept other bytes`)
      await log.append(VALUES[2])
      await log.close()
      if (!fs.readFileSync(file).equals(bytes)) t.fail(`cut at ${size}: appending again gives other bytes`)
    }
    t.pass(`${bytes.length - seqs[2] - 1} cuts`)
  })
}

tape('recovery: a clean log reports none', async (t) => {
  const { file } = await makeLog()
  const log = OffsetLog(file)
  await log.ready()
  t.equal(log.recovery, null)
  await log.close()
})

tape('recovery: a tail of zeros or of noise is cut, also one of many blocks', async (t) => {
  for (const tail of [Buffer.alloc(5), Buffer.alloc(300000), Buffer.alloc(300000, 0xa5)]) {
    const { file, bytes, seqs } = await makeLog()
    splice(file, bytes.length, bytes.length, tail)
    const log = OffsetLog(file, { blockSize: 1024 })
    await log.ready()
    t.equal(log.since.value, seqs[2])
    t.equal(log.recovery.size, tail.length)
    t.ok(fs.readFileSync(log.recovery.keptAt).equals(tail))
    await log.close()
    t.ok(fs.readFileSync(file).equals(bytes))
  }
})

tape('recovery: bytes kept before are never overwritten', async (t) => {
  const { file, bytes } = await makeLog()
  const names = []
  for (const text of ['torn', 'torn again']) {
    splice(file, bytes.length, bytes.length, Buffer.from(text))
    const log = OffsetLog(file)
    await log.ready()
    names.push([path.basename(log.recovery.keptAt), fs.readFileSync(log.recovery.keptAt, 'utf8')])
    await log.close()
  }
  t.deepEqual(names, [[`log.cut-${bytes.length}`, 'torn'], [`log.cut-${bytes.length}-1`, 'torn again']])
})

tape('recovery: a read-only log cuts nothing and writes nothing', async (t) => {
  const { file, bytes, seqs } = await makeLog()
  truncate(file, bytes.length - 3)
  const log = OffsetLog(file, { flags: 'r' })
  await log.ready()
  t.deepEqual(log.recovery, { offset: seqs[2], size: bytes.length - 3 - seqs[2], keptAt: null, damage: [], flaws: [] })
  t.deepEqual(await valuesOf(log), ['first', 'second'])
  t.equal((await failureOf(() => log.append(Buffer.from('x')))).code, 'ERR_LOG_READ_ONLY')
  t.equal((await failureOf(() => log.del(0))).code, 'ERR_LOG_READ_ONLY')
  await log.close()
  t.deepEqual(fs.readdirSync(path.dirname(file)), ['log'])
  t.equal(fs.statSync(file).size, bytes.length - 3)
})

tape('flumelog-offset fault: a flipped bit in the last trailer deletes the last record in silence', async (t) => {
  const { bytes, seqs } = await makeLog()
  for (let offset = seqs[2]; offset < bytes.length; offset++) {
    const isField = offset < seqs[2] + 4 || offset >= bytes.length - 8
    if (!isField) continue
    // In a quick run every second bit.
    for (let bit = isLongRun ? 0 : offset % 2; bit < 8; bit += isLongRun ? 1 : 2) {
      const file = newPath('log')
      fs.writeFileSync(file, bytes)
      flip(file, offset, bit)
      const before = fs.readFileSync(file)
      for (const flags of ['r', 'r+']) {
        const name = `byte ${offset}, bit ${bit}, flags ${flags}`
        const log = OffsetLog(file, { flags, lock: false })
        if (flags === 'r+') await checkReadOnly(t, log, { offset: seqs[2], size: bytes.length - seqs[2], name })
        const { values, err } = await readAll(log)
        if (values.join() !== 'first,second') t.fail(`${name}: the records before it can still be read`)
        if (flags === 'r+' && (err?.code !== 'ERR_LOG_CORRUPT' || err.offset !== seqs[2])) t.fail(`${name}: ${err}`)
        await log.close()
        if (!fs.readFileSync(file).equals(before)) t.fail(`${name}: the file was changed`)
        if (fs.readdirSync(path.dirname(file)).length !== 1) t.fail(`${name}: something was kept or made`)
      }
    }
  }
  t.pass('all flips')
})

tape('flumelog-offset fault: recovery can reach truncate(0)', async (t) => {
  const torn = Buffer.from('0000002a7b2261223a', 'hex')
  const files = {
    'a first record cut off': torn,
    'three bytes': torn.subarray(0, 3),
    zeros: Buffer.alloc(70000),
    'a text': Buffer.from('This is not a log at all.'),
    'an image': Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex'),
    noise: Buffer.alloc(5000, 0xa7)
  }
  for (const [name, bytes] of Object.entries(files)) {
    const file = newPath('log')
    fs.writeFileSync(file, bytes)
    const log = OffsetLog(file)
    const [ready, append, get, stream] = await Promise.all([
      () => log.ready(), () => log.append(Buffer.from('x')), () => log.get(0), () => valuesOf(log)
    ].map(failureOf))
    t.equal(ready.code, 'ERR_LOG_UNKNOWN_FORMAT', name)
    t.ok([append, get, stream].every((err) => err === ready), 'every pending call fails alike')
    t.equal(await failureOf(() => log.append(Buffer.from('x'))), ready, 'and every later one')
    t.equal(log.since.value, undefined)
    await log.close()
    t.ok(fs.readFileSync(file).equals(bytes), 'nothing was written')
    t.equal(fs.readdirSync(path.dirname(file)).length, 1)
  }
})

tape('recovery: a record that imitates the end of a frame is not taken for one', async (t) => {
  const { file, bytes } = await makeLog()
  // A cut-off record whose data holds, at just this place in the file, what the last eight bytes of a frame would be.
  const end = bytes.length + 4 + 4 + 8
  const imitation = Buffer.concat([Buffer.from('000003e8', 'hex'), Buffer.from('00000000', 'hex'), Buffer.alloc(8)])
  imitation.writeUInt32BE(0, 8)
  imitation.writeUInt32BE(end, 12)
  splice(file, bytes.length, bytes.length, Buffer.concat([imitation, Buffer.alloc(20, 'x')]))
  const log = OffsetLog(file)
  await log.ready()
  t.equal(log.recovery.offset, bytes.length)
  await log.close()
  t.ok(fs.readFileSync(file).equals(bytes))
})

tape('recovery: whole frames that a cut-off record imitates are not taken for the end of the log', async (t) => {
  const { file, bytes } = await makeLog('offset32', [Buffer.from('first')])
  const fakeStart = bytes.length + 4 + 16
  const fake = Buffer.alloc(17)
  fake.writeUInt32BE(5, 0)
  fake.write('FAKE!', 4)
  fake.writeUInt32BE(5, 9)
  fake.writeUInt32BE(fakeStart + 17, 13)
  const before = Buffer.alloc(16)
  before.writeUInt32BE(fakeStart, 12)
  const log = OffsetLog(file)
  await log.append(Buffer.concat([before, fake, Buffer.alloc(500, 7)]))
  await log.close()
  truncate(file, fakeStart + 17 + 100)
  const torn = fs.readFileSync(file)
  const again = OffsetLog(file)
  await checkReadOnly(t, again, { offset: bytes.length, size: torn.length - bytes.length })
  const { values, err } = await readAll(again)
  t.deepEqual(values, ['first'])
  t.equal(err?.code, 'ERR_LOG_CORRUPT')
  t.equal(err?.offset, bytes.length)
  await again.close()
  t.equal(fs.readdirSync(path.dirname(file)).length, 1)
  t.ok(fs.readFileSync(file).equals(torn), 'nothing was cut')
})

tape('recovery: a copy that fails half way leaves no copy to fill the disk', async (t) => {
  const { file, bytes } = await makeLog()
  splice(file, bytes.length, bytes.length, Buffer.alloc(3000000, 1))
  const error = Object.assign(new Error('disk full'), { code: 'ENOSPC' })
  for (let round = 0; round < 3; round++) {
    const storage = faultyStorage(fileStorage, ({ name, position }) => name === 'write' && position > 0 ? { error } : {})
    const log = OffsetLog(file, { storage })
    t.equal(await failureOf(() => log.ready()), error)
    await log.close()
  }
  const copies = fs.readdirSync(path.dirname(file)).filter((name) => name.includes('.cut-'))
  t.deepEqual(copies.map((name) => fs.statSync(path.join(path.dirname(file), name)).size), [0])
})

tape('recovery: damage before deleted records at the end does not keep the log from opening', async (t) => {
  const { file, seqs } = await makeLog()
  const log = OffsetLog(file)
  await log.del(seqs[2])
  await log.close()
  flip(file, seqs[2] - 5)
  const again = OffsetLog(file)
  await again.ready()
  t.equal(again.since.value, seqs[2])
  t.equal((await again.get(seqs[0])).toString(), 'first')
  await again.close()
})

tape('recovery: a tail with many false ends takes time in proportion', async (t) => {
  const { file, bytes } = await makeLog()
  const tail = Buffer.alloc(24 * 1024 * 1024)
  for (let offset = 65536; offset < tail.length; offset += 65536) tail.writeUInt32BE(bytes.length + offset + 4, offset)
  splice(file, bytes.length, bytes.length, tail)
  let readCount = 0
  const storage = faultyStorage(fileStorage, ({ name }) => {
    if (name === 'readSync' || name === 'read') readCount++
    return {}
  })
  const log = OffsetLog(file, { storage })
  await log.ready()
  t.equal(log.recovery.offset, bytes.length)
  t.ok(readCount < 1500, `${readCount} reads of 24 MiB`)
  await log.close()
})

tape('open: one that fails keeps no file open', { skip: process.platform !== 'linux' }, async (t) => {
  const file = newPath('log')
  fs.writeFileSync(file, 'not a log')
  const countOpen = () => fs.readdirSync('/proc/self/fd').length
  const before = countOpen()
  for (let i = 0; i < 10; i++) await failureOf(() => OffsetLog(file).ready())
  t.equal(countOpen(), before)
})

tape('damage: streams and scans deliver what is before it, then end with its offset', async (t) => {
  const { file, seqs } = await makeLog()
  flip(file, seqs[1] + 3)
  const log = OffsetLog(file)
  await log.ready()
  const seen = []
  const err = await failureOf(async () => {
    for await (const { seq } of log.stream()) seen.push(seq)
  })
  t.deepEqual(seen, [seqs[0]])
  t.equal(err.code, 'ERR_LOG_CORRUPT')
  t.equal(err.offset, seqs[1])
  const backward = []
  const backwardErr = await failureOf(async () => {
    for await (const { seq } of log.stream({ reverse: true })) backward.push(seq)
  })
  t.deepEqual(backward, [seqs[2]])
  t.equal(backwardErr.code, 'ERR_LOG_CORRUPT')
  t.equal((await failureOf(() => log.scan({}, () => {}))).code, 'ERR_LOG_CORRUPT')
  t.equal((await failureOf(() => log.get(seqs[1]))).code, 'ERR_LOG_CORRUPT')
  t.equal((await log.get(seqs[2])).toString(), VALUES[2].toString())
  await log.close()
})

tape('damage: sizes that lead out of the file end a read with a code, whatever they say', async (t) => {
  for (const size of [0xffffffff, 0x7fffffff, 1000, 60]) {
    const { file, seqs, bytes } = await makeLog()
    bytes.writeUInt32BE(size, seqs[1])
    bytes.writeUInt32BE(size, seqs[2] - 8)
    fs.writeFileSync(file, bytes)
    const log = OffsetLog(file)
    for (const options of [{}, { reverse: true }, { gt: seqs[0] }, { gte: seqs[1] }, { gte: seqs[1] + 1 }]) {
      const err = await failureOf(() => log.scan(options, () => {}))
      t.equal(err?.code, 'ERR_LOG_CORRUPT', `${size}, ${JSON.stringify(options)}`)
    }
    t.ok(['ERR_LOG_CORRUPT', 'ERR_RECORD_NOT_FOUND'].includes((await failureOf(() => log.get(seqs[1]))).code))
    await log.close()
  }
})

tape('damage: every flipped bit of a log gives values or a code, never a hang', async (t) => {
  const { bytes } = await makeLog('offset48')
  for (let offset = 0; offset < bytes.length; offset++) {
    const file = newPath('log')
    fs.writeFileSync(file, bytes)
    flip(file, offset, offset % 8)
    const log = OffsetLog(file, { lock: false })
    const err = await failureOf(() => valuesOf(log))
    if (err && !/^ERR_/.test(err.code)) t.fail(`byte ${offset}: ${err.stack}`)
    await log.close()
  }
  t.pass(`${bytes.length} flips`)
})

tape('recovery: a failure while it works leaves the file as it was', async (t) => {
  const { file, bytes } = await makeLog()
  truncate(file, bytes.length - 3)
  const before = fs.readFileSync(file)
  const error = Object.assign(new Error('disk full'), { code: 'ENOSPC' })
  for (const failing of ['write', 'truncate', 'sync', 'readSync']) {
    const storage = faultyStorage(fileStorage, ({ name }) => name === failing ? { error } : {})
    const log = OffsetLog(file, { storage })
    t.equal(await failureOf(() => log.ready()), error, failing)
    await log.close()
    t.ok(fs.readFileSync(file).equals(before))
  }
  const log = OffsetLog(file)
  await log.ready()
  t.deepEqual(await valuesOf(log), ['first', 'second'])
  await log.close()
})

tape('recovery: deleted records at the end are passed over to find since', async (t) => {
  const { file, seqs } = await makeLog()
  zero(file, seqs[2] + 4, seqs[2] + 4 + VALUES[2].length)
  const log = OffsetLog(file)
  await log.ready()
  t.equal(log.recovery, null)
  t.equal(log.since.value, seqs[1])
  await log.close()
})

tape('recovery: a file that something else empties under it ends in a code', async (t) => {
  stopClock(t)
  const { file, bytes } = await makeLog()
  const codes = []
  for (let emptyAt = 0; emptyAt < 20; emptyAt++) {
    fs.writeFileSync(file, bytes)
    let readCount = 0
    const storage = faultyStorage(fileStorage, ({ name }) => {
      if (name === 'readSync' && readCount++ === emptyAt) zero(file, 0, bytes.length)
      return {}
    })
    const log = OffsetLog(file, { storage, cache: 0 })
    const err = await failureOf(() => log.ready())
    await log.close()
    if (readCount <= emptyAt) break
    codes.push(err?.code)
  }
  // While its framing is told, while its end is found, and when only its last record is left to be read.
  t.deepEqual([...new Set(codes)].slice(0, 2), ['ERR_LOG_UNKNOWN_FORMAT', 'ERR_LOG_CORRUPT'])
  t.ok(codes.length > 4, `${codes.length} reads`)
})

tape('recovery: a tail that names every position as an end takes time in proportion, and no stack', async (t) => {
  const { file, bytes } = await makeLog()
  const tail = Buffer.alloc(400000)
  for (let offset = 0; offset < tail.length; offset += 4) tail.writeUInt32BE(bytes.length + offset + 4, offset)
  splice(file, bytes.length, bytes.length, tail)
  const log = OffsetLog(file)
  await log.ready()
  t.equal(log.recovery.offset, bytes.length)
  await log.close()
})

tape('live: a bound past the end of a legacy log holds for what comes', async (t) => {
  const { file, bytes } = await makeLog()
  const log = OffsetLog(file)
  const stream = log.stream({ live: true, gt: bytes.length + 20, values: false })
  const read = () => new Promise((resolve) => stream(null, (end, item) => resolve(item)))
  const first = read()
  const seqs = []
  for (const text of ['too early', 'as early', 'late enough', 'later']) seqs.push(await log.append(Buffer.from(text)))
  t.deepEqual([await first, await read()], seqs.filter((seq) => seq > bytes.length + 20).slice(0, 2))
  await log.close()
})

tape('damage: a first record that is hurt while the log is open gives a code', async (t) => {
  const { file } = await makeLog()
  const log = OffsetLog(file, { cache: 0 })
  await log.ready()
  flip(file, 0, 7)
  t.equal((await failureOf(() => log.get(0))).code, 'ERR_LOG_CORRUPT')
  t.equal((await failureOf(() => valuesOf(log))).code, 'ERR_LOG_CORRUPT')
  await log.close()
})
