'use strict'
// Opens a file of the checked framing as a log. One that was closed needs one look at its last page. Of any other the
// end is found, deletions are finished, what is torn is cut, and damage is reported.

const { LogError } = require('@millrace/errors')
const { promisesOf, toPromise } = require('@millrace/flow')
const {
  CHUNK_HEADER_SIZE, EPOCH_MAX, HEAD_SIZE, JOURNAL_POSITIONS, PAGE_SIZE, TailWalk, countErased, describeFault,
  encodeJournal, entriesByChunk, findCleanEnd, finishChunk, readHead, rememberErasures
} = require('@millrace/framing')
const { Eraser } = require('../append/eraser')
const { CheckedStore } = require('../checked-store')
const { areOfCopy, readBytes, readHeaderAreas } = require('./identify')
const { TailCopy, cutEnd } = require('./tail-copy')

/** Of the new file of a compaction. */
const COMPACTING_SUFFIX = '.compacting'
const ZEROS = Buffer.alloc(64 * 1024)

/**
 * @typedef {import('../load').LogFile} LogFile
 * @typedef {import('../load').Recovery} Recovery
 * @typedef {import('@millrace/framing').Head} Head
 * @typedef {import('@millrace/framing').TailReport} TailReport
 */

/**
 * @param {LogFile} file
 * @param {Buffer} bytes  of the head
 * @returns {Promise<{ store: CheckedStore, recovery: Recovery | null }>}
 */
async function openChecked (file, bytes) {
  const { blocks, codec } = file
  const head = readHead(bytes, blocks.path)
  if (head instanceof LogError) throw head
  const mismatch = codec.compareName(head.header.codec, blocks.path, 'open')
  if (mismatch) throw mismatch
  // The head may already name bytes that another process appended after the size was read.
  if (blocks.flags === 'r') await toPromise((cb) => blocks.refresh(cb))
  const store = new CheckedStore(file, head)
  return { store, recovery: await openClosed(store, head) ? null : await recover(store, head) }
}

/**
 * Opens a log that was closed: the newest slot says how it ends, and that all of it is durable. The last page must be
 * the one that the slot describes.
 * @type {(store: CheckedStore, head: Head) => Promise<boolean>} false if the log may be otherwise; nothing is changed
 */
async function openClosed (store, head) {
  const { blocks, rules, words } = store
  const { slot, journals, flaws } = head
  const isClosed = slot !== null && slot.reservedEnd === 0 && slot.end === blocks.size.value
  if (!isClosed || flaws.length > 0 || journals.length > 0) return false
  const { end, logicalEnd, chainCrc, last } = slot
  let { epoch } = slot
  if (end > HEAD_SIZE) {
    const start = end - 1 - (end - 1) % PAGE_SIZE
    const bytes = await readBytes(blocks, start, end)
    const lastEpoch = findCleanEnd({ bytes, offset: 0, start, end }, rules, slot)
    if (lastEpoch === null) return false
    epoch = Math.max(epoch, lastEpoch)
  }
  store.erasedCount = countErased(head)
  store.epoch = epoch
  store.tail = { end, shift: logicalEnd - end, chainCrc }
  store.setEnd(store.tail)
  // A repair that lost records may have left a words record as the last one.
  const isWords = words !== null && (await words.load(store)).has(last)
  store.last = store.durableLast = isWords ? await promisesOf(store).findLast(Infinity) : last
  return true
}

/** @type {(store: CheckedStore, head: Head) => Promise<Recovery | null>} null if there is nothing to report */
async function recover (store, head) {
  const { file, blocks } = store
  const isReadOnly = blocks.flags === 'r'
  // After a compaction the session continues in the new file, so there is no end that an earlier session left.
  const goesOn = file.store !== null
  const tailCopy = new TailCopy(blocks, head, file.storage)
  /** @type {Recovery} */
  const recovery = { offset: 0, size: 0, keptAt: null, uncopied: null, unrestored: null, damage: [], flaws: head.flaws }
  let restoredEnd = 0
  if (isReadOnly) recovery.unrestored = await tailCopy.find()
  else if (!goesOn) restoredEnd = await tailCopy.restore()
  const fileSize = blocks.size.value
  const report = await walkTail(store, head, fileSize)
  const { tail, damage } = report
  const mayWrite = !isReadOnly && damage === null
  await finishErasures(store, head, mayWrite)
  store.epoch = epochAfter(head, report, fileSize, goesOn)
  store.tail = tail
  if (damage) {
    endAtDamage(store, report, fileSize)
    recovery.damage.push({ what: describeFault(damage), offset: damage.start, size: damage.end - damage.start })
  } else {
    store.setEnd(tail)
    if (fileSize !== tail.end) await cutTorn(file, tail.end, recovery)
    if (mayWrite && !goesOn) recovery.uncopied = await makeDurable(file, tailCopy, restoredEnd, report)
  }
  store.checkpoints.durableEnd = Math.min(report.promisedEnd, tail.end)
  const wordsSeqs = await store.words?.load(store)
  await findLast(store, head, report, wordsSeqs)
  if (mayWrite && !goesOn && !recovery.uncopied) await markIntact(store)
  return saysAnything(recovery) ? recovery : null
}

/**
 * Opens a file that was just made, and has nothing but its head: there is nothing to recover.
 * @type {(file: LogFile, bytes: Buffer) => CheckedStore} `bytes`: the head
 */
function openNewChecked (file, bytes) {
  const head = readHead(bytes, file.blocks.path)
  if (head instanceof LogError) throw head
  const store = new CheckedStore(file, head)
  store.erasedCount = countErased(head)
  store.setEnd(store.tail)
  return store
}

/** @param {Recovery} recovery */
function saysAnything ({ size, damage, flaws, uncopied, unrestored }) {
  return size > 0 || damage.length > 0 || flaws.length > 0 || Boolean(uncopied ?? unrestored)
}

/** @type {(store: CheckedStore, head: Head, fileSize: number) => Promise<TailReport>} */
async function walkTail (store, { slot, journals }, fileSize) {
  // A damaged log may not be written, and damage is not ruled out yet. So deletions are finished in memory first.
  rememberErasures(store, journals)
  const window = store.blocks.createSpanReader()
  const walk = new TailWalk(window, store, slot, fileSize)
  const { cursor } = walk
  while (!walk.run()) {
    await promisesOf(window).loadForward(cursor.at, cursor.need, fileSize)
  }
  return walk.report()
}

/** @type {(store: CheckedStore, head: Head, mayWrite: boolean) => Promise<void>} */
async function finishErasures (store, head, mayWrite) {
  const { journals } = head
  store.erasedCount = countErased(head)
  if (journals.length === 0) return
  store.eraser = new Eraser(store, journals[journals.length - 1].round)
  if (mayWrite) {
    await redoErasures(store, journals)
    store.unfinished.clear()
  } else {
    store.erasedCount = null
  }
}

/**
 * Chunks after an unclean end get a higher epoch. `goesOn`: the session that wrote the file continues in it.
 * @type {(head: Head, report: TailReport, fileSize: number, goesOn: boolean) => number}
 */
function epochAfter ({ slot }, { epoch, tail: { end } }, fileSize, goesOn) {
  const wasOpen = slot?.reservedEnd !== 0 && !goesOn
  const isUnclean = wasOpen || end !== slot?.end || fileSize !== end
  return Math.min(EPOCH_MAX, epoch + (isUnclean ? 1 : 0))
}

/**
 * Nothing of a damaged log is cut or written. The log ends after the last commit that can be read, damage or not.
 * @type {(store: CheckedStore, report: TailReport, fileSize: number) => void}
 */
function endAtDamage (store, { tail, readableEnd, promisedEnd }, fileSize) {
  const wholeEnd = Math.max(promisedEnd, tail.end)
  if (wholeEnd > fileSize) store.missing = { start: fileSize, end: wholeEnd, fault: 'CUT_OFF' }
  store.tail = { ...tail, end: readableEnd }
  store.setEnd({ ...tail, end: Math.min(fileSize, readableEnd) })
}

/**
 * Cuts what lies after the last whole commit. Zeros there are reserved room, or a write that never reached the disk.
 * `recovery` gets what was cut.
 * @type {(file: LogFile, end: number, recovery: Recovery) => Promise<void>}
 */
async function cutTorn ({ blocks, storage }, end, recovery) {
  const contentEnd = await findContentEnd(blocks, end, blocks.size.value)
  if (contentEnd !== end) {
    recovery.offset = end
    recovery.size = contentEnd - end
  }
  if (blocks.flags !== 'r') recovery.keptAt = await cutEnd(blocks, end, contentEnd, storage)
}

/**
 * Makes the log durable up to its end. Bytes after the promised end may be in the page cache only.
 * @param {LogFile} file
 * @param {TailCopy} tailCopy
 * @param {number} restoredEnd  `tailCopy` has already made the log durable up to here
 * @param {TailReport} report  if this succeeds, it promises the whole log
 * @returns {Promise<Recovery['uncopied'] | null>}  the range that could not be copied
 */
async function makeDurable ({ blocks }, tailCopy, restoredEnd, report) {
  const { promisedEnd, tail: { end, shift } } = report
  if (promisedEnd >= end) return null
  // If the past is intact, no write failed, and opening has synced the file.
  const isDurable = blocks.past === 'intact' || restoredEnd >= end
  // After a restart of the machine, what was read came from the disk.
  if (!isDurable && blocks.past === 'rebooted') return null
  if (!isDurable) {
    const range = { offset: promisedEnd, size: end - promisedEnd }
    try {
      await tailCopy.save(range)
    } catch (err) {
      return { ...range, cause: /** @type {Error} */ (err) }
    }
    await tailCopy.rewrite(range)
  }
  report.promisedEnd = end
  report.promisedLogicalEnd = end + shift
  return null
}

/**
 * If the earlier session was killed but lost nothing, the lock's record says so again. Then this session can be killed
 * too, even before its first append, and the next open knows that nothing is lost.
 * @type {(store: CheckedStore) => Promise<void>}
 */
async function markIntact ({ reservation, blocks }) {
  if (!reservation.isTakenOver) return
  reservation.isMarkedIntact = true
  await promisesOf(blocks).markIntact(true).catch(() => {})
}

/**
 * Sets `last` and `durableLast`.
 * @type {(store: CheckedStore, head: Head, report: TailReport, wordsSeqs?: Set<number>) => Promise<void>}
 */
async function findLast (store, { slot, journals, lostSlot }, report, wordsSeqs) {
  const { damage, tail, promisedEnd, promisedLogicalEnd } = report
  // A repair that lost records may have left a words record as the last one.
  const isRecord = slot !== null && !wordsSeqs?.has(slot.last)
  const isInSlot = isRecord && slot.end === tail.end && journals.length === 0 && !lostSlot && !damage
  store.last = isInSlot ? slot.last : await promisesOf(store).findLast(Infinity)
  if (isInSlot || promisedEnd >= tail.end || store.last < promisedLogicalEnd) store.durableLast = store.last
  else if (promisedEnd > HEAD_SIZE) store.durableLast = await promisesOf(store).findLast(promisedLogicalEnd)
}

/**
 * @param {import('../load').BlockFile} blocks
 * @param {number} start
 * @param {number} end
 * @returns {Promise<number>}  where the zeros at the end of the range begin
 */
async function findContentEnd (blocks, start, end) {
  while (start < end) {
    const bytes = Buffer.allocUnsafe(Math.min(ZEROS.length, end - start))
    await promisesOf(blocks).readInto(bytes, end - bytes.length)
    end -= bytes.length
    if (bytes.compare(ZEROS, 0, bytes.length) === 0) continue
    let contentSize = bytes.length
    while (bytes[contentSize - 1] === 0) contentSize--
    return end + contentSize
  }
  return start
}

/**
 * After a failed sync a journal may be in the page cache only. So all journals are written again and synced before any
 * chunk changes. Afterwards the deletions are durable.
 * @param {CheckedStore} store
 * @param {import('@millrace/framing').Journal[]} journals  oldest first
 */
async function redoErasures ({ blocks, rules }, journals) {
  for (const journal of journals) {
    await promisesOf(blocks).writeQuietly(encodeJournal(journal, rules.salt), JOURNAL_POSITIONS[journal.round % 2])
  }
  await promisesOf(blocks).sync()
  for (const entries of entriesByChunk(journals).values()) {
    const { position, header } = entries[0]
    const chunk = Buffer.allocUnsafe(CHUNK_HEADER_SIZE + header.readUInt16BE(8))
    // The file ends inside the chunk. The walk over the tail reports this damage.
    if (position + chunk.length > blocks.size.value) continue
    await promisesOf(blocks).readInto(chunk, position)
    // A chunk that is still bad after this is damaged, and stays as it is.
    if (finishChunk(entries, chunk, rules)) await promisesOf(blocks).write(chunk, position)
  }
  await promisesOf(blocks).sync()
}

/**
 * Removes the file of an interrupted or failed compaction. A file of that name that is not ours stays.
 * @type {(file: LogFile) => Promise<void>}
 */
async function removeLeftover ({ blocks, store, storage }) {
  if (!store.supports.compact) return
  let areas
  try {
    areas = await readHeaderAreas(blocks.realPath + COMPACTING_SUFFIX, storage)
  } catch (/** @type {any} */ err) {
    if (err.code === 'ENOENT') return
    throw err
  }
  const isOurs = areOfCopy(areas, { .../** @type {CheckedStore} */(store).header, hasGaps: true })
  if (isOurs) await promisesOf(blocks).removeBeside(COMPACTING_SUFFIX)
}

exports.COMPACTING_SUFFIX = COMPACTING_SUFFIX
exports.openChecked = openChecked
exports.openNewChecked = openNewChecked
exports.removeLeftover = removeLeftover
