'use strict'
// The constants of a sidecar. docs/format.md describes them, byte by byte.

/** A checksum is of so many bytes of the log. */
const BLOCK_SIZE = 64 * 1024
const MAGIC = Buffer.from([0x89, 0x46, 0x4c, 0x53, 0x0d, 0x0a, 0x1a, 0x0a])
const VERSION = 1

// Sectors have up to 4 KiB: no write may hurt two parts of which one is to be left.
const SLOT_AREA_SIZE = 8192
const SLOT_HEADER_SIZE = 64
const RANGE_SIZE = 10
const PAGE_SIZE = 4096
const PAGE_HEADER_SIZE = 16
const PAGES_POSITION = 2 * SLOT_AREA_SIZE
const SUMS_PER_PAGE = (PAGE_SIZE - PAGE_HEADER_SIZE) / 4
/** How many ranges of blocks a slot can name, however many sums it holds. */
const RANGE_COUNT_MAX = Math.floor((SLOT_AREA_SIZE - SLOT_HEADER_SIZE - 4 * (SUMS_PER_PAGE - 1)) / RANGE_SIZE)

/**
 * @param {number} end  how many bytes of the log are covered
 * @returns {number}  how many pages are full
 */
function pageCountOf (end) {
  return Math.floor(Math.floor(end / BLOCK_SIZE) / SUMS_PER_PAGE)
}

/**
 * @param {number} pageIndex
 * @param {number} copy  0 or 1
 */
function pagePosition (pageIndex, copy) {
  return PAGES_POSITION + (2 * pageIndex + copy) * PAGE_SIZE
}

/** @param {number} sequence  of a slot */
function slotPosition (sequence) {
  return sequence % 2 * SLOT_AREA_SIZE
}

exports.BLOCK_SIZE = BLOCK_SIZE
exports.MAGIC = MAGIC
exports.VERSION = VERSION
exports.SLOT_AREA_SIZE = SLOT_AREA_SIZE
exports.SLOT_HEADER_SIZE = SLOT_HEADER_SIZE
exports.RANGE_SIZE = RANGE_SIZE
exports.RANGE_COUNT_MAX = RANGE_COUNT_MAX
exports.PAGE_SIZE = PAGE_SIZE
exports.PAGE_HEADER_SIZE = PAGE_HEADER_SIZE
exports.PAGES_POSITION = PAGES_POSITION
exports.SUMS_PER_PAGE = SUMS_PER_PAGE
exports.pageCountOf = pageCountOf
exports.pagePosition = pagePosition
exports.slotPosition = slotPosition
