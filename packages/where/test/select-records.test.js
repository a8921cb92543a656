'use strict'

const { execFileSync } = require('node:child_process')
const path = require('node:path')
const tape = require('tape')
const { stopClock } = require('@millrace/testkit')
const { createSelect } = require('..')

/** Records of one byte each. */
function makeRecords (text) {
  const count = text.length
  const starts = Uint32Array.from({ length: count }, (_, index) => index)
  return { buffer: Buffer.from(text), count, starts, ends: starts.map((start) => start + 1) }
}

function select (selectOf, records) {
  const picked = new Uint32Array(records.count)
  return [...picked.subarray(0, selectOf(records, picked))]
}

/** Finds a letter in `search.ms` of the clock, and counts how often it was asked. */
function createLetterSearch (letter, clock = { pass: () => {} }) {
  const search = {
    calls: 0,
    ms: 0,
    find: (buf, from, to, places) => {
      search.calls++
      clock.pass(search.ms)
      let count = 0
      for (let at = from; at < to && count < places.length; at++) {
        if (buf[at] === letter.charCodeAt(0)) places[count++] = at
      }
      return count
    }
  }
  return search
}

const isUpperA = (buf, start) => buf[start] === 65

/** Two searches for the same on one clock, of which the second is the quick one. */
function createTwo (t) {
  const clock = stopClock(t)
  const [slow, quick] = [createLetterSearch('A', clock), createLetterSearch('A', clock)]
  const setTimes = () => { [slow.ms, quick.ms] = [2, 0.1] }
  return { clock, slow, quick, setTimes }
}

tape('select: records in which nothing is found are not looked at', (t) => {
  const looked = []
  const test = (buf, start) => looked.push(start) > 1
  const selectOf = createSelect(test, () => [createLetterSearch('A')], { alwaysSearches: true })
  t.deepEqual(select(selectOf, makeRecords('xAxxAxA')), [4, 6])
  t.deepEqual(looked, [1, 4, 6])
  t.deepEqual(select(selectOf, makeRecords('')), [])
  t.deepEqual(select(createSelect(isUpperA, () => [], { alwaysSearches: true }), makeRecords('xA')), [1], 'nothing to search for')
  t.end()
})

tape('select: few records are tested, since to search them takes longer', (t) => {
  const search = createLetterSearch('A')
  const selectOf = createSelect(isUpperA, () => [search])
  t.deepEqual(select(selectOf, makeRecords('xAxxAxA')), [1, 4, 6])
  t.equal(search.calls, 0)
  for (let round = 0; round < 4; round++) t.deepEqual(select(selectOf, makeRecords('xAxxAxAxAxxAxA')), [1, 4, 6, 8, 11, 13])
  t.ok(search.calls > 0)
  t.end()
})

tape('select: more places than are noted at once, and places beside the records', (t) => {
  const selectOf = createSelect(isUpperA, () => [createLetterSearch('A')], { alwaysSearches: true })
  t.equal(select(selectOf, makeRecords('A'.repeat(5000))).length, 5000)
  const records = makeRecords('A'.repeat(5000))
  // Every third byte is a record's.
  records.count = 1600
  for (let index = 0; index < 1600; index++) records.ends[index] = 1 + (records.starts[index] = 3 * index)
  t.equal(select(selectOf, records).length, 1600)
  records.starts.subarray(0, 1600).reverse()
  records.ends.subarray(0, 1600).reverse()
  t.deepEqual(select(selectOf, records), Array.from({ length: 1600 }, (_, index) => index), 'last first')
  t.end()
})

tape('select: a search that takes longer than another, or than none, is seldom made', (t) => {
  const { clock, slow, quick, setTimes } = createTwo(t)
  setTimes()
  const records = makeRecords('xxAx'.repeat(50))
  const expected = select(createSelect(isUpperA, () => [quick], { alwaysSearches: true }), records)
  quick.calls = 0
  const either = createSelect(isUpperA, () => [slow, quick], { alwaysSearches: true })
  for (let i = 0; i < 200; i++) if (String(select(either, records)) !== String(expected)) t.fail('not the same')
  t.ok(slow.calls < 50 && slow.calls + quick.calls === 200, `${slow.calls} and ${quick.calls} calls`)
  slow.calls = 0
  const isUpperASoon = (buf, start) => {
    clock.pass(0.002)
    return isUpperA(buf, start)
  }
  const orNone = createSelect(isUpperASoon, () => [slow])
  for (let i = 0; i < 200; i++) if (String(select(orNone, records)) !== String(expected)) t.fail('not the same')
  t.ok(slow.calls < 50, `${slow.calls} calls`)
  t.end()
})

tape('select: a clock that stood still does not tie it to one search', (t) => {
  const { slow, quick, setTimes } = createTwo(t)
  const records = makeRecords('xxAx'.repeat(50))
  const either = createSelect(isUpperA, () => [slow, quick], { alwaysSearches: true })
  for (let i = 0; i < 6; i++) select(either, records)
  quick.calls = 0
  setTimes()
  for (let i = 0; i < 100; i++) select(either, records)
  t.ok(quick.calls > 50, `${quick.calls} calls of the quick one`)
  t.end()
})

tape('select: the bytes that were searched are not kept', (t) => {
  const program = `
    const codecs = [require('./packages/json-codec').jsonCodec, require('./packages/binary-codec').binaryCodec]
    const wheres = [{ path: ['a'], equals: 'x'.repeat(60) }, { path: ['a'], equals: 'x' }]
    wheres.push([...wheres, { path: ['b'], equals: 'y'.repeat(60) }])
    const kept = codecs.flatMap((codec) => wheres.map((where) => {
      const filter = codec.compile(where)
      const picked = new Uint32Array(100)
      const run = (buffer) => {
        const record = codec.encode({ a: 'x'.repeat(60), b: 'y' })
        const starts = Uint32Array.from({ length: 100 }, (_, index) => index * record.length)
        for (const start of starts) record.copy(buffer, start)
        filter.select({ buffer, count: 100, starts, ends: starts.map((start) => start + record.length) }, picked)
        return new WeakRef(buffer)
      }
      return { filter, ref: run(Buffer.alloc(1e6)) }
    }))
    // What is compiled in the background may still hold one of them.
    const look = (turns) => {
      gc()
      const gone = kept.map(({ filter, ref }) => [typeof filter.select, ref.deref() === undefined])
      if (turns > 0 && gone.some(([, isGone]) => !isGone)) setTimeout(look, 10, turns - 1)
      else console.log(JSON.stringify(gone))
    }
    setImmediate(look, 100)`
  const out = execFileSync(process.execPath, ['--expose-gc', '-e', program], { cwd: path.join(__dirname, '../../..') })
  t.deepEqual(JSON.parse(String(out)), Array(6).fill(['function', true]))
  t.end()
})
