'use strict'
// What is asked of a hostile log.

const { hostileNumber } = require('../numbers')

/**
 * @param {(limit: number) => number} random
 * @param {number[]} near  numbers of the file at hand
 * @returns {import('./question-log').Plan}
 */
function makePlan (random, near) {
  const numberOf = () => random(30) === 0 ? -1 - random(2) / 2 : hostileNumber(random, near)
  return {
    flags: random(6) === 0 ? 'r+' : 'r',
    verify: random(5) > 0,
    onCorrupt: random(4) === 0 ? 'skip' : 'error',
    maxRecordSize: random(12) === 0 ? 1 + random(200) : 2 ** 30,
    seqs: [numberOf(), numberOf()],
    bound: numberOf(),
    append: random(20) === 0 ? random(30000) : 1 + random(60),
    deletes: random(3) === 0,
    pick: random(2 ** 30),
    isSteady: false,
    order: 'never',
    known: null
  }
}

exports.makePlan = makePlan
