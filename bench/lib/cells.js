'use strict'
// Measures every peer of every row, each in a process of its own, in rounds. A peer that is not there, or fails, is
// absent, and the others go on; Millrace must not fail.

const { spawnSync } = require('node:child_process')
const fs = require('node:fs')
const path = require('node:path')
const { ChildError, MeasureError, rotate, runTask, takeTurns } = require('./run')
const { withFolder } = require('./work-file')

const TIMEOUT_MS = 90_000

/** @typedef {import('./tables').Peer} Peer */
/** @typedef {import('./tables').Row} Row */

/**
 * @typedef {object} Cell  a peer at a row
 * @property {Row} row
 * @property {Peer} peer
 * @property {Array<Record<string, number>>} runs  the figures of each
 * @property {string} [absent]  why there are none
 */

/**
 * @param {{ rows: Row[], runs: number, budgetMs: number }} options
 * @param {Peer[]} peers
 * @param {string} folder
 * @param {string} works  the module whose `measure` does the work of a row
 * @param {string[]} [nodeArguments]  of the measuring processes
 * @returns {Promise<Cell[]>}
 */
async function runCells ({ rows, runs, budgetMs }, peers, folder, works, nodeArguments = []) {
  /** @type {Cell[]} */
  const cells = rows.flatMap((row) => {
    const absent = row.needs === undefined || isInstalled(row.needs) ? {} : { absent: `${row.needs} is not on the PATH` }
    return peers.filter(({ name }) => row.peers[name]).map((peer) => ({ row, peer, runs: [], ...absent }))
  })
  const turns = Array.from({ length: runs }, (_, run) => rows.flatMap((row, index) => {
    const own = run < (row.runs ?? Infinity) ? cells.filter((cell) => cell.row === row) : []
    return rotate(own, run + index).map((cell) => ({ run, cell }))
  })).flat()
  const describe = (/** @type {typeof turns[0]} */ { cell }) => `row ${cell.row.name}, ${cell.peer.name}`
  await takeTurns(`measuring ${rows.length} rows`, turns, describe, async ({ run, cell }) => {
    if (cell.absent !== undefined || (run > 0 && performance.now() > budgetMs)) return
    const { row, peer } = cell
    try {
      cell.runs.push(await withFolder(folder, 'cell', (own) => {
        const setting = { ...row.setting, folder: path.join(own, row.name), options: row.peers[peer.name] }
        fs.mkdirSync(setting.folder)
        const order = { module: works, task: 'measure', work: row.work, setting }
        return runTask(order, { peer }, { nodeArguments, timeoutMs: row.timeoutMs ?? TIMEOUT_MS })
      }))
    } catch (err) {
      if (!(err instanceof ChildError)) throw err
      if (peer.kind === 'millrace') throw new MeasureError(`${row.name}, ${peer.name}: ${err.message}`)
      // The paths are of this machine only.
      cell.absent = err.reason.replaceAll(`${folder}${path.sep}`, '')
    }
  })
  return cells
}

/** @param {string} program */
function isInstalled (program) {
  return spawnSync(program, ['version']).status === 0
}

exports.runCells = runCells
