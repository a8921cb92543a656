'use strict'

const fs = require('node:fs')
const path = require('node:path')
const { setTimeout: sleep } = require('node:timers/promises')
const tape = require('tape')
const { jsonCodec } = require('@millrace/json-codec')
const { collect, failureOf, newPath, until } = require('@millrace/testkit')
const { MergedLog, SlotLog } = require('..')

const MiB = 2 ** 20
const options = { codec: jsonCodec, slots: 2, maxSize: 2 * MiB, segmentSize: 64 * 1024 }

function sizeOf (folder) {
  const names = fs.readdirSync(folder, { recursive: true })
  const files = names.map((name) => fs.statSync(path.join(folder, name), { throwIfNoEntry: false }))
  return files.reduce((sum, file) => sum + (file?.isFile() ? file.size : 0), 0)
}

tape('quota: all slots together stay below it, the oldest records go first, and a slot without a process gives too', async (t) => {
  const folder = newPath('logs')
  const [a, b] = [SlotLog(folder, options), SlotLog(folder, options)]
  await Promise.all([a.ready(), b.ready()])
  let n = 0
  let peak = 0
  const write = async (log, size) => {
    for (let left = size; left > 0; left -= 16_000) {
      await log.append(Array.from({ length: 16 }, () => ({ n: n++, time: Date.now(), text: 'x'.repeat(960) })))
      if (n % 256 === 0) await sleep(5)
      peak = Math.max(peak, sizeOf(folder))
    }
  }
  await write(a, 1.2 * MiB)
  await write(b, 1.2 * MiB)
  const merged = MergedLog(folder, { codec: jsonCodec })
  // The oldest are dropped.
  await until(async () => (await merged.first()).value.n > 0)
  // Records may be dropped while they are counted.
  const countOf = (slot) => merged.count({ after: { [1 - slot]: Number.MAX_SAFE_INTEGER } })
  const before = await countOf(a.slot)
  t.ok(before > 0)
  const { slot } = a
  await a.close()
  await write(b, MiB)
  for (let left = 100; await countOf(slot) >= before / 2 && left > 0; left--) {
    await write(b, 64_000)
    await sleep(150)
  }
  t.ok(await countOf(slot) < before / 2, 'the process that is left drops what nobody has')
  await sleep(500)
  t.equal((await merged.last()).value.n, n - 1)
  t.ok(peak <= 2 * MiB, `${peak} bytes at most`)
  await merged.close()
  await b.close()
})

tape('quota: a slot whose process appends without waiting, and never yields, stays below it', async (t) => {
  const folder = newPath('logs')
  const log = SlotLog(folder, options)
  await log.ready()
  let peak = 0
  for (let n = 0; n < 4000; n++) {
    log.appendSync({ n, time: n, text: 'x'.repeat(2000) }, { sync: false })
    if (n % 20 === 0) peak = Math.max(peak, sizeOf(folder))
  }
  t.ok(peak <= 2 * MiB && peak > MiB / 2, `${peak} bytes at most`)
  await log.close()
  t.ok(sizeOf(folder) <= 2 * MiB)
  const merged = MergedLog(folder, { codec: jsonCodec })
  const [{ value: first }, { value: last }] = [await merged.first(), await merged.last()]
  t.equal(last.n, 3999)
  t.equal(await merged.count(), last.n - first.n + 1, 'the newest are there')
  await merged.close()
})

tape('retained: a read that resumes where a slot has dropped records fails, or goes on if it may miss some', async (t) => {
  const folder = newPath('slots')
  const writer = SlotLog(folder, { codec: jsonCodec })
  for (let n = 0; n < 3; n++) {
    await writer.append({ n, time: n })
    await writer.log.roll()
  }
  const merged = MergedLog(folder, { codec: jsonCodec })
  const { seq } = await merged.first()
  const after = { 0: Number(seq.split(':')[1]) }
  await writer.log.dropBefore(writer.log.since.value)
  const read = async (options) => {
    return (await collect(merged.stream({ after, ...options }))).map(({ value }) => value.n)
  }
  await until(async () => (await failureOf(() => read()))?.code === 'ERR_LOG_SEQ_RETAINED')
  t.deepEqual(await read({ onRetained: 'skip' }), [2])
  for (const call of ['count', 'first', 'explain']) {
    t.equal((await failureOf(() => merged[call]({ after })))?.code, call === 'explain' ? undefined : 'ERR_LOG_SEQ_RETAINED', call)
  }
  t.equal(await merged.count({ after, onRetained: 'skip' }), 1)
  for (const call of ['first', 'last']) t.equal((await merged[call]({ after, onRetained: 'skip' })).value.n, 2, call)
  t.equal((await merged.explain({ after, onRetained: 'skip' })).slots.length, 1)
  await merged.close()
  await writer.close()
})
