'use strict'
// Turns runs into rates: the Markdown tables, data/peers.csv and the chart. Tables can be made from the CSV file again.

const { describeSetting, drawBars, drawChart } = require('../lib/charts')
const { describeFacts, formatCount, formatMarkdown, median } = require('../lib/report')
const { listCells } = require('./run')

/** @typedef {import('./run').Cell} Cell */
/** @typedef {import('../stores').Peer} Peer */
/** @typedef {import('../lib/report').Facts} Facts */
/** @typedef {{ peer: Peer, way: string, label: string, cells: Cell[] }} Row */

/** How the table names the ways to query. @type {Record<string, string>} */
const WAYS = {
  where: 'where',
  seekKey: 'bipf.seekKey',
  json_extract: 'json_extract',
  parsed: 'JSON.parse',
  index: 'json_extract, indexed'
}
/** For who wants to see whether it is worth reading on. */
const SHORT = {
  peers: ['checked', 'sqlite', 'lmdb', 'leveldb'],
  jobs: { append: 'append', 'durable-1': 'append, each synced', scan: 'read all', query: 'filter, no index', get: 'get by key' }
}
const KINDS = { millrace: 'Millrace', flume: 'other logs', database: 'databases' }

/** The records per second of each run. @type {(cell: Cell | undefined) => number[]} */
function ratesOf (cell) {
  return cell?.runs.flatMap(({ records, ms }) => ms > 0 ? records / ms * 1000 : []) ?? []
}

/**
 * More than three digits would only be noise.
 * @param {number} rate  per second
 * @returns {string}  in thousands
 */
function formatRate (rate) {
  const thousands = Number((rate / 1000).toPrecision(3))
  return thousands >= 100 ? formatCount(Math.round(thousands)) : String(thousands)
}

/**
 * One row for each peer, with its first way to query, and one for each other way.
 * @type {(cells: Cell[]) => Row[]}
 */
function listRows (cells) {
  return [...new Set(cells.map(({ peer }) => peer))].flatMap((peer) => {
    const own = cells.filter((cell) => cell.peer === peer)
    return peer.ways.map((way, index) => ({
      peer,
      way,
      label: index === 0 ? peer.label : `${peer.label}, ${WAYS[way] ?? way}`,
      cells: own.filter((cell) => cell.way === way || (index === 0 && cell.way === ''))
    }))
  }).filter(({ cells }) => cells.length > 0)
}

/** The peers without any figure. @type {(cells: Cell[]) => Array<{ peer: Peer, reason: string }>} */
function listAbsent (cells) {
  return [...new Set(cells.map(({ peer }) => peer))].flatMap((peer) => {
    const own = cells.filter((cell) => cell.peer === peer)
    const reason = own.find(({ absent }) => absent !== undefined)?.absent
    return reason !== undefined && own.every(({ runs }) => runs.length === 0) ? [{ peer, reason }] : []
  })
}

/** @param {Cell[]} cells */
function listColumns (cells) {
  return [...new Set(cells.map(({ column }) => column))]
}

/** @type {(cells: Cell[], facts: Facts) => string} */
function formatTable (cells, facts) {
  const columns = listColumns(cells)
  const absent = listAbsent(cells)
  const gone = absent.map(({ peer }) => peer)
  const hasWays = cells.some(({ job }) => job.mode === 'query')
  const rateOf = (/** @type {Cell | undefined} */ cell) => {
    const rates = ratesOf(cell)
    return rates.length > 0 ? median(rates) : undefined
  }
  const best = new Map(columns.map((column) => {
    return [column, Math.max(...cells.filter((cell) => cell.column === column).map((cell) => rateOf(cell) ?? 0))]
  }))
  const lines = listRows(cells).filter(({ peer }) => !gone.includes(peer)).map(({ label, way, cells }) => {
    const figures = columns.map((column) => {
      const cell = cells.find((cell) => cell.column === column)
      const rate = rateOf(cell)
      if (rate === undefined) return cell === undefined ? '' : '-'
      return rate === best.get(column) ? `**${formatRate(rate)}**` : formatRate(rate)
    })
    return [label, ...figures, ...(hasWays ? [`\`${WAYS[way] ?? way}\``] : [])]
  })
  /** @type {Map<string, Set<string>>} */
  const failures = new Map()
  for (const { peer, job, absent: reason } of cells) {
    if (reason === undefined || gone.includes(peer)) continue
    const by = `${peer.label}: ${reason}`
    failures.set(by, (failures.get(by) ?? new Set()).add(`\`${job.name}\``))
  }
  return [
    formatMarkdown(
      ['thousands of records a second', ...columns.map((name) => `\`${name}\``), ...(hasWays ? ['queried by'] : [])],
      lines,
      (column) => column === 0 || column > columns.length
    ),
    '',
    describeFacts(facts),
    ...absent.map(({ peer, reason }) => `\nAbsent: ${peer.label}: ${reason}`),
    ...[...failures].map(([by, names]) => `\nNo ${[...names].join(', ')} by ${by}`)
  ].join('\n')
}

/**
 * The stores that most people choose from, at the jobs that most programs have.
 * @param {Cell[]} cells
 */
function formatShortTable (cells) {
  const own = cells.filter(({ peer }) => SHORT.peers.includes(peer.name))
  const rows = listRows(own).filter(({ peer, way }) => way === peer.ways[0])
  const rateOf = (/** @type {Row} */ row, /** @type {string} */ column) => {
    const rates = ratesOf(row.cells.find((cell) => cell.column === column))
    return rates.length > 0 ? median(rates) : undefined
  }
  const columns = Object.keys(SHORT.jobs)
  const lines = rows.map((row) => [row.peer.kind === 'millrace' ? KINDS.millrace : row.peer.label, ...columns.map((column) => {
    const best = Math.max(...rows.map((one) => rateOf(one, column) ?? 0))
    const rate = rateOf(row, column)
    return rate === undefined ? '-' : rate === best ? `**${formatRate(rate)}**` : formatRate(rate)
  })])
  return formatMarkdown(['thousands of records a second', ...Object.values(SHORT.jobs)], lines)
}

/**
 * The inverse of toSheet: the cells of the peers and jobs that the sheet has.
 * @param {ReturnType<import('../lib/report').readCsv>} sheet
 * @param {Peer[]} peers
 * @param {import('./jobs').Job[]} jobs
 * @returns {Cell[]}
 */
function fromSheet ({ notes, rows }, peers, jobs) {
  const cells = peers.flatMap((peer) => jobs.flatMap((job) => listCells(peer, job)))
  for (const { job, peer, way, records, ms } of rows) {
    const cell = cells.find((one) => {
      return one.job.name === job && one.peer.name === peer && (one.job.cases ? one.column : one.way) === way
    })
    cell?.runs.push({ records: Number(records), ms: Number(ms), first: null, answer: {} })
  }
  for (const cell of cells) {
    const begin = `absent: ${cell.job.name} of ${cell.peer.name}: `
    const reason = notes.find((note) => note.startsWith(begin))?.slice(begin.length)
    cell.absent = cell.runs.length === 0 ? reason : undefined
  }
  return cells.filter(({ runs, absent }) => runs.length > 0 || absent !== undefined)
}

/** Every run of every case. @type {(cells: Cell[], facts: Facts) => import('../lib/report').Sheet} */
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
 * One panel for each job, one bar for each peer.
 * @param {Cell[]} cells
 * @param {Facts} facts
 * @returns {Promise<string | undefined>}  SVG; undefined if nothing was measured
 */
async function drawPeers (cells, facts) {
  const kinds = /** @type {Array<keyof typeof KINDS>} */ (Object.keys(KINDS))
    .filter((kind) => cells.some(({ peer, runs }) => peer.kind === kind && runs.length > 0))
  // The chart shows only a peer's first way to query.
  const rows = listRows(cells.filter(({ peer, way }) => way === '' || way === peer.ways[0]))
    .filter((row) => row.cells.some(({ runs }) => runs.length > 0))
  if (rows.length === 0) return undefined
  const groups = listColumns(cells).map((column) => ({
    title: column,
    meaning: cells.find((cell) => cell.column === column)?.job.meaning,
    rows: rows.map(({ label, peer, cells }) => {
      const cell = cells.find((cell) => cell.column === column)
      const rates = ratesOf(cell)
      if (rates.length === 0) return { label, bars: [], note: cell?.absent?.slice(0, 40) ?? 'absent' }
      const value = median(rates)
      const range = { min: Math.min(...rates), max: Math.max(...rates) }
      return { label, bars: [{ look: kinds.indexOf(peer.kind), value, ...range, text: formatRate(value) }] }
    })
  }))
  return drawChart({
    title: 'One log of messages, kept and read by Millrace, by other logs, and by databases',
    subtitle: 'Thousands of records a second: longer is better. Each panel has its own scale, from zero.',
    stacks: kinds.map((kind) => KINDS[kind]),
    marks: 'bars',
    footer: [
      'Queries as each is used: where, bipf.seekKey, json_extract without an index in SQLite, JSON.parse in LMDB and LevelDB.',
      'Thin lines go from the slowest run to the fastest.',
      describeSetting(String(facts.input), facts, cells.flatMap(({ runs }) => runs.length > 0 ? [runs.length] : []))
    ]
  }, (canvas) => drawBars(canvas, groups, { columns: 2, barHeight: 12, rowGap: 3, labelWidth: 168, valueWidth: 56 }))
}

exports.ratesOf = ratesOf
exports.formatRate = formatRate
exports.listRows = listRows
exports.listAbsent = listAbsent
exports.formatTable = formatTable
exports.formatShortTable = formatShortTable
exports.fromSheet = fromSheet
exports.toSheet = toSheet
exports.drawPeers = drawPeers
