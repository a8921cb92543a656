'use strict'
// The log suite, on one server that syncs before it acknowledges: with atomic batches, and without.

const path = require('node:path')
const tape = require('tape')
const { testLog } = require('@millrace/testkit')
const { JetStreamLog } = require('..')
const { serverTest, startServer } = require('./server')

/** @type {import('./server').Server} */
let server

serverTest(tape, 'the server of the log suite starts', async (t) => {
  server = await startServer({ syncInterval: 'always' })
  t.pass(server.url)
})

if (process.env.MILLRACE_JETSTREAM) {
  for (const isAtomic of [true, false]) {
    testLog(tape, (file, { blockSize, ...options }) => JetStreamLog({
      servers: server.url,
      monitor: server.monitor,
      // Each test has a folder of its own.
      stream: `${path.basename(path.dirname(file))}-${isAtomic}`,
      subject: `${path.basename(path.dirname(file))}.${isAtomic}`,
      config: { allow_atomic: isAtomic },
      ...options
    }), { name: isAtomic ? 'jetstream' : 'jetstream without atomic batches' })
  }
}

serverTest(tape, 'the server of the log suite ends', async (t) => {
  await server.remove()
  t.pass('removed')
})
