'use strict'
// Exports the parts that handle the bytes of a log, of all families of framings: they frame, walk and check bytes in
// memory, without any I/O. survey.js exports the parts that examine damaged logs; most programs never load it.

const {
  AREA_SIZE, CHUNK_FLAGS, CHUNK_HEADER_SIZE, CHUNK_SIZE_MIN, CRC_SIZE, EPOCH_MAX, FILE_SIZE_MAX, FRAME_LENGTH_MASK,
  FRAME_TYPES, HEADER_POSITIONS, HEADER_SIZE, HEAD_SIZE, JOURNAL_POSITIONS, JOURNAL_SIZE, LENGTH_SIZE, PAGE_SIZE,
  RECORD_SIZE_MAX, SLOT_POSITIONS, SLOT_SIZE, SUMS_SUFFIX, TAIL_HEADER_SIZE, TAIL_SUFFIX
} = require('./lib/layout')
const { crc32 } = require('./lib/crc32')
const { damageError, describeFault, tooLargeToRead } = require('./lib/faults')
const {
  CONTINUED_OFFSET, ChunkHeader, PAYLOAD_SIZE_OFFSET, readChunkHeader, writeChunkHeader
} = require('./lib/chunk-header')
const {
  PATCH_COUNT_MAX, applyEntry, encodeJournal, entriesByChunk, finishChunk, fitsJournal, haveSameJournals,
  rememberErasures
} = require('./lib/journal')
const {
  SeqReservation, countErased, createFileHeader, decodeFileHeader, decodeSlot, encodeFileHeader, encodeHead, encodeSlot,
  hasMagic, readHead
} = require('./lib/head')
const { packCommit, packedSizeMax } = require('./lib/pack-commit')
const { ChunkCursor, ENTRY } = require('./lib/chunk-cursor')
const { assembleRecord, findReach, findRecordEnd } = require('./lib/frames')
const { UNSURE_GAP, checkPage, findCleanEnd, findFrame, readNext } = require('./lib/pages')
const { TailWalk } = require('./lib/tail-walk')
const { Repacker } = require('./lib/repack')
const {
  LineWalk, checkLine, findFirstLine, isWholeObject, looksLikeLines, withoutReturn
} = require('./lib/lines')
const {
  SUMMED_SIZE, SUMS_POSITIONS, SUMS_SIZE, SumWalk, TABLE_SIZE, countPages, encodePages, encodeSums, readSums,
  sumOfPages, sumPosition, tableEnd
} = require('./lib/sums')
const { FRAME_HEAD_SIZE, OffsetFraming, isAllZero, offsetFramings } = require('./lib/offset-framing')

/**
 * @typedef {import('./lib/faults').Damage} Damage
 * @typedef {import('./lib/journal').Entry} Entry
 * @typedef {import('./lib/head').FileHeader} FileHeader
 * @typedef {import('./lib/pages').Frame} Frame
 * @typedef {import('./lib/head').Head} Head
 * @typedef {import('./lib/journal').Journal} Journal
 * @typedef {import('./lib/pack-commit').AppendedSlices} AppendedSlices
 * @typedef {import('./lib/pack-commit').Packed} Packed
 * @typedef {import('./lib/pages').Page} Page
 * @typedef {import('./lib/journal').Patch} Patch
 * @typedef {import('./lib/chunk-header').Rules} Rules
 * @typedef {import('./lib/head').Slot} Slot
 * @typedef {import('./lib/pack-commit').Tail} Tail
 * @typedef {import('./lib/sums').SumsSlot} SumsSlot
 * @typedef {import('./lib/tail-walk').TailReport} TailReport
 * @typedef {import('./lib/offset-framing').Walk} Walk
 */

exports.AREA_SIZE = AREA_SIZE
exports.CHUNK_FLAGS = CHUNK_FLAGS
exports.CHUNK_HEADER_SIZE = CHUNK_HEADER_SIZE
exports.CHUNK_SIZE_MIN = CHUNK_SIZE_MIN
exports.CRC_SIZE = CRC_SIZE
exports.EPOCH_MAX = EPOCH_MAX
exports.FILE_SIZE_MAX = FILE_SIZE_MAX
exports.FRAME_LENGTH_MASK = FRAME_LENGTH_MASK
exports.FRAME_TYPES = FRAME_TYPES
exports.HEADER_POSITIONS = HEADER_POSITIONS
exports.HEADER_SIZE = HEADER_SIZE
exports.HEAD_SIZE = HEAD_SIZE
exports.JOURNAL_POSITIONS = JOURNAL_POSITIONS
exports.JOURNAL_SIZE = JOURNAL_SIZE
exports.LENGTH_SIZE = LENGTH_SIZE
exports.PAGE_SIZE = PAGE_SIZE
exports.RECORD_SIZE_MAX = RECORD_SIZE_MAX
exports.SLOT_POSITIONS = SLOT_POSITIONS
exports.SLOT_SIZE = SLOT_SIZE
exports.SUMS_SUFFIX = SUMS_SUFFIX
exports.TAIL_HEADER_SIZE = TAIL_HEADER_SIZE
exports.TAIL_SUFFIX = TAIL_SUFFIX
exports.crc32 = crc32
exports.damageError = damageError
exports.describeFault = describeFault
exports.tooLargeToRead = tooLargeToRead
exports.CONTINUED_OFFSET = CONTINUED_OFFSET
exports.ChunkHeader = ChunkHeader
exports.PAYLOAD_SIZE_OFFSET = PAYLOAD_SIZE_OFFSET
exports.readChunkHeader = readChunkHeader
exports.writeChunkHeader = writeChunkHeader
exports.PATCH_COUNT_MAX = PATCH_COUNT_MAX
exports.applyEntry = applyEntry
exports.encodeJournal = encodeJournal
exports.entriesByChunk = entriesByChunk
exports.finishChunk = finishChunk
exports.fitsJournal = fitsJournal
exports.haveSameJournals = haveSameJournals
exports.rememberErasures = rememberErasures
exports.countErased = countErased
exports.createFileHeader = createFileHeader
exports.decodeFileHeader = decodeFileHeader
exports.decodeSlot = decodeSlot
exports.encodeFileHeader = encodeFileHeader
exports.encodeHead = encodeHead
exports.encodeSlot = encodeSlot
exports.hasMagic = hasMagic
exports.readHead = readHead
exports.SeqReservation = SeqReservation
exports.packCommit = packCommit
exports.packedSizeMax = packedSizeMax
exports.ChunkCursor = ChunkCursor
exports.ENTRY = ENTRY
exports.assembleRecord = assembleRecord
exports.findReach = findReach
exports.findRecordEnd = findRecordEnd
exports.UNSURE_GAP = UNSURE_GAP
exports.checkPage = checkPage
exports.findCleanEnd = findCleanEnd
exports.findFrame = findFrame
exports.readNext = readNext
exports.TailWalk = TailWalk
exports.Repacker = Repacker
exports.LineWalk = LineWalk
exports.checkLine = checkLine
exports.findFirstLine = findFirstLine
exports.isWholeObject = isWholeObject
exports.looksLikeLines = looksLikeLines
exports.withoutReturn = withoutReturn
exports.SUMMED_SIZE = SUMMED_SIZE
exports.SUMS_POSITIONS = SUMS_POSITIONS
exports.SUMS_SIZE = SUMS_SIZE
exports.SumWalk = SumWalk
exports.TABLE_SIZE = TABLE_SIZE
exports.countPages = countPages
exports.encodePages = encodePages
exports.encodeSums = encodeSums
exports.readSums = readSums
exports.sumOfPages = sumOfPages
exports.sumPosition = sumPosition
exports.tableEnd = tableEnd
exports.FRAME_HEAD_SIZE = FRAME_HEAD_SIZE
exports.OffsetFraming = OffsetFraming
exports.isAllZero = isAllZero
exports.offsetFramings = offsetFramings
