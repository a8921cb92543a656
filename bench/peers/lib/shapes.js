'use strict'
// The shapes of the peers, of the jobs that they are given, and of what becomes of both. Types only.

/**
 * What a peer is opened for. `append`: batches, as fast as it takes them. `durable`: each append on stable storage.
 * `read`: what was appended. `query`: the same messages, in the form that its users would query.
 * @typedef {'append' | 'durable' | 'read' | 'query'} Mode
 */

/**
 * Bytes start..end of `buf`. They are borrowed: only valid until the call returns.
 * @typedef {(buf: Uint8Array, start: number, end: number) => void} Visit
 * @typedef {(err: Error | null | undefined, record?: Uint8Array) => void} OnRecord
 */

/**
 * Every message whose `value.content.root` is this: as bytes of the log, borrowed, or as the message.
 * @typedef {(root: string, onHit: (found: Uint8Array | object) => void) => Promise<void>} Query
 */

/**
 * A store that is open, with what its peer can do.
 * @typedef {object} Store
 * @property {string[]} [packages]  that it uses, where its peer has a choice
 * @property {(records: Buffer[]) => Promise<void>} [append]  a batch
 * @property {() => Promise<void>} [settle]  all that `append` was given is with the operating system
 * @property {(record: Buffer) => Promise<void>} [appendOne]  it is on stable storage
 * @property {(records: Buffer[]) => Promise<void>} [appendGroup]  the same, where the peer cannot group appends itself
 * @property {(visit: Visit) => Promise<void>} [scan]  every record, in order
 * @property {Record<string, Query>} [queries]  by the names of ways
 * @property {() => Promise<number[]>} [listKeys]  of all records, in order, where they are not 0, 1, 2, ...
 * @property {(key: number, cb: OnRecord) => void} [get]  may call back at once
 * @property {() => Promise<void>} close
 */

/**
 * Each is one file in stores/, found by being there.
 * @typedef {object} Peer
 * @property {string} name  for `--only` and the CSV file
 * @property {number} order  the first is the one that the others are compared with
 * @property {string} label  for the table and the chart
 * @property {'millrace' | 'flume' | 'database'} kind
 * @property {string[]} packages  whose versions belong in the CSV file
 * @property {'binary' | 'json'} queried  what its queries read
 * @property {string[]} ways  of its queries; the first is the usual one
 * @property {Record<string, string>} [cannot]  jobs, and why they are not for it
 * @property {(folder: string, mode: Mode) => Promise<Store>} open  a folder of its own
 */

/**
 * @typedef {object} Setting
 * @property {string} folder  of this case, or of what was filled
 * @property {{ binary: string, json: string }} logs  what the records are taken from
 * @property {string} query
 * @property {string} way  of its queries
 * @property {number} total  records there are
 * @property {number} seconds  how long a job may go on that has no end by itself
 */

/**
 * @typedef {object} Outcome
 * @property {number} records  in the time given
 * @property {number} ms
 * @property {number | null} first  ms of the first sample, where there are several
 * @property {Record<string, number | string>} answer  what all peers must agree about
 */

/**
 * Each is one file in jobs/.
 * @typedef {object} Job
 * @property {string} name
 * @property {number} order
 * @property {string} meaning  one line
 * @property {Mode} mode
 * @property {(peer: Peer, setting: Setting) => Promise<Outcome>} measure  in a process of its own
 */

/**
 * One cell of the table: a peer at a job, in one way.
 * @typedef {object} Cell
 * @property {Peer} peer
 * @property {Job} job
 * @property {string} way  empty but for queries
 * @property {string[]} packages
 * @property {Outcome[]} runs
 * @property {string | undefined} absent  why there are none
 */

module.exports = {}
