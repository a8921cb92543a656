'use strict'
// Reads a source and the log that was made of it, both from the beginning, and compares them.

const { LogError } = require('@millrace/errors')
const { compareToTheEnd } = require('./compare-records')
const { inOrder } = require('./in-order')
const { RecordReader } = require('./record-reader')
const { openSource } = require('./source')

/**
 * @typedef {object} Check
 * @property {ReturnType<typeof openSource>} source  open
 * @property {string} path  of the new log
 * @property {import('@millrace/block-file/lib/storage').Storage} storage
 * @property {import('./record-maker').RecordMaker} maker
 * @property {import('./reporter').Reporter} reporter
 * @property {(oldSeq: number, newSeq: number) => void} [onRecord]  may throw
 */

/**
 * @typedef {object} Checked
 * @property {RecordReader} reader  over the source, at its end
 * @property {number} count  of the records that both have
 * @property {number} leftOut  records of the source that cannot be made
 */

/**
 * @param {Check} check
 * @param {(err: Error | null, checked?: Checked) => void} cb  ERR_NOT_VERIFIED
 */
function checkResult (check, cb) {
  const made = openSource(check.path, { format: 'checked', storage: check.storage })
  const checked = { reader: new RecordReader(check.source.createCursor()), count: 0, leftOut: 0 }
  inOrder([
    (done) => made.ready(done),
    (done) => compare(check, new RecordReader(made.createCursor()), checked, done)
  ], (err) => made.close((/** @type {Error | null} */ closeErr) => cb(err ?? closeErr, checked)))
}

/**
 * @param {Check} check
 * @param {RecordReader} target
 * @param {Checked} checked  is counted up
 * @param {(err: Error | null) => void} done
 */
function compare ({ path, maker, reporter, onRecord = () => {} }, target, checked, done) {
  /** @type {(cb: (err: Error | null) => void) => void} */
  const pause = (cb) => reporter.report('verify', checked.count, checked.reader, cb)
  compareToTheEnd({
    source: checked.reader,
    target,
    isSame: maker.isSame,
    isLeftOut: (bytes, seq) => {
      const isBad = maker.isBad(bytes, seq)
      if (isBad) checked.leftOut++
      return isBad
    },
    onPair: (oldSeq, newSeq) => {
      checked.count++
      onRecord(oldSeq, newSeq)
    },
    pause,
    createError: (what, seq) => new LogError('ERR_NOT_VERIFIED', `convert: ${what}, now that both were read again; see that ` +
      'nothing writes to the source, and begin anew with resume: false', { offset: seq ?? undefined, path })
  }, (err) => err ? done(err) : pause(done))
}

exports.checkResult = checkResult
