'use strict'

const tape = require('tape')
const { TimeSlice } = require('@millrace/flow')
const { stopClock } = require('@millrace/testkit')

const turn = () => new Promise((resolve) => setImmediate(resolve))

tape('slice: whoever goes on for long is told to wait, soon after its time, however long each thing takes', (t) => {
  const clock = stopClock(t)
  for (const ms of [0.001, 0.02, 0.3, 2, 7]) {
    const slice = new TimeSlice()
    const started = performance.now()
    while (!slice.isOver()) clock.pass(ms)
    const took = performance.now() - started
    t.ok(took > 2 && took < 2 + Math.max(1, 2 * ms), `${ms} ms each: ${took.toFixed(2)} ms`)
  }
  t.end()
})

tape('slice: it begins anew after a turn, whoever let others have it', async (t) => {
  const clock = stopClock(t)
  const slice = new TimeSlice()
  while (!slice.isOver()) clock.pass(0.1)
  await turn()
  await turn()
  let count = 0
  while (!slice.isOver()) {
    clock.pass(0.1)
    count++
  }
  t.ok(count > 10, `${count} things in the next slice`)
  // Who does one thing in a turn never has to wait.
  for (let i = 0; i < 10; i++) {
    await turn()
    await turn()
    clock.pass(1)
    t.notOk(slice.isOver())
  }
  t.end()
})
