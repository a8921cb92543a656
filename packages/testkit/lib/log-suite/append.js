'use strict'
// Append: seqs, since, batches, and failures that are only their own caller's.

const { failureOf } = require('../failure-of')
const { collect } = require('./helpers')

/** @param {import('../log-suite').Suite} suite */
function addTests ({ test }) {
  test('append: gives the seq under which get finds the value', async (t, create) => {
    const log = create()
    const seq = await log.append({ hello: 'world' })
    t.equal(typeof seq, 'number')
    t.deepEqual(await log.get(seq), { hello: 'world' })
    await log.close()
  })

  test('append: since has the seq already when the callback runs', async (t, create) => {
    const log = create()
    await log.ready()
    t.equal(log.since.value, -1, 'empty')
    await new Promise((resolve) => log.append('a', (/** @type {any} */ err, /** @type {any} */ seq) => {
      t.error(err)
      t.equal(log.since.value, seq)
      resolve(null)
    }))
    await log.close()
  })

  test('append: an array is one batch, and gives the seq of its last record', async (t, create) => {
    const log = create()
    const seq = await log.append(['a', 'b', 'c'])
    t.equal(await log.get(seq), 'c')
    t.deepEqual(await collect(log.stream({ seqs: false })), ['a', 'b', 'c'])
    await log.close()
  })

  test('append: nothing writes nothing and gives since', async (t, create) => {
    const log = create()
    t.equal(await log.append([]), -1)
    const seq = await log.append('a')
    t.equal(await log.append([]), seq)
    t.deepEqual(await collect(log.stream({ values: false })), [seq])
    await log.close()
  })

  test('append: concurrent calls all succeed, in the order of the calls', async (t, create) => {
    const log = create()
    const values = Array.from({ length: 500 }, (_, i) => `value ${i}`)
    const seqs = await Promise.all(values.map((value) => log.append(value)))
    t.deepEqual(seqs, [...seqs].sort((a, b) => a - b))
    t.deepEqual(await collect(log.stream()), values.map((value, i) => ({ seq: seqs[i], value })))
    await log.close()
  })

  test('append: a value that cannot be encoded fails alone, and nothing of its batch is written', async (t, create) => {
    const log = create()
    const cyclic = /** @type {any} */ ({})
    cyclic.self = cyclic
    const results = await Promise.allSettled([
      log.append('a'), log.append(cyclic), log.append(['b', cyclic]), log.append(undefined), log.append('c')
    ])
    t.deepEqual(results.map(({ status }) => status), ['fulfilled', 'rejected', 'rejected', 'rejected', 'fulfilled'])
    for (const result of results) {
      if (result.status === 'rejected') t.equal(result.reason.code, 'ERR_CODEC_ENCODE')
    }
    t.deepEqual(await collect(log.stream({ seqs: false })), ['a', 'c'])
    await log.close()
  })

  test('append: the value may change once the call has returned', async (t, create) => {
    const log = create()
    const value = { n: 1 }
    const appended = log.append(value)
    value.n = 2
    t.deepEqual(await log.get(await appended), { n: 1 })
    await log.close()
  })

  test('append: a callback that is not a function is thrown at once', async (t, create) => {
    const log = create()
    t.throws(() => log.append('a', 'b'), /callback/)
    await log.ready()
    t.equal((await failureOf(async () => log.append('a', 5))).code, 'ERR_INVALID_ARGUMENT')
    await log.close()
  })
}

exports.addTests = addTests
