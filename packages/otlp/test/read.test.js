'use strict'
// Requests in both encodings give the same log records, and those that the oracle gives.

const tape = require('tape')
const { createRandom, failureOf } = require('@millrace/testkit')
const { readJson, readProtobuf } = require('..')
const { decode, encode, expectGroups, randomRequest, toJson } = require('./oracle')

const LIMITS = { countMax: 10_000 }
const COUNT = Number(process.env.MILLRACE_OTLP_REQUESTS ?? 500)

// Undefined members are as good as missing, and keys keep their order.
const show = (groups) => JSON.stringify(groups)
const jsonOf = (value) => readJson(Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)), LIMITS)
const oneRecord = (record) => ({ resourceLogs: [{ scopeLogs: [{ logRecords: [record] }] }] })
const bodyOf = ([{ records: [{ body }] }]) => body

tape('read: random requests in protobuf, JSON, and JSON of other senders, against the oracle', (t) => {
  const seed = Date.now() % 1e9
  const random = createRandom(seed)
  for (let n = 0; n < COUNT; n++) {
    const request = randomRequest(random)
    const bytes = encode(request)
    const expected = show(expectGroups(decode(bytes)))
    const jsons = [toJson(request), toJson(request, true)]
    const found = [readProtobuf(bytes, LIMITS), ...jsons.map((json) => readJson(json, LIMITS))].map(show)
    if (found.some((text) => text !== expected)) {
      t.fail(`seed ${seed}, request ${n}: ${JSON.stringify(request)}\n${[expected, ...found].join('\n')}`)
      break
    }
  }
  t.pass(`seed ${seed}`)
  t.end()
})

tape('read: fields in another order, in pieces, and unknown ones', (t) => {
  const insideOf = (resourceLogs) => encode({ resourceLogs: [resourceLogs] }).subarray(2)
  const scopeLogs = insideOf({ scopeLogs: [{ logRecords: [{ body: { stringValue: 'x' } }] }] })
  const resource = insideOf({ resource: { attributes: [{ key: 'a', value: { intValue: 1 } }] } })
  const more = insideOf({ resource: { attributes: [{ key: 'b', value: { boolValue: true } }] } })
  // Field 15 with all wire types, a group included; and fields 99 and 1000.
  const unknown = Buffer.from('78 01 79 0102030405060708 7a 020102 7d 01020304 7b 0801 7c 9a0600 c23e0100'.replaceAll(' ', ''), 'hex')
  const content = Buffer.concat([unknown, scopeLogs, resource, unknown, more])
  const [group] = readProtobuf(Buffer.concat([unknown, Buffer.from([0x0a, content.length]), content]), LIMITS)
  t.deepEqual([group.resource.attributes, bodyOf([group])], [{ a: 1, b: true }, 'x'])
  t.end()
})

tape('read: empty requests', (t) => {
  t.deepEqual(readProtobuf(Buffer.alloc(0), LIMITS), [])
  t.deepEqual(jsonOf('{}'), [])
  t.deepEqual(jsonOf({ resourceLogs: [{}, { scopeLogs: [{ scope: { name: 'a' } }] }], other: 1 }), [])
  t.end()
})

tape('read: JSON as the specification has it', (t) => {
  const [{ records: [record] }] = jsonOf(oneRecord({
    timeUnixNano: '1544712660300000123', severityNumber: 10, traceId: '5B8EFFF798038103D269B633813FC60C', spanId: 'EEE19B7EC3C1B174', flags: 1
  }))
  t.equal(record.time, '2018-12-13T14:51:00.300000123Z')
  t.deepEqual([record.severityNumber, record.traceId, record.spanId, record.flags], [10, '5b8efff798038103d269b633813fc60c', 'eee19b7ec3c1b174', 1])
  t.equal(bodyOf(jsonOf('{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":{"intValue":9223372036854775807}}]}]}]}')), '9223372036854775807', 'no digit is lost')
  t.equal(bodyOf(jsonOf('{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":{"stringValue":"a: 12345678901234567890, \\" 12345678901234567890"}}]}]}]}')),
    'a: 12345678901234567890, " 12345678901234567890', 'nor is a text changed')
  t.equal(bodyOf(jsonOf(oneRecord({ body: { doubleValue: '-1.5e3' } }))), -1500)
  t.equal(bodyOf(jsonOf(oneRecord({ body: { intValue: 1e5 } }))), 100_000)
  const wrong = [
    { body: { intValue: 1.5 } }, { body: { intValue: '1.5' } }, { body: { intValue: '9223372036854775808' } }, { body: { intValue: 1e19 } },
    { body: { stringValue: 5 } }, { body: { boolValue: 'true' } }, { body: { doubleValue: 'one' } }, { body: { bytesValue: '*' } },
    { body: 'text' }, { body: { arrayValue: [] } }, { body: { arrayValue: { values: [null] } } }, { body: { kvlistValue: { values: {} } } },
    { severityNumber: 'SEVERITY_NUMBER_INFO' }, { severityNumber: 1.5 }, { timeUnixNano: '-1' }, { timeUnixNano: '18446744073709551616' },
    { timeUnixNano: 'now' }, { attributes: {} }, { attributes: [{ key: 5 }] }, { attributes: ['a'] }, { flags: -1 }, { traceId: 5 }
  ]
  for (const record of wrong) {
    t.throws(() => jsonOf(oneRecord(record)), (err) => err.code === 'ERR_CODEC_DECODE', JSON.stringify(record))
  }
  for (const text of ['', '[]', 'null', '5', '{"resourceLogs":{}}', '{"resourceLogs":[5]}', '{"resourceLogs":[{"scopeLogs":[null]}]}', '{']) {
    t.throws(() => jsonOf(text), (err) => err.code === 'ERR_CODEC_DECODE', text)
  }
  t.throws(() => readJson(Buffer.from([0x7b, 0xff, 0x7d]), LIMITS), /UTF-8/)
  t.end()
})

tape('read: text that is no UTF-8 is kept as far as it is', (t) => {
  const bytes = encode(oneRecord({ body: { stringValue: 'abc' } }))
  bytes[bytes.length - 1] = 0xff
  t.equal(bodyOf(readProtobuf(bytes, LIMITS)), 'ab\ufffd')
  t.end()
})

/** A message of one field that holds bytes. */
function wrap (field, bytes) {
  const size = []
  for (let left = bytes.length; size.push(left > 0x7f ? left & 0x7f | 0x80 : left) && left > 0x7f;) left >>>= 7
  return Buffer.concat([Buffer.from([field << 3 | 2, ...size]), bytes])
}

const inRecord = (bytes) => wrap(1, wrap(2, wrap(2, bytes)))

function nested (depth) {
  let bytes = Buffer.alloc(0)
  for (let level = 0; level < depth; level++) bytes = wrap(5, wrap(1, bytes))
  return inRecord(wrap(5, bytes))
}

tape('hostile: protobuf that is cut off, too long, too deep or wrong is refused', (t) => {
  const hostile = {
    'a varint that is cut off': inRecord(Buffer.from([0x10, 0xff])),
    'a varint of eleven bytes': inRecord(Buffer.from([0x10, ...Array(10).fill(0xff), 1])),
    'a length beyond the end': Buffer.from([0x0a, 0x7f, 0]),
    'a length beyond the message': Buffer.concat([wrap(1, Buffer.from([0x12, 0x05, 0])), Buffer.alloc(10)]),
    'a length of 2^63': Buffer.from([0x0a, ...Array(9).fill(0xff), 0x7f]),
    'a time that is cut off': inRecord(Buffer.from([0x09, 1, 2, 3])),
    'flags that are cut off': inRecord(Buffer.from([0x45, 1, 2])),
    'field 0': Buffer.from([0x02, 0]),
    'field 2^29': Buffer.from([0x80, 0x80, 0x80, 0x80, 0x10, 0]),
    'wire type 6': Buffer.from([0x7e]),
    'wire type 7': Buffer.from([0x7f]),
    'the end of no group': Buffer.from([0x7c]),
    'a group without an end': Buffer.from([0x7b, 0x08, 1]),
    'deep groups': Buffer.alloc(1_000_000, 0x7b),
    'a time as a varint': inRecord(Buffer.from([0x08, 1])),
    'text as a number': inRecord(Buffer.from([0x18, 1])),
    'a record as a number': wrap(1, wrap(2, Buffer.from([0x10, 1]))),
    'values nested 65 deep': nested(65),
    'values nested 5,000 deep': nested(5000)
  }
  for (const [what, bytes] of Object.entries(hostile)) {
    t.throws(() => readProtobuf(bytes, LIMITS), (err) => err.code === 'ERR_CODEC_DECODE' && err.message.includes('at byte'), what)
  }
  t.ok(readProtobuf(nested(64), LIMITS), 'values nested 64 deep are not')
  t.end()
})

tape('hostile: JSON that is too deep is refused', (t) => {
  const deep = (depth) => '{"arrayValue":{"values":['.repeat(depth) + ']}}'.repeat(depth)
  t.throws(() => jsonOf(oneRecord({ body: JSON.parse(deep(65)) })), /nested deeper than 64/)
  t.ok(jsonOf(oneRecord({ body: JSON.parse(deep(64)) })))
  const inside = (text) => `{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":${text}}]}]}]}`
  t.throws(() => jsonOf(inside(deep(20_000))), /nested deeper than 64/)
  t.throws(() => jsonOf(`{"resourceLogs":${'['.repeat(100_000)}${']'.repeat(100_000)}}`), (err) => err.code === 'ERR_CODEC_DECODE')
  t.deepEqual(jsonOf(`{"unknown":${'['.repeat(5000)}${']'.repeat(5000)},"resourceLogs":[]}`), [], 'what is ignored may be deep')
  t.end()
})

tape('hostile: counts beyond the limits are refused early', async (t) => {
  const started = performance.now()
  const codeOf = async (read) => (await failureOf(read)).code
  const empty = (field, count) => Buffer.alloc(2 * count, Buffer.from([field << 3 | 2, 0]))
  t.equal(await codeOf(() => readProtobuf(wrap(1, wrap(2, empty(2, 10_001))), LIMITS)), 'ERR_RECORD_TOO_LARGE', 'records')
  t.equal(readProtobuf(wrap(1, wrap(2, empty(2, 10_000))), LIMITS)[0].records.length, 10_000)
  const millions = 8_000_000
  t.equal(await codeOf(() => readProtobuf(empty(1, millions), LIMITS)), 'ERR_RECORD_TOO_LARGE', 'resources')
  t.equal(await codeOf(() => readProtobuf(wrap(1, empty(2, millions)), LIMITS)), 'ERR_RECORD_TOO_LARGE', 'scopes')
  t.equal(await codeOf(() => readProtobuf(inRecord(empty(6, millions)), LIMITS)), 'ERR_RECORD_TOO_LARGE', 'attributes')
  t.equal(await codeOf(() => readProtobuf(inRecord(wrap(5, wrap(5, empty(1, millions)))), LIMITS)), 'ERR_RECORD_TOO_LARGE', 'values')
  t.ok(readProtobuf(inRecord(Buffer.alloc(2 * millions, Buffer.from([0x78, 0]))), LIMITS), 'unknown fields cost little')
  t.equal(await codeOf(() => jsonOf({ resourceLogs: [{ scopeLogs: [{ logRecords: Array(10_001).fill({}) }] }] })), 'ERR_RECORD_TOO_LARGE')
  t.comment(`${Math.round(performance.now() - started)} ms`)
})

tape('hostile: random damage gives records or an error with a code', (t) => {
  const seed = Date.now() % 1e9
  const random = createRandom(seed)
  let refused = 0
  for (let n = 0; n < 4 * COUNT; n++) {
    const bytes = encode(randomRequest(random))
    if (bytes.length === 0) continue
    const change = () => { bytes[random(bytes.length)] = random(3) === 0 ? 0xff : random(256) }
    for (let left = 1 + random(4); left > 0; left--) change()
    try {
      JSON.stringify(readProtobuf(bytes.subarray(0, random(4) === 0 ? random(bytes.length) : bytes.length), LIMITS))
    } catch (err) {
      refused++
      if (err.code !== 'ERR_CODEC_DECODE') t.fail(`seed ${seed}, request ${n}: ${err.stack}`)
    }
  }
  t.ok(refused > COUNT / 10, `seed ${seed}, ${refused} refused`)
  t.end()
})
