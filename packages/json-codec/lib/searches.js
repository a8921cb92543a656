'use strict'
// Searches, through the bytes of many records at once, for what each condition of a filter needs a record to have.

const { createByteSearch } = require('@millrace/where')
const { createSearch: createLongSearch } = require('./gram-search')
const { ESCAPE, makeNeedle } = require('./prefilter')

/**
 * @param {import('@millrace/where').Condition[]} conditions
 * @returns {import('@millrace/where').Search[]}  each for what a record that fulfils them all contains
 */
function createSearches (conditions) {
  return conditions.map(createSearch).filter((search) => search !== null)
}

/** @param {import('@millrace/where').Condition} condition */
function createSearch (condition) {
  const { equals, exists } = condition
  if (exists === false) return null
  const long = typeof equals === 'string' ? createLongSearch(equals) : null
  if (long !== null) return long
  const needle = makeNeedle(condition)
  if (needle === null) return null
  return createByteSearch(needle.escapable ? [needle.bytes, ESCAPE] : [needle.bytes])
}

exports.createSearches = createSearches
