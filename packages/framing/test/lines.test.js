'use strict'

const tape = require('tape')
const { createRandom } = require('@millrace/testkit')
const { LineWalk, checkLine, findFirstLine, looksLikeLines } = require('..')
const { makeText, readLines } = require('./lines-oracle')

const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)
const ROUNDS = process.env.LONG ? 200_000 : 3000

/** A run that is soon full. */
class Run {
  constructor (size) {
    this.count = 0
    for (const field of ['seqs', 'starts', 'ends']) this[field] = new Float64Array(size)
  }

  get isFull () {
    return this.count === this.seqs.length
  }

  add (seq, start, end) {
    this.seqs[this.count] = seq
    this.starts[this.count] = start
    this.ends[this.count++] = end
  }

  take (count) {
    this.count = count
  }

  get records () {
    return Array.from({ length: this.count }, (_, index) => [this.seqs[index], this.starts[index], this.ends[index]])
  }
}

/** Walks all lines in windows of random sizes, as a reader does that skips damage. */
function walkAll (random, bytes, reverse) {
  const start = findFirstLine(bytes)
  const walk = new LineWalk(reverse ? bytes.length : start, start, 1e6)
  const records = []
  const holes = []
  let extra = 0
  for (let step = 0; step < 1e5; step++) {
    const { position } = walk
    if (reverse ? position <= start && !walk.isInHole : position >= bytes.length && !walk.isInHole) break
    // Bytes that no window may look at: they are not held.
    const size = Math.max(1, extra, random(80))
    const from = reverse ? Math.max(0, position - size) : Math.max(0, position - random(5))
    const to = reverse ? Math.min(bytes.length, position + random(5)) : Math.min(bytes.length, position + size)
    const buffer = Buffer.concat([bytes.subarray(from, to), Buffer.from(random(2) ? '\n{}\n' : '\0\0{"x":1}')])
    const window = { buffer, start: from, end: to }
    const run = new Run(1 + random(5))
    if (reverse) walk.backward(window, 0, run)
    else walk.forward(window, Infinity, bytes.length, run)
    for (const [seq, a, b] of run.records) records.push({ seq, text: buffer.toString('latin1', a, b) })
    if (walk.damage) holes.push({ start: walk.damage.start, end: walk.damage.end })
    if (walk.error) throw walk.error
    extra = walk.need
    if (walk.need === 0 && walk.position === position && !walk.damage && run.records.length === 0) break
  }
  return reverse ? { records: records.reverse(), holes: holes.reverse() } : { records, holes }
}

tape(`lines: a walk in either direction finds what splitting the text finds (seed ${seed})`, (t) => {
  let holeCount = 0
  for (let round = 0; round < ROUNDS; round++) {
    const random = createRandom(seed + round)
    const bytes = makeText(random)
    const expected = readLines(bytes, findFirstLine(bytes))
    holeCount += expected.holes.length
    for (const reverse of [false, true]) {
      const found = walkAll(random, bytes, reverse)
      if (JSON.stringify(found) === JSON.stringify(expected)) continue
      t.fail(`seed ${seed + round}, reverse ${reverse}: ${JSON.stringify(bytes.toString('latin1'))}\n${JSON.stringify(found)}\n${JSON.stringify(expected)}`)
      return t.end()
    }
  }
  t.ok(holeCount > ROUNDS / 10, `${holeCount} holes`)
  t.end()
})

tape('lines: what cannot be a line is refused', (t) => {
  for (const text of ['', 'a\nb', 'a\n', 'a\r', 'a\0b']) t.equal(checkLine(Buffer.from(text))?.code, 'ERR_RECORD_UNREPRESENTABLE', JSON.stringify(text))
  for (const text of ['a', '{}', 'a\rb', ' ', 'é', '\u2028']) t.equal(checkLine(Buffer.from(text)), null, JSON.stringify(text))
  t.end()
})

tape('lines: a line that is too large is refused, and not waited for', (t) => {
  const bytes = Buffer.alloc(100, 'x')
  for (const reverse of [false, true]) {
    const walk = new LineWalk(reverse ? 100 : 0, 0, 50)
    if (reverse) walk.backward({ buffer: bytes, start: 0, end: 100 }, 0, new Run(9))
    else walk.forward({ buffer: bytes, start: 0, end: 100 }, Infinity, 1000, new Run(9))
    t.equal(walk.error?.code, 'ERR_RECORD_TOO_LARGE')
  }
  t.end()
})

tape('lines: text whose first line is an object is taken for lines', (t) => {
  for (const text of ['{}\n', '{"a":1}', '\ufeff{}\n', '{}\nnot JSON']) t.ok(looksLikeLines(Buffer.from(text), true), text)
  for (const text of ['', 'hello\n', '[1]\n', '{\0}', '\0\0\0\x01{', '{', '{\n  "a": 1\n}\n']) {
    t.notOk(looksLikeLines(Buffer.from(text), true), text)
  }
  t.ok(looksLikeLines(Buffer.from('{"a":"the line goes on'), false))
  t.end()
})
