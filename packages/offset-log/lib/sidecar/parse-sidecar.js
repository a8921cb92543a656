'use strict'
// From the bytes of a sidecar to what it says: the newer whole slot, and the sums of all blocks that it covers.

const { blocksOf } = require('./block-ranges')
const { BLOCK_SIZE, PAGE_SIZE, SLOT_AREA_SIZE, SUMS_PER_PAGE, pageCountOf, pagePosition } = require('./layout')
const { decodeSlot } = require('./slot')
const { decodePage } = require('./sums-page')
const { Sums } = require('./sums')

/** @typedef {import('./slot').Slot} Slot */

/**
 * @typedef {object} Parsed
 * @property {Slot} slot
 * @property {Sums} sums  of what the slot covers; those of blocks that were being changed, and of pages that are lost,
 *   are not known
 * @property {Set<number>} lostPages  neither copy of which is whole
 * @property {Set<number>} unequalPages  the copies of which are not the same: one was not finished, or is damaged
 * @property {boolean} hasLostSlot  whether one of the slots is not whole
 */

/**
 * @param {Buffer} bytes  the whole file
 * @returns {Parsed | null}  null when no slot is whole
 */
function parseSidecar (bytes) {
  const slots = areasOf(bytes).map(decodeSlot).filter((slot) => slot !== null && hasRoomForPages(bytes, slot))
  if (slots.length === 0) return null
  const [one, other = one] = /** @type {Slot[]} */ (slots)
  const slot = one.sequence > other.sequence ? one : other
  const parsed = {
    slot, sums: new Sums(), lostPages: new Set(), unequalPages: new Set(), hasLostSlot: slots.length < 2
  }
  readSums(bytes, parsed)
  return parsed
}

/** @param {Buffer} bytes */
function areasOf (bytes) {
  return [0, 1].map((number) => bytes.subarray(number * SLOT_AREA_SIZE, (number + 1) * SLOT_AREA_SIZE))
}

/**
 * Pages are on stable storage before a slot counts them: where the file ends before, something has cut it off.
 * @param {Buffer} bytes
 * @param {Slot} slot
 */
function hasRoomForPages (bytes, { end }) {
  return bytes.length >= pagePosition(pageCountOf(end), 0)
}

/**
 * @param {Buffer} bytes
 * @param {Parsed} parsed
 */
function readSums (bytes, parsed) {
  const { slot, sums } = parsed
  const pageCount = pageCountOf(slot.end)
  sums.end = slot.end
  for (let index = 0; index < pageCount; index++) {
    const page = readPage(bytes, index, parsed)
    page?.sums.forEach((sum, number) => sums.take(index * SUMS_PER_PAGE + number, sum))
  }
  const first = pageCount * SUMS_PER_PAGE
  for (let number = 0; number < slot.sums.length; number++) sums.take(first + number, slot.sums[number])
  if (slot.end % BLOCK_SIZE !== 0) sums.take(Math.floor(slot.end / BLOCK_SIZE), slot.tailSum)
  for (const block of blocksOf(slot.changing, sums.blockCount)) sums.forget(block)
}

/**
 * @param {Buffer} bytes
 * @param {number} index
 * @param {Parsed} parsed  is told what is wrong with the page
 * @returns {{ sums: Uint32Array } | null}
 */
function readPage (bytes, index, { slot, lostPages, unequalPages }) {
  const [one, other] = [0, 1].map((copy) => {
    const position = pagePosition(index, copy)
    return decodePage(bytes.subarray(position, position + PAGE_SIZE), index, slot.salt)
  })
  if (one === null && other === null) lostPages.add(index)
  else if (one?.sequence !== other?.sequence) unequalPages.add(index)
  const newer = (one?.sequence ?? -1) >= (other?.sequence ?? -1) ? one : other
  return /** @type {{ sums: Uint32Array } | null} */ (newer)
}

exports.parseSidecar = parseSidecar
