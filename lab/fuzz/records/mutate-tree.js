'use strict'
// Tampers with a record as a tree: what it says of itself goes on fitting together, except for the one thing.

const { STRING, ARRAY, OBJECT, EXTENSION, listNodes } = require('./tree')
const { keyPayloads, makeScalar, makeTree, pick, randomBytes } = require('./make-tree')

/**
 * @typedef {import('./tree').Node} Node
 * @typedef {(limit: number) => number} Random
 */

const EXCESSES = [
  -9, -2, -1, 1, 2, 7, 127, 128, 16384, 2 ** 21, 2 ** 25, 2 ** 28 - 1, 2 ** 28, 2 ** 31, 2 ** 32 - 1, 2 ** 40
]
const SUBTYPES = [0, 1, 2, 3, 255]

/**
 * @param {Random} random
 * @param {Node} root  changed in place
 */
function mutateTree (random, root) {
  const nodes = listNodes(root)
  for (let edits = 1 + random(3); edits > 0; edits--) {
    const node = pick(random, nodes)
    if (node.children && random(3) > 0) tamperWithChildren(random, node, pick(random, nodes))
    else tamperWithNode(random, node)
  }
}

/**
 * @param {Random} random
 * @param {Node} node
 */
function tamperWithNode (random, node) {
  switch (random(7)) {
    case 0: node.excess = pick(random, EXCESSES); break
    case 1: node.padding = 1 + random(5); break
    case 2: node.type = random(8); break
    case 3: if (node.payload) node.payload = resize(random, node.payload); break
    case 4: if (node.payload) node.payload = flip(random, node.payload); break
    case 5: Object.assign(node, makeScalar(random)); break
    default: Object.assign(node, hostileExtension(random))
  }
}

/**
 * @param {Random} random
 * @param {Node} node  with children
 * @param {Node} other  of the same tree
 */
function tamperWithChildren (random, node, other) {
  const children = /** @type {Node[]} */ (node.children)
  const step = node.type === OBJECT ? 2 : 1
  const at = children.length === 0 ? 0 : random(children.length / step) * step
  switch (random(8)) {
    // Twice the same key, with another value.
    case 0: children.push(...children.slice(at, at + 1), makeScalar(random)); break
    case 1: children.push(...children.splice(at, step)); break
    case 2: children.splice(random(children.length + 1), 1); break
    case 3: children.splice(random(children.length + 1), 0, makeTree(random, 1)); break
    case 4: if (node.type === OBJECT && children.length > 0) children[at] = hostileKey(random, children); break
    // Not deeper than it is: the same node in two places makes no circle.
    case 5: if (other.children === null) children.push(other); break
    case 6: children.reverse(); break
    default: Object.assign(node, { type: node.type === OBJECT ? ARRAY : OBJECT })
  }
}

/**
 * @param {Random} random
 * @param {Node[]} children
 * @returns {Node}
 */
function hostileKey (random, children) {
  switch (random(4)) {
    case 0: return { type: STRING, payload: pick(random, keyPayloads), children: null }
    // Invalid UTF-8: some of it decodes to the same text.
    case 1: return { type: STRING, payload: Buffer.from([pick(random, [0x80, 0xc0, 0xff, 0xed])]), children: null }
    case 2: return { type: STRING, payload: flip(random, children[0].payload ?? Buffer.from('a')), children: null }
    default: return makeScalar(random)
  }
}

/**
 * @param {Random} random
 * @returns {Node}
 */
function hostileExtension (random) {
  const payload = Buffer.concat([Buffer.from([pick(random, SUBTYPES)]), randomBytes(random, random(12))])
  if (random(2) === 0) payload[payload.length - 1] = 0
  return { type: EXTENSION, payload, children: null }
}

/**
 * @param {Random} random
 * @param {Buffer} payload
 */
function resize (random, payload) {
  if (random(2) === 0) return payload.subarray(0, random(payload.length + 1))
  return Buffer.concat([payload, random(2) === 0 ? Buffer.alloc(1 + random(3)) : randomBytes(random, 1 + random(3))])
}

/**
 * @param {Random} random
 * @param {Buffer} payload
 */
function flip (random, payload) {
  const flipped = Buffer.from(payload)
  if (flipped.length > 0) flipped[random(flipped.length)] ^= 1 << random(8)
  return flipped
}

exports.mutateTree = mutateTree
