'use strict'
// Identifies a file before it is opened as a log: its framing, and the id of its log. A checked log begins with a
// magic. An offset log begins with a frame whose two sizes and end agree. JSON Lines begin with an object, have the
// file of sums beside them, or are a segment by their name: a compressed one has no sums.

const { basename, dirname } = require('node:path')
const { SEGMENT_EXTENSIONS, SEGMENT_NAME, fileStorage, readWhole } = require('@millrace/block-file')
const { LogError } = require('@millrace/errors')
const { promisesOf, toCallback, toPromise } = require('@millrace/flow')
const {
  AREA_SIZE, FRAME_HEAD_SIZE, HEADER_POSITIONS, HEADER_SIZE, HEAD_SIZE, SUMS_SIZE, SUMS_SUFFIX, decodeFileHeader,
  encodeFileHeader, hasMagic, looksLikeLines, offsetFramings, readSums
} = require('@millrace/framing')

/** How much of a file is looked at to see whether it is text. */
const LOOK_SIZE = 64 * 1024

/**
 * @typedef {import('@millrace/framing').OffsetFraming} OffsetFraming
 * @typedef {import('@millrace/block-file').BlockFile} BlockFileHandle
 * @typedef {ReturnType<typeof peekSums>} SumsPeek
 * @typedef {(err: Error | null, framing?: 'checked' | 'lines' | OffsetFraming) => void} Detected  gets
 *   ERR_LOG_UNKNOWN_FORMAT if nothing is known that begins so
 */

/**
 * Bytes of an open file, usually without waiting. By default those that are the head of a checked log.
 * @type {(blocks: BlockFileHandle, start?: number, end?: number) => Promise<Buffer>} zeros where the file is shorter
 */
async function readBytes (blocks, start = 0, end = HEAD_SIZE) {
  const bytes = Buffer.alloc(end - start)
  const size = Math.min(end, blocks.size.value) - start
  if (!blocks.readIntoNow(bytes, 0, size, start)) await promisesOf(blocks).readInto(bytes.subarray(0, size), start)
  return bytes
}

/**
 * Writes nothing.
 * @param {BlockFileHandle} blocks  open and not empty
 * @param {import('@millrace/block-file').Storage | null | undefined} storage  null: only the bytes of the file count
 * @param {string} expected  framing: any file that nothing else can have written is taken for lines, if it is `lines`
 * @param {Detected} cb
 */
function detectFraming (blocks, storage, expected, cb) {
  const [first] = HEADER_POSITIONS
  isChecked(blocks, first, (err, isOne) => {
    if (err || isOne) return cb(err, 'checked')
    detectOther(blocks, expected, (err, framing) => {
      if (framing === 'checked' || framing === 'lines' || storage === null) return cb(err, framing)
      // However damaged its beginning is, a file with sums beside it is one of lines.
      toCallback(peekSumsOf(blocks, storage), (_, slot) => slot ? cb(null, 'lines') : cb(err, framing))
    })
  })
}

/** @type {(blocks: BlockFileHandle, expected: string, cb: Detected) => void} */
function detectOther (blocks, expected, cb) {
  const [, second] = HEADER_POSITIONS
  detectLegacy(blocks, (err, framing) => {
    if (err || framing) return cb(err, framing)
    // The second header comes last: a record of an offset log may hold the magic at its position.
    isChecked(blocks, second, (err, isOne) => {
      if (err || isOne) return cb(err, 'checked')
      if (expected === 'lines' || isLinesSegment(blocks.path)) return cb(null, 'lines')
      areLines(blocks, (err, isOne) => err || isOne ? cb(err, 'lines') : cb(unknownFormat(blocks.path)))
    })
  })
}

/** @param {string} path  of a plain or compressed file */
function isLinesSegment (path) {
  const name = basename(path)
  return SEGMENT_NAME.test(name) && name.includes(SEGMENT_EXTENSIONS.lines)
}

/** @type {(blocks: BlockFileHandle, position: number, cb: (err: Error | null, isOne?: boolean) => void) => void} */
function isChecked (blocks, position, cb) {
  if (blocks.size.value < position + HEADER_SIZE) return cb(null, false)
  const bytes = Buffer.alloc(HEADER_SIZE)
  blocks.readInto(bytes, position, (err) => cb(err, hasMagic(bytes)))
}

/** @type {(blocks: BlockFileHandle, cb: (err: Error | null, isOne?: boolean) => void) => void} */
function areLines (blocks, cb) {
  const bytes = Buffer.alloc(Math.min(blocks.size.value, LOOK_SIZE))
  blocks.readInto(bytes, 0, (err) => cb(err, looksLikeLines(bytes, bytes.length === blocks.size.value)))
}

/** @type {(blocks: BlockFileHandle, cb: (err: Error | null, framing?: OffsetFraming) => void) => void} */
function detectLegacy (blocks, cb) {
  const fileSize = blocks.size.value
  if (fileSize < FRAME_HEAD_SIZE) return cb(null)
  const head = Buffer.alloc(FRAME_HEAD_SIZE)
  blocks.readInto(head, 0, (err) => {
    if (err) return cb(err)
    const size = head.readUInt32BE(0)
    const trailerStart = FRAME_HEAD_SIZE + size
    if (trailerStart >= fileSize) return cb(null)
    const widest = offsetFramings.offset53.trailerSize
    const trailer = Buffer.alloc(Math.min(fileSize - trailerStart, widest))
    blocks.readInto(trailer, trailerStart, (err) => {
      if (err) return cb(err)
      cb(null, Object.values(offsetFramings).find((framing) => hasTrailer(framing, trailer, size)))
    })
  })
}

/**
 * @param {OffsetFraming} framing
 * @param {Buffer} trailer  the bytes after the first record
 * @param {number} size  of that record, by the head of its frame
 */
function hasTrailer (framing, trailer, size) {
  if (trailer.length < framing.trailerSize || trailer.readUInt32BE(0) !== size) return false
  return framing.isEndIn(trailer.subarray(0, framing.trailerSize), size + framing.overhead)
}

/** @param {string} path */
function unknownFormat (path) {
  return new LogError('ERR_LOG_UNKNOWN_FORMAT', `open: ${path} does not begin with a whole record of any framing that ` +
    'this version knows; check the path. If it is text, give the framing lines; if its first append was cut off, move ' +
    'the file away', { offset: 0, path })
}

const PEEK_SIZE = HEADER_POSITIONS[HEADER_POSITIONS.length - 1] + AREA_SIZE

/**
 * @param {string} path
 * @param {import('@millrace/block-file').Storage | undefined} storage
 * @returns {Promise<{ id: Buffer | null }>}  of the log: in the head of a checked one, beside one of lines; null if it
 *   cannot be read
 * @throws ENOENT if there is no such file
 */
async function peekId (path, storage) {
  const id = findId(await readHeaderAreas(path, storage))
  return { id: id ?? (await peekSums(path, storage))?.id ?? null }
}

/**
 * What is noted beside a log of lines, which its writer may change meanwhile.
 * @param {string} path
 * @param {import('@millrace/block-file').Storage | undefined} storage
 * @returns {Promise<import('@millrace/framing').SumsSlot | null>}  null if nothing can be read
 */
async function peekSums (path, storage = fileStorage) {
  const bytes = await peekBytes(path + SUMS_SUFFIX, SUMS_SIZE, storage).catch(() => null)
  return (bytes && readSums(bytes)[0]) ?? null
}

/** @type {(blocks: BlockFileHandle, storage: import('@millrace/block-file').Storage | undefined) => SumsPeek} */
async function peekSumsOf (blocks, storage) {
  const place = await findPlace(blocks, storage).catch(() => null)
  return place === null ? null : peekSums(place, storage)
}

/**
 * Whether a file has sums beside it, even if nothing is noted there yet.
 * @type {(blocks: BlockFileHandle, storage: import('@millrace/block-file').Storage | undefined) => Promise<boolean>}
 */
async function hasSums (blocks, storage) {
  const place = await findPlace(blocks, storage).catch(() => null)
  return place !== null && await peekBytes(place + SUMS_SUFFIX, 0, storage).then(() => true, () => false)
}

/**
 * Removes what a log of lines has left beside an empty file that becomes a log of another framing: with it, the next
 * open would take that for lines.
 * @type {(blocks: BlockFileHandle, storage?: import('@millrace/block-file').Storage) => Promise<void>}
 */
async function removeSums ({ realPath }, storage = fileStorage) {
  try {
    await promisesOf(storage).unlink(realPath + SUMS_SUFFIX)
  } catch (/** @type {any} */ err) {
    if (err.code === 'ENOENT') return
    throw err
  }
  await promisesOf(storage).syncFolder(dirname(realPath))
}

/**
 * The path that a log has now, with every symlink followed: its writer has the files beside it there. Whoever only
 * reads it may have come by a link, which may lead elsewhere later.
 * @type {(blocks: BlockFileHandle, storage?: import('@millrace/block-file').Storage) => Promise<string>}
 * @throws ENOENT if it has none
 */
async function findPlace ({ flags, path, realPath }, storage = fileStorage) {
  if (flags !== 'r' || !storage.realPath) return realPath
  return promisesOf(storage).realPath(path)
}

/**
 * The first bytes of a file that is not open.
 * @type {(path: string, size: number, storage?: import('@millrace/block-file').Storage) => Promise<Buffer>} zeros where
 *   the file is shorter
 * @throws ENOENT if there is no such file
 */
async function peekBytes (path, size, storage = fileStorage) {
  const handle = await promisesOf(storage).open(path, { flags: 'r', createFolder: false })
  try {
    const bytes = Buffer.alloc(size)
    await toPromise((cb) => readWhole(handle, bytes, 0, cb))
    return bytes
  } finally {
    await promisesOf(handle).close().catch(() => {})
  }
}

/**
 * Whether a file is a copy that this log has begun: it has the log's id, or a power cut has torn its head. Then each
 * byte of its headers is the one that the log has written, or still zero.
 * @type {(areas: Buffer[], header: import('@millrace/framing').FileHeader) => boolean} `header`: as in the copy
 */
function areOfCopy (areas, header) {
  if (findId(areas)?.equals(header.id)) return true
  const written = Buffer.alloc(AREA_SIZE)
  encodeFileHeader(header).copy(written)
  return areas.every((area) => area.every((byte, index) => byte === 0 || byte === written[index]))
}

/**
 * @param {string} path
 * @param {import('@millrace/block-file').Storage | undefined} storage
 * @returns {Promise<Buffer[]>}  where the headers of a checked log would be; bytes that the file lacks are zeros
 * @throws ENOENT if there is no such file
 */
async function readHeaderAreas (path, storage) {
  const bytes = await peekBytes(path, PEEK_SIZE, storage)
  return HEADER_POSITIONS.map((position) => bytes.subarray(position, position + AREA_SIZE))
}

/** @param {Buffer[]} areas @returns {Buffer | null} */
function findId (areas) {
  const headers = areas.map((area) => decodeFileHeader(area.subarray(0, HEADER_SIZE)))
  const found = headers.find((header) => header !== null && 'id' in header)
  return found !== undefined && found !== null && 'id' in found ? found.id : null
}

exports.detectFraming = detectFraming
exports.readBytes = readBytes
exports.areOfCopy = areOfCopy
exports.peekId = peekId
exports.findPlace = findPlace
exports.hasSums = hasSums
exports.removeSums = removeSums
exports.peekSumsOf = peekSumsOf
exports.readHeaderAreas = readHeaderAreas
