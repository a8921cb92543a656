'use strict'
// images/peers: a panel a job, a bar a peer; bars from zero, so that length is speed.

const { createCanvas, write, MARGIN, WIDTH } = require('../../lib/charts/canvas')
const { saveChart } = require('../../lib/charts/draw-charts')
const { formatRate, listRows, rateOf } = require('./figures')

/** @typedef {import('./shapes').Cell} Cell */
/** @typedef {import('./shapes').Job} Job */
/** @typedef {import('./figures').Row} Row */

const KINDS = { millrace: 'Millrace', flume: 'other logs', database: 'databases' }
const COLUMNS = 2
const LABEL_WIDTH = 168
const VALUE_WIDTH = 56
const GAP = 20
const TITLE_HEIGHT = 24
const BAR_HEIGHT = 15
const ROW_GAP = 22

/**
 * @param {string} folder
 * @param {Cell[]} cells
 * @param {{ cpu: string, cores: number, node: string, input: string }} facts
 * @returns {Promise<string[]>}  the files written; none, where nothing was measured
 */
async function drawPeers (folder, cells, facts) {
  const kinds = /** @type {Array<keyof typeof KINDS>} */ (Object.keys(KINDS))
    .filter((kind) => cells.some(({ peer, runs }) => peer.kind === kind && runs.length > 0))
  // A peer's first way to query stands for it.
  const rows = listRows(cells.filter(({ peer, way }) => way === '' || way === peer.ways[0]))
    .filter((row) => row.cells.some(({ runs }) => runs.length > 0))
  if (rows.length === 0) return []
  const jobs = [...new Set(cells.map(({ job }) => job))]
  const canvas = await createCanvas({
    title: 'One log of messages, kept and read by Millrace, by other logs, and by databases',
    subtitle: 'Thousands of records a second: longer is better. Each panel has its own scale, from zero.',
    stacks: kinds.map((kind) => KINDS[kind]),
    marks: 'bars'
  })
  const panelWidth = (WIDTH - 2 * MARGIN - LABEL_WIDTH - GAP * (COLUMNS - 1)) / COLUMNS
  const panelHeight = TITLE_HEIGHT + rows.length * BAR_HEIGHT + ROW_GAP
  for (const [index, job] of jobs.entries()) {
    const [column, line] = [index % COLUMNS, Math.floor(index / COLUMNS)]
    const x = MARGIN + LABEL_WIDTH + column * (panelWidth + GAP)
    const y = canvas.top + 14 + line * panelHeight
    const panel = canvas.svg.append('g').attr('class', 'panel').attr('transform', `translate(${x},${y})`)
    drawTitle(panel, job)
    if (column === 0) drawLabels(panel, rows)
    drawBars(canvas.d3, panel, { rows, job, kinds, width: panelWidth - VALUE_WIDTH })
  }
  const height = canvas.top + 14 + Math.ceil(jobs.length / COLUMNS) * panelHeight + 46
  return saveChart(folder, 'peers', canvas.finish(describe(cells, facts), height))
}

/**
 * @param {any} panel
 * @param {Job} job
 */
function drawTitle (panel, job) {
  const title = write(panel, job.name, { x: 0, y: 8, size: 13, bold: true })
  title.append('tspan').attr('class', 'muted').attr('font-weight', 'normal').attr('font-size', 11).attr('dx', 8).text(job.meaning)
}

/**
 * @param {any} panel
 * @param {Row[]} rows
 */
function drawLabels (panel, rows) {
  for (const [index, { label }] of rows.entries()) {
    write(panel, label, { x: -8, y: middleOf(index) + 4, size: 11, anchor: 'end' })
  }
}

/** @param {number} index  of a row */
function middleOf (index) {
  return TITLE_HEIGHT - 6 + (index + 0.5) * BAR_HEIGHT
}

/**
 * @param {any} d3
 * @param {any} panel
 * @param {{ rows: Row[], job: Job, kinds: string[], width: number }} content
 */
function drawBars (d3, panel, { rows, job, kinds, width }) {
  const rates = rows.map(({ cells }) => cells.find((cell) => cell.job === job))
  const scale = d3.scaleLinear().domain([0, Math.max(1, ...rates.flatMap(ratesOf))]).range([0, width])
  panel.append('line').attr('class', 'axis').attr('x1', 0).attr('x2', 0)
    .attr('y1', TITLE_HEIGHT - 7).attr('y2', TITLE_HEIGHT - 5 + rows.length * BAR_HEIGHT)
  for (const [index, cell] of rates.entries()) {
    const rate = rateOf(cell)
    const y = middleOf(index)
    if (rate === undefined) {
      write(panel, cell?.absent?.split('\n')[0].slice(0, 40) ?? 'absent', { x: 6, y: y + 4, size: 10, muted: true })
      continue
    }
    const all = ratesOf(cell)
    const [least, most] = [Math.min(...all), Math.max(...all)].map(scale)
    panel.append('rect').attr('class', `fill-${kinds.indexOf(rows[index].peer.kind)}`).attr('x', 0).attr('y', y - 5.5)
      .attr('height', 11).attr('width', Math.max(1, scale(rate)))
    if (most - least >= 2) {
      panel.append('line').attr('class', 'whisker').attr('x1', least).attr('x2', most).attr('y1', y).attr('y2', y)
    }
    write(panel, formatRate(rate), { x: most + 5, y: y + 4, size: 10.5 })
  }
}

/** @param {Cell | undefined} cell */
function ratesOf (cell) {
  return cell?.runs.map(({ records, ms }) => records / ms * 1000) ?? []
}

/**
 * @param {Cell[]} cells
 * @param {{ cpu: string, cores: number, node: string, input: string }} facts
 */
function describe (cells, { cpu, cores, node, input }) {
  const counts = cells.flatMap(({ runs }) => runs.length > 0 ? [runs.length] : [])
  const [least, most] = [Math.min(...counts), Math.max(...counts)]
  const runs = most === 1 ? 'one run' : `median of ${least === most ? most : `${least} to ${most}`} runs, thin lines from the slowest to the fastest`
  return [
    'Queries as each is used: where, bipf.seekKey, json_extract without an index in SQLite, JSON.parse in LMDB and LevelDB.',
    `${input}.`,
    `Page cache warm, ${runs}. ${cpu}, ${cores} cores, Node ${node}`
  ]
}

exports.drawPeers = drawPeers
