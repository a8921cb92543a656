'use strict'
// How many requests a second the server answers, one record each, beside the same fastify server that does nothing.
// 30 connections; the server and the load share the machine.
// Usage: node packages/ingest/test/speed/requests.js [rounds]

const { fork } = require('node:child_process')
const { once } = require('node:events')
const os = require('node:os')
const autocannon = require('autocannon')
const { fastify } = require('fastify')
const { temporaryFolder } = require('@millrace/testkit')
const { createIngest } = require('../..')

const MODES = ['empty', 'buffered', 'written', 'synced']
const LOAD = {
  method: 'POST',
  connections: 30,
  headers: { 'content-type': 'application/json' },
  body: '{"source":"s1","event":"e1","n":12}'
}
const WARM_SECONDS = 2
const SECONDS = 5

if (process.argv[2] === 'serve') serve(process.argv[3])
else measure(Number(process.argv[2] ?? 2))

async function serve (mode) {
  process.on('disconnect', () => process.exit())
  if (mode !== 'empty') {
    const server = createIngest({ folder: temporaryFolder(), port: 0, ack: mode })
    const url = await server.listen()
    await server.ready()
    process.send(url)
    return
  }
  const app = fastify()
  app.post('/v1/logs/:name', async () => ({ ack: 'written', count: 1, last: 123456 }))
  process.send(await app.listen({ port: 0, host: '127.0.0.1' }))
}

async function measure (rounds) {
  console.log(`${os.cpus()[0].model}, ${os.availableParallelism()} cores, Node ${process.version}`)
  for (let round = 0; round < rounds; round++) {
    let empty = 0
    for (const mode of MODES) {
      const child = fork(__filename, ['serve', mode])
      const [url] = await once(child, 'message')
      await autocannon({ ...LOAD, url: `${url}/v1/logs/a`, duration: WARM_SECONDS })
      const { requests, latency, non2xx, errors } = await autocannon({ ...LOAD, url: `${url}/v1/logs/a`, duration: SECONDS })
      child.disconnect()
      await once(child, 'exit')
      if (mode === 'empty') empty = requests.average
      const ratio = (requests.average / empty).toFixed(2)
      const rate = `${Math.round(requests.average)} requests/s`
      console.log(`${mode.padEnd(9)} ${rate.padEnd(18)} ${ratio} of empty   p50 ${latency.p50} ms   p99 ${latency.p99} ms   ${non2xx + errors} failed`)
    }
  }
}
