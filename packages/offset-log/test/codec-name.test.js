'use strict'
// The codec's name is part of a checked log, and compared when the log is opened: what is appended with another codec
// could not be read with either.

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { binaryCodec, canonicalCodec, rawCodec } = require('@millrace/binary-codec')
const { jsonCodec } = require('@millrace/json-codec')
const { failureOf, flip, temporaryFolder } = require('@millrace/testkit')
const { OffsetLog } = require('..')
const { repair, verify } = require('@millrace/repair')

const VALUE = { n: 1 }

const newPath = (name = 'log') => path.join(temporaryFolder(), name)
const flumeLike = { encode: JSON.stringify, decode: JSON.parse, buffer: false }

/** @returns {Promise<string>}  the path of a log with one record */
async function makeLog (codec, value = VALUE, options = {}) {
  const file = newPath()
  const log = OffsetLog(file, { codec, ...options })
  await log.append(value)
  await log.close()
  return file
}

/** @returns {Promise<unknown[]>} */
async function readLog (file, options) {
  const log = OffsetLog(file, options)
  const values = []
  try {
    for await (const value of log.stream({ seqs: false })) values.push(value)
  } finally {
    await log.close().catch(() => {})
  }
  return values
}

tape('codec name: a log of JSON opened with binaryCodec is ERR_CODEC_MISMATCH, not a mixture of both', async (t) => {
  const file = await makeLog(jsonCodec)
  const before = fs.readFileSync(file)
  for (const flags of ['r', 'r+']) {
    const log = OffsetLog(file, { codec: binaryCodec, flags })
    for (const call of [() => log.ready(), () => log.append(VALUE), () => log.get(0), () => log.stats()]) {
      const err = await failureOf(call)
      t.equal(err.code, 'ERR_CODEC_MISMATCH', `${flags}, ${call}`)
      t.ok(err.message.includes('json') && err.message.includes('binary'), err.message)
      t.equal(err.path, file)
    }
    await log.close().catch(() => {})
  }
  t.ok(fs.readFileSync(file).equals(before), 'nothing was changed')
  t.deepEqual(fs.readdirSync(path.dirname(file)), ['log'], 'nor left beside it')
  t.deepEqual(await readLog(file, { codec: jsonCodec }), [VALUE])
})

tape('codec name: a torn end is not cut, nor a tail restored, for the wrong codec', async (t) => {
  const file = await makeLog(jsonCodec)
  fs.appendFileSync(file, 'torn')
  const before = fs.readFileSync(file)
  t.equal((await failureOf(() => readLog(file, { codec: binaryCodec }))).code, 'ERR_CODEC_MISMATCH')
  t.ok(fs.readFileSync(file).equals(before))
  t.deepEqual(fs.readdirSync(path.dirname(file)), ['log'])
})

tape('codec name: canonicalCodec and binaryCodec share one', async (t) => {
  const file = await makeLog(binaryCodec)
  t.deepEqual(await readLog(file, { codec: canonicalCodec }), [VALUE])
})

tape('codec name: bytes may read any log, and append to its own', async (t) => {
  const file = await makeLog(jsonCodec)
  for (const codec of [undefined, rawCodec]) {
    t.deepEqual((await readLog(file, { codec })).map(String), ['{"n":1}'])
    const log = OffsetLog(file, { codec })
    const err = await failureOf(() => log.append(Buffer.from('1')))
    t.equal(err.code, 'ERR_CODEC_MISMATCH', err.message)
    t.equal((await failureOf(() => log.append([Buffer.from('1')]))).code, 'ERR_CODEC_MISMATCH')
    await log.sync()
    await log.compact()
    await log.close()
  }
  t.deepEqual(await readLog(file, { codec: jsonCodec }), [VALUE])
  const own = await makeLog(undefined, Buffer.from('1'))
  t.equal((await failureOf(() => readLog(own, { codec: jsonCodec }))).code, 'ERR_CODEC_MISMATCH')
  const log = OffsetLog(own)
  await log.append(Buffer.from('2'))
  await log.close()
  t.deepEqual((await readLog(own)).map(String), ['1', '2'])
})

tape('codec name: a codec without a name matches any, and a log without one any codec', async (t) => {
  const file = await makeLog(jsonCodec)
  const log = OffsetLog(file, { codec: flumeLike })
  await log.append({ n: 2 })
  await log.close()
  t.deepEqual(await readLog(file, { codec: jsonCodec }), [VALUE, { n: 2 }])
  const nameless = await makeLog(flumeLike)
  for (const codec of [jsonCodec, flumeLike, { ...flumeLike, name: '' }]) t.deepEqual(await readLog(nameless, { codec }), [VALUE])
  t.equal((await verify(nameless)).codec, null)
})

tape('codec name: what does not fit, or is no text, is misuse', async (t) => {
  const file = newPath()
  for (const name of ['a'.repeat(21), 'ä'.repeat(11), '\ud800', 5, null, {}, Symbol('name')]) {
    try {
      OffsetLog(file, { codec: { ...flumeLike, name } })
      t.fail(String(name))
    } catch (err) {
      t.equal(err.code, 'ERR_INVALID_ARGUMENT', err.message)
    }
  }
  t.notOk(fs.existsSync(file))
  for (const name of ['a'.repeat(20), 'ä'.repeat(10)]) {
    const named = await makeLog({ ...flumeLike, name })
    t.equal((await verify(named)).codec, name)
    t.deepEqual(await readLog(named, { codec: { ...flumeLike, name } }), [VALUE])
    const err = await failureOf(() => readLog(named, { codec: { ...flumeLike, name: name.slice(1) } }))
    t.equal(err.code, 'ERR_CODEC_MISMATCH')
  }
})

tape('codec name: legacy framings store none', async (t) => {
  for (const framing of ['offset32', 'offset48', 'offset53']) {
    const file = await makeLog(jsonCodec, VALUE, { framing })
    const log = OffsetLog(file, { codec: binaryCodec })
    t.equal((await log.stats()).codec, null)
    await log.close()
    t.equal((await verify(file)).codec, null)
  }
  const empty = newPath()
  fs.writeFileSync(empty, '')
  t.equal((await verify(empty)).codec, null)
})

tape('codec name: stats and verify say it, and copies keep it', async (t) => {
  const file = await makeLog(jsonCodec)
  const log = OffsetLog(file, { codec: jsonCodec })
  t.equal((await log.stats()).codec, 'json')
  await log.del(await log.append({ n: 2 }))
  await log.compact()
  t.equal((await log.stats()).codec, 'json')
  const copied = newPath('copy')
  await log.snapshot(copied)
  await log.close()
  const repaired = newPath('repaired')
  await repair(file, repaired, { write: true })
  for (const copy of [file, copied, repaired]) {
    t.equal((await verify(copy)).codec, 'json')
    t.equal((await failureOf(() => readLog(copy, { codec: binaryCodec }))).code, 'ERR_CODEC_MISMATCH')
    t.deepEqual(await readLog(copy, { codec: jsonCodec }), [VALUE])
  }
})

tape('codec name: readers need not name it', async (t) => {
  const file = await makeLog(jsonCodec)
  const log = OffsetLog(file, { codec: jsonCodec })
  const reader = OffsetLog(file, { flags: 'r' })
  t.deepEqual(String(await reader.get((await log.append({ n: 2 })))), '{"n":2}')
  await reader.close()
  await log.close()
})

tape('codec name: a header that is put together again says the name only if both copies had it', async (t) => {
  for (const [positions, name] of [[[60, 8192 + 60], 'json'], [[41, 8192 + 60], null]]) {
    const file = await makeLog(jsonCodec)
    for (const position of positions) flip(file, position)
    const repaired = newPath('repaired')
    await repair(file, repaired, { write: true })
    t.equal((await verify(repaired)).codec, name)
    t.deepEqual(await readLog(repaired, { codec: jsonCodec }), [VALUE])
  }
})

tape('id: names a new log, and an existing one keeps its own', async (t) => {
  const file = path.join(temporaryFolder(), 'log')
  const id = '0123456789abcdef0123456789abcdef'
  for (const given of [id, undefined, 'f'.repeat(32)]) {
    const log = OffsetLog(file, { id: given })
    t.equal((await log.stats()).id, id)
    await log.close()
  }
  for (const wrong of ['', 'xyz', id.toUpperCase(), 5]) {
    t.throws(() => OffsetLog(file, { id: wrong }), { code: 'ERR_INVALID_ARGUMENT' })
  }
})
