'use strict'
// From the runs of a case to its rate, and from the cases to the rows of the table.

const { formatCount } = require('../../lib/format')
const { median } = require('../../lib/statistics')

/** @typedef {import('./shapes').Cell} Cell */
/** @typedef {import('./shapes').Peer} Peer */

/**
 * @param {Cell | undefined} cell
 * @returns {number | undefined}  records a second, the median of the runs
 */
function rateOf (cell) {
  if (cell === undefined || cell.runs.length === 0) return undefined
  return median(cell.runs.map(({ records, ms }) => records / ms * 1000))
}

/**
 * Three digits say as much as such a figure knows.
 * @param {number} rate  a second
 * @returns {string}  in thousands
 */
function formatRate (rate) {
  const thousands = Number((rate / 1000).toPrecision(3))
  return thousands >= 100 ? formatCount(Math.round(thousands)) : String(thousands)
}

/** What peers are told to do, in the words of the table. @type {Record<string, string>} */
const WAYS = {
  where: 'where',
  seekKey: 'bipf.seekKey',
  json_extract: 'json_extract',
  parsed: 'JSON.parse',
  index: 'json_extract, indexed'
}

/** @typedef {{ peer: Peer, way: string, label: string, cells: Cell[] }} Row */

/**
 * A row for each peer, with its first way to query, and one for each other way.
 * @param {Cell[]} cells
 * @returns {Row[]}
 */
function listRows (cells) {
  const peers = [...new Set(cells.map(({ peer }) => peer))]
  return peers.flatMap((peer) => {
    const own = cells.filter((cell) => cell.peer === peer)
    const isMore = (/** @type {Cell} */ { way }) => way !== '' && way !== peer.ways[0]
    const rest = own.filter(isMore).map((cell) => {
      return { peer, way: cell.way, label: `${peer.label}, ${WAYS[cell.way] ?? cell.way}`, cells: [cell] }
    })
    return [{ peer, way: peer.ways[0], label: peer.label, cells: own.filter((cell) => !isMore(cell)) }, ...rest]
  })
}

/**
 * @param {Cell[]} cells
 * @returns {Array<{ peer: Peer, reason: string }>}  those that have no figure at all
 */
function listAbsent (cells) {
  const peers = [...new Set(cells.map(({ peer }) => peer))]
  return peers.flatMap((peer) => {
    const own = cells.filter((cell) => cell.peer === peer)
    const reason = own.every(({ runs }) => runs.length === 0) && own.find(({ absent }) => absent !== undefined)?.absent
    return reason ? [{ peer, reason }] : []
  })
}

exports.rateOf = rateOf
exports.formatRate = formatRate
exports.listRows = listRows
exports.listAbsent = listAbsent
exports.WAYS = WAYS
