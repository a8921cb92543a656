'use strict'
// The table of the peers, in Markdown, as it stands in the README.

const { formatRate, listAbsent, listRows, rateOf, WAYS } = require('./figures')

/** @typedef {import('./shapes').Cell} Cell */
/** @typedef {import('./shapes').Job} Job */

/**
 * @param {Cell[]} cells
 * @param {{ machine: string, node: string, packages: string, command: string, input: string }} facts
 * @returns {string}
 */
function formatTable (cells, facts) {
  const jobs = [...new Set(cells.map(({ job }) => job))]
  const absent = listAbsent(cells)
  const rows = listRows(cells).filter(({ peer, cells }) => {
    // Only queries have other ways; where there is nothing to say, the row says nothing.
    return !absent.some((one) => one.peer === peer) && cells.length > 0
  })
  const hasWays = jobs.some(({ mode }) => mode === 'query')
  const best = new Map(jobs.map((job) => [job, Math.max(...cells.filter((cell) => cell.job === job).map(rateOrZero))]))
  const heads = ['thousands of records a second', ...jobs.map(({ name }) => `\`${name}\``), ...(hasWays ? ['queried by'] : [])]
  const lines = rows.map(({ label, way, cells }) => {
    const figures = jobs.map((job) => formatCell(cells.find((cell) => cell.job === job), best.get(job)))
    return [label, ...figures, ...(hasWays ? [`\`${WAYS[way] ?? way}\``] : [])]
  })
  const rule = heads.map((_, column) => column === 0 || (hasWays && column === heads.length - 1) ? '---' : '--:')
  return [
    ...[heads, rule, ...lines].map((line) => `| ${line.join(' | ')} |`),
    '',
    `\`${facts.command}\` on ${facts.machine}, Node ${facts.node}; ${facts.packages}. ${facts.input}.`,
    ...absent.map(({ peer, reason }) => `\nAbsent: ${peer.label}: ${reason}`),
    ...listFailures(cells)
  ].join('\n')
}

/**
 * @param {Cell | undefined} cell
 * @param {number} [best]
 */
function formatCell (cell, best) {
  const rate = rateOf(cell)
  if (rate === undefined) return cell === undefined ? '' : '-'
  return rate === best ? `**${formatRate(rate)}**` : formatRate(rate)
}

/** @param {Cell} cell */
function rateOrZero (cell) {
  return rateOf(cell) ?? 0
}

/**
 * Of peers that have other figures.
 * @param {Cell[]} cells
 */
function listFailures (cells) {
  const gone = listAbsent(cells).map(({ peer }) => peer)
  const failed = cells.filter(({ peer, absent }) => absent !== undefined && !gone.includes(peer))
  const reasons = new Set(failed.map(({ peer, absent }) => `${peer.label}: ${absent}`))
  return [...reasons].map((reason) => {
    const jobs = failed.filter(({ peer, absent }) => `${peer.label}: ${absent}` === reason).map(({ job }) => `\`${job.name}\``)
    return `\nNo ${[...new Set(jobs)].join(', ')} by ${reason}`
  })
}

exports.formatTable = formatTable
