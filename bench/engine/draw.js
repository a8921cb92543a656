'use strict'
// Charts of results: a panel of bars for each figure that is to be drawn, and a curve for each latency.

const { describeSetting, drawBars, drawChart } = require('../lib/charts')
const { median } = require('../lib/report')
const { OURS } = require('./judge')

/** @typedef {import('./results').Results} Results */

/**
 * @typedef {object} Drawing  a chart of the figures that have the unit and are `drawn`
 * @property {import('./row').Unit} unit
 * @property {string} title
 * @property {string} subtitle
 * @property {string[]} [footer]
 * @property {string} subject  what was measured, for the last line
 * @property {Array<{ kind: string, label: string }>} kinds  how the peers are grouped by colour
 * @property {(value: number) => string} format  what stands beside a bar
 * @property {Partial<import('../lib/charts').BarLayout>} [layout]  with `hasOwnRows: false` all panels have the same
 *   peers, whose labels stand once
 */

const LAYOUT = { columns: 2, hasOwnRows: true, barHeight: 12, rowGap: 3, labelWidth: 120, valueWidth: 56 }
const NOTE_LENGTH = 40

/**
 * @param {Results} results
 * @param {import('./row').Shown} shown
 * @param {Drawing} drawing
 * @returns {Promise<string | undefined>}  SVG; undefined if nothing of it was measured
 */
async function drawPanels (results, { rows, peers, facts }, drawing) {
  const { unit, subject, kinds, footer = [], format, ...words } = drawing
  const layout = { ...LAYOUT, ...drawing.layout }
  /** @type {(row: string, figure: string, peer: string) => number[]} */
  const find = (row, figure, peer) => results.values({ row, figure, peer })
  const drawn = rows.flatMap((row) => row.figures.flatMap(({ drawn: title, by = OURS, figure, unit: own }) => {
    if (title === undefined || own !== unit || find(row.name, figure, by).length === 0) return []
    return [{ row, figure, title, meaning: layout.hasOwnRows ? undefined : row.what }]
  }))
  if (drawn.length === 0) return undefined
  const shown = peers.filter(({ name }) => drawn.some(({ row, figure }) => find(row.name, figure, name).length > 0))
  const reasonOf = (/** @type {string} */ row, /** @type {string} */ peer) => {
    return results.absences.find((one) => one.row === row && one.peer === peer)?.reason.slice(0, NOTE_LENGTH) ?? 'absent'
  }
  const used = kinds.filter(({ kind }) => shown.some((peer) => peer.kind === kind))
  const counts = drawn.flatMap(({ row, figure }) => {
    return shown.flatMap(({ name }) => find(row.name, figure, name).length || [])
  })
  const groups = drawn.map(({ row, figure, title, meaning }) => ({
    title,
    meaning,
    rows: shown.filter(({ name }) => !layout.hasOwnRows || row.peers[name]).map(({ name, kind, label }) => {
      const values = find(row.name, figure, name)
      if (values.length === 0) return { label, bars: [], note: reasonOf(row.name, name) }
      const value = median(values)
      const look = used.findIndex((one) => one.kind === kind)
      const range = { min: Math.min(...values), max: Math.max(...values) }
      return { label, bars: [{ look, value, ...range, text: format(value) }] }
    })
  }))
  return drawChart({
    ...words,
    stacks: used.map(({ label }) => label),
    marks: 'bars',
    footer: [...footer, 'Thin lines go from the slowest run to the fastest.', describeSetting(subject, facts, counts)]
  }, (canvas) => drawBars(canvas, groups, layout))
}

exports.drawPanels = drawPanels
exports.drawTails = async () => undefined
