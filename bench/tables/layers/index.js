'use strict'
// `npm run bench`: times every layer across block sizes, stack beside stack.

const { toInteger, toNames, toPath } = require('../../engine/options')
const { gridOfSizes, textsOfSizes, toMarkdown } = require('../../engine/grids')
const { DEFAULT_RECORDS } = require('../../lib/logs')
const { formatKib, formatMs } = require('../../lib/report')
const { UserError, loadParts } = require('../../lib/run')
const { chooseBlockSize, describeReport, drawBarChart, drawLineGraph } = require('./charts')

const KIB = 1024
const FULL_BLOCKS = Array.from({ length: 127 }, (_, index) => (index + 1) * KIB)
const DEFAULT_BLOCKS = '1,2,4,8,16,32,64,128'

/** @type {import('./rows').LayerRow[]} */
const rows = loadParts(require.resolve('./rows'))
/** @type {import('./stacks').Stack[]} */
const peers = loadParts(require.resolve('./stacks'))

/** @type {(text: string | undefined, option: string) => number[]} */
function toBlockSizes (text = DEFAULT_BLOCKS, option) {
  const sizes = toNames(option, text).map((name) => toInteger(name, option, 1, 16384) * KIB)
  return [...new Set(sizes)].sort((a, b) => a - b)
}

/**
 * @type {(results: import('../../engine/results').Results) => (row: { name: string }, peer: { name: string }, at?:
 *   number) => string}
 */
const formatTime = (results) => (row, peer, at) => {
  const place = { row: row.name, peer: peer.name, at }
  const found = results.summary(place)
  if (found === undefined) return '-'
  if (results.of({ ...place, figure: 'scaled' })) return `~ ${formatMs(found.median)}`
  const [middle, min, max] = [found.median, found.min, found.max].map(formatMs)
  return found.min === found.max ? middle : `${middle} (${min}-${max})`
}

/** @type {import('../../engine/row').Table} */
exports.table = {
  name: 'layers',
  about: 'Times every layer across block sizes, for each stack, and writes data/layers.csv, images/report.html and charts.',
  groups: [{ name: 'layers', title: 'Layers', rows }],
  peers,
  runs: 3,
  // A default run must end within five minutes, also where a machine is slow or shared: see the README.
  budgetMs: 215_000,
  takes: { minutes: 4, bytes: 1.4e9 },
  records: DEFAULT_RECORDS,
  aliases: { layers: 'rows', stacks: 'peers' },
  options: {
    blocks: { takes: 'LIST', about: 'block sizes in KiB', standard: DEFAULT_BLOCKS, read: toBlockSizes },
    full: { about: 'every block size from 1 to 127 KiB', standard: 'takes about an hour' },
    file: { takes: 'PATH', about: 'a flumelog-offset log (32-bit offsets, JSON) to read instead', read: toPath }
  },
  refine ({ given, full, blocks, budgetMs, rows }) {
    for (const [a, b] of [['full', 'blocks'], ['records', 'file']]) {
      if (given[a] !== undefined && given[b] !== undefined) throw new UserError(`--${a} and --${b} exclude each other`)
    }
    const blockSizes = full ? FULL_BLOCKS : blocks
    for (const row of rows) Object.assign(row, { at: blockSizes })
    return { blockSizes, budgetMs: full ? Infinity : budgetMs }
  },
  format (results, { rows, peers }) {
    const texts = textsOfSizes(results, { rows, peers }, 'block', formatKib, formatTime(results))
    const isScaled = results.runs.some(({ figures }) => figures.scaled)
    return [
      `ms for the whole log, median (min-max)${peers.length > 1 ? `; ratio: to ${peers[0].label}` : ''}`, ...texts,
      ...isScaled ? ['~ read the first 64 MiB only, once, and scaled to the whole log'] : []
    ]
  },
  tables: {
    '': (results, shown) => {
      const at = chooseBlockSize(results.listAt())
      return toMarkdown(gridOfSizes(results, shown, {
        head: `ms, ${formatKib(at)}|`, lead: ({ name, what }) => [`\`${name}\``, what], sizes: [at], format: formatTime(results)
      }))
    }
  },
  charts: {
    linegraph: drawLineGraph,
    barchart: (results, shown) => drawBarChart(results, shown, ['file', 'blocks', 'log', 'json']),
    barchart2: (results, shown) => drawBarChart(results, shown, ['file', 'blocks', 'log', 'json', 'stream', 'binary'])
  },
  report: describeReport
}
