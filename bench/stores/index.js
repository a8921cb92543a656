'use strict'
// The stores that are compared: Millrace, the flume family and databases. Also the ways to append to a store, and to
// read it back for comparison.

const { Tally, call, runPipeline } = require('../lib/measure')

// The digest covers one record in so many.
const EVERY = 100

/**
 * What a store is opened for. `append`: batches, as fast as possible. `durable`: each append is synced. `read`: reading
 * what was appended. `query`: the same messages, in the form in which users would query them.
 * @typedef {'append' | 'durable' | 'read' | 'query'} Mode
 */

/**
 * A key, and the bytes from `start` to `end` of `buf`, which are only valid during the call. The key is 0 if the store
 * has none at hand.
 * @typedef {(key: number, buf: Uint8Array, start: number, end: number) => void} Visit
 * @typedef {(err?: any) => void} OnDone
 */

/**
 * Finds every message with this `value.content.root`. `found` is the message, or its bytes, only valid during the call.
 * @typedef {(root: string, onHit: (found: Uint8Array | object) => void) => Promise<void>} Query
 */

/**
 * An open store. Its methods may call back at once.
 * @typedef {object} Store
 * @property {string[]} [packages]  that it uses, if its peer has a choice
 * @property {(records: Buffer[], cb: OnDone) => void} append  a batch
 * @property {() => Promise<void>} [settle]  waits until the operating system has all appended records
 * @property {(record: Buffer, cb: OnDone) => void} [appendOne]  calls back when the record is durable
 * @property {(records: Buffer[], cb: OnDone) => void} [appendGroup]  the same for several, if the peer does not group
 *   appends itself
 * @property {(visit: Visit) => Promise<void>} scan  every record, in order
 * @property {Record<string, Query>} [queries]  by how they are made
 * @property {() => Promise<number[]>} [listKeys]  of all records, in order, if they are not 0, 1, 2, ...
 * @property {(key: number, cb: (err: any, record?: Uint8Array) => void) => void} [get]
 * @property {() => Promise<void>} close
 */

/**
 * @typedef {object} StorePeer
 * @property {string} label  for the table and the chart
 * @property {'millrace' | 'flume' | 'database'} kind
 * @property {string[]} packages  their versions are noted in the CSV file
 * @property {'binary' | 'json'} queried  what its queries read
 * @property {string} way  how they are made: which of `queries`
 * @property {string} [store]  the peer whose store it queries in another way, and that is all it does
 * @property {Record<string, string>} [cannot]  jobs that it cannot do, and why
 * @property {(folder: string, mode: Mode) => Promise<Store>} open  the folder is the store's own
 * @property {(file: string) => any} [openFlumelog]  a log as bench-flumelog expects it
 * @property {(file: string) => Promise<void>} [fillFlumelog]  runs before it, not measured
 *
 * @typedef {import('../engine/row').Peer & StorePeer} Peer
 */

const { lines, parts: ours } = require('./millrace')

/** In the order of the table. @type {Peer[]} */
exports.parts = [...ours, ...require('./flume').parts, ...require('./databases').parts]

/** @type {(name: string, folder: string, mode: Mode) => Promise<Store>} */
function openStore (name, folder, mode) {
  const peer = [...exports.parts, lines].find((/** @type {Peer} */ peer) => peer.name === name)
  return /** @type {Peer} */ (peer).open(folder, mode)
}

/**
 * @param {Pick<Store, 'append'>} store
 * @param {Buffer[][]} batches  repeated
 * @param {number} count  of batches to append
 * @param {number} inFlight
 */
function appendBatches (store, batches, count, inFlight) {
  return runPipeline(count, inFlight, (index, cb) => store.append(batches[index % batches.length], cb))
}

/**
 * Appends batch after batch, until the operating system has all records.
 * @param {Store} store
 * @param {Buffer[]} records
 * @param {number} size  records per batch
 */
async function appendAll (store, records, size) {
  const batches = toBatches(records, size)
  await appendBatches(store, batches, batches.length, 1)
  await store.settle?.()
}

/**
 * Appenders that each wait until their record is durable. A store that does not group appends gets one record of each
 * appender in one call.
 * @param {Store} store
 * @param {Buffer[]} records  repeated
 * @param {number} appenders
 * @param {(count: number) => boolean} isOver  gets the number of appends begun
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

/** Three figures for what was read: the number of records, their bytes, and a digest of every hundredth one. */
class RecordTally extends Tally {
  constructor () {
    super({ every: EVERY })
  }

  answer () {
    const { records, delivered: bytes, digest } = this.result()
    return { records, bytes, digest }
  }
}

/** @param {Pick<Store, 'scan'>} store */
async function readBack (store) {
  const tally = new RecordTally()
  await store.scan(tally.visit.bind(tally))
  return tally.answer()
}

/** @param {Iterable<Uint8Array>} records */
function tallyOf (records) {
  const tally = new RecordTally()
  for (const record of records) tally.visit(0, record, 0, record.length)
  return tally.answer()
}

/** @type {(records: Buffer[], size: number) => Buffer[][]} */
function toBatches (records, size) {
  const count = Math.ceil(records.length / size)
  return Array.from({ length: count }, (_, index) => records.slice(index * size, (index + 1) * size))
}

exports.openStore = openStore
exports.toBatches = toBatches
exports.appendBatches = appendBatches
exports.appendAll = appendAll
exports.appendDurably = appendDurably
exports.RecordTally = RecordTally
exports.readBack = readBack
exports.tallyOf = tallyOf
