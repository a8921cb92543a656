'use strict'
// What can be wrong with a chunk, or with the bytes between chunks: a code for each fault, words for people, and
// errors.

const { LogError } = require('@millrace/errors')

/**
 * @typedef {keyof typeof FAULTS} Fault
 * @typedef {{ start: number, end: number, fault: Fault }} Damage  a damaged range of the file
 */

const FAULTS = Object.freeze({
  HEADER: 'its header',
  SIZE: 'its size',
  FLAGS: 'its flags',
  ERASED_COUNT: 'its number of erased records',
  PLACE: 'its place',
  DURABLE: 'its durable position',
  DATA: 'its data',
  LINK: 'its link to the chunk before',
  NEXT_LINK: 'the link to the chunk after it',
  EPOCH: 'its epoch',
  POSITION: 'its position',
  CHECKPOINT: 'its place at the last checkpoint',
  FILLER: 'the zeros at a page\'s end',
  PIECE: 'its part of a record',
  LENGTH: 'the length of a record',
  BATCH: 'the end of its last batch',
  ABSENT: 'all of it: it is missing',
  CUT_OFF: 'all of it, since the file ends before,',
  HOLE: 'what was written there is lost, zeros are in its place: that',
  PROMISED_HOLE: 'what was on stable storage there is lost, zeros are in its place: that',
  SUMS: 'its checksum, in the file beside it,'
})

/** What is wrong with a damaged range, in words. @param {Damage} damage */
function describeFault ({ fault }) {
  return FAULTS[fault]
}

/** The error for a damaged range. @type {(damage: Damage, path: string) => LogError} */
function damageError (damage, path) {
  const { start, end, fault } = damage
  const orAccept = fault === 'SUMS' ? '. If a program changed the text on purpose, millrace repair --accept takes it as it is' : ''
  return new LogError('ERR_LOG_CORRUPT', `${path} is damaged from ${start} to ${end}: ${describeFault(damage)} is wrong. Keep a ` +
    `copy of the file; onCorrupt: "skip" reads the records after it${orAccept}`, { offset: start, path })
}

/**
 * The error for a record that is larger than `maxRecordSize`.
 * @type {(seq: number, size: number, maxRecordSize: number) => LogError}
 */
function tooLargeToRead (seq, size, maxRecordSize) {
  return new LogError('ERR_RECORD_TOO_LARGE', `the record at ${seq} has ${size} bytes, more than maxRecordSize, ` +
    `${maxRecordSize}; open the log with a larger one`, { offset: seq })
}

exports.describeFault = describeFault
exports.damageError = damageError
exports.tooLargeToRead = tooLargeToRead
