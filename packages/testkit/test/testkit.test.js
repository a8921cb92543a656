'use strict'

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { faultyStorage, flip, garble, misdirect, splice, swap, temporaryFolder, testLog, truncate, zero } = require('..')

function makeFile (text) {
  const file = path.join(temporaryFolder(), 'file')
  fs.writeFileSync(file, text)
  return file
}

tape('flip: changes one bit', (t) => {
  const file = makeFile('aaa')
  flip(file, 1, 1)
  t.equal(fs.readFileSync(file, 'utf8'), 'aca')
  flip(file, 2)
  t.equal(fs.readFileSync(file, 'utf8'), 'ac`')
  t.end()
})

tape('truncate, zero and splice: change what they say', (t) => {
  const file = makeFile('0123456789')
  truncate(file, 8)
  zero(file, 1, 3)
  t.equal(fs.readFileSync(file, 'utf8'), '0\0\x0034567')
  splice(file, 1, 3, Buffer.from('<->'))
  t.equal(fs.readFileSync(file, 'utf8'), '0<->34567')
  zero(file, 9, 11)
  t.equal(fs.readFileSync(file, 'utf8'), '0<->34567\0\0')
  t.end()
})

tape('garble, swap and misdirect: change what they say', (t) => {
  const file = makeFile('0123456789')
  swap(file, 0, 8, 2)
  t.equal(fs.readFileSync(file, 'utf8'), '8923456701')
  misdirect(file, 2, 6, 3)
  t.equal(fs.readFileSync(file, 'utf8'), '8923452341')
  const before = fs.readFileSync(file)
  garble(file, 3, 6)
  const after = fs.readFileSync(file)
  const hasChanged = [...after].map((byte, index) => byte !== before[index])
  t.deepEqual(hasChanged, [...before].map((_, index) => index >= 3 && index < 6))
  t.end()
})

tape('faultyStorage: fails, shortens or passes on, as it is told', (t) => {
  const error = new Error('mine')
  const calls = []
  const inner = { open: (path, options, cb) => cb(null, { write: (...args) => calls.push(args[2]), sync: () => calls.push('sync') }) }
  const faults = { write: { length: 2 }, truncate: { error } }
  faultyStorage(inner, ({ name }) => faults[name]).open('x', {}, (err, handle) => {
    t.error(err)
    handle.write(null, 0, 10, 0, () => {})
    handle.sync()
    t.deepEqual(calls, [2, 'sync'])
    handle.truncate(0, (err) => {
      t.equal(err, error)
      t.end()
    })
  })
})

tape('testLog: finds out a log that breaks the contract', async (t) => {
  const failed = []
  // A stand-in for tape, which notes the tests that fail instead of reporting them. It leaves out those of callbacks
  // that throw: they wait for what never comes, and collect the exceptions of the process meanwhile.
  const runs = []
  const quietTape = (title, run) => !title.includes(': throw:') && runs.push(async () => {
    const note = (ok) => ok || failed.push(title)
    try {
      await run({
        ok: note,
        notOk: (value) => note(!value),
        error: (err) => note(!err),
        equal: (a, b) => note(a === b),
        deepEqual: (a, b) => note(JSON.stringify(a) === JSON.stringify(b)),
        throws: (run) => { try { run(); note(false) } catch {} },
        fail: () => note(false)
      })
    } catch {
      note(false)
    }
  })
  testLog(quietTape, () => forgetfulLog(), { name: 'forgetful', seed: 1 })
  const timeout = (run) => Promise.race([run(), new Promise((resolve) => setTimeout(resolve, 50))])
  for (const run of runs) await timeout(run)
  t.ok(failed.includes('forgetful: append: gives the seq under which get finds the value'))
  t.ok(failed.includes('forgetful: stream: seqs and values shape the items'))
  t.notOk(failed.includes('forgetful: stream: an empty log ends at once'))
})

/** A log that takes everything and has nothing. */
function forgetfulLog () {
  const source = (abort, cb) => cb(abort || true)
  return {
    since: { value: -1 },
    append: async () => 0,
    get: async () => null,
    stream: () => source,
    scan: async () => {},
    del: async () => {},
    ready: async () => {},
    close: async () => {}
  }
}
