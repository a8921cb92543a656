'use strict'
// Asks the sidecar of a legacy log, if there is one, which ranges of the log are not what they were: the log's own
// bytes do not show it.

const { fileStorage } = require('@millrace/block-file')
const { checkBlocks, readSidecar } = require('../sidecar/read-sidecar')

/**
 * @typedef {object} Testimony
 * @property {Array<{ start: number, end: number }>} suspects  in order; adjoining ones are one
 * @property {number | null} coveredEnd  what is before it was on stable storage; null where no sidecar is believed
 * @property {Array<{ what: string, offset: number, size: number }>} flaws  why the sidecar is not believed
 */

/**
 * @param {string} path  of the log
 * @param {import('@millrace/block-file/lib/storage').Storage | undefined} storage
 * @param {(err: Error | null, testimony?: Testimony) => void} cb
 */
function askSidecar (path, storage = fileStorage, cb) {
  /** @type {Testimony} */
  const testimony = { suspects: [], coveredEnd: null, flaws: [] }
  readSidecar(storage, path, (err, sidecar) => {
    if (err || !sidecar) return cb(err, testimony)
    if (!sidecar.isBelieved) {
      testimony.flaws.push({ what: `the sidecar: it is not believed, since ${sidecar.why}`, offset: 0, size: 0 })
      return cb(null, testimony)
    }
    testimony.coveredEnd = sidecar.end
    const { suspects } = testimony
    checkBlocks(storage, path, sidecar, ({ start, end }) => {
      const last = suspects[suspects.length - 1]
      if (last?.end === start) last.end = end
      else suspects.push({ start, end })
    }, (err) => cb(err, testimony))
  })
}

exports.askSidecar = askSidecar
