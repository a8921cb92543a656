'use strict'
// The floor of every scan: the file read into one buffer, block by block, and nothing done with it.

const fs = require('node:fs')
const { ByteTally } = require('../../lib/tally')
const { BLOCK_SIZE } = require('./scan-log')

// Which blocks the digest is of.
const BLOCKS_EVERY = 100

/**
 * @param {string} path
 * @param {{ isTallied?: boolean }} [options]  whether its answer is about the blocks too
 * @returns {import('./shapes').Runner}
 */
function openBareLoop (path, { isTallied = false } = {}) {
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
      const tally = isTallied ? tallyBlocks(fd, buf) : {}
      fs.closeSync(fd)
      return { bytes, ...tally }
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

/**
 * @param {number} fd
 * @param {Buffer} buf
 * @returns {import('./shapes').Answer}  as the reader of blocks gives it
 */
function tallyBlocks (fd, buf) {
  const tally = new ByteTally({ every: BLOCKS_EVERY })
  for (let position = 0; ;) {
    const bytesRead = fs.readSync(fd, buf, 0, buf.length, position)
    if (bytesRead === 0) break
    tally.visit(position, buf, 0, bytesRead)
    position += bytesRead
  }
  const { records, delivered, seqSum, digest } = tally.result()
  return { records, delivered, seqSum, digest }
}

exports.BLOCKS_EVERY = BLOCKS_EVERY
exports.openBareLoop = openBareLoop
