'use strict'
// Goes through a source and what was made of it, side by side.

const { trampoline } = require('@millrace/flow')

/**
 * @typedef {import('./record-reader').RecordReader} RecordReader
 * @typedef {(err: Error | null) => void} Done
 */

/**
 * @typedef {object} Comparison
 * @property {RecordReader} source
 * @property {RecordReader} target
 * @property {(bytes: Buffer, targetBytes: Buffer) => boolean} isSame
 * @property {(bytes: Buffer, seq: number) => boolean} isLeftOut  whether a record of the source has no counterpart; may
 *   throw
 * @property {(oldSeq: number, newSeq: number) => void} onPair  may throw
 * @property {(cb: Done) => void} pause  runs once a batch; an error ends all
 * @property {(what: string, seq: number | null) => Error} createError
 */

/**
 * @param {Comparison} comparison
 * @param {Done} cb  the target has ended, and all of it is in the source; what the source has behind was not looked at
 */
function compareRecords (comparison, cb) {
  const { source, target, pause, createError } = comparison
  trampoline((next) => {
    target.fill((err) => {
      if (err || target.isEnd) return cb(err)
      source.fill((err) => {
        if (err) return cb(err)
        if (source.isEnd) return cb(createError(`the new log has a record at ${target.seq} that the source has not`, null))
        try {
          comparePairs(comparison)
        } catch (err) {
          return cb(/** @type {Error} */ (err))
        }
        pause((err) => err ? cb(err) : next())
      })
    })
  })
}

/** @param {Comparison} comparison */
function comparePairs ({ source, target, isSame, isLeftOut, onPair, createError }) {
  while (source.hasRecord && target.hasRecord) {
    if (isSame(source.bytes, target.bytes)) {
      onPair(source.seq, target.seq)
      target.advance()
    } else if (!isLeftOut(source.bytes, source.seq)) {
      throw createError(`the record at ${source.seq} is not what the new log has at ${target.seq}`, source.seq)
    }
    source.advance()
  }
}

/**
 * @param {Comparison} comparison
 * @param {Done} cb  both have ended
 */
function compareToTheEnd (comparison, cb) {
  const { source, isLeftOut, createError } = comparison
  compareRecords(comparison, (err) => {
    if (err) return cb(err)
    trampoline((next) => {
      source.fill((err) => {
        if (err || source.isEnd) return cb(err)
        for (; source.hasRecord; source.advance()) {
          if (isLeftOut(source.bytes, source.seq)) continue
          return cb(createError(`the record at ${source.seq} is not in the new log`, source.seq))
        }
        next()
      })
    })
  })
}

exports.compareRecords = compareRecords
exports.compareToTheEnd = compareToTheEnd
