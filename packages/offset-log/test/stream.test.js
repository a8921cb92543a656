'use strict'
// Streams against an array that answers the same question, in every framing, however they are read.

const fs = require('node:fs')
const { Readable } = require('node:stream')
const { setTimeout: sleep } = require('node:timers/promises')
const pull = require('pull-stream')
const spec = require('pull-spec')
const tape = require('tape')
const { jsonCodec } = require('@millrace/json-codec')
const { SimulatedDisk, collect, createRandom, failureOf, flip, inQuickRuns, newPath, stopClock } = require('@millrace/testkit')
const { OffsetLog } = require('..')
const { RecordRun } = require('../lib/record-run')
const { LiveOracle, randomOptions, select } = require('./stream-oracle')

const FRAMINGS = ['checked', 'offset32', 'offset48', 'offset53']
const seed = Date.now() % 2 ** 31

const readers = {
  'pull-stream': (source) => new Promise((resolve, reject) => {
    pull(spec(source, 'stream'), pull.collect((err, items) => err ? reject(err) : resolve(items)))
  }),
  'async iteration': async (source) => {
    return collect(source)
  },
  'Readable.from': (source) => Readable.from(source).toArray()
}

const ofScan = { seqs: true, values: false }

async function scanSeqs (log, options) {
  const found = []
  await log.scan(options, ({ count, seqs }) => { found.push(...seqs.subarray(0, count)) })
  return found
}

tape('stream: a live one that waits has a record before its append calls back, as in flumelog-offset', async (t) => {
  // On a slow disk it may have it a turn later.
  stopClock(t)
  for (const framing of FRAMINGS) {
    for (const fsync of ['always', 'never']) {
      const log = OffsetLog(newPath('log'), { framing, fsync, codec: jsonCodec })
      await log.append('old')
      const seen = []
      pull(log.stream({ live: true, seqs: false }), pull.drain((value) => { seen.push(value) }, () => {}))
      while (seen.length < 1) await sleep(1)
      for (const value of ['a', 'b']) {
        await new Promise((resolve, reject) => log.append(value, (err) => {
          t.equal(seen.at(-1), value, `${framing}, ${fsync}`)
          err ? reject(err) : resolve()
        }))
      }
      await log.close()
    }
  }
})

function open (framing, { isAsync = false } = {}) {
  const storage = isAsync ? new SimulatedDisk().storage : undefined
  const log = OffsetLog(newPath('log'), { framing, codec: jsonCodec, storage, cache: 2 ** 17 })
  return isAsync ? readLater(log) : log
}

/** A disk that answers later, as a cold one does. */
function readLater (log) {
  log._file.blocks._file.adaptiveIo.mayBlock = () => false
  return log
}

/** Appends some records, now and then in a batch. */
async function grow (log, entries, random, count) {
  for (let left = count; left > 0; left--) {
    const value = { i: entries.length, text: 'é'.repeat(random(random(20) === 0 ? 6000 : 30)) }
    entries.push({ seq: await log.append(random(4) === 0 ? [value] : value), value, isDeleted: false })
  }
}

async function erase (log, chosen) {
  await log.del(chosen.map(({ seq }) => seq))
  for (const entry of chosen) entry.isDeleted = true
}

for (const framing of FRAMINGS) {
  tape(`stream: random options, read in every way, give what an array gives (${framing}, seed ${seed})`, async (t) => {
    const random = createRandom(seed)
    let rounds = 0
    for (const isAsync of [false, true]) {
      const log = open(framing, { isAsync })
      const entries = []
      for (let phase = 0; phase < 4; phase++) {
        await grow(log, entries, random, 30)
        await erase(log, entries.filter(() => random(6) === 0))
        for (let round = 0; round < inQuickRuns(50, 3); round++) {
          const options = { ...randomOptions(random, entries), reverse: random(2) === 0 }
          const expected = JSON.stringify(select(entries, options))
          const sources = Object.keys(readers).map(() => log.stream(options))
          const seqs = JSON.stringify(select(entries, { ...options, ...ofScan }))
          if (JSON.stringify(await scanSeqs(log, options)) !== seqs) t.fail(`scan, ${JSON.stringify(options)}`)
          // What is appended after the call is not for them.
          if (random(8) === 0) await grow(log, entries, random, 1)
          for (const [name, read] of Object.entries(readers)) {
            const found = JSON.stringify(await read(sources.shift()))
            rounds++
            if (found === expected) continue
            t.fail(`${name}, ${JSON.stringify(options)}: expected ${expected}, found ${found}`)
            return log.close()
          }
        }
      }
      await log.close()
    }
    t.ok(rounds > inQuickRuns(1000, 3), `${rounds} streams`)
  })

  tape(`stream: a live one gives what an array gives while the log changes (${framing}, seed ${seed})`, async (t) => {
    const random = createRandom(seed)
    const counts = { item: 0, end: 0, wait: 0 }
    const isEnough = () => counts.item > 100 && counts.end > 5 && counts.wait > 50
    for (let round = 0; round < 30 || (!isEnough() && round < 300); round++) {
      const log = open(framing, { isAsync: round % 2 === 0 })
      const entries = []
      await grow(log, entries, random, 1 + random(12))
      await erase(log, entries.filter(() => random(6) === 0))
      const kind = [{ live: true }, { live: true, old: true }, { live: true, old: false }, { old: false }][random(4)]
      const fault = await followLive(log, entries, { ...randomOptions(random, entries), ...kind }, random, counts)
      if (fault) t.fail(`round ${round}: ${fault}`)
      await log.close()
      if (fault) return
    }
    t.ok(isEnough(), JSON.stringify(counts))
  })
}

/** A storage where reads take long enough for everything else to come between. */
function createSlowReads () {
  const { storage } = new SimulatedDisk()
  const slow = (handle) => handle && {
    ...handle,
    read: (buf, offset, length, position, cb) => {
      handle.read(buf, offset, length, position, (err, count) => setTimeout(cb, 5, err, count))
    }
  }
  const open = (file, options, cb) => storage.open(file, options, (err, handle) => cb(err, slow(handle)))
  return { ...storage, open }
}

for (const framing of FRAMINGS) {
  tape(`stream: a live one does not miss what is appended while it reads and finds nothing (${framing})`, async (t) => {
    const log = readLater(OffsetLog('/folder/log', { framing, codec: jsonCodec, storage: createSlowReads(), cache: 0 }))
    await log.del([await log.append('a'), await log.append('b')])
    const [one, aborted] = [1, 2].map(() => log.stream({ live: true, seqs: false }))
    const next = one[Symbol.asyncIterator]().next()
    const end = new Promise((resolve) => aborted(null, resolve))
    // Looking for the first page, and then reading it, takes two reads.
    await sleep(7)
    await log.append('c')
    await new Promise((resolve) => aborted(true, resolve))
    t.equal(await end, true)
    t.equal((await Promise.race([next, sleep(30_000, {}, { ref: false })])).value, 'c')
    await sleep(20)
    t.equal(log._file.waitingStreams.size, 0, 'the one that was aborted does not wait either')
    await log.close()
  })
}

/** Reads one item after the other, and changes the log before some reads, and whenever there is nothing to read. */
async function followLive (log, entries, options, random, counts) {
  const endOf = async () => (await log.stats()).size
  const oracle = new LiveOracle(entries, options, await endOf())
  const source = spec(log.stream(options), 'stream')
  const change = () => {
    const left = entries.filter(({ isDeleted }) => !isDeleted)
    if (random(4) > 0 || left.length === 0) return grow(log, entries, random, 1 + random(3))
    return erase(log, [left[random(left.length)]])
  }
  for (let step = 0; step < 40; step++) {
    if (random(3) === 0) await change()
    let answer = null
    const read = new Promise((resolve) => source(null, (end, item) => { resolve(answer = { end, item }) }))
    let expected = oracle.next(await endOf())
    for (; expected === 'wait' && step < 40; step++) {
      counts.wait++
      await new Promise(setImmediate)
      if (answer) return `${JSON.stringify(options)}: there is nothing to read, but ${JSON.stringify(answer)} came`
      await change()
      expected = oracle.next(await endOf())
    }
    if (expected === 'wait') break
    if (await Promise.race([read, sleep(30_000, null, { ref: false })]) === null) {
      return `${JSON.stringify(options)}: nothing came instead of ${JSON.stringify(expected)}`
    }
    const { end, item } = answer
    counts[expected === 'end' ? 'end' : 'item']++
    if (expected === 'end') return end === true ? null : `${JSON.stringify(options)}: ${end ?? JSON.stringify(item)}, not the end`
    if (JSON.stringify(item) !== JSON.stringify(expected.item)) {
      return `${JSON.stringify(options)}: ${end ?? JSON.stringify(item)} instead of ${JSON.stringify(expected.item)}`
    }
  }
  return new Promise((resolve) => source(true, () => resolve(null)))
}

for (const framing of FRAMINGS) {
  tape(`stream, ${framing}: values that are kept stay what they were, and can be written to (seed ${seed})`, async (t) => {
    const random = createRandom(seed)
    const log = OffsetLog(newPath('log'), { framing, cache: 2 ** 17 })
    const expected = new Map()
    for (let batch = 0; batch < 40; batch++) {
      const sizes = Array.from({ length: 20 }, () => 1 + random(random(9) === 0 ? 70_000 : 900))
      const values = sizes.map((size) => Buffer.alloc(size, 1 + random(255)))
      await log.append(values)
      values.forEach((value) => expected.set(expected.size, value))
    }
    for (const reverse of [false, true]) {
      const kept = []
      for await (const { seq, value } of log.stream({ reverse })) {
        kept.push({ seq, value })
        if (kept.length % 100 === 0) await log.del(await log.append(Buffer.from('gone')))
        // Whoever writes to a value changes no other.
        if (kept.length % 7 === 0) value.fill(0)
      }
      const originals = [...expected.values()]
      if (reverse) originals.reverse()
      const wrong = kept.findIndex(({ value }, index) => {
        return !((index + 1) % 7 === 0 ? value.every((byte) => byte === 0) : value.equals(originals[index]))
      })
      t.equal(wrong, -1, reverse ? 'in reverse' : 'in order')
      t.equal(kept.length, originals.length)
    }
    await log.close()
  })
}

tape('stream: backwards down to a bound, no other record is left out if records are deleted meanwhile', async (t) => {
  for (const framing of FRAMINGS) {
    const log = OffsetLog('/folder/log', { storage: new SimulatedDisk().storage, framing })
    const left = []
    for (let count = 0; count < 60; count++) left.push(await log.append(Buffer.alloc(40, 'x')))
    for (let deletedAt = 0; deletedAt < 50; deletedAt++) {
      const [bound] = left
      const expected = [...left].reverse()
      const found = []
      for await (const { seq } of log.stream({ reverse: true, gte: bound })) {
        found.push(seq)
        if (found.length === deletedAt) await log.del(left.pop())
      }
      if (found.join() !== expected.join()) t.fail(`${framing}: ${found.length} of ${expected.length}, deleted after ${deletedAt}`)
    }
    t.pass(framing)
    await log.close()
  }
})

tape('stream: what is lost to damage is counted once, also if its page is read again after a deletion', async (t) => {
  for (const reverse of [true, false]) {
    for (const gaps of [[], [[30, 31]], [[10, 12], [30, 31]], [[0, 1], [20, 22], [59, 60]]]) {
      const disk = new SimulatedDisk()
      const log = OffsetLog('/folder/log', { storage: disk.storage })
      const seqs = []
      // More than a page, and each record in a chunk of its own.
      for (let count = 0; count < 120; count++) seqs.push(await log.append(Buffer.alloc(200, 'x')))
      await log.sync()
      disk.damage('/folder/log', (medium) => {
        for (const [from, to] of gaps) medium.fill(255, seqs[from], seqs[to])
      })
      const read = async (deletedAt) => {
        const behind = await log.append(Buffer.from('to be deleted'))
        const stream = log.stream({ reverse, onCorrupt: 'skip', seqs: false, lt: behind })
        let count = 0
        for await (const { length } of stream) if (length > 0 && ++count === deletedAt) await log.del(behind)
        return stream.lost
      }
      const expected = await read(Infinity)
      t.equal(expected.count, gaps.length)
      const wrong = []
      for (let deletedAt = 1; deletedAt < 118; deletedAt++) {
        const lost = await read(deletedAt)
        if (lost.count !== expected.count || lost.size !== expected.size) wrong.push({ deletedAt, lost })
      }
      t.deepEqual(wrong.slice(0, 3), [], `${gaps.length} damaged places, ${reverse ? 'backwards' : 'forwards'}`)
      await log.close()
    }
  }
})

tape('stream: runs of which nothing is wanted may follow one another at once, and the stack does not grow', async (t) => {
  const log = OffsetLog(newPath('log'))
  await log.append(Buffer.from('a'))
  const run = new RecordRun()
  let left = 30_000
  const reader = {
    isDone: true,
    lost: { count: 0, size: 0 },
    next: (end, cb) => {
      run.clear()
      if (left-- > 0) run.add(0, 0, 0)
      cb(null, run)
    },
    applyFilter: (records) => {
      records.filter(() => false)
      return null
    }
  }
  log._file.openRange = (file, range, cb) => cb(null, reader)
  t.deepEqual(await collect(log.stream()), [])
  t.equal(left, -1, 'all were read')
  await log.close()
})

tape('stream and scan: a bound or a limit that is no number is refused, whatever else is asked', async (t) => {
  const log = open('checked')
  await log.append([1, 2, 3])
  const wrong = [NaN, '0', '', 'a', true, {}, [], [1], 5n, Symbol('s'), new Date(), () => 1]
  for (const value of wrong) {
    for (const name of ['gt', 'gte', 'lt', 'lte', 'limit']) {
      for (const rest of [{}, { gt: 5, lt: 3 }, { limit: 0 }]) {
        const options = { ...rest, [name]: value }
        const streamed = await failureOf(() => readers['async iteration'](log.stream(options)))
        const scanned = await failureOf(() => log.scan(options, () => t.fail('scanned')))
        if (streamed?.code === 'ERR_INVALID_ARGUMENT' && scanned?.code === 'ERR_INVALID_ARGUMENT') continue
        t.fail(`${name}: ${String(value)}: ${streamed}, ${scanned}`)
      }
    }
  }
  for (const limit of [-2, -Infinity, 1.5, NaN]) {
    const err = await failureOf(() => readers['pull-stream'](log.stream({ limit })))
    t.equal(err?.code, 'ERR_INVALID_ARGUMENT', `limit ${limit}`)
  }
  t.equal((await readers['pull-stream'](log.stream())).length, 3, 'the log works on')
  await log.close()
})

for (const framing of FRAMINGS) {
  tape(`stream: a live range that nothing can ever be in ends at once (${framing})`, async (t) => {
    const log = open(framing)
    const seq = await log.append('a')
    const impossible = [{ gte: 1e9, lt: 1e9 }, { gt: 1e9, lt: 5 }, { gt: 1e9, lte: 1e9 }, { gt: 5.2, lt: 5.9 },
      { lt: -5 }, { gt: Infinity }, { lte: -Infinity }, { gt: seq, lt: seq + 1 }, { limit: 0 },
      { old: false, lte: seq }]
    for (const options of impossible) {
      t.deepEqual(await readers['pull-stream'](log.stream({ live: true, ...options })), [], JSON.stringify(options))
    }
    await log.close()
  })

  if (framing === 'checked') continue
  tape(`stream: a reversed one tells of damage behind the last record, as others do (${framing})`, async (t) => {
    const log = open(framing)
    const seqs = []
    for (const text of ['a', 'b', 'c']) seqs.push(await log.append(text))
    await log.close()
    flip(log.filename, fs.statSync(log.filename).size - 1)
    const damaged = OffsetLog(log.filename, { codec: jsonCodec })
    for (const reverse of [false, true]) {
      const err = await failureOf(() => readers['pull-stream'](damaged.stream({ reverse })))
      t.equal(err?.code, 'ERR_LOG_CORRUPT', `reverse: ${reverse}`)
    }
    t.deepEqual(await readers['pull-stream'](damaged.stream({ reverse: true, lte: seqs[1], seqs: false })), ['b', 'a'])
    await damaged.close()
  })
}
