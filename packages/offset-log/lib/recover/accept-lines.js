'use strict'
// Takes the text of a file as what its log of lines is to have, whatever another program did to it.

const { OffsetLog } = require('../offset-log')
const { sumLines } = require('./open-lines')

/**
 * @typedef {import('../lines-store').LinesStore} LinesStore
 * @typedef {InstanceType<typeof import('../offset-log').Log>} Log
 */

/**
 * Computes all checksums of a log of lines anew. Nobody may have it open.
 * @param {string} path  of an existing file
 * @param {object} options
 * @param {import('@millrace/block-file').Storage} [options.storage]
 * @param {(progress: { position: number, size: number }) => void} options.onProgress  in bytes
 * @returns {Promise<{ size: number, changed: string | null, keptAt: string | null }>} `changed`: what another program
 *   had done; `keptAt`: where a torn last line is kept
 */
async function acceptLines (path, { storage, onProgress }) {
  const log = OffsetLog(path, { framing: 'lines', mustExist: true, cache: 0, storage })
  try {
    await log.ready()
    const store = /** @type {LinesStore} */ (/** @type {Log} */ (/** @type {any} */ (log))._file.store)
    await store.sums?.accept(await sumLines(store, (position) => onProgress({ position, size: store.end })))
    return { size: store.end, changed: log.recovery?.changed ?? null, keptAt: log.recovery?.keptAt ?? null }
  } finally {
    await log.close()
  }
}

exports.acceptLines = acceptLines
