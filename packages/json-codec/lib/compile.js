'use strict'
// A filter over raw bytes: a search for what every matching record must contain, then, if that is there, parse and
// compare. The search may let a record through that does not match; it must never hold back one that does.

const { parseWhere, matches } = require('@millrace/where')
const { createSearch } = require('./gram-search')
const { makeNeedles, mayMatch } = require('./prefilter')

/**
 * @typedef {import('@millrace/where').Condition} Condition
 * @typedef {import('./gram-search').Search} Search
 * @typedef {((buf: Buffer, start: number, end: number) => boolean) & { search?: Search }} Filter  with a search, where
 *   there is one, that goes over many records at once
 */

/**
 * @param {import('@millrace/where').Where} where
 * @returns {Filter}  whether the record in these bytes fulfils it; false for what is no JSON text. Reads nothing
 *   outside the bytes, never throws
 * @throws {TypeError} ERR_INVALID_ARGUMENT
 */
function compile (where) {
  const conditions = parseWhere(where)
  const needles = makeNeedles(conditions)
  /** @param {Buffer} record */
  const test = (record) => {
    if (!mayMatch(record, needles)) return false
    try {
      return matches(conditions, JSON.parse(record.toString()))
    } catch {
      return false // bytes that are no JSON text
    }
  }
  const search = createSearch(longestText(conditions))
  if (search === null) return (buf, start, end) => test(buf.subarray(start, end))
  /** @type {Filter} */
  const filter = (buf, start, end) => search(buf, start, end) >= 0 && test(buf.subarray(start, end))
  return Object.assign(filter, { search })
}

/**
 * @param {Condition[]} conditions
 * @returns {string}  of those that a record must have; empty when there is none
 */
function longestText (conditions) {
  const texts = conditions.flatMap(({ equals }) => typeof equals === 'string' ? equals : [])
  return texts.reduce((longest, text) => text.length > longest.length ? text : longest, '')
}

exports.compile = compile
