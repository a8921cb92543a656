'use strict'
// The bytes of a workload's records, from their numbers alone.

const { createRandom } = require('@millrace/testkit')

// Fewer bytes may be found by chance.
const WINDOW_SIZE = 16
const WINDOW_DISTANCE = 400

/**
 * @typedef {[id: number, size: number, kind: 'random' | 'zeros' | 'ones' | 'log']} RecordPlan  `log`: bytes of the log
 *   itself, as they are when the record is appended
 */

/**
 * @param {number} salt  of the workload
 * @param {RecordPlan} plan
 * @param {() => Buffer} readLog
 * @returns {Buffer}
 */
function makeRecord (salt, [id, size, kind], readLog) {
  if (kind === 'zeros') return Buffer.alloc(size)
  if (kind === 'ones') return Buffer.alloc(size, 0xff)
  if (kind === 'log') return copyOfLog(readLog(), id, size)
  const bytes = Buffer.allocUnsafe(size)
  const random = createRandom(salt * 1000 + id)
  let offset = 0
  for (; offset + 4 <= size; offset += 4) bytes.writeUInt32LE(random(2 ** 32), offset)
  for (; offset < size; offset++) bytes[offset] = random(256)
  return bytes
}

/**
 * @param {Buffer} log
 * @param {number} id
 * @param {number} size
 * @returns {Buffer}  from where a chunk is likely to begin
 */
function copyOfLog (log, id, size) {
  const begins = [0, 32 * 1024, 48 * 1024, Math.max(0, log.length - size)]
  return Buffer.concat([log.subarray(begins[id % begins.length])], size)
}

/**
 * @param {Buffer} bytes  of a random record
 * @returns {Buffer[]}  pieces that are found wherever the record is, even where it is split
 */
function windowsOf (bytes) {
  const windows = []
  for (let start = 0; start + WINDOW_SIZE <= bytes.length; start += WINDOW_DISTANCE) {
    windows.push(bytes.subarray(start, start + WINDOW_SIZE))
  }
  return windows
}

exports.makeRecord = makeRecord
exports.windowsOf = windowsOf
