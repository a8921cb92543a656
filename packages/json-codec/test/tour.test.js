'use strict'
// A tour of the package, in the order of its README.

const tape = require('tape')
const { JsonCheck, REFUSED, createJsonCodec, jsonCodec } = require('..')

const holds = (where, text) => {
  const bytes = Buffer.from(text)
  return jsonCodec.compile(where)(bytes, 0, bytes.length)
}

tape('tour: values to bytes and back', (t) => {
  const bytes = jsonCodec.encode({ type: 'post', text: 'Grüße' })
  t.equal(bytes.length, 32)
  t.deepEqual(jsonCodec.decode(bytes), { type: 'post', text: 'Grüße' })
  t.end()
})

tape('tour: spelling does not matter to a filter', (t) => {
  const where = { path: ['type'], equals: 'post' }
  t.ok(holds(where, '{"type":"post"}'))
  t.ok(holds(where, '{ "t\\u0079pe": "\\u0070ost" }'))
  t.ok(holds(where, '{"type":"vote","type":"post"}'), 'of two keys the last one counts')
  t.notOk(holds(where, '{"type":"post","type":"vote"}'))
  t.notOk(holds(where, '{"type":"post"'), 'what is no JSON text matches no filter')
  t.end()
})

tape('tour: a filter asks for numbers, ranges and what is missing', (t) => {
  t.ok(holds({ path: ['n'], gte: 10, lt: 20 }, '{"n":1.2e1}'))
  t.ok(holds({ path: ['gone'], exists: false }, '{"n":1}'))
  t.ok(holds({ not: { path: ['n'], equals: 2 } }, '{"n":1}'))
  t.end()
})

tape('tour: a value that JSON cannot represent is refused, with its path', (t) => {
  try {
    jsonCodec.encode({ list: [1, { big: 1n }] })
    t.fail('a BigInt was encoded')
  } catch (err) {
    t.equal(err.code, 'ERR_CODEC_ENCODE')
    t.deepEqual(err.path, ['list', 1, 'big'])
  }
  t.end()
})

tape('tour: strict refuses what JSON loses without a word', (t) => {
  const strict = createJsonCodec({ strict: true })
  t.equal(jsonCodec.encode({ n: NaN }).toString(), '{"n":null}')
  t.throws(() => strict.encode({ n: NaN }), { code: 'ERR_CODEC_ENCODE' })
  t.throws(() => strict.encode({ map: new Map() }), { code: 'ERR_CODEC_ENCODE' })
  t.equal(strict.encode({ n: 1 }).toString(), '{"n":1}')
  t.end()
})

tape('tour: keys are right on every version of Node.js', (t) => {
  jsonCodec.decode(Buffer.from('{"b":1,"\\\\":2}'))
  t.deepEqual(Object.keys(jsonCodec.decode(Buffer.from('{"b":1,"\\n":3}'))), ['b', '\n'])
  t.end()
})

tape('tour: JsonCheck checks JSON in pieces', (t) => {
  const check = new JsonCheck()
  const isJson = (...pieces) => {
    check.begin()
    for (const piece of pieces) {
      check.pass(Buffer.from(piece), 0, piece.length)
      if (check.status === REFUSED) return false
    }
    return check.end()
  }
  t.ok(isJson('{"a":', '[1,', '2]}'))
  t.notOk(isJson('{"a":', ']'))
  t.notOk(isJson('{"a":'))
  t.end()
})
