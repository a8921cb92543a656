'use strict'
// What is particular to this log: its options, its limits, its disk, and the faults of its ancestor.

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { LogError } = require('@millrace/errors')
const { collect, failureOf, faultyStorage, newPath, temporaryFolder } = require('@millrace/testkit')
const { fileStorage } = require('@millrace/block-file')
const { OffsetLog } = require('..')
const { offsetFramings } = require('@millrace/framing')

const FRAMINGS = ['checked', 'offset32']

async function valuesOf (log, options) {
  return (await collect(log.stream({ ...options, seqs: false }))).map((value) => value.toString())
}

tape('OffsetLog: works with and without new, and creates its folder', async (t) => {
  const file = newPath('folder', 'log')
  const log = new OffsetLog(file)
  t.ok(log instanceof OffsetLog)
  t.equal(log.filename, file)
  await log.close()
  t.deepEqual(fs.readdirSync(path.dirname(file)), ['log'])
  if (process.platform !== 'win32') t.equal(fs.statSync(file).mode & 0o777, 0o600)
})

tape('OffsetLog: refuses options that make no sense, and those that there are not', (t) => {
  const wrong = {
    framing: 'offset64',
    codec: {},
    maxRecordSize: 0,
    blockSize: -1,
    flags: 'a',
    cache: 'none',
    fsync: 'sometimes',
    verify: 'no',
    onCorrupt: 'ignore'
  }
  for (const [name, value] of Object.entries({ ...wrong, offsetCodec: 48, storage: {} })) {
    t.throws(() => OffsetLog(newPath('folder', 'log'), { [name]: value }), (err) => err.code === 'ERR_INVALID_ARGUMENT', name)
  }
  t.throws(() => OffsetLog(newPath('folder', 'log'), { framing: 'constructor' }), (err) => err.code === 'ERR_INVALID_ARGUMENT')
  t.throws(() => OffsetLog(newPath('folder', 'log'), null), (err) => err.code === 'ERR_INVALID_ARGUMENT')
  t.throws(() => OffsetLog(), (err) => err.code === 'ERR_INVALID_ARGUMENT')
  t.end()
})

tape('framing: a new file is checked; an old one keeps its own, whatever the option says', async (t) => {
  const file = newPath('folder', 'log')
  for (const [options, name] of [[{}, 'checked'], [{ framing: 'offset48' }, 'checked']]) {
    const log = OffsetLog(file, options)
    await log.append(Buffer.from('x'))
    t.equal((await log.stats()).framing, name)
    await log.close()
  }
  const legacy = newPath('folder', 'log')
  for (const options of [{ framing: 'offset48' }, {}, { framing: 'checked' }]) {
    const log = OffsetLog(legacy, options)
    await log.append(Buffer.from('x'))
    t.equal((await log.stats()).framing, 'offset48')
    await log.close()
  }
})

tape('open: an empty file is a new one, and with flags "r" an empty log', async (t) => {
  const file = newPath('folder', 'log')
  fs.mkdirSync(path.dirname(file))
  fs.writeFileSync(file, '')
  const reader = OffsetLog(file, { flags: 'r' })
  t.deepEqual(await valuesOf(reader), [])
  t.equal(reader.since.value, -1)
  t.equal(reader.recovery, null)
  await reader.close()
  t.equal(fs.statSync(file).size, 0)
  const log = OffsetLog(file)
  await log.append(Buffer.from('x'))
  t.deepEqual(await valuesOf(log), ['x'])
  t.equal((await log.stats()).framing, 'checked')
  await log.close()
  t.deepEqual(fs.readdirSync(path.dirname(file)), ['log'])
})

tape('open: a missing file or folder with flags "r" fails every call, and creates nothing', async (t) => {
  const file = newPath('folder', 'log')
  const log = OffsetLog(file, { flags: 'r' })
  t.equal((await failureOf(() => log.ready())).code, 'ENOENT')
  t.equal((await failureOf(() => valuesOf(log))).code, 'ENOENT')
  await log.close()
  t.notOk(fs.existsSync(path.dirname(file)))
})

tape('open: a directory gives a code, and says what opens it', async (t) => {
  const folder = temporaryFolder()
  for (const flags of ['r+', 'r']) {
    const log = OffsetLog(folder, { flags })
    const { code, message, path } = await failureOf(() => log.ready())
    t.deepEqual([code, path], ['EISDIR', folder])
    t.match(message, /is a folder.*SegmentedLog/)
    await log.close()
  }
})

tape('flumelog-offset fault: an all-zero payload reads as deleted, an empty one makes get fail', async (t) => {
  const log = OffsetLog(newPath('folder', 'log'), { framing: 'offset32' })
  for (const record of [Buffer.alloc(0), Buffer.alloc(1), Buffer.alloc(5000)]) {
    t.equal((await failureOf(() => log.append(record))).code, 'ERR_RECORD_UNREPRESENTABLE')
    t.equal((await failureOf(() => log.append([Buffer.from('a'), record]))).code, 'ERR_RECORD_UNREPRESENTABLE')
  }
  t.equal(log.since.value, -1, 'nothing was written')
  const seq = await log.append(Buffer.from([0, 0, 1]))
  t.deepEqual(await log.get(seq), Buffer.from([0, 0, 1]))
  await log.close()
  // The checked framing takes both for what they are.
  const checked = OffsetLog(newPath('folder', 'log'))
  for (const record of [Buffer.alloc(0), Buffer.alloc(1), Buffer.alloc(50000)]) {
    t.ok((await checked.get(await checked.append(record))).equals(record))
  }
  await checked.close()
})

for (const framing of FRAMINGS) {
  tape(`flumelog-offset fault: after one failed append every later one throws "already appending" (${framing})`, async (t) => {
    const file = newPath('folder', 'log')
    let isFull = false
    const error = Object.assign(new Error('disk full'), { code: 'ENOSPC' })
    const storage = faultyStorage(fileStorage, ({ name }) => isFull && name === 'write' ? { error } : {})
    const log = OffsetLog(file, { framing, storage })
    const first = await log.append(Buffer.from('first'))
    isFull = true
    const failures = await Promise.all(['a', 'b'].map((text) => failureOf(() => log.append(Buffer.from(text)))))
    t.deepEqual(failures, [error, error])
    t.equal(log.since.value, first)
    isFull = false
    await log.append(Buffer.from('second'))
    t.deepEqual(await valuesOf(log), ['first', 'second'])
    await log.close()
    const again = OffsetLog(file)
    t.deepEqual(await valuesOf(again), ['first', 'second'])
    t.equal(again.recovery, null)
    await again.close()
  })

  tape(`flumelog-offset fault: a read past the end hangs the next write (${framing})`, async (t) => {
    const log = OffsetLog(newPath('folder', 'log'), { framing })
    const seq = await log.append(Buffer.from('first'))
    t.equal((await failureOf(() => log.get(1e9))).code, 'ERR_RECORD_NOT_FOUND')
    await log.del(seq)
    await log.append(Buffer.from('second'))
    t.deepEqual(await valuesOf(log), ['second'])
    await log.close()
  })
}

tape('flumelog-offset fault: a codec that throws escapes the callback', async (t) => {
  const thrown = new Error('mine')
  const codec = { encode () { throw thrown }, decode () { throw thrown }, buffer: true }
  const file = newPath('folder', 'log')
  const plain = OffsetLog(file)
  const seq = await plain.append(Buffer.from('x'))
  await plain.close()
  const log = OffsetLog(file, { codec })
  for (const [code, call] of [
    ['ERR_CODEC_ENCODE', () => log.append('x')], ['ERR_CODEC_DECODE', () => log.get(seq)],
    ['ERR_CODEC_DECODE', () => valuesOf(log)]
  ]) {
    const err = await failureOf(call)
    t.equal(err.code, code)
    t.equal(err.cause, thrown)
  }
  await log.close()
})

tape('codec: a LogError that it throws keeps its code', async (t) => {
  const thrown = new LogError('ERR_CODEC_DECODE', 'mine', { offset: 3 })
  const log = OffsetLog(newPath('folder', 'log'), { codec: { encode () { throw thrown }, decode: (x) => x, buffer: true } })
  t.equal(await failureOf(() => log.append('x')), thrown)
  await log.close()
})

tape('codec: a compiled filter that throws ends the stream or the scan with a code, and with what it threw', async (t) => {
  const thrown = new Error('mine')
  const compile = () => () => { throw thrown }
  const log = OffsetLog(newPath('folder', 'log'), { codec: { encode: (x) => x, decode: (x) => x, buffer: true, compile } })
  await log.append(Buffer.from('x'))
  const where = { path: ['a'], equals: 1 }
  for (const call of [() => valuesOf(log, { where }), () => log.scan({ where }, () => {})]) {
    const { code, cause } = await failureOf(call)
    t.deepEqual([code, cause], ['ERR_CODEC_DECODE', thrown])
  }
  await log.close()
})

tape('stream: an iterator is its own, and gives nothing more once it was returned', async (t) => {
  const log = OffsetLog(newPath('folder', 'log'))
  for (const text of ['a', 'b', 'c']) await log.append(Buffer.from(text))
  const iterator = log.stream({ seqs: false })[Symbol.asyncIterator]()
  t.equal(iterator[Symbol.asyncIterator](), iterator)
  t.equal(String((await iterator.next()).value), 'a')
  t.deepEqual(await iterator.return('done'), { done: true, value: 'done' })
  t.deepEqual(await iterator.next(), { done: true, value: undefined })
  t.deepEqual(await iterator.next(), { done: true, value: undefined }, 'asked once more')
  await log.close()
})

tape('stream: onCorrupt is checked, and nothing is lost before anything is read', async (t) => {
  const log = OffsetLog(newPath('folder', 'log'))
  t.equal((await failureOf(() => valuesOf(log, { onCorrupt: 'ignore' }))).code, 'ERR_INVALID_ARGUMENT')
  t.equal((await failureOf(() => log.scan({ onCorrupt: true }, () => {}))).code, 'ERR_INVALID_ARGUMENT')
  t.deepEqual(log.stream({ onCorrupt: 'skip' }).lost, { count: 0, size: 0 })
  await log.close()
  const legacy = OffsetLog(newPath('folder', 'log'), { framing: 'offset32' })
  t.equal((await failureOf(() => valuesOf(legacy, { onCorrupt: 'skip' }))).code, 'ERR_NOT_SUPPORTED')
  await legacy.close()
})

tape('codec: what is not an Error may be thrown, and what is not bytes may be made', async (t) => {
  const made = [undefined, 5, {}, null]
  for (const result of made) {
    const log = OffsetLog(newPath('folder', 'log'), { codec: { encode: () => result, decode: (x) => x } })
    t.equal((await failureOf(() => log.append('x'))).code, 'ERR_CODEC_ENCODE')
    await log.close()
  }
  const log = OffsetLog(newPath('folder', 'log'), {
    codec: { encode: (x) => new Uint8Array([x]), decode () { throw 'a string' }, buffer: true } // eslint-disable-line no-throw-literal
  })
  const seq = await log.append(7)
  t.match((await failureOf(() => log.get(seq))).message, /a string/)
  await log.close()
})

tape('flumelog-offset fault: 4 GB: an append past what the framing can address fails alone', async (t) => {
  const log = OffsetLog(newPath('folder', 'log'), { framing: 'offset32' })
  await log.append(Buffer.from('first'))
  const { framing } = log._file.store
  const { fileSizeMax } = framing
  framing.fileSizeMax = 40
  const results = await Promise.allSettled(
    [Buffer.from('fits'), Buffer.alloc(50, 'x'), Buffer.from('no')].map((value) => log.append(value)))
  framing.fileSizeMax = fileSizeMax
  t.deepEqual(results.map(({ status, reason }) => reason?.code ?? status), ['fulfilled', 'ERR_LOG_FULL', 'ERR_LOG_FULL'])
  t.deepEqual(await valuesOf(log), ['first', 'fits'])
  await log.close()
  t.deepEqual(Object.values(offsetFramings).map((framing) => framing.fileSizeMax),
    [2 ** 32 - 1, 2 ** 48 - 1, Number.MAX_SAFE_INTEGER])
})

for (const framing of ['offset48', 'offset53']) {
  tape(`${framing}: positions above 4 GiB are read and written right`, { skip: process.platform !== 'linux' }, async (t) => {
    // A sparse file stands in for five gigabytes of records: it holds one frame that ends just past 4 GiB.
    const file = newPath('folder', 'log')
    const { overhead } = offsetFramings[framing]
    const size = 2 ** 32 - 5
    const frame = Buffer.alloc(overhead)
    offsetFramings[framing].writeFrame(Buffer.alloc(0), 0, frame, 0)
    fs.mkdirSync(path.dirname(file))
    const fd = fs.openSync(file, 'w')
    const head = Buffer.alloc(4)
    head.writeUInt32BE(size)
    fs.writeSync(fd, head, 0, 4, 0)
    fs.writeSync(fd, Buffer.from('data'), 0, 4, 4)
    const trailer = Buffer.alloc(overhead - 4)
    head.copy(trailer)
    trailer.writeUIntBE(size + overhead, trailer.length - 6, 6)
    fs.writeSync(fd, trailer, 0, trailer.length, 4 + size)
    fs.closeSync(fd)
    const log = OffsetLog(file)
    await log.ready()
    t.equal((await log.stats()).framing, framing)
    t.equal(log.since.value, 0)
    const seq = await log.append([Buffer.from('far'), Buffer.from('out')])
    t.equal(await log.append([]), seq)
    t.deepEqual(await valuesOf(log, { gt: 0 }), ['far', 'out'])
    t.equal((await failureOf(() => valuesOf(log))).code, 'ERR_RECORD_TOO_LARGE')
    t.equal((await failureOf(() => log.get(0))).code, 'ERR_RECORD_TOO_LARGE')
    t.deepEqual(await valuesOf(log, { reverse: true, limit: 2 }), ['out', 'far'])
    await log.del(seq)
    await log.close()
    const again = OffsetLog(file)
    t.deepEqual(await valuesOf(again, { gt: 0 }), ['far'])
    t.equal(again.recovery, null)
    await again.close()
  })
}

for (const framing of FRAMINGS) {
  tape(`maxRecordSize: a larger record is refused on writing and on reading (${framing})`, async (t) => {
    const file = newPath('folder', 'log')
    const log = OffsetLog(file, { framing })
    const seq = await log.append(Buffer.alloc(700000, 'x'))
    await log.close()
    const small = OffsetLog(file, { maxRecordSize: 1000, blockSize: 1024 })
    t.equal((await failureOf(() => small.append(Buffer.alloc(1001, 'x')))).code, 'ERR_RECORD_TOO_LARGE')
    t.equal((await failureOf(() => small.get(seq))).code, 'ERR_RECORD_TOO_LARGE')
    await small.append(Buffer.alloc(1000, 'y'))
    t.equal((await valuesOf(small, { reverse: true, limit: 1 }))[0].length, 1000)
    await small.close()
  })
}

for (const framing of FRAMINGS) {
  tape(`records: larger than many spans, forward, backward and alone (${framing})`, async (t) => {
    const log = OffsetLog(newPath('folder', 'log'), { framing, blockSize: 4096 })
    const sizes = [10, 1500000, 3, 400000, 262144, 262132, 524288, 1]
    const seqs = []
    for (const size of sizes) seqs.push(await log.append(Buffer.alloc(size, size % 251 + 1)))
    t.deepEqual((await valuesOf(log)).map((text) => text.length), sizes)
    t.deepEqual((await valuesOf(log, { reverse: true })).map((text) => text.length), [...sizes].reverse())
    for (const [index, seq] of seqs.entries()) t.equal((await log.get(seq)).length, sizes[index])
    await log.close()
  })
}

for (const framing of FRAMINGS) {
  tape(`append: batches larger than one write, and many at once (${framing})`, async (t) => {
    const log = OffsetLog(newPath('folder', 'log'), { framing })
    const values = Array.from({ length: 3000 }, (_, i) => Buffer.alloc(1 + i % 2000, 1 + i % 255))
    const parts = [values.slice(0, 1500), values.slice(1500, 1501), values.slice(1501)]
    await Promise.all(parts.map((part) => log.append(part)))
    let index = 0
    for await (const { value } of log.stream()) {
      if (!value.equals(values[index++])) t.fail(`record ${index - 1}`)
    }
    t.equal(index, 3000)
    await log.close()
  })
}

for (const framing of FRAMINGS) {
  tape(`close: waits for a deletion that is under way (${framing})`, async (t) => {
    const file = newPath('folder', 'log')
    const log = OffsetLog(file, { framing })
    const seqs = []
    for (let i = 0; i < 50; i++) seqs.push(await log.append(Buffer.from(`value ${i}`)))
    const deleted = log.del(seqs)
    await log.close()
    await deleted
    const again = OffsetLog(file)
    t.deepEqual(await valuesOf(again), [])
    await again.close()
  })
}

for (const framing of FRAMINGS) {
  tape(`close: after a sync that failed it closes, and says so (${framing})`, async (t) => {
    const error = new Error('no sync')
    let isBroken = false
    const storage = faultyStorage(fileStorage, ({ name }) => isBroken && name === 'sync' ? { error } : {})
    const log = OffsetLog(newPath('folder', 'log'), { framing, storage })
    await log.append(Buffer.from('x'))
    isBroken = true
    for (const call of [() => log.sync(), () => log.append(Buffer.from('y')), () => log.close()]) {
      const err = await failureOf(call)
      t.equal(err.code, 'ERR_LOG_POISONED')
      t.equal(err.cause, error)
    }
    t.equal((await failureOf(() => log.get(0))).code, 'ERR_LOG_CLOSED')
  })
}

tape('errors: one callback that throws does not keep the others from theirs', async (t) => {
  const log = OffsetLog(newPath('folder', 'log'))
  const listeners = process.listeners('uncaughtException')
  process.removeAllListeners('uncaughtException')
  const caught = new Promise((resolve) => process.once('uncaughtException', resolve))
  const thrown = new Error('mine')
  log.append(Buffer.from('a'), () => { throw thrown })
  const seq = await log.append(Buffer.from('b'))
  t.equal(await caught, thrown)
  for (const listener of listeners) process.on('uncaughtException', listener)
  t.equal((await log.get(seq)).toString(), 'b')
  await log.close()
})
