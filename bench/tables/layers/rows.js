'use strict'
// The layers, in the order of the table: which log each reads, and which primitive of a stack it drives.

const { measureLayer, prepareLayer, readsPrefix } = require('./measure')

/**
 * @typedef {object} Layer
 * @property {'json' | 'binary'} log  which of the two logs it reads
 * @property {keyof import('./stacks').Primitives} primitive
 * @property {'file' | 'records'} delivers  `file`: the bytes depend on the framing. `records`: they do not
 * @property {boolean} [perBlockSize]  what is delivered differs with the block size
 * @property {number} every  which of what is delivered the digest is of
 */

/** @typedef {import('../../engine/row').Row & Layer} LayerRow */

const STACKS = { checked: {}, offset32: {}, flumelog: {} }
const OF_JSON = { ...STACKS, lines: {} }
/** @type {import('../../engine/row').Figure[]} */
const figures = [{ figure: 'ms', unit: 'ms' }]

/** @type {(name: string, what: string, layer: Layer, more?: Partial<LayerRow>) => LayerRow} */
function toRow (name, what, layer, more) {
  return {
    name,
    what,
    ...layer,
    peers: layer.log === 'json' ? OF_JSON : STACKS,
    figures,
    prepare: (context) => prepareLayer(context, layer),
    measure: measureLayer,
    isOnce: readsPrefix,
    isProcessorTime: true,
    samples: 24,
    ...more
  }
}

/** @type {LayerRow[]} */
exports.parts = [
  // The floor: what the disk, or the page cache, can give. Blocks are few, so every hundredth is kept.
  toRow('file', 'every block, start to end', { log: 'json', primitive: 'blocks', delivers: 'file', perBlockSize: true, every: 100 }),
  // As many reads as there are messages, more or less, but none that crosses from one block into the next.
  toRow('blocks', '1 KiB sections of the blocks', { log: 'json', primitive: 'sections', delivers: 'file', every: 1000 }),
  // flumelog-offset can only stream; Millrace also scans, which makes no object a record.
  toRow('log', 'every record, by scan or stream', { log: 'json', primitive: 'records', delivers: 'records', every: 1000 },
    { peers: { ...OF_JSON, 'checked-stream': {} } }),
  // What most programs do, and most of it is JSON.parse.
  toRow('json', 'every record, parsed as JSON', { log: 'json', primitive: 'values', delivers: 'records', every: 1000 }, { isLast: true, samples: 8 }),
  // The same contract in all stacks: items through pull-stream.
  toRow('stream', 'items of a stream, binary log', { log: 'binary', primitive: 'items', delivers: 'records', every: 1000 }),
  // Hits are one in a thousand, so each of them is kept.
  toRow('binary', 'a query in place, on the binary log', { log: 'binary', primitive: 'matches', delivers: 'records', every: 1 })
]
