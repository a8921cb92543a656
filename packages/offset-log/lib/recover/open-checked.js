'use strict'
// From an open file to a log of the checked framing: read the head, finish deletions, find the end, tell what happened.

const { LogError } = require('@millrace/errors')
const { call } = require('@millrace/flow')
const {
  EPOCH_MAX, HEAD_SIZE, TailWalk, countErased, describeFault, readHead, rememberErasures
} = require('@millrace/framing')
const { redoErasures } = require('../append/eraser')
const { CheckedStore } = require('../checked-store')
const { keepCutBytes } = require('./keep-cut-bytes')
const { TailCopy } = require('./tail-copy')

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
  const bytes = Buffer.alloc(HEAD_SIZE)
  await call(blocks, 'readInto', bytes.subarray(0, Math.min(HEAD_SIZE, blocks.size.value)), 0)
  const head = readHead(bytes, blocks.path)
  if (head instanceof LogError) throw head
  const mismatch = file.codec.compareName(head.header.codec, blocks.path, 'open')
  if (mismatch) throw mismatch
  const tailCopy = new TailCopy(blocks, head, storage)
  if (blocks.flags === 'r+') {
    // A log that was compacted just now has no end that anybody left.
    if (file.store !== null) return new CheckedOpener(file, head).open()
    return new CheckedOpener(file, head, tailCopy, await tailCopy.restore()).open()
  }
  // Another process may have written meanwhile: what the head speaks of must be within the size.
  await call(blocks, 'refresh')
  const opener = new CheckedOpener(file, head)
  opener.noteUnrestored(await tailCopy.find())
  return opener.open()
}

class CheckedOpener {
  /**
   * @param {LogFile} file
   * @param {Head} head
   * @param {TailCopy | null} [tailCopy]  for a log whose end an earlier session may have left unsynced
   * @param {number} [restoredEnd]  all before it is on stable storage, by what an earlier open has left to be done
   */
  constructor (file, head, tailCopy = null, restoredEnd = 0) {
    this._tailCopy = tailCopy
    this._restoredEnd = restoredEnd
    this._file = file
    this._head = head
    this._store = new CheckedStore(file, head)
    this._isReadOnly = file.blocks.flags === 'r'
    this._fileSize = file.blocks.size.value
    /** @type {Recovery} */
    this._recovery = {
      offset: 0, size: 0, keptAt: null, uncopied: null, unrestored: null, damage: [], flaws: head.flaws
    }
  }

  /** @param {Recovery['unrestored']} unrestored  what only the copy of the log's end has */
  noteUnrestored (unrestored) {
    this._recovery.unrestored = unrestored
  }

  /** @returns {Promise<{ store: CheckedStore, recovery: Recovery | null }>} */
  async open () {
    const { _store: store, _head: { journals } } = this
    store.erasedCount = countErased(this._head)
    store.eraser.round = journals[journals.length - 1]?.round ?? 0
    // Only a log that is not damaged may be written: until that is known its deletions are finished in memory.
    rememberErasures(store, journals)
    const report = await this._walkTail()
    await this._finishErasures(report)
    await this._settle(report)
    await this._findLast(report)
    await this._markIntact()
    return { store, recovery: this._describe() }
  }

  /** @returns {Promise<TailReport>} */
  async _walkTail () {
    const { _store: store, _file: { blocks }, _fileSize: fileSize } = this
    const window = blocks.createSpanReader()
    const walk = new TailWalk(window, store, this._head.slot, fileSize)
    const { cursor } = walk
    while (!walk.run()) {
      await call(window, 'loadForward', cursor.at, cursor.need, fileSize)
      cursor.noteLoaded(null)
    }
    return walk.report()
  }

  /** Nothing of what the session before has shown is lost: that stays so until this one ends, appends or not. */
  async _markIntact () {
    const { _store: { reservation }, _file: { blocks, store }, _recovery: { damage, uncopied } } = this
    const isReadOnly = this._isReadOnly || damage.length > 0 || uncopied !== null
    if (isReadOnly || store !== null || !reservation.isTakenOver) return
    reservation.isMarkedIntact = true
    await call(blocks, 'markIntact', true).catch(() => {})
  }

  /** @returns {Recovery | null} */
  _describe () {
    const { size, damage, flaws, uncopied, unrestored } = this._recovery
    const isNothing = size === 0 && damage.length === 0 && flaws.length === 0 && !uncopied && !unrestored
    return isNothing ? null : this._recovery
  }

  /** @param {TailReport} report */
  async _finishErasures ({ damage }) {
    const { _store: store, _head: { journals } } = this
    if (journals.length === 0) return
    if (this._isReadOnly || damage) {
      store.erasedCount = null
      return
    }
    await redoErasures(store, journals)
    store.unfinished.clear()
  }

  /** @param {TailReport} report */
  async _settle (report) {
    const { _store: store, _file: file } = this
    const { tail, damage, epoch } = report
    // A log that has another file now goes on with its session.
    const isOpen = this._head.slot?.reservedEnd !== 0 && file.store === null
    const isUnclean = isOpen || tail.end !== this._head.slot?.end || this._fileSize !== tail.end
    store.epoch = Math.min(EPOCH_MAX, epoch + (isUnclean ? 1 : 0))
    store.tail = tail
    store.checkpoints.durableEnd = Math.min(report.promisedEnd, tail.end)
    if (damage) return this._settleDamage(report, damage)
    store.setEnd(tail)
    if (this._fileSize !== tail.end) await this._cutTorn(tail.end)
    await this._makeDurable(report)
  }

  /**
   * What was not known to be durable may be in the page cache only.
   * @param {TailReport} report
   */
  async _makeDurable (report) {
    const { _tailCopy: tailCopy, _file: { blocks }, _store: store } = this
    const { promisedEnd, tail: { end, shift } } = report
    if (this._isReadOnly || tailCopy === null || promisedEnd >= end) return
    // Nothing failed, and the sync that opening began with has written whatever was dirty.
    const isDurable = blocks.past === 'intact' || this._restoredEnd >= end
    // The machine was started anew: what is read comes from the disk.
    if (!isDurable && blocks.past === 'rebooted') return
    if (!isDurable) {
      const range = { offset: promisedEnd, size: end - promisedEnd }
      try {
        await tailCopy.save(range)
      } catch (err) {
        this._recovery.uncopied = { ...range, cause: /** @type {Error} */ (err) }
        return
      }
      await tailCopy.rewrite(range)
    }
    report.promisedEnd = store.checkpoints.durableEnd = end
    report.promisedLogicalEnd = end + shift
  }

  /**
   * Cuts what is behind the last whole commit.
   * @param {number} end
   */
  async _cutTorn (end) {
    const { _file: { blocks, storage }, _recovery: recovery } = this
    const contentEnd = await findContentEnd(blocks, end, this._fileSize)
    // Zeros are room that was reserved, or a write of which nothing arrived.
    if (contentEnd !== end) {
      recovery.offset = end
      recovery.size = contentEnd - end
    }
    if (this._isReadOnly) return
    if (contentEnd !== end) recovery.keptAt = await keepCutBytes(blocks, end, contentEnd, storage)
    await call(blocks, 'truncate', end)
    await call(blocks, 'sync')
  }

  /**
   * Nothing of a damaged log is cut or written: it is opened for reading, as far as there is anything.
   * @param {TailReport} report
   * @param {NonNullable<TailReport['damage']>} damage
   */
  _settleDamage ({ tail, readableEnd, promisedEnd }, damage) {
    const { _store: store, _recovery: recovery } = this
    recovery.damage.push({ what: describeFault(damage), offset: damage.start, size: damage.end - damage.start })
    const wholeEnd = Math.max(promisedEnd, tail.end)
    if (wholeEnd > this._fileSize) store.missing = { start: this._fileSize, end: wholeEnd, fault: 'CUT_OFF' }
    store.tail = { ...tail, end: readableEnd }
    store.setEnd({ ...tail, end: Math.min(this._fileSize, readableEnd) })
  }

  /** @param {TailReport} report */
  async _findLast ({ damage, tail, promisedEnd, promisedLogicalEnd }) {
    const { _store: store, _head: { slot, journals, lostSlot } } = this
    const isCheckpoint = slot !== null && slot.end === tail.end && journals.length === 0 && !lostSlot
    const seq = isCheckpoint && !damage ? slot.last : await call(store, 'findLast', Infinity)
    store.last = store.durableLast = seq
    if ((isCheckpoint && !damage) || promisedEnd >= tail.end || seq < promisedLogicalEnd) return
    store.durableLast = promisedEnd === HEAD_SIZE ? -1 : await call(store, 'findLast', promisedLogicalEnd)
  }
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
