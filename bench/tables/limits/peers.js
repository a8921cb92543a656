'use strict'
// Who takes part in the rows: ours; the least that the machine needs; other stores and ways; and Millrace at other
// work, where a row says that something costs no more than something else.

const stores = require('../../stores')

const PACKAGES = ['@millrace/offset-log', '@millrace/block-file', '@millrace/json-codec', '@millrace/binary-codec', '@node-rs/crc32']

/** @type {(name: string, label: string) => import('../../engine/row').Peer} */
const machine = (name, label) => ({ name, label, kind: 'machine' })
/** @type {(name: string, label: string) => import('../../engine/row').Peer} */
const ours = (name, label) => ({ name, label, kind: 'millrace', packages: PACKAGES })

/** @type {import('../../engine/row').Peer[]} */
exports.parts = [
  ours('millrace', 'Millrace'),
  machine('loop', 'bare loop'),
  machine('least', 'the least work'),
  machine('json', 'JSON.parse and JSON.stringify'),
  machine('map', 'a Map of Buffers'),
  machine('write', 'fs.writeSync'),
  machine('read-and-sum', 'reading and computing checksums'),
  machine('payload', 'the bytes of the records'),
  ...stores.parts.filter(({ name }) => ['flumelog-offset', 'sqlite', 'lmdb', 'leveldb'].includes(name)),
  { name: 'bipf', label: 'bipf on flumelog-offset', kind: 'flume', packages: ['bipf', 'flumelog-offset'] },
  ours('blocks-64KiB', 'Millrace, blocks of 64 KiB'),
  ours('equality', 'Millrace, a query by equality'),
  ours('no-breaks', 'Millrace, without breaks'),
  ours('log-10MB', 'Millrace, a log of 10 MB'),
  ours('log-340MB', 'Millrace, a log of 340 MB'),
  ours('no-index', 'Millrace, without an index'),
  ours('log-once', 'Millrace, the log itself'),
  ours('checked', 'Millrace, checked'),
  machine('append-file', 'fs.appendFileSync')
]
