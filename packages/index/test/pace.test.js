// @ts-nocheck
'use strict'
// The background work is divided into turns of the event loop, by the amount of work and by the clock: nothing that it
// does, however large, keeps others waiting for long.

const { performance } = require('node:perf_hooks')
const tape = require('tape')
const { jsonCodec } = require('@millrace/json-codec')
const { createRandom } = require('@millrace/testkit')
const { createIndex } = require('..')
const { Block } = require('../lib/block')
const { LOOK_WORK, Pace, STEP_WORK, TURN_MS, TURN_WORK } = require('../lib/pace')
const { parsePaths } = require('../lib/paths')
const { Sorter } = require('../lib/sorting')
const { writeBlock } = require('../lib/build')
const { PageWriter } = require('../lib/run-writer')
const { MemoryLog } = require('./memory-log')

// The clock stands still, unless a test moves it: after others who took long, turns are longer.
performance.now = () => 0

const seed = Date.now() & 0xffffff
const RECORDS = 40_000
const MANY = 131_072
const KIB = 1024
/** What a write may have: what waits for it, and the longest list that is added at once. */
const WRITE_MAX = 320 * KIB
const STEP_MAX = 2 * STEP_WORK

/** Counts what is done in each turn. */
class CountingPace extends Pace {
  most = 0
  largest = 0
  total = 0
  turns = 1
  #inTurn = 0

  isDue (work) {
    this.#inTurn += work
    this.total += work
    this.largest = Math.max(this.largest, work)
    this.most = Math.max(this.most, this.#inTurn)
    return super.isDue(work)
  }

  async rest () {
    await super.rest()
    this.turns++
    this.#inTurn = 0
  }
}

/** Delivers all records at once, as a log that is scanned delivers thousands. */
class LargeRuns extends MemoryLog {
  async scanRaw ({ from, to }, onRecords) {
    await new Promise(setImmediate)
    await onRecords(this.toRun(this.records.filter(({ seq }) => seq >= from && seq < to)))
  }
}

function makeLog (count) {
  const log = new LargeRuns({ codec: jsonCodec })
  for (let n = 0; n < count; n++) {
    log.append({ all: 1, half: n % 2, ten: n % 10, key: `key ${n}`, n: -n * 1.5, tags: [n % 7, n % 7, 'x'], text: 'some text' })
  }
  return log
}

function checkTurns (t, pace) {
  t.ok(pace.most <= TURN_WORK + STEP_MAX, `at most ${TURN_WORK + STEP_MAX} in a turn: ${pace.most}`)
  t.ok(pace.largest <= STEP_MAX, `at most ${STEP_MAX} in a step: ${pace.largest}`)
  t.ok(pace.turns >= pace.total / (TURN_WORK + STEP_MAX), `${pace.turns} turns`)
}

tape('pace: among appends without a pause the index fell behind for good: after them a turn is longer, but not much', async (t) => {
  const { now } = performance
  t.teardown(() => { performance.now = now })
  let ms = 0
  performance.now = () => ms
  const workAfter = async (othersMs) => {
    const pace = new Pace()
    const resting = pace.rest()
    ms += othersMs
    await resting
    let work = 0
    while (!pace.isDue(LOOK_WORK)) work += LOOK_WORK
    return work + LOOK_WORK
  }
  t.equal(await workAfter(0), TURN_WORK)
  t.equal(await workAfter(1), TURN_WORK, 'who left pauses is not kept waiting')
  t.equal(await workAfter(8), 5 * TURN_WORK, 'a quarter of 8 ms')
  t.equal(await workAfter(1000), 10 * TURN_WORK, 'at most')
})

tape('pace: code that is slow, as it is until it is compiled, has shorter turns', async (t) => {
  const log = makeLog(0)
  const paths = ['key', 'ten']
  const { now } = performance
  t.teardown(() => { performance.now = now })
  const mosts = []
  for (const stepMs of [0, TURN_MS * 2]) {
    let ms = 0
    performance.now = () => (ms += stepMs)
    const pace = new CountingPace()
    const index = createIndex(paths, { tuning: { pace, recordsMax: 20_000, fanOut: 2, waitMs: 1 } }).open(log)
    for (let n = 0; n < 50_000; n++) log.append({ key: `key ${n}`, ten: n % 10 })
    await index.ready()
    t.ok(index.status().runs > 0)
    await index.close()
    mosts.push(pace.most)
  }
  performance.now = now
  const [quick, slow] = mosts
  t.ok(quick > TURN_WORK, `a turn on a clock that stands still: ${quick}`)
  t.ok(slow <= LOOK_WORK + STEP_MAX, `one of which each look takes as long as a turn may: ${slow}`)
})

tape('pace: the first blocks are written in smaller turns, as that code is not compiled yet', async (t) => {
  const log = makeLog(0)
  const { now } = performance
  // Only by their work.
  performance.now = () => 0
  t.teardown(() => { performance.now = now })
  const pace = new CountingPace()
  const index = createIndex(['key', 'ten'], { tuning: { pace, recordsMax: 20_000, fanOut: 8, waitMs: 1 } }).open(log)
  const works = []
  for (let run = 0; run < 5; run++) {
    for (let n = 0; n < 20_000; n++) log.append({ key: `key ${run} ${n}`, ten: n % 10 })
    const before = pace.total
    await index.ready()
    works.push(pace.total - before)
  }
  t.equal(index.status().runs, 5)
  t.ok(works[0] > 3 * works[4], `the same work counts for more: ${works}`)
  t.ok(works[3] < 1.01 * works[4])
  await index.close()
})

tape('pace: keys are noted, sorted, written and merged in steps', async (t) => {
  const log = makeLog(RECORDS)
  const pace = new CountingPace()
  const tuning = { pace, recordsMax: RECORDS / 8, fanOut: 8, waitMs: 1 }
  const paths = ['all', 'half', 'ten', 'key', { path: 'n', range: true }, { path: 'tags', each: true }]
  const index = createIndex(paths, { tuning }).open(log)
  await index.ready()
  t.equal(index.status().runs, 1, 'eight runs have become one')
  checkTurns(t, pace)
  t.ok(pace.total > RECORDS * paths.length * 2 * 8, `work was counted: ${pace.total}`)
  for (const where of [{ path: 'all', equals: 1 }, { path: 'ten', equals: 3 }, { path: 'key', equals: 'key 77' }, { path: 'n', lt: -50_000 },
    { path: 'tags', includes: 6 }]) t.equal(log.compare(index, where), null, JSON.stringify(where))
  await index.close()
})

tape('pace: a block of the largest size is written in many turns of the event loop, in small pieces', async (t) => {
  const pace = new CountingPace()
  const block = new Block(parsePaths(['one', 'each', { path: 'n', range: true }]), 0)
  const random = createRandom(1)
  for (let n = 0; n < MANY; n++) {
    block.begin(n)
    block.addKey([0], { short: 7, low: 7 })
    block.addKey([1], { short: random(2 ** 32), low: n })
    block.addNumber([2], random(1e6), {})
  }
  let [turns, largest, size] = [0, 0, 0]
  const handle = {
    write (bytes, start, count, position, cb) {
      largest = Math.max(largest, count)
      size += count
      setImmediate(cb, null, count)
    }
  }
  const writer = new PageWriter(handle, pace)
  const stop = countTurns(() => turns++)
  await writeBlock(writer, block, [])
  stop()
  checkTurns(t, pace)
  t.ok(turns >= 3 * MANY / 8192, `${turns} turns of the event loop`)
  t.ok(largest <= WRITE_MAX, `writes of at most ${largest} bytes`)
  t.ok(size > MANY * 8, `${size} bytes`)
})

tape(`pace: the sort is stable, and in the order of the values (seed ${seed})`, async (t) => {
  const random = createRandom(seed)
  const sorter = new Sorter(new Pace())
  for (const count of [0, 1, 2, 1000, 50_000, 300]) {
    const bits = 1 + random(32)
    const makeWord = () => random(2 ** bits) * (random(2) === 0 ? 1 : 2 ** (32 - bits))
    const words = Uint32Array.from({ length: count + random(9) }, makeWord)
    await sorter.sort(words, count)
    const expected = Array.from({ length: count }, (_, at) => at).sort((a, b) => words[a] - words[b] || a - b)
    t.deepEqual([...sorter.order.subarray(0, count)], expected, `${count} words`)
    t.deepEqual([...sorter.keys.subarray(0, count)], expected.map((index) => words[index]), 'and their order')
    const make = [() => random(99) - 50, () => -0, () => (random(1e9) - 5e8) / 7, () => 1e300, () => -Infinity, () => 0]
    const values = Float64Array.from({ length: count + random(9) }, () => make[random(make.length)]())
    await sorter.sortNumbers(values, count)
    expected.sort((a, b) => compare(values[a], values[b]) || a - b)
    t.deepEqual([...sorter.order.subarray(0, count)], expected, `${count} numbers`)
  }
})

/** @returns {() => void}  ends it */
function countTurns (onTurn) {
  let next = setImmediate(function count () {
    onTurn()
    next = setImmediate(count)
  })
  return () => clearImmediate(next)
}

function compare (a, b) {
  return a < b ? -1 : a > b ? 1 : 0
}
