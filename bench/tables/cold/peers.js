'use strict'
// Who takes part in the rows of cold.

/** @type {import('../../engine/row').Peer[]} */
exports.parts = [
  { name: 'millrace', label: 'Millrace', kind: 'millrace', packages: ['@millrace/block-file', '@millrace/offset-log'] },
  { name: 'loop', label: 'bare loop', kind: 'loop' },
  { name: 'flumelog', label: 'flumelog-offset', kind: 'flume', packages: ['aligned-block-file', 'flumelog-offset'] }
]
