'use strict'
// Opens a text file as a log of lines: finds the end, and cuts a torn last line.

const { promisesOf, toPromise } = require('@millrace/flow')
const { findFirstLine, isWholeObject } = require('@millrace/framing')
const { LinesStore } = require('../lines-store')
const { LinesReader, findLineStart } = require('../read/lines-reader')
const { cutEnd } = require('./tail-copy')

const MARK_SIZE = 3

/**
 * @typedef {import('../load').LogFile} LogFile
 * @typedef {import('../load').Recovery} Recovery
 */

/**
 * Sets `file.end`.
 * @param {LogFile} file
 * @returns {Promise<{ store: LinesStore, recovery: Recovery | null }>}
 */
async function openLines (file) {
  const { blocks } = file
  const fileSize = blocks.size.value
  const mark = await promisesOf(blocks).read(0, Math.min(fileSize, MARK_SIZE))
  const store = new LinesStore(file, findFirstLine(mark))
  const end = await toPromise((cb) => findLineStart({ blocks, start: store.start }, fileSize, cb))
  store.setEnd(end)
  /** @type {Recovery | null} */
  let recovery = null
  if (end < fileSize) {
    if (await isWholeLine(store, end, fileSize)) {
      store.setEnd(fileSize)
      store.isUnbroken = true
    } else {
      recovery = await recover(file, end)
    }
  }
  store.last = await findLastLine(store)
  return { store, recovery }
}

/** Without waiting: the file was just made, and is empty. @param {LogFile} file */
function openNewLines (file) {
  const store = new LinesStore(file, 0)
  store.setEnd(0)
  return store
}

/**
 * Whether the last line only lacks its line break, as many programs leave it: then it is a record. JSON shows whether
 * it is whole. Other text is taken for whole, unless the log only reads: then somebody may be writing it now.
 * @type {(store: LinesStore, start: number, end: number) => Promise<boolean>}
 */
async function isWholeLine ({ blocks, codec, maxRecordSize }, start, end) {
  if (end - start > maxRecordSize) return false
  const text = await promisesOf(blocks).read(start, end)
  if (text.includes(0)) return false
  if (isWholeObject(text, 0, text.length)) return true
  return codec.name !== 'json' && text[0] !== 0x7b && blocks.flags === 'r+'
}

/** @type {(file: LogFile, end: number) => Promise<Recovery>} `end`: of the last whole line; the file is longer */
async function recover ({ blocks, storage }, end) {
  const fileSize = blocks.size.value
  const keptAt = blocks.flags === 'r' ? null : await cutEnd(blocks, end, fileSize, storage)
  return { offset: end, size: fileSize - end, keptAt, damage: [], flaws: [] }
}

/** @type {(store: LinesStore) => Promise<number>} the seq of the last line, -1 if there is none */
async function findLastLine (store) {
  const reader = new LinesReader(store, { from: 0, stop: Infinity, reverse: true, skipsDamage: true }, store.end)
  try {
    const records = await promisesOf(reader).next(store.end)
    return records.count > 0 ? records.seqs[0] : -1
  } catch (err) {
    const { code, offset } = /** @type {import('@millrace/errors').LogError} */ (err)
    // A line that is too large to be read is still the last one.
    if (code === 'ERR_RECORD_TOO_LARGE' && offset !== undefined) return offset
    throw err
  }
}

exports.openLines = openLines
exports.openNewLines = openNewLines
