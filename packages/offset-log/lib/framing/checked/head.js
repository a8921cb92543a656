'use strict'
// The head of a checked file as a whole: made for a new file, and read with a list of all that is wrong in it.

const { LogError } = require('@millrace/errors')
const { decodeFileHeader, encodeFileHeader } = require('./file-header')
const { decodeJournal } = require('./journal')
const {
  AREA_SIZE, HEAD_SIZE, HEADER_POSITIONS, HEADER_SIZE, JOURNAL_POSITIONS, JOURNAL_SIZE, SLOT_POSITIONS, SLOT_SIZE
} = require('./layout')
const { decodeSlot, encodeSlot, isPossible } = require('./slot')

const ZEROS = Buffer.alloc(JOURNAL_SIZE)

/**
 * @typedef {import('./file-header').FileHeader} FileHeader
 * @typedef {import('./slot').Slot} Slot
 * @typedef {import('./journal').Journal} Journal
 * @typedef {{ what: string, offset: number, size: number }} Flaw  a part of the head that cannot be used
 */

/**
 * @typedef {object} Head
 * @property {Buffer} bytes  that it was read from
 * @property {FileHeader} header
 * @property {Slot | null} slot  the newest; null when both are lost
 * @property {number} slotIndex  which of the two it is; the other one when both are lost
 * @property {boolean} lostSlot  one that is lost may have been newer
 * @property {Journal[]} journals  those that are whole, oldest first
 * @property {Flaw[]} flaws
 */

/**
 * @param {FileHeader} header
 * @returns {Buffer}  all bytes of a log without records
 */
function encodeHead (header) {
  const bytes = Buffer.alloc(HEAD_SIZE)
  const headerBytes = encodeFileHeader(header)
  for (const position of HEADER_POSITIONS) headerBytes.copy(bytes, position)
  SLOT_POSITIONS.forEach((position, index) => encodeSlot({
    sequence: index,
    epoch: 1,
    end: HEAD_SIZE,
    logicalEnd: header.base,
    last: -1,
    erasedCount: 0,
    identity: header.salt,
    ceiling: 0
  }, header.salt).copy(bytes, position))
  return bytes
}

/**
 * @param {Buffer} whole  all bytes of the head; zeros where the file is shorter
 * @param {string} path
 * @returns {Head | LogError}  ERR_LOG_UNKNOWN_FORMAT, or ERR_LOG_CORRUPT when neither copy of the header can be read
 */
function readHead (whole, path) {
  /** @type {Flaw[]} */
  const flaws = []
  const header = readHeaders(whole, flaws, path)
  if (header instanceof LogError) return header
  const slots = SLOT_POSITIONS.map((position, index) => {
    const slot = isZero(whole, position + SLOT_SIZE, position + AREA_SIZE)
      ? decodeSlot(whole.subarray(position, position + SLOT_SIZE), header.salt)
      : null
    if (slot !== null && isPossible(slot, header)) return slot
    flaws.push({ what: `checkpoint slot ${index + 1}`, offset: position, size: SLOT_SIZE })
    return null
  })
  const slotIndex = (slots[1]?.sequence ?? -1) > (slots[0]?.sequence ?? -1) ? 1 : 0
  return {
    bytes: whole,
    header,
    slot: slots[slotIndex],
    slotIndex,
    lostSlot: slots.includes(null),
    journals: readJournals(whole, header.salt, flaws),
    flaws
  }
}

/**
 * @param {Buffer} whole
 * @param {Flaw[]} flaws
 * @param {string} path
 * @returns {FileHeader | LogError}
 */
function readHeaders (whole, flaws, path) {
  /** @type {Array<FileHeader | null>} */
  const headers = []
  for (const [index, position] of HEADER_POSITIONS.entries()) {
    const header = decodeFileHeader(whole.subarray(position, position + HEADER_SIZE))
    if (header && 'unknown' in header) return unknownFormat(path, header.unknown)
    const isWhole = header !== null && isZero(whole, position + HEADER_SIZE, position + AREA_SIZE)
    if (!isWhole) flaws.push({ what: `copy ${index + 1} of the header`, offset: position, size: HEADER_SIZE })
    headers.push(header)
  }
  const [header] = headers.filter((header) => header !== null)
  return header ?? new LogError('ERR_LOG_CORRUPT', `open: both copies of the header of ${path} are damaged; nothing was ` +
    'written. Keep a copy of the file', { offset: 0, path })
}

/**
 * @param {Buffer} whole
 * @param {number} salt
 * @param {Flaw[]} flaws
 * @returns {Journal[]}
 */
function readJournals (whole, salt, flaws) {
  /** @type {Journal[]} */
  const journals = []
  for (const [index, offset] of JOURNAL_POSITIONS.entries()) {
    const area = whole.subarray(offset, offset + JOURNAL_SIZE)
    if (isZero(area, 0, JOURNAL_SIZE)) continue
    const journal = decodeJournal(area, salt)
    if (journal && journal.round % 2 === index) journals.push(journal)
    else flaws.push({ what: `journal ${index + 1}`, offset, size: JOURNAL_SIZE })
  }
  return journals.sort((a, b) => a.round - b.round)
}

/**
 * @param {Buffer} bytes
 * @param {number} start
 * @param {number} end
 */
function isZero (bytes, start, end) {
  return bytes.compare(ZEROS, 0, end - start, start, end) === 0
}

/**
 * @param {string} path
 * @param {string} what
 */
function unknownFormat (path, what) {
  return new LogError('ERR_LOG_UNKNOWN_FORMAT', `open: ${path} has ${what} of the checked framing, which this version ` +
    'does not know; nothing was written. Use a newer one', { offset: 0, path })
}

exports.encodeHead = encodeHead
exports.readHead = readHead
