'use strict'
// The stores that are compared: Millrace, the logs of the flume family, and databases. And the ways to append to one,
// and to read it back to see that all of it is there.

const { Tally, call, runPipeline } = require('../lib/measure')

// Which records the digest is of.
const EVERY = 100

/**
 * What a store is opened for. `append`: batches, as fast as it takes them. `durable`: each append on stable storage.
 * `read`: what was appended. `query`: the same messages, in the form that its users would query.
 * @typedef {'append' | 'durable' | 'read' | 'query'} Mode
 */

/**
 * A key, and bytes start..end of `buf`. They are borrowed: only valid until the call returns. Where a store has no keys
 * at hand all of them are 0.
 * @typedef {(key: number, buf: Uint8Array, start: number, end: number) => void} Visit
 * @typedef {(err?: any) => void} OnDone
 */

/**
 * Every message whose `value.content.root` is this: as bytes of the log, borrowed, or as the message.
 * @typedef {(root: string, onHit: (found: Uint8Array | object) => void) => Promise<void>} Query
 */

/**
 * A store that is open, with what its peer can do. What takes a callback may call back at once.
 * @typedef {object} Store
 * @property {string[]} [packages]  that it uses, where its peer has a choice
 * @property {(records: Buffer[], cb: OnDone) => void} append  a batch
 * @property {() => Promise<void>} [settle]  all that `append` was given is with the operating system
 * @property {(record: Buffer, cb: OnDone) => void} [appendOne]  it is on stable storage
 * @property {(records: Buffer[], cb: OnDone) => void} [appendGroup]  the same, where the peer cannot group appends
 *   itself
 * @property {(visit: Visit) => Promise<void>} scan  every record, in order
 * @property {Record<string, Query>} [queries]  by the names of ways
 * @property {() => Promise<number[]>} [listKeys]  of all records, in order, where they are not 0, 1, 2, ...
 * @property {(key: number, cb: (err: any, record?: Uint8Array) => void) => void} [get]
 * @property {() => Promise<void>} close
 */

/**
 * @typedef {object} Peer
 * @property {string} name  for `--only` and the CSV file
 * @property {string} label  for the table and the chart
 * @property {'millrace' | 'flume' | 'database'} kind
 * @property {string[]} packages  whose versions belong in the CSV file
 * @property {'binary' | 'json'} queried  what its queries read
 * @property {string[]} ways  of its queries; the first is the usual one
 * @property {Record<string, string>} [cannot]  jobs, and why they are not for it
 * @property {(folder: string, mode: Mode) => Promise<Store>} open  a folder of its own
 * @property {(file: string) => any} [openFlumelog]  as bench-flumelog expects a log: items have seqs, values are bytes
 * @property {(file: string) => Promise<void>} [fillFlumelog]  beforehand, not measured
 */

/** In the order of the table. @type {Peer[]} */
exports.parts = [...require('./millrace').parts, ...require('./flume').parts, ...require('./databases').parts]

/**
 * @param {string} name
 * @param {string} folder
 * @param {Mode} mode
 * @returns {Promise<Store>}
 */
function openStore (name, folder, mode) {
  const peer = exports.parts.find((/** @type {Peer} */ peer) => peer.name === name)
  return /** @type {Peer} */ (peer).open(folder, mode)
}

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
 * In batches, one after the other, until all is with the operating system.
 * @param {Store} store
 * @param {Buffer[]} records
 * @param {number} size  of a batch
 */
async function appendAll (store, records, size) {
  const batches = toBatches(records, size)
  await appendBatches(store, batches, batches.length, 1)
  await store.settle?.()
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

/** What was read, in three figures: how many records, how many bytes, and a digest of every hundredth of them. */
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

/**
 * @param {Buffer[]} records
 * @param {number} size
 */
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
