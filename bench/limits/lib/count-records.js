'use strict'
// Reads of a whole log that keep nothing of it. Each loads what it needs only: this is for measuring memory.

const { createRequire } = require('node:module')

const load = createRequire(__filename)
const BLOCK_SIZE = 64 * 1024

/** @param {string} path */
exports.openCount = async (path) => {
  const { OffsetLog } = /** @type {typeof import('@millrace/offset-log')} */ (load('@millrace/offset-log'))
  const log = OffsetLog(path, { blockSize: BLOCK_SIZE, flags: 'r' })
  await log.ready()
  return {
    async run () {
      let records = 0
      await log.scan({}, ({ count }) => { records += count })
      return records
    },
    close: async () => { await log.close() }
  }
}

/** @param {string} path */
exports.openFlumelogCount = async (path) => {
  const log = load('flumelog-offset')(path, { blockSize: BLOCK_SIZE, flags: 'r' })
  const pull = load('pull-stream')
  await new Promise((resolve) => { log.since.once(resolve) })
  /** @returns {Promise<number>} */
  const run = () => new Promise((resolve, reject) => {
    let records = 0
    const onEnd = (/** @type {any} */ err) => err ? reject(err) : resolve(records)
    pull(log.stream(), pull.drain(() => { records++ }, onEnd))
  })
  return { run, close: async () => {} }
}
