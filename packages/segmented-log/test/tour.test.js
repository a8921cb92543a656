'use strict'
// A tour of the package, in the order of its README.

const fs = require('node:fs')
const tape = require('tape')
const { jsonCodec } = require('@millrace/json-codec')
const { collect, failureOf, newPath, until } = require('@millrace/testkit')
const { SegmentedLog } = require('..')

const open = (folder, options) => SegmentedLog(folder, { codec: jsonCodec, ...options })
const isError = { path: 'level', equals: 'error' }

/** Three segments with two records each. */
async function makeLog (options) {
  const log = open(newPath('logs'), options)
  const seqs = []
  for (let n = 0; n < 6; n++) {
    if (n > 0 && n % 2 === 0) await log.roll()
    seqs.push(await log.append({ n, level: n % 2 === 0 ? 'info' : 'error' }))
  }
  return { log, seqs }
}

tape('tour: one log over many files', async (t) => {
  const { log, seqs } = await makeLog()
  const segments = await log.segments()
  t.equal(segments.length, 3)
  t.ok(segments.every(({ path }) => /[0-9a-f]{16}-\d{8}T\d{9}Z\.log$/.test(path)), segments[0].path)
  t.deepEqual((await collect(log.stream({ seqs: false }))).map(({ n }) => n), [0, 1, 2, 3, 4, 5])
  t.deepEqual((await collect(log.stream({ where: isError }))).map(({ value }) => value.n), [1, 3, 5])
  t.ok(seqs.every((seq, index) => index === 0 || seq > seqs[index - 1]), 'seqs rise')
  t.equal((await log.get(seqs[3])).n, 3)
  await log.close()
})

tape('tour: it is the same log after it was opened again', async (t) => {
  const { log, seqs } = await makeLog()
  await log.close()
  const again = open(log.filename)
  t.deepEqual(await collect(again.stream({ values: false })), seqs)
  t.equal(again.since.value, seqs[5])
  await again.close()
})

tape('tour: one process writes, readers follow', async (t) => {
  const { log } = await makeLog()
  const second = open(log.filename)
  t.equal((await failureOf(() => second.append({}))).code, 'ERR_LOG_LOCKED')
  const reader = open(log.filename, { flags: 'r' })
  t.equal(await reader.count(), 6)
  for (const each of [reader, log]) await each.close()
})

tape('tour: limits drop whole segments, the oldest first', async (t) => {
  const { log, seqs } = await makeLog({ maxCount: 2 })
  await until(async () => (await log.segments()).length === 2)
  t.deepEqual((await collect(log.stream({ seqs: false }))).map(({ n }) => n), [2, 3, 4, 5])
  t.equal((await failureOf(() => log.get(seqs[0]))).code, 'ERR_LOG_SEQ_RETAINED')
  t.equal((await failureOf(() => collect(log.stream({ gt: seqs[0] })))).code, 'ERR_LOG_SEQ_RETAINED')
  const left = await collect(log.stream({ gt: seqs[0], onRetained: 'skip', seqs: false }))
  t.equal(left.length, 4, 'or it goes on at the next record that is left')
  await log.close()
})

tape('tour: chosen records outlive their segments', async (t) => {
  const { log, seqs } = await makeLog({ maxCount: 2, keep: { where: isError } })
  // A run of the retention may be under way; this one follows it.
  await log.dropBefore(0)
  t.deepEqual(await collect(log.stream({ values: false })), seqs.slice(1))
  await log.close()
})

tape('tour: a hold keeps what somebody has not read yet', async (t) => {
  const { log, seqs } = await makeLog()
  await log.hold('reader', seqs[2])
  await log.dropBefore(seqs[5])
  t.deepEqual(await collect(log.stream({ values: false })), seqs.slice(2))
  await log.release('reader')
  await log.dropBefore(seqs[5])
  t.deepEqual(await collect(log.stream({ values: false })), seqs.slice(4))
  await log.close()
})

tape('tour: a period skips the segments outside of it', async (t) => {
  const log = open(newPath('logs'), { time: ['time'] })
  for (const day of ['2026-01-01', '2026-01-02', '2026-01-03']) await log.append({ time: `${day}T00:00:00Z` })
  const found = await collect(log.stream({ time: { gte: '2026-01-02T00:00:00Z' }, seqs: false }))
  t.deepEqual(found.map(({ time }) => time.slice(0, 10)), ['2026-01-02', '2026-01-03'])
  await log.close()
})

tape('tour: a sealed segment that is missing is reported, or passed over', async (t) => {
  const { log } = await makeLog()
  const [, { path }] = await log.segments()
  await log.close()
  fs.rmSync(path)
  const reader = open(log.filename, { flags: 'r' })
  t.equal((await failureOf(() => collect(reader.stream()))).code, 'ERR_LOG_CORRUPT')
  t.deepEqual((await collect(reader.stream({ onCorrupt: 'skip', seqs: false }))).map(({ n }) => n), [0, 1, 4, 5])
  await reader.close()
})
