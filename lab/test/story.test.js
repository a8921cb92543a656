'use strict'
// What the sessions on a real disk have told, as a ledger.

const tape = require('tape')
const { Story } = require('../torture/disk/story')

const LOST = 4096

/** @param {boolean} isSynced  whether the session that did not find record 1 has synced something */
function tell (isSynced) {
  const story = new Story(4711)
  const found = [[100, 0, 20]]
  story.add([
    { what: 'begin', at: 1, fsync: 'always', hasLostPower: true },
    { what: 'opened', at: 2, found: [] },
    { what: 'append', at: 3, request: 0, records: [[0, 20]] },
    { what: 'answer', at: 4, request: 0, seq: 100 },
    // It is on the disk when the power goes, but the file has not grown by it.
    { what: 'append', at: 5, request: 1, records: [[1, 30]] },
    { what: 'begin', at: 6, fsync: 'interval', hasLostPower: true },
    { what: 'opening', at: 7 },
    { what: 'opened', at: 8, found },
    { what: 'append', at: 9, request: 0, records: [[2, 40]] },
    { what: 'answer', at: 10, request: 0, seq: 120 + LOST },
    ...isSynced ? [{ what: 'sync', at: 11, request: 1 }, { what: 'answer', at: 12, request: 1, seq: null }] : [],
    // Now it has, but the new bytes are lost.
    { what: 'fault', at: 13 },
    { what: 'begin', at: 14, fsync: 'interval', hasLostPower: false },
    { what: 'opening', at: 15 },
    { what: 'opened', at: 16, found: [...found, [120, 1, 30]] }
  ])
  return story
}

tape('story: an append that was never answered comes back if all of the session that had lost it is lost', (t) => {
  t.doesNotThrow(() => tell(false).ledgerAt(20))
  t.throws(() => tell(true).ledgerAt(20), { kind: /promised lost|never appended/ }, 'not if that session has synced')
  t.end()
})

tape('story: it stays, once it was found', (t) => {
  const story = tell(false)
  story.add([
    { what: 'sync', at: 17, request: 0 },
    { what: 'answer', at: 18, request: 0, seq: null },
    { what: 'begin', at: 19, fsync: 'interval', hasLostPower: true },
    { what: 'opening', at: 20 },
    { what: 'opened', at: 21, found: [[100, 0, 20]] }
  ])
  t.throws(() => story.ledgerAt(30), { kind: 'promised lost' })
  t.end()
})
