'use strict'
// A stack of Millrace, each layer as a user would call it. The framing of the files makes no difference to the calls.

const { BlockFile } = require('@millrace/block-file')
const { jsonCodec } = require('@millrace/json-codec')
const { binaryCodec, rawCodec } = require('@millrace/binary-codec')
const { OffsetLog } = require('@millrace/offset-log')
const pull = require('pull-stream')
const { eachRange } = require('./trampoline')

/** @typedef {import('./shapes').OpenOptions} OpenOptions */
/** @typedef {import('./shapes').VisitBytes} VisitBytes */
/** @typedef {import('./shapes').VisitValue} VisitValue */
/** @typedef {import('./shapes').VisitBoundary} VisitBoundary */
/** @typedef {import('@millrace/offset-log').Chunk} Chunk */
/** @typedef {import('@millrace/offset-log').FramingName} FramingName */

const SECTION_SIZE = 1024

const PACKAGES = ['@millrace/block-file', '@millrace/offset-log', '@millrace/json-codec', '@millrace/binary-codec']

/**
 * @param {{ name: string, label: string, order: number, framing: FramingName, packages?: string[] }} identity  its
 *   `packages` are those that only this stack has
 * @returns {import('./shapes').Stack}
 */
function createMillraceStack ({ packages = [], ...identity }) {
  return {
    ...identity,
    packages: [...PACKAGES, ...packages],
    primitives: {
      blocks: openBlocks,
      sections: openSections,
      records: (path, options) => openScan(path, options, rawCodec, {}, (visit) => showBytes(visit)),
      values: openValues,
      boundaries: (path, options) => openScan(path, options, rawCodec, {}, (visit) => showBoundaries(visit)),
      matches: (path, options) => {
        const where = { path: ['value', 'content', 'root'], equals: options.query }
        return openScan(path, options, binaryCodec, { where }, (visit) => showBytes(visit))
      }
    }
  }
}

/**
 * @param {string} path
 * @param {OpenOptions} options
 */
async function openBlocks (path, { blockSize }) {
  const file = await openFile(path, blockSize)
  return {
    /** @param {VisitBytes} visit */
    run: (visit) => promise((cb) => file.scan({}, (block, position) => visit(position, block, 0, block.length), cb)),
    close: () => promise((cb) => file.close(cb))
  }
}

/**
 * @param {string} path
 * @param {OpenOptions} options
 */
async function openSections (path, { blockSize }) {
  const file = await openFile(path, blockSize)
  const range = { size: file.size.value, step: SECTION_SIZE }
  return {
    /** @param {VisitBytes} visit */
    run: (visit) => eachRange(range, file.read.bind(file), visit),
    close: () => promise((cb) => file.close(cb))
  }
}

/**
 * @param {string} path
 * @param {number} blockSize
 */
async function openFile (path, blockSize) {
  const file = BlockFile(path, { blockSize, flags: 'r' })
  await promise((cb) => file.ready(cb))
  return file
}

/**
 * A pull-stream of values, since most programs want items rather than chunks.
 * @param {string} path
 * @param {OpenOptions} options
 */
async function openValues (path, { blockSize }) {
  const log = OffsetLog(path, { codec: jsonCodec, blockSize, flags: 'r' })
  await log.ready()
  return {
    /** @param {VisitValue} visit */
    run: (visit) => promise((cb) => pull(log.stream(), pull.drain(({ seq, value }) => visit(seq, value), cb))),
    close: async () => { await log.close() }
  }
}

/**
 * @template Visit
 * @param {string} path
 * @param {OpenOptions} options
 * @param {object} codec
 * @param {object} range  what to scan
 * @param {(visit: Visit) => (chunk: Chunk) => void} toOnChunk
 */
async function openScan (path, { blockSize }, codec, range, toOnChunk) {
  const log = OffsetLog(path, { codec: /** @type {any} */ (codec), blockSize, flags: 'r' })
  await log.ready()
  return {
    /** @param {Visit} visit */
    run: (visit) => promise((cb) => log.scan(range, toOnChunk(visit), cb)),
    close: async () => { await log.close() }
  }
}

/**
 * @param {VisitBytes} visit
 * @returns {(chunk: Chunk) => void}
 */
function showBytes (visit) {
  return ({ buffer, count, seqs, starts, ends }) => {
    for (let index = 0; index < count; index++) visit(seqs[index], buffer, starts[index], ends[index])
  }
}

/**
 * @param {VisitBoundary} visit
 * @returns {(chunk: Chunk) => void}
 */
function showBoundaries (visit) {
  return ({ count, seqs, starts, ends }) => {
    for (let index = 0; index < count; index++) visit(seqs[index], ends[index] - starts[index])
  }
}

/**
 * @param {(cb: (err?: Error | null) => void) => void} call
 * @returns {Promise<void>}
 */
function promise (call) {
  return new Promise((resolve, reject) => call((err) => err ? reject(err) : resolve()))
}

exports.createMillraceStack = createMillraceStack
