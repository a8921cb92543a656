'use strict'
// Which records of a checked log are deleted. An index notes those that its files lack: an older copy of the log has
// them.

const { promisesOf, toPromise } = require('@millrace/flow')
const { FRAME_TYPES, HEAD_SIZE } = require('@millrace/framing')
const { findPage, findRecord } = require('./checked-record')
const { ForwardReader } = require('./checked-reader')

/** @typedef {import('../checked-store').CheckedStore} CheckedStore */

/** Reads records as any reader, and notes those that it passes because they are deleted. */
class ErasedReader extends ForwardReader {
  #begin
  /** @type {Set<number>} */
  erased = new Set()

  /** @param {ConstructorParameters<typeof ForwardReader>} args */
  constructor (...args) {
    super(...args)
    this.#begin = this._from
  }

  /** @param {number} limit */
  _passFrame (limit) {
    const { _cursor: { at, position, window }, _stop: stop } = this
    const isErased = window.view.getUint32(at - window.start) >>> 30 === FRAME_TYPES.ERASED
    if (isErased && position >= this.#begin && position < stop) this.erased.add(position)
    return super._passFrame(limit)
  }
}

/**
 * @param {CheckedStore} store
 * @param {{ from: number, to: number }} range
 * @returns {Promise<number[]>}  seqs, ascending
 */
async function findErased (store, { from, to }) {
  const found = Math.max(HEAD_SIZE, await toPromise((cb) => findPage(store, from, cb)))
  const page = store.hasSkippedSeqs ? store.pageBefore(found) : found
  const reader = new ErasedReader(store, { from, stop: to, skipsDamage: false }, page)
  while ((await promisesOf(reader).next(store.logEnd)).count > 0);
  return [...reader.erased].sort((a, b) => a - b)
}

/**
 * @param {CheckedStore} store
 * @param {number} seq
 * @returns {Promise<boolean>}  whether no record can be read there, for certain
 */
async function isErased (store, seq) {
  try {
    return (await toPromise((cb) => findRecord(store, seq, 'get', cb))).type !== FRAME_TYPES.RECORD
  } catch (/** @type {any} */ err) {
    if (err.code === 'ERR_RECORD_NOT_FOUND') return true
    if (['ERR_LOG_SEQ_LOST', 'ERR_LOG_CORRUPT'].includes(err.code)) return false
    throw err
  }
}

exports.findErased = findErased
exports.isErased = isErased
