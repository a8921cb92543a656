'use strict'
// append with `if`, while segments begin and are dropped. The stories are those of offset-log.

const tape = require('tape')
const { canonicalCodec } = require('@millrace/binary-codec')
const { fileStorage } = require('@millrace/block-file')
const { jsonCodec } = require('@millrace/json-codec')
const { createRandom, failureOf, inQuickRuns, slowStorage, temporaryFolder } = require('@millrace/testkit')
const { playConditions, raceForOneKey, whereKey } = require('../../offset-log/test/condition-story')
const { SegmentedLog } = require('..')

const seed = Number(process.env.MILLRACE_SEED) || Date.now() % 2 ** 31
const ROUND_COUNT = inQuickRuns(12)
const where = whereKey('a')

for (const [framing, codec] of [['checked', jsonCodec], ['checked', canonicalCodec], ['lines', jsonCodec]]) {
  tape(`append if: in random histories no condition is broken, in segments of ${framing} with ${codec.name} (seed ${seed})`, async (t) => {
    const random = createRandom(seed)
    let total = 0
    for (let round = 0; round < ROUND_COUNT; round++) {
      const storage = random(2) === 0 ? fileStorage : slowStorage(fileStorage, random)
      const fsync = ['always', 'interval', 'never'][random(3)]
      const options = { framing, codec, storage, segmentSize: 2000 + random(60_000), fsync }
      const open = () => SegmentedLog(temporaryFolder(), options)
      const { acceptedCount, refusedCount } = await playConditions({ random, open })
      total += acceptedCount * refusedCount
    }
    t.ok(total > 0, 'some were accepted, some refused')
  })
}

tape('append if: 16 callers count without a gap, also while each record begins a segment', async (t) => {
  const log = SegmentedLog(temporaryFolder(), { codec: jsonCodec, segmentSize: 100 })
  const counts = await raceForOneKey({ log, callerCount: 16, turnCount: 2 })
  t.deepEqual(counts, Array.from({ length: 32 }, (_, n) => n + 1))
  await log.close()
})

tape('append if: what was dropped does not conflict; appendSync refuses it', async (t) => {
  const log = SegmentedLog(temporaryFolder(), { codec: jsonCodec })
  await log.ready()
  const seq = await log.append({ key: 'a' })
  t.equal((await failureOf(() => log.append({ key: 'a' }, { if: { where } }))).seq, seq)
  await log.roll()
  const last = await log.append({ key: 'b' })
  await log.dropBefore(last)
  t.ok(await log.append({ key: 'a' }, { if: { where, since: 0 } }) > last)
  t.throws(() => log.appendSync({ key: 'a' }, { if: { where } }), { code: 'ERR_NOT_SUPPORTED' })
  await log.close()
})
