'use strict'
// What a survey must know before it begins: the head, or what can be found of it elsewhere, deletions that are not
// finished, and how far the file was promised.

const { LogError } = require('@millrace/errors')
const { eachInOrder } = require('@millrace/flow')
const { encodeFileHeader, readHead } = require('../head')
const {
  AREA_SIZE, CHUNK_HEADER_SIZE, FILE_SIZE_MAX, HEADER_POSITIONS, HEAD_SIZE, JOURNAL_POSITIONS, JOURNAL_SIZE
} = require('../layout')
const { walkTail } = require('../recover')
const { rememberErasures } = require('../eraser')
const { rescueHeader } = require('./rescue-header')

/**
 * @typedef {ReturnType<typeof import('@millrace/block-file').BlockFile>} BlockFile
 * @typedef {import('../head').Head} Head
 * @typedef {import('../head').Entry} Entry
 */

/**
 * @typedef {object} Source  a file of the checked framing
 * @property {BlockFile} blocks
 * @property {Head} head
 * @property {boolean} isHeadLost  both copies of the file header are; `head` has what was found of it elsewhere
 * @property {import('../chunk-header').Rules} rules
 * @property {Map<number, Entry[]>} unfinished  what the journals say, by chunk
 * @property {number} unfinishedCount  how many of these chunks are not as they should become
 * @property {number} fileSize
 * @property {number} promisedEnd  physical: all before it was once known to be on stable storage
 * @property {boolean} isBlind  both slots are lost: then all of the file counts as promised
 * @property {number} epoch  the highest one seen so far
 * @property {number | null} erasedCount  how much should be erased; null when that is not known
 */

/**
 * @param {BlockFile} blocks  open
 * @param {number | null} end  where the log is known to end, and all before it to be whole; null when it is not known
 * @param {(err: Error | null, source?: Source) => void} cb
 */
function readSource (blocks, end, cb) {
  readHeadOf(blocks, (err, found) => {
    if (err || !found) return cb(err)
    const { head, isHeadLost } = found
    const { header, slot } = head
    const shift = header.base - HEAD_SIZE
    const rules = { verify: true, salt: header.salt, shift, hasGaps: header.hasGaps, hasJumps: header.hasJumps }
    /** @type {Source} */
    const source = {
      blocks,
      head,
      isHeadLost,
      rules,
      unfinished: new Map(),
      unfinishedCount: 0,
      fileSize: 0,
      promisedEnd: 0,
      isBlind: slot === null,
      epoch: slot?.epoch ?? 0,
      erasedCount: countErased(head)
    }
    rememberErasures(source, head.journals)
    // After the head: what a slot says is in the file when it is written.
    blocks.refresh((err) => {
      if (err) return cb(err)
      source.fileSize = source.promisedEnd = end ?? blocks.size.value
      if (header.base + source.fileSize > FILE_SIZE_MAX) return cb(noRoom(blocks.path, header.base))
      if (end !== null) return cb(null, source)
      countUnfinished(source, (err) => err ? cb(err) : findPromisedEnd(source, cb))
    })
  })
}

/**
 * @param {BlockFile} blocks
 * @param {(err: Error | null, found?: { head: Head, isHeadLost: boolean }) => void} cb
 */
function readHeadOf (blocks, cb) {
  readHeadBytes(blocks, (err, bytes) => {
    if (err || !bytes) return cb(err)
    const head = readHead(bytes, blocks.path)
    if (!(head instanceof LogError)) return cb(null, { head, isHeadLost: false })
    if (head.code !== 'ERR_LOG_CORRUPT') return cb(head)
    rescueHeader(blocks, bytes, (err, header) => {
      if (err || !header) return cb(err ?? head)
      const whole = Buffer.from(bytes)
      for (const position of HEADER_POSITIONS) {
        whole.fill(0, position, position + AREA_SIZE)
        encodeFileHeader(header).copy(whole, position)
      }
      const rescued = /** @type {Head} */ (readHead(whole, blocks.path))
      HEADER_POSITIONS.forEach((offset, index) => {
        rescued.flaws.splice(index, 0, { what: `copy ${index + 1} of the header`, offset, size: AREA_SIZE })
      })
      cb(null, { head: { ...rescued, bytes }, isHeadLost: true })
    })
  })
}

/**
 * @param {BlockFile} blocks
 * @param {(err: Error | null, bytes?: Buffer) => void} cb  zeros where the file is shorter
 */
function readHeadBytes (blocks, cb) {
  const bytes = Buffer.alloc(HEAD_SIZE)
  blocks.readInto(bytes.subarray(0, Math.min(HEAD_SIZE, blocks.size.value)), 0, (err) => cb(err, bytes))
}

/**
 * @param {Head} head
 * @returns {number | null}
 */
function countErased ({ slot, lostSlot, journals }) {
  const counts = [...journals, ...(slot ? [slot] : [])].map(({ erasedCount }) => erasedCount)
  // A slot that is lost may have counted more, unless there is a journal.
  if (counts.length === 0 || counts.includes(null) || (journals.length === 0 && lostSlot)) return null
  return Math.max(...counts.map(Number))
}

/**
 * @param {Source} source  gets its `unfinishedCount`
 * @param {(err: Error | null) => void} cb
 */
function countUnfinished (source, cb) {
  const { blocks, unfinished, fileSize } = source
  eachInOrder([...unfinished], ([position, entries], done) => {
    if (position + CHUNK_HEADER_SIZE > fileSize) return done(null)
    const bytes = Buffer.allocUnsafe(CHUNK_HEADER_SIZE)
    blocks.readInto(bytes, position, (err) => {
      if (!err && !entries.some(({ header }) => header.equals(bytes))) source.unfinishedCount++
      done(err)
    })
  }, cb)
}

/**
 * @param {Source} source  gets its `promisedEnd`
 * @param {(err: Error | null, source?: Source) => void} cb
 */
function findPromisedEnd (source, cb) {
  const { head: { slot }, fileSize } = source
  // A file without slots is looked at as a whole anyway, and all of it counts.
  if (slot === null || slot.end >= fileSize) {
    source.promisedEnd = slot?.end ?? Math.max(fileSize, HEAD_SIZE)
    return cb(null, source)
  }
  walkTail(source, slot, fileSize, (err, report) => {
    if (isShorter(err)) return lookAgain(source, cb)
    if (err || !report) return cb(err)
    source.promisedEnd = report.promisedEnd
    source.epoch = Math.max(source.epoch, report.epoch)
    cb(null, source)
  })
}

/**
 * A writer may have cut off what was never part of the log.
 * @param {Source} source
 * @param {(err: Error | null, source?: Source) => void} cb
 */
function lookAgain (source, cb) {
  const { blocks } = source
  blocks.refresh((err) => {
    if (err) return cb(err)
    source.fileSize = blocks.size.value
    findPromisedEnd(source, cb)
  })
}

/**
 * Only who makes checksums, too, can make such a header.
 * @param {string} path
 * @param {number} base
 */
function noRoom (path, base) {
  return new LogError('ERR_LOG_CORRUPT', `verify: the positions of ${path} begin at ${base}, which leaves no room for all of ` +
    'it; no log has such a header. Keep a copy of the file', { offset: 0, path })
}

/** @param {Error | null} err */
function isShorter (err) {
  return err instanceof LogError && err.code === 'ERR_FILE_SHORT_READ'
}

/**
 * @param {Buffer} a  a head
 * @param {Buffer} b  another one
 * @returns {boolean}  whether the same deletions are under way
 */
function haveSameJournals (a, b) {
  const [start] = JOURNAL_POSITIONS
  const end = JOURNAL_POSITIONS[JOURNAL_POSITIONS.length - 1] + JOURNAL_SIZE
  return a.compare(b, start, end, start, end) === 0
}

exports.readSource = readSource
exports.readHeadBytes = readHeadBytes
exports.haveSameJournals = haveSameJournals
exports.isShorter = isShorter
