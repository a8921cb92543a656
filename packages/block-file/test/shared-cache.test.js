'use strict'
// Caches that share one memory: each finds what it was given or nothing, and together they stay in their bound.

const tape = require('tape')
const { createRandom } = require('@millrace/testkit')
const { BlockCache, SharedCache } = require('..')

const seed = Date.now() % 2 ** 31

tape(`shared cache: what is found is right, and the bound holds (seed ${seed})`, (t) => {
  const random = createRandom(seed)
  for (let round = 0; round < 5; round++) {
    const shared = new SharedCache(2 ** 20)
    const caches = Array.from({ length: 1 + random(20) }, () => new BlockCache([4096, 16384, 65536][random(3)], shared))
    let found = 0
    for (let step = 0; step < 20_000; step++) {
      const owner = random(random(2) === 0 ? caches.length : Math.ceil(caches.length / 4))
      const cache = caches[owner]
      const index = random(60)
      const at = cache.find(index)
      const mark = (owner * 60 + index) % 256
      if (at === -1) cache.put(index, Buffer.alloc(cache.blockSize, mark), 0, cache.blockSize)
      else if (cache.arena[at] !== mark || cache.arena[at + cache.blockSize - 1] !== mark) t.fail('other bytes')
      else found++
      if (step % 500 === 0) cache.release()
      const sum = caches.reduce((sum, { size }) => sum + size, 0)
      if (sum !== shared.usedSize || sum > shared.size) t.fail(`${sum} bytes, ${shared.usedSize} by its count`)
    }
    t.ok(found > 100, `${caches.length} caches found ${found}`)
    for (const cache of caches) cache.release()
    t.equal(shared.usedSize, 0)
  }
  t.end()
})

tape('shared cache: one that is used takes the memory of those that are not', (t) => {
  const shared = SharedCache(2 ** 20)
  const idle = Array.from({ length: 16 }, () => new BlockCache(16384, shared))
  const block = Buffer.alloc(16384)
  for (const cache of idle) cache.put(0, block, 0, block.length)
  t.equal(shared.usedSize, 2 ** 20)
  const busy = new BlockCache(16384, shared)
  for (let index = 0; index < 64; index++) busy.put(index, block, 0, block.length)
  t.equal(busy.size, 2 ** 20)
  t.ok(idle.every(({ size }) => size === 0))
  t.end()
})

tape('shared cache: alone, a cache grows as it is used', (t) => {
  const cache = new BlockCache(16384, 16 * 2 ** 20)
  t.equal(cache.size, 0)
  const block = Buffer.alloc(16384)
  cache.put(7, block, 0, block.length)
  t.equal(cache.size, 65536)
  for (let index = 0; index < 2000; index++) cache.put(index, block, 0, block.length)
  t.equal(cache.size, 16 * 2 ** 20)
  t.end()
})

tape('shared cache: what was found stays where it is while the cache grows', (t) => {
  const [blockSize, count] = [4096, 300]
  const cache = new BlockCache(blockSize, count * blockSize)
  const places = []
  for (let index = 0; index < count; index++) {
    cache.put(index, Buffer.alloc(blockSize, index % 251), 0, blockSize)
    places.push({ at: cache.find(index), arena: cache.arena })
  }
  cache.patch(Buffer.alloc(2 * blockSize, 252), 15.5 * blockSize)
  const isRight = (byte, index) => {
    const { at, arena } = places[index]
    return cache.find(index) === at && cache.arena === arena && cache.owns(arena) && arena[at + byte] === index % 251
  }
  t.ok(places.every((_, index) => isRight(blockSize - 1, index) || (index >= 15 && index < 17)), 'the ends')
  t.ok(places.every((_, index) => isRight(0, index) || index === 16 || index === 17), 'the beginnings')
  t.deepEqual([[15, blockSize - 1], [16, 0], [16, blockSize - 1], [17, 0]].map(([index, byte]) => {
    return places[index].arena[places[index].at + byte]
  }), [252, 252, 252, 252])
  const { arena } = places[0]
  cache.release()
  t.notOk(cache.owns(arena))
  t.equal(cache.size, 0)
  t.end()
})

tape('shared cache: misuse', (t) => {
  for (const size of [0, 1000, -1, 'a', 2 ** 40]) t.throws(() => new SharedCache(size), { code: 'ERR_INVALID_ARGUMENT' })
  t.end()
})
