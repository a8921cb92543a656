'use strict'
// Describes values in bounded space: as one line of text for a list, and as a tree whose parts are fetched one by one.
// A record may hold 10 MB of text or a million members, and the page must show it all the same.

const STRING_SIZE_MAX = 2000
const STRING_PART_SIZE = 20_000
const MEMBER_COUNT_MAX = 100
const NODE_COUNT_MAX = 1000
const DEPTH_MAX = 4
const BYTE_COUNT_MAX = 32

/**
 * @typedef {object} TreeNode
 * @property {'object' | 'array' | 'string' | 'bytes' | 'number' | 'bigint' | 'boolean' | 'null' | 'undefined'} kind
 * @property {number} [size]  how many members, characters or bytes there are
 * @property {string} [text]  a scalar's text; of a long string the part that begins at `from`
 * @property {Array<[string | number, TreeNode]>} [members]  the first ones, or those from `from` on; left out where the
 *   tree is cut
 * @property {number} [from]  index of the first character or member; left out if it is 0
 */

/**
 * @param {unknown} value
 * @param {number} sizeMax  in characters
 * @returns {string}  one line, like JSON, that ends with an ellipsis if it is cut
 */
function summarize (value, sizeMax) {
  /** @type {string[]} */
  const parts = []
  let room = sizeMax
  const add = (/** @type {string} */ text) => {
    parts.push(text)
    room -= text.length
  }
  const write = (/** @type {unknown} */ value, /** @type {number} */ depth) => {
    if (room < 0) return
    if (typeof value === 'string') return add(JSON.stringify(value.length > room ? value.slice(0, room + 1) : value))
    if (value === null || typeof value !== 'object') return add(scalarText(value))
    if (ArrayBuffer.isView(value)) return add(bytesText(value))
    if (depth === 0) return add('…')
    const isArray = Array.isArray(value)
    add(isArray ? '[' : '{')
    let isFirst = true
    for (const key of isArray ? value.keys() : Object.keys(value)) {
      if (room < 0) break
      add(`${isFirst ? '' : ','}${isArray ? '' : `${JSON.stringify(key).slice(0, room + 2)}:`}`)
      write(/** @type {any} */ (value)[key], depth - 1)
      isFirst = false
    }
    add(isArray ? ']' : '}')
  }
  write(value, 100)
  const line = parts.join('')
  return line.length > sizeMax ? `${line.slice(0, sizeMax)}…` : line
}

/**
 * @param {unknown} value
 * @param {number} [from]  the first member, or the first character, to describe
 * @returns {TreeNode}
 */
function outline (value, from = 0) {
  let left = NODE_COUNT_MAX
  const describe = (/** @type {unknown} */ value, /** @type {number} */ from, /** @type {number} */ depth) => {
    left--
    const node = describeOne(value, from)
    if (node.kind !== 'object' && node.kind !== 'array') return node
    if (depth === 0 || left <= 0) return node
    const keys = node.kind === 'array' ? null : Object.keys(/** @type {object} */ (value))
    const end = Math.min(/** @type {number} */ (node.size), from + MEMBER_COUNT_MAX)
    node.members = []
    for (let index = from; index < end; index++) {
      const key = keys === null ? index : keys[index]
      node.members.push([key, describe(/** @type {any} */ (value)[key], 0, depth - 1)])
    }
    return node
  }
  return describe(value, from, DEPTH_MAX)
}

/**
 * @param {unknown} value
 * @param {number} from
 * @returns {TreeNode}
 */
function describeOne (value, from) {
  const start = from > 0 ? { from } : {}
  if (typeof value === 'string') {
    const end = from + (from > 0 ? STRING_PART_SIZE : STRING_SIZE_MAX)
    return { kind: 'string', size: value.length, text: value.slice(from, end), ...start }
  }
  if (value === null) return { kind: 'null', text: 'null' }
  if (typeof value !== 'object') return { kind: /** @type {any} */ (typeof value), text: scalarText(value) }
  if (ArrayBuffer.isView(value)) return { kind: 'bytes', size: value.byteLength, text: bytesText(value) }
  if (Array.isArray(value)) return { kind: 'array', size: value.length, ...start }
  return { kind: 'object', size: Object.keys(value).length, ...start }
}

/**
 * @param {unknown} value
 * @param {Array<string | number>} path
 * @returns {{ found: boolean, value?: unknown }}
 */
function descend (value, path) {
  for (const key of path) {
    if (value === null || typeof value !== 'object' || !Object.hasOwn(value, key)) return { found: false }
    value = /** @type {any} */ (value)[key]
  }
  return { found: true, value }
}

/** @param {unknown} value */
function scalarText (value) {
  if (typeof value === 'bigint') return `${value}n`
  return Object.is(value, -0) ? '-0' : String(value)
}

/** @param {ArrayBufferView} view */
function bytesText ({ buffer, byteOffset, byteLength }) {
  const hex = Buffer.from(buffer, byteOffset, Math.min(byteLength, BYTE_COUNT_MAX)).toString('hex')
  return `<${byteLength} bytes ${hex}${byteLength > BYTE_COUNT_MAX ? '…' : ''}>`
}

exports.summarize = summarize
exports.outline = outline
exports.descend = descend
