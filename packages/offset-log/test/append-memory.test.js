'use strict'
// What an append keeps in memory until it is written.

const v8 = require('node:v8')
const vm = require('node:vm')
const tape = require('tape')
const { jsonCodec } = require('@millrace/json-codec')
const { faultyStorage, SimulatedDisk } = require('@millrace/testkit')
const { OffsetLog } = require('..')
const { measure } = require('./append-memory/run-append-memory')

v8.setFlagsFromString('--expose-gc')
const collectGarbage = vm.runInNewContext('gc')

tape('append: a promise that waits keeps the record, not the value', async (t) => {
  let write
  const written = new Promise((resolve) => { write = resolve })
  const { storage } = new SimulatedDisk()
  const slow = faultyStorage(storage, ({ name }) => name === 'write' && isLate ? { after: written } : undefined)
  let isLate = false
  const log = OffsetLog('/a.log', { storage: slow, codec: jsonCodec })
  await log.append('first')
  isLate = true
  const refs = []
  const appends = []
  const append = (i) => {
    const value = { i }
    refs.push(new WeakRef(value))
    appends.push(log.append(value))
  }
  for (let i = 0; i < 100; i++) append(i)
  await new Promise((resolve) => setTimeout(resolve, 5))
  t.ok(log.pendingSize > 0, 'they wait')
  collectGarbage()
  t.equal(refs.filter((ref) => ref.deref() !== undefined).length, 0)
  write()
  await Promise.all(appends)
  t.equal(await log.count(), 101)
  await log.close()
})

tape('append: who awaits drained needs little memory, and who is refused as well', (t) => {
  const count = 60_000
  const bare = measure('nothing', count).peak
  const least = measure('awaits each append', count).peak - bare
  const drained = measure('awaits drained()', count).peak - bare
  const never = measure('never waits', count).peak - bare
  t.ok(never > 40e6, `${never} bytes for who never waits`)
  t.ok(drained < least + 0.6 * never, `${drained} bytes for who awaits drained, ${least} for who awaits each`)
  t.ok(measure('never waits, maxPendingSize', count).refused > 1000)
  t.end()
})
