'use strict'
// Lines of a stream of bytes, with their numbers.

const { constants } = require('node:buffer')
const { LogError } = require('@millrace/errors')

const LINE_FEED = 10

/**
 * @param {AsyncIterable<Buffer>} input
 * @param {(size: number) => void} [onBytes]  is told how many bytes have come so far
 * @param {number} [sizeMax]  of a line, in bytes: what has no line breaks must not fill the memory
 * @returns {AsyncGenerator<Array<{ number: number, text: string }>>}  the lines that came together; empty ones are
 *   counted, and left out
 */
async function * readLines (input, onBytes = () => {}, sizeMax = constants.MAX_STRING_LENGTH) {
  /** @type {Buffer[]} */
  let rest = []
  let number = 0
  let [size, restSize] = [0, 0]
  for await (const chunk of input) {
    const lines = []
    let start = 0
    for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, start)) {
      const text = joinText(rest, chunk.subarray(start, end))
      rest = []
      restSize = 0
      number++
      start = end + 1
      if (text.trim() !== '') lines.push({ number, text })
    }
    if (start < chunk.length) rest.push(chunk.subarray(start))
    restSize += chunk.length - start
    size += chunk.length
    onBytes(size)
    if (lines.length > 0) yield lines
    if (restSize > sizeMax) {
      throw new LogError('ERR_RECORD_TOO_LARGE', `line ${number + 1} has more than ${sizeMax} bytes; give records one a line`)
    }
  }
  const text = joinText(rest, Buffer.alloc(0))
  if (text.trim() !== '') yield [{ number: number + 1, text }]
}

/** @param {Buffer[]} rest @param {Buffer} last */
function joinText (rest, last) {
  return rest.length === 0 ? last.toString() : Buffer.concat([...rest, last]).toString()
}

exports.readLines = readLines
