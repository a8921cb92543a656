'use strict'
// The ways to read a log that are timed: each layer of Millrace as a user calls it, and the packages that it succeeds
// as their documentation shows them. The framing of the file makes no difference to the calls.

const fs = require('node:fs')
const createBlocks = require('aligned-block-file')
const bipf = require('bipf')
const createFlumelog = require('flumelog-offset')
const pull = require('pull-stream')
const { binaryCodec } = require('@millrace/binary-codec')
const { BlockFile } = require('@millrace/block-file')
const { jsonCodec } = require('@millrace/json-codec')
const { OffsetLog } = require('@millrace/offset-log')
const { call, eachRange } = require('./pipeline')

/**
 * An open log: the part that is timed, and the part that is not.
 * @template Visit
 * @typedef {object} Reader
 * @property {(visit: Visit) => Promise<void>} run  reads everything, start to end; this is what the clock sees
 * @property {() => Promise<void>} close
 */

/**
 * Bytes start..end of `buf`, found at `seq`. They are borrowed: only valid until the call returns.
 * @typedef {(seq: number, buf: Uint8Array, start: number, end: number) => void} VisitBytes
 * @typedef {(seq: number, value: unknown) => void} VisitValue
 */

/** @typedef {import('@millrace/offset-log').RecordRun} RecordRun */
/** @typedef {keyof typeof CODECS} CodecName */
/** @typedef {{ blockSize?: number, codec?: CodecName, where?: import('@millrace/where').Where }} ReadOptions */

const BLOCK_SIZE = 64 * 1024
const SECTION_SIZE = 1024
const CODECS = { json: jsonCodec, binary: binaryCodec }

/**
 * @param {string} path
 * @param {ReadOptions} [options]
 * @returns {Promise<Reader<VisitBytes>>}  of every block, in order; the last one may be shorter
 */
async function openBlocks (path, options) {
  const file = await openFile(path, options)
  return {
    run: (visit) => call((cb) => file.scan({}, (block, position) => visit(position, block, 0, block.length), cb)),
    close: () => call((cb) => file.close(cb))
  }
}

/**
 * @param {string} path
 * @param {ReadOptions} [options]
 * @returns {Promise<Reader<VisitBytes>>}  of every section of 1 KiB, each asked for by itself, through the block cache
 */
async function openSections (path, options) {
  const file = await openFile(path, options)
  const range = { size: Number(file.size.value), step: SECTION_SIZE }
  return { run: (visit) => eachRange(range, file.read.bind(file), visit), close: () => call((cb) => file.close(cb)) }
}

/**
 * @param {string} path
 * @param {ReadOptions} [options]
 */
async function openFile (path, { blockSize = BLOCK_SIZE } = {}) {
  const file = BlockFile(path, { blockSize, flags: 'r' })
  await call((cb) => file.ready(cb))
  return file
}

/**
 * @param {string} path
 * @param {ReadOptions} [options]  `where` leaves out records
 * @returns {Promise<Reader<VisitBytes> & { log: any }>}  of the bytes of records, by `scan`
 */
async function openRecords (path, { where, ...options } = {}) {
  const log = await openLog(path, options)
  return {
    log,
    run: (visit) => scanRecords(log, { where }, visit),
    close: async () => { await log.close() }
  }
}

/**
 * @param {any} log
 * @param {object} options  of the scan
 * @param {VisitBytes} visit
 * @returns {Promise<void>}
 */
function scanRecords (log, options, visit) {
  return log.scan(options, (/** @type {RecordRun} */ { buffer, count, seqs, starts, ends }) => {
    for (let index = 0; index < count; index++) visit(seqs[index], buffer, starts[index], ends[index])
  })
}

/**
 * @template Item
 * @param {string} path
 * @param {(seq: number, buf: Uint8Array, start: number, end: number) => Item} toItem  of borrowed bytes
 * @returns {Promise<Item[]>}  of all records
 */
async function listRecords (path, toItem) {
  /** @type {Item[]} */
  const items = []
  const { run, close } = await openRecords(path)
  await run((seq, buf, start, end) => { items.push(toItem(seq, buf, start, end)) })
  await close()
  return items
}

/**
 * The records of a log already in memory, for peers that need no log.
 * @typedef {object} Loaded
 * @property {Buffer} bytes  of the whole file
 * @property {number[]} seqs
 * @property {Uint32Array} starts  of the records, in `bytes`
 * @property {Uint32Array} ends
 */

/**
 * @param {string} path  of a log in an offset framing: its records are whole in the file
 * @param {number} [recordsMax]
 * @returns {Promise<Loaded>}
 */
async function loadRecords (path, recordsMax = Infinity) {
  // The frame begins with a length of four bytes, at its seq.
  const all = await listRecords(path, (seq, buf, start, end) => ({ seq, start: seq + 4, end: seq + 4 + end - start }))
  const some = all.slice(0, recordsMax)
  return {
    bytes: fs.readFileSync(path),
    seqs: some.map(({ seq }) => seq),
    starts: Uint32Array.from(some, ({ start }) => start),
    ends: Uint32Array.from(some, ({ end }) => end)
  }
}

/** @type {(seq: number) => number} */
const toSeq = (seq) => seq
/** @type {(seq: number, buf: Uint8Array, start: number, end: number) => Buffer} */
const toRecord = (seq, buf, start, end) => Buffer.from(buf.subarray(start, end))

/**
 * @param {string} path
 * @param {ReadOptions} [options]
 * @returns {Promise<Reader<any>>}  of items, one by one, by `stream` as a pull-stream: bytes, or values with a codec
 */
async function openItems (path, options = {}) {
  const log = await openLog(path, options)
  return {
    run: (visit) => drain(log.stream(), options.codec === undefined
      ? ({ seq, value }) => visit(seq, value, 0, value.length)
      : ({ seq, value }) => visit(seq, value)),
    close: async () => { await log.close() }
  }
}

/**
 * @param {string} path
 * @param {ReadOptions} options
 */
async function openLog (path, { codec, blockSize = BLOCK_SIZE }) {
  const log = OffsetLog(path, { codec: codec && /** @type {any} */ (CODECS[codec]), blockSize, flags: 'r' })
  await log.ready()
  return log
}

/**
 * @param {any} source
 * @param {(item: any) => void} onItem
 * @returns {Promise<void>}
 */
function drain (source, onItem) {
  return call((cb) => pull(source, pull.drain(onItem, cb)))
}

/**
 * @param {string} path
 * @param {number} blockSize
 * @param {number} [step]  bytes a read
 * @returns {Promise<Reader<VisitBytes>>}  of a file, by aligned-block-file
 */
async function openAlignedBlocks (path, blockSize, step = blockSize) {
  const blocks = createBlocks(path, blockSize, 'r')
  const size = await new Promise((resolve) => { blocks.offset.once(resolve) })
  // It has no close.
  return { run: (visit) => eachRange({ size, step }, blocks.read, visit), close: async () => {} }
}

/**
 * @template Visit
 * @param {string} path
 * @param {ReadOptions} options
 * @param {(visit: any) => (item: { seq: number, value: any }) => void} [toOnItem]  bytes by default
 * @param {object} [codec]
 * @returns {Promise<Reader<any>>}  of a log, by flumelog-offset
 */
async function openFlumelog (path, { blockSize = BLOCK_SIZE }, toOnItem = showItem, codec = identity) {
  const log = createFlumelog(path, { blockSize, codec, flags: 'r' })
  await new Promise((resolve) => { log.since.once(resolve) })
  return { run: (visit) => drain(log.stream(), toOnItem(visit)), close: async () => {} }
}

/** @param {VisitBytes} visit */
function showItem (visit) {
  return (/** @type {{ seq: number, value: any }} */ { seq, value }) => visit(seq, value, 0, value.length)
}

/** Hands out bytes as they are. */
const same = (/** @type {any} */ value) => value
const identity = { encode: same, decode: same, buffer: true }

/**
 * The query of programs that keep binary records: bipf.seekKey, field by field, without decoding the rest. Keys and
 * query are encoded once: bipf would do it again for each record.
 * @param {string} root
 * @returns {(record: Uint8Array) => boolean}
 */
function createSeekRoot (root) {
  const [value, content, key, wanted] = ['value', 'content', 'root', root].map((text) => Buffer.from(text))
  return (buf) => {
    const found = bipf.seekKey(buf, bipf.seekKey(buf, bipf.seekKey(buf, 0, value), content), key)
    return found !== -1 && bipf.compareString(buf, found, wanted) === 0
  }
}

/**
 * @param {string} path
 * @param {ReadOptions & { query: string }} options
 */
function openSeekRoot (path, { query, ...options }) {
  return openFlumelog(path, options, (visit) => {
    const isHit = createSeekRoot(query)
    return ({ seq, value }) => { if (isHit(value)) visit(seq, value, 0, value.length) }
  })
}

/**
 * @param {string} root
 * @returns {import('@millrace/where').Where}
 */
function rootIs (root) {
  return { path: ['value', 'content', 'root'], equals: root }
}

exports.openBlocks = openBlocks
exports.openSections = openSections
exports.openRecords = openRecords
exports.scanRecords = scanRecords
exports.drain = drain
exports.openItems = openItems
exports.listRecords = listRecords
exports.loadRecords = loadRecords
exports.toSeq = toSeq
exports.toRecord = toRecord
exports.openAlignedBlocks = openAlignedBlocks
exports.openFlumelog = openFlumelog
exports.openSeekRoot = openSeekRoot
exports.createSeekRoot = createSeekRoot
exports.rootIs = rootIs
exports.BLOCK_SIZE = BLOCK_SIZE
exports.CODECS = CODECS
exports.SECTION_SIZE = SECTION_SIZE
