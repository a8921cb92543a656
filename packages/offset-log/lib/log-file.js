'use strict'
// What the parts of one open log share.

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
 * @property {import('@millrace/block-file').Lifecycle} lifecycle
 * @property {Set<import('./stream').RecordStream>} waitingStreams  live streams that wait for the next append
 */

module.exports = {}
