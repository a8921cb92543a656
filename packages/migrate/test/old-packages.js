'use strict'
// Writes files with the three packages whose formats are read here, as their users did.

const { setTimeout: sleep } = require('node:timers/promises')
const { promisify } = require('node:util')
const AppendOnlyLog = require('async-append-only-log')
const bipf = require('bipf')
const codecs = require('flumecodec')
const AlignedOffset = require('flumelog-aligned-offset')
const FlumelogOffset = require('flumelog-offset')

/** bipf, as a codec of these packages. */
const bipfCodec = {
  name: 'bipf',
  buffer: true,
  encode: (value) => {
    const buf = Buffer.alloc(bipf.encodingLength(value))
    bipf.encode(value, buf, 0)
    return buf
  },
  decode: (buf) => bipf.decode(buf, 0)
}

/**
 * @typedef {object} Wish
 * @property {object} [codec]  bytes by default
 * @property {number[]} [deleted]  indexes of the values to delete, in this order
 * @property {number} [blockSize]
 */

/** @param {32 | 48 | 53} bits */
function writeOffset (bits) {
  return async (file, values, { codec, deleted = [] } = {}) => {
    const log = FlumelogOffset(file, { offsetCodec: bits, codec, blockSize: 64 * 1024 })
    const seqs = []
    for (const value of values) seqs.push(await promisify(log.append)(value))
    await promisify(log.del)(deleted.map((index) => seqs[index]))
    return seqs
  }
}

/** @returns {Promise<number[]>}  the seqs: what its append gave, except where a record went into the next block */
async function writeAligned (file, values, { codec, deleted = [], blockSize = 64 * 1024 } = {}) {
  const log = AlignedOffset(file, { codec, block: blockSize })
  await new Promise((resolve) => log.onReady(resolve))
  const { appendState } = log
  const append = promisify((value, cb) => log.append(value, false, cb))
  const seqs = []
  for (const value of values) {
    const seq = await append(value)
    const blockStart = appendState.offset - appendState.offset % blockSize
    seqs.push(appendState.offset === blockStart ? seq : Math.max(seq, blockStart))
  }
  // Its onDrain calls back when the next block has been written, not the last one.
  while (appendState.written < appendState.offset) await promisify(log.onDrain)()
  for (const index of deleted) await promisify(log.del)(seqs[index])
  await new Promise((resolve) => log.close(resolve))
  return seqs
}

/** @returns {Promise<number[]>}  the seqs; those before a compaction */
async function writeAppendOnly (file, values, { codec, deleted = [], blockSize = 64 * 1024, compact = false } = {}) {
  const log = AppendOnlyLog(file, { codec, blockSize, writeTimeout: 1 })
  const seqs = []
  for (const value of values) seqs.push(await promisify(log.append)(value))
  await promisify(log.onDrain)()
  for (const index of deleted) await promisify(log.del)(seqs[index])
  await promisify(log.onDeletesFlushed)()
  if (compact) {
    await promisify(log.compact)()
    while (!log.compactionProgress.value.done) await sleep(1)
  }
  await promisify(log.close)()
  return seqs
}

exports.bipfCodec = bipfCodec
exports.flumeJson = codecs.json
exports.writers = {
  offset32: writeOffset(32),
  offset48: writeOffset(48),
  offset53: writeOffset(53),
  'flumelog-aligned-offset': writeAligned,
  'async-append-only-log': writeAppendOnly
}
