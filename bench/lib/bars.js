'use strict'
// Bars: horizontal, from zero, so that length is time, or speed. A bar or a thin line that would make slivers of the
// others leaves the panel: it is drawn as broken, or ends in an arrow, and its figure is said.

const { INNER_WIDTH, LINE_HEIGHT, MARGIN, SMALL, add, drawLine, measureText, wrap, write, writeLines } = require('./card')

const TITLE = 13
const TICKS_MAX = 6
const GAP = 20
const GROUP_GAP = 14
const BAR_HEIGHT_MIN = 14
const LABEL_GAP = 8
const TEXT_GAP = 6
const ARROW = 6
// Where a bar that is longer than its panel has its gap.
const BREAK = 0.8
// Labels that take more of the width stand above their bars.
const LABEL_SHARE_MAX = 0.36
// A column whose bars have less room than this is laid below the others.
const PLOT_WIDTH_MIN = 85
// The panels have one scale if the longest bar of each is at least this share of the longest of all.
const SHARED_MIN = 0.5
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
 * @property {number} min  a thin line goes from here
 * @property {number} max  to here
 * @property {number[]} [parts]  of the value, each in the colour of its place, instead of one colour
 * @property {boolean} [isHollow]
 * @property {number} [goal]  a mark across the bar
 * @property {string} text  behind the bar
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
 * @property {number} [columns]  of groups, if there is room; only the first one has the labels of the rows
 * @property {boolean} [hasOwnRows]  each group has rows, and so labels, of its own
 * @property {number} barHeight
 * @property {number} rowGap
 * @property {(value: number) => string} [formatTick]  the groups have axes: one scale, if no group gets slivers by it
 * @property {(value: number) => string} [format]  the figure at an arrow
 */

/**
 * What follows from the texts and the room.
 * @typedef {object} Room
 * @property {number} columns
 * @property {number} labelWidth  none if the labels stand above the bars
 * @property {boolean} isAbove
 * @property {boolean} hasOwnRows
 * @property {number} width  of the bars and their texts
 * @property {number} barHeight
 * @property {number} rowGap
 * @property {(value: number) => string} format
 */

/** `reach` is where it ends. @typedef {{ scale: any, reach: number }} Scale */

/**
 * @param {Canvas} canvas
 * @param {Group[]} groups
 * @param {BarLayout & Record<string, unknown>} layout
 * @returns {number}  where the drawing ends
 */
function drawBars (canvas, groups, layout) {
  const { formatTick, format = formatTick ?? ((value) => value.toLocaleString('en')) } = layout
  /** @type {Room} */
  const room = { ...findRoom(groups, layout), format: (value) => format(Number(value.toPrecision(3))) }
  const { columns, labelWidth, width, hasOwnRows } = room
  const shared = formatTick && sharesScale(groups) ? createScale(canvas, groups, room) : undefined
  const scales = groups.map((group) => shared ?? createScale(canvas, [group], room))
  const isOwn = formatTick !== undefined && !shared
  let bottom = explain(canvas, groups, scales, isOwn)
  /** @type {(scale: Scale, x: number) => void} */
  const nameTicks = (scale, x) => {
    for (const tick of formatTick ? listTicks(scale, formatTick) : []) {
      const place = { x: x + scale.scale(tick), y: bottom + SMALL, size: SMALL, muted: true, anchor: 'middle' }
      write(canvas.svg, formatTick?.(tick) ?? '', place)
    }
  }
  for (const line of splitLines(groups, columns)) {
    bottom = drawHeading(canvas, line[0], bottom)
    // The bars of one line begin at one height.
    const head = Math.max(...line.map((group) => layHead(group, room).height))
    const top = bottom
    bottom += head + Math.max(...line.map((group) => measureRows(group, room)))
    for (const [column, group] of line.entries()) {
      const scale = scales[groups.indexOf(group)]
      const x = MARGIN + labelWidth + column * (width + GAP + (hasOwnRows ? labelWidth : 0))
      const panel = add(canvas.svg, 'g', { class: 'panel', transform: `translate(${x},${top})` })
      const ticks = formatTick ? listTicks(scale, formatTick) : [0]
      drawGroup(panel, group, { ...room, ...scale, head, hasLabels: hasOwnRows || column === 0, ticks })
      if (isOwn) nameTicks(scale, x)
    }
    bottom += isOwn ? LINE_HEIGHT + GROUP_GAP : GROUP_GAP
  }
  if (shared) nameTicks(shared, MARGIN + labelWidth)
  return bottom + (shared ? LINE_HEIGHT : 0)
}

/** @type {(canvas: Canvas, group: Group, y: number) => number} gives what is below it */
function drawHeading ({ svg }, { heading, promise = '' }, y) {
  if (!heading) return y
  write(svg, heading, { x: MARGIN, y: y + 18, size: 15, bold: true })
  return writeLines(svg, promise, { x: MARGIN, y: y + 36, size: SMALL, muted: true }) - 6
}

/**
 * What the lengths do not say by themselves.
 * @type {(canvas: Canvas, groups: Group[], scales: Scale[], isOwn: boolean) => number}
 */
function explain ({ svg, top }, groups, scales, isOwn) {
  const some = (/** @type {(bar: Bar, reach: number) => boolean} */ test) => groups.some((group, index) => {
    return barsOf(group).some((bar) => test(bar, scales[index].reach))
  })
  const text = [
    isOwn ? 'Each panel has its own scale.' : '',
    some(isCut) ? 'An arrow: a run beyond the edge, with its figure.' : '',
    some(({ value }, reach) => value > reach) ? 'A bar with a gap is longer than it is drawn.' : ''
  ].join(' ').trim()
  return writeLines(svg, text, { x: MARGIN, y: top + TEXT_GAP, size: SMALL, muted: true }) - (text ? 0 : TEXT_GAP)
}

/** @type {(groups: Group[], layout: BarLayout) => Omit<Room, 'format'>} */
function findRoom (groups, { columns: most = 1, hasOwnRows = false, barHeight, rowGap }) {
  const rows = groups.flatMap(({ rows }) => rows)
  const longest = Math.max(0, ...rows.map(({ label }) => measureText(label, SMALL))) + LABEL_GAP
  const isAbove = longest > LABEL_SHARE_MAX * INNER_WIDTH
  const labelWidth = isAbove ? 0 : longest
  const text = Math.max(0, ...rows.flatMap(({ bars }) => bars.map(measureBarText)))
  const widthOf = (/** @type {number} */ columns) => {
    return (INNER_WIDTH - labelWidth * (hasOwnRows ? columns : 1) - GAP * (columns - 1)) / columns
  }
  const columns = Array.from({ length: most }, (_, index) => most - index).find((columns) => {
    return widthOf(columns) - text >= PLOT_WIDTH_MIN
  }) ?? 1
  const height = Math.max(BAR_HEIGHT_MIN, barHeight)
  return { columns, labelWidth, isAbove, hasOwnRows, width: widthOf(columns), barHeight: height, rowGap }
}

/** @param {Bar} bar */
function measureBarText ({ text, more }) {
  return measureText(text, SMALL) + (more ? measureText(more.text, SMALL, more.class !== 'muted') + TEXT_GAP : 0) + TEXT_GAP
}

/** @type {(groups: Group[], columns: number) => Group[][]} a heading begins a line */
function splitLines (groups, columns) {
  /** @type {Group[][]} */
  const lines = []
  for (const group of groups) {
    const last = lines[lines.length - 1]
    if (!last || last.length === columns || group.heading) lines.push([group])
    else last.push(group)
  }
  return lines
}

/** @param {Group} group */
function barsOf ({ rows }) {
  return rows.flatMap(({ bars }) => bars)
}

/**
 * Where a scale ends: at the longest bar, or at the longest thin line if that leaves room for bars.
 * @param {Bar[]} bars
 */
function findReach (bars) {
  const lengths = bars.map(({ value, goal = 0 }) => Math.max(value, goal))
  const [first = 1, second = first, ...others] = lengths.sort((a, b) => b - a)
  const isAlone = others.length > 0 && first > BAR_MAX * second && second > 0
  const longest = isAlone ? second * WHISKER_MAX : first
  return Math.max(longest, ...bars.map(({ max }) => max).filter((max) => max <= WHISKER_MAX * longest)) || 1
}

/** @param {Group[]} groups */
function sharesScale (groups) {
  const reaches = groups.map((group) => findReach(barsOf(group)))
  return Math.min(...reaches) >= SHARED_MIN * Math.max(...reaches)
}

/**
 * As long as the text behind every bar allows.
 * @type {(canvas: Canvas, groups: Group[], room: Room) => Scale}
 */
function createScale ({ d3 }, groups, { width, format }) {
  const bars = groups.flatMap(barsOf)
  const reach = findReach(bars)
  const ends = bars.map((bar) => {
    const { value, max, goal = 0 } = bar
    const arrow = isCut(bar, reach) ? ARROW + TEXT_GAP + measureText(`→ ${format(max)}`, SMALL) : 0
    const end = Math.min(reach, Math.max(value, max, goal))
    return end > 0 ? (width - measureBarText(bar) - arrow) * reach / end : Infinity
  })
  // Also where a text is longer than all the room: it is cut off then, not the bars.
  const length = Math.max(PLOT_WIDTH_MIN / 2, Math.min(width, ...ends))
  return { scale: d3.scaleLinear().domain([0, reach]).range([0, length]), reach }
}

/**
 * What stands above the bars of a group: its meaning on the line of its title, if both fit there, or below.
 * @type {(group: Group, room: Room) => { title: string[], beside: string, below: string[], height: number }}
 */
function layHead ({ title = '', meaning = '' }, { width, labelWidth, columns, hasOwnRows }) {
  const room = width + (columns === 1 || hasOwnRows ? labelWidth : 0)
  const lines = wrap(title, room, TITLE, true)
  const isBeside = measureText(title, TITLE, true) + LABEL_GAP + measureText(meaning, SMALL) <= room
  const below = isBeside ? [] : wrap(meaning, room, SMALL)
  const height = (lines.length + below.length) * LINE_HEIGHT + 6
  return { title: lines, beside: isBeside ? meaning : '', below, height }
}

/** @type {(group: Group, room: Pick<Room, 'barHeight' | 'rowGap' | 'isAbove'>) => number} */
function measureRows ({ rows }, { barHeight, rowGap, isAbove }) {
  const bars = rows.reduce((count, { bars }) => count + Math.max(1, bars.length), 0)
  return bars * barHeight + rows.length * (rowGap + (isAbove ? LINE_HEIGHT : 0))
}

/**
 * @param {Selection} panel
 * @param {Group} group
 * @param {Room} room
 */
function drawHead (panel, group, room) {
  const { title, beside, below } = layHead(group, room)
  const x = room.columns === 1 || room.hasOwnRows ? -room.labelWidth : 0
  const lines = title.map((text, index) => {
    return write(panel, text, { x, y: 13 + index * LINE_HEIGHT, size: TITLE, bold: true })
  })
  const look = { class: 'muted', 'font-weight': 'normal', 'font-size': SMALL, dx: LABEL_GAP }
  if (beside && lines.length > 0) add(lines[lines.length - 1], 'tspan', look, beside)
  for (const [index, text] of below.entries()) {
    write(panel, text, { x, y: 12 + (lines.length + index) * LINE_HEIGHT, size: SMALL, muted: true })
  }
}

/**
 * @param {Selection} panel
 * @param {Group} group
 * @param {Room & Scale & { head: number, hasLabels: boolean, ticks: number[] }} look
 */
function drawGroup (panel, group, { head, hasLabels, ticks, ...room }) {
  const { scale, isAbove, barHeight, rowGap } = room
  drawHead(panel, group, room)
  /** @type {(top: number, bottom: number) => void} */
  const drawGrid = (top, bottom) => {
    for (const tick of ticks) drawLine(panel, tick === 0 ? 'axis' : 'grid', [scale(tick), scale(tick), top, bottom])
  }
  if (!isAbove) drawGrid(head - 2, head + measureRows(group, room))
  let y = head
  for (const { label, bars, note } of group.rows) {
    const height = Math.max(1, bars.length) * barHeight
    if (isAbove) {
      write(panel, label, { x: 0, y: y + 10, size: SMALL })
      y += LINE_HEIGHT
      drawGrid(y - 1, y + height + 1)
    }
    const middle = y + height / 2 + 4
    if (hasLabels && !isAbove) write(panel, label, { x: -LABEL_GAP, y: middle, size: SMALL, anchor: 'end' })
    if (note) write(panel, note, { x: TEXT_GAP, y: middle, size: SMALL, muted: true })
    for (const [index, bar] of bars.entries()) drawBar(panel, room, bar, y + index * barHeight)
    y += height + rowGap
  }
}

/**
 * @param {Selection} panel
 * @param {Room & Scale} room
 * @param {Bar} bar
 * @param {number} y
 */
function drawBar (panel, { scale, reach, barHeight: height, format }, bar, y) {
  const { look, value, min, max, parts, isHollow, goal } = bar
  const [left, right] = [min, max].map((end) => scale(Math.min(end, reach)))
  const middle = y + height / 2
  let end = 0
  for (const [index, part] of (parts ?? [value]).entries()) {
    const color = parts ? index : look
    const width = scale(Math.min(part, reach))
    const kind = isHollow ? `hollow stroke-${color}` : `fill-${color}`
    add(panel, 'rect', { class: kind, x: end, y: y + 0.5, height: height - 1, width: parts ? width : Math.max(1, width) })
    end += width
  }
  if (value > reach) {
    const x = scale(reach) * BREAK
    for (const shift of [0, 7]) drawLine(panel, 'gap', [x + shift - 3, x + shift + 3, y + height, y], { 'stroke-width': 3 })
  } else if (right - left >= 2) drawLine(panel, 'whisker', [left, right, middle, middle])
  const isBeyond = isCut(bar, reach)
  const tip = isBeyond ? right + ARROW : right
  const arrow = `M${tip - ARROW},${middle - 4}L${tip},${middle}L${tip - ARROW},${middle + 4}Z`
  if (isBeyond) add(panel, 'path', { class: 'tip', d: arrow })
  const mark = goal === undefined ? 0 : scale(goal)
  if (goal !== undefined) drawLine(panel, 'whisker', [mark, mark, y - 3, y + height + 3], { 'stroke-width': 2.5 })
  const place = { x: Math.max(tip, end, mark) + TEXT_GAP, y: middle + 4 }
  writeFigures(panel, bar, isBeyond ? `→ ${format(max)}` : '', place)
}

/** Whether its thin line leaves the panel. @type {(bar: Bar, reach: number) => boolean} */
function isCut ({ value, max }, reach) {
  return value <= reach && max > reach
}

/** @type {(panel: Selection, bar: Bar, beyond: string, place: { x: number, y: number }) => void} */
function writeFigures (panel, { text, more, goal }, beyond, place) {
  const label = write(panel, text, { ...place, size: SMALL, bold: goal !== undefined, kind: 'halo' })
  const all = [...more ? [more] : [], ...beyond ? [{ text: beyond, class: 'muted' }] : []]
  for (const { text, class: kind } of all) {
    const weight = kind === 'muted' ? 'normal' : 'bold'
    add(label, 'tspan', { class: kind.replace('fill-', 'ink-'), 'font-weight': weight, dx: TEXT_GAP }, text)
  }
}

/**
 * @param {Scale} scale
 * @param {(value: number) => string} formatTick
 * @returns {number[]}  as many as have room for their names
 */
function listTicks ({ scale, reach }, formatTick) {
  for (let count = TICKS_MAX; count > 1; count--) {
    /** @type {number[]} it may be some more or less than the count */
    const ticks = scale.ticks(count)
    const widest = Math.max(...ticks.map((tick) => measureText(formatTick(tick), SMALL))) + LABEL_GAP
    if (widest <= scale(ticks[1] ?? reach)) return ticks
  }
  return [0]
}

exports.drawBars = drawBars
