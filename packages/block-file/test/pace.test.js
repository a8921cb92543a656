'use strict'
// When calls are made synchronously.

const { performance } = require('node:perf_hooks')
const tape = require('tape')
const { stopClock } = require('@millrace/testkit')
const { Pace } = require('../lib/whole-io')

/** @returns {number}  how many calls go through the pool after one that took so long */
function countAsync (pace, ms) {
  pace.note(ms)
  let count = 0
  for (; !pace.mayBlock(); count++) pace.noteAsync()
  return count
}

tape('Pace: one slow call sends the next ones through the pool, several soon after one another more of them', (t) => {
  const pace = new Pace({ asyncCountMin: 4, quickCountMin: 10 })
  t.ok(pace.mayBlock())
  t.deepEqual([5, 5, 5, 5, 5].map((ms) => countAsync(pace, ms)), [4, 8, 16, 32, 32])
  for (let left = 9; left > 0; left--) t.equal(countAsync(pace, 0.1), 0)
  t.equal(countAsync(pace, 5), 32, 'still soon')
  for (let left = 10; left > 0; left--) countAsync(pace, 0.1)
  t.equal(countAsync(pace, 5), 4)
  t.end()
})

tape('Pace: by default one slow call is enough, and one quick one makes up for it', (t) => {
  t.equal(countAsync(new Pace(), 1.5), 32)
  const pace = new Pace({ asyncCountMin: 1 })
  t.deepEqual([5, 5, 0, 5].map((ms) => countAsync(pace, ms)), [1, 2, 0, 1])
  t.end()
})

tape('Pace: short calls are timed together while they are quick, and one by one once that took long', (t) => {
  const clock = stopClock(t)
  const { now } = performance
  let looks = 0
  performance.now = () => { looks++; return now() }
  const pace = new Pace({ asyncCountMin: 4, quickCountMin: 64 })
  const drain = () => { while (!pace.mayBlock()) pace.noteAsync() }
  const call = (ms, count = 1) => {
    for (; count > 0 && pace.mayBlock(); count--) {
      const started = pace.begin()
      clock.pass(ms)
      pace.end(started)
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
