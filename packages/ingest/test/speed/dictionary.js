'use strict'
// What a dictionary costs a server: events without bodies to two servers, one with and one without a dictionary, in
// turns. 30 connections; the servers and the load share the machine.
// Usage: node packages/ingest/test/speed/dictionary.js [rounds]

const { fork } = require('node:child_process')
const { once } = require('node:events')
const os = require('node:os')
const autocannon = require('autocannon')
const { temporaryFolder } = require('@millrace/testkit')
const { createIngest } = require('../..')

const WARM_SECONDS = 3
const SECONDS = 4
const PATHS = Array.from({ length: 3000 }, (_, index) => `/v1/se/source-${index % 30}/event-${Math.floor(index / 30)}`)

if (process.argv[2] === 'serve') serve(process.argv[3] === 'on')
else measure(Number(process.argv[2] ?? 5))

async function serve (dictionary) {
  process.on('disconnect', () => process.exit())
  const server = createIngest({ folder: temporaryFolder(), port: 0, dictionary })
  const url = await server.listen()
  await server.ready()
  process.send({ url })
  // The time of the processor says what a request costs, whatever else the machine does.
  process.on('message', () => process.send({ usage: process.cpuUsage() }))
}

async function measure (rounds) {
  console.log(`${os.cpus()[0].model}, ${os.availableParallelism()} cores, Node ${process.version}`)
  const servers = []
  for (const name of ['off', 'on']) {
    const child = fork(__filename, ['serve', name])
    const [{ url }] = await once(child, 'message')
    servers.push({ name, child, url, rates: [], costs: [] })
    await load(url, WARM_SECONDS)
  }
  for (let round = 0; round < rounds; round++) {
    for (const server of round % 2 === 0 ? servers : [...servers].reverse()) {
      const before = await usageOf(server)
      const { requests, non2xx, errors } = await load(server.url, SECONDS)
      if (non2xx + errors > 0) throw new Error(`${non2xx + errors} requests failed`)
      server.rates.push(requests.average)
      server.costs.push((await usageOf(server) - before) / requests.total)
    }
  }
  for (const { name, child, rates, costs } of servers) {
    console.log(`${name.padEnd(4)} ${Math.round(median(rates))} events/s, ${median(costs).toFixed(1)} µs of a processor each`)
    child.disconnect()
  }
  const [off, on] = servers
  const ratios = (field) => median(on[field].map((value, index) => value / off[field][index])).toFixed(3)
  console.log(`on against off, medians of the rounds: ${ratios('rates')} of the events, ${ratios('costs')} of the processor`)
}

function load (url, duration) {
  const requests = PATHS.map((path) => ({ method: 'PUT', path }))
  return autocannon({ url, connections: 30, duration, requests })
}

async function usageOf ({ child }) {
  child.send('usage')
  const [{ usage: { user, system } }] = await once(child, 'message')
  return user + system
}

function median (numbers) {
  return [...numbers].sort((a, b) => a - b)[numbers.length >> 1]
}
