'use strict'
// Visits the items of a list one after the other, however soon or late each is done.

const { trampoline } = require('@millrace/block-file')

/**
 * @template T
 * @param {T[]} list
 * @param {(item: T, done: (err: Error | null) => void) => void} visit
 * @param {(err: Error | null) => void} cb  the first error ends it
 */
function eachInOrder (list, visit, cb) {
  let index = 0
  trampoline((next) => {
    if (index === list.length) return cb(null)
    visit(list[index++], (err) => err ? cb(err) : next())
  })
}

exports.eachInOrder = eachInOrder
