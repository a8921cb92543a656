'use strict'
// A tour of the package, in the order of its README.

const tape = require('tape')
const { RequestReader, readJson, readProtobuf, writeLogRecord, writeProtobuf } = require('..')

const TIME = '2026-09-21T14:13:20.000000123Z'
const attributes = [{ key: 'service.name', value: { stringValue: 'shop' } }]

/** A request with one record. */
const requestOf = (record) => [{ resource: { attributes }, scopeLogs: [{ logRecords: [record] }] }]
const toJson = (record) => Buffer.from(JSON.stringify({ resourceLogs: requestOf(record) }))
const toProtobuf = (record) => writeProtobuf(requestOf(writeLogRecord(record)))

tape('tour: protobuf and JSON give the same records', (t) => {
  const record = { timeUnixNano: '1790000000000000123', severityNumber: 9, body: { stringValue: 'hello' } }
  const [fromProtobuf] = readProtobuf(toProtobuf(record), { countMax: 1000 })
  const [fromJson] = readJson(toJson(record), { countMax: 1000 })
  for (const { resource, records } of [fromProtobuf, fromJson]) {
    t.equal(resource.attributes['service.name'], 'shop')
    t.equal(records[0].time, TIME, 'with nanoseconds')
    t.equal(records[0].severityNumber, 9)
    t.equal(records[0].body, 'hello')
    t.equal(records[0].traceId, undefined, 'what is missing is undefined')
  }
  t.end()
})

tape('tour: a request is read in parts, step by step', (t) => {
  const limits = { countMax: 1000, recordSize: 2 ** 20, sizeMax: 2 ** 25, before: '', after: '' }
  const reader = new RequestReader('json', limits)
  for (const chunk of ['{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"bo', 'dy":{"stringValue":"hi"}}]}]}]}']) {
    reader.write(Buffer.from(chunk))
    while (reader.nextSize > 0) reader.step()
  }
  reader.end()
  while (reader.nextSize > 0) reader.step()
  t.equal(reader.finish().texts.toString(), '{"body":"hi"}')
  t.end()
})

tape('tour: values become those of JSON', (t) => {
  const bodyOf = (body) => readJson(toJson({ body }), { countMax: 1 })[0].records[0].body
  t.equal(bodyOf({ boolValue: true }), true)
  t.equal(bodyOf({ intValue: '7' }), 7)
  t.equal(bodyOf({ intValue: '9007199254740993' }), '9007199254740993', 'beyond 2^53 - 1, its digits')
  t.equal(bodyOf({ doubleValue: 'NaN' }), 'NaN')
  t.equal(bodyOf({ bytesValue: '/w==' }), '/w==')
  t.deepEqual(bodyOf({ arrayValue: { values: [{ stringValue: 'a' }, {}] } }), ['a', null])
  const twice = [{ key: 'a', value: { intValue: 1 } }, { key: 'a', value: { intValue: 2 } }]
  t.deepEqual(bodyOf({ kvlistValue: { values: twice } }), { a: 2 }, 'the last value counts')
  t.end()
})

tape('tour: hostile bytes are refused', (t) => {
  const bytes = toProtobuf({ body: { stringValue: 'hello' } })
  t.throws(() => readProtobuf(bytes.subarray(0, -3), { countMax: 1000 }), { code: 'ERR_CODEC_DECODE' }, 'cut off')
  t.throws(() => readJson(Buffer.from('{"resourceLogs":7}'), { countMax: 1000 }), { code: 'ERR_CODEC_DECODE' })
  t.throws(() => readProtobuf(bytes, { countMax: 0 }), { code: 'ERR_RECORD_TOO_LARGE' }, 'more records than the limit')
  let deep = { stringValue: 'x' }
  for (let level = 0; level < 65; level++) deep = { arrayValue: { values: [deep] } }
  t.throws(() => readJson(toJson({ body: deep }), { countMax: 1 }), { code: 'ERR_CODEC_DECODE' })
  t.end()
})
