'use strict'
// The golden files of the checked framing: this version makes the same bytes as those with jumps, and reads what is in
// all of them.

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { temporaryFolder } = require('@millrace/testkit')
const { OffsetLog } = require('..')
const { hash, makeGoldenFiles } = require('./fixtures/make-v1')

const FOLDER = path.join(__dirname, 'fixtures', 'v1-jumps')
const OLD_FOLDER = path.join(__dirname, 'fixtures', 'v1')
const files = [FOLDER, OLD_FOLDER].flatMap((folder) => {
  return fs.readdirSync(folder).filter((name) => name.endsWith('.log')).map((name) => path.join(folder, name))
})

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
  const file = path.join(temporaryFolder(), 'log')
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

tape('golden files: a log without the flag for jumps has none, until it is compacted', async (t) => {
  const file = path.join(temporaryFolder(), 'log')
  const bytes = fs.readFileSync(path.join(OLD_FOLDER, 'example.log'))
  fs.writeFileSync(file, Buffer.concat([bytes, Buffer.alloc(10, 1)]))
  const log = OffsetLog(file)
  const seq = await log.append(Buffer.from('and so on'))
  t.equal(seq, bytes.length + 40, 'nothing in the file could say what is lost')
  t.equal(log.recovery.size, 10)
  await log.compact()
  await log.close()
  fs.appendFileSync(file, Buffer.alloc(10, 1))
  t.equal(fs.readFileSync(file)[11], 3)
  const again = OffsetLog(file)
  t.ok(await again.append(Buffer.from('after a clean end')) < 2 ** 32)
  const image = fs.readFileSync(file)
  await again.close()
  fs.writeFileSync(file, image)
  const jumped = OffsetLog(file)
  t.ok(await jumped.append(Buffer.from('behind an unclean one')) > 2 ** 32)
  t.deepEqual((await describe(jumped.stream())).map(({ text }) => text),
    ['hi', 'yo!', 'and so on', 'after a clean end', 'behind an unclean one'])
  await jumped.close()
})

async function describe (stream) {
  const records = []
  for await (const { seq, value } of stream) records.push(describeOne(seq, value))
  return records
}

function describeOne (seq, value) {
  return value.length <= 40 ? { seq, text: value.toString() } : { seq, size: value.length, hash: hash(value) }
}
