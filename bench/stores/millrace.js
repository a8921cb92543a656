'use strict'
// Millrace in the checked framing, which verifies every byte that it reads, and on files of flumelog-offset.

const path = require('node:path')
const { binaryCodec } = require('@millrace/binary-codec')
const { OffsetLog } = require('@millrace/offset-log')
const { BLOCK_SIZE, rootIs, scanRecords } = require('../lib/readers')

/** @typedef {import('@millrace/offset-log').FramingName} FramingName */

// For every store whose cache has a size option.
const CACHE_SIZE = 128 * 1024 * 1024

/** Passes encoded records through, at no cost. @type {import('@millrace/offset-log').Codec} */
const encodedCodec = { name: binaryCodec.name, buffer: true, encode: (value) => value, decode: (bytes) => bytes }

/** @type {(file: string, options: object) => Promise<import('./index').Store>} */
async function openMillrace (file, options) {
  /** @type {any} */
  const log = OffsetLog(file, { blockSize: BLOCK_SIZE, cache: CACHE_SIZE, ...options })
  await log.ready()
  return {
    append: (records, cb) => log.append(records.length === 1 ? records[0] : records, cb),
    appendOne: (record, cb) => log.append(record, cb),
    scan: (visit) => scanRecords(log, {}, visit),
    queries: {
      where: (root, onHit) => {
        return scanRecords(log, { where: rootIs(root) }, (seq, buf, start, end) => onHit(buf.subarray(start, end)))
      }
    },
    async listKeys () {
      /** @type {number[]} */
      const keys = []
      await scanRecords(log, {}, (seq) => { keys.push(seq) })
      return keys
    },
    get: (key, cb) => log.get(key, cb),
    close: () => log.close()
  }
}

/** @type {(framing: FramingName) => import('./index').Peer} */
const toPeer = (framing) => ({
  name: framing,
  label: `Millrace, ${framing}`,
  kind: 'millrace',
  packages: ['@millrace/offset-log', '@millrace/binary-codec', ...(framing === 'checked' ? ['@node-rs/crc32'] : [])],
  queried: 'binary',
  way: 'where',
  open: (folder, mode) => openMillrace(path.join(folder, 'log'), {
    framing,
    codec: mode === 'query' ? binaryCodec : encodedCodec,
    fsync: mode === 'durable' ? 'always' : 'never'
  }),
  openFlumelog: (file) => OffsetLog(file, { framing, blockSize: BLOCK_SIZE, cache: CACHE_SIZE })
})

exports.parts = [toPeer('checked'), toPeer('offset32')]
/** Takes no part beside other stores, whose records are binary. */
exports.lines = toPeer('lines')
exports.openMillrace = openMillrace
