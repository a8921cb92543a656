'use strict'

const { randomInt } = require('node:crypto')
const tape = require('tape')
const { createTextSearch } = require('..')

const seed = randomInt(2 ** 31)
const WORD_SIZE = 4
const place = new Uint32Array(1)

/** Small numbers that look random, the same for the same seed. */
function createPick (state) {
  return (count) => {
    state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9 | 0
    return (Math.imul(state ^ (state >>> 13), 0x297a2d39) >>> 0) % count
  }
}

/** A search for bytes that have one spelling, which counts how often a part of them was chosen. */
function createByteSearch (bytes) {
  const chosen = []
  const { find } = createTextSearch([{
    size: bytes.length,
    part: (from, to) => {
      const literal = bytes.subarray(from, to)
      const eachWord = (onWord) => {
        for (let at = 0; at + WORD_SIZE <= literal.length; at++) onWord(literal.readInt32LE(at), at)
      }
      chosen.push([from, to])
      return { from, literal, eachWord }
    },
    isAround: (buf, start, end, first, offset, literal) => {
      const isInside = first >= start && first + literal.length <= end
      return isInside && literal.equals(buf.subarray(first, first + literal.length))
    },
    mayBeSpelled: () => false
  }])
  return { search: (buf, start, end) => find(buf, start, end, place) > 0 ? place[0] : -1, chosen }
}

/** The slow way. */
function findAll (buf, bytes, start, end) {
  const places = []
  const record = buf.subarray(start, end)
  for (let at = record.indexOf(bytes); at >= 0; at = record.indexOf(bytes, at + 1)) places.push(start + at)
  return places
}

function randomBytes (pick, alphabet, length) {
  return Buffer.from(Array.from({ length }, () => alphabet[pick(alphabet.length)]).join(''))
}

/** Calls the search as a filter of many records does: on behind what it found. */
function checkSearch ({ search }, buf, bytes, start, end) {
  const places = findAll(buf, bytes, start, end)
  let from = start
  let count = 0
  for (;;) {
    const next = places.find((place) => place >= from)
    const found = search(buf, from, end)
    if (found < 0) return next === undefined ? null : `nothing is found, though it stands at ${next}`
    if (next !== undefined && found >= next + bytes.length) return `${found} is found before ${next}`
    if (++count > buf.length) return 'it does not come to an end'
    from = found + 1
  }
}

tape(`text search: bytes are found wherever they are, whatever is around them (seed ${seed})`, (t) => {
  const pick = createPick(seed)
  let failure = null
  let narrowed = 0
  for (let i = 0; i < 300 && failure === null; i++) {
    const alphabet = [...['ab', '0123456789abcdef', 'k2LlB5vHH2Bs3ute/9D9+=.'][pick(3)]]
    const bytes = randomBytes(pick, alphabet, 8 + pick(80))
    // Others that begin or end in the same way, so that words are found by chance.
    const pieces = Array.from({ length: 1000 + pick(2000) }, () => {
      const kind = pick(400)
      if (kind === 0) return bytes
      const cut = 1 + pick(bytes.length - 1)
      if (kind < 100) return bytes.subarray(cut)
      return kind < 200 ? bytes.subarray(0, cut) : randomBytes(pick, alphabet, pick(60))
    })
    const buf = Buffer.concat(pieces)
    const byteSearch = createByteSearch(bytes)
    const [start, end] = [pick(100), buf.length - pick(100)]
    failure = checkSearch(byteSearch, buf, bytes, start, end)
    if (failure) failure = `${failure}: ${bytes}`
    if (byteSearch.chosen.length > 1) narrowed++
  }
  t.equal(failure, null)
  t.ok(narrowed > 20, `${narrowed} searches came to look for a part`)
  t.end()
})

tape('text search: what many other texts end with is soon left out', (t) => {
  // Which words hash alike depends on the bytes, so they are always the same: 2 of 400 seeds choose another part.
  const pick = createPick(1)
  const name = () => randomBytes(pick, [...'k2LlB5vHH2Bs3ute/9D9+='], 45)
  const bytes = Buffer.concat([name(), Buffer.from('.sha256')])
  const { search, chosen } = createByteSearch(bytes)
  const buf = Buffer.concat(Array.from({ length: 20_000 }, () => Buffer.concat([name(), Buffer.from('.sha256')])))
  t.equal(search(buf, 0, buf.length), -1)
  const [from, to] = chosen[chosen.length - 1]
  t.ok(from < 5 && to > 40 && to < 50, `bytes ${from} to ${to} of ${bytes.length} are searched for`)
  t.ok(search(Buffer.concat([buf, bytes]), 0, buf.length + bytes.length) >= buf.length)
  t.end()
})
