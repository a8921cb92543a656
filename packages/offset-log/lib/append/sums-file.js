'use strict'
// The file beside a log of lines, `<log>.sums`: opens it or makes it, and reads its slots.

const { BlockFile, NewFile, fileStorage, keepOwnership } = require('@millrace/block-file')
const { promisesOf } = require('@millrace/flow')
const { SUMS_SIZE, SUMS_SUFFIX, readSums } = require('@millrace/framing')
const { PageSums } = require('../read/page-sums')
const { findPlace } = require('../recover/identify')

/**
 * @typedef {import('../lines-store').LinesStore} LinesStore
 * @typedef {ReturnType<typeof BlockFile>} SumsFile
 * @typedef {import('@millrace/framing').SumsSlot & { place: number }} FoundSlot
 */

/**
 * The file beside a log that is new: its storage can name and open files without waiting.
 * @type {(store: LinesStore, suffix: string) => NewFile} `suffix`: of this attempt, as another one may be under way
 */
function createSums ({ blocks: { realPath }, file: { storage = fileStorage } }, suffix) {
  return new NewFile(storage, `${realPath}${SUMS_SUFFIX}${suffix}.new`, Buffer.alloc(SUMS_SIZE))
}

/** @type {(store: LinesStore, made: NewFile) => SumsFile} */
function nameSums ({ blocks: { realPath }, file: { storage = fileStorage } }, made) {
  return BlockFile(realPath + SUMS_SUFFIX, { cache: 0, storage, made })
}

/**
 * Opens the sums of a log, or makes them.
 * @type {(store: LinesStore) => Promise<{ sums: SumsFile, slots: FoundSlot[] }>} the newest slot first
 */
async function openSums (store) {
  const { blocks, blocks: { flags }, file: { storage } } = store
  const place = await findPlace(blocks, storage)
  const path = place + SUMS_SUFFIX
  const sums = BlockFile(path, { flags, cache: 0, storage, initial: () => Buffer.alloc(SUMS_SIZE) })
  try {
    await promisesOf(sums).ready()
    const bytes = Buffer.alloc(SUMS_SIZE)
    await promisesOf(sums).readInto(bytes.subarray(0, Math.min(SUMS_SIZE, sums.size.value)), 0)
    // Somebody has cut it.
    if (sums.size.value < SUMS_SIZE && flags !== 'r') await promisesOf(sums).append(bytes.subarray(sums.size.value))
    const slots = readSums(bytes)
    // Whoever may write the text, such as its owner, must be able to write new sums, whoever makes them.
    if (slots.length === 0 && flags !== 'r') await keepOwnership(storage ?? fileStorage, place, path)
    return { sums, slots }
  } catch (err) {
    await promisesOf(sums).close().catch(() => {})
    throw err
  }
}

/**
 * Opens the sums of a log that is only read.
 * @param {LinesStore} store
 * @returns {Promise<{ pages: PageSums, slots: FoundSlot[] } | null>}  null if there are none
 */
async function openSumsToRead (store) {
  try {
    const { sums, slots } = await openSums(store)
    return { pages: new PageSums(sums), slots }
  } catch (err) {
    if (/** @type {NodeJS.ErrnoException} */ (err).code === 'ENOENT') return null
    throw err
  }
}

exports.createSums = createSums
exports.nameSums = nameSums
exports.openSums = openSums
exports.openSumsToRead = openSumsToRead
