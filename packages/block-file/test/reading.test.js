'use strict'
// Ranges, integers and scans: whole, cached, short, failing.

const fs = require('node:fs')
const tape = require('tape')
const { failureOf, faultyStorage, isLongRun, stopClock } = require('@millrace/testkit')
const { BlockFile, fileStorage } = require('..')
const { counting, open, promises } = require('./open-blocks')

tape('read: ranges within and across blocks, and nothing at all', async (t) => {
  const bytes = counting(100)
  const { read, size, ready, close } = open(bytes)
  await ready()
  t.equal(size.value, 100)
  for (const [start, end] of [[0, 100], [3, 9], [15, 17], [16, 32], [0, 0], [100, 100], [31, 97], [99, 100]]) {
    t.deepEqual(await read(start, end), bytes.subarray(start, end), `${start} to ${end}`)
    t.deepEqual(await read(start, end), bytes.subarray(start, end), 'again, from the cache')
  }
  await close()
})

tape('read: past the end, negative and fractional positions give a code, and the next write works', async (t) => {
  const { read, readUInt32BE, append, size, close } = open(counting(20))
  t.equal((await failureOf(() => read(0, 21))).code, 'ERR_FILE_RANGE')
  t.equal((await failureOf(() => read(30, 40))).code, 'ERR_FILE_RANGE')
  t.equal((await failureOf(() => readUInt32BE(18))).code, 'ERR_FILE_RANGE')
  for (const [start, end] of [[-1, 4], [0.5, 4], [0, 4.5], [4, 3], ['0', 4], [NaN, 4], [0, Infinity], [0, 2 ** 53]]) {
    t.equal((await failureOf(() => read(start, end))).code, 'ERR_INVALID_ARGUMENT', `${start} to ${end}`)
  }
  t.equal(await append(Buffer.from('more')), 24)
  t.equal(size.value, 24)
  await close()
})

tape('read: the caller may change what it got', async (t) => {
  const { read, close } = open(counting(32))
  const first = await read(0, 8)
  first.fill(0xff)
  t.deepEqual(await read(0, 8), counting(8))
  await close()
})

tape('read: in order, each read is the caller\'s own, and sees what was written since', async (t) => {
  for (const mayBlock of [true, false]) {
    const bytes = Buffer.from(counting(4000))
    const { read, write, truncate, append, blocks, ready, close } = open(bytes, { blockSize: 64, cache: 16 * 64 })
    await ready()
    blocks._file.adaptiveIo.mayBlock = () => mayBlock
    for (let start = 0; start < 4000; start += 50) {
      const found = await read(start, start + 50)
      if (!found.equals(bytes.subarray(start, start + 50))) t.fail(`at ${start}`)
      found.fill(0xff)
      const again = await read(start, start + 50)
      if (!again.equals(bytes.subarray(start, start + 50))) t.fail(`at ${start}, again`)
      if (start % 300 !== 0 || start > 3500) continue
      bytes.fill(start % 200, start + 60, start + 90)
      await write(Buffer.alloc(30, start % 200), start + 60)
    }
    await truncate(3970)
    await append(Buffer.alloc(30, 9))
    t.deepEqual(await read(3950, 4000), Buffer.concat([bytes.subarray(3950, 3970), Buffer.alloc(30, 9)]))
    await close()
  }
})

tape('read: a recursion over cached bytes does not overflow the stack', (t) => {
  const { blocks } = open(counting(32))
  let left = 50000
  const again = (err) => {
    if (err || --left === 0) {
      t.error(err)
      return blocks.close(() => t.end())
    }
    if (left % 2) blocks.read(0, 4, again)
    else blocks.readUInt32BE(0, again)
  }
  blocks.read(0, 4, again)
})

tape('read: a file that something else cut off gives a code', async (t) => {
  const { read, ready, path, close, scan } = open(counting(100), { cache: 0 })
  await ready()
  fs.truncateSync(path, 50)
  t.equal((await failureOf(() => read(40, 60))).code, 'ERR_FILE_SHORT_READ')
  t.equal((await failureOf(() => scan({}, () => {}))).code, 'ERR_FILE_SHORT_READ')
  t.deepEqual(await read(40, 50).catch(({ code }) => code), 'ERR_FILE_SHORT_READ', 'its block ends short')
  await close()
})

tape('read: short reads are continued, synchronous and not', async (t) => {
  const storage = faultyStorage(fileStorage, ({ name, length }) => {
    return name.startsWith('read') ? { length: Math.ceil(length / 3) } : {}
  })
  const bytes = counting(1000)
  const { read, blocks, close, ready } = open(bytes, { storage })
  await ready()
  t.deepEqual(await read(0, 500), bytes.subarray(0, 500))
  blocks._file.adaptiveIo.mayBlock = () => false
  t.deepEqual(await read(500, 1000), bytes.subarray(500))
  await close()
})

tape('read: an error of the disk is passed on, and the next read works', async (t) => {
  for (const mayBlock of [true, false]) {
    let failing = true
    const broken = Object.assign(new Error('bad sector'), { code: 'EIO' })
    const storage = faultyStorage(fileStorage, ({ name }) => failing && /^read/.test(name) ? { error: broken } : {})
    const { read, readUInt32BE, blocks, ready, scan, close } = open(counting(100), { storage })
    await ready()
    blocks._file.adaptiveIo.mayBlock = () => mayBlock
    t.equal(await failureOf(() => read(0, 10)), broken)
    t.equal(await failureOf(() => readUInt32BE(0)), broken)
    t.equal(await failureOf(() => scan({}, () => {})), broken)
    failing = false
    t.deepEqual(await read(0, 10), counting(10))
    await close()
  }
})

tape('integers: 32, 48 and 53 bits, big-endian, within and across blocks', async (t) => {
  const bytes = Buffer.alloc(64)
  bytes.writeUInt32BE(0xfffffffe, 13)
  bytes.writeUIntBE(0xfedcba987654, 20, 6)
  bytes.writeBigUInt64BE(BigInt(Number.MAX_SAFE_INTEGER), 28)
  bytes.writeBigUInt64BE(2n ** 53n, 40)
  const { readUInt32BE, readUInt48BE, readUInt53BE, close } = open(bytes)
  for (const from of ['from the file', 'from the cache']) {
    t.equal(await readUInt32BE(13), 0xfffffffe, from)
    t.equal(await readUInt48BE(20), 0xfedcba987654)
    t.equal(await readUInt53BE(28), Number.MAX_SAFE_INTEGER)
    t.equal((await failureOf(() => readUInt53BE(40))).code, 'ERR_FILE_NUMBER_TOO_LARGE')
    t.equal(await readUInt32BE(0), 0)
  }
  await close()
})

tape('transfers: above what one call takes they are split', { skip: !isLongRun || process.platform !== 'linux' }, async (t) => {
  const { read, path, ready, close } = open(Buffer.from('a'), { cache: 0 })
  await close()
  fs.truncateSync(path, 2 ** 31 + 10)
  const large = promises(BlockFile(path, { flags: 'r', cache: 0 }))
  await large.ready()
  const bytes = await large.read(0, 2 ** 31 + 10)
  t.equal(bytes.length, 2 ** 31 + 10)
  t.equal(bytes[0], 97)
  await large.close()
  t.equal((await failureOf(ready)).code, 'ERR_FILE_CLOSED')
  t.equal((await failureOf(() => read(0, 1))).code, 'ERR_FILE_CLOSED')
})

tape('scan: every block once, in order, with cut ends, and false ends it', async (t) => {
  const bytes = counting(100)
  const { scan, close } = open(bytes)
  const visit = async (range) => {
    const blocks = []
    await scan(range, (block, position) => { blocks.push([position, Buffer.from(block)]) })
    return blocks
  }
  const all = await visit({})
  t.deepEqual(all.map(([position]) => position), [0, 16, 32, 48, 64, 80, 96])
  t.deepEqual(Buffer.concat(all.map(([, block]) => block)), bytes)
  const part = await visit({ start: 10, end: 40 })
  t.deepEqual(part.map(([position, block]) => [position, block.length]), [[10, 6], [16, 16], [32, 8]])
  t.deepEqual(await visit({ start: 5, end: 5 }), [])
  let count = 0
  await scan({}, () => ++count < 3)
  t.equal(count, 3)
  t.equal((await failureOf(() => scan({ end: 101 }, () => {}))).code, 'ERR_FILE_RANGE')
  const thrown = new Error('mine')
  t.equal(await failureOf(() => scan({}, () => { throw thrown })), thrown)
  await close()
})

tape('scan: one that takes long lets the event loop have turns', async (t) => {
  const { scan, close } = open(Buffer.alloc(4 * 1024 * 1024), { blockSize: 64 * 1024 })
  const clock = stopClock(t)
  let [turns, isOver] = [0, false]
  setImmediate(function count () {
    turns++
    if (!isOver) setImmediate(count)
  })
  await scan({}, () => clock.pass(1))
  isOver = true
  t.ok(turns > 10, `${turns} turns`)
  await close()
})

tape('readInto: fills the target past the cache, and sees what was written', async (t) => {
  const { readInto, read, append, write, size, blocks, close } = open(counting(100))
  const target = Buffer.alloc(40)
  await readInto(target, 30)
  t.ok(target.equals(counting(100).subarray(30, 70)))
  t.equal(blocks.cacheStats().missCount, 0, 'it asks the cache for nothing')
  await read(0, 100)
  await write(Buffer.from('new'), 30)
  await append(Buffer.from('end'))
  await readInto(target, 63)
  t.equal(target.toString('latin1', 37), 'end')
  await readInto(target, 28)
  t.equal(target.toString('latin1', 2, 5), 'new')
  await readInto(Buffer.alloc(0), size.value)
  for (const position of [64, 103, 1000]) t.equal((await failureOf(() => readInto(target, position))).code, 'ERR_FILE_RANGE')
  for (const position of [-1, 1.5, NaN, '3']) {
    t.equal((await failureOf(() => readInto(target, position))).code, 'ERR_INVALID_ARGUMENT')
  }
  t.throws(() => blocks.readInto(target, 0), /callback/)
  await close()
  t.equal((await failureOf(() => readInto(target, 0))).code, 'ERR_FILE_CLOSED')
})

tape('readInto: short reads are continued, and a file that shrank under it gives a code', async (t) => {
  const storage = faultyStorage(fileStorage, ({ name, length }) => {
    return name.startsWith('read') ? { length: Math.ceil(length / 3) } : {}
  })
  const { readInto, ready, path, close } = open(counting(100), { storage })
  await ready()
  const target = Buffer.alloc(90)
  await readInto(target, 5)
  t.ok(target.equals(counting(95).subarray(5)))
  fs.truncateSync(path, 50)
  t.equal((await failureOf(() => readInto(target, 5))).code, 'ERR_FILE_SHORT_READ')
  await close()
})

tape('createSpanReader: what was overwritten while it read on is read again', async (t) => {
  let gate = null
  const storage = faultyStorage(fileStorage, ({ name, length }) => {
    return gate && name === 'read' && length > 100 ? { after: gate } : {}
  })
  const { blocks, ready, write, close } = open(counting(40000), { storage })
  await ready()
  blocks._file.adaptiveIo.mayBlock = () => false
  const reader = blocks.createSpanReader()
  const load = (...args) => new Promise((resolve, reject) => {
    reader.loadForward(...args, (err) => err ? reject(err) : resolve())
  })
  await load(0, 100, 1000)
  t.equal(reader.end, 1000)
  await load(0, 100, 1000)
  t.equal(reader.end, 1000, 'nothing more can be read')
  let release
  gate = new Promise((resolve) => { release = resolve })
  const loading = load(0, 30000, 40000)
  await write(Buffer.from('new'), 10)
  release()
  await loading
  t.equal(reader.buffer.toString('latin1', 10, 13), 'new')
  t.ok(reader.buffer.subarray(13, 30000).equals(counting(40000).subarray(13, 30000)))
  await close()
})

tape('createSpanReader: after a read that failed it holds nothing', async (t) => {
  stopClock(t)
  const error = Object.assign(new Error('bad disk'), { code: 'EIO' })
  let isBroken = false
  const storage = faultyStorage(fileStorage, ({ name }) => isBroken && name.startsWith('read') ? { error } : {})
  const { blocks, ready, close } = open(counting(40000), { storage })
  await ready()
  const reader = blocks.createSpanReader()
  const load = (...args) => new Promise((resolve) => reader.loadForward(...args, resolve))
  t.ok(reader.loadForwardNow(0, 100, 1000))
  isBroken = true
  t.notOk(reader.loadForwardNow(500, 30000, 40000), 'not now')
  t.ok(reader.buffer.subarray(0, reader.end - reader.start).equals(counting(1000).subarray(500)), 'but for what it kept')
  t.equal(await load(0, 30000, 40000), error)
  t.equal(reader.start, reader.end)
  isBroken = false
  await load(0, 30000, 40000)
  t.ok(reader.buffer.subarray(0, 30000).equals(counting(40000).subarray(0, 30000)))
  await close()
})

tape('read: bytes that can be read are, when those beside them, in their block or ahead, cannot', async (t) => {
  const error = Object.assign(new Error('bad disk'), { code: 'EIO' })
  const bad = { start: 100, end: 105 }
  const isBad = ({ name, position, length }) => {
    return name.startsWith('read') && position < bad.end && position + length > bad.start
  }
  const storage = faultyStorage(fileStorage, (call) => isBad(call) ? { error } : {})
  for (const blockSize of [16, 200]) {
    const { read, ready, close } = open(counting(200), { storage, blockSize })
    await ready()
    for (let start = 0; start < 200; start += 5) {
      const isHurt = start === bad.start
      const found = await read(start, start + 5).catch((err) => err)
      t.deepEqual(found, isHurt ? error : counting(200).subarray(start, start + 5), `${start}, blocks of ${blockSize}`)
    }
    await close()
  }
})

tape('read: what is cached in part is not half from before an overwrite and half from after it', async (t) => {
  for (const mayBlock of [true, false]) {
    let proceed
    const after = new Promise((resolve) => { proceed = resolve })
    const storage = faultyStorage(fileStorage, ({ name }) => name === 'write' ? { after } : undefined)
    const { read, write, blocks, ready, close } = open(Buffer.alloc(32, 'a'), { storage })
    await ready()
    blocks._file.adaptiveIo.mayBlock = () => mayBlock
    await read(0, 8)
    const written = write(Buffer.alloc(32, 'b'), 0)
    const found = read(0, 32)
    setTimeout(proceed, 5)
    t.match(String(await found), /^(a{32}|b{32})$/)
    await written
    t.equal(String(await read(0, 32)), 'b'.repeat(32))
    await close()
  }
})

tape('createSpanReader: what was given away stays what it is when the reader settles at the end', async (t) => {
  const { ready, blocks, append, size, close } = open(counting(100_000))
  await ready()
  const reader = blocks.createSpanReader({ givesBuffers: true })
  const load = (from, need = 1) => new Promise((resolve, reject) => {
    reader.loadForward(from, need, size.value, (err) => err ? reject(err) : resolve())
  })
  const given = []
  for (let from = 0; from < 100_000; from = reader.end) {
    await load(from)
    given.push({ start: reader.start, bytes: reader.buffer.subarray(0, reader.end - reader.start) })
  }
  reader.settle()
  for (let round = 0; round < 20; round++) {
    const from = size.value
    await append(Buffer.alloc(5000 + round * 100, round))
    await load(from, size.value - from)
    const found = reader.buffer.subarray(from - reader.start, reader.end - reader.start)
    t.ok(found.equals(Buffer.alloc(5000 + round * 100, round)), `append ${round}`)
  }
  const expected = counting(100_000)
  t.ok(given.every(({ start, bytes }) => bytes.equals(expected.subarray(start, start + bytes.length))))
  t.ok(reader.buffer.length <= 128 * 1024)
  await close()
})
