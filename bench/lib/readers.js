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
const { call, eachRange } = require('./measure')

/**
 * An open log: the part that is timed, and the part that is not.
 * @template Visit
 * @typedef {object} Reader
 * @property {(visit: Visit) => Promise<void>} run  reads everything, start to end; this is what the clock sees
 * @property {() => Promise<unknown>} close
 */

/**
 * Bytes start..end of `buf`, found at `seq`. They are borrowed: only valid until the call returns.
 * @typedef {(seq: number, buf: Uint8Array, start: number, end: number) => void} VisitBytes
 * @typedef {(seq: number, value: unknown) => void} VisitValue
 */

/** @typedef {import('@millrace/offset-log').RecordRun} RecordRun */
/** @typedef {keyof typeof CODECS} CodecName */
/** @typedef {import('@millrace/where').Where} Where */
/** @typedef {{ blockSize?: number, codec?: CodecName, verify?: boolean, where?: Where }} ReadOptions */

const BLOCK_SIZE = 64 * 1024
const SECTION_SIZE = 1024
const CODECS = { json: jsonCodec, binary: binaryCodec }

/**
 * @param {string} path
 * @param {ReadOptions} [options]
 * @returns {Promise<Reader<VisitBytes> & { file: any }>}  of every block, in order; the last one may be shorter
 */
async function openBlocks (path, { blockSize = BLOCK_SIZE } = {}) {
  const file = BlockFile(path, { blockSize, flags: 'r' })
  await call((cb) => file.ready(cb))
  return {
    file,
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
  const { file, close } = await openBlocks(path, options)
  const range = { size: Number(file.size.value), step: SECTION_SIZE }
  return { run: (visit) => eachRange(range, file.read.bind(file), visit), close }
}

/**
 * @param {string} path
 * @param {ReadOptions} [options]  `where` leaves out records
 * @returns {Promise<Reader<VisitBytes> & { log: any }>}  of the bytes of records, by `scan`
 */
async function openRecords (path, { where, ...options } = {}) {
  const log = await openLog(path, options)
  return { log, run: (visit) => scanRecords(log, { where }, visit), close: () => log.close() }
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
  const toOnItem = options.codec === undefined ? showBytes : showValue
  return { run: (visit) => drain(log.stream(), toOnItem(visit)), close: () => log.close() }
}

/**
 * @param {string} path
 * @param {ReadOptions} options
 */
async function openLog (path, { codec, blockSize = BLOCK_SIZE, verify }) {
  const log = OffsetLog(path, { codec: codec && /** @type {any} */ (CODECS[codec]), blockSize, verify, flags: 'r' })
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

/** @typedef {(visit: any) => (item: { seq: number, value: any }) => void} ToOnItem */
/** @type {ToOnItem} */
const showBytes = (visit) => ({ seq, value }) => visit(seq, value, 0, value.length)
/** @type {ToOnItem} */
const showValue = (visit) => ({ seq, value }) => visit(seq, value)

/**
 * @param {string} path
 * @param {number} blockSize
 * @param {number} [step]  bytes a read
 * @returns {Promise<Reader<VisitBytes> & { file: any }>}  of a file, by aligned-block-file
 */
async function openAlignedBlocks (path, blockSize, step = blockSize) {
  const blocks = createBlocks(path, blockSize, 'r')
  const size = await new Promise((resolve) => { blocks.offset.once(resolve) })
  // It has no close.
  return { file: blocks, run: (visit) => eachRange({ size, step }, blocks.read, visit), close: async () => {} }
}

/**
 * @param {string} path
 * @param {ReadOptions} options
 * @param {ToOnItem} [toOnItem]  bytes by default
 * @param {object} [codec]
 * @returns {Promise<Reader<any>>}  of a log, by flumelog-offset
 */
async function openFlumelog (path, { blockSize = BLOCK_SIZE }, toOnItem = showBytes, codec = identity) {
  const log = createFlumelog(path, { blockSize, codec, flags: 'r' })
  await new Promise((resolve) => { log.since.once(resolve) })
  return { run: (visit) => drain(log.stream(), toOnItem(visit)), close: async () => {} }
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
 * The records of a log already in memory, for peers that need no log.
 * @param {string} path  of a log in an offset framing: its records are whole in the file
 * @returns {Promise<{ bytes: Buffer, seqs: number[], starts: Uint32Array, ends: Uint32Array }>}  the whole file, and
 *   where the records are in it
 */
async function loadRecords (path) {
  // The frame begins with a length of four bytes, at its seq.
  const all = await listRecords(path, (seq, buf, start, end) => ({ seq, start: seq + 4, end: seq + 4 + end - start }))
  return {
    bytes: fs.readFileSync(path),
    seqs: all.map(({ seq }) => seq),
    starts: Uint32Array.from(all, ({ start }) => start),
    ends: Uint32Array.from(all, ({ end }) => end)
  }
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
exports.listRecords = listRecords
exports.toSeq = toSeq
exports.toRecord = toRecord
exports.openItems = openItems
exports.drain = drain
exports.showValue = showValue
exports.openAlignedBlocks = openAlignedBlocks
exports.openFlumelog = openFlumelog
exports.createSeekRoot = createSeekRoot
exports.openSeekRoot = openSeekRoot
exports.loadRecords = loadRecords
exports.rootIs = rootIs
exports.BLOCK_SIZE = BLOCK_SIZE
exports.SECTION_SIZE = SECTION_SIZE
exports.CODECS = CODECS
exports.identity = identity
