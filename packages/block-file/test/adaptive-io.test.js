'use strict'
// When calls are made synchronously.

const { performance } = require('node:perf_hooks')
const tape = require('tape')
const { stopClock } = require('@millrace/testkit')
const { AdaptiveIo } = require('../lib/whole-io')

/** @returns {number}  how many calls go through the pool after one that took so long */
function countAsync (adaptiveIo, ms) {
  adaptiveIo.note(ms)
  let count = 0
  for (; !adaptiveIo.mayBlock(); count++) adaptiveIo.noteAsync()
  return count
}

tape('AdaptiveIo: one slow call sends the next ones through the pool, several soon after one another more of them', (t) => {
  const adaptiveIo = new AdaptiveIo({ asyncCountMin: 4, quickCountMin: 10 })
  t.ok(adaptiveIo.mayBlock())
  t.deepEqual([5, 5, 5, 5, 5].map((ms) => countAsync(adaptiveIo, ms)), [4, 8, 16, 32, 32])
  for (let left = 9; left > 0; left--) t.equal(countAsync(adaptiveIo, 0.1), 0)
  t.equal(countAsync(adaptiveIo, 5), 32, 'still soon')
  for (let left = 10; left > 0; left--) countAsync(adaptiveIo, 0.1)
  t.equal(countAsync(adaptiveIo, 5), 4)
  t.end()
})

tape('AdaptiveIo: by default one slow call is enough, and one quick one makes up for it', (t) => {
  t.equal(countAsync(new AdaptiveIo(), 1.5), 32)
  const adaptiveIo = new AdaptiveIo({ asyncCountMin: 1 })
  t.deepEqual([5, 5, 0, 5].map((ms) => countAsync(adaptiveIo, ms)), [1, 2, 0, 1])
  t.end()
})

tape('AdaptiveIo: short calls are timed together while they are quick, and one by one once that took long', (t) => {
  const clock = stopClock(t)
  const { now } = performance
  let looks = 0
  performance.now = () => { looks++; return now() }
  const adaptiveIo = new AdaptiveIo({ asyncCountMin: 4, quickCountMin: 64 })
  const drain = () => { while (!adaptiveIo.mayBlock()) adaptiveIo.noteAsync() }
  const call = (ms, count = 1) => {
    for (; count > 0 && adaptiveIo.mayBlock(); count--) {
      const started = adaptiveIo.begin()
      clock.pass(ms)
      adaptiveIo.end(started)
    }
    return count
  }
  t.equal(call(5, 2), 1, 'the first slow call is seen at once')
  drain()
  t.equal(call(0.01, 64), 0)
  looks = 0
  t.equal(call(0.01, 100), 0)
  t.equal(looks, 25)
  t.equal(call(5, 10), 5, 'after quick ones it is seen a few calls later')
  drain()
  t.equal(call(5, 2), 1, 'and then at once')
  drain()
  t.equal(call(0.01, 100), 0)
  for (let turn = 0; turn < 200; turn++) {
    clock.pass(50)
    if (call(0.01) > 0) t.fail('what lies between calls is taken for one')
  }
  t.equal(call(5, 2), 1, 'with time between them each is timed')
  t.end()
})
