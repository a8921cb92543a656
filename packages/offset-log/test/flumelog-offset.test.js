'use strict'
// Beside the package that offset-log succeeds: the same bytes from the same work, and each opens the other's files.

const fs = require('node:fs')
const path = require('node:path')
const { promisify } = require('node:util')
const FlumelogOffset = require('flumelog-offset')
const codecs = require('flumecodec')
const pull = require('pull-stream')
const tape = require('tape')
const { createRandom, newPath, temporaryFolder } = require('@millrace/testkit')
const { OffsetLog } = require('..')

const FIXTURE = path.join(__dirname, 'fixtures', 'ssb-2000.offset')
const seed = Date.now() % 2 ** 31

const collect = (source) => new Promise((resolve, reject) => {
  pull(source, pull.collect((err, items) => err ? reject(err) : resolve(items)))
})

tape('fixture: a real log reads as 2,000 messages, the same as through flumelog-offset', async (t) => {
  const log = OffsetLog(FIXTURE, { codec: codecs.json, flags: 'r' })
  await log.ready()
  t.equal(log.since.value, 1854081)
  const ours = await collect(log.stream())
  t.equal(ours.length, 2000)
  t.deepEqual(ours, await collect(FlumelogOffset(FIXTURE, { codec: codecs.json, flags: 'r' }).stream()))
  t.deepEqual(await collect(log.stream({ reverse: true })), [...ours].reverse())
  for (const { seq, value } of ours.slice(0, 50)) t.deepEqual(await log.get(seq), value)
  const types = {}
  for (const { value: { value: { content } } } of ours) {
    const type = typeof content === 'string' ? 'private' : content.type
    types[type] = (types[type] ?? 0) + 1
  }
  t.equal(types.vote, 792)
  t.equal(types.private, 274)
  await log.close()
})

for (const bits of [32, 48, 53]) {
  tape(`offset${bits}: 1,000 random batches give the bytes that flumelog-offset writes (seed ${seed})`, async (t) => {
    const folder = temporaryFolder()
    const ours = OffsetLog(path.join(folder, 'ours'), { framing: `offset${bits}` })
    const theirs = FlumelogOffset(path.join(folder, 'theirs'), { offsetCodec: bits, blockSize: 1024 })
    const appendToTheirs = promisify(theirs.append)
    const random = createRandom(seed)
    for (let round = 0; round < 1000; round++) {
      const batch = Array.from({ length: 1 + random(5) }, () => randomRecord(random))
      const [seq, theirSeq] = await Promise.all([ours.append(batch), appendToTheirs(batch)])
      if (seq !== theirSeq) t.equal(seq, theirSeq)
    }
    await ours.close()
    t.ok(fs.readFileSync(path.join(folder, 'ours')).equals(fs.readFileSync(path.join(folder, 'theirs'))))
  })

  tape(`offset${bits}: each opens what the other wrote, and goes on`, async (t) => {
    const file = newPath('log')
    const values = [{ a: 1 }, { text: 'é'.repeat(2000) }, [1, 2, 3]]
    const before = FlumelogOffset(file, { offsetCodec: bits, codec: codecs.json, blockSize: 1024 })
    await promisify(before.append)(values)
    const ours = OffsetLog(file, { codec: codecs.json })
    t.equal(await ours.append({ b: 2 }), await ours.append([]))
    t.equal((await ours.stats()).framing, `offset${bits}`, 'the framing is detected')
    const ourItems = await collect(ours.stream())
    t.deepEqual(ourItems.map(({ value }) => value), [...values, { b: 2 }])
    await ours.del(ourItems[1].seq)
    await ours.close()
    const after = FlumelogOffset(file, { offsetCodec: bits, codec: codecs.json, blockSize: 1024 })
    t.deepEqual(await collect(after.stream()), ourItems.filter((_, index) => index !== 1))
    t.equal(after.since.value, ourItems[3].seq)
  })
}

/** Neither empty nor all zeros: those are what a deleted record looks like. */
function randomRecord (random) {
  const size = 1 + random(random(20) === 0 ? 5000 : 200)
  const bytes = Buffer.from(Array.from({ length: size }, () => random(256)))
  bytes[random(size)] = 1 + random(255)
  return bytes
}
