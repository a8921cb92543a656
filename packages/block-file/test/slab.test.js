'use strict'
// Memory handed out piece by piece: no two pieces share a byte, and each stays as it was.

const tape = require('tape')
const { createRandom } = require('@millrace/testkit')
const { Slab } = require('../lib/block-cache')

const seed = Date.now() % 2 ** 31

tape(`Slab: what was handed out stays as it is (seed ${seed})`, (t) => {
  const random = createRandom(seed)
  const slab = new Slab()
  const source = Buffer.alloc(70000)
  const kept = []
  for (let turn = 0; turn < 2000; turn++) {
    const size = [0, 1, 7, 8, 500, 2000, 4096, 4097, 20000][random(9)]
    let piece
    if (random(2) === 0) {
      const start = random(100)
      source.fill(turn % 256, start, start + size)
      piece = slab.copy(source, start, start + size)
    } else {
      // More is put there than is taken, and something before it.
      const before = random(20)
      const offset = slab.reserve(before + size + 50)
      slab.bytes.fill(turn % 256, offset, offset + before + size + 50)
      piece = slab.take(offset + before, offset + before + size)
    }
    kept.push({ piece, wanted: Buffer.alloc(size, turn % 256) })
  }
  t.ok(kept.every(({ piece, wanted }) => Buffer.isBuffer(piece) && wanted.equals(piece)))
  t.end()
})

tape('Slab: what was reserved is free until some of it is taken', (t) => {
  const slab = new Slab()
  const offset = slab.reserve(100)
  t.equal(slab.reserve(2000), offset)
  slab.view.setUint8(offset, 7)
  t.equal(slab.bytes[offset], 7)
  t.deepEqual([...slab.take(offset, offset + 1)], [7])
  t.equal(slab.reserve(100), offset + 8, 'aligned')
  t.end()
})

tape('Slab: whoever keeps a copy keeps no more than one slab of others', (t) => {
  const slab = new Slab()
  const source = Buffer.alloc(70000)
  for (const size of [10, 4096, 4097, 16000, 60000]) {
    const { buffer } = slab.copy(source, 0, size)
    t.ok(buffer.byteLength - size < 16 * 1024, `${size} bytes of ${buffer.byteLength}`)
  }
  t.end()
})
