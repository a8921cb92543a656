'use strict'

const tape = require('tape')
const { parseWhere, planWhere } = require('@millrace/where')
const { jsonCodec } = require('..')
const { createPrefilter } = require('../lib/compile')
const { runPresenceCases } = require('./presence-cases')

function holds (where, text) {
  const bytes = Buffer.from(text)
  return jsonCodec.compile(where)(bytes, 0, bytes.length)
}

tape('presence: a key is found in every spelling, and so is its absence', (t) => {
  const texts = ['{"a/b":null}', '{"a\\/b":0}', '{"a\\u002Fb":[]}', '{"\\u0061/b":{}}', ' { "a/b"\n: 1 } ', '{"a/b":1,"a/b":2}']
  for (const text of texts) {
    t.ok(holds({ path: ['a/b'], exists: true }, text), text)
    t.notOk(holds({ path: ['a/b'], exists: false }, text))
  }
  for (const text of ['{"a":{"b":1}}', '["a/b"]', '"a/b"', '{"x":"a/b"}', '{"x":{"a/b":1}}', 'null']) {
    t.notOk(holds({ path: ['a/b'], exists: true }, text), text)
    t.ok(holds({ path: ['a/b'], exists: false }, text))
  }
  t.end()
})

tape('presence: of a key that comes twice the last counts', (t) => {
  t.notOk(holds({ path: ['a', 'b'], exists: true }, '{"a":{"b":1},"a":{}}'))
  t.ok(holds({ path: ['a', 'b'], exists: false }, '{"a":{"b":1},"a":{}}'))
  t.ok(holds({ path: ['__proto__'], exists: true }, '{"__proto__":null}'))
  t.ok(holds({ path: ['__proto__'], exists: false }, '{}'))
  t.end()
})

tape('presence: half a surrogate pair is a key like others, and invalid UTF-8 is U+FFFD', (t) => {
  t.ok(holds({ path: ['\ud800'], exists: true }, '{"\\ud800":1}'))
  t.ok(holds({ path: ['\ud800'], exists: false }, '{"\\ud800\\udc00":1}'))
  const invalid = Buffer.concat([Buffer.from('{"k'), Buffer.from([0xff]), Buffer.from('":1}')])
  t.ok(holds({ path: ['k\ufffd'], exists: true }, invalid))
  t.notOk(holds({ path: ['k\ufffd'], exists: false }, invalid))
  t.end()
})

tape('presence: bytes that are no JSON have nothing, and lack nothing', (t) => {
  for (const text of ['', '{"k":1', '{"k":1}x', '\ufeff{"k":1}']) {
    for (const exists of [true, false]) {
      t.notOk(holds({ path: ['k'], exists }, text))
      t.notOk(holds({ path: ['x'], exists }, text))
      t.notOk(holds({ path: [], exists }, text))
    }
  }
  t.end()
})

tape('presence: only records with all of its keys are parsed; an absence holds back none', (t) => {
  const mayMatch = (text, where) => createPrefilter(planWhere(parseWhere(where)))(Buffer.from(text))
  const present = { path: ['value', 'root'], exists: true }
  t.notOk(mayMatch('{"value":{"branch":1}}', present))
  t.ok(mayMatch('{"value":{"branch":"root"}}', present))
  t.ok(mayMatch('{"value":{"\\u0072oot":1}}', present))
  t.ok(mayMatch('{}', { path: ['value', 'root'], exists: false }))
  t.end()
})

tape('presence: the answer is that of parsing and looking, on 8,000 records', (t) => {
  const { failure, hits, refused, seed } = runPresenceCases({ cases: 8000 })
  t.equal(failure, null, `seed ${seed}`)
  t.ok(hits > 1000, `${hits} fulfilled their filters`)
  t.ok(refused > 100, `${refused} are no JSON`)
  t.end()
})
