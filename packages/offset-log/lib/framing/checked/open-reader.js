'use strict'
// Readers of a range, from the page where its records begin; and what is asked of the log about such places.

const { LogError } = require('@millrace/errors')
const { BackwardReader } = require('./backward-reader')
const { readCut } = require('./find-cut')
const { findPage } = require('./find-page')
const { ForwardReader } = require('./forward-reader')
const { HEAD_SIZE, PAGE_SIZE } = require('./layout')
const { scanFor } = require('./read-record')

/**
 * @typedef {import('./checked-store').CheckedStore} CheckedStore
 * @typedef {import('../../range').Range & Pick<import('./record-reader').Wanted, 'onLoss'>} StoreRange
 * @typedef {(err: Error | null, reader?: ForwardReader | BackwardReader) => void} Opened
 */

/**
 * @param {CheckedStore} store
 * @param {StoreRange} range
 * @param {import('../../codec').RecordFilter | null} isWanted
 * @param {Opened} cb
 */
function openReader (store, range, isWanted, cb) {
  const { from, stop, skipsDamage = false, onLoss, isKept, at } = range
  const wanted = { from, stop, isWanted, skipsDamage, onLoss, isKept, provesTogether: true }
  // It may be another file by now.
  if (at === undefined || at + PAGE_SIZE > store.blocks.size.value) return openAtSeq(store, wanted, range.reverse, cb)
  readCut(store, at, (err, seq) => {
    if (err || seq !== from) openAtSeq(store, wanted, false, cb)
    else cb(null, new ForwardReader(store, wanted, at))
  })
}

/**
 * @param {CheckedStore} store
 * @param {import('./record-reader').Wanted} wanted
 * @param {boolean} reverse
 * @param {Opened} cb
 */
function openAtSeq (store, wanted, reverse, cb) {
  const { from, stop, skipsDamage } = wanted
  const bound = reverse ? Math.min(stop, store.logEnd) - 1 : Math.min(from, store.logEnd)
  findPage(store, Math.max(bound, 0), (err, pageStart = 0) => {
    if (err && !skipsDamage) return cb(err)
    // Where damage is in the way of finding the page, all of the log is gone through, from the end that comes first.
    const page = err ? outermostPage(store, reverse) : Math.max(HEAD_SIZE, pageStart)
    if (!reverse) return cb(null, new ForwardReader(store, wanted, store.hasJumps ? store.pageBefore(page) : page))
    checkBound(store, stop, (err) => err ? cb(err) : cb(null, new BackwardReader(store, wanted, page)))
  })
}

/**
 * @param {CheckedStore} store
 * @param {boolean} isLast
 */
function outermostPage ({ end }, isLast) {
  const lastByte = isLast ? Math.max(HEAD_SIZE, end - 1) : HEAD_SIZE
  return lastByte - lastByte % PAGE_SIZE
}

/**
 * @param {CheckedStore} store
 * @param {number} seq  where somebody goes on
 * @param {(err: Error | null) => void} cb  ERR_LOG_SEQ_LOST if what was there was lost
 */
function checkBound (store, seq, cb) {
  if (!store.hasJumps || seq >= store.logEnd) return cb(null)
  findPage(store, seq, (err, pageStart = 0) => {
    if (err) return cb(null)
    scanFor(store, seq, store.pageBefore(pageStart), false, (err) => cb(isOfLoss(err) ? err : null))
  })
}

/**
 * @param {CheckedStore} store
 * @param {number} before  a seq
 * @param {(err: Error | null, seq?: number) => void} cb  of the last record before it that is not deleted; -1 if none
 */
function findLast (store, before, cb) {
  const wanted = { from: 0, stop: before, isWanted: null, skipsDamage: true }
  findPage(store, Math.min(before, store.logEnd) - 1, (err, pageStart = 0) => {
    const reader = new BackwardReader(store, wanted, err ? outermostPage(store, true) : Math.max(HEAD_SIZE, pageStart))
    reader.next(store.logEnd, (err, chunk) => {
      // One that is too large to be looked at is there all the same.
      if (err) return isTooLarge(err) ? cb(null, err.offset) : cb(err)
      cb(null, chunk && chunk.count > 0 ? chunk.seqs[0] : -1)
    })
  })
}

/**
 * @param {CheckedStore} store
 * @param {number} from
 * @param {number} stop
 * @param {(err: Error | null, extent?: import('../../log-file').Extent) => void} cb
 */
function findExtent (store, from, stop, cb) {
  findPage(store, Math.min(from, store.logEnd), (err, page = 0) => {
    if (err) return cb(err)
    const start = Math.max(HEAD_SIZE, page)
    if (stop >= store.logEnd) return cb(null, { start, end: store.end })
    findPage(store, stop, (err, end = 0) => cb(err, { start, end }))
  })
}

/** @param {Error | null} err */
function isOfLoss (err) {
  return err instanceof LogError && err.code === 'ERR_LOG_SEQ_LOST'
}

/**
 * @param {Error} err
 * @returns {err is LogError}
 */
function isTooLarge (err) {
  return err instanceof LogError && err.code === 'ERR_RECORD_TOO_LARGE'
}

exports.openReader = openReader
exports.findLast = findLast
exports.findExtent = findExtent
