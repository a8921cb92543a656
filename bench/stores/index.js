'use strict'
// The stores that are compared: Millrace, the logs of the flume family, and databases. In the order of the table.

/**
 * What a store is opened for. `append`: batches, as fast as it takes them. `durable`: each append on stable storage.
 * `read`: what was appended. `query`: the same messages, in the form that its users would query.
 * @typedef {'append' | 'durable' | 'read' | 'query'} Mode
 */

/**
 * Bytes start..end of `buf`. They are borrowed: only valid until the call returns.
 * @typedef {(buf: Uint8Array, start: number, end: number) => void} Visit
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

/** @type {Peer[]} */
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

exports.openStore = openStore
