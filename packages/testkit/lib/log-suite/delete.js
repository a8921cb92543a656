'use strict'
// Deleting: what is erased is gone for every reader, and nothing else changes.

const { failureOf } = require('../failure-of')
const { collect, appendEach } = require('./helpers')

/** @param {import('../log-suite').Suite} suite */
function addTests ({ test }) {
  test('del: get says deleted, streams leave it out, since stays', async (t, create) => {
    const log = create()
    const seqs = await appendEach(log, ['a', 'b', 'c'])
    await log.del(seqs[2])
    t.equal((await failureOf(() => log.get(seqs[2]))).code, 'flumelog:deleted')
    t.equal(log.since.value, seqs[2])
    t.deepEqual(await collect(log.stream({ seqs: false })), ['a', 'b'])
    t.deepEqual(await collect(log.stream({ values: false, reverse: true })), [seqs[1], seqs[0]])
    await log.del([seqs[0], seqs[2]])
    t.deepEqual(await collect(log.stream({ seqs: false })), ['b'])
    await log.close()
  })

  test('del: a wrong seq among several deletes nothing', async (t, create) => {
    const log = create()
    const seqs = await appendEach(log, ['a', 'b'])
    t.equal((await failureOf(() => log.del([seqs[0], seqs[1] + 1]))).code, 'ERR_RECORD_NOT_FOUND')
    t.equal((await failureOf(() => log.del('0'))).code, 'ERR_INVALID_ARGUMENT')
    t.equal((await failureOf(() => log.del([null]))).code, 'ERR_INVALID_ARGUMENT')
    t.deepEqual(await collect(log.stream({ seqs: false })), ['a', 'b'])
    await log.del([])
    await log.close()
  })

  test('del: after reopening, since is the last record that is not deleted', async (t, create) => {
    const log = create()
    const seqs = await appendEach(log, ['a', 'b', 'c'])
    await log.del([seqs[1], seqs[2]])
    await log.close()
    const again = create()
    await again.ready()
    t.equal(again.since.value, seqs[0])
    t.deepEqual(await collect(again.stream({ seqs: false })), ['a'])
    const next = await again.append('d')
    t.ok(next > seqs[2], 'the place of a deleted record is not given away')
    await again.del([seqs[0], next])
    await again.close()
    const empty = create()
    await empty.ready()
    t.equal(empty.since.value, -1)
    await empty.close()
  })

  test('del: while appends and streams are under way', async (t, create) => {
    const log = create()
    const values = Array.from({ length: 200 }, (_, i) => `value ${i}`)
    const seqs = await Promise.all(values.map((value) => log.append(value)))
    const work = []
    for (let i = 0; i < 200; i += 2) work.push(log.del(seqs[i]), log.append(`more ${i}`), collect(log.stream()))
    await Promise.all(work)
    const left = await collect(log.stream({ seqs: false }))
    t.equal(left.filter((value) => value.startsWith('value')).length, 100)
    t.equal(left.filter((value) => value.startsWith('more')).length, 100)
    await log.close()
  })
}

exports.addTests = addTests
