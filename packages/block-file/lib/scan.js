'use strict'
// Visits every block of a range in order, with read-ahead and without copying.

const { trampoline } = require('@millrace/flow')
const { SpanReader } = require('./span-reader')

/** @typedef {import('./open-file').OpenFile} OpenFile */

/**
 * @param {OpenFile} file
 * @param {number} start
 * @param {number} end
 * @param {(block: Buffer, position: number) => unknown} onBlock  false ends the scan; the block is good till then
 * @param {(err: Error | null) => void} cb
 */
function scanBlocks (file, start, end, onBlock, cb) {
  const { blockSize } = file
  const spans = new SpanReader(file)
  let position = start

  /** @returns {boolean}  whether to go on */
  const visitLoaded = () => {
    while (position < end) {
      const blockEnd = Math.min((Math.floor(position / blockSize) + 1) * blockSize, end)
      if (blockEnd > spans.end) return true
      const block = spans.buffer.subarray(position - spans.start, blockEnd - spans.start)
      const blockStart = position
      position = blockEnd
      if (onBlock(block, blockStart) === false) return false
    }
    return false
  }

  if (start === end) return cb(null)
  trampoline((next) => {
    spans.loadForward(position, blockSize, end, (err) => {
      if (err) return cb(err)
      let goOn
      try {
        goOn = visitLoaded()
      } catch (err) {
        return cb(/** @type {Error} */ (err))
      }
      if (goOn) next()
      else cb(null)
    })
  })
}

exports.scanBlocks = scanBlocks
