'use strict'
// A log whose file was just made is open at once. It must be as one that was opened the other way.

const tape = require('tape')
const { promisesOf } = require('@millrace/flow')
const { jsonCodec } = require('@millrace/json-codec')
const { SimulatedDisk, newPath } = require('@millrace/testkit')
const { OffsetLog } = require('..')
const { createNewFile, openNew } = require('../composing')

const NAMES = ['epoch', 'last', 'durableLast', 'erasedCount', 'missing', 'codecName', 'nextPosition', 'end']
const ID = '0123456789abcdef0123456789abcdef'

/** What decides about all that a log does later. */
function describe (log) {
  const { store, logEnd: end, writtenSince } = log._file
  const { checkpoints, reservation } = store
  const { durableEnd, needsCleanUp, isClean, isFinished } = checkpoints
  const { isAfterLoss, isTakenOver, isMarkedIntact } = reservation
  return {
    end,
    writtenSince,
    store: NAMES.map((name) => store[name]),
    tail: { ...store.tail, chainCrc: 'random' },
    checkpoints: { durableEnd, needsCleanUp, isClean, isFinished },
    reservation: { isAfterLoss, isTakenOver, isMarkedIntact },
    supports: log.supports,
    recovery: log.recovery,
    since: log.since.value,
    durable: log.durable.value,
    id: store.header.id.toString('hex')
  }
}

for (const fsync of ['always', 'interval', 'never']) {
  for (const isPrepared of [true, false]) {
    tape(`new log, ${fsync}, ${isPrepared ? '' : 'not '}prepared: is as one that was opened the other way`, async (t) => {
      const { storage } = new SimulatedDisk()
      const options = { storage, codec: jsonCodec, fsync, id: ID, lock: false }
      const made = createNewFile('/f/other.new', options)
      if (isPrepared) await made.prepare()
      const log = openNew('/f/log', options, made)
      const other = OffsetLog('/f/other', options)
      await other.ready()
      t.deepEqual(describe(log), describe(other))
      const seq = log.appendSync({ n: 1 })
      t.equal(seq, other.appendSync({ n: 1 }))
      t.equal(await log.append({ n: 2 }), await other.append({ n: 2 }))
      t.deepEqual(await log.get(seq), { n: 1 })
      await log.sync()
      await other.sync()
      t.deepEqual(describe(log), describe(other))
      await log.close()
      await other.close()
      const again = OffsetLog('/f/log', options)
      t.equal(await again.count(), 2)
      t.equal(again.recovery, null)
      await again.close()
    })
  }
}

tape('new log: on a disk, unused: closes and opens', async (t) => {
  const file = newPath('log')
  const log = openNew(file, { lock: false }, createNewFile(`${file}.other.new`, { lock: false }))
  await promisesOf(log).close()
  const again = OffsetLog(file)
  t.equal(await again.count(), 0)
  t.equal(again.recovery, null)
  await again.close()
})
