'use strict'
// Of many runs, those that have a key are never passed, whichever runs come and go.

const tape = require('tape')
const { createRandom, inQuickRuns } = require('@millrace/testkit')
const { Coverage } = require('../lib/coverage')
const { DamagedRun } = require('../lib/run-format')
const { Run } = require('../lib/run')
const { Passing } = require('../lib/sieve')

const SEED = Number(process.env.SEED ?? Date.now() & 0xffffff)
const RUNS_MIN = 5

/** A run without a file. */
function makeRun (from, to, columns, { odd = [], isDamaged = false } = {}) {
  const readHashes = (slot, index, target) => {
    const { [slot]: column } = columns
    const read = Math.min(column.length - index, 256, target.length)
    const isHit = isDamaged && index + read > column.length >> 1
    if (isHit) throw new DamagedRun('a page')
    for (let at = 0; at < read; at++) target[at] = column[index + at]
    return read
  }
  const footer = { keys: columns.map(({ length }) => ({ count: length })) }
  const values = { from, to, columns, footer, readHashes, odd, isDamaged }
  const properties = Object.entries(values).map(([name, value]) => [name, { value }])
  return Object.create(Run.prototype, Object.fromEntries(properties))
}

/** Whether a record of the run may meet the cover. */
function mayHave (run, cover) {
  if (run.odd.length > 0 || cover.kind === 'values') return true
  if (cover.kind === 'keys') return cover.hashes.some(({ short }) => run.columns[cover.slot].includes(short))
  return cover.parts[cover.kind === 'any' ? 'some' : 'every']((part) => mayHave(run, part))
}

/** @returns {string | null}  what is wrong */
function check (coverage, cover, seq, reverse) {
  const passed = new Passing({ coverage, cover: () => cover }).pass(seq, reverse)
  if (reverse ? passed > seq : passed < seq) return `it went from ${seq} to ${passed}`
  for (let at = seq; at !== passed;) {
    const { segment, from, to } = coverage.at(reverse ? at - 1 : at)
    if (!(segment instanceof Run)) return `it passed ${at}, where no run is`
    if (mayHave(segment, cover)) return `it passed ${segment.from}, which may have it`
    at = reverse ? from : to
    if (reverse ? at < passed : at > passed) return `it stopped in a run, at ${passed}`
  }
  return null
}

for (const hashBits of [32, 8]) {
  tape(`sieve: no run that may have a key is passed, with hashes of ${hashBits} bits (seed ${SEED})`, (t) => {
    for (let round = 0; round < inQuickRuns(100, 8); round++) {
      const random = createRandom(SEED + round)
      const coverage = new Coverage(RUNS_MIN)
      const makeHash = () => random(2 ** 16) * 2 ** (hashBits - 16) * 2 ** (32 - hashBits) >>> 0
      const makeColumn = () => Array.from({ length: random(10) === 0 ? 6000 : random(60) }, makeHash)
      let end = 0
      const addRun = () => {
        const from = end + (random(12) === 0 ? 10 : 0)
        end = from + 10
        const more = { odd: random(15) === 0 ? [0] : [], isDamaged: random(15) === 0 }
        coverage.add(makeRun(from, end, [makeColumn(), makeColumn()], more))
      }
      const makeCover = (depth) => {
        const kind = random(4)
        const makeParts = () => [makeCover(depth - 1), makeCover(depth - 1)]
        if (depth > 0 && kind < 2) return { kind: ['all', 'any'][kind], parts: makeParts() }
        if (kind === 2) return { kind: 'values', slot: 0 }
        const slot = random(2)
        const pickHash = () => {
          const { [slot]: column } = coverage.runs[random(coverage.runs.length)].columns
          return random(2) === 0 || column.length === 0 ? makeHash() : column[random(column.length)]
        }
        return { kind: 'keys', slot, hashes: Array.from({ length: 1 + random(3) }, () => ({ short: pickHash() })) }
      }
      for (let step = 0; step < 60; step++) {
        if (step < 3 || random(4) === 0) for (let left = random(step < 3 ? 30 : 4); left >= 0; left--) addRun()
        if (random(4) === 0 && coverage.runs.length > 3) coverage.remove([coverage.runs[random(coverage.runs.length)]])
        if (random(6) === 0 && coverage.runs.length > 3) {
          const two = coverage.runs.slice(-2)
          const columns = [0, 1].map((slot) => two.flatMap((run) => run.columns[slot]))
          coverage.replace(two, makeRun(two[0].from, two[1].to, columns, { odd: two.flatMap(({ odd }) => odd) }))
        }
        for (let asked = 0; asked < 4; asked++) {
          const wrong = check(coverage, makeCover(2), random(end + 2), random(2) === 0)
          if (wrong !== null) return t.end(t.fail(`round ${round}: ${wrong}`))
        }
      }
    }
    t.pass('never')
    t.end()
  })
}

tape('sieve: a hundred runs that have not a key are passed at once, once all are in memory; not if they are few', (t) => {
  const random = createRandom(1)
  for (const runsMin of [17, 301]) {
    const coverage = new Coverage(runsMin)
    for (let index = 0; index < 300; index++) {
      coverage.add(makeRun(index, index + 1, [Array.from({ length: 100 }, () => random(2 ** 32) >>> 1 << 1 >>> 0)]))
    }
    const pass = (short) => new Passing({ coverage, cover: () => ({ kind: 'keys', slot: 0, hashes: [{ short }] }) }).pass(0)
    for (let left = 10; left > 0; left--) pass(1)
    const passed = Array.from({ length: 100 }, (_, index) => pass(2 * index * 12345677 + 1 >>> 0) > 100).filter(Boolean)
    if (runsMin === 17) t.ok(passed.length > 50, `${passed.length} of 100`)
    else t.equal(passed.length, 0)
  }
  t.end()
})

tape('sieve: what was asked for is filled in the background, whoever asks again', (t) => {
  const random = createRandom(2)
  let asked = 0
  const coverage = new Coverage(RUNS_MIN, () => { asked++ })
  const makeColumn = () => Array.from({ length: 20_000 }, () => random(2 ** 32) >>> 1 << 1 >>> 0)
  for (let index = 0; index < 40; index++) coverage.add(makeRun(index, index + 1, [makeColumn(), makeColumn()]))
  const pass = (short) => new Passing({ coverage, cover: () => ({ kind: 'keys', slot: 1, hashes: [{ short }] }) }).pass(0)
  t.equal(coverage.sieve.fill(1000), false, 'nobody has asked')
  t.ok(pass(77) < 10, 'who asks first fills little')
  t.equal(asked, 1)
  let steps = 0
  while (coverage.sieve.fill(1000)) steps++
  t.ok(steps > 100, `${steps} steps`)
  const absent = Array.from({ length: 100 }, (_, index) => 2 * index * 12345677 + 1 >>> 0)
  const passed = absent.filter((short) => pass(short) === 40)
  t.ok(passed.length > 50, `${passed.length} of 100`)
  t.equal(asked, 1, 'it is full')
  t.end()
})

tape('sieve: memory is bounded: of larger runs each one is looked into', (t) => {
  const coverage = new Coverage(RUNS_MIN)
  for (let index = 0; index < 40; index++) coverage.add(makeRun(index, index + 1, [{ length: 2 ** 20 }]))
  t.equal(new Passing({ coverage, cover: () => ({ kind: 'keys', slot: 0, hashes: [{ short: 1 }] }) }).pass(0), 0)
  t.end()
})

tape('coverage: a gap is found although there was none when it was asked before', (t) => {
  const coverage = new Coverage()
  const runs = [0, 10, 20].map((from) => makeRun(from, from + 10, [[]]))
  for (const run of runs) coverage.add(run)
  for (let time = 0; time < 2; time++) t.equal(coverage.firstGap(0, 30), null)
  t.deepEqual(coverage.firstGap(0, 31), { from: 30, to: 31 })
  coverage.remove([runs[1]])
  t.deepEqual(coverage.firstGap(0, 30), { from: 10, to: 20 })
  t.deepEqual(coverage.firstGap(15, 30), { from: 15, to: 20 })
  coverage.add(runs[1])
  t.equal(coverage.firstGap(0, 30), null)
  t.end()
})
