'use strict'
// The filter that every codec must equal, on values.

const { matches, parseWhere } = require('@millrace/where')

const PARSE_COUNT = 1000

/** @type {import('../shapes').Suite} */
module.exports = {
  name: 'where',
  order: 40,
  createTasks ({ messages, where }) {
    const conditions = parseWhere(where)
    return [
      {
        name: 'matches',
        count: messages.length,
        run: () => messages.reduce((hits, message) => hits + Number(matches(conditions, message)), 0)
      },
      {
        name: 'parseWhere',
        count: PARSE_COUNT,
        run () {
          let count = 0
          for (let index = 0; index < PARSE_COUNT; index++) count += parseWhere(where).length
          return count
        }
      }
    ]
  }
}
