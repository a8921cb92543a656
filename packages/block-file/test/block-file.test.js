'use strict'

const fs = require('node:fs')
const path = require('node:path')
const { promisify } = require('node:util')
const tape = require('tape')
const { failureOf, faultyStorage, temporaryFolder } = require('@millrace/testkit')
const { BlockFile, fileStorage } = require('..')

/** A file of its own with the given bytes, and its methods as promises. */
function open (bytes, options) {
  const file = path.join(temporaryFolder(), 'blocks')
  if (bytes) fs.writeFileSync(file, bytes)
  return promises(BlockFile(file, { blockSize: 16, ...options }))
}

function promises (blocks) {
  const names = ['ready', 'read', 'readUInt32BE', 'readUInt48BE', 'readUInt53BE', 'append', 'write', 'truncate', 'sync',
    'scan', 'close']
  const methods = names.map((name) => [name, promisify(blocks[name].bind(blocks))])
  return { blocks, path: blocks.path, size: blocks.size, ...Object.fromEntries(methods) }
}

const counting = (size) => Buffer.from(Array.from({ length: size }, (_, i) => i % 251))

tape('BlockFile: works with and without new', async (t) => {
  const file = path.join(temporaryFolder(), 'blocks')
  const blocks = new BlockFile(file)
  t.ok(blocks instanceof BlockFile)
  await promises(blocks).close()
  t.ok(fs.existsSync(file), 'r+ creates the file')
})

tape('BlockFile: refuses options that make no sense', (t) => {
  const wrong = [[''], [5], ['x', { blockSize: 0 }], ['x', { blockSize: 1.5 }], ['x', { flags: 'w' }],
    ['x', { cache: -1 }], ['x', { cache: 2 ** 33 }], ['x', null], ['x', { storage: {} }], ['x', { cache: { get () {}, set () {} } }]]
  for (const args of wrong) {
    t.throws(() => BlockFile(...args), (err) => err instanceof TypeError && err.code === 'ERR_INVALID_ARGUMENT')
  }
  t.end()
})

tape('open: a directory, a missing folder, a missing file and no permission each give a code', async (t) => {
  const folder = temporaryFolder()
  const codeOf = async (file, options) => {
    const { ready, read, append, close } = promises(BlockFile(file, options))
    const calls = [ready, () => read(0, 1), () => append(Buffer.from('a'))]
    const [err, readErr, appendErr] = await Promise.all(calls.map(failureOf))
    t.equal(readErr, err, 'a pending read fails alike')
    if (options?.flags !== 'r') t.equal(appendErr, err, 'a pending append too')
    t.equal(await failureOf(() => read(0, 1)), err, 'and a later read')
    await close()
    return err.code
  }
  t.equal(await codeOf(folder), 'EISDIR')
  t.equal(await codeOf(folder, { flags: 'r' }), 'EISDIR')
  t.equal(await codeOf(path.join(folder, 'missing', 'file')), 'ENOENT')
  t.equal(await codeOf(path.join(folder, 'missing'), { flags: 'r' }), 'ENOENT')
  t.deepEqual(fs.readdirSync(folder), [], 'nothing was created')
  if (process.platform === 'win32' || process.getuid() === 0) {
    const denied = Object.assign(new Error('denied'), { code: 'EACCES' })
    const storage = faultyStorage(fileStorage, ({ name }) => name === 'open' ? { error: denied } : {})
    t.equal(await codeOf(path.join(folder, 'denied'), { storage }), 'EACCES')
  } else {
    fs.writeFileSync(path.join(folder, 'denied'), '', { mode: 0 })
    t.equal(await codeOf(path.join(folder, 'denied')), 'EACCES')
  }
})

tape('open: what is neither a file nor a folder is refused', { skip: process.platform === 'win32' }, async (t) => {
  const err = await failureOf(() => promises(BlockFile('/dev/null')).ready())
  t.equal(err.code, 'ERR_INVALID_ARGUMENT')
})

tape('open: createFolder creates the folder', async (t) => {
  const file = path.join(temporaryFolder(), 'a', 'b', 'blocks')
  const { ready, close } = promises(BlockFile(file, { createFolder: true }))
  await ready()
  t.ok(fs.existsSync(file))
  await close()
})

tape('open: a folder that cannot be created gives a code', async (t) => {
  const file = path.join(temporaryFolder(), 'file')
  fs.writeFileSync(file, '')
  const err = await failureOf(() => promises(BlockFile(path.join(file, 'blocks'), { createFolder: true })).ready())
  t.ok(['ENOTDIR', 'EEXIST', 'ENOENT'].includes(err.code), err.code)
})

tape('open: a size that cannot be had gives its error and closes the file', async (t) => {
  const broken = new Error('no size')
  let closeCount = 0
  const storage = faultyStorage(fileStorage, ({ name }) => {
    if (name === 'close') closeCount++
    return name === 'size' ? { error: broken } : {}
  })
  const { ready, close } = open(Buffer.from('a'), { storage })
  t.equal(await failureOf(ready), broken)
  t.equal(closeCount, 1)
  await close()
})

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
    blocks._file.pace.mayBlock = () => mayBlock
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
  blocks._file.pace.mayBlock = () => false
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
    blocks._file.pace.mayBlock = () => mayBlock
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

tape('append: adds to the end, in the order of the calls, and size follows', async (t) => {
  const { append, read, size, blocks, close } = open()
  const sizes = await Promise.all(['one', 'two', 'three'].map((text) => append(Buffer.from(text))))
  t.equal(sizes[2], 11)
  t.equal(size.value, 11)
  t.equal((await read(0, 11)).toString(), 'onetwothree')
  t.equal(await append(new Uint8Array([33])), 12)
  t.equal(await append(Buffer.alloc(0)), 12)
  t.equal((await read(8, 12)).toString(), 'ree!', 'the cached last block grew along')
  t.equal((await failureOf(() => append('text'))).code, 'ERR_INVALID_ARGUMENT')
  t.throws(() => blocks.append(Buffer.from('x')), /callback/)
  await close()
})

tape('append: short writes are continued, and a disk that takes nothing is an error', async (t) => {
  let length = 2
  const storage = faultyStorage(fileStorage, ({ name }) => name === 'write' ? { length } : {})
  const { append, read, close } = open(null, { storage })
  await append(Buffer.from('continued'))
  t.equal((await read(0, 9)).toString(), 'continued')
  length = 0
  t.equal((await failureOf(() => append(Buffer.from('x')))).code, 'EIO')
  await close()
})

tape('append: one that fails half way leaves file, size and cache as they were, and the next works', async (t) => {
  let writeCount = 0
  const full = Object.assign(new Error('disk full'), { code: 'ENOSPC' })
  const storage = faultyStorage(fileStorage, ({ name }) => {
    if (name !== 'write') return {}
    writeCount++
    return writeCount === 2 ? { length: 3 } : writeCount === 3 ? { error: full } : {}
  })
  const { append, read, size, path, close } = open(null, { storage })
  await append(Buffer.from('before'))
  await read(0, 6)
  t.equal(await failureOf(() => append(Buffer.from('a longer text that fails'))), full)
  t.equal(size.value, 6)
  t.equal(fs.readFileSync(path, 'utf8'), 'before', 'what had been written was cut off')
  await append(Buffer.from('+after'))
  t.equal((await read(0, 12)).toString(), 'before+after')
  t.equal(fs.readFileSync(path, 'utf8'), 'before+after')
  await close()
})

tape('append: when a failed one cannot be undone it says so, and the next one first clears the debris', async (t) => {
  let broken = false
  let writeCount = 0
  const error = Object.assign(new Error('bad disk'), { code: 'EIO' })
  const storage = faultyStorage(fileStorage, ({ name }) => {
    if (!broken) return {}
    if (name === 'truncate') return { error }
    if (name === 'write') return writeCount++ === 0 ? { length: 4 } : { error }
    return {}
  })
  const { append, read, size, path, close } = open(Buffer.from('kept'), { storage })
  await read(0, 4)
  broken = true
  const err = await failureOf(() => append(Buffer.from('lost bytes')))
  t.equal(err.code, 'ERR_FILE_NOT_UNDONE')
  t.equal(err.cause, error)
  t.equal(size.value, 4)
  t.equal(await failureOf(() => append(Buffer.from('x'))), error, 'still broken')
  broken = false
  await append(Buffer.from('!'))
  t.equal(fs.readFileSync(path, 'utf8'), 'kept!')
  t.equal((await read(0, 5)).toString(), 'kept!')
  await close()
})

tape('write: overwrites in place, across blocks, and the cache knows', async (t) => {
  const { write, read, path, close } = open(counting(50))
  await read(0, 50)
  await write(Buffer.alloc(20, 0xff), 10)
  const expected = Buffer.concat([counting(50).subarray(0, 10), Buffer.alloc(20, 0xff), counting(50).subarray(30)])
  t.deepEqual(await read(0, 50), expected)
  t.deepEqual(fs.readFileSync(path), expected)
  await close()
})

tape('write: never extends the file', async (t) => {
  const { write, size, close } = open(counting(20))
  t.equal((await failureOf(() => write(Buffer.alloc(4), 17))).code, 'ERR_FILE_RANGE')
  t.equal((await failureOf(() => write(Buffer.alloc(1), -1))).code, 'ERR_INVALID_ARGUMENT')
  t.equal((await failureOf(() => write('text', 0))).code, 'ERR_INVALID_ARGUMENT')
  await write(Buffer.alloc(4), 16)
  t.equal(size.value, 20)
  await close()
})

tape('write: one that fails half way is undone; when it cannot be, it says so and the cache forgets', async (t) => {
  let mode = 'work'
  let writeCount = 0
  const error = Object.assign(new Error('bad disk'), { code: 'EIO' })
  const storage = faultyStorage(fileStorage, ({ name }) => {
    if (name === 'read' && mode === 'unreadable') return { error }
    if (name !== 'write' || mode === 'work' || mode === 'unreadable') return {}
    writeCount++
    if (writeCount === 1) return { length: 2 }
    return writeCount === 2 || mode === 'all' ? { error } : {}
  })
  const { write, read, path, close } = open(counting(32), { storage })
  await read(0, 32)
  mode = 'half'
  t.equal(await failureOf(() => write(Buffer.alloc(8, 0xff), 4)), error)
  t.deepEqual(fs.readFileSync(path), counting(32), 'undone')
  t.deepEqual(await read(0, 32), counting(32))
  mode = 'unreadable'
  t.equal(await failureOf(() => write(Buffer.alloc(8, 0xff), 4)), error, 'nothing is written over what cannot be read')
  mode = 'all'
  writeCount = 0
  t.equal((await failureOf(() => write(Buffer.alloc(8, 0xff), 4))).code, 'ERR_FILE_NOT_UNDONE')
  mode = 'work'
  t.deepEqual(await read(0, 32), fs.readFileSync(path), 'what is read is what the file has')
  await write(counting(32).subarray(4, 12), 4)
  t.deepEqual(await read(0, 32), counting(32))
  await close()
})

tape('write: a reader sees all of an overwrite or nothing of it', async (t) => {
  let letGo
  const after = new Promise((resolve) => { letGo = resolve })
  const storage = faultyStorage(fileStorage, ({ name }) => name === 'write' ? { after } : {})
  const { write, read, blocks, close } = open(counting(64), { storage, cache: 0 })
  await read(0, 1)
  const written = write(Buffer.alloc(32, 0xff), 0)
  const seen = []
  const reads = [read(0, 32).then((bytes) => seen.push(bytes)), read(40, 44).then(() => seen.push('elsewhere'))]
  await reads[1]
  t.deepEqual(seen, ['elsewhere'], 'a read of other bytes does not wait')
  letGo()
  await Promise.all([written, ...reads])
  t.deepEqual(seen[1], Buffer.alloc(32, 0xff))
  blocks._file.pace.mayBlock = () => false
  const slow = read(0, 32)
  await write(Buffer.alloc(32, 1), 0)
  t.deepEqual(await slow, Buffer.alloc(32, 0xff), 'an overwrite waits for a read that had begun')
  await close()
})

tape('write: a read across cached and uncached blocks sees all of it or nothing', async (t) => {
  const { append, read, write, close } = open(null)
  await append(Buffer.alloc(32, 'a'))
  await read(0, 4)
  const written = write(Buffer.alloc(32, 'b'), 0)
  const seen = (await read(0, 32)).toString()
  await written
  t.ok(seen === 'a'.repeat(32) || seen === 'b'.repeat(32), seen)
  await close()
})

tape('truncate: a read that is valid after it succeeds, one that is not says so', async (t) => {
  const { truncate, read, ready, close } = open(counting(1000), { blockSize: 64, cache: 0 })
  await ready()
  const [, kept, cut] = await Promise.allSettled([truncate(500), read(0, 10), read(400, 510)])
  t.deepEqual(kept.value, counting(10))
  t.equal(cut.reason?.code, 'ERR_FILE_RANGE')
  await close()
})

tape('size: a listener that throws does not stop the queue', async (t) => {
  const { append, truncate, size, close, ready } = open()
  await ready()
  const listeners = process.listeners('uncaughtException')
  process.removeAllListeners('uncaughtException')
  let caughtCount = 0
  process.on('uncaughtException', () => caughtCount++)
  size(() => { throw new Error('mine') }, false)
  await append(Buffer.from('abc'))
  await truncate(1)
  await append(Buffer.from('d'))
  await close()
  await new Promise((resolve) => setTimeout(resolve, 5))
  process.removeAllListeners('uncaughtException')
  for (const listener of listeners) process.on('uncaughtException', listener)
  t.equal(caughtCount, 3)
  t.equal(size.value, 2)
})

tape('close: every caller is told when it is closed, with the same error', async (t) => {
  const error = new Error('no close')
  const storage = faultyStorage(fileStorage, ({ name }) => name === 'close' ? { error } : {})
  const { close, blocks } = open(Buffer.from('a'), { storage })
  const results = await Promise.all([failureOf(close), failureOf(close)])
  t.deepEqual(results, [error, error])
  t.equal(blocks._file.handle, null)
  t.equal(await failureOf(close), error)
})

tape('close: waits for a scan that was asked before', async (t) => {
  const { scan, close, blocks, ready } = open(Buffer.alloc(3000000), { blockSize: 1024 })
  await ready()
  blocks._file.pace.mayBlock = () => false
  let count = 0
  const scanned = scan({}, () => { count++ })
  await close()
  await scanned
  t.equal(count, Math.ceil(3000000 / 1024))
})

tape('misuse: what is thrown on the way goes to the callback', async (t) => {
  const { scan, read, ready, close } = open(Buffer.from('a'))
  t.ok(await failureOf(() => scan(null, () => {})) instanceof TypeError)
  await ready()
  t.ok(await failureOf(() => scan(null, () => {})) instanceof TypeError)
  t.deepEqual(await read(0, 1), Buffer.from('a'))
  await close()
})

tape('transfers: above what one call takes they are split', { skip: process.platform !== 'linux' }, async (t) => {
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

tape('truncate: cuts the file and the cache; a larger size changes nothing', async (t) => {
  const { truncate, append, read, size, path, close } = open(counting(50))
  await read(0, 50)
  await truncate(60)
  t.equal(size.value, 50)
  await truncate(20)
  t.equal(size.value, 20)
  t.equal((await failureOf(() => read(0, 21))).code, 'ERR_FILE_RANGE')
  await append(Buffer.alloc(10, 0xee))
  t.deepEqual(await read(0, 30), Buffer.concat([counting(20), Buffer.alloc(10, 0xee)]))
  t.deepEqual(fs.readFileSync(path), await read(0, 30))
  t.equal((await failureOf(() => truncate(-1))).code, 'ERR_INVALID_ARGUMENT')
  await close()
})

tape('truncate: one that fails changes nothing', async (t) => {
  const error = new Error('no')
  const storage = faultyStorage(fileStorage, ({ name }) => name === 'truncate' ? { error } : {})
  const { truncate, size, read, close } = open(counting(50), { storage })
  t.equal(await failureOf(() => truncate(10)), error)
  t.equal(size.value, 50)
  t.deepEqual(await read(0, 50), counting(50))
  await close()
})

tape('read-only: every change is refused, and the file is as it was', async (t) => {
  const { append, write, truncate, sync, read, path, close } = open(counting(20), { flags: 'r' })
  const changes = [() => append(Buffer.from('x')), () => write(Buffer.from('x'), 0), () => truncate(0), () => sync()]
  for (const change of changes) {
    t.equal((await failureOf(change)).code, 'ERR_FILE_READ_ONLY')
  }
  t.deepEqual(await read(0, 20), counting(20))
  t.deepEqual(fs.readFileSync(path), counting(20))
  await close()
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
  let turns = 0
  const timer = setInterval(() => turns++, 1)
  await scan({}, () => {
    const until = performance.now() + 1
    while (performance.now() < until);
  })
  clearInterval(timer)
  t.ok(turns > 2, `${turns} turns`)
  await close()
})

tape('close: waits for what was asked before, may be called twice, and ends everything after', async (t) => {
  const { append, read, close, scan, path } = open(counting(8))
  const appended = append(Buffer.from('last'))
  await Promise.all([close(), close()])
  t.equal(await appended, 12)
  t.equal(fs.statSync(path).size, 12)
  await close()
  for (const call of [() => read(0, 1), () => append(Buffer.from('x')), () => scan({}, () => {})]) {
    t.equal((await failureOf(call)).code, 'ERR_FILE_CLOSED')
  }
})

tape('close: a scan and a queued change that are under way end with a code', async (t) => {
  const { scan, close, blocks } = open(Buffer.alloc(2 * 1024 * 1024), { blockSize: 1024 })
  const closed = []
  const err = await failureOf(() => scan({}, () => { if (closed.length === 0) closed.push(close()) }))
  t.ok(err === null || err.code === 'ERR_FILE_CLOSED')
  await closed[0]
  const sync = promisify(blocks._writer.sync.bind(blocks._writer))
  t.equal((await failureOf(sync)).code, 'ERR_FILE_CLOSED')
})

tape('errors: a callback that throws does not stop the queue', async (t) => {
  const { blocks, append, close } = open()
  const listeners = process.listeners('uncaughtException')
  process.removeAllListeners('uncaughtException')
  const caught = new Promise((resolve) => process.once('uncaughtException', resolve))
  const thrown = new Error('mine')
  blocks.append(Buffer.from('a'), () => { throw thrown })
  const size = await append(Buffer.from('b'))
  t.equal(await caught, thrown)
  for (const listener of listeners) process.on('uncaughtException', listener)
  t.equal(size, 2)
  await close()
})
