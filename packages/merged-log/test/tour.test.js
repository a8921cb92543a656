'use strict'
// A tour of the package, in the order of its README.

const fs = require('node:fs')
const tape = require('tape')
const { jsonCodec } = require('@millrace/json-codec')
const { collect, newPath } = require('@millrace/testkit')
const { MergedLog, SlotLog } = require('..')

const NOW = Date.now()
const open = (folder, options) => MergedLog(folder, { codec: jsonCodec, ...options })
const openSlot = (folder) => SlotLog(folder, { codec: jsonCodec })
const textsOf = async (source) => (await collect(source)).map(({ value }) => value.text)

/** Two writers, as two processes would be. */
async function makeSlots () {
  const folder = newPath('logs')
  const first = openSlot(folder)
  await first.ready()
  const second = openSlot(folder)
  await first.append({ time: NOW, text: 'one' })
  await second.append({ time: NOW + 1, text: 'two' })
  await first.append({ time: NOW + 2, text: 'three' })
  return { folder, first, second, close: () => Promise.all([first.close(), second.close()]) }
}

tape('tour: several writers, one log in the order of the times', async (t) => {
  const { folder, close } = await makeSlots()
  const log = open(folder)
  t.deepEqual(await textsOf(log.stream()), ['one', 'two', 'three'])
  t.deepEqual(await textsOf(log.stream({ reverse: true })), ['three', 'two', 'one'])
  t.equal(await log.count(), 3)
  await log.close()
  await close()
})

tape('tour: each writer has a slot of its own, which is free again when it ends', async (t) => {
  const { folder, first, second } = await makeSlots()
  t.deepEqual([first.slot, second.slot].map(Number), [0, 1])
  t.ok(fs.existsSync(folder) && ['0', '1'].every((name) => fs.readdirSync(folder).includes(name)))
  await first.close()
  const third = openSlot(folder)
  await third.append({ time: NOW + 3, text: 'four' })
  t.equal(Number(third.slot), 0, 'the log that is there goes on')
  for (const each of [second, third]) await each.close()
})

tape('tour: a seq is a text of slot and seq', async (t) => {
  const { folder, close } = await makeSlots()
  const log = open(folder)
  const [{ seq, value }] = await collect(log.stream({ limit: 1 }))
  t.match(seq, /^0:\d+$/)
  t.deepEqual(await log.get(seq), value)
  await log.close()
  await close()
})

tape('tour: a stream goes on where another ended', async (t) => {
  const { folder, close } = await makeSlots()
  const log = open(folder)
  const stream = log.stream({ limit: 2 })
  t.deepEqual(await textsOf(stream), ['one', 'two'])
  const position = JSON.parse(JSON.stringify(stream.position))
  t.deepEqual(await textsOf(log.stream({ after: position })), ['three'])
  await log.close()
  await close()
})

tape('tour: the records of a slot keep their order, whatever the clock did', async (t) => {
  const folder = newPath('logs')
  const slot = openSlot(folder)
  await slot.append([{ time: NOW, text: 'one' }, { time: NOW - 60_000, text: 'two' }, { text: 'three' }])
  const log = open(folder)
  t.deepEqual(await textsOf(log.stream()), ['one', 'two', 'three'])
  await log.close()
  await slot.close()
})

tape('tour: a live stream gets what all of them append', async (t) => {
  const { folder, first, second, close } = await makeSlots()
  const log = open(folder, { latenessMs: 10 })
  const texts = textsOf(log.stream({ live: true, limit: 5 }))
  await first.append({ time: NOW + 3, text: 'four' })
  await second.append({ time: NOW + 4, text: 'five' })
  t.deepEqual((await texts).sort(), ['five', 'four', 'one', 'three', 'two'])
  await log.close()
  await close()
})
