// @ts-nocheck
'use strict'
// Appends with conditions until it is killed, and tells what was accepted.

const { createRandom } = require('@millrace/testkit')
const { History, openLog } = require('./history')

async function main ({ setting, file, seed, first }) {
  const random = createRandom(seed)
  const log = openLog(setting, file)
  await log.ready()
  process.send?.({ isOpen: true })
  const history = new History(first)
  const onAccepted = (/** @type {number} */ batch) => process.send?.({ batch })
  for (;;) {
    await history.play(log, setting, random, { callerCount: 8, stepCount: 10, onAccepted })
    for (const fault of history.faults.splice(0)) process.send?.({ fault })
  }
}

process.on('message', (told) => {
  main(told).catch((err) => {
    console.error(err)
    process.exit(1)
  })
})
// Nobody ends a child whose parent is gone.
process.on('disconnect', () => process.exit(1))
