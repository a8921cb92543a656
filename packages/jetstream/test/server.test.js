'use strict'

const tape = require('tape')
const { JetStreamLog } = require('..')
const { serverTest, startServer, startCluster } = require('./server')

serverTest(tape, 'server: one, and a cluster of three, take a stream', async (t) => {
  const server = await startServer()
  const cluster = await startCluster()
  for (const [servers, replicas] of [[[server], 1], [cluster, 3]]) {
    const log = JetStreamLog({ servers: servers.map(({ url }) => url), stream: 'events', replicas })
    t.equal(await log.append(Buffer.from('a')), 1)
    t.equal((await log.stats()).replicas, replicas)
    await log.close()
  }
  for (const one of [server, ...cluster]) await one.remove()
})
