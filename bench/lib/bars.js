'use strict'
// Bars: horizontal, from zero, so that length is time, or speed; panels one below the other, each with a scale of its
// own. A bar or a thin line that would make slivers of the others leaves the panel: it is drawn as broken, or ends in
// an arrow, and its figure is said.

const { INNER_WIDTH, LINE_HEIGHT, MARGIN, SMALL, add, drawAxis, drawLine, measureText, write, writeLines } = require('./card')

const TITLE = 13
const TICKS_MAX = 4
const GROUP_GAP = 14
const ROW_GAP = 4
const BAR_HEIGHT = 14
const LABEL_GAP = 8
const TEXT_GAP = 6
const ARROW = 6
// Where a bar that is longer than its panel has its gap.
const BREAK = 0.8
// Labels that take more of the width stand above their bars.
const LABEL_SHARE_MAX = 0.36
const PLOT_WIDTH_MIN = 85
// A thin line may be this many times as long as the longest bar,
const WHISKER_MAX = 1.5
// and one bar among three or more this many times as long as the next.
const BAR_MAX = 5

/** @typedef {import('./card').Canvas} Canvas */
/** @typedef {import('./card').Selection} Selection */

/**
 * @typedef {object} Bar
 * @property {number} look  which colour
 * @property {number} value
 * @property {number} [min]  a thin line goes from here
 * @property {number} [max]  to here
 * @property {number[]} [parts]  of the value, each in the colour of its place, instead of one colour
 * @property {boolean} [isHollow]
 * @property {number} [goal]  a mark across the bar
 * @property {string} [text]  behind the bar
 * @property {{ text: string, class: string }} [more]  behind the text
 */

/** @typedef {{ label: string, bars: Bar[], note?: string }} Row  a note stands where there is no bar */

/**
 * @typedef {object} Group
 * @property {string} [title]
 * @property {string} [meaning]
 * @property {string} [heading]  of this group and those after it
 * @property {string} [promise]  below the heading: what they have in common
 * @property {Row[]} rows
 */

/**
 * @typedef {object} BarLayout
 * @property {(value: number) => string} [formatTick]  the groups have axes
 * @property {(value: number) => string} [format]  the figure at an arrow
 */

/** `reach` is where it ends. @typedef {{ scale: any, reach: number, format: (value: number) => string }} Scale */

/**
 * @param {Canvas} canvas
 * @param {Group[]} groups
 * @param {BarLayout} layout
 * @returns {number}  where the drawing ends
 */
function drawBars (canvas, groups, { formatTick, format = formatTick ?? ((value) => value.toLocaleString('en')) }) {
  const { d3, svg } = canvas
  const widths = groups.flatMap(({ rows }) => rows.map(({ label }) => measureText(label, SMALL) + LABEL_GAP))
  const isAbove = Math.max(...widths) > LABEL_SHARE_MAX * INNER_WIDTH
  const left = isAbove ? 0 : Math.max(...widths)
  const round = (/** @type {number} */ value) => format(Number(value.toPrecision(3)))
  const scales = groups.map(({ rows }) => createScale(d3, rows.flatMap(({ bars }) => bars), INNER_WIDTH - left, round))
  let y = explain(canvas, groups, scales, formatTick !== undefined && groups.length > 1)
  for (const [index, group] of groups.entries()) {
    y = drawHead(svg, group, y)
    const { scale } = scales[index]
    const panel = add(svg, 'g', { class: 'panel', transform: `translate(${MARGIN + left},${y})` })
    const height = group.rows.reduce((sum, row) => sum + heightOf(row, isAbove) + ROW_GAP, 0)
    if (formatTick) {
      const ticks = chooseTicks(scale, formatTick)
      const axis = d3.axisBottom(scale).tickValues(ticks).tickFormat(formatTick).tickSize(-height).tickPadding(6)
      drawAxis(panel.append('g').attr('transform', `translate(0,${height})`), axis, 'grid')
    }
    drawLine(panel, 'axis', [0, 0, 0, height])
    drawRows(panel, group.rows, scales[index], isAbove)
    y += height + GROUP_GAP + (formatTick ? LINE_HEIGHT : 0)
  }
  return y
}

/** As many as have room for their texts. @type {(scale: any, formatTick: (value: number) => string) => number[]} */
function chooseTicks (scale, formatTick) {
  for (let count = TICKS_MAX; count > 1; count--) {
    const ticks = /** @type {number[]} */ (scale.ticks(count))
    const width = Math.max(...ticks.map((tick) => measureText(formatTick(tick), SMALL)))
    if (ticks.length < 2 || width + LABEL_GAP <= scale(ticks[1]) - scale(ticks[0])) return ticks
  }
  return scale.ticks(1)
}

/** @type {(svg: Selection, group: Group, y: number) => number} a meaning stands beside its title if there is room */
function drawHead (svg, { title, meaning = '', heading, promise = '' }, y) {
  if (heading) {
    write(svg, heading, { x: MARGIN, y: y + 18, size: 15, bold: true })
    y = writeLines(svg, promise, { x: MARGIN, y: y + 36, size: SMALL, muted: true }) - 6
  }
  if (title === undefined) return y
  const line = write(svg, title, { x: MARGIN, y: y + 13, size: TITLE, bold: true })
  const isBeside = measureText(title, TITLE, true) + LABEL_GAP + measureText(meaning, SMALL) <= INNER_WIDTH
  const place = isBeside ? { dx: LABEL_GAP } : { x: MARGIN, dy: LINE_HEIGHT }
  if (meaning) add(line, 'tspan', { class: 'muted', 'font-weight': 'normal', 'font-size': SMALL, ...place }, meaning)
  return y + (isBeside ? 20 : 20 + LINE_HEIGHT)
}

/** @type {(row: Row, isAbove: boolean) => number} */
function heightOf ({ bars }, isAbove) {
  return Math.max(1, bars.length) * BAR_HEIGHT + (isAbove ? LINE_HEIGHT : 0)
}

/**
 * What the lengths do not say by themselves.
 * @type {(canvas: Canvas, groups: Group[], scales: Scale[], isOwn: boolean) => number}
 */
function explain ({ svg, top }, groups, scales, isOwn) {
  const some = (/** @type {(bar: Bar, reach: number) => boolean} */ test) => groups.some(({ rows }, index) => {
    return rows.some(({ bars }) => bars.some((bar) => test(bar, scales[index].reach)))
  })
  const text = [
    isOwn ? 'Each panel has its own scale.' : '',
    some(isCut) ? 'An arrow: a run beyond the edge, with its figure.' : '',
    some(({ value }, reach) => value > reach) ? 'A bar with a gap is longer than it is drawn.' : ''
  ].join(' ').trim()
  return writeLines(svg, text, { x: MARGIN, y: top + TEXT_GAP, size: SMALL, muted: true }) - (text ? 0 : TEXT_GAP)
}

/**
 * Ends at the longest bar, or at the longest thin line if that leaves room for bars. As long as the text behind every
 * bar allows.
 * @type {(d3: any, bars: Bar[], width: number, format: Scale['format']) => Scale}
 */
function createScale (d3, bars, width, format) {
  const lengths = bars.map(({ value, goal = 0 }) => Math.max(value, goal))
  const [first = 1, second = first, ...others] = lengths.sort((a, b) => b - a)
  const isAlone = others.length > 0 && first > BAR_MAX * second && second > 0
  const longest = isAlone ? second * WHISKER_MAX : first
  const reach = Math.max(longest, ...bars.map(({ max = 0 }) => max).filter((max) => max <= WHISKER_MAX * longest)) || 1
  const ends = bars.map((bar) => {
    const { value, max = 0, goal = 0, text = '', more } = bar
    const arrow = isCut(bar, reach) ? ARROW + TEXT_GAP + measureText(`→ ${format(max)}`, SMALL) : 0
    const after = more ? TEXT_GAP + measureText(more.text, SMALL, more.class !== 'muted') : 0
    const behind = TEXT_GAP + measureText(text, SMALL, goal > 0) + after
    const end = Math.min(reach, Math.max(value, max, goal))
    return end > 0 ? (width - behind - arrow) * reach / end : Infinity
  })
  // Also where a text is longer than all the room: it is cut off then, not the bars.
  const length = Math.max(PLOT_WIDTH_MIN, Math.min(width, ...ends))
  return { scale: d3.scaleLinear().domain([0, reach]).range([0, length]), reach, format }
}

/** @type {(panel: Selection, rows: Row[], scale: Scale, isAbove: boolean) => void} */
function drawRows (panel, rows, scale, isAbove) {
  let y = 0
  for (const row of rows) {
    const first = y + (isAbove ? LINE_HEIGHT : 0)
    const bottom = y + heightOf(row, isAbove)
    const middle = (first + bottom) / 2 + 4
    if (isAbove) write(panel, row.label, { x: 3, y: y + 12, size: SMALL, kind: 'halo' })
    else write(panel, row.label, { x: -LABEL_GAP, y: middle, size: SMALL, anchor: 'end' })
    write(panel, row.note ?? '', { x: TEXT_GAP, y: middle, size: SMALL, muted: true })
    for (const [index, bar] of row.bars.entries()) drawBar(panel, scale, bar, first + index * BAR_HEIGHT)
    y = bottom + ROW_GAP
  }
}

/** @type {(panel: Selection, scale: Scale, bar: Bar, y: number) => void} */
function drawBar (panel, { scale, reach, format }, bar, y) {
  const { value, min = value, max = value, goal } = bar
  const [left, right] = [min, max].map((end) => scale(Math.min(end, reach)))
  const middle = y + BAR_HEIGHT / 2
  const end = drawParts(panel, bar, y, (length) => scale(Math.min(length, reach)))
  if (value > reach) {
    const x = scale(reach) * BREAK
    for (const shift of [0, 7]) drawLine(panel, 'gap', [x + shift - 3, x + shift + 3, y + BAR_HEIGHT, y], { 'stroke-width': 3 })
  } else if (right - left >= 2) drawLine(panel, 'whisker', [left, right, middle, middle])
  const isBeyond = isCut(bar, reach)
  const tip = isBeyond ? right + ARROW : right
  if (isBeyond) add(panel, 'path', { class: 'tip', d: `M${tip - ARROW},${middle - 4}L${tip},${middle}L${tip - ARROW},${middle + 4}Z` })
  const mark = scale(goal ?? 0)
  if (goal !== undefined) drawLine(panel, 'whisker', [mark, mark, y - 3, y + BAR_HEIGHT + 3], { 'stroke-width': 2.5 })
  writeFigures(panel, bar, isBeyond ? `→ ${format(max)}` : '', { x: Math.max(tip, end, mark) + TEXT_GAP, y: middle + 4 })
}

/** @type {(panel: Selection, bar: Bar, y: number, widthOf: (length: number) => number) => number} where they end */
function drawParts (panel, { look, value, parts, isHollow }, y, widthOf) {
  let end = 0
  for (const [index, part] of (parts ?? [value]).entries()) {
    const color = parts ? index : look
    const kind = isHollow ? `hollow stroke-${color}` : `fill-${color}`
    const width = parts ? widthOf(part) : Math.max(1, widthOf(part))
    add(panel, 'rect', { class: kind, x: end, y: y + 0.5, height: BAR_HEIGHT - 1, width })
    end += width
  }
  return end
}

/** Whether its thin line leaves the panel. @type {(bar: Bar, reach: number) => boolean} */
function isCut ({ value, max = value }, reach) {
  return value <= reach && max > reach
}

/** @type {(panel: Selection, bar: Bar, beyond: string, place: { x: number, y: number }) => void} */
function writeFigures (panel, { text = '', more, goal }, beyond, place) {
  const label = write(panel, text, { ...place, size: SMALL, bold: goal !== undefined, kind: 'halo' })
  const all = [...more ? [more] : [], ...beyond ? [{ text: beyond, class: 'muted' }] : []]
  for (const { text, class: kind } of all) {
    const weight = kind === 'muted' ? 'normal' : 'bold'
    add(label, 'tspan', { class: kind.replace('fill-', 'ink-'), 'font-weight': weight, dx: TEXT_GAP }, text)
  }
}

exports.drawBars = drawBars
