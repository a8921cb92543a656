'use strict'
// Finds the values at declared paths in records of JSON, in WebAssembly: JavaScript cannot look at sixteen bytes at
// once, and takes three times as long. Its source is json.wat; `npm run kernels` makes json-wasm.js of it.

const { FALSE, NULL, TRUE } = require('./hash')
const BYTES = require('./json-wasm')

/** As json.wat lays out its memory. */
const NODE_SIZE = 16
const KEY_SIZE = 48
const KEY_BYTES_SIZE = 16
const TREE_SIZE = 16384
const FOUND_AT = 16384
const FOUND_WORDS = 8
const FOUND_MAX = 1536
const WINDOW_AT = 65536
const WINDOW_SIZE = 65536
const [HAS_SLOTS, HAS_RANGE] = [1, 2]

/** The kinds of values that it finds: a text, also one that must be read; a number, a constant, an object. */
const [TEXT, OTHER_TEXT, NUMBER, OBJECT] = [1, 2, 3, 7]
/** @type {Record<number, number>} */
const CONSTANTS = { 4: TRUE, 5: FALSE, 6: NULL }

/**
 * @typedef {import('./hash').Hasher} Hasher
 * @typedef {import('./paths').Node} Node
 *
 * @typedef {object} Kernel  one for all indexes: each scans the records of a window before the next one begins
 * @property {Uint8Array} tree
 * @property {Uint8Array} window
 * @property {Uint32Array} found
 * @property {(at: number, end: number) => number} scan
 * @property {{ value: number }} first  of the hashes, as the next two
 * @property {{ value: number }} second
 * @property {{ value: number }} mask
 * @property {JsonScanner | null} user  whose tree it has
 */

/** @type {Kernel | null | undefined} */
let kernel

/** @returns {Kernel | null}  null without WebAssembly, or if that has no vectors */
function loadKernel () {
  if (kernel !== undefined) return kernel
  try {
    const { exports } = new WebAssembly.Instance(new WebAssembly.Module(Buffer.from(BYTES, 'base64')))
    const { memory: { buffer }, scan, first, second, mask } = exports
    kernel = {
      scan,
      first,
      second,
      mask,
      tree: new Uint8Array(buffer, 0, TREE_SIZE),
      window: new Uint8Array(buffer, WINDOW_AT, WINDOW_SIZE),
      found: new Uint32Array(buffer, FOUND_AT, FOUND_MAX * FOUND_WORDS),
      user: null
    }
  } catch {
    kernel = null
  }
  return kernel ?? null
}

/** Scans records for the paths of one index. */
class JsonScanner {
  #kernel
  #hasher
  /** The paths, as the kernel has them. */
  #tree = Buffer.alloc(TREE_SIZE)
  /** The first node stands for none, the second one is the root. */
  #filled = NODE_SIZE
  /** Where the window begins in the buffer of the records. */
  #from = 0
  /** By their places. @type {Node[]} */
  #nodes = []

  /** @param {Kernel} kernel @param {Node} root @param {Hasher} hasher */
  constructor (kernel, root, hasher) {
    this.#kernel = kernel
    this.#hasher = hasher
    this.#addNode(root)
  }

  /** @param {number} size @returns {number}  where it is */
  #take (size) {
    const at = this.#filled
    this.#filled += size
    return at
  }

  /** @param {Node} node @returns {number}  where it is */
  #addNode (node) {
    const at = this.#take(NODE_SIZE)
    const tree = this.#tree
    this.#nodes[at / NODE_SIZE] = node
    const keys = this.#take(node.keys.length * KEY_SIZE)
    tree.writeUInt32LE((node.slots.length > 0 ? HAS_SLOTS : 0) | (node.hasRange ? HAS_RANGE : 0), at)
    tree.writeUInt32LE(keys, at + 4)
    tree.writeUInt32LE(node.keys.length, at + 8)
    for (const [index, { bytes, child }] of node.keys.entries()) {
      const entry = keys + index * KEY_SIZE
      const rest = this.#take(restSize(bytes))
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

  /**
   * Takes as many records as there is room for.
   * @param {import('./extract').Records} records
   * @param {number} first  their index
   * @returns {number}  the index after the last one that was taken
   */
  take ({ buffer, count, starts, ends }, first) {
    const kernel = this.#kernel
    if (kernel.user !== this) this.#begin()
    const from = starts[first]
    let end = from
    let next = first
    for (; next < count && starts[next] >= end && ends[next] - from <= WINDOW_SIZE; next++) end = ends[next]
    kernel.window.set(buffer.subarray(from, end))
    this.#from = from
    return next
  }

  #begin () {
    const kernel = this.#kernel
    kernel.user = this
    kernel.tree.set(this.#tree)
    const [one, two, mask] = this.#hasher.seeds
    kernel.first.value = one
    kernel.second.value = two
    kernel.mask.value = mask
  }

  /**
   * Takes a record and scans it.
   * @param {Uint8Array} record
   * @param {number} start  in the buffer
   * @returns {number}  as `scan`
   */
  scanAlone (record, start) {
    if (record.length > WINDOW_SIZE) return -1
    if (this.#kernel.user !== this) this.#begin()
    this.#kernel.window.set(record)
    this.#from = start
    return this.scan(start, start + record.length)
  }

  /**
   * Scans a record that was taken.
   * @param {number} start  in the buffer
   * @param {number} end
   * @returns {number}  how many values it has found; -1 if the record is not a usual one
   */
  scan (start, end) {
    return this.#kernel.scan(WINDOW_AT + start - this.#from, WINDOW_AT + end - this.#from)
  }

  /** @param {number} index  of a value @returns {Node}  where it is */
  nodeOf (index) {
    return this.#nodes[this.#kernel.found[index * FOUND_WORDS] / NODE_SIZE]
  }

  /** @param {number} index */
  kindOf (index) {
    return this.#kernel.found[index * FOUND_WORDS + 1]
  }

  /** Where it begins in the buffer. @param {number} index */
  startOf (index) {
    return this.#kernel.found[index * FOUND_WORDS + 2] - WINDOW_AT + this.#from
  }

  /** @param {number} index */
  endOf (index) {
    return this.#kernel.found[index * FOUND_WORDS + 3] - WINDOW_AT + this.#from
  }

  /** Sets the hash of a text. @param {number} index */
  setHash (index) {
    const { found } = this.#kernel
    const hasher = this.#hasher
    hasher.low = found[index * FOUND_WORDS + 4]
    hasher.high = found[index * FOUND_WORDS + 5]
    hasher.short = found[index * FOUND_WORDS + 6]
  }
}

/** @param {Node} node @returns {number}  of its tree in the memory; Infinity if the kernel does not know such trees */
function treeSize ({ keys, indexes, each }) {
  if (indexes.length > 0) return Infinity
  const own = NODE_SIZE + (each === null ? 0 : treeSize(each))
  return keys.reduce((sum, { bytes, child }) => sum + KEY_SIZE + restSize(bytes) + treeSize(child), own)
}

/** What of a key is not in its entry. @param {Buffer} bytes */
function restSize ({ length }) {
  return length <= KEY_BYTES_SIZE ? 0 : Math.ceil(length / NODE_SIZE - 1) * NODE_SIZE
}

/**
 * @param {Node} root  of the declared paths
 * @param {Hasher} hasher
 * @returns {JsonScanner | null}  null without WebAssembly, or if it does not know such paths
 */
function createScanner (root, hasher) {
  const kernel = loadKernel()
  return kernel === null || NODE_SIZE + treeSize(root) > TREE_SIZE ? null : new JsonScanner(kernel, root, hasher)
}

exports.CONSTANTS = CONSTANTS
exports.NUMBER = NUMBER
exports.OBJECT = OBJECT
exports.OTHER_TEXT = OTHER_TEXT
exports.TEXT = TEXT
exports.createScanner = createScanner
