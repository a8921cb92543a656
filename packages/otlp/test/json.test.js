'use strict'
// Records as JSON texts: the fast way from protobuf gives what the readers of objects give.

const { deepStrictEqual } = require('node:assert')
const tape = require('tape')
const { createRandom } = require('@millrace/testkit')
const { readAsJson, readJson, readProtobuf } = require('..')
const { JsonTranscoder } = require('../lib/json-to-json')
const { JsonWriter } = require('../lib/json-writer')
const { encode, randomRequest, toJson } = require('./oracle')

const LIMITS = { countMax: 10_000 }
const COUNT = Number(process.env.MILLRACE_OTLP_REQUESTS ?? 500)

const READERS = { json: readJson, protobuf: readProtobuf }
const parse = (texts) => texts.map((text) => JSON.parse(text.toString()))

/** The slow, obvious way. */
function expectValues (encoding, bytes) {
  const values = READERS[encoding](bytes, LIMITS).flatMap(({ resource, scope, records }) => records.map((record) => {
    return { ...record, resource: partOf(resource), scope: partOf(scope) }
  }))
  return JSON.parse(JSON.stringify(values))
}

function partOf (part) {
  return JSON.stringify(part) === '{}' ? undefined : part
}

/** What a reader gives, or the code of its error. */
function outcomeOf (read) {
  try {
    return read()
  } catch (err) {
    return err.code ?? err
  }
}

tape('as JSON: random requests', (t) => {
  const seed = Date.now() % 1e9
  const random = createRandom(seed)
  for (let n = 0; n < COUNT; n++) {
    const request = randomRequest(random)
    for (const [encoding, bytes] of [['protobuf', encode(request)], ['json', toJson(request)]]) {
      try {
        deepStrictEqual(parse(readAsJson(encoding, bytes, LIMITS)), expectValues(encoding, bytes))
      } catch (err) {
        t.fail(`seed ${seed}, request ${n} in ${encoding}: ${err.message}`)
        return t.end()
      }
    }
  }
  t.pass(`seed ${seed}`)
  t.end()
})

tape('as JSON: damaged requests, and requests in pieces', (t) => {
  const seed = Date.now() % 1e9
  const random = createRandom(seed)
  let refused = 0
  for (let n = 0; n < 10 * COUNT; n++) {
    // Several requests one behind the other are one. A byte that differs makes other fields, doubled ones too.
    const bytes = Buffer.concat([encode(randomRequest(random)), encode(randomRequest(random))])
    const change = () => { bytes[random(bytes.length)] = random(2) === 0 ? random(256) : random(16) << 3 | 2 }
    for (let left = bytes.length === 0 ? 0 : random(3); left > 0; left--) change()
    const found = outcomeOf(() => parse(readAsJson('protobuf', bytes, LIMITS)))
    const expected = outcomeOf(() => expectValues('protobuf', bytes))
    if (expected === 'ERR_CODEC_DECODE') refused++
    try {
      deepStrictEqual(found, expected)
    } catch (err) {
      t.fail(`seed ${seed}, request ${n}, ${bytes.toString('hex')}: ${err.message}`)
      return t.end()
    }
  }
  t.pass(`seed ${seed}, ${refused} refused`)
  t.end()
})

tape('as JSON: what comes twice, late or in another order', (t) => {
  const wrap = (field, bytes) => Buffer.concat([Buffer.from([field << 3 | 2, bytes.length]), bytes])
  const text = (field, value) => wrap(field, Buffer.from(value))
  const pair = (key, value) => Buffer.concat([text(1, key), wrap(2, text(1, value))])
  const valueOf = (...fields) => {
    const bytes = wrap(1, wrap(2, wrap(2, Buffer.concat(fields))))
    const found = parse(readAsJson('protobuf', bytes, LIMITS))
    t.deepEqual(found, expectValues('protobuf', bytes))
    return found[0]
  }
  t.deepEqual(valueOf(text(3, 'INFO'), text(3, '')), {}, 'the last text counts, though it is empty')
  t.deepEqual(valueOf(wrap(6, pair('a', '1')), text(3, 'x'), wrap(6, pair('b', '2'))), { attributes: { a: '1', b: '2' }, severityText: 'x' })
  t.deepEqual(valueOf(wrap(6, pair('a', '1')), wrap(6, pair('a', '2'))), { attributes: { a: '2' } }, 'the last value of a key counts')
  t.deepEqual(valueOf(wrap(6, Buffer.concat([wrap(2, text(1, 'v')), text(1, 'k')]))), { attributes: { k: 'v' } }, 'a value before its key')
  t.deepEqual(valueOf(wrap(6, pair('__proto__', 'x'))), JSON.parse('{"attributes":{"__proto__":"x"}}'))
  t.deepEqual(valueOf(wrap(5, Buffer.concat([text(1, 'a'), text(1, 'b')]))), { body: 'b' })
  const attributes = Array.from({ length: 200 }, (_, n) => ({ key: `k${n % 150}`, value: { stringValue: String(n) } }))
  const bytes = encode({ resourceLogs: [{ scopeLogs: [{ logRecords: [{ attributes }] }] }] })
  const [value] = parse(readAsJson('protobuf', bytes, LIMITS))
  t.deepEqual([value], expectValues('protobuf', bytes))
  t.equal(value.attributes.k0, '150', 'many keys')
  t.end()
})

tape('as JSON: what stands around a text, and limits', (t) => {
  const resource = { attributes: [{ key: 'a', value: { stringValue: '€' } }] }
  const scopeLogs = [{ logRecords: [{}, { body: { stringValue: '"' } }] }]
  const request = { resourceLogs: [{ resource, scopeLogs }] }
  for (const [encoding, bytes] of [['protobuf', encode(request)], ['json', toJson(request)]]) {
    const texts = readAsJson(encoding, bytes, { countMax: 2, before: '{"time":1,"value":', after: '}' })
    t.deepEqual(texts.map(String), [
      '{"time":1,"value":{"resource":{"attributes":{"a":"€"}}}}',
      '{"time":1,"value":{"body":"\\"","resource":{"attributes":{"a":"€"}}}}'
    ])
    t.throws(() => readAsJson(encoding, bytes, { countMax: 1 }), { code: 'ERR_RECORD_TOO_LARGE' })
    t.throws(() => readAsJson(encoding, bytes, { countMax: 2, sizeMax: 60 }), { code: 'ERR_RECORD_TOO_LARGE' })
  }
  t.deepEqual(readAsJson('protobuf', Buffer.alloc(0), LIMITS), [])
  t.end()
})

tape('as JSON: what senders write needs no parser', (t) => {
  const record = {
    timeUnixNano: '1790000000000000123',
    observedTimeUnixNano: 1790000000000000123n,
    severityNumber: 9,
    severityText: 'INFO',
    body: { stringValue: 'a "quoted" \u20ac' },
    attributes: [
      { key: 'a', value: { intValue: '200' } }, { key: 'b', value: { intValue: -5 } }, { key: 'c', value: { doubleValue: 1.5 } },
      { key: 'd', value: { boolValue: false } }, { key: 'e', value: {} }, { key: 'f' },
      { key: 'g', value: { arrayValue: { values: [{ bytesValue: 'AAE=' }, { stringValue: '' }] } } },
      { key: 'h', value: { kvlistValue: { values: [{ key: 'i', value: { intValue: '0' } }] } } }
    ],
    droppedAttributesCount: 0,
    flags: 1,
    traceId: '5b8efff798038103d269b633813fc60c',
    spanId: 'EEE19B7EC3C1B174'
  }
  const resource = { attributes: [{ key: 'service.name', value: { stringValue: 'shop' } }] }
  const request = { resourceLogs: [{ resource, scopeLogs: [{ scope: { name: 'http' }, logRecords: [record, {}], schemaUrl: 'x' }] }] }
  const show = (key, value) => typeof value === 'bigint' ? `${value}n` : value
  for (const indent of [0, 2]) {
    const bytes = Buffer.from(JSON.stringify(request, show, indent).replace('"1790000000000000123n"', '1790000000000000123'))
    const transcoder = new JsonTranscoder(bytes, new JsonWriter(), 2)
    transcoder.passRequest()
    t.equal(transcoder.groups[0].records.length, 2)
    t.deepEqual(parse(readAsJson('json', bytes, LIMITS)), expectValues('json', bytes))
  }
  t.end()
})

tape('as JSON: any byte of a request may be wrong', (t) => {
  const seed = Date.now() % 1e9
  const random = createRandom(seed)
  const marks = Buffer.from('"\\,:{}[]0-e. \n')
  let refused = 0
  for (let n = 0; n < 10 * COUNT; n++) {
    const bytes = toJson(randomRequest(random), random(2) === 0)
    for (let left = random(3); left > 0; left--) {
      const at = random(bytes.length)
      if (random(3) === 0) bytes.copy(bytes, at, at + 1)
      else bytes[at] = random(4) === 0 ? random(256) : marks[random(marks.length)]
    }
    const found = outcomeOf(() => parse(readAsJson('json', bytes, LIMITS)))
    const expected = outcomeOf(() => expectValues('json', bytes))
    if (expected === 'ERR_CODEC_DECODE') refused++
    try {
      deepStrictEqual(found, expected)
    } catch (err) {
      t.fail(`seed ${seed}, request ${n}, ${bytes}: ${err.message}`)
      return t.end()
    }
  }
  t.pass(`seed ${seed}, ${refused} refused`)
  t.end()
})
