'use strict'
// The packages that Millrace succeeds, used as their own documentation shows.

const createBlocks = require('aligned-block-file')
const createLog = require('flumelog-offset')
const codec = require('flumecodec')
const bipf = require('bipf')
const pull = require('pull-stream')
const { eachRange } = require('../lib/trampoline')

/** @typedef {import('../lib/shapes').OpenOptions} OpenOptions */
/** @typedef {{ seq: number, value: any }} Item */

const SECTION_SIZE = 1024

/** Hands out bytes as they are. */
const identity = { encode: same, decode: same, buffer: true }

/** @type {import('../lib/shapes').Stack} */
module.exports = {
  name: 'reference',
  label: 'flumelog-offset',
  order: 90,
  framing: 'offset32',
  packages: ['aligned-block-file', 'flumelog-offset', 'flumecodec', 'bipf'],
  slowUpTo: 8192,
  primitives: {
    blocks: (path, { blockSize }) => openFile(path, blockSize, blockSize),
    sections: (path, { blockSize }) => openFile(path, blockSize, SECTION_SIZE),
    records: (path, options) => openLog(path, options, identity, (visit) => {
      return (/** @type {Item} */ { seq, value }) => visit(seq, value, 0, value.length)
    }),
    values: (path, options) => openLog(path, options, codec.json, (visit) => {
      return (/** @type {Item} */ { seq, value }) => visit(seq, value)
    }),
    boundaries: (path, options) => openLog(path, options, undefined, (visit) => {
      return (/** @type {Item} */ { seq, value }) => visit(seq, value.length)
    }),
    matches: (path, options) => openLog(path, options, identity, (visit) => createQuery(options.query, visit))
  }
}

/**
 * @param {string} path
 * @param {number} blockSize
 * @param {number} step  bytes a read
 */
async function openFile (path, blockSize, step) {
  const blocks = createBlocks(path, blockSize, 'r')
  const size = await new Promise((resolve) => { blocks.offset.once(resolve) })
  return {
    /** @param {import('../lib/shapes').VisitBytes} visit */
    run: (visit) => eachRange({ size, step }, blocks.read, visit),
    close: async () => {} // It has no close.
  }
}

/**
 * @template Visit
 * @param {string} path
 * @param {OpenOptions} options
 * @param {object | undefined} codec
 * @param {(visit: Visit) => (item: Item) => void} toOnItem
 */
async function openLog (path, { blockSize }, codec, toOnItem) {
  const log = createLog(path, { blockSize, codec, flags: 'r' })
  await new Promise((resolve) => { log.since.once(resolve) })
  return {
    /** @param {Visit} visit */
    run: (visit) => /** @type {Promise<void>} */(new Promise((resolve, reject) => {
      pull(log.stream(), pull.drain(toOnItem(visit), (err) => err ? reject(err) : resolve()))
    })),
    close: async () => {}
  }
}

/**
 * Keys and query are encoded once: bipf would do it again for each record.
 * @param {string} query
 * @param {import('../lib/shapes').VisitBytes} visit
 */
function createQuery (query, visit) {
  const [value, content, root, wanted] = ['value', 'content', 'root', query].map((text) => Buffer.from(text))
  return (/** @type {Item} */ { seq, value: buf }) => {
    const found = bipf.seekKey(buf, bipf.seekKey(buf, bipf.seekKey(buf, 0, value), content), root)
    if (found !== -1 && bipf.compareString(buf, found, wanted) === 0) visit(seq, buf, 0, buf.length)
  }
}

/**
 * @template T
 * @param {T} value
 */
function same (value) {
  return value
}
