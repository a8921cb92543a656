'use strict'
// The SDK of OpenTelemetry with its own exporters, while the server is killed and started again: every log arrives.
// Some may arrive twice, as the protocol allows. MILLRACE_KILLS=20 kills more often.

const { once } = require('node:events')
const http = require('node:http')
const { setTimeout: sleep } = require('node:timers/promises')
const { SeverityNumber } = require('@opentelemetry/api-logs')
const { OTLPLogExporter: JsonExporter } = require('@opentelemetry/exporter-logs-otlp-http')
const { OTLPLogExporter: ProtobufExporter } = require('@opentelemetry/exporter-logs-otlp-proto')
const { resourceFromAttributes } = require('@opentelemetry/resources')
const { BatchLogRecordProcessor, LoggerProvider } = require('@opentelemetry/sdk-logs')
const tape = require('tape')
const { temporaryFolder, until } = require('@millrace/testkit')
const { serve, startProcess } = require('./helpers')

const LOG_COUNT = 10_000
const KILL_COUNT = Number(process.env.MILLRACE_KILLS ?? 3)
const EXPORTERS = { protobuf: ProtobufExporter, json: JsonExporter }

function provide (url, encoding, options = {}, onStored = () => {}) {
  const exporter = new EXPORTERS[encoding]({ url: `${url}/v1/logs`, ...options })
  const send = exporter.export.bind(exporter)
  exporter.export = (logs, done) => send(logs, (result) => {
    if (result.error === undefined) onStored()
    done(result)
  })
  const batching = { exporter, maxQueueSize: LOG_COUNT, scheduledDelayMillis: 50, exportTimeoutMillis: 120_000 }
  return new LoggerProvider({
    resource: resourceFromAttributes({ 'service.name': 'shop', encoding }),
    processors: [new BatchLogRecordProcessor(batching)]
  })
}

async function readAll ({ read }) {
  const all = []
  for (let query = 'gt=-1', end; end?.reason !== 'end'; query = new URLSearchParams(end.next)) {
    const answer = await read(`/v1/logs/otlp?${query}`)
    end = answer.end
    all.push(...answer.records)
  }
  return all
}

tape('opentelemetry: what the SDK sends in either encoding is stored alike', async (t) => {
  const { url, read } = await serve(t)
  for (const [encoding, options] of [['protobuf', {}], ['json', {}], ['protobuf', { compression: 'gzip' }]]) {
    const provider = provide(url, encoding, options)
    provider.getLogger('orders', '1.2').emit({
      timestamp: new Date(1_790_000_000_000),
      observedTimestamp: new Date(1_790_000_000_001),
      severityNumber: SeverityNumber.ERROR,
      severityText: 'ERROR',
      eventName: 'payment.failed',
      body: { order: 12, tags: ['a', null, true] },
      attributes: { 'http.route': '/pay', size: 2.5, bytes: new Uint8Array([255]), nested: { deep: { list: [1, 'b'] } } }
    })
    await provider.shutdown()
  }
  const values = (await readAll({ read })).map(({ value }) => value)
  t.deepEqual(values.map(({ resource }) => resource.attributes.encoding), ['protobuf', 'json', 'protobuf'])
  for (const { resource, ...value } of values) {
    t.equal(resource.attributes['service.name'], 'shop')
    t.deepEqual(value, {
      time: '2026-09-21T14:13:20.000000000Z',
      observedTime: '2026-09-21T14:13:20.001000000Z',
      severityNumber: 17,
      severityText: 'ERROR',
      eventName: 'payment.failed',
      body: { order: 12, tags: ['a', null, true] },
      attributes: { 'http.route': '/pay', size: 2.5, bytes: '/w==', nested: { deep: { list: [1, 'b'] } } },
      scope: { name: 'orders', version: '1.2' }
    })
  }
})

/** A port that is free now and stays the same when the server starts again. */
async function findPort () {
  const server = http.createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  return port
}

tape(`opentelemetry: ${LOG_COUNT} logs while the server is killed ${KILL_COUNT} times: all are there`, async (t) => {
  const folder = temporaryFolder()
  const port = await findPort()
  let server = await startProcess(folder, { port })
  /** Exporters that have stored nothing since the last kill. */
  const waiting = new Set()
  let isSent = false
  const providers = Object.keys(EXPORTERS).map((encoding) => {
    return provide(server.url, encoding, { timeoutMillis: 60_000 }, () => waiting.delete(encoding))
  })
  const loggers = providers.map((provider) => provider.getLogger('kill'))
  const sending = (async () => {
    for (let n = 0; n < LOG_COUNT; n++) {
      loggers[n % 2].emit({ body: n })
      if (n % 100 === 99) await sleep(10)
    }
    await Promise.all(providers.map((provider) => provider.shutdown()))
    isSent = true
  })()
  for (let kill = 0; kill < KILL_COUNT; kill++) {
    await sleep(150 + 100 * Math.random())
    server.child.kill('SIGKILL')
    await server.ended
    server = await startProcess(folder, { port })
    // The SDK tries six times: where servers start slowly, all of these must not be before the next kill.
    for (const encoding of Object.keys(EXPORTERS)) waiting.add(encoding)
    await until(() => isSent || waiting.size === 0)
  }
  t.teardown(() => server.child.kill('SIGKILL'))
  await sending
  const records = await readAll(server)
  const found = new Set(records.map(({ value }) => value.body))
  const lost = Array.from({ length: LOG_COUNT }, (_, n) => n).filter((n) => !found.has(n))
  t.deepEqual(lost.slice(0, 5), [], `none of ${LOG_COUNT} is lost; ${records.length - found.size} came twice`)
})
