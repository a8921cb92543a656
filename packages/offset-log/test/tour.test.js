'use strict'
// A tour of the package, in the order of its README.

const fs = require('node:fs')
const tape = require('tape')
const { jsonCodec } = require('@millrace/json-codec')
const { collect, failureOf, flip, newPath } = require('@millrace/testkit')
const { OffsetLog } = require('..')

const open = (file, options) => OffsetLog(file, { codec: jsonCodec, ...options })
const notes = (count) => Array.from({ length: count }, (_, n) => ({ type: 'note', n }))

tape('tour: append, get and stream', async (t) => {
  const log = open(newPath('events.log'))
  const seq = await log.append({ type: 'greeting', text: 'hello' })
  const seqs = await log.append(notes(2), { seqs: true })
  t.equal(seqs.length, 2, 'an array is an atomic batch')
  t.deepEqual(await log.get(seq), { type: 'greeting', text: 'hello' })
  const where = { path: 'type', equals: 'note' }
  t.deepEqual(await collect(log.stream({ gt: seq, where, limit: 1 })), [{ seq: seqs[0], value: { type: 'note', n: 0 } }])
  t.deepEqual(await collect(log.stream({ reverse: true, values: false })), [seqs[1], seqs[0], seq])
  t.equal(await log.count({ where }), 2)
  t.equal(log.since.value, seqs[1])
  await log.sync()
  t.equal(log.durable.value, seqs[1], 'a sync makes records durable')
  await log.close()
})

tape('tour: a live stream goes on with what is appended', async (t) => {
  const log = open(newPath('events.log'))
  await log.append(notes(1))
  const seen = collect(log.stream({ live: true, seqs: false, limit: 3 }))
  await log.append(notes(2))
  t.deepEqual(await seen, [...notes(1), ...notes(2)])
  await log.close()
})

tape('tour: a record keeps its seq, also after deletions and a compaction', async (t) => {
  const log = open(newPath('events.log'))
  const seqs = await log.append(notes(100), { seqs: true })
  await log.del(seqs.slice(0, 90))
  t.equal((await failureOf(() => log.get(seqs[0]))).code, 'flumelog:deleted')
  await log.compact()
  t.deepEqual(await log.get(seqs[95]), { type: 'note', n: 95 })
  await log.close()
})

tape('tour: after a crash the log has an exact prefix, and says what it cut off', async (t) => {
  const file = newPath('events.log')
  const log = open(file)
  const seq = await log.append({ n: 1 })
  await log.close()
  const whole = fs.readFileSync(file)
  fs.writeFileSync(file, Buffer.concat([whole, Buffer.from('a torn write')]))
  const again = open(file)
  t.deepEqual(await collect(again.stream({ values: false })), [seq])
  t.equal(again.recovery.size, 12)
  t.equal(fs.readFileSync(again.recovery.keptAt, 'utf8'), 'a torn write')
  await again.close()
})

tape('tour: damage is reported, or passed over', async (t) => {
  const file = newPath('events.log')
  const log = open(file)
  const seqs = []
  for (let n = 0; n < 3; n++) seqs.push(await log.append({ n, text: 'x'.repeat(20_000) }))
  await log.close()
  flip(file, seqs[1] + 100)
  const damaged = open(file)
  t.equal((await failureOf(() => collect(damaged.stream()))).code, 'ERR_LOG_CORRUPT')
  const left = await collect(damaged.stream({ onCorrupt: 'skip', seqs: false }))
  t.ok(left.length < 3 && left.every(({ text }) => text === 'x'.repeat(20_000)))
  await damaged.close()
})

tape('tour: one writer, any number of readers', async (t) => {
  const file = newPath('events.log')
  const log = open(file)
  await log.append(notes(2))
  const second = open(file)
  const err = await failureOf(() => second.append({ n: 3 }))
  t.equal(err.code, 'ERR_LOG_LOCKED')
  t.equal(err.holder.pid, process.pid, 'the error names the holder')
  const reader = open(file, { flags: 'r' })
  t.equal(await reader.count(), 2)
  for (const each of [reader, log]) await each.close()
})

tape('tour: a log that is no log is refused by every call', async (t) => {
  const file = newPath('text')
  fs.writeFileSync(file, 'this is a text and no log, and it is as long as such a text may be'.repeat(10))
  const log = open(file)
  for (const call of [() => log.append({}), () => log.count(), () => log.get(0)]) {
    t.equal((await failureOf(call)).code, 'ERR_LOG_UNKNOWN_FORMAT')
  }
})

tape('tour: appendSync writes without waiting, needsDrain says when to wait', async (t) => {
  const log = open(newPath('events.log'))
  await log.ready()
  log.appendSync({ n: 1 })
  t.equal(await log.count(), 1)
  while (!log.needsDrain) log.append({ text: 'x'.repeat(10_000) }, () => {})
  await log.drained()
  t.notOk(log.needsDrain)
  await log.close()
})
