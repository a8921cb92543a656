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
 */

/**
 * SVG; undefined if nothing of it was measured.
 * @type {(results: Results, shown: import('./row').Shown, drawing: Drawing) => Promise<string | undefined>}
 */
async function drawPanels (results, { rows, peers, facts }, { unit, subject, kinds, footer = [], format, ...words }) {
  const drawn = rows.flatMap((row) => row.figures.flatMap((figure) => {
    const { drawn, by = OURS } = figure
    const found = results.of({ row: row.name, figure: figure.figure, peer: by })
    const isShown = drawn && figure.unit === unit && found !== undefined
    return isShown ? [{ row, figure: figure.figure, title: drawn }] : []
  }))
  if (drawn.length === 0) return undefined
  const shown = peers.filter(({ name }) => drawn.some(({ row, figure }) => {
    return results.of({ row: row.name, figure, peer: name }) !== undefined
  }))
  const used = kinds.filter(({ kind }) => shown.some((peer) => peer.kind === kind))
  const groups = drawn.map(({ row, figure, title }) => ({
    title,
    rows: shown.filter(({ name }) => row.peers[name] !== undefined).map(({ name, kind, label }) => {
      const values = results.values({ row: row.name, figure, peer: name })
      if (values.length === 0) return { label, bars: [], note: 'absent' }
      const value = median(values)
      const look = used.findIndex((one) => one.kind === kind)
      return { label, bars: [{ look, value, min: Math.min(...values), max: Math.max(...values), text: format(value) }] }
    })
  }))
  return drawChart({
    ...words,
    stacks: used.map(({ label }) => label),
    marks: 'bars',
    footer: [...footer, 'Thin lines go from the slowest run to the fastest.', describeSetting(subject, facts, results.counts())]
  }, (canvas) => drawBars(canvas, groups, {
    columns: 2, hasOwnRows: true, barHeight: 12, rowGap: 3, labelWidth: 120, valueWidth: 56
  }))
}

exports.drawPanels = drawPanels
exports.drawTails = async () => undefined
