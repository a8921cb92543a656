'use strict'
// A tour of the package, in the order of its README.

const fs = require('node:fs')
const tape = require('tape')
const { jsonCodec } = require('@millrace/json-codec')
const { OffsetLog } = require('@millrace/offset-log')
const { collect, newPath } = require('@millrace/testkit')
const { withDictionary } = require('..')

const COUNT = 1000
const events = Array.from({ length: COUNT }, (_, n) => {
  return { time: 1790000000000 + n, source: `source-${n % 30}`, event: 'started' }
})

/** @returns {Promise<string>}  the file of a log with these events */
async function makeLog (codec) {
  const file = newPath('events.log')
  const log = OffsetLog(file, { codec })
  for (const event of events) await log.append(event)
  await log.close()
  return file
}

tape('tour: texts that repeat are stored once', async (t) => {
  const plain = await makeLog(jsonCodec)
  const packed = await makeLog(withDictionary(jsonCodec))
  const [plainSize, packedSize] = [plain, packed].map((file) => fs.statSync(file).size)
  t.ok(packedSize < plainSize, `${packedSize} bytes, without a dictionary ${plainSize}`)
})

tape('tour: readers see no difference', async (t) => {
  const file = await makeLog(withDictionary(jsonCodec))
  for (const codec of [withDictionary(jsonCodec), jsonCodec]) {
    const log = OffsetLog(file, { codec, flags: 'r' })
    t.deepEqual(await collect(log.stream({ seqs: false })), events)
    t.equal(await log.count({ where: { path: 'source', equals: 'source-7' } }), 34)
    t.equal((await log.last()).value.source, 'source-9')
    await log.close()
  }
})

tape('tour: words outlive deletions and compaction', async (t) => {
  const file = await makeLog(withDictionary(jsonCodec))
  const log = OffsetLog(file, { codec: jsonCodec })
  const seqs = await collect(log.stream({ values: false }))
  await log.del(seqs.slice(0, COUNT - 10))
  await log.compact()
  t.deepEqual(await collect(log.stream({ seqs: false })), events.slice(-10))
  await log.close()
})

tape('tour: a file that was made without a dictionary stays without one', async (t) => {
  const file = await makeLog(jsonCodec)
  const log = OffsetLog(file, { codec: withDictionary(jsonCodec) })
  await log.append(events[0])
  t.deepEqual((await log.last()).value, events[0])
  await log.close()
  t.ok(fs.readFileSync(file).subarray(-200).includes('"source":"source-0"'), 'the last record is plain JSON')
})
