'use strict'
// When calls are made synchronously.

const tape = require('tape')
const { Pace } = require('../lib/pace')

/** @returns {number}  how many calls go through the pool after one that took so long */
function countAsync (pace, ms) {
  pace.note(ms)
  let count = 0
  while (!pace.mayBlock()) count++
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
