'use strict'
// From the runs to rates: the table, in Markdown as it stands in the README, the CSV file, and the chart.

const { drawBars } = require('../lib/charts/bars')
const { createCanvas, describeSetting } = require('../lib/charts/canvas')
const { formatCount, median } = require('../lib/report')

/** @typedef {import('./run-cases').Cell} Cell */
/** @typedef {import('../stores').Peer} Peer */
/** @typedef {import('../lib/report').Facts} Facts */
/** @typedef {{ peer: Peer, way: string, label: string, cells: Cell[] }} Row */

/** What peers are told to do, in the words of the table. @type {Record<string, string>} */
const WAYS = {
  where: 'where',
  seekKey: 'bipf.seekKey',
  json_extract: 'json_extract',
  parsed: 'JSON.parse',
  index: 'json_extract, indexed'
}
const KINDS = { millrace: 'Millrace', flume: 'other logs', database: 'databases' }

/** @param {Cell | undefined} cell */
function ratesOf (cell) {
  return cell?.runs.flatMap(({ records, ms }) => ms > 0 ? records / ms * 1000 : []) ?? []
}

/**
 * @param {Cell | undefined} cell
 * @returns {number | undefined}  records a second, the median of the runs
 */
function rateOf (cell) {
  const rates = ratesOf(cell)
  return rates.length > 0 ? median(rates) : undefined
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

/**
 * A row for each peer, with its first way to query, and one for each other way.
 * @param {Cell[]} cells
 * @returns {Row[]}
 */
function listRows (cells) {
  return [...new Set(cells.map(({ peer }) => peer))].flatMap((peer) => {
    const own = cells.filter((cell) => cell.peer === peer)
    const isMore = (/** @type {Cell} */ { way }) => way !== '' && way !== peer.ways[0]
    const rest = own.filter(isMore).map((cell) => {
      return { peer, way: cell.way, label: `${peer.label}, ${WAYS[cell.way] ?? cell.way}`, cells: [cell] }
    })
    return [{ peer, way: peer.ways[0], label: peer.label, cells: own.filter((cell) => !isMore(cell)) }, ...rest]
  }).filter(({ cells }) => cells.length > 0)
}

/**
 * @param {Cell[]} cells
 * @returns {Array<{ peer: Peer, reason: string }>}  those that have no figure at all
 */
function listAbsent (cells) {
  return [...new Set(cells.map(({ peer }) => peer))].flatMap((peer) => {
    const own = cells.filter((cell) => cell.peer === peer)
    const reason = own.every(({ runs }) => runs.length === 0) && own.find(({ absent }) => absent !== undefined)?.absent
    return reason ? [{ peer, reason }] : []
  })
}

/** @param {Cell[]} cells */
function listColumns (cells) {
  return [...new Set(cells.map(({ column }) => column))]
}

/**
 * @param {Cell[]} cells
 * @param {Facts} facts
 * @returns {string}
 */
function formatTable (cells, facts) {
  const columns = listColumns(cells)
  const absent = listAbsent(cells)
  const rows = listRows(cells).filter(({ peer }) => !absent.some((one) => one.peer === peer))
  const hasWays = cells.some(({ job }) => job.mode === 'query')
  const best = columns.map((column) => {
    return Math.max(...cells.filter((cell) => cell.column === column).map((cell) => rateOf(cell) ?? 0))
  })
  const heads = ['thousands of records a second', ...columns.map((name) => `\`${name}\``), ...(hasWays ? ['queried by'] : [])]
  const lines = rows.map(({ label, way, cells }) => {
    const figures = columns.map((column, index) => {
      const cell = cells.find((cell) => cell.column === column)
      const rate = rateOf(cell)
      if (rate === undefined) return cell === undefined ? '' : '-'
      return rate === best[index] ? `**${formatRate(rate)}**` : formatRate(rate)
    })
    return [label, ...figures, ...(hasWays ? [`\`${WAYS[way] ?? way}\``] : [])]
  })
  const rule = heads.map((_, column) => column === 0 || (hasWays && column === heads.length - 1) ? '---' : '--:')
  return [
    ...[heads, rule, ...lines].map((line) => `| ${line.join(' | ')} |`),
    '',
    `\`${facts.command}\` on ${facts.machine}, Node ${facts.node}; ${facts.packages}. ${facts.input}.`,
    ...absent.map(({ peer, reason }) => `\nAbsent: ${peer.label}: ${reason}`),
    ...listFailures(cells, absent.map(({ peer }) => peer))
  ].join('\n')
}

/**
 * Of peers that have other figures.
 * @param {Cell[]} cells
 * @param {Peer[]} gone
 */
function listFailures (cells, gone) {
  /** @type {Map<string, Set<string>>} */
  const jobs = new Map()
  for (const { peer, job, absent } of cells) {
    if (absent === undefined || gone.includes(peer)) continue
    const reason = `${peer.label}: ${absent}`
    jobs.set(reason, (jobs.get(reason) ?? new Set()).add(`\`${job.name}\``))
  }
  return [...jobs].map(([reason, names]) => `\nNo ${[...names].join(', ')} by ${reason}`)
}

/**
 * data/peers.csv: every run of every case.
 * @param {Cell[]} cells
 * @param {Facts} facts
 * @returns {import('../lib/report').Sheet}
 */
function toSheet (cells, facts) {
  const jobs = [...new Set(cells.map(({ job }) => job))]
  return {
    facts,
    notes: [
      ...jobs.map(({ name, meaning }) => `job ${name}: ${meaning}`),
      'ms: of all the records of the line; where a process took several samples the median, and first_ms the first of them',
      'records: a query looks through all of them; durable appends go on for a time',
      ...cells.flatMap(({ peer, job, runs, absent }) => runs.length > 0 ? [] : `absent: ${job.name} of ${peer.name}: ${absent}`)
    ],
    columns: 'job,peer,way,run,records,ms,records_per_second,first_ms',
    rows: jobs.flatMap((job) => cells.filter((cell) => cell.job === job).flatMap(({ peer, way, column, runs }) => {
      return runs.map(({ records, ms, first }, index) => {
        const rate = ms > 0 ? Math.round(records / ms * 1000) : 0
        return [job.name, peer.name, job.cases ? column : way, index + 1, records, ms.toFixed(3), rate, first?.toFixed(3) ?? '']
      })
    }))
  }
}

/**
 * images/peers: a panel a job, a bar a peer.
 * @param {Cell[]} cells
 * @param {Facts} facts
 * @returns {Promise<string | undefined>}  SVG; undefined where nothing was measured
 */
async function drawPeers (cells, facts) {
  const kinds = /** @type {Array<keyof typeof KINDS>} */ (Object.keys(KINDS))
    .filter((kind) => cells.some(({ peer, runs }) => peer.kind === kind && runs.length > 0))
  // A peer's first way to query stands for it.
  const rows = listRows(cells.filter(({ peer, way }) => way === '' || way === peer.ways[0]))
    .filter((row) => row.cells.some(({ runs }) => runs.length > 0))
  if (rows.length === 0) return undefined
  const canvas = await createCanvas({
    title: 'One log of messages, kept and read by Millrace, by other logs, and by databases',
    subtitle: 'Thousands of records a second: longer is better. Each panel has its own scale, from zero.',
    stacks: kinds.map((kind) => KINDS[kind]),
    marks: 'bars'
  })
  const groups = listColumns(cells).map((column) => ({
    title: column,
    meaning: cells.find((cell) => cell.column === column)?.job.meaning,
    rows: rows.map(({ label, peer, cells }) => {
      const cell = cells.find((cell) => cell.column === column)
      const [rate, rates] = [rateOf(cell), ratesOf(cell)]
      if (rate === undefined) return { label, bars: [], note: cell?.absent?.split('\n')[0].slice(0, 40) ?? 'absent' }
      const [min, max] = [Math.min(...rates), Math.max(...rates)]
      return { label, bars: [{ look: kinds.indexOf(peer.kind), value: rate, min, max, text: formatRate(rate) }] }
    })
  }))
  const bottom = drawBars(canvas, groups, { columns: 2, barHeight: 12, rowGap: 3, labelWidth: 168, valueWidth: 56 })
  return canvas.finish([
    'Queries as each is used: where, bipf.seekKey, json_extract without an index in SQLite, JSON.parse in LMDB and LevelDB.',
    'Thin lines go from the slowest run to the fastest.',
    describeSetting(String(facts.input), facts, cells.flatMap(({ runs }) => runs.length > 0 ? [runs.length] : []))
  ], bottom + 60)
}

exports.formatRate = formatRate
exports.listRows = listRows
exports.listAbsent = listAbsent
exports.formatTable = formatTable
exports.toSheet = toSheet
exports.drawPeers = drawPeers
