'use strict'
// Turns messages into logs: JSON as it came, and the same values in binary, record for record.

const { OffsetLog } = require('@millrace/offset-log')
const { jsonCodec } = require('@millrace/json-codec')
const { binaryCodec, rawCodec } = require('@millrace/binary-codec')

const BLOCK_SIZE = 65536
const BATCH_SIZE = 1000

/** The query when no record can answer it. */
const NO_ANSWER = '%nothing-has-this-root.sha256'

/**
 * @typedef {object} Written
 * @property {number} records
 * @property {string} query  what `value.content.root` is compared with
 * @property {number} hits  how many records answer it
 */

/**
 * @param {{ next: () => unknown, query: string }} messages
 * @param {number} count
 * @param {{ json: string, binary: string }} files  new ones
 * @param {import('./run').Progress} progress
 * @returns {Promise<Written>}
 */
async function writeGenerated ({ next, query }, count, files, progress) {
  const roots = new Map()
  const json = openLog(files.json, jsonCodec, 'offset32')
  const binary = openLog(files.binary, binaryCodec, 'offset32')
  for (let done = 0; done < count;) {
    const batch = Array.from({ length: Math.min(BATCH_SIZE, count - done) }, next)
    countRoots(batch, roots)
    await Promise.all([json.append(batch), binary.append(batch)])
    progress.update(done += batch.length)
  }
  await Promise.all([json.close(), binary.close()])
  return { records: count, query, hits: roots.get(query) ?? 0 }
}

/**
 * Re-encodes a log of JSON. The query asks for the root that most of its records have.
 * @param {string} from
 * @param {string} to  a new file
 * @param {import('./run').Progress} progress  counts bytes
 * @returns {Promise<Written>}
 */
async function writeBinary (from, to, progress) {
  /** @type {Map<string, number>} */
  const roots = new Map()
  let records = 0
  const source = openLog(from, jsonCodec, undefined, 'r')
  const binary = openLog(to, binaryCodec, 'offset32')
  try {
    for await (const batch of batches(source)) {
      const values = batch.map(({ value }) => value)
      countRoots(values, roots)
      await binary.append(values)
      records += values.length
      progress.update(batch[0].seq)
    }
  } finally {
    await Promise.all([source.close(), binary.close()])
  }
  const [query, hits] = mostFrequent(roots)
  return { records, query, hits }
}

/**
 * The same records in another framing.
 * @param {string} from
 * @param {string} to  a new file
 * @param {import('@millrace/offset-log').FramingName} framing
 * @param {import('./run').Progress} progress  counts bytes
 */
async function copyLog (from, to, framing, progress) {
  const source = openLog(from, rawCodec, undefined, 'r')
  // A codec without a name: the copy may be opened with any, as its records need.
  const target = openLog(to, { ...rawCodec, name: undefined }, framing)
  for await (const batch of batches(source)) {
    await target.append(batch.map(({ value }) => value))
    progress.update(batch[0].seq)
  }
  await Promise.all([source.close(), target.close()])
}

/**
 * @param {string} file
 * @param {any} codec
 * @param {import('@millrace/offset-log').FramingName} [framing]  of a new file; that of an old one is seen by its bytes
 * @param {'r' | 'r+'} [flags]
 */
function openLog (file, codec, framing, flags) {
  // Closing syncs, and a log that was not closed is not used.
  return OffsetLog(file, { codec, framing, flags, blockSize: BLOCK_SIZE, fsync: 'never' })
}

/** @param {any} log */
async function * batches (log) {
  /** @type {Array<{ seq: number, value: any }>} */
  let batch = []
  for await (const item of log.stream()) {
    if (batch.push(item) < BATCH_SIZE) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}

/**
 * @param {any[]} values
 * @param {Map<string, number>} roots
 */
function countRoots (values, roots) {
  for (const value of values) {
    const root = value?.value?.content?.root
    if (typeof root === 'string') roots.set(root, (roots.get(root) ?? 0) + 1)
  }
}

/**
 * @param {Map<string, number>} counts
 * @returns {[string, number]}  among equals the one that sorts first, so that every run asks the same
 */
function mostFrequent (counts) {
  /** @type {[string, number]} */
  let best = [NO_ANSWER, 0]
  for (const [root, count] of counts) {
    if (count > best[1] || (count === best[1] && root < best[0])) best = [root, count]
  }
  return best
}

exports.writeGenerated = writeGenerated
exports.writeBinary = writeBinary
exports.copyLog = copyLog
