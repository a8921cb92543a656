'use strict'
// The stacks: Millrace in its own framing and on the files of the packages it succeeds, and those packages.

const codec = require('flumecodec')
const {
  SECTION_SIZE, openAlignedBlocks, openBlocks, openFlumelog, openItems, openRecords, openSections, openSeekRoot, rootIs,
  showValue
} = require('../../lib/readers')

/** @typedef {{ blockSize: number, query: string }} OpenOptions  `query` is what `value.content.root` must equal */
/** @typedef {(path: string, options: OpenOptions) => Promise<import('../../lib/readers').Reader<any>>} Open */

/**
 * The primitives of a stack. Each opens a file and visits all of it in one way.
 * @typedef {object} Primitives
 * @property {Open} blocks  every block of `blockSize`, in order; the last one may be shorter
 * @property {Open} sections  every section of 1 KiB, each asked for by itself, through the block cache
 * @property {Open} records  every record's bytes, not parsed
 * @property {Open} values  every record, parsed as JSON
 * @property {Open} items  every record's bytes, as an item of a pull-stream
 * @property {Open} matches  every binary record that answers the query, found without decoding it
 */

/**
 * @typedef {object} Stack
 * @property {string} name  for `--peers` and the CSV files: lower case
 * @property {string} label  for the table and the charts
 * @property {string} kind  `millrace` for ours
 * @property {number} order  the others are compared with the lowest, and the charts with the highest
 * @property {import('@millrace/offset-log').FramingName} framing  of the files it reads
 * @property {string[]} packages  whose versions belong in the CSV files
 * @property {number} [slowUpTo]  up to this block size (bytes) it only reads the first 64 MiB, once
 * @property {Primitives} primitives
 */

const PACKAGES = ['@millrace/block-file', '@millrace/offset-log', '@millrace/json-codec', '@millrace/binary-codec']

/** @type {Primitives} */
const millrace = {
  blocks: openBlocks,
  sections: openSections,
  records: openRecords,
  values: (path, { blockSize }) => openItems(path, { blockSize, codec: 'json' }),
  items: (path, { blockSize }) => openItems(path, { blockSize }),
  matches: (path, { blockSize, query }) => openRecords(path, { blockSize, codec: 'binary', where: rootIs(query) })
}

/** @type {Primitives} */
const reference = {
  blocks: (path, { blockSize }) => openAlignedBlocks(path, blockSize),
  sections: (path, { blockSize }) => openAlignedBlocks(path, blockSize, SECTION_SIZE),
  records: (path, options) => openFlumelog(path, options),
  values: (path, options) => openFlumelog(path, options, showValue, codec.json),
  items: (path, options) => openFlumelog(path, options),
  matches: openSeekRoot
}

/** @type {Stack[]} */
exports.parts = [
  {
    // The default of new logs: every byte is verified as it is read.
    name: 'checked',
    label: 'Millrace, checked',
    kind: 'millrace',
    order: 10,
    framing: 'checked',
    // Optional: without it the checksums are those of node:zlib.
    packages: [...PACKAGES, '@node-rs/crc32'],
    primitives: millrace
  },
  {
    // The same work as flumelog-offset's in the layer `log`: a stream of items.
    name: 'checked-stream',
    label: 'streamed (log only)',
    kind: 'millrace',
    order: 15,
    framing: 'checked',
    packages: PACKAGES,
    primitives: { ...millrace, records: millrace.items }
  },
  // The same bytes as flumelog-offset reads, so that only the code differs.
  { name: 'offset32', label: 'Millrace, offset32', kind: 'millrace', order: 20, framing: 'offset32', packages: PACKAGES, primitives: millrace },
  // A text file, with its checksums beside it. It has no binary log.
  { name: 'lines', label: 'Millrace, lines', kind: 'millrace', order: 30, framing: 'lines', packages: PACKAGES, primitives: millrace },
  {
    name: 'flumelog',
    label: 'flumelog-offset',
    kind: 'flume',
    order: 90,
    framing: 'offset32',
    packages: ['aligned-block-file', 'flumelog-offset', 'flumecodec', 'bipf'],
    slowUpTo: 8192,
    primitives: reference
  }
]
