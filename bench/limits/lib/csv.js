'use strict'
// data/limits.csv: a line for each round of each row, and one for its medians.

const fs = require('node:fs')
const path = require('node:path')
const { judge } = require('./judge')

const COLUMNS = 'row,run,unit,ours,peer,ratio,goal,met,ours_first,peer_first'

/** @typedef {import('./shapes').Result} Result */

/**
 * @param {Result[]} results
 * @param {{ command: string, machine: string, node: string, packages: string, input: string }} facts
 * @returns {string}
 */
function formatCsv (results, facts) {
  const header = [
    `command: ${facts.command}`,
    `machine: ${facts.machine}`,
    `node: ${facts.node}`,
    `packages: ${facts.packages}`,
    `input: ${facts.input}`,
    'ours and peer: the median of a process, warm; ours_first and peer_first: the first sample of that process',
    'run: which round, or "median" of all; the ratio there is the median of the ratios; met: yes, no or absent',
    'ratio: ours by the peer; goal: the most that it may be, so that 0.125 means 8 times as fast',
    ...results.map(({ row }) => `row ${row.name}: ${row.what}`)
  ]
  return [...header.map((line) => `# ${line}`), COLUMNS, ...results.flatMap(formatResult)].join('\n') + '\n'
}

/**
 * @param {Result} result
 * @returns {string[]}
 */
function formatResult (result) {
  const { row: { name, unit, ...row }, rounds } = result
  const goal = Number(row.goal.toPrecision(4))
  const verdict = judge(result)
  if (verdict === undefined) return [[name, 'median', unit, '', '', '', goal, 'absent', '', ''].join(',')]
  const lines = rounds.map(({ ours, peer }, index) => {
    const ratio = ours.value / peer.value
    return [name, index + 1, unit, format(ours.value), format(peer.value), format(ratio), goal, '',
      format(ours.first), format(peer.first)].join(',')
  })
  const { ours, peer, ratio, isMet } = verdict
  const middle = [name, 'median', unit, format(ours), format(peer), format(ratio.median), goal, isMet ? 'yes' : 'no', '', '']
  return [...lines, middle.join(',')]
}

/** @param {number} value */
function format (value) {
  return Number.isInteger(value) ? String(value) : value.toFixed(4)
}

/**
 * @param {string} folder
 * @param {Result[]} results
 * @param {Parameters<typeof formatCsv>[1]} facts
 * @returns {string}  the file written
 */
function writeCsv (folder, results, facts) {
  const file = path.join(folder, 'limits.csv')
  fs.writeFileSync(file, formatCsv(results, facts))
  return file
}

exports.formatCsv = formatCsv
exports.writeCsv = writeCsv
