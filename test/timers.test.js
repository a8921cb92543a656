'use strict'
// A timer of Node.js that is to wait for more than 2^31 - 1 ms fires at once. So no option in ms, however large, may
// reach one as it is: either it is refused with a code, or it counts as 24 days. Node.js warns of each timer that is
// too long, which needs no waiting.

const http = require('node:http')
const tape = require('tape')
const { BlockFile, Folder } = require('@millrace/block-file')
const { pause } = require('@millrace/flow')
const { Forwarder, httpSink, unavailable } = require('@millrace/forwarder')
const { createIngest } = require('@millrace/ingest')
const { jsonCodec } = require('@millrace/json-codec')
const { LogWriter, lines } = require('@millrace/log-writer')
const { MergedLog, SlotLog } = require('@millrace/merged-log')
const { OffsetLog } = require('@millrace/offset-log')
const { destination } = require('@millrace/pino')
const { SegmentedLog } = require('@millrace/segmented-log')
const { newPath, until } = require('@millrace/testkit')
const { createView } = require('@millrace/view')

const LONG = [2 ** 31, 2 ** 40, Infinity]
const openLog = () => OffsetLog(newPath('log'), { codec: jsonCodec })

/** @param {object} options  of the forwarder */
async function forward ({ sink = async () => {}, drain, ...options }) {
  const log = openLog()
  const forwarder = Forwarder(log, { name: 'x', sink, ...options })
  await log.append(['a', 'b'])
  await until(() => forwarder.stats().forwarded > 0 || forwarder.stats().failures > 0)
  const closing = forwarder.close({ drain })
  if (drain === undefined || forwarder.stats().forwarded > 0) await closing
  await log.close()
}

/** One server for the requests of a test. @param {object} options */
async function serve (options, path = '', headers = {}) {
  const server = createIngest({ folder: newPath('data'), port: 0, ...options })
  const url = await server.listen()
  await server.ready()
  const log = `${url}/v1/logs/events`
  const json = { 'content-type': 'application/json' }
  await fetch(log, { method: 'POST', headers: { ...json, prefer: 'ack=synced' }, body: '{"event":"a"}' })
  await fetch(log, { method: 'POST', headers: { ...json, prefer: 'ack=buffered' }, body: '{"event":"b"}' })
  const aborting = new AbortController()
  const answer = await fetch(log + path, { headers, signal: aborting.signal })
  await answer.body.getReader().read()
  aborting.abort()
  await server.close()
}

const LIVE = { accept: 'text/event-stream' }

/** By option: what sets its timer. @type {Record<string, (ms: number) => Promise<unknown>>} */
const OPTIONS = {
  'flow: pause': async (ms) => { pause(ms) },
  'offset-log: lockTimeout': (lockTimeout) => lockTwice((options) => OffsetLog(...options), { lockTimeout }),
  'segmented-log: lockTimeout': (lockTimeout) => lockTwice((options) => SegmentedLog(...options), { lockTimeout }),
  'block-file: lockTimeout': async (lockTimeout) => {
    const file = BlockFile(newPath('blocks'), { lock: true, lockTimeout })
    await new Promise((resolve) => file.close(resolve))
    const folder = new Folder(newPath('folder'))
    await folder.open({ createFolder: true, lock: true, lockTimeout })
    await folder.close()
  },
  'segmented-log: maxAge': (maxAge) => useLog(SegmentedLog(newPath('log'), { maxAge })),
  'segmented-log: segmentAge': (segmentAge) => useLog(SegmentedLog(newPath('log'), { segmentAge })),
  'merged-log: maxAge': (maxAge) => useLog(SlotLog(newPath('log'), { maxAge })),
  'merged-log: latenessMs': async (latenessMs) => {
    const folder = newPath('log')
    await useLog(SlotLog(folder))
    const log = MergedLog(folder, { latenessMs })
    await log.stream({ live: true })[Symbol.asyncIterator]().next()
    await log.close()
  },
  'view: saveMs': async (saveMs) => {
    const log = openLog()
    const view = createView(log, { name: 'x', initial: 0, reduce: (sum) => sum + 1, saveMs })
    await log.append('a')
    await view.get()
    await view.close()
    await log.close()
  },
  'forwarder: lagMs': (lagMs) => forward({ lagMs }),
  'forwarder: batch.ageMs': (ageMs) => forward({ batch: { ageMs, count: 2 } }),
  'forwarder: backoff.minMs': (minMs) => forward({ backoff: { minMs, maxMs: minMs }, sink: fails }),
  'forwarder: backoff.maxMs': (maxMs) => forward({ backoff: { maxMs }, sink: fails }),
  'forwarder: retryAfterMs of a sink': (retryAfterMs) => forward({ sink: async () => { throw unavailable('later', { retryAfterMs }) } }),
  'forwarder: drain of close': (drain) => forward({ drain }),
  'forwarder: timeoutMs of httpSink': async (timeoutMs) => {
    const server = http.createServer((request, response) => request.resume().on('end', () => response.end()))
    await new Promise((resolve) => server.listen(0, resolve))
    await forward({ sink: httpSink({ url: `http://127.0.0.1:${server.address().port}`, timeoutMs }) }).finally(() => {
      server.closeAllConnections()
      server.close()
    })
  },
  'log-writer: batch.ageMs': async (ageMs) => {
    const writer = LogWriter(OffsetLog(newPath('log'), { codec: lines }), { batch: { ageMs } })
    writer.write({ a: 1 })
    await writer.flush()
    await writer.close()
  },
  'pino: withinMs': async (withinMs) => {
    const to = destination(newPath('pino'))
    await to.ready()
    await to.drain({ withinMs })
    await to.close()
  },
  ...Object.fromEntries(['bufferMs', 'requestMs', 'idleMs', 'graceMs'].map((name) => [`ingest: ${name}`, (ms) => serve({ [name]: ms })])),
  ...Object.fromEntries(['scanMs', 'stallMs', 'heartbeatMs', 'idempotencyMs'].flatMap((name) => [
    [`ingest: limits.${name}`, (ms) => serve({ limits: { [name]: ms } })],
    [`ingest: limits.${name}, live`, (ms) => serve({ limits: { [name]: ms } }, '', LIVE)],
    [`ingest: limits.${name}, counting`, (ms) => serve({ limits: { [name]: ms } }, '/counts')]
  ])),
  'ingest: rate.windowMs': (windowMs) => serve({ rate: { count: 100, windowMs } })
}

async function fails () { throw new Error('planned') }

async function useLog (log) {
  await log.append(Buffer.from('a'))
  await log.close()
}

/** The second one waits for the first. */
async function lockTwice (open, options) {
  const path = newPath('log')
  const first = open([path])
  await first.ready()
  const second = open([path, options])
  const ready = second.ready()
  await new Promise((resolve) => setTimeout(resolve, 30))
  await first.close()
  await ready
  await second.close()
}

/** @type {string[]} */
const warnings = []
process.on('warning', ({ name, message }) => { if (name === 'TimeoutOverflowWarning') warnings.push(message) })

for (const [name, run] of Object.entries(OPTIONS)) {
  tape(`timers: ${name}`, async (t) => {
    for (const ms of LONG) {
      warnings.length = 0
      const { code = null, stack } = await run(ms).then(() => ({}), (err) => err)
      await new Promise(setImmediate)
      t.deepEqual(warnings, [], `${ms}: ${code === null ? 'counts as 24 days' : code}`)
      if (stack !== undefined) t.equal(typeof code, 'string', stack.split('\n')[0])
    }
  })
}

tape('timers: the end', (t) => {
  t.end()
  // Those that were set wait for 24 days.
  setImmediate(() => process.exit(process.exitCode))
})
