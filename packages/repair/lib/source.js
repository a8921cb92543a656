'use strict'
// Opens a file for reading, however damaged it is, and finds what a survey must know first: the framing, the head or
// what is left of it, unfinished deletions, and how far the file was promised.

const { promisify } = require('node:util')
const { BlockFile } = require('@millrace/block-file')
const { LogError } = require('@millrace/errors')
const { promisesOf, toPromise } = require('@millrace/flow')
const {
  AREA_SIZE, CHUNK_HEADER_SIZE, FILE_SIZE_MAX, HEADER_POSITIONS, HEAD_SIZE, PAGE_SIZE, TailWalk, encodeFileHeader,
  offsetFramings, readHead
} = require('@millrace/framing')
const { SaltSearch, describeSource, isZeroIn, placeOf, rebuildHeader } = require('@millrace/framing/survey')
const { TailCopy, detectFraming, isShorter, readHeadBytes } = require('@millrace/offset-log/copies')
const { peekId } = require('@millrace/offset-log/composing')
const { NOWHERE, compareFields, findFrames } = require('./find-frames')

const detect = promisify(detectFraming)

/**
 * @typedef {ReturnType<typeof BlockFile>} BlockFileHandle
 * @typedef {import('@millrace/framing').Head} Head
 * @typedef {import('@millrace/framing').OffsetFraming} OffsetFraming
 * @typedef {import('@millrace/framing/survey').Page} Page
 * @typedef {import('@millrace/framing/survey').PagePlace} PagePlace
 * @typedef {{ checked?: CheckedSource, legacy?: OffsetFraming | null, areLines?: boolean }} Told
 */

/**
 * @typedef {import('@millrace/framing/survey').Source & CheckedParts} CheckedSource  a file of the checked framing
 * @typedef {object} CheckedParts
 * @property {boolean} isHeadLost  both copies of the file header are lost; `head` has what was found of it elsewhere
 * @property {number} unfinishedCount  how many chunks are not yet as the journals say
 */

/**
 * @typedef {object} LogSource
 * @property {BlockFileHandle} blocks  open for reading
 * @property {CheckedSource | null} checked  of a file of the checked framing
 * @property {OffsetFraming | null} framing  of a file of an offset framing; null for an empty file
 * @property {boolean} areLines  whether it is a text file
 * @property {import('@millrace/offset-log/copies').Unrestored | null} unrestored  an open for writing restores it
 */

/**
 * Opens a file, runs `run`, and closes the file.
 * @template T
 * @param {string | URL} path
 * @param {object} options
 * @param {string} [options.framing]  if it is known
 * @param {import('@millrace/block-file').Storage} [options.storage]
 * @param {(source: LogSource) => Promise<T>} run
 * @returns {Promise<T>}
 */
async function withSource (path, { framing, storage }, run) {
  const blocks = BlockFile(path, { flags: 'r', cache: 0, storage })
  await promisesOf(blocks).ready()
  let result
  try {
    const { checked = null, legacy = null, areLines = false } = await tellFraming(blocks, framing, storage)
    const unrestored = checked && await new TailCopy(blocks, checked.head, storage).find()
    result = await run({ blocks, checked, framing: legacy, areLines, unrestored })
  } catch (err) {
    await promisesOf(blocks).close().catch(() => {})
    throw err
  }
  await promisesOf(blocks).close()
  return result
}

/**
 * Tells the framing by the file's beginning or, if that is lost, by what lies after.
 * @param {BlockFileHandle} blocks
 * @param {string | undefined} known
 * @param {import('@millrace/block-file').Storage | undefined} storage
 * @returns {Promise<Told>}
 */
async function tellFraming (blocks, known, storage) {
  if (known === 'lines') return { areLines: true }
  if (known === 'checked') return { checked: await readSource(blocks) }
  if (known !== undefined) return { legacy: offsetFramings[known] }
  // An empty file is of no framing yet, unless sums are beside it: they say which lines it had.
  if (blocks.size.value === 0) {
    const { id } = await peekId(blocks.path, storage)
    return id === null ? { legacy: null } : { areLines: true }
  }
  let framing
  try {
    framing = await detect(blocks, storage, 'checked')
  } catch (err) {
    if (!isUnknown(err)) throw err
    return guessFraming(blocks, err)
  }
  if (framing === 'lines') return { areLines: true }
  return framing === 'checked' ? { checked: await readSource(blocks) } : { legacy: framing }
}

/**
 * Looks for a lost header, then for an offset framing. `cause`: why the beginning of the file does not tell.
 * @type {(blocks: BlockFileHandle, cause: LogError) => Promise<{ checked?: CheckedSource, legacy?: OffsetFraming }>}
 */
async function guessFraming (blocks, cause) {
  try {
    return { checked: await readSource(blocks) }
  } catch (err) {
    if (!isUnknown(err) && !isCorrupt(err)) throw err
  }
  const legacy = await guessOffsetFraming(blocks)
  if (legacy) return { legacy }
  const { path } = blocks
  throw new LogError('ERR_LOG_UNKNOWN_FORMAT', `verify: ${path} is not a log of a framing that this version knows; ` +
    'check the path, or give the option framing', { cause, offset: 0, path })
}

/** The framing whose whole frames come first. @type {(blocks: BlockFileHandle) => Promise<OffsetFraming | null>} */
async function guessOffsetFraming (blocks) {
  const fileSize = blocks.size.value
  /** @type {OffsetFraming | null} */
  let first = null
  let firstEnd = Infinity
  for (const framing of Object.values(offsetFramings)) {
    const place = await findFrames(blocks, framing, 0, fileSize, NOWHERE, blocks.createSpanReader())
    if (place !== null && place.end < firstEnd) [first, firstEnd] = [framing, place.end]
    // The whole file may be one frame.
    const { isMendable } = await compareFields(blocks, framing, 0, fileSize)
    if (isMendable && fileSize < firstEnd) [first, firstEnd] = [framing, fileSize]
  }
  return first
}

/** @type {(blocks: BlockFileHandle) => Promise<CheckedSource>} */
async function readSource (blocks) {
  const { head, isHeadLost } = await readHeadOf(blocks)
  const { base } = head.header
  // After the head was read: what a slot says is in the file when the slot is written.
  await toPromise((cb) => blocks.refresh(cb))
  const fileSize = blocks.size.value
  if (base + fileSize > FILE_SIZE_MAX) throw noRoom(blocks.path, base)
  const source = { ...describeSource(head, fileSize), isHeadLost, unfinishedCount: 0 }
  source.unfinishedCount = await countUnfinished(blocks, source)
  await findPromisedEnd(blocks, source)
  return source
}

/** @type {(blocks: BlockFileHandle) => Promise<{ head: Head, isHeadLost: boolean }>} */
async function readHeadOf (blocks) {
  const bytes = await readHeadBytes(blocks)
  const head = readHead(bytes, blocks.path)
  if (!(head instanceof LogError)) return { head, isHeadLost: false }
  if (!isCorrupt(head)) throw head
  const header = await rescueHeader(blocks, bytes)
  if (header === null) throw head
  const whole = Buffer.from(bytes)
  for (const position of HEADER_POSITIONS) {
    whole.fill(0, position, position + AREA_SIZE)
    encodeFileHeader(header).copy(whole, position)
  }
  const rescued = /** @type {Head} */ (readHead(whole, blocks.path))
  HEADER_POSITIONS.forEach((offset, index) => {
    rescued.flaws.splice(index, 0, { what: `copy ${index + 1} of the header`, offset, size: AREA_SIZE })
  })
  return { head: { ...rescued, bytes }, isHeadLost: true }
}

// Null if nothing in the file proves a salt.
/** @type {(blocks: BlockFileHandle, head: Buffer) => Promise<import('@millrace/framing').FileHeader | null>} */
async function rescueHeader (blocks, head) {
  const search = new SaltSearch(head)
  if (search.salt === undefined) await eachPage(blocks, 1, (page) => search.visit(page))
  const { salt } = search
  if (salt === undefined) return null
  const [first, last] = [await findPlace(blocks, salt, 1), await findPlace(blocks, salt, -1)]
  return rebuildHeader(head, salt, first, last)
}

// Of the first page in this direction that begins with a whole header.
/** @type {(blocks: BlockFileHandle, salt: number, direction: 1 | -1) => Promise<PagePlace | null>} */
async function findPlace (blocks, salt, direction) {
  /** @type {PagePlace | null} */
  let place = null
  await eachPage(blocks, direction, (page) => {
    place = placeOf(page, salt)
    return place === null
  })
  return place
}

// Visits the pages that are not zeros, from the first (1) or the last (-1), until `visit` returns false.
/** @type {(blocks: BlockFileHandle, direction: 1 | -1, visit: (page: Page) => boolean) => Promise<void>} */
async function eachPage (blocks, direction, visit) {
  const fileSize = blocks.size.value
  const window = blocks.createSpanReader()
  const lastPage = Math.max(HEAD_SIZE, Math.ceil(fileSize / PAGE_SIZE) * PAGE_SIZE - PAGE_SIZE)
  let page = direction === 1 ? HEAD_SIZE : lastPage
  for (; page < fileSize && page >= HEAD_SIZE; page += direction * PAGE_SIZE) {
    const end = Math.min(fileSize, page + PAGE_SIZE)
    if (page < window.start || end > window.end) {
      if (direction === 1) await promisesOf(window).loadForward(page, PAGE_SIZE, fileSize)
      else await promisesOf(window).loadBackward(end, end - page, HEAD_SIZE)
    }
    if (isZeroIn(window, page, end)) continue
    if (!visit({ page, bytes: window.buffer.subarray(page - window.start, end - window.start) })) return
  }
}

/** @type {(blocks: BlockFileHandle, source: CheckedSource) => Promise<number>} */
async function countUnfinished (blocks, { unfinished, fileSize }) {
  let count = 0
  const bytes = Buffer.allocUnsafe(CHUNK_HEADER_SIZE)
  for (const [position, entries] of unfinished) {
    if (position + CHUNK_HEADER_SIZE > fileSize) continue
    await promisesOf(blocks).readInto(bytes, position)
    if (!entries.some(({ header }) => header.equals(bytes))) count++
  }
  return count
}

/** Sets `promisedEnd` of the source. @type {(blocks: BlockFileHandle, source: CheckedSource) => Promise<void>} */
async function findPromisedEnd (blocks, source) {
  for (;;) {
    const { head: { slot }, fileSize } = source
    // If there is no slot, the whole file counts and is surveyed anyway.
    if (slot === null || slot.end >= fileSize) {
      source.promisedEnd = slot?.end ?? Math.max(fileSize, HEAD_SIZE)
      return
    }
    try {
      const { promisedEnd, epoch } = await walkTail(blocks, source)
      source.promisedEnd = promisedEnd
      source.epoch = Math.max(source.epoch, epoch)
      return
    } catch (err) {
      if (!isShorter(err)) throw err
      // A writer may have cut off what never belonged to the log.
      await toPromise((cb) => blocks.refresh(cb))
      source.fileSize = blocks.size.value
    }
  }
}

/**
 * @param {BlockFileHandle} blocks
 * @param {CheckedSource} source
 */
async function walkTail (blocks, source) {
  const { head: { slot }, fileSize } = source
  const window = blocks.createSpanReader()
  const walk = new TailWalk(window, source, slot, fileSize)
  while (!walk.run()) {
    const { cursor } = walk
    await promisesOf(window).loadForward(cursor.at, cursor.need, fileSize)
  }
  return walk.report()
}

/** Only a program that computes checksums makes such a header. @type {(path: string, base: number) => LogError} */
function noRoom (path, base) {
  return new LogError('ERR_LOG_CORRUPT', `verify: the positions of ${path} begin at ${base}, which leaves no room for all of ` +
    'the file; no log has a header like that. Keep a copy of the file', { offset: 0, path })
}

/** @type {(err: unknown) => err is LogError} */
function isUnknown (err) {
  return err instanceof LogError && err.code === 'ERR_LOG_UNKNOWN_FORMAT'
}

/** @param {unknown} err */
function isCorrupt (err) {
  return err instanceof LogError && err.code === 'ERR_LOG_CORRUPT'
}

exports.withSource = withSource
