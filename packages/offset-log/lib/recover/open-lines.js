'use strict'
// Opens a text file as a log of lines: finds where it ends, by the sums beside it if there are any, and cuts what a
// crash has left of a commit.

const { promisesOf, toPromise } = require('@millrace/flow')
const { crc32, findFirstLine, isWholeObject } = require('@millrace/framing')
const { LinesCheckpoints, openSums } = require('../append/lines-checkpoints')
const { LinesStore } = require('../lines-store')
const { LinesReader, findLineStart, locateLine } = require('../read/lines-reader')
const { cutEnd } = require('./tail-copy')

const MARK_SIZE = 3
const PART_SIZE = 1024 * 1024
/** What the lock says of the time before: no power cut has taken anything. */
const NOTHING_LOST = ['intact', 'unsynced']

/**
 * @typedef {import('../load').LogFile} LogFile
 * @typedef {import('../load').Recovery} Recovery
 * @typedef {import('../append/lines-checkpoints').FoundSlot} FoundSlot
 */

/**
 * Sets `file.end`.
 * @param {LogFile} file
 * @returns {Promise<{ store: LinesStore, recovery: Recovery | null }>}
 */
async function openLines (file) {
  const { blocks } = file
  const mark = await promisesOf(blocks).read(0, Math.min(blocks.size.value, MARK_SIZE))
  const store = new LinesStore(file, findFirstLine(mark))
  if (blocks.flags === 'r') return { store, recovery: await findEnd(store, blocks.size.value) }
  const { checkpoints, slots } = await openSums(store)
  try {
    return { store, recovery: await recover(store, checkpoints, slots) }
  } catch (err) {
    await checkpoints.close().catch(() => {})
    throw err
  }
}

/**
 * Sets the store's end, and its last line, of a file that is not changed.
 * @type {(store: LinesStore, fileSize: number) => Promise<Recovery | null>}
 */
async function findEnd (store, fileSize) {
  const { blocks } = store
  const end = await toPromise((cb) => findLineStart({ blocks, start: store.start }, fileSize, cb))
  store.isUnbroken = end < fileSize && await isWholeLine(store, end, fileSize)
  store.setEnd(store.isUnbroken ? fileSize : end)
  store.last = await findLastLine(store, store.end)
  return store.end === fileSize ? null : torn(store.end, fileSize)
}

/** @type {(store: LinesStore, checkpoints: LinesCheckpoints, slots: FoundSlot[]) => Promise<Recovery | null>} */
async function recover (store, checkpoints, slots) {
  const { blocks, file: { storage } } = store
  const fileSize = blocks.size.value
  const { slot, isTorn } = await findCommit(store, slots)
  await findEnd(store, isTorn && slot !== null ? slot.start : await findPowerCut(store, slots, slot))
  /** @type {Recovery | null} */
  let recovery = null
  if (store.end < fileSize) {
    recovery = torn(store.end, fileSize)
    recovery.keptAt = await cutEnd(blocks, store.end, fileSize, storage)
  }
  if (slot === null && slots.length > 0) {
    recovery = { ...recovery ?? torn(0, 0), changed: describeChange(slots[0], fileSize) }
  }
  checkpoints.begin({ end: store.end, durable: slot?.durable ?? 0, slot, isChanged: recovery !== null })
  store.useSums(checkpoints)
  store.durableLast = await findLastLine(store, Math.min(checkpoints.durableEnd, store.end))
  return recovery
}

/**
 * Where the part of the file ends that is sure to be what the log has written. After a power cut, bytes behind the last
 * commit that is described may be half of another one, unless only batches were described.
 * @type {(store: LinesStore, slots: FoundSlot[], slot: FoundSlot | null) => Promise<number>}
 */
async function findPowerCut (store, [newest], slot) {
  const { blocks } = store
  const isSure = slot === null || newest.isClean || NOTHING_LOST.includes(blocks.past)
  if (isSure) return blocks.size.value
  return slot.takesLines ? findHole(store, slot.end) : slot.end
}

/**
 * Finds the newest commit whose bytes the file has, all of them or all before it. Only a power cut can have taken bytes
 * of an earlier commit than the last one, and none of a log that was closed: else somebody has changed the file.
 * @type {(store: LinesStore, slots: FoundSlot[]) => Promise<{ slot: FoundSlot | null, isTorn: boolean }>} `isTorn`: the
 *   file has what came before the commit
 */
async function findCommit (store, slots) {
  const { blocks } = store
  const fileSize = blocks.size.value
  const mayBeCut = !NOTHING_LOST.includes(blocks.past) && !slots[0]?.isClean
  for (const slot of mayBeCut ? slots : slots.slice(0, 1)) {
    if (slot.start > fileSize) continue
    const startCrc = await sumOf(store, slot.base, slot.start, 0)
    if (startCrc !== slot.startCrc) continue
    const isWhole = slot.end <= fileSize && await sumOf(store, slot.start, slot.end, startCrc) === slot.endCrc
    if (isWhole || !slot.isClean) return { slot, isTorn: !isWhole }
  }
  return { slot: null, isTorn: false }
}

/** @type {(store: LinesStore, start: number, end: number, seed: number) => Promise<number>} */
async function sumOf ({ blocks }, start, end, seed) {
  let crc = seed
  for (let at = start; at < end; at += PART_SIZE) {
    crc = crc32(await promisesOf(blocks).read(at, Math.min(end, at + PART_SIZE)), crc)
  }
  return crc
}

/**
 * Where the lines end that a power cut has left: before the first one with a hole.
 * @type {(store: LinesStore, from: number) => Promise<number>}
 */
async function findHole (store, from) {
  const { blocks } = store
  const fileSize = blocks.size.value
  for (let at = from; at < fileSize; at += PART_SIZE) {
    const bytes = await promisesOf(blocks).read(at, Math.min(fileSize, at + PART_SIZE))
    const zero = bytes.indexOf(0)
    if (zero !== -1) return toPromise((cb) => findLineStart({ blocks, start: from }, at + zero, cb))
  }
  return fileSize
}

/** @type {(end: number, fileSize: number) => Recovery} */
function torn (end, fileSize) {
  return { offset: end, size: fileSize - end, keptAt: null, damage: [], flaws: [] }
}

/** @type {(slot: FoundSlot, fileSize: number) => string} */
function describeChange ({ end, durable }, fileSize) {
  const found = fileSize < durable ? `it has ${fileSize} bytes, and had ${durable} on stable storage` : `its bytes before ${end} are others`
  return `another program has changed the file: ${found}. The log takes what is there`
}

/** Without waiting: the file was just made, and is empty. @param {LogFile} file */
function openNewLines (file) {
  const store = new LinesStore(file, 0)
  store.setEnd(0)
  store.useSums(new LinesCheckpoints(store, null, []))
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

/** @type {(store: LinesStore, before: number) => Promise<number>} the seq of the last line, -1 if there is none */
async function findLastLine (store, before) {
  const position = await toPromise((cb) => locateLine(store, before, true, cb))
  const reader = new LinesReader(store, { from: 0, stop: before, reverse: true, skipsDamage: true }, position)
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
