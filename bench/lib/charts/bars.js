'use strict'
// Horizontal bars from zero, so that length is time, or speed.

const { add, drawLine, write, MARGIN, WIDTH } = require('./canvas')

/**
 * @typedef {object} Bar
 * @property {number} look  which colour
 * @property {number} value
 * @property {number} min  a thin line goes from here
 * @property {number} max  to here
 * @property {boolean} [isHollow]
 * @property {number} [goal]  a mark across the bar
 * @property {string} text  behind the bar
 * @property {{ text: string, class: string }} [more]  behind the text
 */

/** @typedef {{ label: string, bars: Bar[], note?: string }} Row  a note stands where there is no bar */
/** @typedef {{ title?: string, meaning?: string, rows: Row[] }} Group */

/**
 * @typedef {object} Layout
 * @property {number} [columns]  of groups; only the first one has the labels of the rows
 * @property {number} barHeight
 * @property {number} rowGap
 * @property {number} labelWidth
 * @property {number} valueWidth  room for the text behind the longest bar
 * @property {(tick: number) => string} [formatTick]  all groups have one scale, with ticks; without it each has its own
 */

const TICKS = 6
const GAP = 20
const TITLE_HEIGHT = 22
const GROUP_GAP = 14

/**
 * @param {import('./canvas').Canvas} canvas
 * @param {Group[]} groups
 * @param {Layout} layout
 * @returns {number}  where the drawing ends
 */
function drawBars (canvas, groups, { columns = 1, labelWidth, valueWidth, formatTick, ...layout }) {
  const width = (WIDTH - 2 * MARGIN - labelWidth - GAP * (columns - 1)) / columns
  const createScale = (/** @type {Group[]} */ some) => {
    return canvas.d3.scaleLinear().domain([0, findLongest(some)]).range([0, width - valueWidth])
  }
  const shared = formatTick && createScale(groups)
  const height = Math.max(...groups.map((group) => measureGroup(group, layout)))
  let bottom = canvas.top + 8
  for (const [index, group] of groups.entries()) {
    const x = MARGIN + labelWidth + index % columns * (width + GAP)
    const y = canvas.top + 8 + Math.floor(index / columns) * height
    const panel = add(canvas.svg, 'g', { class: 'panel', transform: `translate(${x},${y})` })
    const look = { titleX: columns === 1 ? -labelWidth : 0, hasGrid: Boolean(shared), hasLabels: index % columns === 0 }
    drawGroup(panel, group, { ...layout, ...look, scale: shared ?? createScale([group]) })
    bottom = y + height
  }
  for (const tick of shared?.ticks(TICKS) ?? []) {
    const x = MARGIN + labelWidth + shared(tick)
    write(canvas.svg, formatTick?.(tick) ?? '', { x, y: bottom + 8, size: 11, muted: true, anchor: 'middle' })
  }
  return bottom
}

/** @param {Group[]} groups */
function findLongest (groups) {
  const bars = groups.flatMap(({ rows }) => rows.flatMap(({ bars }) => bars))
  return Math.max(0, ...bars.flatMap(({ max, goal = 0 }) => [max, goal])) || 1
}

/**
 * @param {Group} group
 * @param {{ barHeight: number, rowGap: number }} layout
 */
function measureGroup ({ title, rows }, { barHeight, rowGap }) {
  const bars = rows.reduce((count, { bars }) => count + Math.max(1, bars.length), 0)
  return (title ? TITLE_HEIGHT : 0) + bars * barHeight + rows.length * rowGap + GROUP_GAP
}

/**
 * @param {any} panel
 * @param {Group} group
 * @param {{ scale: any, hasGrid: boolean, hasLabels: boolean, titleX: number, barHeight: number, rowGap: number }} look
 */
function drawGroup (panel, group, { scale, hasGrid, hasLabels, titleX, barHeight, rowGap }) {
  const top = group.title ? TITLE_HEIGHT : 0
  if (group.title) {
    const title = write(panel, group.title, { x: titleX, y: 13, size: 13, bold: true })
    add(title, 'tspan', { class: 'muted', 'font-weight': 'normal', 'font-size': 11, dx: 8 }, group.meaning)
  }
  const bottom = measureGroup(group, { barHeight, rowGap }) - GROUP_GAP
  for (const tick of hasGrid ? scale.ticks(TICKS) : [0]) {
    drawLine(panel, tick === 0 ? 'axis' : 'grid', [scale(tick), scale(tick), top - 2, bottom])
  }
  let y = top
  for (const { label, bars, note } of group.rows) {
    const height = Math.max(1, bars.length) * barHeight
    const middle = y + height / 2 + 4
    if (hasLabels) write(panel, label, { x: -8, y: middle, size: 11, anchor: 'end' })
    if (note) write(panel, note, { x: 6, y: middle, size: 10, muted: true })
    for (const [index, bar] of bars.entries()) drawBar(panel, scale, bar, y + index * barHeight, barHeight)
    y += height + rowGap
  }
}

/**
 * @param {any} panel
 * @param {any} scale
 * @param {Bar} bar
 * @param {number} y
 * @param {number} height
 */
function drawBar (panel, scale, { look, value, min, max, isHollow, goal, text, more }, y, height) {
  const [left, right, middle] = [scale(min), scale(max), y + height / 2]
  const kind = isHollow ? `hollow stroke-${look}` : `fill-${look}`
  add(panel, 'rect', { class: kind, x: 0, y: y + 0.5, height: height - 1, width: Math.max(1, scale(value)) })
  if (right - left >= 2) drawLine(panel, 'whisker', [left, right, middle, middle])
  const mark = goal === undefined ? 0 : scale(goal)
  if (goal !== undefined) drawLine(panel, 'whisker', [mark, mark, y - 3, y + height + 3], { 'stroke-width': 2.5 })
  const place = { x: Math.max(right, mark) + 6, y: middle + 4, size: 10.5, bold: goal !== undefined }
  const label = write(panel, text, place)
  if (more === undefined) return
  const weight = more.class === 'muted' ? 'normal' : 'bold'
  add(label, 'tspan', { class: more.class, 'font-weight': weight, dx: 7 }, more.text)
}

exports.drawBars = drawBars
