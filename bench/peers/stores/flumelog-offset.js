'use strict'
// The log of the flume stack.

const path = require('node:path')
const { call } = require('../lib/call')
const { createDrainReads } = require('../lib/drain-reads')
const { BLOCK_SIZE, load } = require('../lib/load')

/** @type {import('../lib/shapes').Peer} */
module.exports = {
  name: 'flumelog-offset',
  order: 30,
  label: 'flumelog-offset',
  kind: 'flume',
  packages: ['flumelog-offset', 'aligned-block-file', 'bipf'],
  queried: 'binary',
  ways: ['seekKey'],
  cannot: { 'durable-1': 'never syncs', 'durable-256': 'never syncs' },
  async open (folder) {
    const [createLog, pull] = [load('flumelog-offset'), load('pull-stream')]
    const log = createLog(path.join(folder, 'log'), { blockSize: BLOCK_SIZE })
    await new Promise((resolve) => log.since.once(resolve))
    /** @type {import('../lib/drain-reads').Drain} */
    const drain = (options, onItem) => call((cb) => pull(log.stream(options), pull.drain(onItem, cb)))
    return {
      append: (records) => call((cb) => log.append(records, cb)),
      ...createDrainReads(drain, { seqs: false }),
      get: (key, cb) => log.get(key, cb),
      close: async () => {} // It has no close.
    }
  }
}
