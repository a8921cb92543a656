'use strict'

const tape = require('tape')
const { Slice } = require('..')

function workFor (ms) {
  const until = performance.now() + ms
  while (performance.now() < until);
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

tape('slice: whoever goes on for long is told to wait, soon after its time, however long each thing takes', (t) => {
  for (const ms of [0.02, 0.3, 2, 7]) {
    const slice = new Slice()
    const started = performance.now()
    while (!slice.isOver()) workFor(ms)
    const took = performance.now() - started
    t.ok(took > 3, `${ms} ms each: ${took.toFixed(2)} ms`)
  }
  t.end()
})

tape('slice: it begins anew after a turn, whoever let others have it', async (t) => {
  const slice = new Slice()
  while (!slice.isOver()) workFor(0.1)
  await turn()
  await turn()
  let count = 0
  while (!slice.isOver()) {
    workFor(0.1)
    count++
  }
  t.ok(count > 1, `${count} things in the next slice`)
  // Who does one thing in a turn never has to wait.
  for (let i = 0; i < 10; i++) {
    await turn()
    await turn()
    workFor(1)
    t.notOk(slice.isOver())
  }
  t.end()
})
