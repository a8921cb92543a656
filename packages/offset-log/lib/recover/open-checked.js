'use strict'
// From an open file to a log of the checked framing: read the head, finish deletions, find the end, tell what happened.

const { LogError } = require('@millrace/errors')
const { call } = require('@millrace/flow')
const {
  EPOCH_MAX, HEAD_SIZE, TailWalk, countErased, describeFault, readHead, rememberErasures
} = require('@millrace/framing')
const { redoErasures } = require('../append/eraser')
const { CheckedStore } = require('../checked-store')
const { TailCopy, cutEnd } = require('./tail-copy')

const ZEROS = Buffer.alloc(64 * 1024)

/**
 * @typedef {import('../load').LogFile} LogFile
 * @typedef {import('../load').Recovery} Recovery
 * @typedef {import('@millrace/framing').Head} Head
 * @typedef {import('@millrace/framing').TailReport} TailReport
 */

/**
 * @param {LogFile} file  gets its `end`
 * @returns {Promise<{ store: CheckedStore, recovery: Recovery | null }>}
 */
async function openChecked (file) {
  const { blocks, storage } = file
  const isReadOnly = blocks.flags === 'r'
  // A log that was compacted just now goes on in another file, which has no end that anybody left.
  const goesOn = file.store !== null
  const head = await readLogHead(file)
  const tailCopy = new TailCopy(blocks, head, storage)
  /** @type {Recovery} */
  const recovery = { offset: 0, size: 0, keptAt: null, uncopied: null, unrestored: null, damage: [], flaws: head.flaws }
  let restoredEnd = 0
  if (isReadOnly) {
    // Another process may have written meanwhile: what the head speaks of must be within the size.
    await call(blocks, 'refresh')
    recovery.unrestored = await tailCopy.find()
  } else if (!goesOn) {
    restoredEnd = await tailCopy.restore()
  }
  const fileSize = blocks.size.value
  const store = new CheckedStore(file, head)
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
  await findLast(store, head, report)
  if (mayWrite && !goesOn && !recovery.uncopied) await markIntact(store)
  return { store, recovery: saysAnything(recovery) ? recovery : null }
}

/** @param {Recovery} recovery */
function saysAnything ({ size, damage, flaws, uncopied, unrestored }) {
  return size > 0 || damage.length > 0 || flaws.length > 0 || Boolean(uncopied ?? unrestored)
}

/**
 * @param {LogFile} file
 * @returns {Promise<Head>}
 */
async function readLogHead ({ blocks, codec }) {
  const bytes = Buffer.alloc(HEAD_SIZE)
  await call(blocks, 'readInto', bytes.subarray(0, Math.min(HEAD_SIZE, blocks.size.value)), 0)
  const head = readHead(bytes, blocks.path)
  if (head instanceof LogError) throw head
  const mismatch = codec.compareName(head.header.codec, blocks.path, 'open')
  if (mismatch) throw mismatch
  return head
}

/**
 * @param {CheckedStore} store
 * @param {Head} head
 * @param {number} fileSize
 * @returns {Promise<TailReport>}
 */
async function walkTail (store, { slot, journals }, fileSize) {
  // Only a log that is not damaged may be written: until that is known its deletions are finished in memory.
  rememberErasures(store, journals)
  const window = store.blocks.createSpanReader()
  const walk = new TailWalk(window, store, slot, fileSize)
  const { cursor } = walk
  while (!walk.run()) {
    await call(window, 'loadForward', cursor.at, cursor.need, fileSize)
    cursor.noteLoaded(null)
  }
  return walk.report()
}

/**
 * @param {CheckedStore} store
 * @param {Head} head
 * @param {boolean} mayWrite
 */
async function finishErasures (store, head, mayWrite) {
  const { journals } = head
  store.erasedCount = countErased(head)
  if (journals.length === 0) return
  store.eraser.round = journals[journals.length - 1].round
  if (mayWrite) {
    await redoErasures(store, journals)
    store.unfinished.clear()
  } else {
    store.erasedCount = null
  }
}

/**
 * What is written behind an unclean end has an epoch of its own.
 * @param {Head} head
 * @param {TailReport} report
 * @param {number} fileSize
 * @param {boolean} goesOn  whether the session that wrote the file goes on
 */
function epochAfter ({ slot }, { epoch, tail: { end } }, fileSize, goesOn) {
  const wasOpen = slot?.reservedEnd !== 0 && !goesOn
  const isUnclean = wasOpen || end !== slot?.end || fileSize !== end
  return Math.min(EPOCH_MAX, epoch + (isUnclean ? 1 : 0))
}

/**
 * Nothing of a damaged log is cut or written: it is opened for reading, as far as there is anything.
 * @param {CheckedStore} store
 * @param {TailReport} report
 * @param {number} fileSize
 */
function endAtDamage (store, { tail, readableEnd, promisedEnd }, fileSize) {
  const wholeEnd = Math.max(promisedEnd, tail.end)
  if (wholeEnd > fileSize) store.missing = { start: fileSize, end: wholeEnd, fault: 'CUT_OFF' }
  store.tail = { ...tail, end: readableEnd }
  store.setEnd({ ...tail, end: Math.min(fileSize, readableEnd) })
}

/**
 * Cuts what is behind the last whole commit; zeros are room that was reserved, or a write of which nothing arrived.
 * @param {LogFile} file
 * @param {number} end
 * @param {Recovery} recovery  gets what was cut
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
 * What was not known to be durable may be in the page cache only.
 * @param {LogFile} file
 * @param {TailCopy} tailCopy
 * @param {number} restoredEnd  all before it is on stable storage, by what an earlier open has left to be done
 * @param {TailReport} report  all of the log is promised afterwards
 * @returns {Promise<Recovery['uncopied'] | null>}  what could not be made durable
 */
async function makeDurable ({ blocks }, tailCopy, restoredEnd, report) {
  const { promisedEnd, tail: { end, shift } } = report
  if (promisedEnd >= end) return null
  // Nothing failed, and the sync that opening began with has written whatever was dirty.
  const isDurable = blocks.past === 'intact' || restoredEnd >= end
  // The machine was started anew: what is read comes from the disk.
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
 * Nothing of what the session before has shown is lost: that stays so until this one ends, appends or not.
 * @param {CheckedStore} store
 */
async function markIntact ({ reservation, blocks }) {
  if (!reservation.isTakenOver) return
  reservation.isMarkedIntact = true
  await call(blocks, 'markIntact', true).catch(() => {})
}

/**
 * @param {CheckedStore} store  gets the seqs of its last records
 * @param {Head} head
 * @param {TailReport} report
 */
async function findLast (store, { slot, journals, lostSlot }, { damage, tail, promisedEnd, promisedLogicalEnd }) {
  const isInSlot = slot !== null && slot.end === tail.end && journals.length === 0 && !lostSlot && !damage
  store.last = isInSlot ? slot.last : await call(store, 'findLast', Infinity)
  if (isInSlot || promisedEnd >= tail.end || store.last < promisedLogicalEnd) store.durableLast = store.last
  else if (promisedEnd > HEAD_SIZE) store.durableLast = await call(store, 'findLast', promisedLogicalEnd)
}

/**
 * @param {import('../load').BlockFile} blocks
 * @param {number} start
 * @param {number} end
 * @returns {Promise<number>}  where the zeros begin that the range ends with
 */
async function findContentEnd (blocks, start, end) {
  while (start < end) {
    const bytes = Buffer.allocUnsafe(Math.min(ZEROS.length, end - start))
    await call(blocks, 'readInto', bytes, end - bytes.length)
    end -= bytes.length
    if (bytes.compare(ZEROS, 0, bytes.length) === 0) continue
    let contentSize = bytes.length
    while (bytes[contentSize - 1] === 0) contentSize--
    return end + contentSize
  }
  return start
}

exports.openChecked = openChecked
