'use strict'
// The log of ssb-db2.

const path = require('node:path')
const { call } = require('../lib/call')
const { createDrainReads, createPipeDrain } = require('../lib/drain-reads')
const { BLOCK_SIZE, load } = require('../lib/load')

// What it waits for more before it writes: 250 by itself, and this is the least.
const WRITE_TIMEOUT_MS = 1

/** @type {import('../lib/shapes').Peer} */
module.exports = {
  name: 'async-append-only-log',
  order: 50,
  label: 'async-append-only-log',
  kind: 'flume',
  packages: ['async-append-only-log', 'bipf'],
  queried: 'binary',
  ways: ['seekKey'],
  async open (folder) {
    const log = load('async-append-only-log')(path.join(folder, 'log'), {
      blockSize: BLOCK_SIZE,
      writeTimeout: WRITE_TIMEOUT_MS
    })
    await new Promise((resolve) => log.onDrain(resolve))
    return {
      append: (records) => call((cb) => log.append(records, cb)),
      settle: () => call((cb) => log.onDrain(cb)),
      async appendOne (record) {
        await call((cb) => log.append(record, cb))
        // It syncs every block that it writes.
        await call((cb) => log.onDrain(cb))
      },
      ...createDrainReads(createPipeDrain(log), { offsets: false }),
      get: (key, cb) => log.get(key, cb),
      close: () => call((cb) => log.close(cb))
    }
  }
}
