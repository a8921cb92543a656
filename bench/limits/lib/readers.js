'use strict'
// The ways to read a log that the rows time: of Millrace, and of what they are compared with.

const { BlockFile } = require('@millrace/block-file')
const { binaryCodec } = require('@millrace/binary-codec')
const { jsonCodec } = require('@millrace/json-codec')
const { OffsetLog } = require('@millrace/offset-log')
const pull = require('pull-stream')
const { BLOCK_SIZE } = require('./scan-log')

/** @typedef {import('../../lib/shapes').VisitBytes} VisitBytes */
/** @typedef {import('@millrace/offset-log').Chunk} Chunk */
/** @typedef {import('@millrace/where').Where} Where */
/**
 * @template Visit
 * @typedef {import('../../lib/shapes').Reader<Visit>} Reader
 */

const CODECS = { json: jsonCodec, binary: binaryCodec }

/**
 * @param {string} path
 * @returns {Promise<Reader<VisitBytes>>}  of blocks, at their positions
 */
async function openBlocks (path) {
  const file = BlockFile(path, { blockSize: BLOCK_SIZE, flags: 'r' })
  await new Promise((resolve, reject) => file.ready((err) => err ? reject(err) : resolve(undefined)))
  return {
    run: (visit) => new Promise((resolve, reject) => {
      const onBlock = (/** @type {Buffer} */ block, /** @type {number} */ at) => visit(at, block, 0, block.length)
      file.scan({}, onBlock, (err) => err ? reject(err) : resolve())
    }),
    close: () => new Promise((resolve, reject) => file.close((err) => err ? reject(err) : resolve()))
  }
}

/**
 * @param {string} path
 * @param {object} [options]  of the log
 * @returns {Promise<Reader<any>>}  of what its stream gives, one by one
 */
async function openItems (path, options) {
  const log = OffsetLog(path, { blockSize: BLOCK_SIZE, flags: 'r', ...options })
  await log.ready()
  const isBytes = !options || !('codec' in options)
  return {
    run: (visit) => drain(log.stream(), isBytes
      ? ({ seq, value }) => visit(seq, value, 0, value.length)
      : ({ seq, value }) => visit(seq, value)),
    close: () => /** @type {Promise<any>} */ (log.close())
  }
}

/**
 * @param {any} source
 * @param {(item: any) => void} onItem
 * @returns {Promise<void>}
 */
function drain (source, onItem) {
  return new Promise((resolve, reject) => {
    pull(source, pull.drain(onItem, (/** @type {any} */ err) => err ? reject(err) : resolve()))
  })
}

/**
 * @param {string} path
 * @param {'json' | 'binary'} codecName
 * @param {Where} [where]
 * @returns {Promise<Reader<VisitBytes>>}  of the records that are found
 */
async function openScanReader (path, codecName, where) {
  const log = OffsetLog(path, { codec: /** @type {any} */ (CODECS[codecName]), blockSize: BLOCK_SIZE, flags: 'r' })
  await log.ready()
  return {
    run: async (visit) => {
      await log.scan({ where }, (/** @type {Chunk} */ { buffer, count, seqs, starts, ends }) => {
        for (let index = 0; index < count; index++) visit(seqs[index], buffer, starts[index], ends[index])
      })
    },
    close: () => /** @type {Promise<any>} */ (log.close())
  }
}

/**
 * Without a filter to push down: every record is parsed, and one field of it compared.
 * @param {string} path  of a log of JSON
 * @param {string} root
 * @returns {Promise<Reader<VisitBytes>>}
 */
async function openParseAndCompare (path, root) {
  const all = await openScanReader(path, 'json')
  return {
    run: (visit) => all.run((seq, buf, start, end) => {
      const text = /** @type {Buffer} */ (buf).toString('utf8', start, end)
      if (JSON.parse(text).value?.content?.root === root) visit(seq, buf, start, end)
    }),
    close: all.close
  }
}

exports.openBlocks = openBlocks
exports.openItems = openItems
exports.openScanReader = openScanReader
exports.openParseAndCompare = openParseAndCompare
exports.CODECS = CODECS
