'use strict'
// What the jobs that append have in common: what they appended is read back, and compared with what it should be.

const { readRecords } = require('./read-records')
const { tallyOf, tallyRecords } = require('./tally-records')

/** @typedef {import('./shapes').Store} Store */
/** @typedef {import('./shapes').Job} Job */

/**
 * @param {Pick<Job, 'name' | 'order' | 'meaning' | 'mode'>} job
 * @param {(store: Store, records: Buffer[], seconds: number) => Promise<{ count: number, ms: number }>} append  the
 *   first `count` of them, in order
 * @param {boolean} isWhole  whether all peers append all of the records
 * @returns {Job}
 */
function createAppendJob (job, append, isWhole) {
  return {
    ...job,
    async measure (peer, { folder, logs, seconds }) {
      const records = await readRecords(logs.binary)
      const store = await peer.open(folder, job.mode)
      const { count, ms } = await append(store, records, seconds)
      await store.close()
      const expected = tallyOf(records.slice(0, count))
      const found = await readBack(peer, folder)
      if (JSON.stringify(found) !== JSON.stringify(expected)) {
        throw new Error(`appended ${JSON.stringify(expected)}, and found ${JSON.stringify(found)}`)
      }
      return { records: count, ms, first: null, answer: isWhole ? found : {} }
    }
  }
}

/**
 * @param {import('./shapes').Peer} peer
 * @param {string} folder
 */
async function readBack (peer, folder) {
  const store = await peer.open(folder, 'read')
  const { visit, result } = tallyRecords()
  await store.scan?.(visit)
  await store.close()
  return result()
}

/**
 * Appenders that each wait for their record before they append the next.
 * @param {Store} store
 * @param {Buffer[]} records
 * @param {{ seconds: number, appenders: number }} work
 */
async function appendDurably (store, records, { seconds, appenders }) {
  const { appendOne = missing, appendGroup } = store
  let count = 0
  const started = performance.now()
  const isOver = () => count >= records.length || performance.now() - started > seconds * 1000
  const appendInTurn = async () => {
    while (!isOver()) await appendOne(records[count++])
  }
  const appendTogether = async (/** @type {NonNullable<Store['appendGroup']>} */ appendAll) => {
    while (!isOver()) {
      const group = records.slice(count, count + appenders)
      count += group.length
      await appendAll(group)
    }
  }
  if (appendGroup && appenders > 1) await appendTogether(appendGroup)
  else await Promise.all(Array.from({ length: appenders }, appendInTurn))
  return { count, ms: performance.now() - started }
}

/** @returns {Promise<never>} */
async function missing () {
  throw new Error('cannot append durably, and does not say so')
}

exports.createAppendJob = createAppendJob
exports.appendDurably = appendDurably
