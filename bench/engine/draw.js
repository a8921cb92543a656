'use strict'
// Charts of results: panels of bars, lines by size, and a curve for each latency. A title says "seems" where the runs
// leave a doubt.

const { drawBars } = require('../lib/bars')
const { drawChart } = require('../lib/card')
const { describeSetting, hedge } = require('../lib/charts')
const { drawCurve, drawLines, toPercentiles } = require('../lib/lines')
const { formatTimes } = require('./grids')
const { OURS } = require('./judge')
const { readLoad } = require('./load')

/** @typedef {import('./results').Results} Results */
/** @typedef {import('./results').Place} Place */
/** @typedef {import('./row').Shown} Shown */
/** @typedef {import('../lib/report').Facts} Facts */

/**
 * @typedef {object} Words
 * @property {string} title
 * @property {string} subtitle
 * @property {string[]} [footer]
 * @property {string} subject  what was measured, for the last line
 * @property {string} [cache]
 */

/**
 * @typedef {object} Panel  a bar for each place of each entry
 * @property {string} title
 * @property {string} [meaning]
 * @property {string} [heading]  of this panel and those after it
 * @property {string} [promise]
 * @property {Entry[]} entries
 *
 * @typedef {{ label: string, places: Array<Place & { look: number, more?: { text: string, class: string } }> }} Entry
 */

const NOTE_LENGTH = 40

/**
 * What the runs of these places, and the load of the machine, do to a title.
 * @type {(results: Results, facts: Facts, places: Place[]) => import('../lib/charts').Hedge}
 */
function hedgeOf (results, facts, places) {
  const found = places.flatMap((place) => {
    const summary = isScaled(results, place) ? undefined : results.summary(place)
    return summary ? [{ spread: summary.spread, count: results.values(place).length }] : []
  })
  const [runs, spread] = [found.map(({ count }) => count), found.map(({ spread }) => spread)]
  return hedge({ runs, spread, load: readLoad(facts.load) })
}

/** Whether only a part was read, once, and the time was scaled. @type {(results: Results, place: Place) => boolean} */
function isScaled (results, place) {
  return Boolean(results.of({ ...place, figure: 'scaled' }))
}

/** How often each case ran that was read in full. @param {Results} results */
function countRuns ({ byPlace }) {
  return [...byPlace.values()].filter(([{ figures }]) => !figures.scaled).map(({ length }) => length)
}

/**
 * @typedef {object} Compared
 * @property {Array<[ours: Place, other: Place]>} pairs
 * @property {string[]} names  of the two
 * @property {[verb: string, plain: string]} verbs  what they do
 * @property {string} place  where they are compared
 */

/**
 * A title that compares the times of two, and what leaves a doubt.
 * @param {Results} results
 * @param {Facts} facts
 * @param {Compared} compared
 * @param {string} title  for results that compare nothing
 */
function compareSpeeds (results, facts, { pairs, names: [own, other], verbs: [verb, plain], place }, title) {
  const ratios = pairs.flatMap(([ours, theirs]) => results.ratio(theirs, ours)?.median ?? [])
  const all = [...results.byPlace.values()].map(([{ row, peer, at }]) => ({ row, peer, at }))
  const doubt = hedgeOf(results, facts, ratios.length > 0 ? pairs.flat() : all)
  const [least, most] = [Math.min(...ratios), Math.max(...ratios)]
  const span = [...new Set([least, most].map((ratio) => formatTimes(ratio).replace('×', '')))].join(' to ')
  // "Times as fast" below one would be a boast that is none.
  const finding = least < 1
    ? `${other} ${doubt.verb('takes', 'take')} ${span} times as long as ${own} to ${plain} (${place})`
    : `${own} ${doubt.verb(verb, plain)} ${span} times as fast as ${other} (${place})`
  return { title: doubt.title(ratios.length > 0 ? finding : title), footer: doubt.footer }
}

/**
 * @param {Results} results
 * @param {Facts} facts
 * @param {Words & { panels: Panel[], stacks: string[], format: (value: number) => string, formatTick?: (value: number)
 *   => string, headline?: { title: string, footer: string[] } }} drawing  `headline`: instead of the title
 * @returns {Promise<string | undefined>}  SVG; undefined if nothing of it was measured
 */
async function drawPanels (results, facts, { panels, stacks, title, headline, footer = [], subject, ...look }) {
  const { subtitle, format, formatTick } = look
  const entries = panels.flatMap(({ entries }) => entries)
  const places = entries.flatMap(({ places }) => places).filter((place) => results.summary(place))
  if (places.length === 0) return undefined
  const doubt = hedgeOf(results, facts, places)
  const first = headline ?? { title: doubt.title(title), footer: doubt.footer }
  const counts = places.filter((place) => !isScaled(results, place)).map((place) => results.values(place).length)
  const groups = panels.map(({ entries, ...panel }) => ({
    ...panel,
    rows: entries.map(({ label, places }) => {
      const bars = places.flatMap(({ look, more, ...place }) => {
        const found = results.summary(place)
        if (found === undefined) return []
        const isHollow = isScaled(results, place)
        return [{ look, value: found.median, ...found, isHollow, text: `${isHollow ? '~ ' : ''}${format(found.median)}`, more }]
      })
      return { label, bars, note: bars.length > 0 ? undefined : reasonOf(results, places[0]) }
    })
  }))
  const lines = counts.some((count) => count > 1) ? ['Thin lines go from the least run to the greatest.'] : []
  return drawChart({
    title: first.title,
    subtitle,
    stacks,
    marks: 'bars',
    footer: [...first.footer, ...footer, ...lines, describeSetting(subject, facts, counts)]
  }, (canvas) => drawBars(canvas, groups, { formatTick, format }))
}

/** @type {(results: Results, place: Place) => string} */
function reasonOf ({ absences }, { row, peer }) {
  return absences.find((one) => one.row === row && one.peer === peer)?.reason.slice(0, NOTE_LENGTH) ?? 'absent'
}

/**
 * A panel for each figure that has the unit and is `drawn`, with a bar for each peer.
 * @param {Results} results
 * @param {Shown} shown
 * @param {Words & { unit: import('./row').Unit, format: (value: number) => string, kinds: Array<{ kind: string, label:
 *   string }>, hasMeanings?: boolean, sections?: Array<{ heading: string, promise: string, rows: string[] }>,
 *   promiseOf?: (row: import('./row').Row, peer: string) => string | undefined }} drawing  `kinds`: how the peers are
 *   grouped by colour; `sections`: panels of the same promise under one heading, in this order; `promiseOf`: what an
 *   answer means, behind the bar
 */
function drawFigures (results, { rows, peers, facts }, { unit, kinds, sections = [], ...drawing }) {
  const { hasMeanings, promiseOf, ...words } = drawing
  const sectionOf = (/** @type {{ name: string }} */ { name }) => sections.findIndex(({ rows }) => rows.includes(name))
  const drawn = rows.flatMap((row) => row.figures.flatMap(({ drawn: title, by: peer = OURS, figure, ...own }) => {
    if (title === undefined || own.unit !== unit) return []
    return results.summary({ row: row.name, figure, peer }) ? [{ row, figure, title }] : []
  })).sort((a, b) => sectionOf(a.row) - sectionOf(b.row))
  const present = peers.filter(({ name: peer }) => {
    return drawn.some(({ row, figure }) => results.summary({ row: row.name, figure, peer }))
  })
  const used = kinds.filter(({ kind }) => present.some((peer) => peer.kind === kind))
  const panels = drawn.map(({ row, figure, title }, index) => ({
    title,
    meaning: hasMeanings ? row.what : undefined,
    ...index === 0 || sectionOf(row) !== sectionOf(drawn[index - 1].row) ? sections[sectionOf(row)] : {},
    entries: present.filter(({ name }) => row.peers[name]).map(({ name, kind, label }) => {
      const promise = promiseOf?.(row, name)
      const look = used.findIndex((one) => one.kind === kind)
      const more = promise ? { text: promise, class: 'muted' } : undefined
      return { label, places: [{ row: row.name, figure, peer: name, look, more }] }
    })
  }))
  return drawPanels(results, facts, { ...words, panels, stacks: used.map(({ label }) => label) })
}

/**
 * A curve for each peer of each row that has kept a histogram, in us.
 * @type {(results: Results, shown: Shown, words: Words) => Promise<string | undefined>}
 */
async function drawTails (results, { rows, peers, facts }, { title, subtitle, subject }) {
  const panels = rows.map((row) => ({
    name: row.name,
    meaning: row.what,
    curves: peers.map(({ name }) => {
      // The curve is in ms.
      return toPercentiles(results.tail(row.name, name)).map(({ p, value }) => ({ p, value: value / 1000 }))
    })
  })).filter(({ curves }) => curves.flat().length > 0)
  if (panels.length === 0) return undefined
  const doubt = hedgeOf(results, facts, [])
  return drawChart({
    title: doubt.title(title),
    subtitle,
    stacks: peers.map(({ label }) => label),
    marks: 'lines',
    footer: [...doubt.footer, describeSetting(subject, facts, countRuns(results))]
  }, (canvas) => drawCurve(canvas, panels))
}

/**
 * A panel for each row, and in it a line for each peer, by what the row varies. The title compares ours with a peer.
 * @param {Results} results
 * @param {Shown} shown
 * @param {Words & Omit<import('../lib/lines').LineLayout, 'sizes' | 'scale'> & { compared: Compared, ratiosAt?: number,
 *   hollow?: string }} words  `title` is for results that compare nothing; `ratiosAt`: how far the others are from the
 *   first one at that size, beside their lines; `hollow`: what hollow marks mean
 * @returns {Promise<string | undefined>}
 */
async function drawSizes (results, { rows, peers, facts }, words) {
  const { title, subtitle, subject, cache, compared, footer = [], ratiosAt, hollow, ...axis } = words
  const sizes = results.listAt()
  if (sizes.length === 0) return undefined
  const found = compareSpeeds(results, facts, compared, title)
  const panels = rows.map((row) => ({
    name: row.name,
    meaning: row.what,
    series: peers.map((peer, look) => {
      const own = { row: row.name, peer: peer.name, at: ratiosAt }
      const ratio = ratiosAt && look > 0 ? results.ratio(own, { peer: peers[0].name }) : undefined
      const points = sizes.flatMap((at) => {
        const place = { row: row.name, peer: peer.name, at }
        const found = results.summary(place)
        return found ? [{ ...found, x: at, y: found.median, isHollow: isScaled(results, place) }] : []
      })
      return { points, label: ratio ? formatTimes(ratio.median) : undefined }
    })
  }))
  const isHollow = panels.some(({ series }) => series.some(({ points }) => points.some(({ isHollow }) => isHollow)))
  return drawChart({
    title: found.title,
    subtitle,
    stacks: peers.map(({ label }) => label),
    marks: 'lines',
    hollow: isHollow ? hollow : undefined,
    footer: [...found.footer, ...footer, describeSetting(subject, facts, countRuns(results), cache)]
  }, (canvas) => drawLines(canvas, panels, { sizes, scale: 'shared', ...axis }))
}

exports.drawPanels = drawPanels
exports.drawFigures = drawFigures
exports.drawTails = drawTails
exports.drawSizes = drawSizes
exports.compareSpeeds = compareSpeeds
exports.countRuns = countRuns
exports.hedgeOf = hedgeOf
exports.isScaled = isScaled
