'use strict'

const { randomInt } = require('node:crypto')
const tape = require('tape')
const { collect, createRandom, failureOf } = require('@millrace/testkit')
const { SourceIterator } = require('../lib/source')

const seed = randomInt(2 ** 31)
const iterate = (read) => new SourceIterator({ read })

/** A source of numbers that answers at once or later, and complains when it is asked while it answers. */
function createSource (count, { isLater = () => false, end = true } = {}) {
  let [next, isBusy] = [0, false]
  let abort = null
  const source = (reason, cb) => {
    if (reason) {
      abort?.()
      return cb(reason)
    }
    if (isBusy) throw new Error('asked while it answers')
    isBusy = true
    const answer = () => {
      abort = null
      isBusy = false
      if (next < count) cb(null, next++)
      else cb(end)
    }
    if (!isLater()) return answer()
    const timer = setImmediate(answer)
    const answered = cb
    abort = () => {
      clearImmediate(timer)
      isBusy = false
      answered(true)
    }
  }
  return source
}

tape(`async iterator: every item, in order, however it is answered (seed ${seed})`, async (t) => {
  const random = createRandom(seed)
  for (let round = 0; round < 200; round++) {
    const count = random(30)
    const rarity = 1 + random(4)
    const source = createSource(count, { isLater: () => random(rarity) === 0 })
    const found = await collect(iterate(source))
    if (found.length !== count || found.some((item, index) => item !== index)) t.fail(`${found} of ${count}`)
  }
  t.end()
})

tape('async iterator: many who ask at once are answered in order', async (t) => {
  for (const isLater of [() => false, () => true]) {
    const iterator = iterate(createSource(1000, { isLater }))
    const asked = Array.from({ length: 1100 }, () => iterator.next())
    const results = await Promise.all(asked)
    t.deepEqual(results.slice(0, 1000).map(({ value }) => value), Array.from({ length: 1000 }, (_, index) => index))
    t.ok(results.slice(1000).every(({ done, value }) => done && value === undefined))
  }
  // A hundred thousand, of which the first is answered later: no stack is deep enough for one in the other.
  let isFirst = true
  const iterator = iterate(createSource(100_000, { isLater: () => isFirst && !(isFirst = false) }))
  const results = await Promise.all(Array.from({ length: 100_000 }, () => iterator.next()))
  t.equal(results[99_999].value, 99_999)
})

tape('async iterator: an error is told once, to who asked when it came', async (t) => {
  for (const isLater of [() => false, () => true]) {
    const failure = new Error('mine')
    const iterator = iterate(createSource(2, { isLater, end: failure }))
    await iterator.next()
    await iterator.next()
    t.equal(await failureOf(() => iterator.next()), failure)
    t.deepEqual(await iterator.next(), { done: true, value: undefined })
  }
})

tape('async iterator: return ends the read that is under way, and all that wait', async (t) => {
  const iterator = iterate(createSource(10, { isLater: () => true }))
  const waiting = [iterator.next(), iterator.next()]
  t.deepEqual(await iterator.return('over'), { done: true, value: 'over' })
  t.deepEqual(await Promise.all(waiting), Array(2).fill({ done: true, value: undefined }))
  t.deepEqual(await iterator.next(), { done: true, value: undefined })
  t.equal(iterator[Symbol.asyncIterator](), iterator)
})

tape('async iterator: throw ends it, and is rejected with what it was given', async (t) => {
  for (const isLater of [() => false, () => true]) {
    let ends = 0
    const inner = createSource(10, { isLater })
    const iterator = iterate((abort, cb) => {
      if (abort) ends++
      inner(abort, cb)
    })
    const delegate = async function * () { yield * iterator }
    const outer = delegate()
    await outer.next()
    const reason = new Error('mine')
    t.equal(await failureOf(() => outer.throw(reason)), reason)
    t.equal(ends, 1)
  }
  const waiting = iterate(createSource(10, { isLater: () => true }))
  const next = waiting.next()
  t.equal(await failureOf(() => waiting.throw('text')), 'text')
  t.deepEqual(await next, { done: true, value: undefined })
})
