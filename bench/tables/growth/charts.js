'use strict'
// A panel for each thing that must not grow, by the size of the log. What differs by less than its runs do is no
// finding, so the runs are drawn, and the chart says what is larger in every run of the largest log.

const { hedgeOf } = require('../../engine/draw')
const { OURS } = require('../../engine/judge')
const { drawChart } = require('../../lib/card')
const { describeSetting } = require('../../lib/charts')
const { drawLines } = require('../../lib/lines')
const { formatSize } = require('../../lib/report')

/** @typedef {import('../../engine/results').Results} Results */
/** @typedef {import('./rows').GrowthRow} GrowthRow */
/** @typedef {import('../../lib/charts').Hedge} Hedge */
/** @typedef {{ x: number, y: number, min: number, max: number }} Point */
/** @typedef {{ name: string, series: Array<{ points: Point[] }> }} GrowthPanel */

/** By the names of panels: `share` is what a figure is multiplied with, and `perGB` whether it is of the whole log. */
const PANELS = {
  scan: { meaning: 'seconds for each GB', share: 1e-3, perGB: true },
  open: { meaning: 'ms', share: 1, perGB: false },
  memory: { meaning: 'MB at most, over bare Node.js', share: 1e-6, perGB: false }
}

/** SVG; undefined if no row was measured. @type {import('../../engine/row').Table['charts'][string]} */
async function drawGrowth (results, { rows: shown, facts }) {
  const rows = /** @type {GrowthRow[]} */ (shown).filter(({ name, panel }) => panel && results.has(name, OURS))
  if (rows.length === 0) return undefined
  const framings = [...new Set(rows.map(({ framing }) => framing))]
  const sizes = [...new Set(rows.map((row) => sizeOf(results, row)))].sort((a, b) => a - b)
  const panels = Object.entries(PANELS).flatMap(([name, { meaning, ...look }]) => {
    const own = rows.filter(({ panel }) => panel === name)
    /** @type {(framing: string, peer: string) => Point[]} */
    const seriesOf = (framing, peer) => {
      return own.filter((row) => row.framing === framing).flatMap((row) => pointOf(results, row, peer, look))
    }
    // One line of the bare loop stands for the files of both framings.
    const series = [...framings.map((framing) => seriesOf(framing, OURS)), seriesOf(framings[0], 'loop')].map((points) => ({ points }))
    return own.length > 0 ? [{ name, meaning, series }] : []
  })
  // The title speaks of these.
  const places = rows.filter(({ panel }) => panel !== 'scan').map(({ name }) => ({ row: name, peer: OURS }))
  const doubt = hedgeOf(results, facts, places)
  return drawChart({
    title: doubt.title(describeGrowth(panels, sizes, doubt)),
    subtitle: 'By the size of the file, which is logarithmic; lower is better. Thin lines: from the least run to the greatest.',
    stacks: [...framings.map((framing) => `Millrace, ${framing}`), 'bare loop'],
    marks: 'lines',
    footer: [
      ...doubt.footer,
      ...describeEnds(panels, [...framings, 'the bare loop']),
      'The bare loop reads the file, and opens no log. A file of some MB fits the caches of the processor, which are faster.',
      describeSetting('Messages of some 690 bytes', facts, rows.map(({ name }) => results.values({ row: name, peer: OURS }).length))
    ]
  }, (canvas) => drawLines(canvas, panels, { sizes, scale: 'linear', formatSize: formatRound, axis: 'size of the log' }))
}

/** @type {(results: Results, row: GrowthRow) => number} in bytes */
function sizeOf (results, { name }) {
  return Number(results.of({ row: name, figure: 'size', peer: OURS }))
}

/** @type {(results: Results, row: GrowthRow, peer: string, look: { share: number, perGB: boolean }) => Point[]} */
function pointOf (results, row, peer, { share, perGB }) {
  const found = results.summary({ row: row.name, peer })
  if (found === undefined) return []
  const size = sizeOf(results, row)
  const [y, min, max] = [found.median, found.min, found.max].map((value) => value * share / (perGB ? size / 1e9 : 1))
  return [{ x: size, y, min, max }]
}

/**
 * Whether what is shown differs between the smallest log and the largest by more than its runs do.
 * @type {(panels: GrowthPanel[], names: string[]) => string[]}
 */
function describeEnds (panels, names) {
  const ends = panels.flatMap(({ name, series }) => series.flatMap(({ points }, index) => {
    const [first, last] = [points[0], points[points.length - 1]]
    return points.length < 2 ? [] : [{ name: `${name} of ${names[index]}`, first, last }]
  }))
  if (ends.length === 0) return []
  const flat = ends.filter(({ first, last }) => first.min <= last.max && last.min <= first.max)
  const others = ends.filter((one) => !flat.includes(one))
  const [least, most] = [ends[0].first.x, ends[0].last.x].map(formatRound)
  const listOf = (/** @type {string[]} */ texts) => texts.join(', ') || 'none'
  return [
    `The runs of ${least} and of ${most} overlap, so no growth is seen: ${listOf(flat.map(({ name }) => name))}.`,
    `They do not, and ${most} takes so many times as much: ` +
      `${listOf(others.map(({ name, first, last }) => `${name} ${(last.y / first.y).toFixed(1)}×`))}.`
  ]
}

/**
 * In the figures that the panels show.
 * @type {(panels: GrowthPanel[], sizes: number[], doubt: Hedge) => string}
 */
function describeGrowth (panels, sizes, { verb }) {
  const spanOf = (/** @type {string} */ name, /** @type {number} */ digits) => {
    const own = panels.filter((panel) => panel.name === name).flatMap(({ series }) => series)
    const values = own.flatMap(({ points }) => points.map(({ y }) => y))
    const [least, most] = [Math.min(...values), Math.max(...values)].map((value) => value.toFixed(digits))
    return values.length === 0 ? undefined : least === most ? least : `${least} to ${most}`
  }
  const [time, memory] = [spanOf('open', 1), spanOf('memory', 0)]
  const [least, most] = [sizes[0], sizes[sizes.length - 1]].map(formatRound)
  return [
    `A log of ${least === most ? least : `${least} to ${most}`}${time ? ` ${verb('opens', 'open')} in ${time} ms` : ''}`,
    ...memory ? [`a scan takes ${memory} MB`] : []
  ].join('; ')
}

/** @param {number} size  in bytes */
function formatRound (size) {
  return formatSize(Number(size.toPrecision(2)))
}

exports.drawGrowth = drawGrowth
