'use strict'
// Ways to append to a store, and to read it back to see that all of it is there.

const { runPipeline, call } = require('../lib/pipeline')
const { Tally } = require('../lib/tally')

// Which records the digest is of.
const EVERY = 100

/** @typedef {import('./index').Store} Store */

/**
 * @param {Pick<Store, 'append'>} store
 * @param {Buffer[][]} batches  over and over
 * @param {number} count  how many batches
 * @param {number} inFlight
 */
function appendBatches (store, batches, count, inFlight) {
  return runPipeline(count, inFlight, (index, cb) => store.append(batches[index % batches.length], cb))
}

/**
 * Appenders that each wait for their record before they append the next. A store that cannot group them gets as many
 * records at once.
 * @param {Store} store
 * @param {Buffer[]} records  over and over
 * @param {number} appenders
 * @param {(count: number) => boolean} isOver  told how many appends have begun
 * @returns {Promise<number>}  how many records were appended
 */
async function appendDurably ({ appendOne, appendGroup }, records, appenders, isOver) {
  let count = 0
  const next = () => records[count++ % records.length]
  if (appendGroup && appenders > 1) {
    while (!isOver(count)) {
      const group = Array.from({ length: appenders }, next)
      await call((cb) => appendGroup(group, cb))
    }
    return count
  }
  if (appendOne === undefined) throw new Error('cannot append durably, and does not say so')
  await Promise.all(Array.from({ length: appenders }, async () => {
    while (!isOver(count)) await call((cb) => appendOne(next(), cb))
  }))
  return count
}

/**
 * What was read, in three figures: how many records, how many bytes, and a digest of every hundredth of them.
 * @returns {{ visit: import('./index').Visit, result: () => { records: number, bytes: number, digest: string } }}
 */
function tallyRecords () {
  const tally = new Tally({ every: EVERY })
  let index = 0
  return {
    // Stores call records by keys of their own; what all of them have is the order.
    visit: (buf, start, end) => tally.visit(index++, buf, start, end),
    result () {
      const { records, delivered, digest } = tally.result()
      return { records, bytes: delivered, digest }
    }
  }
}

/** @param {Pick<Store, 'scan'>} store */
async function readBack (store) {
  const { visit, result } = tallyRecords()
  await store.scan(visit)
  return result()
}

/** @param {Iterable<Uint8Array>} records */
function tallyOf (records) {
  const { visit, result } = tallyRecords()
  for (const record of records) visit(record, 0, record.length)
  return result()
}

/**
 * @param {Buffer[]} records
 * @param {number} size
 */
function toBatches (records, size) {
  const count = Math.ceil(records.length / size)
  return Array.from({ length: count }, (_, index) => records.slice(index * size, (index + 1) * size))
}

exports.toBatches = toBatches
exports.appendBatches = appendBatches
exports.appendDurably = appendDurably
exports.tallyRecords = tallyRecords
exports.readBack = readBack
exports.tallyOf = tallyOf
