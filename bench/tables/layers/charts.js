'use strict'
// The charts and the report of the layers. Titles speak of what was measured in full, at one block size: that which
// Millrace uses unless it is told another.

const { describeRuns } = require('../../lib/charts')
const { compareSpeeds, countRuns, drawPanels, drawSizes, isScaled } = require('../../engine/draw')
const { formatTimes } = require('../../engine/grids')
const { readSource } = require('../../lib/logs')
const { formatCount, formatKib, formatMs, formatSize } = require('../../lib/report')

/** @typedef {import('../../engine/results').Results} Results */
/** @typedef {import('../../engine/row').Shown} Shown */

const DEFAULT_BLOCK_SIZE = 65536
const BAR_BLOCK_SIZES = [16384, 32768, 65536]

/** @param {number[]} blockSizes */
function chooseBlockSize (blockSizes) {
  return blockSizes.includes(DEFAULT_BLOCK_SIZE) ? DEFAULT_BLOCK_SIZE : blockSizes[blockSizes.length - 1]
}

/**
 * How ours compares with the last stack, in the panels that are shown, where both read all of the log and do the same
 * work: of the layer `log` that is the stream.
 * @type {(results: Results, shown: Shown) => { title: string, compared: import('../../engine/draw').Compared }}
 */
function chooseCompared (results, { rows, peers }) {
  const [first, last] = [peers[0], peers[peers.length - 1]]
  const at = chooseBlockSize(results.listAt())
  /** @type {import('../../engine/draw').Compared['pairs']} */
  const pairs = (last === first ? [] : rows).flatMap((row) => {
    const ours = peers.find(({ name }) => name === `${first.name}-stream` && row.peers[name]) ?? first
    const [own, other] = [ours, last].map(({ name }) => ({ row: row.name, peer: name, at }))
    return isScaled(results, other) ? [] : [[own, other]]
  })
  // "Millrace, checked" is Millrace, unless it is compared with another file of Millrace.
  const labels = [first.label, last.label]
  const short = labels.map((label) => label.replace(/,.*/, ''))
  const names = short[0] === short[1] ? labels : short
  return {
    title: last === first ? `${first.label}: time to read a whole log` : 'Time to read a whole log',
    compared: { pairs, names, verbs: ['reads a log', 'read a log'], place: `${formatKib(at)} blocks` }
  }
}

/** @param {Shown} shown */
function describeInput ({ facts }) {
  const { records, json } = readSource(facts.input)
  return `${formatCount(records)} messages, ${formatSize(json)} of JSON`
}

/**
 * Time against block size, one panel a layer.
 * @type {(results: Results, shown: Shown) => Promise<string | undefined>}
 */
function drawLineGraph (results, shown) {
  const blockSizes = results.listAt()
  const at = chooseBlockSize(blockSizes)
  const gap = shown.peers.length === 1 ? '' : ` 2×: twice the time of ${shown.peers[0].label}, at ${formatKib(at)}.`
  return drawSizes(results, shown, {
    ...chooseCompared(results, shown),
    subtitle: `Time to read the whole log, by block size; lower is better, both axes logarithmic.${gap}`,
    subject: describeInput(shown),
    hollow: 'scaled from the first 64 MiB',
    ratiosAt: at,
    // Round sizes are enough when there are many; when there are few, each is named.
    named: blockSizes.filter((size) => blockSizes.length <= 8 || Number.isInteger(Math.log2(size))),
    formatSize: (size) => String(size / 1024),
    axis: 'block size, KiB',
    isKnown: true,
    unit: 'ms'
  })
}

/**
 * Some layers under each other at a few block sizes.
 * @type {(results: Results, shown: Shown, names: string[]) => Promise<string | undefined>}
 */
async function drawBarChart (results, shown, names) {
  const { peers, facts } = shown
  const rows = shown.rows.filter(({ name }) => names.includes(name))
  const blockSizes = results.listAt().filter((at) => BAR_BLOCK_SIZES.includes(at))
  if (rows.length === 0 || blockSizes.length === 0) return undefined
  const { title, compared } = chooseCompared(results, { ...shown, rows })
  return drawPanels(results, facts, {
    title,
    headline: compareSpeeds(results, facts, compared, title),
    subtitle: `Time to read the whole log, layer by layer; shorter is better. 2×: twice the time of ${peers[0].label}.`,
    subject: describeInput(shown),
    stacks: peers.map(({ label }) => label),
    format: (ms) => `${formatMs(ms)} ms`,
    formatTick: (tick) => `${formatCount(tick)} ms`,
    panels: rows.map(({ name: row, what }) => ({
      title: row,
      meaning: what,
      entries: blockSizes.map((at) => ({
        label: formatKib(at),
        places: peers.map(({ name: peer }, look) => {
          const times = look === 0 ? undefined : results.ratio({ row, peer, at }, { peer: peers[0].name })
          return { row, peer, at, look, more: times && { text: formatTimes(times.median), class: `fill-${look}` } }
        })
      }))
    }))
  })
}

/**
 * What the page shows, in the words of the charts.
 * @type {(results: Results, shown: Shown) => import('../../page/page').Report}
 */
function describeReport (results, shown) {
  const { rows, peers, facts } = shown
  const blockSizes = results.listAt()
  const { records, ...bytes } = readSource(facts.input)
  const { title, compared } = chooseCompared(results, shown)
  return {
    title: compareSpeeds(results, facts, compared, title).title,
    subtitle: `Time to read a whole log of ${formatCount(records)} messages, ${formatSize(bytes.json)} as JSON and ` +
      `${formatSize(bytes.binary)} in the binary format, from start to end, by block size: page cache warm, ${describeRuns(countRuns(results))}.`,
    blockSizes,
    blockSize: chooseBlockSize(blockSizes),
    stacks: peers.map((peer) => ({
      label: peer.label,
      cells: rows.map((row) => blockSizes.map((at) => {
        const place = { row: row.name, peer: peer.name, at }
        const found = results.summary(place)
        return found ? { ...found, scaled: isScaled(results, place), runs: results.values(place) } : null
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
