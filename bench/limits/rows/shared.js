'use strict'
// What several chapters of rows use: the shape of a row, optional packages, and the log of the bench.

const os = require('node:os')
const { openBareLoop, openScan } = require('../runners')

/** @typedef {import('../runners').Runner} Runner */
/** @typedef {import('../../lib/run').Answer} Answer */
/** @typedef {(setting: any) => Runner | Promise<Runner>} OpenSide  runs in a process of its own */

/**
 * @typedef {object} Row
 * @property {string} name  for `--rows` and the CSV file
 * @property {string} what  one line for the table, at most 42 characters: what is compared with what
 * @property {'ms' | 'bytes'} [unit]  of both sides; ms by default
 * @property {number} [goal]  the highest ratio of ours to the peer; a row without a goal is shown but not judged
 * @property {number} [faster]  instead of `goal`: how many times as fast as the peer
 * @property {string} [drawn]  its label in the chart, if its peer is the bare loop
 * @property {{ row: string, label: string }} [beside]  draws this row's peer beside the bar of another row on the same
 *   file
 * @property {{ panel: string, framing: string, size: number }} [growth]  its point in the chart of growth
 * @property {boolean} [isShare]  whether the ratio is written in percent
 * @property {number} [samples]  per process, after the first one, which is kept apart; none by default
 * @property {number} [peerSamples]  for a peer that needs another number
 * @property {boolean} [isExact]  runs once, because it always gives the same
 * @property {string} [stage]  the logs of one stage are on the disk at the same time
 * @property {Record<string, string>} [env]  of its processes
 * @property {Record<string, () => void>} [needs]  optional packages and other needs, by name; each call throws if the
 *   need is missing
 * @property {(context: Context) => any} prepare  makes what is read. Returns what both sides are opened with, as JSON.
 *   Its `expected` is an answer that both must give. Its `absent` says what the machine has too little of
 * @property {OpenSide} ours
 * @property {OpenSide} peer
 * @property {{ what: string, open: OpenSide }} [bound]  the least that any implementation must do, measured in the same
 *   rounds. If the bound misses the goal too, the goal is out of reach on this machine
 */

/**
 * What a row is prepared with.
 * @typedef {object} Context
 * @property {string} folder  the row's own, on the disk of the logs; removed afterwards
 * @property {string} shared  the folder of all rows of the stage
 * @property {number} records  the size of the log of the bench; a row makes no larger log
 * @property {FindLog} findLog  the log is then in the page cache
 */

/** @typedef {import('@millrace/offset-log').FramingName} FramingName */
/** @typedef {import('../run').QueryName} QueryName */
/** @typedef {(log: 'json' | 'binary', framing: FramingName, query?: QueryName) => Promise<FoundLog>} FindLog */

/**
 * @typedef {object} FoundLog
 * @property {string} path
 * @property {string} root  one record in a thousand has it as `value.content.root`
 * @property {import('@millrace/where').Where} [where]  the query
 * @property {Answer} expected  the answer of a scan of the log that this one was made from, and the size of this one in
 *   bytes; with a query, the answer of parsing every record
 */

// `load` hides the names from the type checker, which would look for packages that may be absent. Each call uses its
// package, because a package may be installed without its compiled part.
const load = require
const needs = {
  nodeRsCrc32: { '@node-rs/crc32': () => load('@node-rs/crc32').crc32(Buffer.from('any')) },
  betterSqlite3: { 'better-sqlite3': () => new (load('better-sqlite3'))(':memory:').close() },
  lmdb: { lmdb: () => load('lmdb').open },
  classicLevel: { 'classic-level': () => load('classic-level').ClassicLevel },
  secondCore: { 'a second core': () => load('node:assert')(os.availableParallelism() > 1) }
}

/**
 * @typedef {[name: string, what: string, more: Partial<Row>, prepare: Row['prepare'], ours: OpenSide, peer: OpenSide]}
 *   Line
 * @param {Line[]} lines
 * @returns {Row[]}
 */
function toRows (lines) {
  return lines.map(([name, what, more, prepare, ours, peer]) => ({ name, what, ...more, prepare, ours, peer }))
}

/** For rows that read the log of the bench. @type {(...input: Parameters<FindLog>) => Row['prepare']} */
function reads (...input) {
  return ({ findLog }) => findLog(...input)
}

/**
 * The same without an expected answer, for rows whose sides read the log in different ways.
 * @type {(...input: Parameters<FindLog>) => Row['prepare']}
 */
function readsPath (...input) {
  return async ({ findLog }) => ({ path: (await findLog(...input)).path })
}

/** The least that reading a log can cost. @type {OpenSide} */
const bareLoop = ({ path }) => openBareLoop(path)

/** @type {OpenSide} */
const scan = ({ path }) => openScan(path)

exports.needs = needs
exports.toRows = toRows
exports.reads = reads
exports.readsPath = readsPath
exports.bareLoop = bareLoop
exports.scan = scan
