'use strict'
// Appends, overwrites and truncations: done whole, or undone.

const fs = require('node:fs')
const tape = require('tape')
const { failureOf, faultyStorage } = require('@millrace/testkit')
const { fileStorage } = require('..')
const { counting, open } = require('./open-blocks')

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
    if (name.startsWith('read') && mode === 'unreadable') return { error }
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
  blocks._file.adaptiveIo.mayBlock = () => false
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

tape('writeQuietly: changes the file and the cache, and sends no reader to read again', async (t) => {
  const { writeQuietly, write, read, blocks, path, close } = open(counting(100))
  await read(0, 100)
  const before = blocks.rewriteCount
  await writeQuietly(Buffer.from('quiet'), 14)
  t.equal(blocks.rewriteCount, before)
  t.equal((await read(14, 19)).toString(), 'quiet')
  t.equal(fs.readFileSync(path).toString('latin1', 14, 19), 'quiet')
  await write(Buffer.from('loud'), 14)
  t.equal(blocks.rewriteCount, before + 1)
  t.equal((await failureOf(() => writeQuietly(Buffer.from('past the end'), 95))).code, 'ERR_FILE_RANGE')
  t.equal((await failureOf(() => writeQuietly('text', 0))).code, 'ERR_INVALID_ARGUMENT')
  t.equal((await failureOf(() => writeQuietly(Buffer.from('x'), -1))).code, 'ERR_INVALID_ARGUMENT')
  await close()
  const reader = open(counting(10), { flags: 'r' })
  t.equal((await failureOf(() => reader.writeQuietly(Buffer.from('x'), 0))).code, 'ERR_FILE_READ_ONLY')
  await reader.close()
})

tape('write: of nothing, and to a file that something else has cut', async (t) => {
  const storage = faultyStorage(fileStorage, () => {})
  const { write, append, size, path, close } = open(counting(100), { storage })
  await append(Buffer.alloc(0))
  await write(Buffer.alloc(0), 100)
  t.equal(size.value, 100)
  fs.truncateSync(path, 50)
  t.equal((await failureOf(() => write(Buffer.from('text'), 60))).code, 'ERR_FILE_RANGE')
  t.equal(fs.statSync(path).size, 50, 'nothing was written')
  await close()
})
