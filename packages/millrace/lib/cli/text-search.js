'use strict'
// --grep on the bytes of many records at once: which have a JSON text that contains this.

const { createByteSearch } = require('@millrace/where')

const PLACES_MAX = 1024
/** A byte search for more bytes than that looks for the last of them. */
const SEARCHED_SIZE = 16
/** In the text of a record they may stand for other bytes: for line breaks and tabs, and for what is no UTF-8. */
const CHANGED = /[ \ufffd\p{Surrogate}]+/u
const UNKNOWN = /[\ufffd\p{Surrogate}]/u
const BREAK = /[\t\n\r]/

/**
 * @typedef {import('./byte-lines').Run} Run
 * @typedef {(buf: Buffer, start: number, end: number) => boolean} Test
 */

/**
 * @param {string} text  at least one character
 * @param {object} shape
 * @param {boolean} shape.isRaw  whether the bytes of the record are searched, instead of its text
 * @param {Test} shape.isLikely  whether a record is JSON, by how it begins and ends
 * @param {(bytes: Buffer, start: number, end: number) => string} shape.toText  throws if a record is no JSON
 * @returns {(run: Run, picked: Uint32Array) => number}  notes the indexes of the records that contain the text, and of
 *   those without a text, in their order, and gives how many. `picked` has room for all
 */
function createTextSelect (text, { isRaw, isLikely, toText }) {
  const needle = Buffer.from(text)
  const literal = isRaw ? needle : longest(text.split(CHANGED).map((part) => Buffer.from(part)))
  const find = createByteSearch([literal])?.find ?? null
  const size = Math.min(literal.length, SEARCHED_SIZE)
  // Then a record that has these bytes has the text.
  const isSettled = find !== null && size === needle.length && !BREAK.test(text)
  const mayMatch = isRaw ? (/** @type {Buffer} */ record) => record.includes(needle) : createTest(text, needle, toText)
  const places = new Uint32Array(PLACES_MAX)

  /** @type {Test} */
  const mayContain = (buf, start, end) => {
    try {
      return toText(buf, start, end).includes(text)
    } catch {
      return true
    }
  }

  /** @type {(run: Run, index: number, isFound: boolean) => boolean} */
  const isWanted = ({ buffer, starts, ends }, index, isFound) => {
    const [start, end] = [starts[index], ends[index]]
    if (!isRaw && !isLikely(buffer, start, end)) return mayContain(buffer, start, end)
    return isFound && (isSettled || mayMatch(buffer.subarray(start, end)))
  }

  return (run, picked) => {
    const { buffer, starts, ends, count } = run
    if (count === 0) return 0
    const isForward = starts[0] <= starts[count - 1]
    const stop = isForward ? ends[count - 1] : ends[0]
    let [placeCount, next, pickedCount] = [PLACES_MAX, PLACES_MAX, 0]
    for (let step = 0; step < count; step++) {
      const index = isForward ? step : count - 1 - step
      const start = starts[index]
      while (next < placeCount && places[next] < start) next++
      if (find !== null && next === placeCount && placeCount === PLACES_MAX) {
        placeCount = find(buffer, start, stop, places)
        next = 0
      }
      const isFound = find === null || (next < placeCount && places[next] + size <= ends[index])
      if (isWanted(run, index, isFound)) picked[pickedCount++] = index
    }
    if (!isForward) picked.subarray(0, pickedCount).reverse()
    return pickedCount
  }
}

/** @param {Buffer[]} parts */
function longest (parts) {
  return parts.reduce((best, part) => part.length > best.length ? part : best)
}

/**
 * @param {string} text
 * @param {Buffer} needle  its bytes
 * @param {(bytes: Buffer, start: number, end: number) => string} toText
 * @returns {(record: Buffer) => boolean}
 */
function createTest (text, needle, toText) {
  // In the text of a record there is none.
  if (BREAK.test(text)) return () => false
  const isOfText = (/** @type {Buffer} */ record) => {
    try {
      return toText(record, 0, record.length).includes(text)
    } catch {
      return true
    }
  }
  if (UNKNOWN.test(text)) return isOfText
  const hasSpace = text.includes(' ')
  return (record) => record.includes(needle) || (hasSpace && hasBreak(record) && isOfText(record))
}

/** @param {Buffer} record */
function hasBreak (record) {
  return record.includes(10) || record.includes(13) || record.includes(9)
}

exports.createTextSelect = createTextSelect
