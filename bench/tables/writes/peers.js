'use strict'
// Who takes part in the rows of writes.

const OURS = ['@millrace/block-file', '@millrace/offset-log', '@millrace/json-codec', '@millrace/binary-codec']

/** @type {import('../../engine/row').Peer[]} */
exports.parts = [
  { name: 'millrace', label: 'Millrace, 64 KiB blocks', kind: 'millrace', packages: [...OURS, '@node-rs/crc32'] },
  { name: 'millrace-4k', label: 'Millrace, 4 KiB blocks', kind: 'millrace', packages: OURS },
  { name: 'offset32', label: 'Millrace, offset32', kind: 'millrace', packages: OURS },
  { name: 'lines', label: 'Millrace, lines', kind: 'millrace', packages: OURS },
  { name: 'write', label: 'fs.writeSync', kind: 'loop' },
  { name: 'flumelog', label: 'flumelog-offset', kind: 'flume', packages: ['aligned-block-file', 'flumelog-offset', 'flumecodec', 'bipf'] }
]
