'use strict'
// How the logs of the flume family are read, all of which stream records and have no scan, query or list of keys.

const { call } = require('./call')
const { createSeekRoot } = require('./seek-root')

/** @typedef {import('./shapes').Visit} Visit */

/**
 * Gives each item of a stream, which is a record, a key or both.
 * @typedef {(options: object, onItem: (item: any) => void) => Promise<void>} Drain
 */

/**
 * @param {Drain} drain
 * @param {object} recordsOnly  the options of a stream without keys
 */
function createDrainReads (drain, recordsOnly) {
  return {
    scan: (/** @type {Visit} */ visit) => drain(recordsOnly, (record) => visit(record, 0, record.length)),
    queries: {
      /**
       * @param {string} root
       * @param {(record: Buffer) => void} onHit
       */
      seekKey (root, onHit) {
        const isHit = createSeekRoot(root)
        return drain(recordsOnly, (record) => { if (isHit(record)) onHit(record) })
      }
    },
    async listKeys () {
      /** @type {number[]} */
      const keys = []
      await drain({ values: false }, (key) => keys.push(key))
      return keys
    }
  }
}

/**
 * Of a log whose streams are push-streams.
 * @param {any} log
 * @returns {Drain}
 */
function createPipeDrain (log) {
  return (options, write) => call((cb) => {
    log.stream(options).pipe({ paused: false, ended: false, write, end: cb })
  })
}

exports.createDrainReads = createDrainReads
exports.createPipeDrain = createPipeDrain
