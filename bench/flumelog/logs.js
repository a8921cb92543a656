'use strict'
// The logs that bench-flumelog runs over, each as that bench expects a log: its items have seqs, its values are bytes.

const { createRequire } = require('node:module')
const { OffsetLog } = require('@millrace/offset-log')

// These have no types.
const load = createRequire(__filename)

const BLOCK_SIZE = 64 * 1024
// What flumelog-offset keeps of them: two times 1024.
const CACHE_SIZE = 2048 * BLOCK_SIZE
const FILL_COUNT = 1_000_000

/**
 * @typedef {object} PeerLog
 * @property {string} name
 * @property {string} package  that it comes from
 * @property {(file: string) => any} open
 * @property {(file: string) => Promise<void>} [prepare]  what must be done before, and is not measured
 * @property {string} [note]  what has to be known to read its figures
 */

/** @type {PeerLog[]} */
exports.logs = [
  {
    name: 'checked',
    package: '@millrace/offset-log',
    open: (file) => OffsetLog(file, { framing: 'checked', cache: CACHE_SIZE })
  },
  {
    name: 'offset32',
    package: '@millrace/offset-log',
    open: (file) => OffsetLog(file, { framing: 'offset32', blockSize: BLOCK_SIZE, cache: CACHE_SIZE })
  },
  {
    name: 'flumelog-offset',
    package: 'flumelog-offset',
    open: (file) => load('flumelog-offset')(file, { blockSize: BLOCK_SIZE })
  },
  {
    name: 'flumelog-aligned-offset',
    package: 'flumelog-aligned-offset',
    open: (file) => load('flumelog-aligned-offset/compat')(load('flumelog-aligned-offset')(file, { block: BLOCK_SIZE })),
    note: 'calls back 20 ms after an append, so its log stays small, and in its cache'
  },
  {
    name: 'async-append-only-log',
    package: 'async-append-only-log',
    open: openAsyncLog,
    prepare: fillAsyncLog,
    note: 'calls back before it writes, and shows what it wrote: it reads a million records that were there before'
  }
]

/**
 * Its own adapter to pull-streams leaves the items as they are, with offsets.
 * @param {string} file
 */
function openAsyncLog (file) {
  const log = load('async-append-only-log/compat')(load('async-append-only-log')(file, { blockSize: BLOCK_SIZE }))
  const { stream } = log
  log.stream = (/** @type {object} */ options) => {
    const source = stream.call(log, options)
    return (/** @type {any} */ abort, /** @type {any} */ cb) => {
      source(abort, (/** @type {any} */ end, /** @type {any} */ item) => {
        cb(end, item && { seq: item.offset, value: item.value })
      })
    }
  }
  return log
}

/**
 * The bench appends without a pause, so at its end nothing would be there to be read.
 * @param {string} file
 */
async function fillAsyncLog (file) {
  const log = openAsyncLog(file)
  await new Promise((resolve) => log.since.once(resolve))
  for (let seq = 0; seq < FILL_COUNT; seq++) {
    // As large as the records of bench-flumelog are.
    const record = { seq: seq % 1000, random: Math.random(), time: new Date().toString(), foo: {} }
    log.append(Buffer.from(JSON.stringify(record)), () => {})
  }
  await new Promise((resolve) => log.onDrain(resolve))
  await new Promise((resolve) => log.close(resolve))
}
