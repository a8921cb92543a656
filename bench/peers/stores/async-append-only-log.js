'use strict'
// The log of ssb-db2.

const path = require('node:path')
const { call } = require('../lib/call')
const { BLOCK_SIZE, load } = require('../lib/load')
const { createSeekRoot } = require('../lib/seek-root')

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
    const drain = (/** @type {object} */ options, /** @type {(item: any) => void} */ write) => call((cb) => {
      log.stream(options).pipe({ paused: false, ended: false, write, end: cb })
    })
    return {
      append: (records) => call((cb) => log.append(records, cb)),
      settle: () => call((cb) => log.onDrain(cb)),
      async appendOne (record) {
        await call((cb) => log.append(record, cb))
        // It syncs every block that it writes.
        await call((cb) => log.onDrain(cb))
      },
      scan: (visit) => drain({ offsets: false }, (record) => visit(record, 0, record.length)),
      queries: {
        seekKey (root, onHit) {
          const isHit = createSeekRoot(root)
          return drain({ offsets: false }, (record) => { if (isHit(record)) onHit(record) })
        }
      },
      async listKeys () {
        /** @type {number[]} */
        const keys = []
        await drain({ values: false }, (offset) => keys.push(offset))
        return keys
      },
      get: (key, cb) => log.get(key, cb),
      close: () => call((cb) => log.close(cb))
    }
  }
}
