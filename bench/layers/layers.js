'use strict'
// The layers, in the order of the table: which log each reads, and which primitive of a stack it drives.

/**
 * @typedef {object} Layer
 * @property {string} name
 * @property {string} meaning  one line, for the table and the charts
 * @property {'json' | 'binary'} log  which of the two logs it reads
 * @property {keyof import('./stacks').Primitives} primitive
 * @property {'file' | 'records'} delivers  `file`: the bytes depend on the framing. `records`: they do not
 * @property {boolean} [perBlockSize]  what is delivered differs with the block size
 * @property {boolean} [isSlow]  most of a bench goes here: where time runs out, the repeats of this layer go
 * @property {number} every  which of what is delivered the digest is of
 */

/** @type {Layer[]} */
exports.parts = [
  // The floor: what the disk, or the page cache, can give. Blocks are few, so every hundredth is kept.
  { name: 'file', meaning: 'every block, start to end', log: 'json', primitive: 'blocks', delivers: 'file', perBlockSize: true, every: 100 },
  // As many reads as there are messages, more or less, but none that crosses from one block into the next.
  { name: 'blocks', meaning: '1 KiB sections of the blocks', log: 'json', primitive: 'sections', delivers: 'file', every: 1000 },
  // Not the same call in all stacks: Millrace scans, which makes no object a record; flumelog-offset can only stream.
  { name: 'log', meaning: 'every record: our scan, their stream', log: 'json', primitive: 'records', delivers: 'records', every: 1000 },
  // What most programs do, and most of it is JSON.parse.
  { name: 'json', meaning: 'every record, parsed as JSON', log: 'json', primitive: 'values', delivers: 'records', isSlow: true, every: 1000 },
  // The same contract in all stacks: items through pull-stream.
  { name: 'stream', meaning: 'items of a stream, binary log', log: 'binary', primitive: 'items', delivers: 'records', every: 1000 },
  // Hits are one in a thousand, so each of them is kept.
  { name: 'binary', meaning: 'a query in place, on the binary log', log: 'binary', primitive: 'matches', delivers: 'records', every: 1 }
]
