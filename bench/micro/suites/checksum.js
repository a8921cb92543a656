'use strict'
// CRC-32 by each of its means, by size: where one overtakes another decides which one `offset-log` takes.

const { createRequire } = require('node:module')
const zlib = require('node:zlib')
const { crc32OfFew } = require('@millrace/offset-log/lib/framing/checked/crc32')

const SIZES = [36, 128, 700, 2048, 16 * 1024, 64 * 1024]
// A table of 256 entries is for headers.
const FEW = 1024
const RUN_SIZE = 256 * 1024

/** @type {import('../shapes').Suite} */
module.exports = {
  name: 'checksum',
  order: 60,
  createTasks () {
    const bytes = Buffer.alloc(RUN_SIZE, 'some bytes that are not all the same')
    const native = findNodeRs()
    return SIZES.flatMap((size) => {
      const parts = Array.from({ length: Math.floor(RUN_SIZE / size) }, (_, index) => {
        return bytes.subarray(index * size, (index + 1) * size)
      })
      const task = (/** @type {string} */ name, /** @type {(part: Buffer) => number} */ sum) => ({
        name: `${name}, ${size} bytes`,
        count: parts.length,
        bytes: parts.length * size,
        run: () => parts.reduce((all, part) => all ^ sum(part), 0)
      })
      return [
        ...(size <= FEW ? [task('table', (part) => crc32OfFew(part, 0, part.length, 0))] : []),
        task('zlib', (part) => zlib.crc32(part)),
        ...(native ? [task('@node-rs/crc32', native)] : [])
      ]
    })
  }
}

/** @returns {((part: Buffer) => number) | undefined} */
function findNodeRs () {
  try {
    const { crc32 } = createRequire(__filename)('@node-rs/crc32')
    return (part) => crc32(part)
  } catch {
    return undefined
  }
}
