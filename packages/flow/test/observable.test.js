'use strict'
// Observables, against obz: the same calls in the same order, for all that obz does rightly.

const createObz = require('obz')
const tape = require('tape')
const { createObservable } = require('@millrace/flow')
const { createRandom } = require('@millrace/testkit')

const seed = Date.now() % 2 ** 31

/** What listeners of an observable hear, while random things are done to it. */
function drive (create, random) {
  const calls = []
  const observable = create()
  const removes = []
  let count = 0
  for (let step = 0; step < 60; step++) {
    const name = count++
    const immediately = [undefined, true, false][random(3)]
    const leaves = random(4) === 0
    const what = random(5)
    if (what === 0) {
      removes.push(observable((value) => {
        calls.push(`${name}: ${value}`)
        return leaves ? false : undefined
      }, immediately))
    } else if (what === 1) {
      removes.push(observable.once((value) => calls.push(`${name} once: ${value}`), immediately))
    } else if (what === 2 && removes.length > 0) {
      removes[random(removes.length)]()
    } else {
      observable.set(random(3) === 0 ? -1 : step)
      calls.push(`value ${observable.value}`)
    }
  }
  return calls
}

tape(`observable: as obz (seed ${seed})`, (t) => {
  for (let round = 0; round < 300; round++) {
    const ours = drive(createObservable, createRandom(seed + round))
    const theirs = drive(createObz, createRandom(seed + round))
    if (ours.join() !== theirs.join()) t.deepEqual(ours, theirs, `round ${round}`)
  }
  t.equal(createObservable().value, undefined)
  t.end()
})

tape('observable: one listener that throws takes nothing from the others', (t) => {
  const observable = createObservable()
  const calls = []
  const thrown = []
  const listeners = process.listeners('uncaughtException')
  process.removeAllListeners('uncaughtException')
  process.on('uncaughtException', (err) => thrown.push(err.message))
  const fail = (what) => () => { throw new Error(what) }
  observable(fail('a listener'))
  observable((value) => calls.push(value))
  observable.once(fail('one that is called once'))
  observable.once((value) => calls.push(`once ${value}`))
  observable.set(1)
  t.deepEqual(calls, [1, 'once 1'])
  setTimeout(() => {
    process.removeAllListeners('uncaughtException')
    for (const listener of listeners) process.on('uncaughtException', listener)
    t.deepEqual(thrown, ['a listener', 'one that is called once'], 'and is heard of')
    t.end()
  }, 10)
})

tape('observable: one that sets the next value takes nothing from those that are called once', (t) => {
  const observable = createObservable()
  const calls = []
  observable.once(() => observable.set(2))
  observable.once((value) => calls.push(value))
  observable.set(1)
  t.deepEqual(calls, [2])
  t.equal(observable.value, 2)
  t.end()
})
