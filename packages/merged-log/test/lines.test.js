'use strict'
// Slots whose segments are plain text files of JSON lines.

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { jsonCodec } = require('@millrace/json-codec')
const { collect, newPath } = require('@millrace/testkit')
const { MergedLog, SlotLog } = require('..')

tape('lines: each slot has plain files of JSON lines, which are read as one log', async (t) => {
  const folder = newPath('logs')
  const writers = []
  for (const slot of [0, 1]) {
    writers.push(SlotLog(folder, { framing: 'lines', codec: jsonCodec }))
    await writers[slot].ready()
  }
  const values = Array.from({ length: 40 }, (_, n) => ({ time: 1_790_000_000_000 + n, n }))
  for (const value of values) await writers[value.n % 2].append(value)
  const merged = MergedLog(folder, { codec: jsonCodec })
  t.deepEqual(await collect(merged.stream({ seqs: false })), values)
  await merged.close()
  for (const writer of writers) await writer.close()
  for (const slot of ['0', '1']) {
    const files = fs.readdirSync(path.join(folder, slot)).filter((name) => name.endsWith('.jsonl'))
    const lines = files.flatMap((name) => fs.readFileSync(path.join(folder, slot, name), 'utf8').trimEnd().split('\n'))
    t.deepEqual(lines.map((line) => JSON.parse(line)), values.filter(({ n }) => n % 2 === Number(slot)))
  }
})
