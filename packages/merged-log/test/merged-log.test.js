'use strict'

const path = require('node:path')
const { setTimeout: sleep } = require('node:timers/promises')
const tape = require('tape')
const { Forwarder, ship, verifyShipped } = require('@millrace/forwarder')
const { jsonCodec } = require('@millrace/json-codec')
const { LogWriter } = require('@millrace/log-writer')
const { SegmentedLog } = require('@millrace/segmented-log')
const { collect, failureOf, fakeWallClock, newPath, until } = require('@millrace/testkit')
const { MergedLog, SlotLog } = require('..')

const codec = jsonCodec

/** Makes a slot of each list of values. */
async function makeSlots (folder, lists) {
  const logs = lists.map(() => SlotLog(folder, { codec, segmentSize: 1000 }))
  for (const log of logs) await log.ready()
  const bySlot = logs.sort((a, b) => a.slot - b.slot)
  for (const [slot, values] of lists.entries()) {
    for (let index = 0; index < values.length; index += 8) await bySlot[slot].append(values.slice(index, index + 8))
  }
  return bySlot
}

const closeAll = (logs) => Promise.all(logs.map((log) => log.close()))

tape('slots: append gives the seq of each record of a batch, and what a merged log reads there', async (t) => {
  const folder = newPath('logs')
  const log = SlotLog(folder, { codec })
  const waiting = log.append([{ n: 1 }, { n: 2 }], { seqs: true })
  await log.ready()
  const called = new Promise((resolve, reject) => {
    log.append([{ n: 3 }, { n: 4 }], { seqs: true }, (err, seqs) => err ? reject(err) : resolve(seqs))
  })
  const seqs = [...await waiting, ...await called, ...await log.append({ n: 5 }, { seqs: true })]
  seqs.push(...log.appendSync([{ n: 6 }, { n: 7 }], { seqs: true, sync: false }))
  t.deepEqual(await log.append([], { seqs: true }), [])
  t.equal(typeof await log.append([{ n: 8 }], { seqs: false }), 'number')
  const merged = MergedLog(folder, { codec })
  t.deepEqual((await merged.getMany(seqs.map((seq) => `${log.slot}:${seq}`))).map(({ n }) => n), [1, 2, 3, 4, 5, 6, 7])
  for (const options of [null, 5, { seq: true }, { seqs: 1 }]) {
    const err = await new Promise((resolve) => log.append([{ n: 9 }], options, resolve))
    t.equal(err?.code, 'ERR_INVALID_ARGUMENT', JSON.stringify(options))
  }
  for (const cb of [null, 5, 'cb']) {
    for (const call of [() => log.append({ n: 9 }, cb), () => log.append({ n: 9 }, { seqs: true }, cb)]) {
      t.equal((await failureOf(async () => call()))?.code, 'ERR_INVALID_ARGUMENT', `a callback that is ${cb}`)
    }
  }
  for (const wrong of [[], ['a'], null, 7]) {
    t.equal((await failureOf(() => merged.toReadable(wrong).toArray()))?.code, 'ERR_INVALID_ARGUMENT', JSON.stringify(wrong))
  }
  t.equal((await failureOf(() => merged.append([{ n: 9 }], { seqs: true })))?.code, 'ERR_LOG_READ_ONLY')
  const err = await new Promise((resolve) => merged.append([{ n: 9 }], { seqs: true }, resolve))
  t.equal(err?.code, 'ERR_LOG_READ_ONLY', 'a merged log is for reading, also with options and a callback')
  await log.close()
  await merged.close()
})

tape('slots: append refuses a condition, which other processes could break', async (t) => {
  const log = SlotLog(newPath(), { codec })
  t.equal((await failureOf(() => log.append('a', { if: { where: [] } }))).code, 'ERR_NOT_SUPPORTED')
  const byCallback = await new Promise((resolve) => log.append('a', { if: { where: [] } }, resolve))
  t.equal(byCallback.code, 'ERR_NOT_SUPPORTED')
  await log.close()
})

tape('slots: the first free one, and one that was closed is free again', async (t) => {
  const folder = newPath('logs')
  const [first, second] = [SlotLog(folder, { codec }), SlotLog(folder, { codec, slots: 2 })]
  await Promise.all([first.append({ n: 1 }), second.append({ n: 2 })])
  t.deepEqual([first.slot, second.slot].sort(), [0, 1])
  t.equal((await failureOf(() => SlotLog(folder, { slots: 2 }).ready()))?.code, 'ERR_LOG_LOCKED')
  const { slot } = first
  await first.close()
  t.equal((await failureOf(() => first.append({ n: 3 })))?.code, 'ERR_LOG_CLOSED')
  const third = new SlotLog(folder, { codec })
  t.throws(() => third.flushSync(), { code: 'ERR_LOG_NOT_READY' })
  await third.ready()
  t.equal(third.slot, slot)
  third.append({ n: 3 }, () => {})
  third.flushSync()
  t.equal(await third.log.count(), 2)
  await closeAll([second, third])
  t.equal((await failureOf(() => SlotLog(folder, { slots: 0 }).ready()))?.code, 'ERR_INVALID_ARGUMENT')
  t.throws(() => SlotLog(folder, { maxSize: 1000 }), /at least 67108864/)
})

tape('merge: by time, in the order of each slot, whatever the clocks did; also backwards and in parts', async (t) => {
  const seed = Date.now() % 1e6
  const random = (count) => Math.floor((random.state = (random.state * 48271) % 0x7fffffff) / 0x7fffffff * count)
  random.state = seed + 1
  t.comment(`seed ${seed}`)
  for (let round = 0; round < 6; round++) {
    const folder = newPath('logs')
    const lists = Array.from({ length: 1 + random(4) }, (_, slot) => {
      let time = random(50)
      return Array.from({ length: 1 + random(60) }, (_, n) => {
        time += random(10) === 0 ? -random(40) : random(5)
        return random(12) === 0 ? { slot, n } : { slot, n, time }
      })
    })
    const logs = await makeSlots(folder, lists)
    const merged = MergedLog(folder, { codec })
    const items = await collect(merged.stream())
    t.deepEqual(items.map(({ value }) => value), mergeSlowly(lists), `${lists.length} slots`)
    t.deepEqual(await collect(merged.stream({ seqs: false, reverse: true })), mergeSlowly(lists, true), 'backwards')
    const limit = random(items.length)
    const source = merged.stream({ limit })
    const front = await collect(source)
    t.deepEqual([...front, ...await collect(merged.stream({ after: source.position }))], resumed(lists, items, limit), 'in two parts')
    await checkBackwards(t, merged, lists, items.length - limit)
    t.deepEqual(await merged.getMany(items.map(({ seq }) => seq)), items.map(({ value }) => value))
    t.equal(await merged.count(), items.length)
    t.equal(await merged.count({ after: source.position }), items.length - front.length)
    await closeAll([merged, ...logs])
  }
})

/** Backwards in parts: each goes on at the position of the one before, which also parts the log in two. */
async function checkBackwards (t, merged, lists, limit) {
  const back = merged.stream({ reverse: true, limit })
  const newest = await collect(back)
  const { position: upTo } = back
  const older = await collect(merged.stream({ reverse: true, upTo, seqs: false }))
  t.deepEqual(newest.map(({ value }) => value), mergeSlowly(lists, true).slice(0, limit), 'the newest ones')
  const countIn = (slot) => newest.filter(({ value }) => value.slot === slot).length
  const rest = lists.map((values, slot) => values.slice(0, values.length - countIn(slot)))
  t.deepEqual(older, mergeSlowly(rest, true), 'and those before')
  t.deepEqual(await collect(merged.stream({ upTo, seqs: false })), mergeSlowly(rest), 'forwards up to there')
  const after = await collect(merged.stream({ after: upTo }))
  t.deepEqual(after.map(({ seq }) => seq).sort(), newest.map(({ seq }) => seq).sort(), 'and from there on')
  t.deepEqual([await merged.count({ upTo }), await merged.count({ after: upTo })], [older.length, newest.length])
  t.deepEqual(await merged.last({ upTo, seqs: false }), older[0])
}

/** What comes next is the record with the earliest time; within a slot the latest time so far counts. */
function mergeSlowly (lists, isReversed = false) {
  const sign = isReversed ? -1 : 1
  const slots = lists.map((values) => {
    let latest = -Infinity
    return (isReversed ? [...values].reverse() : values).map((value) => {
      latest = Math.max(latest, value.time === undefined ? -Infinity : sign * value.time)
      return { latest, value }
    })
  })
  if (isReversed) slots.reverse()
  const merged = []
  while (slots.some(({ length }) => length > 0)) {
    const heads = slots.filter(({ length }) => length > 0)
    const first = heads.reduce((best, slot) => slot[0].latest < best[0].latest ? slot : best)
    merged.push(first.shift().value)
  }
  return merged
}

/** A stream that goes on does not know the times before it, so only what is behind them is compared. */
function resumed (lists, items, limit) {
  const front = items.slice(0, limit)
  const rest = lists.map((values, slot) => values.slice(front.filter(({ value }) => value.slot === slot).length))
  const seqOf = new Map(items.map((item) => [`${item.value.slot} ${item.value.n}`, item]))
  return [...front, ...mergeSlowly(rest).map(({ slot, n }) => seqOf.get(`${slot} ${n}`))]
}

tape('merge: filters, limits, shapes, and keys', async (t) => {
  const folder = newPath('logs')
  const logs = await makeSlots(folder, [[{ time: 1, k: 'a' }, { time: 4, k: 'b' }], [{ time: '1970-01-01T00:00:00.002Z', k: 'a' }, { at: 3, k: 'b' }]])
  const merged = MergedLog(folder, { codec })
  const items = await collect(merged.stream())
  t.deepEqual(items.map(({ value, time }) => [value.k, time]), [['a', 1], ['a', 2], ['b', null], ['b', 4]])
  t.deepEqual(await collect(merged.stream({ values: false, limit: 2 })), items.slice(0, 2).map(({ seq }) => seq))
  t.deepEqual(await collect(merged.stream({ seqs: false, where: { path: 'k', equals: 'b' } })), [{ at: 3, k: 'b' }, { time: 4, k: 'b' }])
  t.deepEqual((await merged.toReadable().toArray()).map(({ seq }) => seq), items.map(({ seq }) => seq))
  t.deepEqual(await merged.first({ seqs: false, where: { path: 'k', equals: 'b' } }), { at: 3, k: 'b' })
  t.equal((await merged.last({ where: { path: 'k', equals: 'a' } })).time, 2)
  t.equal(await merged.last({ where: { path: 'k', equals: 'c' } }), undefined)
  t.equal(await merged.count({ where: { path: 'k', equals: 'a' } }), 2)
  const [slot, seq] = items[0].seq.split(':').map(Number)
  t.deepEqual(await merged.get({ slot, seq }), await merged.get(items[0].seq))
  t.equal((await failureOf(() => merged.get('9:1')))?.code, 'ERR_RECORD_NOT_FOUND')
  t.equal((await failureOf(() => merged.get(12)))?.code, 'ERR_INVALID_ARGUMENT')
  for (const wrong of [{ gt: 5 }, { upTo: 5 }, { live: true, upTo: {} }]) {
    t.equal((await failureOf(() => collect(merged.stream(wrong))))?.code, 'ERR_INVALID_ARGUMENT', JSON.stringify(wrong))
  }
  t.equal((await failureOf(() => merged.append({})))?.code, 'ERR_LOG_READ_ONLY')
  t.equal((await failureOf(() => merged.scan({}, () => {})))?.code, 'ERR_NOT_SUPPORTED')
  t.equal((await failureOf(() => collect(merged.stream({ signal: AbortSignal.abort() }))))?.code, 'ABORT_ERR')
  t.equal((await merged.stats()).slotCount, 2)
  await closeAll([merged, ...logs])
  const byFunction = MergedLog(folder, { codec, time: ({ time }) => typeof time === 'string' ? 0 : 1 })
  t.equal((await byFunction.first()).time, 0)
  await byFunction.close()
  t.equal((await failureOf(() => collect(byFunction.stream())))?.code, 'ERR_LOG_CLOSED')
  t.equal((await failureOf(() => MergedLog(newPath('logs')).ready()))?.code, 'ENOENT')
})

tape('live: waits for older records of other slots, but not longer than latenessMs, and notices new slots', async (t) => {
  const folder = newPath('logs')
  const [a, b] = await makeSlots(folder, [[{ n: 1, time: 1 }], [{ n: 2, time: 2 }]])
  // A busy machine may take seconds to append to the other slot.
  const latenessMs = 5000
  const merged = MergedLog(folder, { codec, latenessMs })
  const seen = []
  const source = merged.stream({ live: true, seqs: false })
  const following = (async () => { for await (const { n } of source) seen.push(n) })()
  await until(() => seen.length >= 2)
  const now = Date.now()
  await a.append({ n: 4, time: now })
  await sleep(50)
  await b.append({ n: 3, time: now - 10 })
  await until(() => seen.length >= 4)
  t.deepEqual(seen, [1, 2, 3, 4])
  t.ok(Date.now() - now >= latenessMs - 5, 'it has waited')
  await b.append({ n: 5, time: now - 3 * latenessMs })
  await until(() => seen.length >= 5)
  t.deepEqual(seen.slice(4), [5], 'late, but there')
  const begun = Date.now()
  await a.append({ n: 6, time: now + 3_600_000 })
  await until(() => seen.length >= 6)
  t.ok(Date.now() - begun < 4 * latenessMs, 'a clock that was an hour ahead stops nothing')
  const c = SlotLog(folder, { codec })
  await c.append({ n: 7, time: Date.now() - 1000 })
  await until(() => seen.length >= 7)
  t.deepEqual(seen.slice(5), [6, 7])
  t.deepEqual(Object.keys(source.position), ['0', '1', '2'])
  const fromNow = merged.stream({ old: false, seqs: false })[Symbol.asyncIterator]()
  const next = fromNow.next()
  await sleep(50)
  await c.append({ n: 8, time: Date.now() })
  t.equal((await next).value.n, 8)
  await until(() => seen.length >= 8)
  await merged.close()
  await following
  await closeAll([a, b, c])
})

tape('live: a wall clock that stands still, or goes back, stops nothing', async (t) => {
  const folder = newPath('logs')
  const wall = fakeWallClock(t, Date.UTC(2026, 0, 1))
  const [a, b] = await makeSlots(folder, [[], []])
  const merged = MergedLog(folder, { codec, latenessMs: 20 })
  const seen = []
  const source = merged.stream({ live: true, seqs: false })
  const following = (async () => { for await (const { n } of source) seen.push(n) })()
  for (let n = 0; n < 6; n++) {
    await a.append({ n, time: Date.now() })
    if (n > 2) wall.pass(-5)
  }
  await until(() => seen.length === 6)
  t.deepEqual(seen, [0, 1, 2, 3, 4, 5])
  await merged.close()
  await following
  await closeAll([a, b])
})

tape('live: a stream that has given everything ends when the log is closed', async (t) => {
  const folder = newPath('logs')
  const slots = await makeSlots(folder, [[{ n: 1, time: 1 }], [{ n: 2, time: 2 }]])
  const merged = MergedLog(folder, { codec, latenessMs: 0 })
  const seen = []
  let closing = null
  for await (const { n } of merged.stream({ live: true, seqs: false })) {
    seen.push(n)
    if (n === 2) closing = merged.close()
  }
  t.deepEqual(seen, [1, 2])
  await closing
  await closeAll(slots)
})

tape('close: a stream that was begun just before fails, or gives everything; it does not end as if there were nothing', async (t) => {
  const folder = newPath('logs')
  const logs = await makeSlots(folder, [[{ n: 0, time: 1 }], [{ n: 1, time: 2 }]])
  for (const reverse of [false, true]) {
    for (const read of ['stream', 'toReadable']) {
      const merged = MergedLog(folder, { codec })
      await merged.ready()
      const reading = collect(merged[read]({ reverse })).then((items) => `${items.length} records`, ({ code }) => code)
      await merged.close()
      const end = await reading
      t.ok(['2 records', 'ERR_LOG_CLOSED'].includes(end), `${read} ${reverse ? 'backwards' : 'forwards'}: ${end}`)
    }
  }
  await closeAll(logs)
})

tape('writers: a log writer appends to a slot, from its first line on', async (t) => {
  const folder = newPath('logs')
  const log = SlotLog(folder)
  const writer = LogWriter(log)
  writer.write({ level: 30, time: 1, msg: 'early' }, 'info')
  await log.ready()
  writer.write({ level: 50, time: 2, msg: 'eager' }, 'error')
  t.equal(await log.log.count(), 2, 'written before the call has returned')
  await writer.close()
  await log.close()
})

tape('forwarders: one for each slot, also for slots that are added', async (t) => {
  const folder = newPath('logs')
  const [a] = await makeSlots(folder, [[{ n: 1 }, { n: 2 }]])
  const merged = MergedLog(folder, { codec })
  const forwarded = []
  const forwarders = []
  merged.eachSlot((log, slot) => forwarders.push(Forwarder(log, {
    path: path.join(folder, `cursor-${slot}`),
    sink: async (records) => { forwarded.push(...records.map(({ value }) => `${slot}:${value.n}`)) }
  })))
  await merged.ready()
  const b = SlotLog(folder, { codec })
  await b.append([{ n: 1 }, { n: 2 }])
  await a.append({ n: 3 })
  await until(() => forwarded.length >= 5)
  t.deepEqual(forwarded.sort(), ['0:1', '0:2', '0:3', '1:1', '1:2'])
  await closeAll(forwarders)
  await closeAll([merged, a, b])
})

tape('forwarders and shippers: a merged log, or a slot in place of its log, is refused with what to write', async (t) => {
  const folder = newPath('logs')
  const [slot] = await makeSlots(folder, [[{ n: 1 }]])
  const [merged, other] = [MergedLog(folder, { codec }), SegmentedLog(newPath('other'), { codec })]
  const sink = () => {}
  const calls = {
    forwarder: (log) => Forwarder(log, { sink }),
    'source of ship': (log) => ship(log, other),
    'target of ship': (log) => ship(other, log),
    'source of verifyShipped': (log) => verifyShipped(log, other),
    'target of verifyShipped': (log) => verifyShipped(other, log)
  }
  for (const [name, call] of Object.entries(calls)) {
    const ofMerged = await failureOf(async () => call(merged))
    t.equal(ofMerged.code, 'ERR_NOT_SUPPORTED', name)
    t.match(ofMerged.message, /eachSlot/)
    const ofSlot = await failureOf(async () => call(slot))
    t.equal(ofSlot.code, 'ERR_INVALID_ARGUMENT', name)
    t.match(ofSlot.message, /its property log/)
    t.equal((await failureOf(async () => call(folder))).code, 'ERR_INVALID_ARGUMENT', name)
  }
  await closeAll([merged, slot, other])
})

tape('forwarders: what a slot drops before anything was forwarded is told after a restart', async (t) => {
  const folder = newPath('logs')
  const [slot] = await makeSlots(folder, [[{ n: 0 }]])
  const place = newPath('cursor')
  const forward = async (isDown) => {
    const merged = MergedLog(folder, { codec })
    await merged.ready()
    const log = await new Promise((resolve) => merged.eachSlot(resolve))
    const [sent, skips] = [[], []]
    const forwarder = Forwarder(log, {
      sink: async (records) => {
        if (isDown) throw new Error('down')
        sent.push(...records.map(({ value }) => value.n))
      },
      path: place,
      batch: { ageMs: 0 },
      onReport: ({ what, from, to }) => { if (what === 'skipped') skips.push({ from, to }) }
    })
    await (isDown ? forwarder.ready() : forwarder.drained())
    await closeAll([forwarder, merged])
    return { sent, skips }
  }
  await forward(true)
  for (const n of [1, 2]) {
    await slot.roll()
    await slot.append({ n })
  }
  await slot.log.dropBefore(slot.log.since.value)
  const to = (await slot.log.first()).seq
  t.deepEqual(await forward(false), { sent: [2], skips: [{ from: -1, to }] })
  await slot.close()
})
