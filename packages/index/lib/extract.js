'use strict'
// From the bytes of records to their keys: in place, if the codec is one of those whose bytes are known here.

const { BinaryKeys } = require('./binary-keys')
const { JsonKeys } = require('./json-keys')
const { createTree, needsText } = require('./paths')
const { addValue } = require('./value-keys')

/**
 * @typedef {import('./block').Block} Block
 * @typedef {import('./block').KeySink} KeySink
 * @typedef {import('./hash').Hasher} Hasher
 * @typedef {ArrayLike<number>} Numbers
 * @typedef {{ buffer: Buffer, count: number, seqs: Numbers, starts: Numbers, ends: Numbers }} Records
 * @typedef {(records: Records, words: DataView, first: number, block: Block) => number} AddRecords
 *
 * @typedef {object} Keys
 * @property {(buf: Buffer, words: DataView, start: number, end: number, block: KeySink, record?: Buffer) => void} add
 *   `record`: the same bytes alone, if there is such a Buffer
 * @property {{ addRecords: AddRecords } | null} [scanner]  faster than one by one
 */

/** For any codec: the record is decoded. */
class DecodedKeys {
  #root
  #hasher
  #codec

  /**
   * @param {import('./paths').Node} root
   * @param {Hasher} hasher
   * @param {{ decode: (buf: Buffer) => any }} codec
   */
  constructor (root, hasher, codec) {
    this.#root = root
    this.#hasher = hasher
    this.#codec = codec
  }

  /** @type {Keys['add']} */
  add (buf, words, start, end, block) {
    let value
    try {
      // The codec may keep what it gets.
      value = this.#codec.decode(Buffer.from(buf.subarray(start, end)))
    } catch {
      return block.addOdd()
    }
    addValue(this.#root, value, this.#hasher, block)
  }
}

/**
 * Another codec may have the name of one whose bytes are known. Without a `compile`, scans ask its `decode`, and so
 * must the keys.
 * @param {{ name: string, decode: (buf: Buffer) => any, compile?: unknown }} codec
 * @param {readonly import('./paths').DeclaredPath[]} paths
 * @param {Hasher} hasher
 * @returns {Keys}
 */
function createKeys (codec, paths, hasher) {
  const root = createTree(paths)
  const isRead = typeof codec.compile === 'function' && !needsText(paths)
  if (isRead && codec.name === 'json') return new JsonKeys(root, hasher)
  if (isRead && codec.name === 'binary') return new BinaryKeys(root, hasher)
  return new DecodedKeys(root, hasher, codec)
}

/**
 * Adds records to a block, from one of them on, until it is full.
 * @param {Keys} keys
 * @param {Records} records
 * @param {number} first  the index of the first one to add
 * @param {Block} block
 * @returns {number}  the index of the first one that was not added
 */
function addRecords (keys, records, first, block) {
  const { buffer, count, seqs, starts, ends } = records
  const words = new DataView(buffer.buffer, buffer.byteOffset, buffer.length)
  if (keys.scanner) return keys.scanner.addRecords(records, words, first, block)
  let index = first
  for (; index < count && block.hasRoom(seqs[index]); index++) {
    block.begin(seqs[index])
    keys.add(buffer, words, starts[index], ends[index], block)
  }
  return index
}

exports.createKeys = createKeys
exports.addRecords = addRecords
