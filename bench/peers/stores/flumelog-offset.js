'use strict'
// The log of the flume stack.

const path = require('node:path')
const { call } = require('../lib/call')
const { BLOCK_SIZE, load } = require('../lib/load')
const { createSeekRoot } = require('../lib/seek-root')

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
    const drain = (/** @type {object} */ options, /** @type {(item: any) => void} */ onItem) => {
      return call((cb) => pull(log.stream(options), pull.drain(onItem, cb)))
    }
    return {
      append: (records) => call((cb) => log.append(records, cb)),
      scan: (visit) => drain({ seqs: false }, (record) => visit(record, 0, record.length)),
      queries: {
        seekKey (root, onHit) {
          const isHit = createSeekRoot(root)
          return drain({ seqs: false }, (record) => { if (isHit(record)) onHit(record) })
        }
      },
      async listKeys () {
        /** @type {number[]} */
        const keys = []
        await drain({ values: false }, (seq) => keys.push(seq))
        return keys
      },
      get: (key, cb) => log.get(key, cb),
      close: async () => {} // It has no close.
    }
  }
}
