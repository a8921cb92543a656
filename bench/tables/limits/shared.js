'use strict'
// What all chapters of rows use: how a row of sides is made and measured, optional packages, and the log of the bench.

const os = require('node:os')
const { findLog } = require('../../engine/inputs')
const { loadPeer } = require('../../engine/install')
const { takeSamples } = require('../../lib/measure')
const { findAnswers } = require('./logs')

/** @typedef {import('../../engine/row').Row} Row */
/** @typedef {import('../../engine/row').Reading} Reading */
/** @typedef {import('./runners').Runner} Runner */
/** The `folder` of its setting is the process's own. @typedef {(setting: any) => Runner | Promise<Runner>} OpenSide */
/** @typedef {{ open: OpenSide, samples: number, what?: string }} Side  `what` is said of the least work only */

/**
 * @typedef {object} More  of a row, beside its sides
 * @property {'ms' | 'bytes'} [unit]  ms by default
 * @property {number} [within]  the goal: at most so many times the figure of the other side
 * @property {number} [times]  the goal: at least so many times as fast as the other side
 * @property {number} [most]  the goal: at most so much
 * @property {string} [drawn]  its label in the chart, if its other side is the bare loop
 * @property {boolean} [isShare]  its ratio is told in percent
 * @property {number} [samples]  of each process, after the first one, which is kept apart; none by default
 * @property {number} [otherSamples]  of the other side, if it needs another number
 * @property {{ what: string, open: OpenSide }} [least]  the least that any way must do. If it misses the goal too, the
 *   goal is out of reach on this machine
 * @property {string} [stage]
 * @property {number} [runs]
 * @property {Record<string, string>} [env]
 * @property {Record<string, () => void>} [needs]
 */

const OURS = 'millrace'
// The rows of 10 GB run for minutes.
const TIMEOUT_MS = 10 * 60_000

// Each call uses its package, because a package may be installed without its compiled part.
const needs = {
  nodeRsCrc32: { '@node-rs/crc32': () => loadPeer('@node-rs/crc32').crc32(Buffer.from('any')) },
  betterSqlite3: { 'better-sqlite3': () => new (loadPeer('better-sqlite3'))(':memory:').close() },
  lmdb: { lmdb: () => loadPeer('lmdb').open },
  classicLevel: { 'classic-level': () => loadPeer('classic-level').ClassicLevel },
  secondCore: { 'a second core': () => require('node:assert')(os.availableParallelism() > 1) }
}

/**
 * @param {string} name
 * @param {string} what  at most 42 characters: what is compared with what
 * @param {More} options
 * @param {Row['prepare']} prepare
 * @param {Record<string, OpenSide>} sides  ours, `millrace`, and at most one other
 * @returns {Row}
 */
function toRow (name, what, options, prepare, sides) {
  const { unit = 'ms', within, times, most, least, drawn, isShare, samples = 0, otherSamples = samples, ...more } = options
  const other = Object.keys(sides).find((side) => side !== OURS) ?? ''
  /** @type {import('../../engine/row').Goal} */
  const goal = {
    ...within !== undefined && { within: [{ factor: within, of: other }] },
    ...times !== undefined && { times: [{ factor: times, of: other }] },
    ...most !== undefined && { most },
    ...least && { bound: 'least' }
  }
  const peers = Object.entries(sides).map(([side, open]) => {
    return [side, { open, samples: side === OURS ? samples : otherSamples }]
  })
  return {
    name,
    what,
    peers: { ...Object.fromEntries(peers), ...least && { least: { ...least, samples } } },
    figures: [
      { figure: unit, unit, goal, drawn, isShare },
      ...samples > 0 ? [{ figure: 'first', what: 'the first sample', unit }] : []
    ],
    prepare,
    measure: measureSide,
    timeoutMs: TIMEOUT_MS,
    ...more
  }
}

/** @param {import('../../engine/row').Order & { side: Side }} order @returns {Promise<Reading>} */
async function measureSide ({ row, side, setting, folder, samples }) {
  const runner = await side.open({ ...setting, folder })
  const { value, first } = await takeSamples(side.samples > 0 ? samples ?? side.samples : 0, () => runner.sample())
  return {
    figures: { [row.figures[0].figure]: value, first: side.samples > 0 ? first : undefined },
    answers: { '': await runner.finish?.() ?? {} }
  }
}

/** For rows that read the log of the bench. @type {(...input: import('./logs').Wanted) => Row['prepare']} */
function reads (...input) {
  return (context) => findAnswers(context, ...input)
}

/**
 * The same without an answer, for rows whose sides read the log in different ways.
 * @type {(log: 'json', framing: import('./logs').FramingName) => Row['prepare']}
 */
function readsPath (log, framing) {
  return async (context) => ({ path: await findLog(context, { log, framing }) })
}

exports.needs = needs
exports.toRow = toRow
exports.measureSide = measureSide
exports.reads = reads
exports.readsPath = readsPath
