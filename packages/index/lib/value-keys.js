'use strict'
// The keys of a decoded value: for codecs whose bytes are not read in place. It also says what the others must find.

const { findTime, toInstant } = require('@millrace/where')
const { FALSE, NULL, TRUE } = require('./hash')

/**
 * @typedef {import('./hash').Hasher} Hasher
 * @typedef {import('./paths').Node} Node
 * @typedef {import('./block').KeySink} KeySink
 */

/**
 * Notes the keys of a value in a block.
 * @param {Node} node  of the place of the value
 * @param {any} value
 * @param {Hasher} hasher
 * @param {KeySink} block
 */
function addValue (node, value, hasher, block) {
  if (node.slots.length > 0) addOwn(node, value, hasher, block)
  if (Array.isArray(value)) {
    for (const { index, child } of node.indexes) if (index < value.length) addValue(child, value[index], hasher, block)
    if (node.each !== null) for (const element of value) addValue(node.each, element, hasher, block)
  } else if (value !== null && typeof value === 'object' && !ArrayBuffer.isView(value)) {
    for (const { text, child } of node.keys) if (Object.hasOwn(value, text)) addValue(child, value[text], hasher, block)
  }
}

/** @type {typeof addValue} */
function addOwn (node, value, hasher, block) {
  const { slots, hasRange } = node
  switch (typeof value) {
    case 'string':
      hasher.hashText(value)
      block.addKey(slots, hasher)
      if (hasRange) addTime(slots, value, block)
      break
    case 'number':
      addNumber(node, value, hasher, block)
      break
    case 'boolean':
      addConstant(slots, value ? TRUE : FALSE, hasher, block)
      break
    case 'object':
      if (value === null) addConstant(slots, NULL, hasher, block)
      else if (hasRange) addTime(slots, value, block)
      break
    case 'bigint':
      if (hasRange) addTime(slots, value, block)
  }
}

/** @type {(node: Node, value: number, hasher: Hasher, block: KeySink) => void} */
function addNumber ({ slots }, value, hasher, block) {
  // NaN equals nothing, and is in no range.
  if (Number.isNaN(value)) return
  hasher.hashNumber(value)
  block.addNumber(slots, value, hasher)
}

/** @type {(slots: number[], kind: number, hasher: Hasher, block: KeySink) => void} */
function addConstant (slots, kind, hasher, block) {
  hasher.hashConstant(kind)
  block.addKey(slots, hasher)
}

/**
 * What a filter by `time` finds in a value that is no number. That of a number follows from the number.
 * @param {number[]} slots
 * @param {unknown} value
 * @param {KeySink} block
 */
function addTime (slots, value, block) {
  const ms = toInstant(value)?.ms ?? findTime(value)?.ms
  if (ms !== undefined) block.addTime(slots, ms)
}

exports.addConstant = addConstant
exports.addNumber = addNumber
exports.addTime = addTime
exports.addValue = addValue
