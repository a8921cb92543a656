'use strict'
// Files that the three old packages wrote become equal checked logs.

const fs = require('node:fs')
const { isDeepStrictEqual } = require('node:util')
const tape = require('tape')
const { binaryCodec } = require('@millrace/binary-codec')
const { jsonCodec } = require('@millrace/json-codec')
const { createRandom, inQuickRuns } = require('@millrace/testkit')
const { convert } = require('..')
const { FIXTURE, newPath, randomBytes, readLog, readSource } = require('./helpers')
const { bipfCodec, flumeJson, writers } = require('./old-packages')

const seed = Date.now() % 2 ** 31

/** @type {Promise<any[]>} */
const messages = readSource(FIXTURE).then(({ items }) => items.map(({ bytes }) => JSON.parse(bytes.toString())))

for (const [format, write] of Object.entries(writers)) {
  for (const theirs of [flumeJson, bipfCodec]) {
    const theirName = theirs === bipfCodec ? 'bipf' : 'json'
    tape(`${format}: 2,000 messages written with ${theirName} become equal checked logs`, async (t) => {
      const values = await messages
      const file = newPath()
      const deleted = [0, 7, 8, 1000, 1999]
      await write(file, values, { codec: theirs, deleted })
      const before = fs.readFileSync(file)
      const expected = values.filter((_, index) => !deleted.includes(index))
      for (const codec of [jsonCodec, binaryCodec]) {
        const to = newPath()
        const result = await convert(file, to, { fromCodec: theirs, toCodec: codec })
        t.equal(result.format, format)
        t.equal(result.records, expected.length)
        t.equal(result.deleted, deleted.length)
        t.equal(result.torn, null)
        t.ok(isDeepStrictEqual(await readLog(to, codec), expected), codec.name)
      }
      const to = newPath()
      await convert(file, to)
      t.ok(isDeepStrictEqual(await readLog(to, theirs), expected), 'as they are')
      t.ok(fs.readFileSync(file).equals(before), 'the source is as it was')
    })
  }
}

tape('ssb-2000.offset: becomes an equal checked log in any codec', async (t) => {
  const values = await messages
  t.equal(values.length, 2000)
  const json = newPath()
  const { format, records } = await convert(FIXTURE, json, { fromCodec: jsonCodec, toCodec: jsonCodec })
  t.deepEqual({ format, records }, { format: 'offset32', records: 2000 })
  t.ok(isDeepStrictEqual(await readLog(json, jsonCodec), values), 'json')
  const binary = newPath()
  await convert(json, binary, { fromCodec: jsonCodec, toCodec: binaryCodec })
  t.ok(isDeepStrictEqual(await readLog(binary, binaryCodec), values), 'a checked log is a source too')
  const back = newPath()
  await convert(binary, back, { fromCodec: binaryCodec, toCodec: jsonCodec })
  const before = (await readSource(json)).items.map(({ bytes }) => bytes)
  const after = (await readSource(back)).items.map(({ bytes }) => bytes)
  t.ok(isDeepStrictEqual(after, before), 'and back again, byte for byte')
})

for (const [format, write] of Object.entries(writers)) {
  tape(`${format}: random records and deletions, through the old package and the converter (seed ${seed})`, async (t) => {
    const random = createRandom(seed)
    for (let round = 0; round < inQuickRuns(6); round++) {
      const file = newPath()
      const sizeMax = [20, 300, 70000][round % 3]
      const records = randomRecords(random, sizeMax, format.startsWith('offset') ? 70000 : 65526)
      const deleted = [...records.keys()].filter(() => random(5) === 0)
      const seqs = await write(file, records, { deleted })
      const pairs = []
      const to = newPath()
      const onRecord = (seq) => pairs.push(seq)
      const result = await convert(file, to, { format, batchSize: 1 + random(50), onRecord })
      const kept = [...records.keys()].filter((index) => !deleted.includes(index))
      const expected = kept.map((index) => records[index])
      t.ok(isDeepStrictEqual(await readLog(to), expected), `${records.length} records`)
      t.deepEqual(pairs, kept.map((index) => seqs[index]), 'the seqs are those that the old package gave')
      t.equal(result.deleted, deleted.length)
    }
  })
}

function randomRecords (random, sizeMax, limit) {
  const records = []
  for (let size = 0, count = 1 + random(sizeMax > 1000 ? 30 : 400); records.length < count; size += sizeMax) {
    records.push(randomBytes(random, Math.min(limit, 1 + random(random(10) === 0 ? limit : sizeMax))))
  }
  return records
}
