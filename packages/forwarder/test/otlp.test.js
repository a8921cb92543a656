'use strict'
// OTLP: what becomes of a record, and what a collector answers. A stand-in checks what it gets as a collector does.

const http = require('node:http')
const tape = require('tape')
const { otlpSink } = require('..')
const { toLogRecord } = require('../lib/sinks/otlp-record')
const { fill, forward, makeLog } = require('./helpers')

/** @type {(t: any, answer?: (body: any, response: any, count: number) => boolean | void) => Promise<any>} */
async function startCollector (t, answer = () => {}) {
  const state = { bodies: [], paths: [], url: '' }
  const server = http.createServer(async (request, response) => {
    let text = ''
    for await (const part of request) text += part
    const body = JSON.parse(text)
    state.paths.push(request.url)
    state.bodies.push(body)
    const problem = findProblem(body) ?? (request.headers['content-type'] === 'application/json' ? null : 'content type')
    if (problem) t.fail(problem)
    if (!answer(body, response, state.bodies.length)) response.end('{"partialSuccess":{}}')
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  state.url = `http://127.0.0.1:${server.address().port}`
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return state
}

const KINDS = {
  stringValue: (value) => typeof value === 'string' && value.isWellFormed(),
  boolValue: (value) => typeof value === 'boolean',
  intValue: (value) => /^-?\d{1,19}$/.test(value),
  doubleValue: (value) => typeof value === 'number' || ['NaN', 'Infinity', '-Infinity'].includes(value),
  bytesValue: (value) => Buffer.from(value, 'base64').toString('base64') === value,
  arrayValue: ({ values }) => values.every(isAnyValue),
  kvlistValue: ({ values }) => values.every(isKeyValue)
}

function isAnyValue (value) {
  const [[kind, content] = [], ...more] = Object.entries(value)
  return kind === undefined || (more.length === 0 && KINDS[kind]?.(content) === true)
}

function isKeyValue ({ key, value, ...rest }) {
  return typeof key === 'string' && isAnyValue(value) && Object.keys(rest).length === 0
}

const FIELDS = {
  timeUnixNano: (value) => /^\d+$/.test(value),
  observedTimeUnixNano: (value) => /^\d+$/.test(value),
  severityNumber: (value) => Number.isInteger(value) && value >= 1 && value <= 24,
  severityText: (value) => typeof value === 'string',
  body: isAnyValue,
  attributes: (value) => value.every(isKeyValue) && new Set(value.map(({ key }) => key)).size === value.length,
  traceId: (value) => /^[0-9a-f]{32}$/.test(value),
  spanId: (value) => /^[0-9a-f]{16}$/.test(value),
  flags: (value) => Number.isInteger(value)
}

/** By the protocol's definition of a logs request; null if there is none. */
function findProblem ({ resourceLogs, ...rest }) {
  if (Object.keys(rest).length > 0) return `unknown ${Object.keys(rest)}`
  for (const { resource, scopeLogs } of resourceLogs) {
    if (!resource.attributes.every(isKeyValue)) return `resource ${JSON.stringify(resource)}`
    for (const { scope, logRecords } of scopeLogs) {
      if (typeof scope.name !== 'string') return 'scope'
      for (const record of logRecords) {
        const wrong = Object.entries(record).find(([name, value]) => !FIELDS[name]?.(value))
        if (wrong) return JSON.stringify(wrong)
      }
    }
  }
  return null
}

const scopesOf = ({ resourceLogs }) => resourceLogs.flatMap(({ scopeLogs }) => scopeLogs)
const recordsOf = (body) => scopesOf(body).flatMap(({ logRecords }) => logRecords)

/** Attributes as an object of their contents. */
function contents (attributes) {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]))
}

const LINE = { level: 40, time: 1531171074631, pid: 657, hostname: 'box', name: 'shop', msg: 'slow', ms: 1.5, n: 3, ok: true }

tape('otlp: a line of pino becomes a log record', async (t) => {
  const collector = await startCollector(t)
  const log = makeLog()
  const traceId = '5B8EFFF798038103D269B633813FC60C'
  const traced = { ...LINE, trace_id: traceId, span_id: 'eee19b7ec3c1b174', trace_flags: '01', req: { url: '/', tags: ['a', null] } }
  const err = { type: 'TypeError', message: 'x', stack: 'at', code: 'E' }
  await log.append([traced, { ...LINE, pid: 658, msg: 'other' }, { ...LINE, pid: 658, err }])
  const sink = otlpSink(collector.url, { resource: { 'service.name': 'shop', replicas: 3 } })
  const forwarder = forward(log, { sink })
  await forwarder.drained()
  t.deepEqual(collector.paths, ['/v1/logs'])
  const [{ resourceLogs }] = collector.bodies
  t.deepEqual(resourceLogs.map(({ resource }) => contents(resource.attributes)), ['657', '658'].map((pid) => {
    return { 'service.name': 'shop', replicas: '3', 'host.name': 'box', 'process.pid': pid }
  }))
  t.deepEqual(resourceLogs[0].scopeLogs[0].scope, { name: 'shop' })
  const [first, second, third] = recordsOf(collector.bodies[0])
  const { observedTimeUnixNano, attributes, ...rest } = first
  t.deepEqual(rest, {
    timeUnixNano: '1531171074631000000',
    severityNumber: 13,
    severityText: 'WARN',
    body: { stringValue: 'slow' },
    traceId: traceId.toLowerCase(),
    spanId: 'eee19b7ec3c1b174',
    flags: 1
  })
  const { id } = await log.stats()
  const [seq] = [(await log.first()).seq]
  t.deepEqual(contents(attributes), {
    'log.record.uid': `${id}-${seq}`,
    ms: 1.5,
    n: '3',
    ok: true,
    req: { values: [{ key: 'url', value: { stringValue: '/' } }, { key: 'tags', value: { arrayValue: { values: [{ stringValue: 'a' }, {}] } } }] }
  })
  t.equal(second.body.stringValue, 'other')
  const { 'exception.type': type, 'exception.message': message, 'exception.stacktrace': stack, exception } = contents(third.attributes)
  t.deepEqual([type, message, stack, exception.values[0].key], ['TypeError', 'x', 'at', 'code'])
  await forwarder.close()
  await log.close()
})

tape('otlp: levels of pino, winston, syslog, and others', (t) => {
  const cases = [[10, 1, 'TRACE'], [20, 5, 'DEBUG'], [30, 9, 'INFO'], [35, 11, 'INFO'], [40, 13, 'WARN'], [50, 17, 'ERROR'], [60, 21, 'FATAL'],
    [69, 24, 'FATAL'], ['info', 9, 'info'], ['WARN', 13, 'WARN'], ['silly', 1, 'silly'], ['notice', 10, 'notice'], ['crit', 18, 'crit'],
    ['audit', undefined, 'audit']]
  for (const [level, number, text] of cases) {
    const { severityNumber, severityText } = toLogRecord({ level }, 'u', false).record
    t.deepEqual([severityNumber, severityText], [number, text], String(level))
  }
  for (const level of [5, 70, null, NaN, {}]) {
    const { record } = toLogRecord({ level }, 'u', false)
    t.deepEqual([record.severityNumber, record.attributes[1].key], [undefined, 'level'], `${level} stays an attribute`)
  }
  t.end()
})

tape('otlp: any value is encoded, and what does not fit a field stays an attribute', async (t) => {
  const strange = [
    null, 0, 'text', true, [1, [2]], {}, NaN, -0, 2 ** 60, 1e300, 2n ** 62n, 2n ** 64n, new Date(5), new Date(NaN), Buffer.from([255, 0]),
    { time: 'soon', level: {}, msg: { a: 1 }, trace_id: '0'.repeat(32), span_id: 'xyz', trace_flags: 999, err: 'no', hostname: 5, pid: 1.5, name: {} },
    { time: '2018-07-09T21:17:54.631Z' }, { timestamp: new Date(1531171074631) }, { time: -5 }, { time: Infinity }, { '@timestamp': 1531171074631.25 },
    { 'half \ud800': 'a \udc00 character' }, { '': '' }, { undef: undefined, fn: () => {}, sym: Symbol('s') }, { __proto__: null, a: 1 },
    Array.from({ length: 100 }).reduce((inner) => ({ inner }), 'deep'), Buffer.from('{"msg":"from bytes","n":1}'), Buffer.from('plain text')
  ]
  for (const value of strange) {
    const { record, origin } = toLogRecord(value, 'uid', false)
    const problem = findProblem({ resourceLogs: [{ resource: { attributes: origin.resource }, scopeLogs: [{ scope: { name: 's' }, logRecords: [JSON.parse(JSON.stringify(record))] }] }] })
    if (problem) t.fail(problem)
  }
  const timeOf = (value) => toLogRecord(value, 'u', false).record.timeUnixNano
  t.equal(timeOf({ time: '2018-07-09T21:17:54.631Z' }), '1531171074631000000')
  t.equal(timeOf({ timestamp: new Date(1531171074631) }), '1531171074631000000')
  t.equal(timeOf({ '@timestamp': 1531171074631.25 }), '1531171074631250000')
  t.deepEqual(toLogRecord(Buffer.from('{"msg":"from bytes"}'), 'u', false).record.body, { stringValue: 'from bytes' })
  t.deepEqual(toLogRecord(Buffer.from([255]), 'u', false).record.body, { bytesValue: '/w==' })
})

tape('otlp: scope, map, and a path of its own', async (t) => {
  const collector = await startCollector(t)
  const log = makeLog()
  await log.append([LINE, { ...LINE, msg: 'secret' }])
  const map = (logRecord, { value }) => value.msg === 'secret' ? { ...logRecord, body: { stringValue: '***' } } : logRecord
  const sink = otlpSink(`${collector.url}/otlp/logs`, { scope: { name: 'app', version: '1.0', attributes: { team: 'a' } }, map })
  const forwarder = forward(log, { sink })
  await forwarder.drained()
  t.deepEqual(collector.paths, ['/otlp/logs'])
  const [{ scope }] = collector.bodies[0].resourceLogs[0].scopeLogs
  t.deepEqual(scope, { name: 'app', version: '1.0', attributes: [{ key: 'team', value: { stringValue: 'a' } }] })
  t.deepEqual(recordsOf(collector.bodies[0]).map(({ body }) => body.stringValue), ['slow', '***'])
  t.equal(contents(recordsOf(collector.bodies[0])[0].attributes).name, 'shop', 'then the name is an attribute')
  await forwarder.close()
  await log.close()
})

tape('otlp: a partial success is counted and not tried again; 429 is; 400 finds the record', async (t) => {
  const collector = await startCollector(t, (body, response, count) => {
    const bodies = recordsOf(body).map(({ attributes }) => Number(contents(attributes).n))
    const status = count === 1 ? 429 : bodies.includes(7) ? 400 : 200
    const rejected = bodies.includes(12) ? { rejectedLogRecords: '2', errorMessage: 'too old' } : { errorMessage: 'a warning' }
    response.writeHead(status, count === 1 ? { 'retry-after': '1' } : {})
    response.end(status === 200 ? JSON.stringify({ partialSuccess: rejected }) : '{"code":3,"message":"no"}')
    return true
  })
  const log = makeLog()
  await fill(log, 15)
  const aside = []
  const refused = (record) => { aside.push(record) }
  const forwarder = forward(log, { sink: otlpSink(collector.url), batch: { count: 5 }, refused })
  await forwarder.drained()
  t.equal(forwarder.reports[0].delayMs >= 1000, true, 'Retry-After')
  t.deepEqual(aside.map(({ value, count, message }) => value?.n ?? [count, message]).slice(1), [[2, 'too old']])
  t.equal(aside[0].value.n, 7)
  t.deepEqual([forwarder.stats().forwarded, forwarder.stats().refused], [12, 3])
  const has12 = (body) => recordsOf(body).some(({ attributes }) => contents(attributes).n === '12')
  t.equal(collector.bodies.filter(has12).length, 1)
  await forwarder.close()
  await log.close()
})

tape('otlp: misuse', (t) => {
  const wrong = [{ resource: null }, { scope: {} }, { map: 5 }, { resources: {} }, { timeoutMs: 1.5 }, { encoding: 'grpc' }]
  for (const options of wrong) {
    t.throws(() => otlpSink('http://localhost:4318', options), (err) => err.code === 'ERR_INVALID_ARGUMENT', JSON.stringify(options))
  }
  t.throws(() => otlpSink('localhost'), (err) => err.code === 'ERR_INVALID_ARGUMENT')
  t.end()
})
