'use strict'
// Looking at a few bytes here and there: when that is left to the reader, and when a block is worth caching.

const tape = require('tape')
const { failureOf, faultyStorage, stopClock } = require('@millrace/testkit')
const { fileStorage } = require('..')
const { Admission, BlockCache } = require('../lib/block-cache')
const { counting, open } = require('./open-blocks')

const bytesOf = ({ bytes, offset, size }) => bytes.subarray(offset, offset + size)

tape('look: what fails, or comes in part, is left to the reader', async (t) => {
  stopClock(t)
  const faults = [{ error: new Error('broken') }, { length: 3 }, {}]
  const storage = faultyStorage(fileStorage, ({ name }) => name === 'readSync' ? faults.shift() : undefined)
  const { ready, blocks, close } = open(counting(100), { storage })
  await ready()
  const peeker = blocks.createPeeker()
  t.notOk(peeker.look(40, 4, 20, false), 'a failure')
  t.notOk(peeker.look(60, 4, 20, false), 'a short read')
  t.ok(peeker.look(20, 4, 20, false))
  t.deepEqual(bytesOf(peeker), counting(100).subarray(20, 40))
  await close()
  t.notOk(peeker.look(20, 4, 20, false), 'closed')
})

tape('look: bytes that are being overwritten are left to the reader, who waits for them', async (t) => {
  stopClock(t)
  let proceed
  const after = new Promise((resolve) => { proceed = resolve })
  const storage = faultyStorage(fileStorage, ({ name }) => name === 'write' ? { after } : undefined)
  const { ready, blocks, write, read, close } = open(counting(100), { storage, cache: 0 })
  await ready()
  const peeker = blocks.createPeeker()
  const written = write(Buffer.alloc(10), 50)
  t.notOk(peeker.look(45, 4, 10, false))
  t.ok(peeker.look(45, 4, 5, false), 'others are not waited for')
  const found = read(45, 55)
  proceed()
  t.deepEqual(await found, Buffer.concat([counting(50).subarray(45), Buffer.alloc(5)]))
  await written
  t.ok(peeker.look(45, 4, 10, false))
  await close()
})

tape('look: nothing but small reads, and none that the disk makes wait', async (t) => {
  stopClock(t)
  const { ready, blocks, close } = open(counting(200000), { blockSize: 4096 })
  await ready()
  const peeker = blocks.createPeeker()
  t.ok(peeker.look(0, 4, 65536, false))
  t.notOk(peeker.look(0, 4, 65537, false))
  blocks._file.adaptiveIo.note(50)
  t.notOk(peeker.look(0, 4, 100, false), 'after a slow read')
  await close()
})

tape('look: in order, or again and again, it is the reader who caches the block', async (t) => {
  stopClock(t)
  const { ready, blocks, read, close } = open(counting(64 * 16), { cache: 8 * 16 })
  await ready()
  const peeker = blocks.createPeeker()
  t.notOk(peeker.look(0, 4, 8, true), 'in order')
  t.ok(peeker.look(32, 4, 8, false), 'once')
  t.notOk(peeker.look(36, 4, 8, false), 'a second time')
  await read(36, 44)
  const { hitCount } = blocks.cacheStats()
  t.ok(peeker.look(36, 4, 8, false))
  t.deepEqual(bytesOf(peeker), counting(64 * 16).subarray(36, 48), 'the rest of the block')
  t.equal(blocks.cacheStats().hitCount, hitCount + 1)
  t.equal(await failureOf(() => read(0, 8)), null)
  await close()
})

tape('look: a cached block ends with the file', async (t) => {
  stopClock(t)
  const { ready, read, append, blocks, close } = open(counting(40))
  await ready()
  await read(34, 38)
  const peeker = blocks.createPeeker()
  t.ok(peeker.look(36, 2, 3, false))
  t.deepEqual(bytesOf(peeker), counting(40).subarray(36))
  await append(Buffer.from('and'))
  t.ok(peeker.look(36, 2, 3, false))
  t.deepEqual(bytesOf(peeker), Buffer.concat([counting(40).subarray(36), Buffer.from('and')]))
  await close()
})

tape('Admission: a part that fits is soon cached, a file many times as large is not', (t) => {
  const [blockSize, slotCount] = [65536, 64]
  const missesOf = (blockCount, rounds) => {
    const cache = new BlockCache(blockSize, slotCount * blockSize)
    const admission = new Admission(cache)
    const block = Buffer.alloc(blockSize)
    let admitted = 0
    // The cache is full of something else.
    for (let index = 0; index < slotCount; index++) cache.put(1e6 + index, block, 0, blockSize)
    for (let round = 0; round < rounds; round++) {
      for (let index = 0; index < blockCount; index++) {
        if (cache.find(index) !== -1 || !admission.isWorthIt(index, false)) continue
        cache.put(index, block, 0, blockSize)
        admitted++
      }
    }
    return admitted
  }
  t.equal(missesOf(40, 70), 40, 'each of its blocks once')
  t.equal(missesOf(slotCount * 20, 40), 0)
  const empty = new Admission(new BlockCache(blockSize, 0))
  t.notOk(empty.isWorthIt(0, true), 'nothing is worth caching where there is no cache')
  t.end()
})
