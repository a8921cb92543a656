'use strict'
// Charts of results: a panel of bars for each figure that is to be drawn, and a curve for each latency.

const { describeSetting, drawBars, drawChart, drawCurve, drawLines, hedge, toPercentiles } = require('../lib/charts')
const { median } = require('../lib/report')
const { formatTimes } = require('./grids')
const { OURS } = require('./judge')
const { readLoad } = require('./load')

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
 * @property {Partial<import('../lib/bars').BarLayout>} [layout]  with `hasOwnRows: false` all panels have the same
 *   peers, whose labels stand once
 * @property {Section[]} [sections]  panels of the same promise under one heading, in this order
 * @property {(row: import('./row').Row, peer: string) => string | undefined} [promiseOf]  what an answer means, behind
 *   the bar
 *
 * @typedef {object} Section
 * @property {string} heading
 * @property {string} promise
 * @property {string[]} rows
 */

const LAYOUT = { columns: 2, hasOwnRows: true, barHeight: 12, rowGap: 3 }
const NOTE_LENGTH = 40

/**
 * @param {Results} results
 * @param {import('./row').Shown} shown
 * @param {Drawing} drawing
 * @returns {Promise<string | undefined>}  SVG; undefined if nothing of it was measured
 */
async function drawPanels (results, { rows, peers, facts }, { unit, subject, kinds, footer = [], format, ...drawing }) {
  const { sections = [], promiseOf = () => undefined, layout: more, title, ...words } = drawing
  const layout = { ...LAYOUT, ...more }
  /** @type {(row: string, figure: string, peer: string) => number[]} */
  const find = (row, figure, peer) => results.values({ row, figure, peer })
  const sectionOf = (/** @type {{ name: string }} */ { name }) => sections.findIndex(({ rows }) => rows.includes(name))
  const drawn = rows.flatMap((row) => row.figures.flatMap(({ drawn: title, by = OURS, figure, unit: own }) => {
    if (title === undefined || own !== unit || find(row.name, figure, by).length === 0) return []
    return [{ row, figure, title, meaning: layout.hasOwnRows ? undefined : row.what }]
  })).sort((a, b) => sectionOf(a.row) - sectionOf(b.row))
  if (drawn.length === 0) return undefined
  const shown = peers.filter(({ name }) => drawn.some(({ row, figure }) => find(row.name, figure, name).length > 0))
  const reasonOf = (/** @type {string} */ row, /** @type {string} */ peer) => {
    return results.absences.find((one) => one.row === row && one.peer === peer)?.reason.slice(0, NOTE_LENGTH) ?? 'absent'
  }
  const used = kinds.filter(({ kind }) => shown.some((peer) => peer.kind === kind))
  const counts = drawn.flatMap(({ row, figure }) => {
    return shown.flatMap(({ name }) => find(row.name, figure, name).length || [])
  })
  const groups = drawn.map(({ row, figure, title, meaning }, index) => ({
    title,
    meaning,
    ...index === 0 || sectionOf(row) !== sectionOf(drawn[index - 1].row) ? sections[sectionOf(row)] : {},
    rows: shown.filter(({ name }) => !layout.hasOwnRows || row.peers[name]).map(({ name, kind, label }) => {
      const values = find(row.name, figure, name)
      if (values.length === 0) return { label, bars: [], note: reasonOf(row.name, name) }
      const value = median(values)
      const look = used.findIndex((one) => one.kind === kind)
      const range = { min: Math.min(...values), max: Math.max(...values) }
      const promise = promiseOf(row, name)
      const more = promise === undefined ? undefined : { text: promise, class: 'muted' }
      return { label, bars: [{ look, value, ...range, text: format(value), more }] }
    })
  }))
  const doubt = hedgeOf(results, facts, drawn.flatMap(({ row, figure }) => {
    return shown.map(({ name }) => ({ row: row.name, figure, peer: name }))
  }))
  return drawChart({
    ...words,
    title: doubt.title(title),
    stacks: used.map(({ label }) => label),
    marks: 'bars',
    footer: [...doubt.footer, ...footer, 'Thin lines go from the slowest run to the fastest.', describeSetting(subject, facts, counts)]
  }, (canvas) => drawBars(canvas, groups, layout))
}

/**
 * What the runs of these places, and the load of the machine, do to a title.
 * @param {Results} results
 * @param {import('../lib/report').Facts} facts
 * @param {import('./results').Place[]} places
 */
function hedgeOf (results, facts, places) {
  const found = places.flatMap((place) => {
    const summary = results.summary(place)
    return summary ? [{ spread: summary.spread, count: results.values(place).length }] : []
  })
  const [runs, spread] = [found.map(({ count }) => count), found.map(({ spread }) => spread)]
  return hedge({ runs, spread, load: readLoad(facts.load) })
}

/**
 * A curve for each peer of each row that has kept a histogram, in us.
 * @type {(results: Results, shown: import('./row').Shown, words: { title: string, subtitle: string, subject: string
 *   }) => Promise<string | undefined>}
 */
async function drawTails (results, { rows, peers, facts }, { title, subtitle, subject }) {
  const panels = rows.map((row) => ({
    name: row.name,
    meaning: row.what,
    curves: peers.flatMap(({ name, label }, look) => {
      // The curve is in ms.
      const points = toPercentiles(results.tail(row.name, name)).map(({ p, value }) => ({ p, value: value / 1000 }))
      return points.length > 0 ? [{ label, look, points }] : []
    })
  })).filter(({ curves }) => curves.length > 0)
  if (panels.length === 0) return undefined
  const doubt = hedgeOf(results, facts, [])
  return drawChart({
    title: doubt.title(title),
    subtitle,
    stacks: peers.map(({ label }) => label),
    marks: 'lines',
    footer: [...doubt.footer, describeSetting(subject, facts, results.counts())]
  }, (canvas) => drawCurve(canvas, panels))
}

/**
 * A panel for each row, and in it a line for each peer, by what the row varies. The title compares ours with a peer.
 * @param {Results} results
 * @param {import('./row').Shown} shown
 * @param {{ title: string, subtitle: string, subject: string, cache: string, unit: string, axis: string, formatSize:
 *   (size: number) => string, compared: Compared, footer?: string[] }} words  `title` is for results that compare
 *   nothing
 * @returns {Promise<string | undefined>}
 *
 * @typedef {object} Compared
 * @property {string[]} rows
 * @property {string} peer
 * @property {number} at
 * @property {[verb: string, plain: string]} verbs  what ours does
 * @property {string} place  what `at` is, for the title
 */
async function drawSizes (results, { rows, peers, facts }, words) {
  const { title, subtitle, subject, cache, compared, footer = [], ...axis } = words
  const sizes = results.listAt()
  if (sizes.length === 0) return undefined
  const { at, place, verbs: [verb, plain] } = compared
  const pairs = compared.rows.map((row) => [OURS, compared.peer].map((peer) => ({ row, peer, at })))
  const ratios = pairs.flatMap(([ours, other]) => results.ratio(other, ours)?.median ?? [])
  const all = [...results.byPlace.values()].map(([{ row, peer, at }]) => ({ row, peer, at }))
  const doubt = hedgeOf(results, facts, ratios.length > 0 ? pairs.flat() : all)
  const [least, most] = [Math.min(...ratios), Math.max(...ratios)]
  const span = [...new Set([least, most].map((ratio) => formatTimes(ratio).replace('×', '')))].join(' to ')
  const label = peers.find(({ name }) => name === compared.peer)?.label
  // "Times as fast" below one would be a boast that is none.
  const finding = least < 1
    ? `${label} ${doubt.verb('takes', 'take')} ${span} times as long as Millrace to ${plain} (${place})`
    : `Millrace ${doubt.verb(verb, plain)} ${span} times as fast as ${label} (${place})`
  return drawChart({
    title: doubt.title(ratios.length > 0 ? finding : title),
    subtitle,
    stacks: peers.map(({ label }) => label),
    marks: 'lines',
    footer: [...doubt.footer, ...footer, describeSetting(subject, facts, results.counts(), cache)]
  }, (canvas) => drawLines(canvas, rows.map((row) => ({
    name: row.name,
    meaning: row.what,
    series: peers.map((peer) => sizes.flatMap((at) => {
      const found = results.summary({ row: row.name, peer: peer.name, at })
      return found ? [{ x: at, y: found.median, min: found.min, max: found.max }] : []
    }))
  })), { sizes, named: sizes, ...axis }))
}

exports.drawPanels = drawPanels
exports.drawTails = drawTails
exports.drawSizes = drawSizes
exports.hedgeOf = hedgeOf
