'use strict'
// Requests that are read step by step give what the readers of objects give, however they are cut. What is worked on at
// once is bounded, and so is what is held.

const { deepStrictEqual } = require('node:assert')
const tape = require('tape')
const { createRandom } = require('@millrace/testkit')
const { RequestReader, readAsJson, readJson, readProtobuf } = require('..')
const { encode, randomRequest, toJson } = require('./oracle')

const COUNT = Number(process.env.MILLRACE_OTLP_REQUESTS ?? 300)
const READERS = { json: readJson, protobuf: readProtobuf }
const LIMITS = { countMax: 10_000, recordSize: 1e6, sizeMax: 1e9, before: '', after: '', wholeSize: 0 }
const partOf = (part) => JSON.stringify(part) === '{}' ? undefined : part

/** The slow, obvious way. */
function expectValues (encoding, bytes) {
  const values = READERS[encoding](bytes, { countMax: LIMITS.countMax }).flatMap(({ resource, scope, records }) => {
    return records.map((record) => ({ ...record, resource: partOf(resource), scope: partOf(scope) }))
  })
  return JSON.parse(JSON.stringify(values))
}

/** Where pieces end. */
function everySize (bytes, size = 64 * 1024) {
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, n) => n * size)
}

/** In steps. `seen`: the largest of them, and the most that was held. */
function read (encoding, bytes, { cuts = [], seen = {}, ...limits } = {}) {
  const reader = new RequestReader(encoding, { ...LIMITS, ...limits })
  const work = () => {
    while (reader.nextSize > 0) {
      seen.step = Math.max(seen.step ?? 0, reader.nextSize)
      reader.step()
      seen.held = Math.max(seen.held ?? 0, reader.heldSize)
    }
  }
  let from = 0
  for (const to of [...cuts.sort((a, b) => a - b), bytes.length]) {
    if (to > from) {
      // Not the memory of the request: what is kept of it must be a copy.
      const chunk = Buffer.from(bytes.subarray(from, to))
      reader.write(chunk)
      work()
      if (limits.wholeSize === undefined) chunk.fill(0x20)
    }
    from = to
  }
  reader.end()
  work()
  return reader.finish()
}

function valuesOf (encoding, bytes, options) {
  return read(encoding, bytes, options).texts.map((text) => JSON.parse(text.toString()))
}

function outcomeOf (act) {
  try {
    return act()
  } catch (err) {
    return err.code ?? err
  }
}

/** Whether a member comes twice: then an earlier one is checked here, too, though the last one counts. */
const isDoubled = (bytes) => /"(resourceLogs|scopeLogs|logRecords|resource|scope|schemaUrl)".*"\1"/s.test(bytes.toString())

/** Whether a scope or a resource has no records: steps check its attributes, too, though nobody gets them. */
function hasUnread (bytes) {
  const isEmpty = (list) => !Array.isArray(list) || list.length === 0
  try {
    const { resourceLogs } = JSON.parse(bytes)
    return isEmpty(resourceLogs) || resourceLogs.some((resource) => {
      const scopes = resource?.scopeLogs
      return isEmpty(scopes) || scopes.some((scope) => isEmpty(scope?.logRecords))
    })
  } catch {
    return false
  }
}

tape('steps: a byte-order mark that is torn is refused, also if a space or a new line comes in its place', (t) => {
  for (const torn of [[0xef, 0x20], [0xef, 0xbb, 0x0a], [0xef, 0x0a, 0xbf]]) {
    const bytes = Buffer.concat([Buffer.from(torn), Buffer.from('{"resourceLogs":[]}')])
    t.equal(outcomeOf(() => read('json', bytes)), 'ERR_CODEC_DECODE', torn.join())
    t.equal(outcomeOf(() => read('json', bytes, { cuts: [1, 2] })), 'ERR_CODEC_DECODE')
  }
  t.end()
})

tape('steps: random requests in random pieces', (t) => {
  const seed = Date.now() % 1e9
  const random = createRandom(seed)
  for (let n = 0; n < COUNT; n++) {
    const request = randomRequest(random)
    const jsons = [toJson(request), toJson(request, true)].map((bytes) => ['json', bytes])
    for (const [encoding, bytes] of [['protobuf', encode(request)], ...jsons]) {
      const expected = expectValues(encoding, bytes)
      const cuts = Array.from({ length: random(6) }, () => random(bytes.length + 1))
      const wholeSize = random(3) === 0 ? 64 * 1024 : undefined
      try {
        deepStrictEqual(valuesOf(encoding, bytes, { cuts, ...(wholeSize && { wholeSize }) }), expected)
      } catch (err) {
        t.fail(`seed ${seed}, request ${n} in ${encoding}, cut at ${cuts}: ${err.message}`)
        return t.end()
      }
    }
  }
  t.pass(`seed ${seed}`)
  t.end()
})

tape('steps: damaged requests are refused as the readers of objects refuse them', (t) => {
  const seed = Date.now() % 1e9
  const random = createRandom(seed)
  const marks = Buffer.from('"\\,:{}[]0-e. \n')
  let refused = 0
  for (let n = 0; n < 8 * COUNT; n++) {
    const encoding = ['protobuf', 'json'][random(2)]
    const isJson = encoding === 'json'
    let bytes = isJson ? toJson(randomRequest(random), random(2) === 0) : encode(randomRequest(random))
    // Several requests one behind the other are one.
    if (!isJson) bytes = Buffer.concat([bytes, encode(randomRequest(random))])
    for (let left = random(3); left > 0 && bytes.length > 0; left--) {
      const at = random(bytes.length)
      if (random(8) === 0) bytes = bytes.subarray(0, at)
      else if (!isJson) bytes[at] = random(2) === 0 ? random(256) : random(16) << 3 | random(6)
      else if (random(3) === 0) bytes.copy(bytes, at, at + 1)
      else bytes[at] = random(4) === 0 ? random(256) : marks[random(marks.length)]
    }
    const cuts = Array.from({ length: random(4) }, () => random(bytes.length + 1))
    const expected = outcomeOf(() => expectValues(encoding, bytes))
    const found = outcomeOf(() => valuesOf(encoding, bytes, { cuts }))
    if (expected === 'ERR_CODEC_DECODE') refused++
    if (isJson && found === 'ERR_CODEC_DECODE' && (hasUnread(bytes) || isDoubled(bytes))) continue
    try {
      deepStrictEqual(found, expected)
    } catch (err) {
      t.fail(`seed ${seed}, request ${n}, cut at ${cuts}, ${isJson ? bytes : bytes.toString('hex')}: ${err.message}`)
      return t.end()
    }
  }
  t.ok(refused > COUNT / 2, `seed ${seed}, ${refused} refused`)
  t.end()
})

const unusual = {
  'members that come twice': '{"resourceLogs":[{"scopeLogs":[{"logRecords":[{}]}]}],"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":{"intValue":1}}],"logRecords":[{"flags":1},{}]}]}]}',
  'lists that are null': '{"resourceLogs":[{"scopeLogs":null,"resource":null},{"scopeLogs":[{"logRecords":null,"scope":{"name":"a"}}]}]}',
  'a list that becomes null': '{"resourceLogs":[{"scopeLogs":[{"logRecords":[{}]}],"scopeLogs":null}]}',
  'a resource behind its records': '{"resourceLogs":[{"scopeLogs":[{"logRecords":[{}],"scope":{"name":"s"},"schemaUrl":"u"}],"resource":{"attributes":[{"key":"a","value":{"intValue":"1"}}]}}]}',
  'escaped names': '{"resource\\u004cogs":[{"\\u0073copeLogs":[{"logRecord\\u0073":[{"flag\\u0073":1}]}]}]}',
  'unknown members': '{"a":[{}],"resourceLogs":[{"b":{"logRecords":[{}]},"scopeLogs":[{"c":1,"logRecords":[{"d":[1,{"e":null}]}]}]}],"logRecords":[{}]}',
  'a byte-order mark': '\ufeff{"resourceLogs":[{"scopeLogs":[{"logRecords":[{}]}]}]}',
  'much white space': ' {\n"resourceLogs"\t:\r[ { "scopeLogs" : [ { "logRecords" : [ { } , { "flags" : 1 } ] } ] } ] } \n',
  'long integers': '{"resourceLogs":[{"resource":{"attributes":[{"key":"n","value":{"intValue":9007199254740993}}]},"scopeLogs":[{"logRecords":[{"timeUnixNano":1790000000000000123}]}]}]}'
}
for (const [what, text] of Object.entries(unusual)) {
  tape(`steps: ${what}, cut at every byte`, (t) => {
    const bytes = Buffer.from(text)
    const expected = expectValues('json', Buffer.from(text.replace('\ufeff', '')))
    const every = Array.from({ length: bytes.length }, (_, at) => at)
    t.deepEqual(valuesOf('json', bytes, { wholeSize: 64 * 1024 }), expected)
    const show = (cuts) => JSON.stringify(valuesOf('json', bytes, { cuts }))
    t.deepEqual([...every.map((at) => [at]), every].filter((cuts) => show(cuts) !== JSON.stringify(expected)), [])
    t.end()
  })
}

tape('steps: wrong kinds are refused', (t) => {
  const texts = ['', '[]', 'null', '5', '{', '{"resourceLogs":{}}', '{"resourceLogs":5}', '{"resourceLogs":[5]}', '{"resourceLogs":[null]}', '{"resourceLogs":[]',
    '{"resourceLogs":[{"scopeLogs":[null]}]}', '{"resourceLogs":[{"scopeLogs":[{"logRecords":[5]}]}]}', '{"resourceLogs":[{"resource":5}]}', '{}{}', '{},']
  for (const text of texts) t.equal(outcomeOf(() => read('json', Buffer.from(text))), 'ERR_CODEC_DECODE', text)
  t.end()
})

tape('steps: a request in JSON that has no list of logs, but something else, is refused, as traces are', (t) => {
  const texts = ['{"resourceSpans":[]}', '{"resourceMetrics":[{"scopeMetrics":[]}]}', '{"resource_logs":[]}', '{"user":"ada"}', '{"":1}',
    '{"__proto__":{"resourceLogs":[]}}', `{"${'x'.repeat(1000)}":1}`, '{"a":{"resourceLogs":[]}}']
  for (const text of texts) {
    const bytes = Buffer.from(text)
    for (const options of [{}, { wholeSize: 64 * 1024 }, { cuts: [1, bytes.length - 3] }]) {
      t.throws(() => read('json', bytes, options), (err) => err.code === 'ERR_CODEC_DECODE' && /it has no resourceLogs/.test(err.message), text.slice(0, 40))
    }
    t.throws(() => readJson(bytes, LIMITS), /it has no resourceLogs/)
  }
  for (const text of ['{}', '{"resourceLogs":null}', '{"a":1,"resourceLogs":[]}', '{"resourceLogs":[],"a":1}']) {
    for (const options of [{}, { wholeSize: 64 * 1024 }]) t.deepEqual(read('json', Buffer.from(text), options).texts, [], text)
  }
  t.end()
})

tape('steps: logs under an older name, or one that protobuf has, are refused: they got 200, and were lost', (t) => {
  const inRecord = (record) => `{"resourceLogs":[{"scopeLogs":[{"logRecords":[${record}]}]}]}`
  const refused = [
    ['{"resourceLogs":[{"scopeLogs":[]},{"instrumentationLibraryLogs":[{"logRecords":[{}]}]}]}', /it has no scopeLogs, but "instrumentationLibraryLogs"/],
    ['{"resourceLogs":[{"resource":{},"schemaUrl":"","scope_logs":[{"logRecords":[{}]}]}]}', /it has no scopeLogs, but "scope_logs"/],
    ['{"resourceLogs":[{"scopeLogs":[{"scope":{},"schemaUrl":"","log_records":[{}]}]}]}', /it has no logRecords, but "log_records"/],
    ['{"resourceLogs":[{"scopeLogs":[{"logRecords":[{}]},{"logs":[{}]}]}]}', /it has no logRecords, but "logs"/],
    [inRecord('{"time_unix_nano":"1"}'), /time_unix_nano must be spelled timeUnixNano/],
    [inRecord('{"flags":1,"trace_id":""}'), /trace_id must be spelled traceId/],
    [inRecord('{"body":{"string_value":"x"}}'), /string_value must be spelled stringValue/],
    [inRecord('{"attributes":[{"key":"k","value":{"arrayValue":{"values":[{"int_value":1}]}}}]}'), /int_value must be spelled intValue/]
  ]
  const taken = ['{"resourceLogs":[{}]}', '{"resourceLogs":[{"resource":{},"schemaUrl":"u"}]}', '{"resourceLogs":[{"new_list":[1],"scopeLogs":null}]}',
    '{"resourceLogs":[{"scopeLogs":[{}]}]}', '{"resourceLogs":[{"scopeLogs":[{"logRecords":[],"new_list":[1]}]}]}']
  const waysOf = (bytes) => [{}, { wholeSize: 64 * 1024 }, { cuts: [1, bytes.length - 3] }]
  for (const [text, reason] of refused) {
    const bytes = Buffer.from(text)
    for (const options of waysOf(bytes)) t.throws(() => read('json', bytes, options), (err) => err.code === 'ERR_CODEC_DECODE' && reason.test(err.message), text)
    t.throws(() => readJson(bytes, LIMITS), reason)
    t.throws(() => readAsJson('json', bytes, LIMITS), reason)
  }
  for (const text of taken) for (const options of waysOf(Buffer.from(text))) t.deepEqual(read('json', Buffer.from(text), options).texts, [], text)
  const unknown = Buffer.from(inRecord('{"new_field":1,"body":{"newValue":1}}'))
  for (const options of waysOf(unknown)) t.deepEqual(read('json', unknown, options).texts.map(String), ['{"body":null}'])
  t.end()
})

tape('steps: limits hold while a request arrives', (t) => {
  const body = (size) => ({ body: { stringValue: 'x'.repeat(size) } })
  const requestOf = (logRecords, resource) => ({ resourceLogs: [{ resource, scopeLogs: [{ logRecords }] }] })
  const resource = { attributes: [{ key: 'k', value: { stringValue: 'r'.repeat(2000) } }] }
  for (const [encoding, write] of [['json', toJson], ['protobuf', encode]]) {
    const outcome = (request, limits) => {
      const bytes = write(request)
      return outcomeOf(() => {
        const { texts, rejectedCount } = read(encoding, bytes, { cuts: everySize(bytes, 64), ...limits })
        return [texts.length, rejectedCount]
      })
    }
    t.deepEqual(outcome(requestOf([body(1), body(1500), body(1)]), { recordSize: 1000 }), [2, 1], `${encoding}: a record is rejected`)
    t.deepEqual(outcome(requestOf([body(1), body(1)], resource), { recordSize: 1000 }), 'ERR_RECORD_TOO_LARGE', 'a resource is refused')
    t.deepEqual(outcome(requestOf([body(1), body(1500)], resource), { recordSize: 3000 }), [1, 1], 'a text with its resource is')
    t.deepEqual(outcome(requestOf(Array(11).fill(body(1))), { countMax: 10 }), 'ERR_RECORD_TOO_LARGE', 'records')
    t.deepEqual(outcome(requestOf(Array(10).fill(body(1)), resource), { sizeMax: 15_000 }), 'ERR_RECORD_TOO_LARGE', 'bytes of texts')
    const values = Array(110_000).fill({})
    t.equal(outcome(requestOf([{ body: { arrayValue: { values } } }])), 'ERR_RECORD_TOO_LARGE', 'values of a record')
    const many = write(requestOf(Array.from({ length: 9000 }, (_, n) => body(n % 300)), { attributes: [] }))
    const seen = {}
    const cuts = everySize(many)
    t.equal(read(encoding, many, { cuts, seen }).texts.length, 9000)
    t.ok(seen.step <= 256 * 1024 + 300, `${seen.step} bytes are worked on at once`)
    t.ok(seen.held <= 2 * many.length + 9000 * 300, `${seen.held} bytes are held of ${many.length}`)
    const one = write(requestOf([body(500_000)]))
    const seenOne = {}
    read(encoding, one, { cuts: everySize(one), seen: seenOne })
    t.ok(seenOne.held <= 2 * one.length + 70_000, `${seenOne.held} bytes are held of ${one.length}`)
  }
  t.end()
})

tape('steps: what is unknown costs nothing, and is checked', (t) => {
  const seen = {}
  const bytes = Buffer.from(`{"x":[${'{},'.repeat(1_000_000)}{}],"resourceLogs":[]}`)
  const cuts = everySize(bytes)
  t.deepEqual(read('json', bytes, { cuts, seen }).texts, [])
  t.ok(seen.held <= 140_000, `${seen.held} bytes are held`)
  const empties = Buffer.alloc(2_000_000, Buffer.from([0x0a, 0x00]))
  t.deepEqual(read('protobuf', empties, { cuts: everySize(empties) }).texts, [])
  t.end()
})
