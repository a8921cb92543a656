'use strict'
// The rows of appends that wait for no disk: the same records in the same batches, into Millrace and another store.

const fs = require('node:fs')
const path = require('node:path')
const { ByteTally } = require('../../lib/tally')
const { createRawStore, openLeastStore, openMillrace } = require('./batch-stores')
const { touchPageCache } = require('./page-cache')
const { runPipeline } = require('./pipeline')
const { RECORD_SIZE, createRecords } = require('./records')

const RECORDS_MAX = 100000
const DISTINCT = 1000
const EVERY = 100
// The compiler is not done with what appends before it has seen a million of them.
const SAMPLES = 31
// Room for what the stores write beside the records, such as an index or a WAL.
const TOUCHED_PER_RECORD = 4 * RECORD_SIZE

/** @typedef {import('./batch-stores').OpenStore} OpenStore */

/**
 * @typedef {object} Work
 * @property {number} batchSize  records a call
 * @property {number} inFlight  calls under way
 * @property {OpenStore | 'raw'} peer
 * @property {number} [samples]
 */

/**
 * @param {Pick<import('./shapes').Row, 'name' | 'order' | 'what' | 'goal' | 'needs'>} row
 * @param {Work} work
 * @returns {import('./shapes').Row}
 */
function createBatchRow (row, { peer, samples = SAMPLES, ...work }) {
  return {
    ...row,
    unit: 'ms',
    isSpeed: true,
    samples,
    prepare ({ folder, records }) {
      return { folder, count: Math.ceil(Math.min(records, RECORDS_MAX) / DISTINCT) * DISTINCT }
    },
    ours: { open: ({ folder, count }) => openAppends(openMillrace, folder, { ...work, count }) },
    peer: { open: ({ folder, count }) => openAppends(peer, folder, { ...work, count }) },
    bound: peer === 'raw'
      ? undefined
      : {
          what: 'copy the records together behind their lengths, sum them, write them, and call back',
          open: ({ folder, count }) => openAppends(openLeastStore, folder, { ...work, count })
        }
  }
}

/**
 * @param {OpenStore | 'raw'} peer
 * @param {string} folder
 * @param {{ batchSize: number, inFlight: number, count: number }} work
 * @returns {import('./shapes').Runner}
 */
function openAppends (peer, folder, { batchSize, inFlight, count }) {
  const records = createRecords(DISTINCT)
  const batches = Array.from({ length: DISTINCT / batchSize }, (_, index) => {
    return records.slice(index * batchSize, (index + 1) * batchSize)
  })
  const open = peer === 'raw' ? createRawStore(batches) : peer
  touchPageCache(folder, count * TOUCHED_PER_RECORD)
  /** @type {import('./batch-stores').BatchStore | null} that of the newest sample */
  let store = null
  let own = ''
  const discard = async () => {
    if (store === null) return
    await store.close()
    fs.rmSync(own, { recursive: true })
  }
  return {
    async sample () {
      await discard()
      own = fs.mkdtempSync(path.join(folder, 'batch-'))
      const opened = store = await open(own)
      const started = performance.now()
      await runPipeline(count / batchSize, inFlight, (index, cb) => {
        opened.append(batches[index % batches.length], index * batchSize, cb)
      })
      return performance.now() - started
    },
    // Only the newest is read back: what that leaves would be collected within the next sample.
    async finish () {
      const tally = new ByteTally({ every: EVERY })
      const values = await /** @type {import('./batch-stores').BatchStore} */ (store).readAll()
      for (const [index, value] of values.entries()) tally.visit(index, value, 0, value.length)
      await discard()
      const { records, delivered, digest } = tally.result()
      return { records, delivered, digest }
    }
  }
}

exports.createBatchRow = createBatchRow
