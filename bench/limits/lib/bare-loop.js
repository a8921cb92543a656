'use strict'
// The floor of every scan: the file read into one buffer, block by block, and nothing done with it.

const fs = require('node:fs')
const { BLOCK_SIZE } = require('./scan-log')

/**
 * @param {string} path
 * @returns {import('./shapes').Runner}
 */
function openBareLoop (path) {
  const fd = fs.openSync(path, 'r')
  const buf = Buffer.alloc(BLOCK_SIZE)
  let bytes = 0
  return {
    sample () {
      const started = performance.now()
      bytes = readAll(fd, buf)
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
 * @param {Buffer} buf
 * @returns {number}  bytes
 */
function readAll (fd, buf) {
  let position = 0
  for (;;) {
    const bytesRead = fs.readSync(fd, buf, 0, buf.length, position)
    if (bytesRead === 0) return position
    position += bytesRead
  }
}

exports.openBareLoop = openBareLoop
