'use strict'
// The charts and the report of the layers. Titles speak of what was measured in full, at one block size: that which
// Millrace uses unless it is told another.

const { describeRuns, describeSetting, drawBars, drawChart, drawLines } = require('../../lib/charts')
const { hedgeOf } = require('../../engine/draw')
const { formatTimes } = require('../../engine/grids')
const { readSource } = require('../../lib/logs')
const { formatCount, formatKib, formatMs, formatSize } = require('../../lib/report')

/** @typedef {import('../../engine/results').Results} Results */
/** @typedef {import('../../engine/row').Shown} Shown */
/** @typedef {import('../../engine/row').Row} Row */
/** @typedef {import('../../engine/row').Peer} Peer */

const DEFAULT_BLOCK_SIZE = 65536
const HOLLOW = 'scaled from the first 64 MiB'
const BAR_BLOCK_SIZES = [16384, 32768, 65536]

/** @param {number[]} blockSizes */
function chooseBlockSize (blockSizes) {
  return blockSizes.includes(DEFAULT_BLOCK_SIZE) ? DEFAULT_BLOCK_SIZE : blockSizes[blockSizes.length - 1]
}

/**
 * @type {(results: Results, row: Row, peer: Peer, at: number) => (import('../../lib/report').Summary & { isHollow:
 *   boolean, runs: number }) | undefined}
 */
function cellOf (results, row, peer, at) {
  const place = { row: row.name, peer: peer.name, at }
  const found = results.summary(place)
  return found && { ...found, isHollow: Boolean(results.of({ ...place, figure: 'scaled' })), runs: results.values(place).length }
}

/** Runs of every case that was read in full. @param {Results} results */
function countRuns ({ byPlace }) {
  return [...byPlace.values()].filter(([{ figures }]) => !figures.scaled).map(({ length }) => length)
}

/**
 * How ours compares with the last stack, in the panels that are shown, where both read all of the log and do the same
 * work: of the layer `log` that is the stream.
 * @type {(results: Results, shown: Shown) => { title: string, footer: string[] }}
 */
function compareStacks (results, { rows, peers, facts }) {
  const [first, last] = [peers[0], peers[peers.length - 1]]
  const at = chooseBlockSize(results.listAt())
  const ratios = rows.flatMap((row) => {
    const ours = peers.find(({ name }) => name === `${first.name}-stream` && row.peers[name]) ?? first
    const cell = cellOf(results, row, last, at)
    const ratio = results.ratio({ row: row.name, peer: last.name, at }, { peer: ours.name })
    return last === first || cell === undefined || cell.isHollow || ratio === undefined ? [] : [ratio.median]
  })
  if (last === first) return { title: `${first.label}: time to read a whole log`, footer: [] }
  if (ratios.length === 0) return { title: 'Time to read a whole log', footer: [] }
  const places = rows.flatMap((row) => [first, last].map((peer) => ({ row: row.name, peer: peer.name, at })))
  const doubt = hedgeOf(results, facts, places.filter((place) => !results.of({ ...place, figure: 'scaled' })))
  const [least, most] = [Math.min(...ratios), Math.max(...ratios)]
  const span = [...new Set([least, most].map((ratio) => formatTimes(ratio).replace('×', '')))].join(' to ')
  const [own, other] = nameStacks(first.label, last.label)
  // "Times as fast" below one would be a boast that is none.
  const words = least < 1
    ? `${other} ${doubt.verb('takes', 'take')} ${span} times as long as ${own} to read a log`
    : `${own} ${doubt.verb('reads', 'read')} a log ${span} times as fast as ${other}`
  return { title: doubt.title(`${words} (${formatKib(at)} blocks)`), footer: doubt.footer }
}

/** "Millrace, checked" is Millrace, unless it is compared with another file of Millrace. @param {string[]} labels */
function nameStacks (...labels) {
  const short = labels.map((label) => label.replace(/,.*/, ''))
  return short[0] === short[1] ? labels : short
}

/**
 * The words that all charts have.
 * @type {(results: Results, shown: Shown) => { title: string, stacks: string[], footer: string[] }}
 */
function wordsOf (results, shown) {
  const { records, json } = readSource(shown.facts.input)
  const setting = describeSetting(`${formatCount(records)} messages, ${formatSize(json)} of JSON`, shown.facts, countRuns(results))
  const { title, footer } = compareStacks(results, shown)
  return { title, stacks: shown.peers.map(({ label }) => label), footer: [...footer, setting] }
}

/**
 * Time against block size, one panel a layer.
 * @type {(results: Results, shown: Shown) => Promise<string | undefined>}
 */
async function drawLineGraph (results, shown) {
  const { rows, peers } = shown
  const blockSizes = results.listAt()
  const points = rows.map((row) => peers.map((peer) => blockSizes.flatMap((at) => {
    const cell = cellOf(results, row, peer, at)
    return cell ? [{ x: at, y: cell.median, isHollow: cell.isHollow }] : []
  })))
  const gap = peers.length === 1 ? '' : ` 2×: twice the time of ${peers[0].label}, at ${formatKib(chooseBlockSize(blockSizes))}.`
  return drawChart({
    ...wordsOf(results, shown),
    subtitle: `Time to read the whole log, by block size; lower is better, both axes logarithmic.${gap}`,
    marks: 'lines',
    hollow: points.flat(2).some(({ isHollow }) => isHollow) ? HOLLOW : undefined
  }, (canvas) => drawLines(canvas, rows.map((row, index) => ({
    name: row.name,
    meaning: row.what,
    series: points[index],
    labels: labelRatios(results, row, peers)
  })), {
    sizes: blockSizes,
    // Round sizes are enough when there are many; when there are few, each is named.
    named: blockSizes.filter((size) => blockSizes.length <= 8 || Number.isInteger(Math.log2(size))),
    formatSize: (size) => String(size / 1024),
    axis: 'block size, KiB',
    isKnown: true,
    unit: 'ms'
  }))
}

/**
 * How far the others are from the first, each at its mark.
 * @type {(results: Results, row: Row, peers: Peer[]) => import('../../lib/lines').Label[]}
 */
function labelRatios (results, row, peers) {
  const x = chooseBlockSize(results.listAt())
  return peers.flatMap(({ name }, look) => {
    const y = results.of({ row: row.name, peer: name, at: x })
    const ratio = results.ratio({ row: row.name, peer: name, at: x }, { peer: peers[0].name })
    return look === 0 || y === undefined || ratio === undefined ? [] : [{ x, y, look, text: formatTimes(ratio.median) }]
  })
}

/**
 * Some layers under each other at a few block sizes.
 * @type {(results: Results, shown: Shown, names: string[]) => Promise<string | undefined>}
 */
async function drawBarChart (results, shown, names) {
  const rows = shown.rows.filter(({ name }) => names.includes(name))
  const blockSizes = results.listAt().filter((at) => BAR_BLOCK_SIZES.includes(at))
  if (rows.length === 0 || blockSizes.length === 0) return undefined
  const { peers } = shown
  return drawChart({
    ...wordsOf(results, { ...shown, rows }),
    subtitle: 'Time to read the whole log, layer by layer. Thin lines go from the fastest run to the slowest. ' +
      `2×: twice the time of ${peers[0].label}.`,
    marks: 'bars'
  }, (canvas) => drawBars(canvas, rows.map((row) => ({
    title: row.name,
    meaning: row.what,
    rows: blockSizes.map((at) => ({
      label: formatKib(at),
      bars: peers.flatMap((peer, look) => {
        const cell = cellOf(results, row, peer, at)
        if (cell === undefined) return []
        const { median: value, min, max, isHollow } = cell
        const times = results.ratio({ row: row.name, peer: peer.name, at }, { peer: peers[0].name })
        const more = look === 0 || times === undefined ? undefined : { text: formatTimes(times.median), class: `fill-${look}` }
        return [{ look, value, min, max, isHollow, text: `${isHollow ? '~ ' : ''}${formatMs(value)} ms`, more }]
      })
    }))
  })), { barHeight: 12, rowGap: 5, formatTick: (tick) => `${formatCount(tick)} ms` }))
}

/**
 * What the page shows, in the words of the charts.
 * @type {(results: Results, shown: Shown) => import('../../page/page').Report}
 */
function describeReport (results, shown) {
  const { rows, peers, facts } = shown
  const blockSizes = results.listAt()
  const { records, ...bytes } = readSource(facts.input)
  return {
    title: compareStacks(results, shown).title,
    subtitle: `Time to read a whole log of ${formatCount(records)} messages, ${formatSize(bytes.json)} as JSON and ` +
      `${formatSize(bytes.binary)} in the binary format, from start to end, by block size: page cache warm, ${describeRuns(countRuns(results))}.`,
    blockSizes,
    blockSize: chooseBlockSize(blockSizes),
    stacks: peers.map((peer) => ({
      label: peer.label,
      cells: rows.map((row) => blockSizes.map((at) => {
        const cell = cellOf(results, row, peer, at)
        return cell ? { ...cell, scaled: cell.isHollow } : null
      }))
    })),
    layers: rows.map((row) => ({ name: row.name, meaning: row.what, bytes: bytes[/** @type {any} */ (row).log === 'binary' ? 'binary' : 'json'], records })),
    facts: Object.entries(facts).flatMap(([name, value]) => value === undefined ? [] : [([name, String(value)])])
  }
}

exports.chooseBlockSize = chooseBlockSize
exports.drawLineGraph = drawLineGraph
exports.drawBarChart = drawBarChart
exports.describeReport = describeReport
