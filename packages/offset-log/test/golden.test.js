'use strict'
// The golden files of the checked framing: this version makes the same bytes, and reads what is in them.

const fs = require('node:fs')
const path = require('node:path')
const zlib = require('node:zlib')
const tape = require('tape')
const { collect, failureOf, newPath, temporaryFolder } = require('@millrace/testkit')
const { OffsetLog } = require('..')
const { hash, makeGoldenFiles } = require('./fixtures/make-v1')

const FOLDER = path.join(__dirname, 'fixtures', 'v1')
const files = fs.readdirSync(FOLDER).filter((name) => name.endsWith('.log')).map((name) => path.join(FOLDER, name))

tape('golden files: the script that made them makes the same bytes', async (t) => {
  const folder = temporaryFolder()
  await makeGoldenFiles(folder)
  t.deepEqual(fs.readdirSync(folder).sort(), fs.readdirSync(FOLDER).sort())
  for (const name of fs.readdirSync(FOLDER)) {
    t.ok(fs.readFileSync(path.join(folder, name)).equals(fs.readFileSync(path.join(FOLDER, name))), name)
  }
})

for (const file of files) {
  tape(`golden files: ${path.relative(__dirname, file)} holds what it is said to`, async (t) => {
    const lines = fs.readFileSync(file.replace('.log', '.jsonl'), 'utf8').split('\n').filter(Boolean)
    const expected = lines.map((line) => JSON.parse(line))
    const log = OffsetLog(file, { flags: 'r' })
    t.deepEqual(await describe(log.stream()), expected, 'in order')
    t.deepEqual(await describe(log.stream({ reverse: true })), [...expected].reverse(), 'in reverse')
    const got = []
    const streamed = []
    for (const { seq } of expected) {
      got.push(describeOne(seq, await log.get(seq)))
      streamed.push(...await describe(log.stream({ gte: seq, limit: 1 })))
    }
    t.deepEqual(got, expected, 'by seq')
    t.deepEqual(streamed, expected, 'from each seq on')
    t.equal(log.since.value, expected.length === 0 ? -1 : expected[expected.length - 1].seq)
    t.equal(log.recovery, null)
    await log.close()
  })
}

tape('golden files: a compacted log goes on where it was', async (t) => {
  const file = newPath('log')
  fs.copyFileSync(path.join(FOLDER, 'compacted.log'), file)
  const log = OffsetLog(file)
  await log.ready()
  const before = await describe(log.stream())
  const seqs = []
  for (let index = 0; index < 100; index++) seqs.push(await log.append(Buffer.alloc(1000 + index, 65)))
  t.ok(seqs[0] > before[before.length - 1].seq)
  await log.del(seqs[50])
  await log.close()
  const again = OffsetLog(file)
  const after = await describe(again.stream())
  t.deepEqual(after.slice(0, before.length), before)
  t.deepEqual(after.slice(before.length).map(({ seq }) => seq), seqs.filter((_, index) => index !== 50))
  for (const [index, seq] of seqs.entries()) {
    if (index !== 50) t.equal((await again.get(seq)).length, 1000 + index)
  }
  t.equal(again.recovery, null)
  await again.close()
})

tape('golden files: a file whose header has other flags is refused, and nothing is written', async (t) => {
  for (const flags of [0, 1, 4, 10, 0x8002]) {
    const file = newPath('log')
    const bytes = fs.readFileSync(path.join(FOLDER, 'example.log'))
    for (const position of [0, 8192]) {
      const header = bytes.subarray(position, position + 64)
      header.writeUInt16BE(flags, 10)
      header.writeUInt32BE(zlib.crc32(header.subarray(0, 60)), 60)
    }
    fs.writeFileSync(file, bytes)
    for (const mode of ['r', 'r+']) {
      const err = await failureOf(() => OffsetLog(file, { flags: mode }).ready())
      t.equal(err?.code, 'ERR_LOG_UNKNOWN_FORMAT', `${flags}, ${mode}`)
    }
    t.ok(fs.readFileSync(file).equals(bytes))
  }
})

async function describe (stream) {
  return (await collect(stream)).map(({ seq, value }) => describeOne(seq, value))
}

function describeOne (seq, value) {
  return value.length <= 40 ? { seq, text: value.toString() } : { seq, size: value.length, hash: hash(value) }
}
