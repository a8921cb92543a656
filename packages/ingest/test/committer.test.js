'use strict'
// Group commit: who shares a write, a sync and a turn of the event loop.

const { setImmediate: nextTurn, setTimeout: sleep } = require('node:timers/promises')
const tape = require('tape')
const { until } = require('@millrace/testkit')
const { Committer } = require('../lib/committer')

const RECORDS = [Buffer.from('1')]

/** A log in memory whose syncs take some time. */
function createLog (syncMs) {
  const log = { durable: { value: -1 }, supports: { flushSync: false }, seq: 0, syncs: 0, appends: 0 }
  log.append = (records, done) => {
    log.appends++
    process.nextTick(done, null, ++log.seq)
  }
  log.sync = async (done) => {
    const { seq } = log
    log.syncs++
    await sleep(syncMs)
    log.durable.value = seq
    done(null)
  }
  return log
}

function createCommitter (log, options) {
  return new Committer(log, { bufferMs: 20, pendingSize: 1e6, onFailure: () => {}, ...options })
}

const submit = (committer, ack) => new Promise((resolve, reject) => {
  committer.submit(RECORDS, ack, (err, seq) => err ? reject(err) : resolve(seq))
})

tape('committer: clients that send again after each answer share every sync', async (t) => {
  const log = createLog(5)
  const committer = createCommitter(log)
  const rounds = 20
  // They begin at different times, so that without waiting two groups would take turns.
  await Promise.all(Array.from({ length: 10 }, async (_, index) => {
    await sleep(index)
    for (let round = 0; round < rounds; round++) await submit(committer, 'synced')
  }))
  t.ok(log.syncs < 1.5 * rounds, `${log.syncs} syncs for ${rounds} rounds`)
  t.equal(log.appends, 10 * rounds)
})

tape('committer: the sync of a lone client waits for nobody', async (t) => {
  const log = createLog(0)
  const committer = createCommitter(log)
  // Each sync seems to take an hour, and so long would one wait for the other client at most.
  const { sync } = log
  const { now } = performance
  let aheadMs = 0
  performance.now = () => now.call(performance) + aheadMs
  t.teardown(() => { performance.now = now })
  log.sync = (done) => sync((err) => {
    aheadMs += 3_600_000
    done(err)
  })
  await Promise.all([submit(committer, 'synced'), submit(committer, 'synced')])
  for (const index of [0, 1]) {
    const { syncs } = log
    await submit(committer, 'synced')
    t.equal(log.syncs, syncs + 1, `sync ${index} was made although the other client is gone`)
  }
})

tape('committer: those that ask for a sync wait for one another before they are written', async (t) => {
  const log = createLog(5)
  let groups = 0
  const { append } = log
  log.append = (records, done) => {
    if (log.appends === 0 || log.group !== log.syncs) groups++
    log.group = log.syncs
    append(records, done)
  }
  const committer = createCommitter(log)
  await Promise.all(Array.from({ length: 10 }, async () => {
    for (let round = 0; round < 20; round++) await submit(committer, 'synced')
  }))
  t.equal(groups, log.syncs, 'a sync follows each group of appends')
  t.equal(log.appends, 200)
})

tape('committer: a sync that ends before a record is written promises nothing for it', async (t) => {
  const log = createLog(2)
  let isWritten = false
  const { append } = log
  log.append = async (records, done) => {
    await sleep(30)
    isWritten = true
    append(records, done)
  }
  const committer = createCommitter(log)
  const seq = await submit(committer, 'synced')
  t.ok(isWritten)
  t.ok(log.durable.value >= seq, `${seq} is durable`)
  t.ok(log.syncs >= 2, 'the first sync was too early')
})

tape('committer: a sync that fails is told to all that wait for it, and the next ones are tried', async (t) => {
  const log = createLog(2)
  const { sync } = log
  const failures = []
  const committer = createCommitter(log, { onFailure: (err) => failures.push(err.message) })
  log.sync = (done) => setTimeout(done, 2, new Error('EIO'))
  const results = await Promise.allSettled([submit(committer, 'synced'), submit(committer, 'synced')])
  t.deepEqual(results.map(({ reason }) => reason?.message), ['EIO', 'EIO'])
  t.deepEqual(failures, ['EIO'])
  log.sync = sync
  t.equal(await submit(committer, 'synced'), 3)
  t.ok(committer.isIdle)
})

/** Such a log that can also write and sync at once, which takes no time. */
function createQuickLog () {
  const log = createLog(0)
  const waiting = []
  Object.assign(log, {
    supports: { flushSync: true },
    flushes: [],
    append (records, done) {
      log.appends++
      waiting.push(done)
    },
    flushSync ({ sync = true } = {}) {
      log.flushes.push(sync)
      if (log.fault) throw log.fault
      for (const done of waiting.splice(0)) process.nextTick(done, null, ++log.seq)
      if (sync) log.durable.value = log.seq
    }
  })
  log.sync = (done) => {
    log.syncs++
    for (const done of waiting.splice(0)) process.nextTick(done, null, ++log.seq)
    setImmediate(() => {
      log.durable.value = log.seq
      done(null)
    })
  }
  return log
}

tape('committer: a quick sync is made at once, with the write, and serves all that wait', async (t) => {
  const log = createQuickLog()
  const committer = createCommitter(log)
  await submit(committer, 'synced')
  t.deepEqual([log.syncs, log.flushes.length], [1, 0], 'the first one may be slow')
  await Promise.all(Array.from({ length: 10 }, async () => {
    for (let round = 0; round < 20; round++) {
      const seq = await submit(committer, 'synced')
      if (log.durable.value < seq) t.fail(`${seq} is not durable`)
    }
  }))
  // More than one in the background only if the machine is so busy that one of them seems slow.
  t.ok(log.syncs < 5, `${log.syncs} in the background`)
  t.ok(log.flushes.length > 15 && log.flushes.length <= 25 && log.flushes.every(Boolean), `${log.flushes.length} for 20 rounds`)
  t.equal(log.appends, 201)
  t.ok(committer.isIdle)
})

tape('committer: after a slow sync the next one is made in the background, until it is quick again', async (t) => {
  const log = createQuickLog()
  const committer = createCommitter(log)
  const { flushSync } = log
  await submit(committer, 'synced')
  log.flushSync = (options) => {
    const endMs = performance.now() + 5
    while (performance.now() < endMs);
    flushSync(options)
  }
  for (let count = 0; count < 4; count++) await submit(committer, 'synced')
  t.ok(log.syncs >= 3, `${log.syncs} in the background`)
  t.ok(log.flushes.length >= 1 && log.flushes.length <= 2, `${log.flushes.length} at once, since each sync in the background is quick`)
})

tape('committer: a sync at once that fails is tried in the background, which tells all that wait', async (t) => {
  const log = createQuickLog()
  const failures = []
  const committer = createCommitter(log, { onFailure: (err) => failures.push(err.message) })
  await submit(committer, 'synced')
  log.fault = new Error('not now')
  t.equal(await submit(committer, 'synced'), 2, 'a log that is busy')
  log.sync = (done) => setTimeout(done, 2, new Error('EIO'))
  log.append = (records, done) => process.nextTick(done, null, ++log.seq)
  const results = await Promise.allSettled([submit(committer, 'synced'), submit(committer, 'synced')])
  t.deepEqual(results.map(({ reason }) => reason?.message), ['EIO', 'EIO'])
  t.deepEqual(failures, ['EIO'])
  t.ok(committer.isIdle)
})

tape('committer: buffered batches are answered together, in order, before they are written', async (t) => {
  const log = createLog(0)
  const committer = createCommitter(log)
  const answered = []
  for (const name of ['a', 'b', 'c']) committer.submit(RECORDS, 'buffered', (err, seq) => answered.push(`${name} ${err} ${seq}`))
  t.deepEqual(answered, [], 'in a later turn')
  await nextTurn()
  await nextTurn()
  t.deepEqual(answered, ['a null null', 'b null null', 'c null null'])
  t.equal(log.appends, 0)
  await until(() => committer.isIdle)
  t.equal(log.appends, 3)
})

tape('committer: at the end of the process, what waits for a write under way is written too', async (t) => {
  const log = createQuickLog()
  const committer = createCommitter(log, { bufferMs: 500 })
  log.supports.flushSync = false
  committer.submit(RECORDS, 'written', () => {})
  await nextTurn()
  t.equal(log.appends, 1, 'in the hands of the log')
  log.supports.flushSync = true
  committer.submit(RECORDS, 'buffered', () => {})
  committer.flushSync()
  t.equal(log.appends, 2)
  t.deepEqual(log.flushes, [false])
  await nextTurn()
  t.ok(committer.isIdle)
})

tape('committer: what does not fit is refused, and may be sent again later', async (t) => {
  const committer = createCommitter(createLog(0), { pendingSize: 2 })
  const answers = await Promise.allSettled(['written', 'buffered', 'synced'].map((ack) => submit(committer, ack)))
  t.deepEqual(answers.map(({ status }) => status), ['fulfilled', 'fulfilled', 'rejected'])
  t.equal(answers[2].reason.statusCode, 503)
  t.equal(await submit(committer, 'written'), 3)
})
