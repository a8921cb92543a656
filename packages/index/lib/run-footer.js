'use strict'
// What a footer may say. Its checksum only tells that it is what somebody wrote: a file that was made to do harm must
// not make a reader fail, loop, or take memory that the file does not have.

const {
  DOUBLE_SIZE, DamagedRun, FORMAT, GROUP_SIZE, PAGE_SIZE, WORD_SIZE, headSizeOf
} = require('./run-format')
const { endOfTable } = require('./seqs')

const KEY = /^[0-9a-f]{32}$/

/**
 * @param {any} footer  as it was parsed
 * @param {number} fileSize
 * @returns {import('./run-format').Footer}
 * @throws {DamagedRun}
 */
function checkFooter (footer, fileSize) {
  if (!isObject(footer)) throw new DamagedRun('its footer is no object')
  if (footer.format !== FORMAT) throw new DamagedRun(`it has the format ${footer.format}`)
  const isRight = isOfRange(footer) && isOfData(footer, fileSize) && isOfSections(footer)
  if (!isRight) throw new DamagedRun('its footer says what cannot be')
  return footer
}

/** @param {any} footer */
function isOfRange ({ id, key, codec, from, to, last, base, records, proof }) {
  const hasNames = typeof id === 'string' && KEY.test(key) && typeof codec === 'string'
  const isInOrder = [from, to, last, base, records].every(isCount) && from <= base && base <= last && last < to
  return hasNames && isInOrder && records > 0 && (proof === null || typeof proof === 'number')
}

/** @param {any} footer @param {number} fileSize */
function isOfData (footer, fileSize) {
  const { dataSize, records, seqTable, oddStart, oddCount, erasedStart, erasedSeqs } = footer
  const isWhole = isCount(dataSize) && dataSize <= fileSize && dataSize % PAGE_SIZE === 0
  const hasSeqs = isPlace(seqTable, WORD_SIZE)
  const hasOdd = isPlace(oddStart, WORD_SIZE) && isCount(oddCount) && oddCount <= records
  const hasErased = isPlace(erasedStart, DOUBLE_SIZE) && isCount(erasedSeqs)
  if (!isWhole || !hasSeqs || !hasErased || !hasOdd) return false
  const ends = [endOfTable(seqTable, records), oddStart + oddCount * WORD_SIZE, erasedStart + erasedSeqs * DOUBLE_SIZE]
  return ends.every((end) => end <= dataSize)
}

/** @param {any} footer */
function isOfSections ({ paths, keys, numbers, times, dataSize }) {
  if (![paths, keys, numbers, times].every(Array.isArray)) return false
  const { length } = paths
  if ([keys, numbers, times].some((sections) => sections.length !== length)) return false
  return paths.every((/** @type {unknown} */ path, /** @type {number} */ slot) => {
    const hasRange = Array.isArray(path) && path[2] === true
    const values = [numbers[slot], times[slot]]
    const isRight = (/** @type {any} */ section) => hasRange ? isOfValues(section, dataSize) : section === null
    return isOfKeys(keys[slot], dataSize) && values.every(isRight)
  })
}

/** @type {(section: any, dataSize: number) => boolean} */
function isOfKeys (section, dataSize) {
  if (!isObject(section)) return false
  const { start, size, count, fences, hasIds } = section
  const isKnown = isPlace(start, WORD_SIZE) && isPlace(fences, WORD_SIZE) && isCount(size) && isCount(count) &&
    typeof hasIds === 'boolean'
  const isInside = start + size === fences && fences + 2 * Math.ceil(count / GROUP_SIZE) * WORD_SIZE <= dataSize
  return isKnown && isInside && count * (headSizeOf(section) + 1) <= size
}

/** @type {(section: any, dataSize: number) => boolean} */
function isOfValues (section, dataSize) {
  if (!isObject(section)) return false
  const { start, count, fences } = section
  const isKnown = isPlace(start, DOUBLE_SIZE) && isPlace(fences, DOUBLE_SIZE) && isCount(count)
  const isInside = fences + Math.ceil(count / GROUP_SIZE) * DOUBLE_SIZE <= dataSize
  return isKnown && isInside && start + count * (DOUBLE_SIZE + WORD_SIZE) <= fences
}

/** @param {unknown} value */
function isObject (value) {
  return value !== null && typeof value === 'object' && !Array.isArray(value)
}

/** @param {unknown} value */
function isCount (value) {
  return Number.isSafeInteger(value) && /** @type {number} */ (value) >= 0
}

/** @type {(value: unknown, size: number) => boolean} `size`: of what is there, which is aligned */
function isPlace (value, size) {
  return isCount(value) && /** @type {number} */ (value) % size === 0
}

exports.checkFooter = checkFooter
