'use strict'
// What is in a text file, found the slow and obvious way, and random text files.

/**
 * @param {Buffer} bytes  of the file
 * @param {number} start  of the first line
 * @returns {{ records: Array<{ seq: number, text: string }>, holes: Array<{ start: number, end: number }> }}
 */
function readLines (bytes, start) {
  const records = []
  const holes = []
  for (let at = start; at < bytes.length;) {
    const found = bytes.indexOf('\n', at)
    const end = found === -1 ? bytes.length : found
    const next = Math.min(end + 1, bytes.length)
    let from = at
    const zero = bytes.subarray(at, end).lastIndexOf(0)
    if (zero !== -1) {
      from = at + zero + 1
      const isWhole = isObject(bytes.toString('utf8', from, end))
      holes.push({ start: at, end: isWhole ? from : next })
      if (!isWhole) from = end
    }
    const text = bytes.toString('latin1', from, end).replace(/\r$/, '')
    if (text !== '') records.push({ seq: from, text })
    at = next
  }
  return { records, holes }
}

/** @param {string} text */
function isObject (text) {
  try {
    return text[0] === '{' && Object.keys(JSON.parse(text)) !== null
  } catch {
    return false
  }
}

/** @param {(limit: number) => number} random @returns {Buffer} */
function makeText (random, { hasHoles = true, isBroken = random(4) > 0 } = {}) {
  const parts = []
  if (random(8) === 0) parts.push(Buffer.from([0xef, 0xbb, 0xbf]))
  for (let left = random(30); left > 0; left--) {
    const kind = random(hasHoles ? 12 : 9)
    if (kind < 4) parts.push(Buffer.from(JSON.stringify({ n: left, t: 'é'.repeat(random(random(6) === 0 ? 900 : 20)) }) + '\n'))
    else if (kind < 6) parts.push(Buffer.from('word '.repeat(random(5)) + '\r\n'))
    else if (kind === 6) parts.push(Buffer.from('\n'.repeat(random(3))))
    else if (kind < 9) parts.push(Buffer.from(`{"half": "${'x'.repeat(random(30))}`), Buffer.from('\n'.repeat(random(2))))
    else parts.push(Buffer.alloc(1 + random(random(4) === 0 ? 2000 : 9)))
  }
  if (isBroken) parts.push(Buffer.from('\n'))
  return Buffer.concat(parts)
}

exports.makeText = makeText
exports.readLines = readLines
