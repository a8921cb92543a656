'use strict'
// BackPressure alone: what waits, when callers should wait, and when they are refused. The contract has it in a log.

const tape = require('tape')
const { collectThrown } = require('@millrace/testkit')
const { BackPressure } = require('../composing')

const create = (maxPendingSize = Infinity, drainSize = 100) => new BackPressure(maxPendingSize, 'log', drainSize)

tape('needsDrain: above the given size, and above half of the limit', (t) => {
  const free = create()
  free.reserve(100)
  t.notOk(free.needsDrain)
  free.reserve(1)
  t.ok(free.needsDrain)
  const limited = create(100, undefined)
  limited.reserve(50)
  t.notOk(limited.needsDrain)
  limited.reserve(1)
  t.ok(limited.needsDrain)
  t.end()
})

tape('overload: all that are refused get one error, until something is free', (t) => {
  const one = create(100)
  one.reserve(99)
  t.equal(one.overload, null)
  one.reserve(1)
  const err = one.overload
  t.equal(err.code, 'ERR_LOG_OVERLOADED')
  t.match(err.message, /^append: 100 bytes wait to be appended to log, and maxPendingSize is 100;/)
  one.reserve(50)
  t.equal(one.overload, err)
  one.free(51)
  t.equal(one.overload, null)
  one.reserve(1)
  t.notEqual(one.overload, err)
  t.equal(one.size, 100)
  t.end()
})

tape('whenDrained: runs at once if nothing need wait, and otherwise later, each although another one throws', async (t) => {
  const one = create()
  const ran = []
  const thrown = await collectThrown(async () => {
    one.whenDrained(() => ran.push('at once'))
    one.reserve(101)
    one.whenDrained(() => ran.push('first'))
    one.whenDrained(() => { throw new Error('planned') })
    one.whenDrained(() => ran.push('last'))
    one.free(0)
    t.deepEqual(ran, ['at once'])
    one.free(1)
    t.deepEqual(ran, ['at once'], 'never from within free')
  })
  t.deepEqual(ran, ['at once', 'first', 'last'])
  t.deepEqual(thrown, { exceptions: ['planned'], rejections: [] })
})
