'use strict'
// Goes through the records of a file that offset-log reads.

const { LogError } = require('@millrace/errors')
const { trampoline } = require('@millrace/flow')
const { countFrames } = require('./count-frames')
const { Losses } = require('./losses')

const RECORD_COUNT_MAX = 1000
const BATCH_SIZE_MAX = 1024 * 1024

/**
 * @typedef {import('./block-cursor').Cursor} Cursor
 * @typedef {import('./block-cursor').Batch} Batch
 * @typedef {ReturnType<typeof import('@millrace/offset-log').OffsetLog>} Log
 */

/**
 * @typedef {object} LogParts
 * @property {Log} log  open, without a codec
 * @property {number} end  where its records end
 * @property {boolean} skipsDamage
 * @property {ReturnType<typeof import('@millrace/block-file').BlockFile> | null} blocks  the same file
 * @property {number | null} overhead  what a frame takes beside its data, in bytes; null where that differs
 */

/** @implements {Cursor} */
class LogCursor {
  /** @param {LogParts} parts */
  constructor ({ log, end, skipsDamage, blocks, overhead }) {
    this._log = log
    this.total = end
    this._skipsDamage = skipsDamage
    this._blocks = blocks
    this._overhead = overhead
    this._source = log.stream(skipsDamage && log.supports.onCorrupt ? { onCorrupt: 'skip' } : {})
    /** @type {Error | null} */
    this._error = null
    this.position = 0
    /** @type {number | null} */
    this.deleted = overhead === null ? null : 0
    this.lost = new Losses()
    const { recovery } = log
    this.torn = recovery && recovery.size > 0 && recovery.damage.length === 0
      ? { offset: recovery.offset, size: recovery.size }
      : null
  }

  /** @param {(err: Error | null, batch?: Batch) => void} cb */
  next (cb) {
    if (this._error) return cb(this._error)
    /** @type {Batch} */
    const batch = { seqs: [], records: [], isEnd: false }
    let size = 0
    trampoline((again) => {
      this._source(null, (end, item) => {
        if (end) return this._finish(end, batch, cb)
        this._countUpTo(item.seq, item.value.length, (err) => {
          if (err) return cb(err)
          batch.seqs.push(item.seq)
          batch.records.push(item.value)
          size += item.value.length
          if (batch.records.length < RECORD_COUNT_MAX && size < BATCH_SIZE_MAX) again()
          else cb(null, batch)
        })
      })
    })
  }

  /** @param {() => void} cb */
  close (cb) {
    this._source(true, () => cb())
  }

  /**
   * Damage comes after the records before it.
   * @param {Error | true} end
   * @param {Batch} batch
   * @param {(err: Error | null, batch?: Batch) => void} cb
   */
  _finish (end, batch, cb) {
    if (end === true) {
      const { count, size } = this._source.lost
      Object.assign(this.lost, { count, size })
      return this._countUpTo(this.total, 0, (err) => err ? cb(err) : cb(null, { ...batch, isEnd: true }))
    }
    if (this._skipsDamage && end instanceof LogError && end.code === 'ERR_LOG_CORRUPT') {
      // The offset framings have nothing behind damage at which reading could begin again.
      const offset = end.offset ?? this.position
      this.lost.add(end.message, offset, Math.max(0, (this._blocks?.size.value ?? this.total) - offset))
      return cb(null, { ...batch, isEnd: true })
    }
    this._error = end
    if (batch.records.length === 0) cb(end)
    else cb(null, batch)
  }

  /**
   * Frames that the log has passed over are deleted records.
   * @param {number} seq  of the next frame
   * @param {number} size  of its data
   * @param {(err: Error | null) => void} cb
   */
  _countUpTo (seq, size, cb) {
    const { _blocks: blocks, _overhead: overhead } = this
    const start = this.position
    this.position = seq + size + (overhead ?? 0)
    if (blocks === null || overhead === null || this.deleted === null || start >= seq) return cb(null)
    countFrames(blocks, start, seq, overhead, (err, count = 0) => {
      this.deleted = (this.deleted ?? 0) + count
      cb(err)
    })
  }
}

exports.LogCursor = LogCursor
