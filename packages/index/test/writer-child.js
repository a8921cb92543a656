'use strict'
// Writes a log with an index: does each step that it is told, and answers once that is done.

const { createRandom } = require('@millrace/testkit')
const { openState, steps } = require('./real-log')

/** @type {any} */
let state = null

process.on('message', async ({ given, name, seed }) => {
  state ??= openState(given)
  const { count } = state
  try {
    await steps[name](state, createRandom(seed))
    process.send?.({ count: state.count, appended: state.count - count, seqs: state.seqs })
  } catch (err) {
    process.send?.({ failure: `${name}: ${err}` })
  }
})
process.on('disconnect', () => process.exit())
