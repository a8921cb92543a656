'use strict'

const { execFileSync } = require('node:child_process')
const { randomInt } = require('node:crypto')
const fs = require('node:fs')
const path = require('node:path')
const { createRandom, inQuickRuns } = require('@millrace/testkit')
const tape = require('tape')
const { buildKernels } = require('../../../scripts/build-kernels')
const { createByteSearch } = require('..')

const seed = randomInt(2 ** 31)
const SIZE_MAX = 16

/** The slow way. */
function findAll (buf, needles, from, to) {
  const places = []
  for (let at = from; at < to; at++) {
    const isThere = (needle) => at + needle.length <= to && needle.equals(buf.subarray(at, at + needle.length))
    if (needles.some((needle) => isThere(needle.subarray(-SIZE_MAX)))) places.push(at)
  }
  return places
}

function randomBytes (random, length) {
  const alphabet = 2 + random(5)
  return Buffer.from(Array.from({ length }, () => 97 + random(alphabet)))
}

/** Bytes of every kind, in which the needles stand rather often, and their beginnings and ends. */
function makeBuffer (random, needles, size) {
  const pieces = [randomBytes(random, random(40))]
  for (let length = 0; length < size;) {
    const needle = needles[random(needles.length)]
    const piece = [needle, needle.subarray(random(needle.length)), needle.subarray(0, random(needle.length + 1)),
      randomBytes(random, random(random(4) === 0 ? 6000 : 60))][random(4)]
    pieces.push(piece)
    length += piece.length + 1
  }
  return Buffer.concat(pieces)
}

tape(`byte search: finds every place of one needle or two, and nothing else (seed ${seed})`, (t) => {
  const random = createRandom(seed)
  let found = 0
  for (let round = 0; round < inQuickRuns(600); round++) {
    const sizeMax = round % 2 === 0 ? 4 : 24
    const needles = Array.from({ length: 1 + random(2) }, () => randomBytes(random, 1 + random(sizeMax)))
    const buf = makeBuffer(random, needles, [30, 300, 40_000][random(3)])
    const [from, to] = [random(30), buf.length - random(30)]
    if (to <= from) continue
    const places = new Uint32Array(random(2) === 0 ? buf.length : 1 + random(20))
    const count = createByteSearch(needles).find(buf, from, to, places)
    const expected = findAll(buf, needles, from, to)
    // Where the longer one would end behind the range, what is there is not looked at.
    const all = [...places.subarray(0, count)].filter((place) => expected.includes(place) || place < to - SIZE_MAX)
    found += all.length
    const isFull = count === places.length
    const rest = isFull ? expected.slice(0, all.length) : expected
    if (JSON.stringify(all) !== JSON.stringify(rest)) {
      t.deepEqual(all, rest, `round ${round}: ${needles.join(' or ')}`)
      break
    }
  }
  t.ok(found > 10_000, `${found} places`)
  t.end()
})

tape('byte search: what stands across two windows is found once, at every offset', (t) => {
  const needles = ['x'.repeat(SIZE_MAX), 'yz'].map((text) => Buffer.from(text))
  const { find } = createByteSearch(needles)
  const places = new Uint32Array(10)
  for (let offset = 16384 - 40; offset < 16384 + 10; offset++) {
    for (const needle of needles) {
      const buf = Buffer.alloc(40_000, 'ab')
      needle.copy(buf, offset)
      const count = find(buf, 0, buf.length, places)
      if (count !== 1 || places[0] !== offset) t.fail(`${needle} at ${offset}: ${[...places.subarray(0, count)]}`)
    }
  }
  t.end()
})

tape('byte search: there is nothing to search for in no bytes, nor in three needles', (t) => {
  const [a, b, c] = ['a', 'b', 'c'].map((text) => Buffer.from(text))
  const nothing = Buffer.alloc(0)
  for (const needles of [[], [nothing], [a, nothing], [a, b, c]]) t.equal(createByteSearch(needles), null)
  t.equal(createByteSearch([a]).find(Buffer.from('aaa'), 1, 1, new Uint32Array(1)), 0, 'an empty range')
  t.end()
})

tape('byte search: the kernel is what its source says', async (t) => {
  for (const { file, text } of await buildKernels()) t.equal(fs.readFileSync(file, 'utf8'), text, path.basename(file))
})

tape('byte search: where there is no WebAssembly there is none, and filters do without', (t) => {
  const program = `
    const { createByteSearch } = require('./packages/where')
    const { jsonCodec } = require('./packages/json-codec')
    const { binaryCodec } = require('./packages/binary-codec')
    const answers = [jsonCodec, binaryCodec].map((codec) => {
      const [yes, no] = ['post', 'vote'].map((type) => Buffer.from(codec.encode({ type })))
      const isWanted = codec.compile({ path: ['type'], equals: 'post' })
      return [isWanted.select, isWanted(yes, 0, yes.length), isWanted(no, 0, no.length)]
    })
    console.log(JSON.stringify([createByteSearch([Buffer.from('a')]), ...answers]))`
  const out = execFileSync(process.execPath, ['--jitless', '-e', program], { cwd: path.join(__dirname, '../../..') })
  t.deepEqual(JSON.parse(String(out)), [null, [null, true, false], [null, true, false]])
  t.end()
})
