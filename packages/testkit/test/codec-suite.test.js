'use strict'

const tape = require('tape')
const fc = require('fast-check')
const { LogError } = require('@millrace/errors')
const { parseWhere, matches } = require('@millrace/where')
const { testCodec } = require('@millrace/testkit')

// The smallest codec there is, which the suite must pass; each test below breaks one thing in it.
const plain = {
  name: 'plain',
  buffer: true,
  encode (value) {
    const text = JSON.stringify(value)
    if (text === undefined) throw new LogError('ERR_CODEC_ENCODE', 'nothing to encode')
    return Buffer.from(text)
  },
  decode (buf) {
    try {
      return JSON.parse(buf.toString())
    } catch (cause) {
      throw new LogError('ERR_CODEC_DECODE', 'no JSON', { cause })
    }
  },
  decodeRange: (buf, start, end) => plain.decode(buf.subarray(start, end)),
  compile (where) {
    const conditions = parseWhere(where)
    return (buf, start, end) => {
      try {
        return matches(conditions, JSON.parse(buf.toString('utf8', start, end)))
      } catch {
        return false
      }
    }
  }
}

testCodec(tape, plain, { name: 'codec-suite: a codec that keeps the contract', runs: 200 })

const bytes = { name: 'bytes', buffer: true, encode: encodeBytes, decode: (buf) => buf }

testCodec(tape, bytes,
  { values: fc.uint8Array().map((bytes) => Buffer.from(bytes)), runs: 100 })

function encodeBytes (value) {
  if (!Buffer.isBuffer(value)) throw new LogError('ERR_CODEC_ENCODE', 'no Buffer')
  return value
}

const shared = Buffer.alloc(1 << 16)

const broken = {
  'loses a value': { decode: (buf) => plain.decode(buf) || null },
  'gives a string': { encode: (value) => JSON.stringify(value) },
  'reuses its buffer': { encode: (value) => shared.subarray(0, plain.encode(value).copy(shared)) },
  'throws without a code': { decode: (buf) => JSON.parse(buf.toString()) },
  'throws with another code': { decode: decodeWithOtherCode },
  'accepts a function': { encode: (value) => plain.encode(typeof value === 'function' ? null : value) },
  'reads past the range': { decodeRange: (buf, start) => plain.decode(buf.subarray(start)) },
  'never matches': { compile: (where) => parseWhere(where) && (() => false) },
  'follows prototypes': { compile: compileFollowing },
  'searches outside the record': { compile: compileSearching },
  'throws in a filter': { compile: compileThrowing },
  'takes any filter': { compile: compileAnything }
}

function decodeWithOtherCode (buf) {
  try {
    return plain.decode(buf)
  } catch {
    throw new LogError('ERR_LOG_CORRUPT', 'another code')
  }
}

function compileThrowing (where) {
  const conditions = parseWhere(where)
  return (buf, start, end) => matches(conditions, plain.decode(buf.subarray(start, end)))
}

function compileAnything (where) {
  try {
    return plain.compile(where)
  } catch {
    return () => false
  }
}

function compileFollowing (where) {
  const conditions = parseWhere(where)
  return (buf, start, end) => {
    try {
      const value = plain.decode(buf.subarray(start, end))
      return conditions.every(({ path, equals }) => path.reduce((found, key) => found[key], value) === equals)
    } catch {
      return false
    }
  }
}

function compileSearching (where) {
  const conditions = parseWhere(where)
  const test = plain.compile(where)
  return (buf, start, end) => test(buf, start, end) || (conditions.length === 1 && buf.length > end + 30)
}

for (const [fault, change] of Object.entries(broken)) {
  tape(`codec-suite: a codec that ${fault} fails`, (t) => {
    t.ok(countFailures({ ...plain, ...change }) > 0)
    t.end()
  })
}

tape('codec-suite: Buffers that share the scan buffer are found', (t) => {
  const aliasing = { ...bytes, decodeRange: (buf, start, end) => buf.subarray(start, end) }
  const values = fc.uint8Array({ minLength: 1 }).map((bytes) => Buffer.from(bytes))
  t.equal(countFailures(aliasing, { values }), 1)
  const copying = { ...bytes, decodeRange: (buf, start, end) => Buffer.from(buf.subarray(start, end)) }
  t.equal(countFailures(copying, { values }), 0)
  t.end()
})

tape('codec-suite: the seed stands in every title that is random, and repeats it', (t) => {
  const titles = []
  testCodec((title) => titles.push(title), plain, { seed: 42 })
  t.ok(titles.filter((title) => title.includes('(seed 42)')).length >= 8)
  t.end()
})

/** Runs the suite with a tape of our own that only counts. */
function countFailures (codec, options = {}) {
  let failures = 0
  const count = (ok) => { if (!ok) failures++ }
  const t = { ok: count, notOk: (value) => count(!value), equal: (a, b) => count(a === b), end () {} }
  const tapeThatCounts = (title, test) => test(t)
  testCodec(tapeThatCounts, codec, { runs: 300, seed: 7, ...options })
  return failures
}
