'use strict'
// Lines of a stream of bytes, with their numbers.

const { constants, isUtf8 } = require('node:buffer')
const { LogError } = require('@millrace/errors')

const LINE_FEED = 10
/** Editors put it before a text; it is no part of one. */
const BYTE_ORDER_MARK = '\ufeff'

/**
 * @param {AsyncIterable<Buffer>} input
 * @param {(size: number) => void} [onBytes]  is told how many bytes have come so far
 * @param {number} [sizeMax]  of a line, in bytes: what has no line breaks must not fill the memory
 * @returns {AsyncGenerator<Array<{ number: number, text: string | null }>>}  the lines that came together; empty ones
 *   are counted, and left out; null for bytes that are no UTF-8
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
      if (text?.trim() !== '') lines.push({ number, text })
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
  if (text?.trim() !== '') yield [{ number: number + 1, text }]
}

/** @param {Buffer[]} rest @param {Buffer} last @returns {string | null} */
function joinText (rest, last) {
  const bytes = rest.length === 0 ? last : Buffer.concat([...rest, last])
  if (!isUtf8(bytes)) return null
  const text = bytes.toString()
  return text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text
}

exports.readLines = readLines
