'use strict'
// The log whose records do not cross its blocks.

const path = require('node:path')
const { call } = require('../lib/call')
const { BLOCK_SIZE, load } = require('../lib/load')
const { createSeekRoot } = require('../lib/seek-root')

/** @type {import('../lib/shapes').Peer} */
module.exports = {
  name: 'flumelog-aligned-offset',
  order: 40,
  label: 'flumelog-aligned-offset',
  kind: 'flume',
  packages: ['flumelog-aligned-offset', 'bipf'],
  queried: 'binary',
  ways: ['seekKey'],
  cannot: { 'durable-1': 'never syncs', 'durable-256': 'never syncs' },
  async open (folder) {
    const log = load('flumelog-aligned-offset')(path.join(folder, 'log'), { block: BLOCK_SIZE })
    await new Promise((resolve) => log.onDrain(resolve))
    const drain = (/** @type {object} */ options, /** @type {(item: any) => void} */ write) => call((cb) => {
      log.stream(options).pipe({ paused: false, ended: false, write, end: cb })
    })
    return {
      // Told to wait it would write a batch each 20 ms.
      append: (records) => call((cb) => log.append(records, false, cb)),
      async settle () {
        // It says so after each block that it has written; at once, when there is none left.
        for (let isDrained = false; !isDrained;) isDrained = await drainSome(log)
      },
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
      close: () => call((cb) => log.close(cb))
    }
  }
}

/**
 * @param {any} log
 * @returns {Promise<boolean>}  whether there was nothing to be waited for
 */
function drainSome (log) {
  return new Promise((resolve) => {
    let isSync = true
    log.onDrain(() => resolve(isSync))
    isSync = false
  })
}
