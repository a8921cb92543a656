'use strict'
// The ways to read a log as multiples of the bare loop, beside their goals and other packages.

const { hedgeOf } = require('../../engine/draw')
const { OURS, judge } = require('../../engine/judge')
const { drawBars } = require('../../lib/bars')
const { drawChart } = require('../../lib/card')
const { describeSetting } = require('../../lib/charts')
const { readSource } = require('../../lib/logs')
const { formatCount, formatSize } = require('../../lib/report')

/**
 * Other packages on the same file, by the rows beside whose bars they are told.
 * @type {Record<string, [row: string, peer: string, label: string]>}
 */
const BESIDE = {
  items: ['items-flumelog', 'flumelog-offset', 'flumelog-offset'],
  'json-where': ['json-where-parse', 'json', 'parse and compare'],
  'binary-root': ['binary-root-bipf', 'bipf', 'bipf, flumelog-offset']
}

/** SVG; undefined if no row of the chart was measured. @type {import('../../engine/row').Table['charts'][string]} */
async function drawLimits (results, { rows, facts }) {
  const drawn = rows.flatMap((row) => {
    const [{ drawn: label, goal }] = row.figures
    const ratio = label === undefined ? undefined : results.ratio({ row: row.name, peer: OURS }, { peer: 'loop' })
    if (label === undefined || ratio === undefined) return []
    const [judged] = judge(results, row, row.figures[0])
    return [{ row, label, ratio, judged, factor: goal?.within?.[0].factor }]
  })
  if (drawn.length === 0) return undefined
  const { records, json } = readSource(facts.input)
  const medians = drawn.map(({ ratio }) => ratio.median)
  const met = drawn.filter(({ judged }) => judged.verdict === 'met')
  const least = new Set(drawn.flatMap(({ row }) => row.peers.least?.what ?? []))
  const bars = drawn.map(({ row: { name }, label, ratio: { median, min, max }, judged: { excess }, factor }) => {
    const least = results.ratio({ row: name, peer: 'least' }, { peer: 'loop' })
    const [other, peer, text] = BESIDE[name] ?? []
    const beside = other && results.ratio({ row: other, peer }, { row: name, peer: 'loop' })
    const more = [
      ...excess === undefined ? [] : [`missed by ${(100 * excess).toFixed(excess < 0.01 ? 1 : 0)}%`],
      ...least ? [`the least: ${formatMultiple(least.median)}`] : [],
      ...beside ? [`${text}: ${formatMultiple(beside.median)}`] : []
    ]
    const words = { text: formatMultiple(median), more: { text: more.join(', '), class: 'muted' } }
    return { label, bars: [{ look: 0, value: median, min, max, goal: factor, ...words }] }
  })
  const doubt = hedgeOf(results, facts, drawn.flatMap(({ row }) => [OURS, 'loop'].map((peer) => ({ row: row.name, peer }))))
  return drawChart({
    title: doubt.title(`Millrace ${doubt.verb('reads', 'read')} a log in ${describeSpan(medians)} times the time of reading its file`),
    subtitle: 'Each way to read all of a log, in multiples (×) of the bare loop. Thick mark: the goal. Thin line: all runs.',
    stacks: ['Millrace'],
    marks: 'bars',
    footer: [
      ...doubt.footer,
      `The bare loop reads the file into one buffer, and nothing else. ${met.length} of ${drawn.length} ways are within their goals.`,
      ...[...least].map((what) => `The least: to ${what}, and nothing else.`),
      describeSetting(`${formatCount(records)} messages, ${formatSize(json)} of JSON`, facts, drawn.map(({ row }) => results.values({ row: row.name, peer: OURS }).length))
    ]
  }, (canvas) => drawBars(canvas, [{ rows: bars }], { formatTick: (tick) => `${tick}×` }))
}

/** @param {number[]} values */
function describeSpan (values) {
  const [least, most] = [Math.min(...values), Math.max(...values)].map((value) => value.toFixed(2))
  return least === most ? least : `${least} to ${most}`
}

/** @param {number} multiple */
function formatMultiple (multiple) {
  return `${multiple < 9.95 ? multiple.toFixed(2) : multiple.toFixed(0)}×`
}

exports.drawLimits = drawLimits
