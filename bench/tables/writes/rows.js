'use strict'
// The layers, as they are appended to: one batch after the other into a new file, which is then read back.

const { createHash } = require('node:crypto')
const fs = require('node:fs')
const path = require('node:path')
const createBlocks = require('aligned-block-file')
const bipf = require('bipf')
const flumecodec = require('flumecodec')
const createFlumelog = require('flumelog-offset')
const { encode } = require('@millrace/binary-codec')
const { BlockFile } = require('@millrace/block-file')
const { OffsetLog } = require('@millrace/offset-log')
const { DEFAULT_SEED, createMessages } = require('../../lib/messages')
const { call, time } = require('../../lib/measure')
const { CODECS, identity, openRecords } = require('../../lib/readers')

const SIZES = [1, 10, 100, 1000]
// So many messages are appended again and again: a whole number of batches of each size.
const ROUND = 1000
const KIB = 1024

/**
 * An open file.
 * @typedef {object} Target
 * @property {(batch: any) => Promise<unknown> | void} append
 * @property {() => Promise<unknown> | void} close
 */

/**
 * @typedef {object} Side
 * @property {(file: string, row: Layer) => Target | Promise<Target>} open
 * @property {boolean} [isBare]  its file has nothing but the bytes
 *
 * @typedef {object} Layer
 * @property {boolean} [isWhole]  what is appended is the bytes of a batch, in one Buffer
 * @property {'json' | 'binary'} [codec]  encodes the records; without it they are bytes
 * @property {number} [durableMs]  each batch is on the disk before the next one, and no more begin after this time
 * @typedef {import('../../engine/row').Row & Layer} WriteRow
 */

/** Those of flumelog-offset. */
const THEIRS = { json: flumecodec.json, binary: { encode: bipf.allocAndEncode, decode: bipf.decode, buffer: true } }

const oneOrAll = (/** @type {any[]} */ batch) => batch.length === 1 ? batch[0] : batch

/** @type {(blockSize: number, framing?: import('@millrace/offset-log').FramingName) => Side} */
const toLog = (blockSize, framing = 'checked') => ({
  async open (file, { codec, durableMs }) {
    const fsync = durableMs ? 'always' : 'never'
    const log = OffsetLog(file, { codec: codec && /** @type {any} */ (CODECS[codec]), framing, blockSize, fsync })
    await log.ready()
    return { append: (batch) => log.append(oneOrAll(batch)), close: () => log.close() }
  }
})

/**
 * Of packages that take callbacks, and have no close.
 * @type {(create: (file: string, row: Layer) => any) => Side['open']}
 */
const toOpen = (create) => async (file, row) => {
  const opened = create(file, row)
  await new Promise((resolve) => (opened.since ?? opened.offset).once(resolve))
  return { append: (batch) => call((cb) => opened.append(oneOrAll(batch), cb)), close: () => {} }
}

const flumelog = {
  open: toOpen((file, { codec }) => {
    return createFlumelog(file, { blockSize: 64 * KIB, codec: codec ? THEIRS[codec] : identity })
  })
}

/** @type {(codec: Layer['codec'], value: any) => Buffer} */
function toBytes (codec, value) {
  return codec === 'json' ? Buffer.from(JSON.stringify(value)) : codec === 'binary' ? encode(value) : value
}

/** The least work: the same bytes, without frames. @type {Side} */
const write = {
  isBare: true,
  open (file, { codec, durableMs }) {
    const fd = fs.openSync(file, 'a')
    return {
      append (batch) {
        const bytes = Array.isArray(batch) ? Buffer.concat(batch.map((value) => toBytes(codec, value))) : batch
        for (let done = 0; done < bytes.length;) done += fs.writeSync(fd, bytes, done)
        if (durableMs) fs.fdatasyncSync(fd)
      },
      close: () => fs.closeSync(fd)
    }
  }
}

const logs = {
  millrace: toLog(64 * KIB), 'millrace-4k': toLog(4 * KIB), offset32: toLog(64 * KIB, 'offset32'), write, flumelog
}

/** @type {(blockSize: number) => Side} */
const toFile = (blockSize) => ({
  isBare: true,
  async open (path) {
    const file = BlockFile(path, { blockSize })
    await call((cb) => file.ready(cb))
    return { append: (bytes) => call((cb) => file.append(bytes, cb)), close: () => call((cb) => file.close(cb)) }
  }
})

const alignedFile = { isBare: true, open: toOpen((file) => createBlocks(file, 64 * KIB, 'a+')) }
const files = { millrace: toFile(64 * KIB), 'millrace-4k': toFile(4 * KIB), write, flumelog: alignedFile }

/** In the child. @type {(order: any) => Promise<import('../../engine/row').Reading>} */
async function measureAppends ({ row, side, at, setting, folder }) {
  const { next } = createMessages(DEFAULT_SEED)
  const values = Array.from({ length: ROUND }, next)
  const records = row.codec ? values : values.map((value) => toBytes('binary', value))
  const batches = Array.from({ length: ROUND / at }, (_, index) => {
    const batch = records.slice(index * at, (index + 1) * at)
    return row.isWhole ? Buffer.concat(/** @type {Buffer[]} */ (batch)) : batch
  })
  const most = Math.ceil(setting.records / ROUND) * batches.length
  const file = path.join(folder, 'log')
  const { append, close } = await side.open(file, row)
  let count = 0
  const ms = await time(async () => {
    const end = performance.now() + (row.durableMs ?? Infinity)
    do {
      const answer = append(batches[count % batches.length])
      if (answer) await answer
    } while (++count < most && performance.now() < end)
  })
  await close()
  const { digest, ...found } = await readBack(file, row, side)
  const appended = { records: count * at, bytes: countBytes(row, values, count * at) }
  if (found.bytes !== appended.bytes || (found.records ?? appended.records) !== appended.records) {
    throw new Error(`${appended.records} records of ${appended.bytes} bytes were appended, and ${found.records ?? 'some'} of ${found.bytes} are in the file`)
  }
  // How many durable ones there are is a matter of time.
  return { figures: { us: 1000 * ms / appended.records, ...appended }, answers: row.durableMs ? {} : { '': { ...appended, digest } } }
}

/** @type {(row: Layer, values: any[], count: number) => number} of the records, which come again and again */
function countBytes ({ codec }, values, count) {
  const sizes = values.map((value) => toBytes(codec ?? 'binary', value).length)
  return Array.from({ length: count }, (_, index) => sizes[index % sizes.length]).reduce((sum, size) => sum + size, 0)
}

/** @type {(file: string, row: Layer, side: Side) => Promise<{ records?: number, bytes: number, digest: string }>} */
async function readBack (file, { codec }, { isBare }) {
  const sha = createHash('sha256')
  if (isBare) {
    const bytes = fs.readFileSync(file)
    return { bytes: bytes.length, digest: sha.update(bytes).digest('hex') }
  }
  let [records, bytes] = [0, 0]
  const { run, close } = await openRecords(file, { codec })
  await run((_, buf, start, end) => {
    records++
    bytes += end - start
    sha.update(buf.subarray(start, end))
  })
  await close()
  return { records, bytes, digest: sha.digest('hex') }
}

/** @type {(name: string, what: string, peers: Record<string, Side>, more?: Partial<WriteRow>) => WriteRow} */
function toRow (name, what, peers, more) {
  return {
    name,
    what,
    peers,
    at: SIZES,
    figures: [{ figure: 'us', unit: 'us' }],
    prepare: ({ options }) => ({ records: options.records }),
    measure: measureAppends,
    ...more
  }
}

/** @type {WriteRow[]} */
exports.parts = [
  toRow('bytes', 'bytes of a batch to the end of a file', files, { isWhole: true }),
  toRow('frames', 'records, each a Buffer, to a log', logs),
  toRow('json', 'values, encoded as JSON', { ...logs, lines: toLog(64 * KIB, 'lines') }, { codec: 'json' }),
  toRow('binary', 'values, in the binary format', logs, { codec: 'binary' }),
  toRow('durable', 'records, each batch synced', logs, { durableMs: 1500, cannot: { flumelog: 'never syncs' } })
]
exports.SIZES = SIZES
exports.ROUND = ROUND
