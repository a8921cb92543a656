'use strict'
// How long opening takes must not depend on how much there is to open. What opening does not read is a hole in the
// file.

const path = require('node:path')
const { OffsetLog } = require('@millrace/offset-log')
const { writeLargeLog, writeSmallLog } = require('../lib/large-log')

const SMALL_SIZE = 10 * 1000 ** 2
const LARGE_SIZE = 10 * 1000 ** 3

/** @type {import('../lib/shapes').Row} */
module.exports = {
  name: 'open-size',
  order: 30,
  what: 'open after a clean close, 10 GB : 10 MB',
  unit: 'ms',
  goal: 1.5,
  samples: 100,
  async prepare ({ folder }) {
    const [small, large] = ['small.log', 'large.log'].map((name) => path.join(folder, name))
    await writeSmallLog(small, SMALL_SIZE)
    await writeLargeLog(large, LARGE_SIZE, small)
    return { small, large }
  },
  ours: { open: ({ large }) => openAgain(large, LARGE_SIZE) },
  peer: { open: ({ small }) => openAgain(small, SMALL_SIZE) }
}

/**
 * @param {string} path
 * @param {number} sizeMin  below the size of the log
 * @returns {import('../lib/shapes').Runner}
 */
function openAgain (path, sizeMin) {
  return {
    async sample () {
      const started = performance.now()
      const log = OffsetLog(path)
      await log.ready()
      const ms = performance.now() - started
      const { size } = await log.stats()
      if (log.recovery !== null || size < sizeMin) throw new Error(`${path}: not a clean log of ${sizeMin} bytes`)
      await log.close()
      return ms
    },
    finish: () => ({})
  }
}
