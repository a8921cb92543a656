'use strict'
// A tour of the package, in the order of its README.

const fs = require('node:fs')
const tape = require('tape')
const { fileStorage } = require('@millrace/block-file')
const { jsonCodec } = require('@millrace/json-codec')
const { OffsetLog } = require('@millrace/offset-log')
const testkit = require('..')

const { CrashPoint, SimulatedDisk, faultyStorage, flip, testCodec, testLog } = testkit
const { collect, createRandom, failureOf, newPath, stopClock, until } = testkit

tape('tour: a file in a fresh folder, and damage to it', (t) => {
  const file = newPath('file')
  fs.writeFileSync(file, 'abc')
  flip(file, 1)
  t.equal(fs.readFileSync(file, 'utf8'), 'acc')
  t.notEqual(newPath('file'), file)
  t.end()
})

tape('tour: the suites declare tests', (t) => {
  const titles = []
  const note = (title) => titles.push(title)
  testLog(note, (path, options) => OffsetLog(path, options), { name: 'my log' })
  testCodec(note, jsonCodec, { name: 'my codec' })
  t.ok(titles.length > 50 && titles.every((title) => /my (log|codec)/.test(title)), `${titles.length} tests`)
  t.end()
})

tape('tour: a storage fails where a test wants it to', async (t) => {
  const error = Object.assign(new Error('the disk is full'), { code: 'ENOSPC' })
  const storage = faultyStorage(fileStorage, ({ name }) => name === 'write' ? { error } : undefined)
  const log = OffsetLog(newPath('log'), { storage })
  t.equal((await failureOf(() => log.append(Buffer.from('a')))).code, 'ENOSPC')
  await log.close().catch(() => {})
})

tape('tour: a disk that loses power keeps what was synced', async (t) => {
  const disk = new SimulatedDisk()
  const log = OffsetLog('/log', { storage: disk.storage, fsync: 'never' })
  await log.append(Buffer.from('synced'))
  await log.sync()
  await log.append(Buffer.from('not synced'))
  const after = OffsetLog('/log', { storage: disk.crash(() => 0).storage })
  t.deepEqual((await collect(after.stream({ seqs: false }))).map(String), ['synced'])
  t.ok(new CrashPoint(disk.clone()), 'and what else a crash may leave can be listed')
  for (const each of [after, log]) await each.close()
})

tape('tour: tools for tests', async (t) => {
  const [one, other] = [createRandom(7), createRandom(7)]
  t.deepEqual([one(100), one(100)], [other(100), other(100)], 'the same seed gives the same numbers')
  const clock = stopClock(t)
  const before = performance.now()
  clock.pass(1000)
  t.equal(performance.now() - before, 1000)
  t.equal(await failureOf(() => {}), null)
  t.equal((await failureOf(() => { throw new Error('mine') })).message, 'mine')
  let asked = 0
  setImmediate(() => { asked = 1 })
  await until(() => asked === 1)
  t.pass('until waits')
})
