'use strict'
// Turns figures into verdicts, a Markdown table for each seed, data/logging.csv and a chart. All of them can be made
// from the CSV file again.

const { describeSetting, drawBars, drawChart } = require('../lib/charts')
const { formatCount, median } = require('../lib/report')

/** @typedef {import('./outlets').Peer} Peer */
/** @typedef {import('./tables/shared').Line} Line */
/** @typedef {import('./tables/shared').Row} Row */
/** @typedef {import('./tables/shared').Table} Table */
/** @typedef {import('../lib/report').Facts} Facts */

/**
 * @typedef {object} Measured  one figure of a peer at a row
 * @property {string} row
 * @property {string} figure
 * @property {string} peer
 * @property {number[]} values  of the runs; none if the peer is absent
 * @property {string} [absent]
 */

/** @typedef {'met' | 'close' | 'missed' | 'out of reach' | 'absent'} Verdict */

const OURS = 'millrace'
const LIMIT = 'bare'
// On a shared machine, figures vary by this much.
const TOLERANCE = 0.1
/** How the chart groups the peers. @type {Array<{ kind: Peer['kind'], label: string }>} */
const KINDS = [
  { kind: 'millrace', label: 'Millrace' },
  { kind: 'logger', label: 'loggers of Node.js' },
  { kind: 'python', label: 'Python' },
  { kind: 'limit', label: 'a bare write' },
  { kind: 'database', label: 'SQLite' }
]

/** @type {(cells: import('./run').Cell[]) => Measured[]} */
function toMeasured (cells) {
  return cells.flatMap(({ row, peer, runs, absent }) => row.lines.flatMap(({ figure }) => {
    const values = runs.map((run) => run[figure]).filter((value) => value !== undefined)
    return [{ row: row.name, figure, peer: peer.name, values, ...(absent !== undefined && { absent }) }]
  }))
}

class Results {
  #byKey

  /** @param {Measured[]} measured */
  constructor (measured) {
    this.measured = measured
    this.#byKey = new Map(measured.map((one) => [`${one.row} ${one.figure} ${one.peer}`, one]))
  }

  /** @type {(row: string, figure: string, peer: string) => number[]} of the runs */
  valuesOf (row, figure, peer) {
    return this.#byKey.get(`${row} ${figure} ${peer}`)?.values ?? []
  }

  /** @type {(row: string, figure: string, peer: string) => number | undefined} */
  of (row, figure, peer) {
    const values = this.valuesOf(row, figure, peer)
    return values.length > 0 ? median(values) : undefined
  }

  /** One for each part of the goal. @type {(row: Row, line: Line) => Array<{ text: string, verdict: Verdict }>} */
  judge (row, { figure, unit, goal = {}, by = OURS }) {
    const ours = this.of(row.name, figure, by)
    if (ours === undefined) return []
    const limit = this.of(row.name, figure, LIMIT)
    /** @type {Array<{ text: string, verdict: Verdict }>} */
    const judged = []
    const add = (/** @type {string} */ text, /** @type {number} */ share, /** @type {number | undefined} */ most) => {
      judged.push({ text, verdict: decide(share, most) })
    }
    const { least, most, times = [] } = goal
    if (least !== undefined) add(`>= ${format(least, unit)}`, ours / least, limit && limit / least)
    if (most !== undefined) add(`<= ${format(most, unit)}`, ours <= most ? 1 : most / ours, undefined)
    for (const { factor, of, in: other = row.name } of times) {
      const peer = this.of(other, figure, of)
      const text = `${Number(factor.toPrecision(2))}x ${other === row.name ? of : other}`
      if (peer === undefined) judged.push({ text, verdict: 'absent' })
      else add(`${text}: ${(ours / peer).toFixed(2)}x`, ours / peer / factor, limit && limit / peer / factor)
    }
    return judged
  }
}

/** @type {(share: number, limit?: number) => Verdict} `share` of the goal; `limit`: that of the least work there is */
function decide (share, limit) {
  if (share >= 1) return 'met'
  if (limit !== undefined && limit < 1) return 'out of reach'
  return share >= 1 - TOLERANCE ? 'close' : 'missed'
}

/** @type {(value: number, unit: Line['unit']) => string} */
function format (value, unit) {
  if (unit === 'rate' || unit === 'count') return formatCount(Math.round(Number(value.toPrecision(3))))
  if (unit === 'bytes') return `${(value / 2 ** 20).toFixed(1)} MiB`
  if (unit === 'share') return `${(100 * value).toFixed(1)}%`
  return `${Number(value.toPrecision(3))} ${unit}`
}

/** How far the figures reach. @type {(table: Table, results: Results) => string[]} */
function formatSizing ({ sizing, title }, results) {
  const ours = sizing && results.of(sizing.row, 'rate', OURS)
  if (sizing === undefined || ours === undefined) return []
  const sqlite = results.of(sizing.row, 'rate', 'sqlite')
  const times = (/** @type {number | undefined} */ rate, /** @type {number} */ needed) => {
    return rate === undefined ? '-' : `${formatCount(Math.round(Number((rate / needed).toPrecision(2))))}x`
  }
  const lines = sizing.loads.map(([what, perSecond, seed]) => {
    return [what, formatCount(perSecond), seed, times(ours, perSecond), times(sqlite, perSecond)]
  })
  const heads = [`\`${sizing.row}\` holds so many times`, 'records a second', title, 'Millrace', 'better-sqlite3']
  return ['', ...[heads, ['---', '--:', '--:', '--:', '--:'], ...lines].map((line) => `| ${line.join(' | ')} |`)]
}

/** In Markdown. @type {(table: Table, peers: Peer[], results: Results) => string} */
function formatTable (table, peers, results) {
  const { rows, seed, title } = table
  const shown = peers.filter(({ name }) => rows.some((row) => {
    return row.lines.some(({ figure }) => results.of(row.name, figure, name) !== undefined)
  }))
  const heads = [title, 'lost by SIGKILL at most', `${title}, another machine`, ...shown.map(({ label }) => label), 'goals']
  const lines = rows.flatMap((row) => row.lines.map((line) => {
    const figures = shown.map(({ name }) => {
      const value = results.of(row.name, line.figure, name)
      if (value === undefined) return row.peers[name] ? '-' : ''
      return name.startsWith(OURS) ? `**${format(value, line.unit)}**` : format(value, line.unit)
    })
    const goals = results.judge(row, line).map(({ text, verdict }) => `${text}, ${verdict}`).join('; ')
    const isFirst = line === row.lines[0]
    return [`${isFirst ? `\`${row.name}\`: ` : ''}${line.what}`, isFirst ? row.lost : '', line.seed ?? '', ...figures, goals]
  })).filter((cells) => cells.slice(3, -1).some((text) => text !== '' && text !== '-'))
  const rule = heads.map((_, index) => index > 2 && index < heads.length - 1 ? '--:' : '---')
  return [
    ...[heads, rule, ...lines].map((line) => `| ${line.join(' | ')} |`),
    '',
    `Figures are per second unless a unit is given. The third column is what ${title} measured itself (${seed}).`,
    ...formatSizing(table, results)
  ].join('\n')
}

/** @type {(results: Results, rows: Row[], peers: Peer[]) => string[]} */
function listAbsent ({ measured }, rows, peers) {
  const labels = new Map(peers.map(({ name, label }) => [name, label]))
  /** @type {Map<string, Set<string>>} */
  const reasons = new Map()
  for (const { row, peer, absent } of measured) {
    if (absent === undefined || !rows.some(({ name }) => name === row)) continue
    const text = `${labels.get(peer)}: ${absent}`
    reasons.set(text, (reasons.get(text) ?? new Set()).add(row))
  }
  return [...reasons].map(([text, rows]) => `Absent: ${text} (${[...rows].join(', ')})`)
}

/** Every run. @type {(results: Results, tables: Table[], facts: Facts) => import('../lib/report').Sheet} */
function toSheet ({ measured }, tables, facts) {
  const rows = tables.flatMap(({ rows }) => rows)
  return {
    facts,
    notes: rows.filter(({ name }) => measured.some(({ row }) => row === name))
      .map(({ name, lost, lines: [{ what }] }) => `row ${name}: ${what}; SIGKILL takes at most: ${lost}`),
    columns: 'row,figure,peer,run,value',
    rows: measured.flatMap(({ row, figure, peer, values }) => {
      if (values.length === 0) return [[row, figure, peer, 'absent', '']]
      return values.map((value, index) => [row, figure, peer, index + 1, value.toPrecision(6)])
    })
  }
}

/** @type {(lines: Array<Record<string, string>>) => Measured[]} from what `readCsv` returns */
function fromSheet (lines) {
  /** @type {Map<string, Measured>} */
  const measured = new Map()
  for (const { row, figure, peer, value } of lines) {
    const key = `${row} ${figure} ${peer}`
    const one = measured.get(key) ?? { row, figure, peer, values: [] }
    measured.set(key, one)
    if (value !== '') one.values.push(Number(value))
  }
  return [...measured.values()]
}

/** SVG; undefined if no row of the chart was measured. */
/** @type {(results: Results, tables: Table[], peers: Peer[], facts: Facts) => Promise<string | undefined>} */
async function drawLogging (results, tables, peers, facts) {
  const drawn = tables.flatMap(({ rows }) => rows.flatMap((row) => row.lines.flatMap((line) => {
    return line.drawn && results.of(row.name, line.figure, line.by ?? OURS) !== undefined ? [{ row, line }] : []
  })))
  if (drawn.length === 0) return undefined
  const shown = peers.filter(({ name }) => drawn.some(({ row, line }) => {
    return results.of(row.name, line.figure, name) !== undefined
  }))
  const kinds = KINDS.filter(({ kind }) => shown.some((peer) => peer.kind === kind))
  const groups = drawn.map(({ row, line: { figure, drawn } }) => ({
    title: drawn,
    rows: shown.map(({ name, kind, label }) => {
      const values = results.valuesOf(row.name, figure, name)
      if (values.length === 0) return { label, bars: [], note: row.peers[name] ? 'absent' : '' }
      const value = median(values)
      const text = formatCount(Math.round(Number((value / 1000).toPrecision(3))))
      const look = kinds.findIndex((one) => one.kind === kind)
      return { label, bars: [{ look, value, min: Math.min(...values), max: Math.max(...values), text }] }
    })
  }))
  const counts = results.measured.flatMap(({ values }) => values.length > 0 ? [values.length] : [])
  return drawChart({
    title: 'Application logging: the same records into Millrace, a database, and other loggers',
    subtitle: 'Thousands of records a second: longer is better. Each panel has its own scale, from zero.',
    stacks: kinds.map(({ label }) => label),
    marks: 'bars',
    footer: [
      'A SIGKILL takes 4 KB from pino at most, 100 records or 1 MiB from Millrace, and all that waits from winston and fapilog.',
      'Thin lines go from the slowest run to the fastest.',
      describeSetting('Records of 150 to 256 bytes', facts, counts)
    ]
  }, (canvas) => drawBars(canvas, groups, { columns: 2, barHeight: 12, rowGap: 3, labelWidth: 120, valueWidth: 56 }))
}

exports.Results = Results
exports.toMeasured = toMeasured
exports.formatTable = formatTable
exports.listAbsent = listAbsent
exports.toSheet = toSheet
exports.fromSheet = fromSheet
exports.drawLogging = drawLogging
