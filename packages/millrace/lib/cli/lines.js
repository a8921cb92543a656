'use strict'
// Lines of a stream of bytes, with their numbers.

const LINE_FEED = 10

/**
 * @param {AsyncIterable<Buffer>} input
 * @param {(size: number) => void} [onBytes]  is told how many bytes have come so far
 * @returns {AsyncGenerator<Array<{ number: number, text: string }>>}  the lines that came together; empty ones are
 *   counted, and left out
 */
async function * readLines (input, onBytes = () => {}) {
  /** @type {Buffer[]} */
  let rest = []
  let number = 0
  let size = 0
  for await (const chunk of input) {
    const lines = []
    let start = 0
    for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, start)) {
      const text = joinText(rest, chunk.subarray(start, end))
      rest = []
      number++
      start = end + 1
      if (text.trim() !== '') lines.push({ number, text })
    }
    if (start < chunk.length) rest.push(chunk.subarray(start))
    size += chunk.length
    onBytes(size)
    if (lines.length > 0) yield lines
  }
  const text = joinText(rest, Buffer.alloc(0))
  if (text.trim() !== '') yield [{ number: number + 1, text }]
}

/** @param {Buffer[]} rest @param {Buffer} last */
function joinText (rest, last) {
  return rest.length === 0 ? last.toString() : Buffer.concat([...rest, last]).toString()
}

exports.readLines = readLines
