'use strict'
// Does anything to a log with an index until it is killed.

const { collect, createRandom } = require('@millrace/testkit')
const { openState, steps } = require('./real-log')

const STEPS = ['append', 'append', 'append', 'one', 'ready', 'ready', 'delete', 'compact', 'again', 'drop']

async function main ({ given, seed }) {
  const random = createRandom(seed)
  const state = openState({ ...given, seqs: [], count: 0 })
  state.seqs = await collect(state.log.stream({ values: false }))
  state.count = state.seqs.length
  process.send?.('open')
  for (;;) {
    const name = STEPS[random(STEPS.length)]
    if (name === 'again') {
      await state.log.close()
      state.open()
    } else {
      await steps[name](state, random)
    }
  }
}

process.on('message', (told) => {
  main(told).catch((err) => {
    console.error(err)
    process.exit(1)
  })
})
