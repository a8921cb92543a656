'use strict'
// Opens a text file as a log of lines: finds where it ends, by the sums beside it if there are any, and cuts what a
// crash has left of a commit.

const { promisesOf, toPromise } = require('@millrace/flow')
const { SUMMED_SIZE, SumWalk, findFirstLine, isWholeObject } = require('@millrace/framing')
const { LinesCheckpoints } = require('../append/lines-checkpoints')
const { openSums, openSumsToRead } = require('../append/sums-file')
const { LinesStore } = require('../lines-store')
const { LinesReader, findLineStart, locateLine } = require('../read/lines-reader')
const { TailCopy, cutEnd } = require('./tail-copy')

const MARK_SIZE = 3
const PART_SIZE = 1024 * 1024
/** What the lock says of the time before: no power cut has taken anything. */
const NOTHING_LOST = ['intact', 'unsynced']

/** What the lock says of it: no sync has failed since, or all that is read comes from the disk. */
const SURELY_ON_DISK = ['intact', 'rebooted']

/**
 * @typedef {import('../load').LogFile} LogFile
 * @typedef {import('../load').Recovery} Recovery
 * @typedef {import('../append/sums-file').FoundSlot} FoundSlot
 * @typedef {{ slot: FoundSlot | null, walk: SumWalk | null, isTorn: boolean }} FoundCommit  `walk`: up to the commit's
 *   end, or to its start if the file only has what came before it
 */

/**
 * @param {LogFile} file
 * @returns {Promise<{ store: LinesStore, recovery: Recovery | null }>}
 */
async function openLines (file) {
  const { blocks } = file
  const mark = await promisesOf(blocks).read(0, Math.min(blocks.size.value, MARK_SIZE))
  const store = new LinesStore(file, findFirstLine(mark))
  try {
    const recovery = await (blocks.flags === 'r' ? read(store) : openToWrite(store))
    if (blocks.flags === 'r') await store.follower.remember()
    return { store, recovery }
  } catch (err) {
    await store.closeBeside().catch(() => {})
    throw err
  }
}

/** @param {LinesStore} store */
async function openToWrite (store) {
  const { sums, slots } = await openSums(store)
  const checkpoints = new LinesCheckpoints(store, sums, slots)
  store.beside = checkpoints
  return recover(store, checkpoints, slots)
}

/**
 * Sets the store's end, and its last line, of a file that is not changed. `isOurs`: only the log has written the end.
 * @type {(store: LinesStore, fileSize: number, isOurs?: boolean) => Promise<Recovery | null>}
 */
async function findEnd (store, fileSize, isOurs = false) {
  const { blocks } = store
  const end = await toPromise((cb) => findLineStart({ blocks, start: store.start }, fileSize, cb))
  store.isUnbroken = end < fileSize && await isWholeLine(store, end, fileSize, isOurs)
  store.setEnd(store.isUnbroken ? fileSize : end)
  store.last = await findLastLine(store, store.end)
  return store.end === fileSize ? null : torn(store.end, fileSize)
}

/**
 * Opens a file that is not changed, and that another process may be writing.
 * @type {(store: LinesStore) => Promise<Recovery | null>}
 */
async function read (store) {
  const sums = await openSumsToRead(store)
  store.beside = sums?.pages ?? null
  // After the slots were read: what they say was written before.
  if (sums !== null) await toPromise((cb) => store.blocks.refresh(cb))
  const fileSize = store.blocks.size.value
  const found = await findEnd(store, fileSize)
  if (sums === null) return found
  store.usePages(sums.pages)
  const { slots, slots: [newest] } = sums
  store.noted = newest ?? null
  if (newest === undefined) return found
  // If the log was not closed, a power cut may have taken the newest commits.
  const { slot } = await findCommit(store, slots, !newest.isClean)
  store.promisedEnd = slot?.durable ?? 0
  return withChange(store, found, slot === null ? describeChange(newest, fileSize) : null, newest.isChanged)
}

/** @type {(store: LinesStore, checkpoints: LinesCheckpoints, slots: FoundSlot[]) => Promise<Recovery | null>} */
async function recover (store, checkpoints, slots) {
  const { blocks, file: { storage } } = store
  const tailCopy = createTailCopy(store, slots)
  const restoredEnd = await tailCopy.restore()
  const fileSize = blocks.size.value
  const { slot, walk, isTorn } = await findCommit(store, slots, mayBeCut(store, slots))
  const isOurs = slot !== null && !slots[0].isClean
  await findEnd(store, isTorn && slot !== null ? slot.start : await findPowerCut(store, slots, slot), isOurs)
  /** @type {Recovery | null} */
  let recovery = null
  if (store.end < fileSize) {
    recovery = torn(store.end, fileSize)
    recovery.keptAt = await cutEnd(blocks, store.end, fileSize, storage)
  }
  const change = slot === null && slots.length > 0 ? describeChange(slots[0], fileSize) : null
  const { base, durable } = slot ?? { base: pageStart(store.end), durable: 0 }
  const durableEnd = Math.max(durable, Math.min(restoredEnd, store.end))
  const uncopied = slot === null ? null : await makeDurable(store, tailCopy, durableEnd)
  if (uncopied) recovery = { ...recovery ?? torn(store.end, store.end), uncopied }
  await checkpoints.begin({
    walk: await walkTo(store, walk !== null && walk.end <= store.end ? walk : new SumWalk(base), store.end),
    base,
    durable: durableEnd,
    slot,
    isNews: store.end < fileSize || change !== null,
    isChanged: change !== null,
    isUnsure: !SURELY_ON_DISK.includes(blocks.past)
  })
  store.useSums(checkpoints)
  store.promisedEnd = checkpoints.durableEnd
  store.durableLast = await findLastLine(store, Math.min(checkpoints.durableEnd, store.end))
  return withChange(store, recovery, change, checkpoints.isChanged)
}

/**
 * If a sync of an earlier session failed, what came after the durable end may be in the page cache only, and a sync
 * would not bring it to the disk: see tail-copy.js.
 * @type {(store: LinesStore, tailCopy: TailCopy, durable: number) => Promise<Recovery['uncopied'] | null>}
 */
async function makeDurable ({ blocks, end }, tailCopy, durable) {
  if (SURELY_ON_DISK.includes(blocks.past) || durable >= end) return null
  const range = { offset: durable, size: end - durable }
  try {
    await tailCopy.save(range)
  } catch (err) {
    return { ...range, cause: /** @type {Error} */ (err) }
  }
  await tailCopy.rewrite(range)
  return null
}

/** @type {(store: LinesStore, slots: FoundSlot[]) => TailCopy} */
function createTailCopy ({ blocks, file: { storage } }, [newest]) {
  const header = { id: newest?.id ?? Buffer.alloc(16), salt: 0 }
  const slot = newest === undefined ? null : { ...newest, reservedEnd: newest.isClean ? 0 : 1 }
  return new TailCopy(blocks, { header, slot, lostSlot: false }, storage)
}

/**
 * Says that another program has changed the file. Until somebody accepts that, no checksum before the end counts.
 * @type {(store: LinesStore, recovery: Recovery | null, change: string | null, isChanged: boolean) => Recovery | null}
 */
function withChange (store, recovery, change, isChanged) {
  if (change === null && !isChanged) return recovery
  store.pages = null
  const changed = `${change ?? 'another program has changed the file at an earlier time'}. The log takes what is there; ` +
    'millrace repair --accept says that this is right'
  return { ...recovery ?? torn(0, 0), changed }
}

/**
 * Where the part of the file ends that is sure to be what the log has written. After a power cut, bytes after the last
 * commit that is described may be half of another one, unless only batches were described.
 * @type {(store: LinesStore, slots: FoundSlot[], slot: FoundSlot | null) => Promise<number>}
 */
async function findPowerCut (store, slots, slot) {
  const { blocks } = store
  const isSure = slot === null || slots[0].isClean || NOTHING_LOST.includes(blocks.past)
  if (isSure) return blocks.size.value
  if (slot.takesLines && slot === slots[0]) return findHole(store, slot.end)
  // What a newer slot describes is lost in part. What was durable is not.
  const durable = Math.max(...slots.map(({ durable }) => durable))
  return Math.min(blocks.size.value, Math.max(slot.end, durable))
}

/** Only a power cut can have taken bytes of an earlier commit than the last one, and none of a log that was closed. */
/** @type {(store: LinesStore, slots: FoundSlot[]) => boolean} */
function mayBeCut ({ blocks }, slots) {
  return !NOTHING_LOST.includes(blocks.past) && !slots[0]?.isClean
}

/**
 * Finds the newest commit whose bytes the file has, all of them or all before it. If there is none, another program has
 * changed the file. `triesAll`: not only the newest slot counts.
 * @type {(store: LinesStore, slots: FoundSlot[], triesAll: boolean) => Promise<FoundCommit>}
 */
async function findCommit (store, slots, triesAll) {
  const fileSize = store.blocks.size.value
  for (const slot of triesAll ? slots : slots.slice(0, 1)) {
    if (slot.start > fileSize) continue
    const start = await walkTo(store, new SumWalk(slot.base), slot.start)
    if (start.crc !== slot.startCrc) continue
    const end = start.fork()
    end.pages = [...start.pages]
    const isWhole = slot.end <= fileSize && (await walkTo(store, end, slot.end)).crc === slot.endCrc
    if (isWhole) return { slot, walk: end, isTorn: false }
    // Whole text that is not the commit is of another program.
    if (slot.isClean || !await isTornCommit(store, slot)) break
    return { slot, walk: start, isTorn: true }
  }
  return { slot: null, walk: null, isTorn: false }
}

/**
 * Whether a crash can have left what the file has of a commit: too little of it, or zeros where bytes were lost. Other
 * text is not the log's.
 * @type {(store: LinesStore, slot: FoundSlot) => Promise<boolean>}
 */
async function isTornCommit ({ blocks }, { start, end }) {
  if (blocks.size.value < end) return true
  for (let at = start; at < end; at += PART_SIZE) {
    if ((await promisesOf(blocks).read(at, Math.min(end, at + PART_SIZE))).includes(0)) return true
  }
  return false
}

/** Of all of the file. @type {(store: LinesStore, onProgress: (position: number) => void) => Promise<SumWalk>} */
function sumLines (store, onProgress) {
  return walkTo(store, new SumWalk(0), store.end, onProgress)
}

/**
 * @type {(store: LinesStore, walk: SumWalk, end: number, onProgress?: (position: number) => void) => Promise<SumWalk>}
 */
async function walkTo ({ blocks }, walk, end, onProgress = () => {}) {
  while (walk.end < end) {
    onProgress(walk.end)
    walk.add(await promisesOf(blocks).read(walk.end, Math.min(end, walk.end + PART_SIZE)))
  }
  return walk
}

/** @param {number} position */
function pageStart (position) {
  return position - position % SUMMED_SIZE
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
  return `another program has changed the file: ${found}`
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
 * it is whole. Other text is taken for whole, unless the log itself wrote it, which ends each line; or the log only
 * reads: then somebody may be writing it now.
 * @type {(store: LinesStore, start: number, end: number, isOurs: boolean) => Promise<boolean>}
 */
async function isWholeLine ({ blocks, file: { codec }, maxRecordSize }, start, end, isOurs) {
  if (end - start > maxRecordSize) return false
  const text = await promisesOf(blocks).read(start, end)
  if (text.includes(0)) return false
  if (isWholeObject(text, 0, text.length)) return true
  return !isOurs && codec.name !== 'json' && text[0] !== 0x7b && blocks.flags === 'r+'
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
exports.sumLines = sumLines
