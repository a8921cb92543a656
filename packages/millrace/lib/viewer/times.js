'use strict'
// The time of a record: wherever a logger writes it, or at the path that the user has named.

const { findTime, toInstant } = require('@millrace/where')
const { descend } = require('./outline')

/**
 * @param {unknown} value  of a record
 * @param {string[] | null} path  null: wherever it is
 * @returns {number | null}  ms since 1970; null if there is no time
 */
function readTime (value, path) {
  const found = path === null ? findTime(value) : toInstant(descend(value, path).value)
  return found?.ms ?? null
}

exports.readTime = readTime
