'use strict'
// append with `if`: decided against everything that is in front of it in the queue, with nothing in between.

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { canonicalCodec } = require('@millrace/binary-codec')
const { fileStorage } = require('@millrace/block-file')
const { withDictionary } = require('@millrace/dictionary')
const { jsonCodec } = require('@millrace/json-codec')
const { createRandom, failureOf, faultyStorage, inQuickRuns, slowStorage, temporaryFolder } = require('@millrace/testkit')
const { OffsetLog } = require('..')
const { openRange } = require('../lib/range')
const { playConditions, raceForOneKey, whereKey } = require('./condition-story')

const seed = Number(process.env.MILLRACE_SEED) || Date.now() % 2 ** 31
const CODECS = { json: jsonCodec, dictionary: withDictionary(jsonCodec), canonical: canonicalCodec }
const KINDS = [
  ['checked', 'json'], ['checked', 'canonical'], ['checked', 'dictionary'], ['lines', 'json'], ['offset32', 'json'],
  ['offset48', 'canonical'], ['offset53', 'json']
]
const CALLER_COUNT = 16
const ROUND_COUNT = inQuickRuns(8)

const newPath = () => path.join(temporaryFolder(), 'log')
const where = whereKey('a')

for (const [framing, codec] of KINDS) {
  tape(`append if: in random histories no condition is broken, in ${framing} with ${codec} (seed ${seed})`, async (t) => {
    const random = createRandom(seed)
    let total = 0
    for (let round = 0; round < ROUND_COUNT; round++) {
      const options = { framing, codec: CODECS[codec], fsync: ['always', 'interval', 'never'][random(3)] }
      const storage = random(2) === 0 ? fileStorage : slowStorage(fileStorage, random)
      const open = () => OffsetLog(newPath(), { ...options, storage })
      const { acceptedCount, refusedCount } = await playConditions({ random, open })
      total += acceptedCount * refusedCount
    }
    t.ok(total > 0, 'some were accepted, some refused')
  })

  tape(`append if: ${CALLER_COUNT} callers count without a gap, in ${framing} with ${codec}`, async (t) => {
    const log = OffsetLog(newPath(), { framing, codec: CODECS[codec] })
    const counts = await raceForOneKey({ log, callerCount: CALLER_COUNT, turnCount: 3 })
    t.deepEqual(counts, Array.from({ length: CALLER_COUNT * 3 }, (_, n) => n + 1))
    await log.close()
  })
}

tape('append if: without since any record conflicts; after a reopening too, but not if it was deleted', async (t) => {
  const file = newPath()
  let log = OffsetLog(file, { codec: jsonCodec })
  await log.append({ key: 'b' }, { if: { where } })
  const seq = await log.append([{ key: 'a' }, { key: 'b' }], { if: { where } }).then(() => log.first({ where, values: false }))
  t.equal((await failureOf(() => log.append({ key: 'a' }, { if: { where } }))).seq, seq)
  await log.close()
  log = OffsetLog(file, { codec: jsonCodec })
  const refused = await failureOf(() => log.append({ key: 'a' }, { if: { where, since: seq - 1 } }))
  t.deepEqual([refused.code, refused.seq, refused.path], ['ERR_APPEND_CONDITION', seq, file])
  t.equal(await log.count(), 3, 'nothing was written')
  await log.append({ key: 'c' }, { if: { where, since: seq } })
  await log.del(seq)
  await log.append({ key: 'a' }, { if: { where } })
  t.equal(await log.count({ where }), 1)
  await log.append([], { if: { where: { path: 'key', equals: 'none' } } })
  t.equal((await failureOf(() => log.append([], { if: { where: [] } }))).code, 'ERR_APPEND_CONDITION', 'an empty list matches all')
  await log.close()
})

for (const framing of ['checked', 'lines', 'offset32']) {
  for (const fsync of ['always', 'never']) {
    tape(`append if: a since at or after the end is refused, but not one that was just given, in ${framing} with ${fsync}`, async (t) => {
      const [file, copy] = [newPath(), newPath()]
      const open = () => OffsetLog(file, { codec: jsonCodec, framing, fsync })
      let log = open()
      const other = whereKey('other')
      t.equal((await failureOf(() => log.append({ key: 'a' }, { if: { where: other, since: 2 ** 40 } }))).code, 'ERR_LOG_SEQ_LOST', 'an empty log')
      await log.append([{ key: 'a' }, { key: 'b' }])
      await log.sync()
      fs.copyFileSync(file, copy)
      const since = await log.append({ key: 'c' })
      const given = log.appendSync({ key: 'd' }, { sync: false })
      await log.append({ key: 'e' }, { if: { where: other, since: given } })
      await log.close()
      if (fs.existsSync(`${file}.sums`)) fs.rmSync(`${file}.sums`)
      fs.copyFileSync(copy, file)
      log = open()
      for (const seq of [since, Number.MAX_SAFE_INTEGER]) {
        const err = await failureOf(() => log.append({ key: 'f' }, { if: { where: other, since: seq } }))
        t.deepEqual([err.code, err.seq, err.path], ['ERR_LOG_SEQ_LOST', seq, file], err.message)
      }
      t.equal(await log.count(), 2, 'nothing was appended')
      const last = await log.append({ key: 'g' }, { if: { where: other, since: log.since.value } })
      if (log.supports.del) {
        await log.del(last)
        await log.close()
        log = open()
        await log.append({ key: 'h' }, { if: { where: other, since: last } })
      }
      await log.close()
    })
  }
}

tape('append if: works with a callback, and before the log is open', async (t) => {
  const log = OffsetLog(newPath(), { codec: jsonCodec })
  const first = log.append({ key: 'a' }, { if: { where } })
  const second = new Promise((resolve) => log.append({ key: 'a' }, { if: { where }, seqs: true }, (err, seqs) => resolve(err ?? seqs)))
  const seq = await first
  t.equal((await second).seq, seq)
  t.deepEqual(await new Promise((resolve) => log.append({ key: 'a' }, { if: { where, since: seq }, seqs: true }, (_, seqs) => resolve(seqs))),
    [await log.last({ values: false })])
  t.equal(log.pendingSize, 0)
  await log.close()
})

tape('append if: a record that waits to be written conflicts once it is written, and not if that fails', async (t) => {
  for (const fails of [false, true]) {
    let blocked = null
    const storage = faultyStorage(fileStorage, ({ name }) => {
      if (name === 'write' && blocked !== null) return blocked.fails ? { error: new Error('planted') } : { after: blocked.promise }
    })
    const log = OffsetLog(newPath(), { codec: jsonCodec, storage })
    await log.append({ key: 'b' })
    let unblock
    blocked = { fails, promise: new Promise((resolve) => { unblock = resolve }) }
    const before = log.append({ key: 'a' }).catch((err) => err)
    const since = log.since.value
    const call = log.append({ key: 'a', mine: true }, { if: { where, since } }).catch((err) => err)
    setImmediate(() => { blocked = null; unblock() })
    const [seq, answer] = await Promise.all([before, call])
    if (fails) {
      t.equal(seq.message, 'planted')
      t.deepEqual(await log.get(answer), { key: 'a', mine: true })
    } else {
      t.deepEqual([answer.code, answer.seq], ['ERR_APPEND_CONDITION', seq])
    }
    await log.close()
  }
})

tape('append if: appends do not wait for a decision that reads the log, and count in it', async (t) => {
  let release
  const held = new Promise((resolve) => { release = resolve })
  const log = OffsetLog(newPath(), { codec: jsonCodec })
  await log.append({ key: 'b' })
  log._file.openRange = (file, range, cb) => held.then(() => openRange(file, range, cb))
  const hit = log.append({ key: 'a', late: true }, { if: { where } }).catch((err) => err)
  const hitNow = log.append({ key: 'd', late: true }, { if: { where: whereKey('d') } }).catch((err) => err)
  const free = log.append({ key: 'c', late: true }, { if: { where: whereKey('c') } })
  const seq = await log.append({ key: 'a' })
  const seqNow = log.appendSync({ key: 'd' })
  t.ok(log.pendingSize > 0, 'those that are being decided count as pending')
  release()
  t.equal((await hit).seq, seq)
  t.equal((await hitNow).seq, seqNow)
  t.ok(await free > seqNow)
  t.equal(log.pendingSize, 0)
  await log.close()
})

tape('append if: closing waits until it is decided', async (t) => {
  const random = createRandom(seed)
  const file = newPath()
  const options = { codec: jsonCodec, storage: slowStorage(fileStorage, random) }
  const log = OffsetLog(file, options)
  await log.append({ key: 'b', pad: 'x'.repeat(100_000) })
  const calls = [0, 1].map(() => log.append({ key: 'a' }, { if: { where } }).catch((err) => err))
  await log.close()
  const answers = await Promise.all(calls)
  const seq = answers.find((answer) => typeof answer === 'number')
  t.equal(answers.find((answer) => typeof answer !== 'number').seq, seq)
  t.equal((await failureOf(() => log.append({ key: 'a' }, { if: { where } }))).code, 'ERR_LOG_CLOSED')
  const again = OffsetLog(file, options)
  t.equal(await again.count({ where }), 1)
  await again.close()
})

tape('append if: damage that must be read fails it, even if reads skip damage', async (t) => {
  const fs = require('node:fs')
  const file = newPath()
  const log = OffsetLog(file, { codec: jsonCodec, onCorrupt: 'skip' })
  await log.append(Array.from({ length: 3000 }, (_, n) => ({ key: 'b', n, pad: 'x'.repeat(100) })))
  await log.sync()
  const handle = fs.openSync(file, 'r+')
  fs.writeSync(handle, 'damage', 100_000)
  fs.closeSync(handle)
  t.equal((await failureOf(() => log.append({ key: 'a' }, { if: { where } }))).code, 'ERR_LOG_CORRUPT')
  t.ok(await log.append({ key: 'a' }, { if: { where, since: log.since.value } }), 'what need not be read does not matter')
  await log.close()
})

tape('append if: waits neither for a log that takes no more, nor for one that is poisoned', async (t) => {
  const file = newPath()
  await OffsetLog(file, { codec: jsonCodec }).close()
  const reader = OffsetLog(file, { codec: jsonCodec, flags: 'r' })
  t.equal((await failureOf(() => reader.append({ key: 'a' }, { if: { where } }))).code, 'ERR_LOG_READ_ONLY')
  await reader.close()
  const small = OffsetLog(file, { codec: jsonCodec, maxPendingSize: 20 })
  await small.ready()
  const waiting = small.append({ key: 'b', pad: 'x'.repeat(20) })
  t.equal((await failureOf(() => small.append({ key: 'a' }, { if: { where } }))).code, 'ERR_LOG_OVERLOADED')
  await waiting
  t.equal((await failureOf(() => small.append(undefined, { if: { where } }))).code, 'ERR_CODEC_ENCODE')
  await small.close()
})

tape('append if: a line that another program adds meanwhile is not passed over', async (t) => {
  const file = newPath()
  const open = () => OffsetLog(file, { codec: jsonCodec, framing: 'lines' })
  const log = open()
  await log.append({ key: 'b' })
  await log.append({ key: 'c' }, { if: { where } })
  fs.appendFileSync(file, '{"key":"a"}\n')
  for (let call = 0; call < 2; call++) {
    t.equal((await failureOf(() => log.append({ key: 'a' }, { if: { where } }))).code, 'ERR_LOG_POISONED')
  }
  await failureOf(() => log.close())
  const again = open()
  const refused = await failureOf(() => again.append({ key: 'a' }, { if: { where } }))
  t.deepEqual([refused.code, refused.seq], ['ERR_APPEND_CONDITION', await again.last({ values: false })])
  t.equal(await again.count(), 3)
  await again.close()
})

tape('append if: misspelt options are misuse, and appendSync refuses it', async (t) => {
  const log = OffsetLog(newPath(), { codec: jsonCodec })
  await log.ready()
  const wrong = [
    true, null, {}, { were: where }, { where, sinse: 3 }, { where, since: '3' }, { where, since: NaN }, { where, since: -2 },
    { where, since: 1.5 }, { where: { pth: 'a' } }, { where: 7 }
  ]
  for (const given of wrong) {
    const err = await failureOf(() => log.append({ key: 'a' }, { if: given }))
    t.equal(err?.code, 'ERR_INVALID_ARGUMENT', err?.message)
  }
  t.throws(() => log.appendSync({ key: 'a' }, { if: { where } }), { code: 'ERR_NOT_SUPPORTED' })
  t.equal(await log.count(), 0)
  await log.append({ key: 'a' }, { if: undefined })
  await log.close()
})
