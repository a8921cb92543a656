'use strict'
// Millrace in one of its framings.

const path = require('node:path')
const { binaryCodec, rawCodec } = require('@millrace/binary-codec')
const { OffsetLog } = require('@millrace/offset-log')
const { BLOCK_SIZE, CACHE_SIZE } = require('./load')

/** @typedef {import('@millrace/offset-log').Chunk} Chunk */

/** Takes and gives records that are encoded already. */
const encodedCodec = { ...rawCodec, name: binaryCodec.name }

/**
 * @param {{ name: string, order: number, label: string, packages: string[] }} identity
 * @param {import('@millrace/offset-log').FramingName} framing
 * @returns {import('./shapes').Peer}
 */
function createMillracePeer (identity, framing) {
  return { ...identity, kind: 'millrace', queried: 'binary', ways: ['where'], open }

  /** @type {import('./shapes').Peer['open']} */
  async function open (folder, mode) {
    const log = OffsetLog(path.join(folder, 'log'), {
      framing,
      codec: mode === 'query' ? binaryCodec : encodedCodec,
      fsync: mode === 'durable' ? 'always' : 'never',
      blockSize: BLOCK_SIZE,
      cache: CACHE_SIZE
    })
    await log.ready()
    return {
      append: (records) => log.append(records).then(ignore),
      appendOne: (record) => log.append(record).then(ignore),
      scan: (visit) => log.scan({}, ({ buffer, count, starts, ends }) => {
        for (let index = 0; index < count; index++) visit(buffer, starts[index], ends[index])
      }).then(ignore),
      queries: { where: (root, onHit) => scanWhere(log, root, onHit) },
      listKeys: () => listSeqs(log),
      get: (key, cb) => log.get(key, cb),
      close: () => log.close()
    }
  }
}

/**
 * @param {import('@millrace/offset-log').OffsetLog<any>} log
 * @param {string} root
 * @param {(record: Buffer) => void} onHit
 */
async function scanWhere (log, root, onHit) {
  const where = { path: ['value', 'content', 'root'], equals: root }
  await log.scan({ where }, ({ buffer, count, starts, ends }) => {
    for (let index = 0; index < count; index++) onHit(buffer.subarray(starts[index], ends[index]))
  })
}

/** @param {import('@millrace/offset-log').OffsetLog<any>} log */
async function listSeqs (log) {
  /** @type {number[]} */
  const all = []
  await log.scan({}, ({ count, seqs }) => {
    for (let index = 0; index < count; index++) all.push(seqs[index])
  })
  return all
}

function ignore () {}

exports.createMillracePeer = createMillracePeer
