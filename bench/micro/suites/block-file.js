'use strict'
// The cache of blocks: what a read finds there, and what it puts there.

const { BlockCache } = require('@millrace/block-file')

const BLOCK_SIZE = 64 * 1024
const BLOCK_COUNT = 256
const CALL_COUNT = 1000
const PUT_COUNT = 10
const SECTION_SIZE = 1024

/** @type {import('../shapes').Suite} */
module.exports = {
  name: 'block-file',
  order: 50,
  createTasks () {
    const cache = new BlockCache(BLOCK_SIZE, BLOCK_SIZE * BLOCK_COUNT)
    const block = Buffer.alloc(BLOCK_SIZE, 1)
    for (let index = 0; index < BLOCK_COUNT; index++) cache.put(index, block, 0, BLOCK_SIZE)
    // A cache of its own: what the tasks above look for must stay in theirs.
    const busy = new BlockCache(BLOCK_SIZE, BLOCK_SIZE * BLOCK_COUNT)
    let next = 0
    return [
      {
        name: 'cache hit',
        count: CALL_COUNT,
        run () {
          let total = 0
          for (let call = 0; call < CALL_COUNT; call++) total += cache.find(call * 7 % BLOCK_COUNT)
          return total
        }
      },
      {
        name: 'cache hit, 1 KiB copied',
        count: CALL_COUNT,
        bytes: CALL_COUNT * SECTION_SIZE,
        run () {
          let total = 0
          for (let call = 0; call < CALL_COUNT; call++) {
            const start = cache.find(call * 7 % BLOCK_COUNT)
            total += Buffer.from(cache.arena.subarray(start, start + SECTION_SIZE)).length
          }
          return total
        }
      },
      {
        name: 'cache put, another block out',
        count: PUT_COUNT,
        bytes: PUT_COUNT * BLOCK_SIZE,
        run () {
          for (let call = 0; call < PUT_COUNT; call++) busy.put(next++, block, 0, BLOCK_SIZE)
          return next
        }
      }
    ]
  }
}
