'use strict'
// From an open file to a log of the checked framing: read the head, finish deletions, find the end, tell what happened.

const { LogError } = require('@millrace/errors')
const { toCallback, trampoline } = require('@millrace/flow')
const { keepCutBytes } = require('../../keep-cut-bytes')
const { CheckedStore } = require('./checked-store')
const { readHead } = require('./head')
const { EPOCH_MAX, HEAD_SIZE } = require('./layout')
const { walkTail } = require('./recover')
const { redoErasures, rememberErasures } = require('./eraser')
const { TailCopy } = require('./tail-copy')

const ZEROS = Buffer.alloc(64 * 1024)

/**
 * @typedef {import('../../log-file').LogFile} LogFile
 * @typedef {import('../../log-file').Recovery} Recovery
 * @typedef {import('./head').Head} Head
 * @typedef {import('./recover').TailReport} TailReport
 * @typedef {(err: Error | null) => void} Done
 */

/**
 * @param {LogFile} file  gets its `end`
 * @param {(err: Error | null, store?: CheckedStore, recovery?: Recovery | null) => void} cb
 */
function openChecked (file, cb) {
  const { blocks } = file
  const bytes = Buffer.alloc(HEAD_SIZE)
  blocks.readInto(bytes.subarray(0, Math.min(HEAD_SIZE, blocks.size.value)), 0, (err) => {
    if (err) return cb(err)
    const head = readHead(bytes, blocks.path)
    if (head instanceof LogError) return cb(head)
    const mismatch = file.codec.compareName(head.header.codec, blocks.path, 'open')
    if (mismatch) return cb(mismatch)
    if (blocks.flags === 'r+') return openForWriting(file, head, cb)
    // Another process may have written meanwhile: what the head speaks of must be within the size.
    blocks.refresh((err) => err ? cb(err) : openForReading(file, head, cb))
  })
}

/**
 * @param {LogFile} file
 * @param {Head} head
 * @param {(err: Error | null, store?: CheckedStore, recovery?: Recovery | null) => void} cb
 */
function openForReading (file, head, cb) {
  const opener = new CheckedOpener(file, head)
  toCallback(new TailCopy(file.blocks, head, file.storage).find(), (err, unrestored) => {
    opener.noteUnrestored(unrestored ?? null)
    if (err) cb(err)
    else opener.open(cb)
  })
}

/**
 * @param {LogFile} file
 * @param {Head} head
 * @param {(err: Error | null, store?: CheckedStore, recovery?: Recovery | null) => void} cb
 */
function openForWriting (file, head, cb) {
  // A log that was compacted just now has no end that anybody left.
  if (file.store !== null) return new CheckedOpener(file, head).open(cb)
  const tailCopy = new TailCopy(file.blocks, head, file.storage)
  toCallback(tailCopy.restore(), (err, restoredEnd) => {
    if (err) cb(err)
    else new CheckedOpener(file, head, tailCopy, restoredEnd).open(cb)
  })
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

  /** @param {(err: Error | null, store?: CheckedStore, recovery?: Recovery | null) => void} cb */
  open (cb) {
    const { _store: store, _head: { slot, journals } } = this
    this._countErased()
    // Only a log that is not damaged may be written: until that is known its deletions are finished in memory.
    rememberErasures(store, journals)
    walkTail(store, slot, this._fileSize, (err, report) => {
      if (err || !report) return cb(err)
      this._finishErasures(report, (err) => {
        if (err) return cb(err)
        this._settle(report, (err) => {
          if (err) return cb(err)
          this._findLast(report, (err) => {
            if (err) return cb(err)
            this._vouch(() => cb(null, store, this._describe()))
          })
        })
      })
    })
  }

  /**
   * Nothing is lost of what the session before has shown: that is so until the next one ends, though it append nothing.
   * @param {() => void} cb
   */
  _vouch (cb) {
    const { _store: { session }, _file: { blocks, store }, _recovery: { damage, uncopied } } = this
    const isReadOnly = this._isReadOnly || damage.length > 0 || uncopied !== null
    if (isReadOnly || store !== null || !session.goesOn) return cb()
    session.isVouchedFor = true
    blocks.vouch(true, () => cb())
  }

  /** @returns {Recovery | null} */
  _describe () {
    const { size, damage, flaws, uncopied, unrestored } = this._recovery
    const isNothing = size === 0 && damage.length === 0 && flaws.length === 0 && !uncopied && !unrestored
    return isNothing ? null : this._recovery
  }

  _countErased () {
    const { _store: store, _head: { slot, lostSlot, journals } } = this
    const newest = journals[journals.length - 1]
    const counts = [...journals, ...(slot ? [slot] : [])].map(({ erasedCount }) => erasedCount)
    // A slot that is lost may have counted more, unless there is a journal.
    const isKnown = counts.length > 0 && !counts.includes(null) && (newest !== undefined || !lostSlot)
    store.erasedCount = isKnown ? Math.max(...counts.map(Number)) : null
    store.eraser.round = newest?.round ?? 0
  }

  /**
   * @param {TailReport} report
   * @param {Done} cb
   */
  _finishErasures ({ damage }, cb) {
    const { _store: store, _head: { journals } } = this
    if (journals.length === 0) return cb(null)
    if (this._isReadOnly || damage) {
      store.erasedCount = null
      return cb(null)
    }
    redoErasures(store, journals, (err) => {
      store.unfinished.clear()
      cb(err)
    })
  }

  /**
   * @param {TailReport} report
   * @param {Done} cb
   */
  _settle (report, cb) {
    const { _store: store, _file: file } = this
    const { tail, damage, epoch } = report
    // A log that has another file now goes on with its session.
    const isOpen = this._head.slot?.ceiling !== 0 && file.store === null
    const isUnclean = isOpen || tail.end !== this._head.slot?.end || this._fileSize !== tail.end
    store.epoch = Math.min(EPOCH_MAX, epoch + (isUnclean ? 1 : 0))
    store.tail = tail
    store.checkpoints.durableEnd = Math.min(report.promisedEnd, tail.end)
    if (damage) return this._settleDamage(report, cb)
    store.setEnd(tail)
    this._cutTorn(tail.end, (err) => err ? cb(err) : this._makeDurable(report, cb))
  }

  /**
   * What was not known to be durable may be in the page cache only.
   * @param {TailReport} report
   * @param {Done} cb
   */
  _makeDurable (report, cb) {
    const { _tailCopy: tailCopy, _file: { blocks }, _store: store } = this
    const { promisedEnd, tail: { end } } = report
    if (this._isReadOnly || tailCopy === null || promisedEnd >= end) return cb(null)
    const settled = () => {
      report.promisedEnd = store.checkpoints.durableEnd = end
      report.promisedLogicalEnd = end + report.tail.shift
      cb(null)
    }
    // Nothing failed, and the sync that opening began with has written whatever was dirty.
    if (blocks.past === 'intact' || this._restoredEnd >= end) return settled()
    // The machine was started anew: what is read comes from the disk.
    if (blocks.past === 'rebooted') return cb(null)
    const range = { offset: promisedEnd, size: end - promisedEnd }
    toCallback(tailCopy.save(range), (err) => {
      if (!err) return toCallback(tailCopy.rewrite(range), (err) => err ? cb(err) : settled())
      this._recovery.uncopied = { ...range, cause: err }
      cb(null)
    })
  }

  /**
   * Cuts what is behind the last whole commit.
   * @param {number} end
   * @param {Done} cb
   */
  _cutTorn (end, cb) {
    const { _file: file } = this
    if (this._fileSize === end) return cb(null)
    findContentEnd(file.blocks, end, this._fileSize, (err, contentEnd = 0) => {
      if (err) return cb(err)
      // Zeros are room that was reserved, or a write of which nothing arrived.
      if (contentEnd === end) return this._isReadOnly ? cb(null) : this._truncate(end, cb)
      this._recovery.offset = end
      this._recovery.size = contentEnd - end
      if (this._isReadOnly) return cb(null)
      keepCutBytes(file.blocks, end, contentEnd, file.storage, (err, keptAt = '') => {
        if (err) return cb(err)
        this._recovery.keptAt = keptAt
        this._truncate(end, cb)
      })
    })
  }

  /**
   * @param {number} end
   * @param {Done} cb
   */
  _truncate (end, cb) {
    const { blocks } = this._file
    blocks.truncate(end, (err) => err ? cb(err) : blocks.sync(cb))
  }

  /**
   * Nothing of a damaged log is cut or written: it is opened for reading, as far as there is anything.
   * @param {TailReport} report
   * @param {Done} cb
   */
  _settleDamage ({ tail, damage, readableEnd, promisedEnd }, cb) {
    const { _store: store, _recovery: recovery } = this
    if (damage === null) return cb(null)
    recovery.damage.push({ what: damage.what, offset: damage.start, size: damage.end - damage.start })
    const wholeEnd = Math.max(promisedEnd, tail.end)
    if (wholeEnd > this._fileSize) {
      store.missing = { start: this._fileSize, end: wholeEnd, what: 'all of it, since the file ends before,' }
    }
    store.tail = { ...tail, end: readableEnd }
    store.setEnd({ ...tail, end: Math.min(this._fileSize, readableEnd) })
    cb(null)
  }

  /**
   * @param {TailReport} report
   * @param {Done} cb
   */
  _findLast ({ damage, tail, promisedEnd, promisedLogicalEnd }, cb) {
    const { _store: store, _head: { slot, journals, lostSlot } } = this
    const isCheckpoint = slot !== null && slot.end === tail.end && journals.length === 0 && !lostSlot
    if (isCheckpoint && !damage) {
      store.last = store.durableLast = slot.last
      return cb(null)
    }
    store.findLast(Infinity, (err, seq = -1) => {
      if (err) return cb(err)
      store.last = store.durableLast = seq
      if (promisedEnd >= tail.end || seq < promisedLogicalEnd) return cb(null)
      store.durableLast = -1
      if (promisedEnd === HEAD_SIZE) return cb(null)
      store.findLast(promisedLogicalEnd, (err, seq = -1) => {
        store.durableLast = seq
        cb(err)
      })
    })
  }
}

/**
 * @param {import('../../log-file').BlockFile} blocks
 * @param {number} start
 * @param {number} end
 * @param {(err: Error | null, contentEnd?: number) => void} cb  where the zeros begin that the range ends with
 */
function findContentEnd (blocks, start, end, cb) {
  trampoline((next) => {
    if (start === end) return cb(null, start)
    const bytes = Buffer.allocUnsafe(Math.min(ZEROS.length, end - start))
    blocks.readInto(bytes, end - bytes.length, (err) => {
      if (err) return cb(err)
      end -= bytes.length
      if (bytes.compare(ZEROS, 0, bytes.length) === 0) return next()
      let contentSize = bytes.length
      while (bytes[contentSize - 1] === 0) contentSize--
      cb(null, end + contentSize)
    })
  })
}

exports.openChecked = openChecked
