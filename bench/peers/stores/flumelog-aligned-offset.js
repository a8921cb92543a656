'use strict'
// The log whose records do not cross its blocks.

const path = require('node:path')
const { call } = require('../lib/call')
const { createDrainReads, createPipeDrain } = require('../lib/drain-reads')
const { BLOCK_SIZE, load } = require('../lib/load')

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
    return {
      // Told to wait it would write a batch each 20 ms.
      append: (records) => call((cb) => log.append(records, false, cb)),
      async settle () {
        // It says so after each block that it has written; at once, when there is none left.
        for (let isDrained = false; !isDrained;) isDrained = await drainSome(log)
      },
      ...createDrainReads(createPipeDrain(log), { seqs: false }),
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
