'use strict'
// Streams that go on with what is appended later.

const { collect } = require('./helpers')

/** @param {import('../log-suite').Suite} suite */
function addTests ({ test }) {
  test('live: old records first, then new ones as they come', async (t, create) => {
    const log = create()
    await log.append(['a', 'b'])
    const values = log.stream({ live: true, seqs: false })[Symbol.asyncIterator]()
    t.equal((await values.next()).value, 'a')
    t.equal((await values.next()).value, 'b')
    const third = values.next()
    await log.append('c')
    t.equal((await third).value, 'c')
    const fourth = values.next()
    t.ok((await values.return()).done, 'an abort does not wait for an append')
    t.ok((await fourth).done, 'and ends the read that waited')
    await log.close()
  })

  test('live: old: false begins with what is appended after the call', async (t, create) => {
    const log = create()
    await log.append('a')
    const values = log.stream({ old: false, seqs: false })[Symbol.asyncIterator]()
    await log.append('b')
    t.equal((await values.next()).value, 'b')
    await log.append(['c', 'd'])
    t.equal((await values.next()).value, 'c')
    t.equal((await values.next()).value, 'd')
    await values.return()
    await log.close()
  })

  test('live: a lower bound past the end waits for it', async (t, create) => {
    const log = create()
    const first = await log.append('a')
    const values = log.stream({ gt: first + 1, live: true, seqs: false })[Symbol.asyncIterator]()
    const next = values.next()
    await log.append('b')
    t.equal((await next).value, 'b')
    await values.return()
    await log.close()
  })

  test('live: ends when an upper bound is passed, and at a limit', async (t, create) => {
    const log = create()
    const first = await log.append('a')
    const bounded = collect(log.stream({ live: true, lte: first, seqs: false }))
    const limited = collect(log.stream({ live: true, limit: 2, seqs: false }))
    await log.append(['b', 'c'])
    t.deepEqual(await bounded, ['a'])
    t.deepEqual(await limited, ['a', 'b'])
    await log.close()
  })

  test('live: a filter and deleted records do not end it', async (t, create) => {
    const log = create()
    const values = log.stream({ live: true, seqs: false, where: { path: ['n'], equals: 3 } })[Symbol.asyncIterator]()
    const next = values.next()
    for (const n of [1, 2, 3]) await log.append({ n })
    t.deepEqual((await next).value, { n: 3 })
    await values.return()
    await log.close()
  })

  test('live: many readers each see every record, in order', async (t, create) => {
    const log = create()
    const readers = Array.from({ length: 10 }, () => collect(log.stream({ live: true, limit: 300, seqs: false })))
    const values = Array.from({ length: 300 }, (_, i) => i)
    for (const value of values) log.append(value)
    for (const seen of await Promise.all(readers)) t.deepEqual(seen, values)
    await log.close()
  })

  test('live: closing the log ends it', async (t, create) => {
    const log = create()
    await log.append('a')
    const seen = collect(log.stream({ live: true, seqs: false }))
    await new Promise((resolve) => setTimeout(resolve, 10))
    await log.close()
    t.deepEqual(await seen, ['a'])
  })
}

exports.addTests = addTests
