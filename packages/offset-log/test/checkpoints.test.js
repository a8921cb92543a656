'use strict'
// The checkpoint slots, on their own: who waits for one is called once.

const tape = require('tape')
const { Checkpoints } = require('../lib/append/checkpoints')

/** What checkpoints need of a log: writes and syncs end when `release` is called. */
function createStore () {
  const pending = []
  const store = {
    rules: { salt: 1 },
    epoch: 1,
    erasedCount: 0,
    tail: { end: 2 ** 20, shift: 0, chainCrc: 7 },
    last: 40000,
    reservation: { extend: (begin) => begin + 2 ** 32, noteSynced () {}, reservedEndFor: () => 2 ** 33 },
    file: {
      durability: {
        noteFailedWrite: (err) => err,
        syncBetween: () => new Promise((resolve) => pending.push(() => resolve()))
      },
      writtenSince: 40000
    },
    blocks: {
      writeQuietly: (bytes, position, cb) => pending.push(cb)
    }
  }
  const release = () => { for (const cb of pending.splice(0)) cb(null) }
  const settle = async () => {
    for (let turn = 0; turn < 10; turn++) {
      release()
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
  return { store, settle }
}

tape('checkpoints: a reservation that waits for a slot to be written is extended once, whatever is written later', async (t) => {
  const { store, settle } = createStore()
  const head = { slotIndex: 0, slot: null, journals: [], flaws: [] }
  const checkpoints = new Checkpoints(store, head)
  const mark = (end) => ({ end, shift: 0, chainCrc: 7, last: 40000 })
  let raisedCount = 0
  checkpoints.synced(mark(2 ** 22), true)
  checkpoints.extendReservation(2 ** 22).then(() => { raisedCount++ })
  await settle()
  t.equal(raisedCount, 1)
  for (let end = 2 ** 26; end < 2 ** 29; end *= 2) {
    checkpoints.synced(mark(end), true)
    await settle()
  }
  t.equal(raisedCount, 1, 'and not again')
})
