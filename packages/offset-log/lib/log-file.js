'use strict'
// What the parts of one open log share.

const { LogError } = require('@millrace/errors')

/**
 * @typedef {ReturnType<typeof import('@millrace/block-file').BlockFile>} BlockFile
 * @typedef {import('./framing/offset-framing').OffsetFraming} OffsetFraming
 * @typedef {import('./codec').RecordCodec} RecordCodec
 */

/**
 * @typedef {object} LogFile
 * @property {BlockFile} blocks
 * @property {OffsetFraming} framing
 * @property {RecordCodec} codec
 * @property {number} maxRecordSize  in bytes
 * @property {number} end  position after the last frame: where the next one will begin
 * @property {import('obz').Obz<number>} since
 * @property {Set<import('./stream').RecordStream>} waitingStreams  live streams that wait for the next append
 */

/**
 * @param {LogFile} file
 * @param {number} seq
 * @param {number} size
 */
function tooLarge ({ maxRecordSize }, seq, size) {
  return new LogError('ERR_RECORD_TOO_LARGE', `the record at ${seq} has ${size} bytes, more than maxRecordSize, ` +
    `${maxRecordSize}; open the log with a larger one`, { offset: seq })
}

exports.tooLarge = tooLarge
