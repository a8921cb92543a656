'use strict'
// A forwarder that sends OTLP to the server, in both encodings: the same records arrive.

const tape = require('tape')
const { Forwarder, otlpSink } = require('@millrace/forwarder')
const { jsonCodec } = require('@millrace/json-codec')
const { OffsetLog } = require('@millrace/offset-log')
const { newPath } = require('@millrace/testkit')
const { serve } = require('./helpers')

const LINE = { level: 40, time: 1531171074631, pid: 657, hostname: 'box', name: 'shop', msg: 'slow' }
const LINES = [
  LINE,
  { ...LINE, ms: 1.5, n: 3, big: 2 ** 60, no: false, nothing: null, list: [1, 'a', [null]], deep: { a: { b: '\u20ac' } }, '': '' },
  { ...LINE, trace_id: '5b8efff798038103d269b633813fc60c', span_id: 'eee19b7ec3c1b174', trace_flags: '01' },
  { ...LINE, pid: 658, level: 'audit', err: { type: 'TypeError', message: 'x', stack: 'at', code: 'E' } },
  { ...LINE, name: undefined, level: 60, time: '2018-07-09T21:17:54.631Z' },
  'a text', 12.5, [1], null, { __proto__: null, constructor: 1 }
]

/** Forwards a log of these values; the reports and the stats of the forwarder. */
async function forward (url, values, options) {
  const log = OffsetLog(newPath('log'), { codec: jsonCodec })
  await log.append(values)
  const reports = []
  const resource = { 'service.name': 'shop', replicas: 3 }
  const forwarder = Forwarder(log, {
    sink: otlpSink(url, { resource, scope: { name: 'app', version: '1.0', attributes: { team: 'a' } }, ...options }),
    batch: { count: 4, ageMs: 0 },
    backoff: { minMs: 1, maxMs: 5 },
    onReport: (report) => reports.push(report)
  })
  await forwarder.drained()
  const stats = forwarder.stats()
  await forwarder.close()
  await log.close()
  return { reports, stats }
}

tape('forwarder: JSON, protobuf and gzip of it arrive as the same records', async (t) => {
  const { url, read } = await serve(t)
  for (const options of [{ encoding: 'json' }, { encoding: 'protobuf' }, { encoding: 'protobuf', gzip: true }]) {
    const { reports, stats } = await forward(url, LINES, options)
    t.deepEqual([reports, stats.forwarded], [[], LINES.length])
  }
  // The ids of the logs and the times of sending are their own.
  const comparable = ({ value: { observedTime, attributes: { 'log.record.uid': uid, ...attributes }, ...value } }) => {
    t.ok(observedTime > '2026' && uid.length > 10)
    return { ...value, attributes }
  }
  const values = (await read('/v1/logs/otlp')).records.map(comparable)
  const [json, ...others] = [0, 1, 2].map((n) => values.slice(n * LINES.length, (n + 1) * LINES.length))
  for (const other of others) t.deepEqual(other, json)
  const [first, , traced] = json
  t.deepEqual([first.body, first.time, first.severityNumber], ['slow', '2018-07-09T21:17:54.631000000Z', 13])
  t.deepEqual(first.resource.attributes, { 'service.name': 'shop', replicas: 3, 'host.name': 'box', 'process.pid': 657 })
  t.deepEqual(first.scope, { name: 'app', version: '1.0', attributes: { team: 'a' } })
  t.deepEqual([traced.traceId, traced.flags], ['5b8efff798038103d269b633813fc60c', 1])
})

tape('forwarder: records that are rejected are counted, a request that is too large is halved', async (t) => {
  for (const encoding of ['json', 'protobuf']) {
    const { url, read } = await serve(t, { limits: { recordSize: 2000, bodySize: 3000 } })
    const lines = Array.from({ length: 8 }, (_, n) => ({ msg: 'x'.repeat(n === 5 ? 2200 : 900), n }))
    const { stats, reports } = await forward(url, lines, { encoding })
    const { records } = await read('/v1/logs/otlp')
    t.deepEqual(records.map(({ value }) => value.attributes.n), [0, 1, 2, 3, 4, 6, 7], encoding)
    t.deepEqual([stats.forwarded, stats.refused], [7, 1])
    t.ok(reports.some(({ message }) => /log records have more than 2000 bytes/.test(message)), reports.map(({ message }) => message).join())
  }
})

tape('forwarder: what the server says about a failure is in the report', async (t) => {
  for (const encoding of ['json', 'protobuf']) {
    const { url, server } = await serve(t, { rate: { count: 1, windowMs: 300 } })
    const { reports } = await forward(url, LINES, { encoding })
    t.match(reports[0].error.message, /answered 429 Too Many Requests: more than 1 requests/, encoding)
    await server.close()
  }
})
