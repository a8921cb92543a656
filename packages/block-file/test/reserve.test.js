'use strict'
// Room behind the end, and small writes and syncs that are done at once while the disk is fast.

const fs = require('node:fs')
const tape = require('tape')
const { SimulatedDisk, failureOf, faultyStorage } = require('@millrace/testkit')
const { BlockFile, fileStorage } = require('..')
const { open, promises } = require('./open-blocks')

const FILE = '/folder/file'
const EIO = Object.assign(new Error('bad disk'), { code: 'EIO' })

/** The real storage, with the calls of a handle that are done at once replaced or watched. */
function inlineStorage (change) {
  return {
    ...fileStorage,
    open: (path, options, cb) => fileStorage.open(path, options, (err, handle) => {
      cb(err, handle && { ...handle, ...change(handle) })
    })
  }
}

tape('reserve: zeros are kept behind the end, and nobody sees them', async (t) => {
  const { blocks, append, read, size, sync, trim, path, close } = open()
  blocks.reserve(1000)
  await append(Buffer.from('one'))
  t.equal(size.value, 3)
  t.equal(fs.statSync(path).size, 1003)
  for (let index = 0; index < 10; index++) await append(Buffer.from('more'))
  t.equal(fs.statSync(path).size, 1003, 'the file need not grow')
  t.equal((await failureOf(() => read(0, 44))).code, 'ERR_FILE_RANGE')
  t.equal((await read(35, 43)).toString(), 'moremore')
  await append(Buffer.alloc(1000, 'x'))
  t.equal(fs.statSync(path).size, 2043)
  await sync()
  await trim()
  t.equal(fs.statSync(path).size, size.value)
  await trim()
  await append(Buffer.from('!'))
  t.equal(fs.statSync(path).size, 1044 + 1000)
  await close()
  t.equal(fs.readFileSync(path, 'latin1').slice(0, 1044), `one${'more'.repeat(10)}${'x'.repeat(1000)}!`)
})

tape('reserve: truncating takes the zeros along, and 0 keeps none', async (t) => {
  const { blocks, append, truncate, size, path, close } = open()
  blocks.reserve(100)
  await append(Buffer.from('text'))
  await truncate(2)
  t.equal(fs.statSync(path).size, 2)
  await append(Buffer.from('!'))
  t.equal(fs.statSync(path).size, 103)
  blocks.reserve(0)
  await append(Buffer.alloc(200, 1))
  t.equal(fs.statSync(path).size, size.value)
  await close()
})

tape('reserve: where there is no room for zeros there may be for the bytes', async (t) => {
  const disk = new SimulatedDisk({ capacity: 500 })
  const { blocks, append, read, size, close } = promises(BlockFile(FILE, { storage: disk.storage }))
  blocks.reserve(1000)
  await append(Buffer.alloc(400, 'a'))
  t.equal(size.value, 400)
  t.equal((await failureOf(() => append(Buffer.alloc(101, 'b')))).code, 'ENOSPC')
  await append(Buffer.alloc(100, 'c'))
  t.equal(String(await read(399, 500)), `a${'c'.repeat(100)}`)
  await close()
  t.equal(disk.read(FILE).length, 500)
})

tape('reserve: what is appended at once has room too, and needs none', async (t) => {
  const { blocks, append, read, size, path, close } = open()
  blocks.reserve(1000)
  await append(Buffer.from('one'))
  blocks.appendNow(Buffer.from('two'))
  t.equal(fs.statSync(path).size, 1003, 'into the room that there is')
  blocks.appendNow(Buffer.alloc(1000, 'x'))
  t.equal(size.value, 1006)
  t.equal(fs.statSync(path).size, 2006, 'with new room')
  await append(Buffer.from('!'))
  t.equal(fs.statSync(path).size, 2006)
  t.equal(String(await read(0, 7)), 'onetwox')
  t.equal(String(await read(1000, 1007)), 'xxxxxx!')
  await close()
  const disk = new SimulatedDisk({ capacity: 500 })
  const full = promises(BlockFile(FILE, { storage: disk.storage }))
  await full.ready()
  full.blocks.reserve(1000)
  full.blocks.appendNow(Buffer.alloc(400, 'a'))
  t.equal((await failureOf(async () => full.blocks.appendNow(Buffer.alloc(101, 'b')))).code, 'ENOSPC')
  full.blocks.appendNow(Buffer.alloc(100, 'c'))
  t.equal(String(await full.read(399, 500)), `a${'c'.repeat(100)}`)
  await full.close()
  t.equal(disk.read(FILE).length, 500, 'where there is no room for zeros there is for the bytes')
})

tape('trim: one that fails is reported, and the file stays readable', async (t) => {
  let isBroken = false
  const storage = faultyStorage(fileStorage, ({ name }) => isBroken && name === 'truncate' ? { error: EIO } : {})
  const { blocks, append, read, trim, close } = open(null, { storage })
  blocks.reserve(100)
  await append(Buffer.from('text'))
  isBroken = true
  t.equal(await failureOf(trim), EIO)
  t.equal(String(await read(0, 4)), 'text')
  isBroken = false
  await trim()
  await close()
  const reader = open(Buffer.from('text'), { flags: 'r' })
  t.equal((await failureOf(reader.trim)).code, 'ERR_FILE_READ_ONLY')
  await reader.close()
})

tape('small writes and syncs are done at once while the disk is fast, large ones never', async (t) => {
  const counts = { writeSync: 0, syncSync: 0, write: 0, sync: 0 }
  const storage = inlineStorage((handle) => Object.fromEntries(Object.keys(counts).map((name) => [name, (...args) => {
    counts[name]++
    return handle[name](...args)
  }])))
  const { blocks, append, sync, read, close } = open(null, { storage })
  await append(Buffer.from('small'))
  await sync()
  t.deepEqual(counts, { writeSync: 1, syncSync: 1, write: 0, sync: 0 })
  await append(Buffer.alloc(2 ** 21, 'l'))
  await sync()
  t.deepEqual(counts, { writeSync: 1, syncSync: 1, write: 1, sync: 1 })
  // A slow disk would keep all else waiting.
  for (const adaptiveIo of [blocks._writer._writeIo, blocks._writer._syncIo]) adaptiveIo.mayBlock = () => false
  await append(Buffer.from('small'))
  await sync()
  t.deepEqual(counts, { writeSync: 1, syncSync: 1, write: 2, sync: 2 })
  t.equal(String(await read(2 ** 21, 2 ** 21 + 10)), 'lllllsmall')
  await close()
})

tape('small writes and syncs that fail at once are reported like any other', async (t) => {
  let fault = null
  const storage = inlineStorage((handle) => ({
    writeSync: (...args) => {
      if (fault === 'nothing') return 0
      if (fault) throw fault
      return handle.writeSync(...args)
    },
    syncSync: () => {
      if (fault) throw fault
    }
  }))
  const { append, write, sync, read, size, path, close } = open(Buffer.from('before'), { storage })
  for (const [given, code] of [[EIO, 'EIO'], ['nothing', 'EIO']]) {
    fault = given
    t.equal((await failureOf(() => append(Buffer.from('lost')))).code, code)
    fault = null
    t.equal(size.value, 6)
    t.equal(fs.readFileSync(path, 'utf8'), 'before')
  }
  fault = EIO
  t.equal(await failureOf(sync), EIO)
  t.equal(await failureOf(() => write(Buffer.from('new'), 0)), EIO)
  fault = null
  await append(Buffer.from('+after'))
  await sync()
  t.equal(String(await read(0, 12)), 'before+after')
  await close()
})

tape('short writes that are done at once are continued', async (t) => {
  const storage = inlineStorage((handle) => ({
    writeSync: (buf, offset, length, position) => handle.writeSync(buf, offset, Math.ceil(length / 3), position)
  }))
  const { append, read, close } = open(null, { storage })
  await append(Buffer.from('continued'))
  t.equal(String(await read(0, 9)), 'continued')
  await close()
})
