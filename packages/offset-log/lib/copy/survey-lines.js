'use strict'
// Reads a whole text file as a log of lines, past all damage, and reports what it finds. It changes nothing.

const { promisesOf } = require('@millrace/flow')
const { describeFault } = require('@millrace/framing')
const { OffsetLog } = require('../offset-log')
const { LinesReader } = require('../read/lines-reader')

/**
 * @typedef {import('../lines-store').LinesStore} LinesStore
 * @typedef {InstanceType<typeof import('../offset-log').Log>} Log
 * @typedef {import('@millrace/framing/survey').DamageList} DamageList
 * @typedef {object} LinesFound
 * @property {number} end  where the last line ends
 * @property {number} records
 * @property {number} since  the seq of the last record; -1 if there is none
 * @property {number | null} promisedEnd  null if no sums say so
 * @property {string | null} changed  what another program has done to the file
 */

/**
 * @param {string} path
 * @param {import('@millrace/block-file').Storage | undefined} storage
 * @param {{ damage: DamageList, onProgress: (position: number) => void }} sinks
 * @returns {Promise<LinesFound>}
 */
async function surveyLines (path, storage, { damage, onProgress }) {
  const log = OffsetLog(path, { framing: 'lines', flags: 'r', cache: 0, storage })
  try {
    await log.ready()
    return await survey(/** @type {any} */ (log), { damage, onProgress })
  } finally {
    await log.close().catch(() => {})
  }
}

/** @type {(log: Log, sinks: Parameters<typeof surveyLines>[2]) => Promise<LinesFound>} */
async function survey (log, { damage, onProgress }) {
  const store = /** @type {LinesStore} */ (log._file.store)
  const { start, end, promisedEnd } = store
  const range = { from: start, stop: end, reverse: false, skipsDamage: true }
  const reader = new LinesReader(store, range, start)
  reader.onDamage = (found) => damage.add({
    what: describeFault(found),
    start: found.start,
    end: found.end,
    isPromised: found.end <= promisedEnd ? true : null,
    seqs: { from: found.start, to: found.end },
    records: null
  })
  let [records, since] = [0, -1]
  for (let run; (run = await promisesOf(reader).next(end)).count > 0;) {
    records += run.count
    since = run.seqs[run.count - 1]
    onProgress(since)
  }
  damage.close()
  const { changed = null } = log.recovery ?? {}
  return { end, records, since, promisedEnd: store.beside === null ? null : promisedEnd, changed }
}

exports.surveyLines = surveyLines
