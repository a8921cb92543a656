'use strict'
// A tour of the package, in the order of its README.

const fs = require('node:fs')
const tape = require('tape')
const { binaryCodec } = require('@millrace/binary-codec')
const { jsonCodec } = require('@millrace/json-codec')
const { OffsetLog } = require('@millrace/offset-log')
const { collect, failureOf, newPath } = require('@millrace/testkit')
const { convert, openSource } = require('..')

const values = [{ text: 'hello' }, { text: 'again' }]

/** @returns {Promise<string>}  a log as flumelog-offset would write it */
async function makeOld (records = values) {
  const file = newPath('old.offset')
  const log = OffsetLog(file, { framing: 'offset32', codec: jsonCodec })
  await log.append(records)
  await log.close()
  return file
}

tape('tour: a log becomes a checked one, in another codec', async (t) => {
  const old = await makeOld()
  const before = fs.readFileSync(old)
  const to = newPath('new.log')
  const seqs = []
  const onRecord = (oldSeq, newSeq) => seqs.push([oldSeq, newSeq])
  const { format, records } = await convert(old, to, { fromCodec: jsonCodec, toCodec: binaryCodec, onRecord })
  t.deepEqual([format, records], ['offset32', 2])
  t.equal(seqs[0][0], 0, 'the seqs change')
  t.ok(fs.readFileSync(old).equals(before), 'the old log is not written to')
  const log = OffsetLog(to, { codec: binaryCodec })
  t.equal((await log.stats()).framing, 'checked')
  t.deepEqual(await collect(log.stream()), values.map((value, index) => ({ seq: seqs[index][1], value })))
  await log.close()
})

tape('tour: without codecs the bytes are copied', async (t) => {
  const to = newPath('new.log')
  await convert(await makeOld(), to)
  const log = OffsetLog(to)
  t.deepEqual((await collect(log.stream({ seqs: false }))).map(String), values.map((value) => JSON.stringify(value)))
  await log.close()
})

tape('tour: openSource reads a log of any format', async (t) => {
  const source = openSource(await makeOld())
  await source.ready()
  t.equal(source.format, 'offset32')
  t.deepEqual((await collect(source.stream())).map(({ bytes }) => JSON.parse(bytes)), values)
  await source.close()
})

tape('tour: the new log is there as a whole, or not at all', async (t) => {
  const to = newPath('new.log')
  fs.writeFileSync(to, 'something else')
  t.equal((await failureOf(async () => convert(await makeOld(), to))).code, 'EEXIST')
  t.equal(fs.readFileSync(to, 'utf8'), 'something else')
})

tape('tour: no value changes silently', async (t) => {
  const file = newPath('dates.log')
  const log = OffsetLog(file, { codec: binaryCodec })
  await log.append({ when: new Date(0) })
  await log.close()
  const to = newPath('new.log')
  const err = await failureOf(() => convert(file, to, { fromCodec: binaryCodec, toCodec: jsonCodec }))
  t.match(err.message, /when/, 'a Date is none in JSON, and the error has the path to it')
  t.notOk(fs.existsSync(to))
})
