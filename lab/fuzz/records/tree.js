'use strict'
// A binary record as a tree of its values, written and read by the README of the codec alone: what is tampered with in
// the tree gets lengths that fit again, so that a reader comes as far as to see it.

const STRING = 0
const BUFFER = 1
const INT = 2
const DOUBLE = 3
const ARRAY = 4
const OBJECT = 5
const BOOLNULL = 6
const EXTENSION = 7

/**
 * @typedef {object} Node
 * @property {number} type
 * @property {Buffer | null} payload  of a value without children
 * @property {Node[] | null} children  of an object the keys and values in turn
 * @property {number} [excess]  how much more than there is its length says
 * @property {number} [padding]  by how many bytes its tag is longer than it needs
 */

const SCRATCH = Buffer.alloc(4 * 1024 * 1024)

/**
 * @param {Node} root
 * @returns {Buffer}
 */
function writeTree (root) {
  const start = writeBefore(root, SCRATCH.length)
  return Buffer.from(SCRATCH.subarray(start))
}

/**
 * From the end to the start: then every length is known when it is its turn.
 * @param {Node} node
 * @param {number} end
 * @returns {number}  where it begins
 */
function writeBefore ({ type, payload, children, excess = 0, padding = 0 }, end) {
  let at = end
  if (children) {
    for (let index = children.length - 1; index >= 0; index--) at = writeBefore(children[index], at)
  } else if (payload) {
    at -= payload.length
    payload.copy(SCRATCH, at)
  }
  const tag = Math.max(0, end - at + excess) * 8 + type
  at -= tagSize(tag) + padding
  writeTag(SCRATCH, at, tag, padding)
  return at
}

/** @param {number} tag */
function tagSize (tag) {
  let size = 1
  for (let rest = Math.floor(tag / 128); rest > 0; rest = Math.floor(rest / 128)) size++
  return size
}

/**
 * @param {Buffer} buf
 * @param {number} at
 * @param {number} tag  as large as you like
 * @param {number} padding
 */
function writeTag (buf, at, tag, padding) {
  for (let left = tagSize(tag) + padding; left > 1; left--) {
    buf[at++] = tag % 128 + 128
    tag = Math.floor(tag / 128)
  }
  buf[at] = tag
}

/**
 * @param {Node} root
 * @returns {Node[]}  it and all that is in it
 */
function listNodes (root) {
  const nodes = [root]
  for (let index = 0; index < nodes.length; index++) nodes.push(...nodes[index].children ?? [])
  return nodes
}

exports.STRING = STRING
exports.BUFFER = BUFFER
exports.INT = INT
exports.DOUBLE = DOUBLE
exports.ARRAY = ARRAY
exports.OBJECT = OBJECT
exports.BOOLNULL = BOOLNULL
exports.EXTENSION = EXTENSION
exports.listNodes = listNodes
exports.writeTree = writeTree
