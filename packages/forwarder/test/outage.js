'use strict'
// A sink that is down while records are appended, and then comes back: how much memory that takes, and how fast the
// backlog drains. Usage: node packages/forwarder/test/outage.js [records] [function | http]

const http = require('node:http')
const { performance } = require('node:perf_hooks')
const { fork } = require('node:child_process')
const { collect, newPath } = require('@millrace/testkit')
const { Forwarder, httpSink } = require('..')
const { makeLog } = require('./helpers')

const MIB = 2 ** 20
const BATCH = 100

/** A server in a process of its own, which counts lines and checks their order. */
function serve () {
  let count = 0
  let isDown = true
  http.createServer(async (request, response) => {
    const parts = await collect(request)
    if (isDown) return response.writeHead(503).end()
    for (const line of Buffer.concat(parts).toString().trim().split('\n')) {
      if (!line.startsWith(`{"n":${count++},`)) throw new Error(`expected ${count - 1}, got ${line}`)
    }
    response.end()
  }).listen(0, '127.0.0.1', function () { process.send(this.address().port) })
  process.on('message', () => { isDown = false })
  process.on('disconnect', () => process.exit())
}

/** @type {(count: number, kind: string) => Promise<void>} */
async function run (count, kind) {
  let isDown = true
  let next = 0
  const server = kind === 'http' ? fork(__filename, ['serve']) : null
  const port = server && await new Promise((resolve) => server.once('message', resolve))
  const sink = server
    ? httpSink(`http://127.0.0.1:${port}`)
    : async (records) => {
      if (isDown) throw new Error('down')
      for (const { value } of records) if (value.n !== next++) throw new Error(`expected ${next - 1}, got ${value.n}`)
    }
  const log = makeLog({}, newPath('log'))
  const lineOf = (n) => ({ n, level: 30, time: 1531171074631, pid: 657, hostname: 'box', msg: 'x'.repeat(150) })
  for (let n = 0; n < 200_000; n += BATCH) JSON.stringify(Array.from({ length: BATCH }, (_, i) => lineOf(n + i)))
  await log.append(lineOf(0))
  globalThis.gc?.()
  const before = process.memoryUsage().rss
  let peak = before
  const timer = setInterval(() => { peak = Math.max(peak, process.memoryUsage().rss) }, 20)
  const forwarder = Forwarder(log, { sink, onReport: () => {}, backoff: { minMs: 1, maxMs: 50 }, batch: { ageMs: 0 } })
  for (let n = 1; n < count; n += BATCH) {
    await log.append(Array.from({ length: Math.min(BATCH, count - n) }, (_, i) => lineOf(n + i)))
  }
  const downPeak = peak
  isDown = false
  server?.send('up')
  const beganMs = performance.now()
  await forwarder.drained()
  const seconds = (performance.now() - beganMs) / 1000
  clearInterval(timer)
  const { forwarded, failures } = forwarder.stats()
  await forwarder.close()
  await log.close()
  server?.disconnect()
  console.log(JSON.stringify({
    kind,
    forwarded,
    failures,
    drainedPerSecond: Math.round(count / seconds),
    memoryDownMiB: Math.round((downPeak - before) / MIB),
    memoryMiB: Math.round((peak - before) / MIB)
  }))
}

if (process.argv[2] === 'serve') serve()
else run(Number(process.argv[2] ?? 500_000), process.argv[3] ?? 'function')
