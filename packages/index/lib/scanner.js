'use strict'
// Finds the values at declared paths in records, in WebAssembly: JavaScript cannot look at sixteen bytes at once, takes
// two or three times as long, and has to be compiled while it runs. Its source is keys.wat, and what goes on there;
// `npm run kernels` makes keys-wasm.js of it.

const { FALSE, NULL, TRUE } = require('./hash')
const BYTES = require('./keys-wasm')

/** As keys.wat lays out its memory. */
const NODE_SIZE = 32
const KEY_SIZE = 48
const KEY_BYTES_SIZE = 16
const TREE_SIZE = 16384
const FOUND_AT = 16384
const FOUND_WORDS = 8
const [KIND, START, END, HASH, RECORD] = [1, 2, 3, 4, 7]
const WORD_SIZE = 4
const FOUND_MAX = 1536
const WINDOW_AT = 65536
const WINDOW_SIZE = 65536
const BOUNDS_AT = 135168
const RECORDS_MAX = 4096
const [HAS_SLOTS, HAS_RANGE] = [1, 2]

/** The kinds of values that it finds: a text, also one that must be read; in JSON a number, an object; in binary. */
const [TEXT, OTHER_TEXT, NUMBER, OBJECT, INT, DOUBLE] = [1, 2, 3, 7, 8, 9]
/** @type {Record<number, number>} */
const CONSTANTS = { 4: TRUE, 5: FALSE, 6: NULL }

/**
 * @typedef {import('./hash').Hasher} Hasher
 * @typedef {import('./paths').Node} Node
 * @typedef {import('./block').Block} Block
 * @typedef {import('./block').KeySink} KeySink
 * @typedef {import('./extract').Records} Records
 *
 * @typedef {object} Kernel  one for all indexes: each scans the records of a window before the next one begins
 * @property {Uint8Array} tree
 * @property {Uint8Array} window
 * @property {Int32Array} found
 * @property {Uint32Array} bounds
 * @property {(isBinary: number, record: number, count: number) => number} scan
 * @property {{ value: number }} first  of the hashes, as the next two
 * @property {{ value: number }} second
 * @property {{ value: number }} mask
 * @property {{ value: number }} foundEnd
 * @property {{ value: number }} isUnknown
 * @property {KeyScanner | null} user  whose tree it has
 *
 * @typedef {object} SlowKeys  what is added without the kernel
 * @property {import('./extract').Keys['add']} add  all of a record
 * @property {(buf: Buffer, words: DataView, node: Node, kind: number, start: number, end: number, sink: KeySink) =>
 *   void} addFound  a value that is no plain text
 */

/** @type {Kernel | null | undefined} */
let kernel

/** @returns {Kernel | null}  null without WebAssembly, or if that has no vectors */
function loadKernel () {
  if (kernel !== undefined) return kernel
  try {
    const { exports } = new WebAssembly.Instance(new WebAssembly.Module(Buffer.from(BYTES, 'base64')))
    const { memory: { buffer }, scan, first, second, mask, foundEnd, isUnknown } = exports
    kernel = {
      scan,
      first,
      second,
      mask,
      foundEnd,
      isUnknown,
      tree: new Uint8Array(buffer, 0, TREE_SIZE),
      window: new Uint8Array(buffer, WINDOW_AT, WINDOW_SIZE),
      found: new Int32Array(buffer, FOUND_AT, FOUND_MAX * FOUND_WORDS),
      bounds: new Uint32Array(buffer, BOUNDS_AT, 2 * RECORDS_MAX),
      user: null
    }
  } catch {
    kernel = null
  }
  return kernel ?? null
}

/** Scans records for the paths of one index. */
class KeyScanner {
  #kernel
  #hasher
  #isBinary
  #slow
  /** The paths, as the kernel has them. */
  #tree = Buffer.alloc(TREE_SIZE)
  /** The first node stands for none, the second one is the root. */
  #filled = NODE_SIZE
  /** Where the window begins in the buffer of the records, and with which one. */
  #from = 0
  #first = 0
  /** The index of a record in the window that the kernel does not know; or -1. */
  #unknown = -1
  /** By their places. @type {Node[]} */
  #nodes = []

  /**
   * @param {Kernel} kernel
   * @param {Node} root  of the declared paths
   * @param {Hasher} hasher
   * @param {boolean} isBinary  or of JSON
   * @param {SlowKeys} slow
   */
  constructor (kernel, root, hasher, isBinary, slow) {
    this.#kernel = kernel
    this.#hasher = hasher
    this.#isBinary = isBinary ? 1 : 0
    this.#slow = slow
    this.#addNode(root)
  }

  /** @param {number} size @returns {number}  where it is */
  #allot (size) {
    const at = this.#filled
    this.#filled += size
    return at
  }

  /** @param {Node} node @returns {number}  where it is */
  #addNode (node) {
    const at = this.#allot(NODE_SIZE)
    const tree = this.#tree
    this.#nodes[at / NODE_SIZE] = node
    const keys = this.#allot(roundUp(node.keys.length * KEY_SIZE))
    tree.writeUInt32LE((node.slots.length > 0 ? HAS_SLOTS : 0) | (node.hasRange ? HAS_RANGE : 0), at)
    tree.writeUInt32LE(keys, at + 4)
    tree.writeUInt32LE(node.keys.length, at + 8)
    tree.writeInt32LE(node.keys.reduce((sizes, { bytes }) => sizes | 1 << bytes.length, 0), at + 16)
    for (const [index, { bytes, child }] of node.keys.entries()) {
      const entry = keys + index * KEY_SIZE
      const rest = this.#allot(restSize(bytes))
      tree.writeUInt32LE(bytes.length, entry)
      tree.writeUInt32LE(this.#addNode(child), entry + 4)
      tree.writeUInt32LE(rest, entry + 12)
      bytes.copy(tree, entry + 16, 0, KEY_BYTES_SIZE)
      tree.fill(0xff, entry + 16 + KEY_BYTES_SIZE + bytes.length, entry + KEY_SIZE)
      bytes.subarray(KEY_BYTES_SIZE).copy(tree, rest)
    }
    if (node.each !== null) tree.writeUInt32LE(this.#addNode(node.each), at + 12)
    return at
  }

  /** @type {import('./extract').AddRecords} */
  addRecords (records, words, first, block) {
    const { buffer, count, seqs, starts, ends } = records
    let index = first
    let taken = first
    this.#unknown = -1
    while (index < count && block.hasRoom(seqs[index])) {
      if (index >= taken) taken = this.#take(records, index)
      // One that is too large is not taken.
      if (index < taken && index !== this.#unknown) {
        index = this.#scan(records, words, index, taken, block)
        continue
      }
      block.begin(seqs[index])
      this.#slow.add(buffer, words, starts[index], ends[index], block)
      index++
    }
    return index
  }

  /**
   * Adds a record, unless it is an unknown one.
   * @type {(record: Buffer, buf: Buffer, words: DataView, start: number, sink: KeySink) => boolean}  whether it was
   *   added. `start`: of the same bytes in `buf`
   */
  addAlone (record, buf, words, start, sink) {
    if (record.length > WINDOW_SIZE) return false
    const { bounds, found, foundEnd, scan, window } = this.#prepare()
    window.set(record)
    bounds[0] = WINDOW_AT
    bounds[1] = WINDOW_AT + record.length
    if (scan(this.#isBinary, 0, 1) === 0) return false
    const last = (foundEnd.value - FOUND_AT) / WORD_SIZE
    const hasher = this.#hasher
    for (let at = 0; at < last; at += FOUND_WORDS) {
      const node = this.#nodes[found[at] / NODE_SIZE]
      const kind = found[at + KIND]
      if (kind === TEXT) {
        hasher.low = found[at + HASH] >>> 0
        hasher.high = found[at + HASH + 1] >>> 0
        hasher.short = found[at + HASH + 2] >>> 0
        sink.addKey(node.slots, hasher)
      } else {
        const shift = start - WINDOW_AT
        this.#slow.addFound(buf, words, node, kind, shift + found[at + START], shift + found[at + END], sink)
      }
    }
    return true
  }

  /**
   * Puts as many records into the window as there is room for.
   * @param {Records} records
   * @param {number} first  their index
   * @returns {number}  the index after the last one
   */
  #take ({ buffer, count, starts, ends }, first) {
    const { bounds, window } = this.#prepare()
    const from = starts[first]
    const last = Math.min(count, first + RECORDS_MAX)
    let end = from
    let next = first
    for (let at = 0; next < last && starts[next] >= end && ends[next] - from <= WINDOW_SIZE; next++) {
      end = ends[next]
      bounds[at++] = WINDOW_AT + starts[next] - from
      bounds[at++] = WINDOW_AT + end - from
    }
    window.set(buffer.subarray(from, end))
    this.#from = from
    this.#first = first
    return next
  }

  #prepare () {
    const kernel = this.#kernel
    if (kernel.user === this) return kernel
    kernel.user = this
    kernel.tree.set(this.#tree)
    this.#setHashes(kernel)
    return kernel
  }

  /** @param {Kernel} kernel */
  #setHashes (kernel) {
    const [first, second, mask] = this.#hasher.seeds
    kernel.first.value = first
    kernel.second.value = second
    kernel.mask.value = mask
  }

  /**
   * Adds records that are in the window, until one is unknown, or the block is full.
   * @type {(records: Records, words: DataView, from: number, to: number, block: Block) => number}  the index of the
   *   first one that was not added
   */
  #scan ({ buffer, seqs }, words, from, to, block) {
    const kernel = this.#kernel
    const { found } = kernel
    const shift = this.#from - WINDOW_AT
    const end = this.#first + kernel.scan(this.#isBinary, from - this.#first, to - this.#first)
    const last = (kernel.foundEnd.value - FOUND_AT) / WORD_SIZE
    if (kernel.isUnknown.value === 1) this.#unknown = end
    let at = 0
    for (let index = from; index < end; index++) {
      if (!block.hasRoom(seqs[index])) return index
      block.begin(seqs[index])
      const record = index - this.#first
      for (; at < last && found[at + RECORD] === record; at += FOUND_WORDS) {
        const node = this.#nodes[found[at] / NODE_SIZE]
        const kind = found[at + KIND]
        if (kind === TEXT) block.addHash(node.slots, found[at + HASH], found[at + HASH + 2])
        else this.#slow.addFound(buffer, words, node, kind, shift + found[at + START], shift + found[at + END], block)
      }
    }
    return end
  }
}

/** @param {Node} node @returns {number}  of its tree in the memory; Infinity if the kernel does not know such trees */
function treeSize ({ keys, indexes, each }) {
  if (indexes.length > 0) return Infinity
  const own = NODE_SIZE + roundUp(keys.length * KEY_SIZE) + (each === null ? 0 : treeSize(each))
  return keys.reduce((sum, { bytes, child }) => sum + restSize(bytes) + treeSize(child), own)
}

/** What of a key is not in its entry. @param {Buffer} bytes */
function restSize ({ length }) {
  return roundUp(Math.max(0, length - KEY_BYTES_SIZE))
}

/** @param {number} size */
function roundUp (size) {
  return Math.ceil(size / NODE_SIZE) * NODE_SIZE
}

/**
 * @param {Node} root  of the declared paths
 * @param {Hasher} hasher
 * @param {boolean} isBinary  or of JSON
 * @param {SlowKeys} slow
 * @returns {KeyScanner | null}  null without WebAssembly, or if it does not know such paths
 */
function createScanner (root, hasher, isBinary, slow) {
  const kernel = loadKernel()
  if (kernel === null || NODE_SIZE + treeSize(root) > TREE_SIZE) return null
  return new KeyScanner(kernel, root, hasher, isBinary, slow)
}

exports.CONSTANTS = CONSTANTS
exports.DOUBLE = DOUBLE
exports.INT = INT
exports.NUMBER = NUMBER
exports.OBJECT = OBJECT
exports.OTHER_TEXT = OTHER_TEXT
exports.KeyScanner = KeyScanner
exports.createScanner = createScanner
