'use strict'

const { randomInt } = require('node:crypto')
const tape = require('tape')
const { inQuickRuns } = require('@millrace/testkit')
const { parseWhere, matches } = require('@millrace/where')
const { jsonCodec } = require('..')
const { createStringSearch } = require('../lib/string-search')
const { parseRightly } = require('./parse-rightly')

const createSearch = (text) => createStringSearch([text], true)

const seed = randomInt(2 ** 31)
const place = new Uint32Array(1)
const findNext = ({ find }, buf, start, end) => find(buf, start, end, place) > 0 ? place[0] : -1
const ALPHABETS = ['ab', '0123456789abcdef', 'k2LlB5vHH2Bs3ute/9D9+=.', 'u00\\"/\n', 'é水😀x', '\ufffd\ud800ab"\\ 0u']

/** Small numbers that look random, the same for the same seed. */
function createPick (state) {
  return (count) => {
    state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9 | 0
    return (Math.imul(state ^ (state >>> 13), 0x297a2d39) >>> 0) % count
  }
}

function randomText (pick, length) {
  const characters = [...ALPHABETS[pick(ALPHABETS.length)]]
  return Array.from({ length }, () => characters[pick(characters.length)]).join('')
}

const SHORT = { '"': '\\"', '\\': '\\\\', '/': '\\/', '\n': '\\n' }

/** As JSON may spell it: the more escapes, the lower `rarity`. */
function spell (pick, text, rarity) {
  const units = Array.from({ length: text.length }, (_, index) => {
    const unit = text[index]
    const must = /["\\\u0000-\u001f\ud800-\udfff]/.test(unit) // eslint-disable-line no-control-regex
    const isPaired = must && unit >= '\ud800'
    if (!must && pick(rarity) > 0) return unit
    if (unit in SHORT && pick(2) > 0) return SHORT[unit]
    const digits = unit.charCodeAt(0).toString(16).padStart(4, '0')
    return `\\u${isPaired ? digits : [...digits].map((digit) => pick(2) > 0 ? digit : digit.toUpperCase()).join('')}`
  })
  return `"${units.join('')}"`
}

tape(`gram search: a string is found in every spelling, wherever it is (seed ${seed})`, (t) => {
  const pick = createPick(seed)
  let failure
  let searched = 0
  let passed = 0
  for (let i = 0; i < inQuickRuns(30_000) && failure === undefined; i++) {
    const text = randomText(pick, 8 + pick(90))
    const search = createSearch(text)
    if (search === null) continue
    searched++
    const [before, after] = [randomText(pick, pick(70)), randomText(pick, pick(70))]
    const rarity = 1 + pick(40)
    const record = `[${spell(pick, before, 5)},${spell(pick, text, rarity)},${spell(pick, after, 5)}]`
    const around = Buffer.from(text.repeat(3))
    const buf = Buffer.concat([around, Buffer.from(record), around])
    if (findNext(search, buf, around.length, buf.length - around.length) < 0) failure = { text, record }
    // Nothing of what is around a record may count: it has a part of the string, and its end.
    const part = Buffer.from(JSON.stringify(text.slice(0, text.length >> 1)))
    const other = Buffer.concat([around, part, around])
    if (findNext(search, other, around.length, around.length + part.length) >= 0) passed++
  }
  t.equal(failure, undefined)
  t.ok(searched > inQuickRuns(10_000), `${searched} of them were long enough`)
  t.ok(passed < searched / 2, `${passed} parts of strings passed`)
  t.end()
})

tape(`gram search: a filter equals parse and compare (seed ${seed})`, (t) => {
  const pick = createPick(seed)
  let failure
  let hits = 0
  for (let i = 0; i < inQuickRuns(10_000) && failure === undefined; i++) {
    const texts = Array.from({ length: 3 }, () => randomText(pick, 12 + pick(50)))
    const entries = ['a', 'b', 'c'].map((key, index) => `"${key}":${spell(pick, texts[index], 1 + pick(60))}`)
    const record = Buffer.from(`{${entries.join(',')}}`)
    const where = { path: ['b'], equals: texts[pick(3)] }
    const answer = jsonCodec.compile(where)(record, 0, record.length)
    const expected = matches(parseWhere(where), parseRightly(record.toString()))
    if (answer !== expected) failure = { where, record: String(record) }
    if (answer) hits++
  }
  t.equal(failure, undefined)
  t.ok(hits > inQuickRuns(2000), `${hits} matched`)
  t.end()
})

tape('gram search: a digest is told from others of its kind, which end alike', (t) => {
  const pick = createPick(1)
  const digit = () => 'abcdefghijklmnopqrstuvwxyzABCD0123456789+/'[pick(42)]
  const key = () => `%${Array.from({ length: 43 }, digit).join('')}=.sha256`
  const search = createSearch(key())
  let passed = 0
  for (let i = 0; i < 1000; i++) {
    const record = Buffer.from(JSON.stringify({ key: key(), previous: key(), text: 'line\nline "quoted" \\ é', root: key() }))
    if (findNext(search, record, 0, record.length) >= 0) passed++
  }
  t.ok(passed < 20, `${passed} of 1000 would be parsed`)
  t.end()
})

tape('gram search: strings that are short, or all escapes, are not searched for in this way', (t) => {
  for (const text of ['', 'post', '123456789', '"'.repeat(60), '\ufffd'.repeat(60), '\ud800'.repeat(60)]) {
    t.equal(createSearch(text), null, JSON.stringify(text))
  }
  t.ok(createSearch('1234567890'))
  t.end()
})
