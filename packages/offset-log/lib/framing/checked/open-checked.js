'use strict'
// From an open file to a log of the checked framing: read the head, finish deletions, find the end, tell what happened.

const { trampoline } = require('@millrace/block-file')
const { LogError } = require('@millrace/errors')
const { keepCutBytes } = require('../../keep-cut-bytes')
const { CheckedStore } = require('./checked-store')
const { readHead } = require('./head')
const { EPOCH_MAX, HEAD_SIZE } = require('./layout')
const { walkTail } = require('./recover')
const { redoErasures, rememberErasures } = require('./redo')

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
    if (blocks.flags === 'r+') return new CheckedOpener(file, head).open(cb)
    // Another process may have written meanwhile: what the head speaks of must be within the size.
    blocks.refresh((err) => err ? cb(err) : new CheckedOpener(file, head).open(cb))
  })
}

class CheckedOpener {
  /**
   * @param {LogFile} file
   * @param {Head} head
   */
  constructor (file, head) {
    this._file = file
    this._head = head
    this._store = new CheckedStore(file, head)
    this._isReadOnly = file.blocks.flags === 'r'
    this._fileSize = file.blocks.size.value
    /** @type {Recovery} */
    this._recovery = { offset: 0, size: 0, keptAt: null, damage: [], flaws: head.flaws }
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
    const { _store: { session }, _file: { blocks, store }, _recovery: { damage } } = this
    if (this._isReadOnly || store !== null || !session.goesOn || damage.length > 0) return cb()
    session.isVouchedFor = true
    blocks.vouch(true, () => cb())
  }

  /** @returns {Recovery | null} */
  _describe () {
    const { size, damage, flaws } = this._recovery
    return size === 0 && damage.length === 0 && flaws.length === 0 ? null : this._recovery
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
    const { tail, promisedEnd, damage, epoch } = report
    // A log that has another file now goes on with its session.
    const isOpen = this._head.slot?.ceiling !== 0 && file.store === null
    const isUnclean = isOpen || tail.end !== this._head.slot?.end || this._fileSize !== tail.end
    store.epoch = Math.min(EPOCH_MAX, epoch + (isUnclean ? 1 : 0))
    store.tail = tail
    store.checkpoints.durableEnd = Math.min(promisedEnd, tail.end)
    if (damage) return this._settleDamage(report, cb)
    store.setEnd(tail)
    if (promisedEnd < tail.end) store.checkpoints.untrusted = { start: promisedEnd, end: tail.end }
    if (this._fileSize === tail.end) return cb(null)
    findContentEnd(file.blocks, tail.end, this._fileSize, (err, contentEnd = 0) => {
      if (err) return cb(err)
      // Zeros are room that was reserved, or a write of which nothing arrived.
      if (contentEnd === tail.end) return this._isReadOnly ? cb(null) : this._truncate(tail.end, cb)
      this._recovery.offset = tail.end
      this._recovery.size = contentEnd - tail.end
      if (this._isReadOnly) return cb(null)
      keepCutBytes(file.blocks, tail.end, contentEnd, file.storage, (err, keptAt = '') => {
        if (err) return cb(err)
        this._recovery.keptAt = keptAt
        this._truncate(tail.end, cb)
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
