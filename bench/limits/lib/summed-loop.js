'use strict'
// The least that a verified scan can be: the file read, and a checksum of each of its pages, compared with nothing.

const fs = require('node:fs')
const { crc32 } = require('@millrace/offset-log/lib/framing/checked/crc32')

// What the log reads at once, and what it sums at once.
const SPAN_SIZE = 256 * 1024
const PAGE_SIZE = 16 * 1024

/**
 * @param {string} path
 * @returns {import('./shapes').Runner}
 */
function openSummedLoop (path) {
  const fd = fs.openSync(path, 'r')
  const pages = Array.from({ length: SPAN_SIZE / PAGE_SIZE }, () => Buffer.alloc(0))
  const span = Buffer.allocUnsafeSlow(SPAN_SIZE)
  for (const index of pages.keys()) pages[index] = span.subarray(index * PAGE_SIZE, (index + 1) * PAGE_SIZE)
  let bytes = 0
  return {
    sample () {
      const started = performance.now()
      bytes = sumAll(fd, span, pages)
      return performance.now() - started
    },
    finish () {
      fs.closeSync(fd)
      return { bytes }
    }
  }
}

/**
 * @param {number} fd
 * @param {Buffer} span
 * @param {Buffer[]} pages  of the span
 * @returns {number}  bytes
 */
function sumAll (fd, span, pages) {
  for (let position = 0; ;) {
    const bytesRead = fs.readSync(fd, span, 0, SPAN_SIZE, position)
    if (bytesRead === 0) return position
    for (let index = 0; index * PAGE_SIZE < bytesRead; index++) crc32(pages[index])
    position += bytesRead
  }
}

exports.openSummedLoop = openSummedLoop
