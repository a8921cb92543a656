'use strict'
// Compares a source with the log that was made of it, record by record: when a conversion goes on, and at its end.

const { LogError } = require('@millrace/errors')
const { RecordReader } = require('./cursors')
const { closing } = require('./files')
const { openSource } = require('./source')

/**
 * @typedef {object} Comparison
 * @property {RecordReader} source
 * @property {RecordReader} target
 * @property {(bytes: Buffer, targetBytes: Buffer) => boolean} isSame
 * @property {(bytes: Buffer, seq: number) => boolean} isLeftOut  whether a record of the source has no counterpart; may
 *   throw
 * @property {(oldSeq: number, newSeq: number) => void} onPair  may throw
 * @property {() => void} onBatch  may throw
 * @property {(what: string, seq: number | null) => Error} createError
 */

/**
 * Ends when the target does, and all of it is in the source. What follows in the source is not looked at.
 * @param {Comparison} comparison
 */
async function compareRecords (comparison) {
  const { source, target, onBatch, createError } = comparison
  for (await target.fill(); !target.isEnd; await target.fill()) {
    await source.fill()
    if (source.isEnd) throw createError(`the new log has a record at ${target.seq} that the source has not`, null)
    comparePairs(comparison)
    onBatch()
  }
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
 * @typedef {object} Check
 * @property {ReturnType<typeof openSource>} source  open
 * @property {string} path  of the new log
 * @property {import('@millrace/block-file').Storage} storage
 * @property {import('./transcoder').RecordMaker} maker
 * @property {import('./convert').ProgressReporter} progress
 * @property {(oldSeq: number, newSeq: number) => void} [onRecord]  may throw
 */

/**
 * @typedef {object} Checked
 * @property {RecordReader} reader  over the source, at its end
 * @property {number} count  of the records that both have
 * @property {number} leftOut  records of the source that cannot be made
 */

/**
 * Reads both from the beginning to the end.
 * @param {Check} check
 * @returns {Promise<Checked>}
 * @throws ERR_NOT_VERIFIED
 */
async function checkResult ({ source, path, storage, maker, progress, onRecord = () => {} }) {
  const checked = { reader: new RecordReader(source.createCursor()), count: 0, leftOut: 0 }
  const report = () => progress.report('verify', checked.count, checked.reader)
  /** @type {Comparison['isLeftOut']} */
  const isLeftOut = (bytes, seq) => {
    const isBad = maker.isBad(bytes, seq)
    if (isBad) checked.leftOut++
    return isBad
  }
  /** @type {Comparison['onPair']} */
  const onPair = (oldSeq, newSeq) => {
    checked.count++
    onRecord(oldSeq, newSeq)
  }
  /** @type {Comparison['createError']} */
  const createError = (what, seq) => new LogError('ERR_NOT_VERIFIED', `convert: ${what}, now that both were read again; see that ` +
    'nothing writes to the source, and begin anew with resume: false', { offset: seq ?? undefined, path })

  const made = openSource(path, { format: 'checked', storage })
  await closing(made, async () => {
    await made.ready()
    await compareRecords({
      source: checked.reader,
      target: new RecordReader(made.createCursor()),
      isSame: maker.isSame,
      isLeftOut,
      onPair,
      onBatch: report,
      createError
    })
    await checkRest(checked.reader, isLeftOut, createError)
  })
  report()
  return checked
}

/**
 * @param {RecordReader} source  behind the last record that the new log has
 * @param {Comparison['isLeftOut']} isLeftOut
 * @param {Comparison['createError']} createError
 */
async function checkRest (source, isLeftOut, createError) {
  for (await source.fill(); !source.isEnd; await source.fill()) {
    if (!isLeftOut(source.bytes, source.seq)) throw createError(`the record at ${source.seq} is not in the new log`, source.seq)
    source.advance()
  }
}

exports.checkResult = checkResult
exports.compareRecords = compareRecords
