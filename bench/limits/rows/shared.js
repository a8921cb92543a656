'use strict'
// What chapters of rows share: the shape of a row, packages that it may need, and the log of the bench.

const os = require('node:os')
const { openBareLoop, openScan } = require('../runners')

/** @typedef {import('../runners').Runner} Runner */
/** @typedef {import('../../lib/run').Answer} Answer */
/** @typedef {(setting: any) => Runner | Promise<Runner>} OpenSide  in a process of its own */

/**
 * @typedef {object} Row
 * @property {string} name  for `--rows` and the CSV file
 * @property {string} what  one line for the table, at most 42 characters: what is compared with what
 * @property {'ms' | 'bytes'} [unit]  of both sides; ms by default
 * @property {number} [goal]  the most that ours may be, as a multiple of the peer; without one it is shown, and not
 *   judged
 * @property {number} [faster]  instead of the goal: so many times as fast as the peer
 * @property {string} [drawn]  its label in the chart, for rows whose peer is the bare loop
 * @property {{ row: string, label: string }} [beside]  names a row on the same file whose bar the peer of this one is
 *   drawn with
 * @property {{ panel: string, framing: string, size: number }} [growth]  its point in the chart of growth
 * @property {boolean} [isShare]  the multiple is a small one, written in percent
 * @property {number} [samples]  in each process, after the first one, which is kept apart; none by default
 * @property {number} [peerSamples]  instead, where one of the two is slow
 * @property {boolean} [isExact]  gives the same every time, so that it runs once
 * @property {string} [stage]  rows of one stage have their logs on the disk at the same time; those of others not
 * @property {Record<string, string>} [env]  of its processes
 * @property {Record<string, () => void>} [needs]  optional packages, or whatever else, by name; each call throws where
 *   that is of no use
 * @property {(context: Context) => any} prepare  makes what is read; gives what both sides are opened with, as JSON,
 *   and in its `expected`, if it has one, an answer that they must agree with; or `absent`, what the machine has too
 *   little of for it to be run
 * @property {OpenSide} ours
 * @property {OpenSide} peer
 * @property {{ what: string, open: OpenSide }} [bound]  the least that any way to do it must do, measured in the same
 *   rounds: if that misses the goal too, the goal is out of reach on the machine
 */

/**
 * What a row is prepared with.
 * @typedef {object} Context
 * @property {string} folder  of the row's own, on the disk where the logs are; gone afterwards
 * @property {string} shared  of all rows of its stage
 * @property {number} records  how many the log of the bench has: what a row makes itself is no larger
 * @property {FindLog} findLog  of the bench, in the page cache
 */

/** @typedef {import('@millrace/offset-log').FramingName} FramingName */
/** @typedef {import('../run').QueryName} QueryName */
/** @typedef {(log: 'json' | 'binary', framing: FramingName, query?: QueryName) => Promise<FoundLog>} FindLog */

/**
 * @typedef {object} FoundLog
 * @property {string} path
 * @property {string} root  what one record in a thousand has as `value.content.root`
 * @property {import('@millrace/where').Where} [where]  the query that was asked for
 * @property {Answer} expected  what a scan of all its records comes to, as read from the log it was made from, and
 *   its bytes; with a query, what is found by parsing all of them
 */

// A name that the type checker cannot follow: it would look for packages that may be absent. Each is used: one may be
// installed without the part that was to be compiled.
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

/**
 * @param {Parameters<FindLog>} input
 * @returns {Row['prepare']}  for rows that read the log of the bench
 */
function reads (...input) {
  return ({ findLog }) => findLog(...input)
}

/**
 * @param {Parameters<FindLog>} input
 * @returns {Row['prepare']}  the same, where the two sides read it in other ways, and so have other answers
 */
function readsPath (...input) {
  return async ({ findLog }) => ({ path: (await findLog(...input)).path })
}

/**
 * The least that reading a log can cost.
 * @type {OpenSide}
 */
const bareLoop = ({ path }) => openBareLoop(path)

/** @type {OpenSide} */
const scan = ({ path }) => openScan(path)

exports.needs = needs
exports.toRows = toRows
exports.reads = reads
exports.readsPath = readsPath
exports.bareLoop = bareLoop
exports.scan = scan
