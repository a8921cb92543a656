'use strict'
// What a process that will be killed tells its parent: messages of one size, so that the last one is whole or left out.

/** A message: its kind, an index (u32 each), a seq (f64). */
const MESSAGE_SIZE = 16
/**
 * OPENED has the bytes that recovery cut, and `since`. APPENDED has the commit's number and its last seq.
 * A delete has a number of its own, and a DELETING for each of its seqs: until DELETED it may have happened or not.
 */
const KINDS = { OPENING: 1, OPENED: 2, APPENDED: 3, DELETING: 4, DELETED: 5, CLOSED: 6 }

/** @typedef {{ kind: number, index: number, seq: number }} Message */

/**
 * @param {Message} message
 * @returns {Buffer}
 */
function formatMessage ({ kind, index, seq }) {
  const bytes = Buffer.allocUnsafe(MESSAGE_SIZE)
  bytes.writeUInt32BE(kind, 0)
  bytes.writeUInt32BE(index, 4)
  bytes.writeDoubleBE(seq, 8)
  return bytes
}

/**
 * @param {Buffer} bytes  whole messages, and perhaps the first bytes of one more
 * @returns {Iterable<Message>}
 */
function * parseMessages (bytes) {
  for (let offset = 0; offset + MESSAGE_SIZE <= bytes.length; offset += MESSAGE_SIZE) {
    const kind = bytes.readUInt32BE(offset)
    yield { kind, index: bytes.readUInt32BE(offset + 4), seq: bytes.readDoubleBE(offset + 8) }
  }
}

exports.KINDS = KINDS
exports.formatMessage = formatMessage
exports.parseMessages = parseMessages
