'use strict'

const tape = require('tape')
const { connectTo } = require('@millrace/jetstream')
const { serverTest, startServer, startCluster } = require('./server')

serverTest(tape, 'server: one, and a cluster of three, take a stream', async (t) => {
  const server = await startServer()
  const cluster = await startCluster()
  for (const [servers, replicas] of [[[server], 1], [cluster, 3]]) {
    const { connection, manager } = await connectTo({ servers: servers.map(({ url }) => url) })
    const { config } = await manager.streams.add({ name: 'events', subjects: ['events'], num_replicas: replicas })
    t.equal(config.num_replicas, replicas)
    await connection.close()
  }
  for (const one of [server, ...cluster]) await one.remove()
})
