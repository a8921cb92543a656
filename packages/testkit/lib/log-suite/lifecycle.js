'use strict'
// Opening, closing, reopening, and methods that flumedb takes off the log.

const { failureOf } = require('../failure-of')
const { collect } = require('./helpers')

/** @param {import('../log-suite').Suite} suite */
function addTests ({ test }) {
  test('open: calls made at once wait until the log is loaded', async (t, create) => {
    const log = create()
    t.equal(log.since.value, undefined)
    const [seq, stream] = await Promise.all([log.append('a'), collect(log.stream({ live: true, limit: 1, seqs: false }))])
    t.deepEqual(stream, ['a'])
    t.equal(await log.get(seq), 'a')
    await log.close()
  })

  test('close: drains appends that were under way, and may be called twice', async (t, create) => {
    const log = create()
    const appended = Promise.all(['a', 'b', 'c'].map((value) => log.append(value)))
    const closed = Promise.all([log.close(), log.close()])
    t.equal((await appended).length, 3)
    await closed
    await log.close()
    const again = create()
    t.deepEqual(await collect(again.stream({ seqs: false })), ['a', 'b', 'c'])
    await again.close()
  })

  test('close: every later call fails with a code', async (t, create) => {
    const log = create()
    const seq = await log.append('a')
    await log.close()
    const calls = {
      append: () => log.append('b'),
      get: () => log.get(seq),
      del: () => log.del(seq),
      sync: () => log.sync(),
      stats: () => log.stats(),
      ready: () => log.ready(),
      scan: () => log.scan({}, () => {}),
      stream: () => collect(log.stream())
    }
    for (const [name, call] of Object.entries(calls)) {
      t.equal((await failureOf(call))?.code, 'ERR_LOG_CLOSED', name)
    }
  })

  test('reopen: since and every record are as before', async (t, create) => {
    const log = create()
    await log.append(['a', 'b'])
    const last = await log.append('c')
    await log.close()
    const again = create()
    await again.ready()
    t.equal(again.since.value, last)
    t.deepEqual(await collect(again.stream({ seqs: false })), ['a', 'b', 'c'])
    t.equal(await again.get(last), 'c')
    await again.close()
  })

  test('methods: work when they are taken off the log', async (t, create) => {
    const log = create()
    const { append, get, stream, scan, del, sync, stats, ready, close } = log
    await ready()
    const seq = await append('a')
    t.equal(await get(seq), 'a')
    t.deepEqual(await collect(stream({ seqs: false })), ['a'])
    await scan({}, () => {})
    await sync()
    t.equal((await stats()).since, seq)
    t.deepEqual(Object.keys(log.methods), ['del'])
    await del(seq)
    await close()
  })

  test('contract: what a log cannot do it declares, and refuses with a code', async (t, create) => {
    const log = create()
    await log.ready()
    t.equal(typeof log.supports, 'object')
    for (const name of ['compact', 'snapshot']) {
      if (log.supports[name]) continue
      t.equal((await failureOf(() => log[name]()))?.code, 'ERR_NOT_SUPPORTED', name)
    }
    if (!log.supports.durable) t.equal((await failureOf(async () => log.durable))?.code, 'ERR_NOT_SUPPORTED', 'durable')
    if (!log.supports.onCorrupt) {
      t.equal((await failureOf(() => collect(log.stream({ onCorrupt: 'skip' }))))?.code, 'ERR_NOT_SUPPORTED', 'onCorrupt')
    }
    await log.close()
  })
}

exports.addTests = addTests
