'use strict'
// Which key comes after which: a branch for each order of keys that was met. Most objects of a log have the keys of
// another, in its order: so the next key is known before it is read, and that it did not come before in its object.

const BRANCHES_MAX = 8
/** Keys of an object beyond these are looked up one by one. */
const DEPTH_MAX = 32
/** So many keys that no branch had: the tree is of another time then, and grows anew. It never has more nodes. */
const MISSES_MAX = 2000

/** @typedef {import('./text').TextBuffer} TextBuffer */

class KeyNode {
  /**
   * @param {string} key
   * @param {number} tag
   * @param {Uint8Array} bytes
   * @param {number} depth
   */
  constructor (key, tag, bytes, depth) {
    this.key = key
    this.tag = tag
    this.bytes = bytes
    this.depth = depth
    /** @type {KeyNode | null} the branch that was taken last: often it is taken again */
    this.last = null
    /** @type {KeyNode[]} */
    this.branches = []
  }
}

let misses = 0
let root = new KeyNode('', 0, new Uint8Array(0), 0)

/** @returns {KeyNode}  where every object begins */
function firstNode () {
  return root
}

/**
 * @param {KeyNode} node
 * @param {Uint8Array} buf
 * @param {number} pos  of a key's bytes
 * @param {number} tag  of the key
 * @returns {KeyNode | null}  that of the key, when it came after these keys before
 */
function nextNode (node, buf, pos, tag) {
  const { last } = node
  if (last === null) return null
  return last.tag === tag && equalBytes(buf, pos, last.bytes) ? last : findBranch(node, buf, pos, tag)
}

/** @type {(node: KeyNode, buf: Uint8Array, pos: number, tag: number) => KeyNode | null} */
function findBranch (node, buf, pos, tag) {
  const { branches } = node
  for (let index = 0; index < branches.length; index++) {
    const branch = branches[index]
    if (branch.tag !== tag || !equalBytes(buf, pos, branch.bytes)) continue
    node.last = branch
    return branch
  }
  return null
}

/**
 * @param {KeyNode} node
 * @param {string} key  that no branch has, nor the way to it: the string of these bytes
 * @param {Uint8Array} buf
 * @param {number} pos
 * @param {number} end
 * @param {number} tag
 * @returns {KeyNode | null}  that of the key; null when there is no room
 */
function addNode (node, key, buf, pos, end, tag) {
  if (++misses === MISSES_MAX) {
    misses = 0
    root = new KeyNode('', 0, new Uint8Array(0), 0)
  }
  if (node.branches.length === BRANCHES_MAX || node.depth === DEPTH_MAX) return null
  const branch = new KeyNode(key, tag, Uint8Array.from(buf.subarray(pos, end)), node.depth + 1)
  node.branches.push(branch)
  node.last = branch
  return branch
}

/** @type {(buf: Uint8Array, pos: number, bytes: Uint8Array) => boolean} */
function equalBytes (buf, pos, bytes) {
  for (let i = 0; i < bytes.length; i++) if (buf[pos + i] !== bytes[i]) return false
  return true
}

exports.firstNode = firstNode
exports.nextNode = nextNode
exports.addNode = addNode
