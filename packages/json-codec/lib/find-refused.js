'use strict'
// Where in a value the part is that has no JSON text. JSON.stringify does not tell, so its way is gone again.

const { isBigIntObject } = require('node:util').types

/** Arrays and objects inside one another, as in binaryCodec. Engines differ in what they bear; all bear this. */
const DEPTH_MAX = 1000

/**
 * @param {unknown} value  that JSON.stringify refuses, or that is nested too deep
 * @returns {Array<string | number>}  the keys and indexes that lead to the part; empty if it is all of it
 */
function findRefused (value) {
  const search = new Search()
  search.visit({ '': value }, '')
  return search.path
}

class Search {
  constructor () {
    /** @type {Array<string | number>} to the value in hand, or to the one that was found */
    this.path = []
    /** @type {object[]} those around it */
    this._around = []
  }

  /**
   * @param {any} holder
   * @param {string | number} key
   * @returns {boolean}  whether it was found
   */
  visit (holder, key) {
    let value
    let keys
    try {
      value = resolve(holder[key], key)
      if (typeof value === 'bigint' || isBigIntObject(value)) return true
      if (typeof value !== 'object' || value === null) return false
      keys = Array.isArray(value) ? value.keys() : Object.keys(value)
    } catch {
      return true
    }
    if (this._around.includes(value) || this._around.length === DEPTH_MAX) return true
    this._around.push(value)
    for (const key of keys) {
      this.path.push(key)
      if (this.visit(value, key)) return true
      this.path.pop()
    }
    this._around.pop()
    return false
  }
}

/**
 * @param {any} value
 * @param {string | number} key
 */
function resolve (value, key) {
  const mayConvert = (typeof value === 'object' && value !== null) || typeof value === 'bigint'
  return mayConvert && typeof value.toJSON === 'function' ? value.toJSON(String(key)) : value
}

/**
 * @param {string} text  a JSON text
 * @returns {boolean}  whether something in it is nested deeper than DEPTH_MAX
 */
function isTooDeep (text) {
  // As a rule the engine, which searches faster, finds too few brackets for that.
  if (text.length <= 2 * DEPTH_MAX || !hasManyBrackets(text)) return false
  let depth = 0
  let isString = false
  for (let at = 0; at < text.length; at++) {
    const unit = text[at]
    if (isString && unit === '\\') at++
    else if (unit === '"') isString = !isString
    else if (isString) continue
    else if (unit === '[' || unit === '{') depth++
    else if (unit === ']' || unit === '}') depth--
    if (depth > DEPTH_MAX) return true
  }
  return false
}

/**
 * @param {string} text
 * @returns {boolean}  whether there are more than DEPTH_MAX that open something
 */
function hasManyBrackets (text) {
  let count = 0
  for (const bracket of ['{', '[']) {
    for (let at = text.indexOf(bracket); at >= 0; at = text.indexOf(bracket, at + 1)) {
      if (++count > DEPTH_MAX) return true
    }
  }
  return false
}

exports.findRefused = findRefused
exports.isTooDeep = isTooDeep
exports.DEPTH_MAX = DEPTH_MAX
