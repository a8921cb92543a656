'use strict'
// The card that every chart is drawn on: background, title, legend, footer; bars and lines to be drawn there; and the
// way to SVG and PNG files. The hues are Okabe and Ito's, which colour-blind people tell apart; every stack has a
// marker of its own too.

const fs = require('node:fs')
const path = require('node:path')
const { Resvg } = require('@resvg/resvg-js')

const WIDTH = 830
const MARGIN = 24
const TOP = 104
const FOOTER_LINE = 15
// Of DejaVu Sans, the widest of the fonts that the style names: no label runs into the next one.
const CHAR_WIDTH = 0.62
// A font from a package and no other: the same picture on a machine that has no fonts at all.
const FONTS = path.join(path.dirname(require.resolve('dejavu-fonts-ttf/package.json')), 'ttf')
// Twice the size in the README, for screens with fine pixels.
const ZOOM = 2
// A stack keeps its colour when another joins: the first is always the first here, the last always the last. Those
// between are finer: they often take as long as the first, and are drawn over it, so that both can still be seen.
const FINE = { markerSize: 22, lineWidth: 1.5 }
const FIRST = { light: '#0072b2', dark: '#56b4e9', marker: 'symbolCircle', markerSize: 50, lineWidth: 3 }
const LAST = { light: '#d55e00', dark: '#f0a030', marker: 'symbolSquare', markerSize: 44, lineWidth: 2.2 }
const BETWEEN = [
  { light: '#009e73', dark: '#2fc89a', marker: 'symbolTriangle', ...FINE },
  { light: '#cc79a7', dark: '#e39ac2', marker: 'symbolDiamond', ...FINE },
  { light: '#8a6d00', dark: '#f0e442', marker: 'symbolCross', ...FINE }
]

/** `marker` is what d3 calls it, and `markerSize` an area. @typedef {typeof FIRST} Look */
/** A selection of d3, which comes without types here. @typedef {any} Selection */

/**
 * @typedef {object} Words
 * @property {string} title
 * @property {string} subtitle
 * @property {string[]} stacks  labels for the legend
 * @property {'lines' | 'bars'} marks  what the legend explains
 * @property {string} [hollow]  what hollow marks mean, if there are any
 * @property {string[]} footer
 */

/** @typedef {{ d3: any, svg: Selection, looks: Look[] }} Canvas  with a look for each stack */

/**
 * @param {Words} words
 * @param {(canvas: Canvas) => number} draw  the chart proper; gives where it ends
 * @returns {Promise<string>}  SVG
 */
async function drawChart ({ title, subtitle, footer, ...words }, draw) {
  const { D3Node } = await import('d3-node')
  const node = new D3Node()
  const looks = chooseLooks(words.stacks.length)
  const svg = node.createSVG(WIDTH, 1).attr('role', 'img').attr('aria-label', `${title}. ${subtitle}`)
  add(svg, 'title', {}, title)
  add(svg, 'style', {}, writeStyle(looks))
  const card = add(svg, 'rect', { class: 'card', x: 0.5, y: 0.5, rx: 8 })
  write(svg, title, { x: MARGIN, y: 36, size: 17, bold: true })
  write(svg, subtitle, { x: MARGIN, y: 57, size: 12, muted: true })
  const canvas = { d3: node.d3, svg, looks }
  drawLegend(canvas, words)
  let y = draw(canvas)
  for (const text of footer) write(svg, text, { x: MARGIN, y: y += FOOTER_LINE, size: 10, muted: true })
  const height = y + FOOTER_LINE
  svg.attr('height', height).attr('viewBox', `0 0 ${WIDTH} ${height}`)
  card.attr('width', WIDTH - 1).attr('height', height - 1)
  // As XML, not as HTML: an SVG file is read by parsers that forgive nothing.
  return new node.window.XMLSerializer().serializeToString(svg.node()) + '\n'
}

/**
 * @param {number} count  of stacks
 * @returns {Look[]}
 */
function chooseLooks (count) {
  const between = Array.from({ length: Math.max(0, count - 2) }, (_, index) => BETWEEN[index % BETWEEN.length])
  return [FIRST, ...between, LAST].slice(0, count)
}

/**
 * Plain class selectors: the PNG renderer knows no variables. It passes over the media query, so PNGs are light.
 * @param {Look[]} looks
 * @returns {string}  CSS
 */
function writeStyle (looks) {
  const paint = (/** @type {'light' | 'dark'} */ mode) => looks.map((look, index) => {
    return `.fill-${index} { fill: ${look[mode]} } .stroke-${index} { stroke: ${look[mode]} }`
  }).join(' ')
  return `
    text { font-family: 'DejaVu Sans', Verdana, sans-serif; fill: #1f2328 }
    .card { fill: #ffffff; stroke: #d1d9e0 } .hollow { fill: #ffffff }
    .muted { fill: #59636e } .grid { stroke: #e4e8ec } .axis { stroke: #8c959f } .whisker { stroke: #1f2328 }
    ${paint('light')}
    @media (prefers-color-scheme: dark) {
      text { fill: #f0f6fc }
      .card { fill: #0d1117; stroke: #3d444d } .hollow { fill: #0d1117 }
      .muted { fill: #9aa4ae } .grid { stroke: #252b33 } .axis { stroke: #656c76 } .whisker { stroke: #f0f6fc }
      ${paint('dark')}
    }`
}

/**
 * @param {Canvas} canvas
 * @param {Pick<Words, 'stacks' | 'marks' | 'hollow'>} words
 */
function drawLegend (canvas, { stacks, marks, hollow }) {
  const legend = add(canvas.svg, 'g', { class: 'legend' })
  let x = MARGIN
  const label = (/** @type {string} */ text) => {
    write(legend, text, { x: x + 32, y: 84, size: 12 })
    x += 32 + text.length * 12 * CHAR_WIDTH + 24
  }
  for (const [index, stack] of stacks.entries()) {
    if (marks === 'bars') add(legend, 'rect', { class: `fill-${index}`, x, y: 74, width: 24, height: 11 })
    else {
      drawLine(legend, `stroke-${index}`, [x, x + 24, 80, 80], { 'stroke-width': canvas.looks[index].lineWidth })
      drawMarker(canvas, legend, index, { x: x + 12, y: 80 })
    }
    label(stack)
  }
  if (hollow === undefined) return
  drawLine(legend, 'axis', [x, x + 24, 80, 80], { 'stroke-width': 2, 'stroke-dasharray': '5 4' })
  add(legend, 'circle', { class: 'hollow axis', 'stroke-width': 2, cx: x + 12, cy: 80, r: 4 })
  label(hollow)
}

/**
 * @param {Look} look
 * @returns {Promise<string>}  its marker, as the path of an SVG, around 0,0
 */
async function drawSymbol ({ marker, markerSize }) {
  const { D3Node } = await import('d3-node')
  const { d3 } = new D3Node()
  return d3.symbol(d3[marker], markerSize)()
}

/**
 * @param {Canvas} canvas
 * @param {Selection} parent
 * @param {number} index  of the stack
 * @param {{ x: number, y: number, scale?: number, hollow?: boolean }} place  `scale` is of its area
 */
function drawMarker ({ d3, looks }, parent, index, { x, y, scale = 1, hollow = false }) {
  const { marker, markerSize } = looks[index]
  add(parent, 'path', {
    d: d3.symbol(d3[marker], markerSize * scale)(),
    transform: `translate(${x},${y})`,
    class: `${hollow ? 'hollow' : `fill-${index}`} stroke-${index}`,
    'stroke-width': hollow ? 1.6 : 0
  })
}

/**
 * @param {Selection} parent
 * @param {string} kind  its class
 * @param {number[]} ends  x1, x2, y1, y2
 * @param {Record<string, any>} [more]  attributes
 */
function drawLine (parent, kind, [x1, x2, y1, y2], more) {
  add(parent, 'line', { class: kind, ...more, x1, x2, y1, y2 })
}

/**
 * @param {Selection} parent
 * @param {string} text
 * @param {{ x: number, y: number, size: number, bold?: boolean, muted?: boolean, anchor?: string }} look
 * @returns {Selection}
 */
function write (parent, text, { x, y, size, bold, muted, anchor = 'start' }) {
  const weight = bold ? 'bold' : null
  const place = { x, y, 'font-size': size, class: muted ? 'muted' : null }
  return add(parent, 'text', { ...place, 'font-weight': weight, 'text-anchor': anchor }, text)
}

/**
 * @param {Selection} parent
 * @param {string} kind  of element
 * @param {Record<string, any>} attributes  null for none
 * @param {string} [text]
 * @returns {Selection}
 */
function add (parent, kind, attributes, text = '') {
  const element = parent.append(kind)
  for (const [name, value] of Object.entries(attributes)) element.attr(name, value)
  return text ? element.text(text) : element
}

// Bars: horizontal, from zero, so that length is time, or speed.

const TICKS = 6
const BARS_GAP = 20
const TITLE_HEIGHT = 22
const GROUP_GAP = 14

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
 * @typedef {object} BarLayout
 * @property {number} [columns]  of groups; only the first one has the labels of the rows
 * @property {boolean} [hasOwnRows]  each group has rows, and so labels, of its own
 * @property {number} barHeight
 * @property {number} rowGap
 * @property {number} labelWidth
 * @property {number} valueWidth  room for the text behind the longest bar
 * @property {(tick: number) => string} [formatTick]  all groups have one scale, with ticks; without it each has its own
 */

/**
 * @param {Canvas} canvas
 * @param {Group[]} groups
 * @param {BarLayout} layout
 * @returns {number}  where the drawing ends
 */
function drawBars (canvas, groups, { columns = 1, hasOwnRows = false, labelWidth, valueWidth, formatTick, ...layout }) {
  const labelledColumns = hasOwnRows ? columns : 1
  const width = (WIDTH - 2 * MARGIN - labelWidth * labelledColumns - BARS_GAP * (columns - 1)) / columns
  const stride = width + BARS_GAP + (hasOwnRows ? labelWidth : 0)
  const createScale = (/** @type {Group[]} */ some) => {
    const bars = some.flatMap(({ rows }) => rows.flatMap(({ bars }) => bars))
    const longest = Math.max(0, ...bars.flatMap(({ max, goal = 0 }) => [max, goal])) || 1
    return canvas.d3.scaleLinear().domain([0, longest]).range([0, width - valueWidth])
  }
  const shared = formatTick && createScale(groups)
  let bottom = TOP + 8
  for (let first = 0; first < groups.length; first += columns) {
    const line = groups.slice(first, first + columns)
    for (const [column, group] of line.entries()) {
      const x = MARGIN + labelWidth + column * stride
      const panel = add(canvas.svg, 'g', { class: 'panel', transform: `translate(${x},${bottom})` })
      const labels = { hasLabels: column < labelledColumns, titleX: labelledColumns === columns ? -labelWidth : 0 }
      drawGroup(panel, group, { ...layout, ...labels, hasGrid: Boolean(shared), scale: shared ?? createScale([group]) })
    }
    bottom += Math.max(...line.map((group) => measureGroup(group, layout)))
  }
  if (!formatTick) return bottom
  for (const tick of shared.ticks(TICKS)) {
    const x = MARGIN + labelWidth + shared(tick)
    write(canvas.svg, formatTick(tick), { x, y: bottom + 8, size: 11, muted: true, anchor: 'middle' })
  }
  return bottom + 24
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
 * @param {Selection} panel
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
 * @param {Selection} panel
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

// Lines: small panels, all on one logarithmic axis of sizes, so that the eye compares heights only.

const PLOT_HEIGHT = 170
const PANEL_HEIGHT = PLOT_HEIGHT + 92
const AXIS_WIDTH = 52
const LINES_GAP = 18
// Room for half of a size's name on either side.
const INSET = 18

/** @typedef {{ x: number, y: number, isHollow?: boolean }} Point */
/** @typedef {{ x: any, y: any }} Scales */

/**
 * @typedef {object} Panel
 * @property {string} name
 * @property {string} meaning
 * @property {Point[][]} series  a line for each look of the canvas, in their order
 * @property {(group: Selection, scales: Scales) => void} [annotate]
 */

/**
 * @typedef {object} LineLayout
 * @property {number[]} sizes  all that were measured
 * @property {number[]} named  those that have a tick, if there is room, in ascending order
 * @property {(size: number) => string} formatSize
 * @property {string} axis  what the sizes are of
 * @property {string} [unit]  all panels share one logarithmic scale of it; without it each has its own, from zero
 */

/**
 * @param {Canvas} canvas
 * @param {Panel[]} panels
 * @param {LineLayout} layout
 * @returns {number}  where the drawing ends
 */
function drawLines (canvas, panels, { sizes, unit, ...axis }) {
  const { d3, svg } = canvas
  const columns = Math.min(3, panels.length)
  const width = (WIDTH - 2 * MARGIN - LINES_GAP * (columns - 1)) / columns - (unit ? AXIS_WIDTH / columns : AXIS_WIDTH)
  const [least, most] = [Math.min(...sizes), Math.max(...sizes)]
  // One size alone has no width: it goes in the middle.
  const domain = least === most ? [least / 2, most * 2] : [least, most]
  const x = d3.scaleLog().base(2).domain(domain).range([INSET, width - INSET])
  const shared = unit && createHeights(d3, panels.flatMap(({ series }) => series), true)
  for (const [index, { name, meaning, series, annotate }] of panels.entries()) {
    const column = index % columns
    const left = MARGIN + AXIS_WIDTH + column * (width + LINES_GAP + (unit ? 0 : AXIS_WIDTH))
    const top = TOP + 50 + Math.floor(index / columns) * PANEL_HEIGHT
    const group = add(svg, 'g', { class: 'panel', transform: `translate(${left},${top})` })
    const { y, ticks } = shared || createHeights(d3, series, false)
    write(group, name, { x: 0, y: -25, size: 14, bold: true })
    write(group, meaning, { x: 0, y: -9, size: 11, muted: true })
    if (unit && column === 0) write(group, unit, { x: -8, y: -9, size: 11, muted: true, anchor: 'end' })
    drawAxes(group, { x, y }, ticks, { ...axis, width, hasFigures: !unit || column === 0 })
    for (const [look, points] of series.entries()) drawSeries(canvas, group, { x, y }, look, points)
    annotate?.(group, { x, y })
  }
  return TOP + Math.ceil(panels.length / columns) * PANEL_HEIGHT + 16
}

/**
 * @param {any} d3
 * @param {Point[][]} series
 * @param {boolean} isLog
 * @returns {{ y: any, ticks: number[] }}
 */
function createHeights (d3, series, isLog) {
  const values = series.flat().map(({ y }) => y)
  if (!isLog) {
    const y = d3.scaleLinear().domain([0, Math.max(...values) * 1.15]).range([PLOT_HEIGHT, 0])
    return { y, ticks: y.ticks(5) }
  }
  // Below the lowest mark there is room for what is written about those between.
  const [least, most] = [Math.min(...values) / 2.5, Math.max(...values) * 1.6]
  // Powers of ten, and what lies between them where few of these fit.
  const steps = most / least > 300 ? [1] : [1, 3]
  const ticks = Array.from({ length: 12 }, (_, index) => steps.map((step) => Number(`${step}e${index - 3}`))).flat()
  return {
    y: d3.scaleLog().domain([least, most]).range([PLOT_HEIGHT, 0]),
    ticks: ticks.filter((tick) => tick >= least && tick <= most)
  }
}

/**
 * @param {Selection} group
 * @param {Scales} scales
 * @param {number[]} ticks
 * @param {Pick<LineLayout, 'named' | 'formatSize' | 'axis'> & { width: number, hasFigures: boolean }} look
 */
function drawAxes (group, { x, y }, ticks, { named, formatSize, axis, width, hasFigures }) {
  for (const tick of ticks) {
    drawLine(group, tick === 0 ? 'axis' : 'grid', [0, width, y(tick), y(tick)])
    if (hasFigures) write(group, tick.toLocaleString('en'), { x: -8, y: y(tick) + 4, size: 11, muted: true, anchor: 'end' })
  }
  drawLine(group, 'axis', [0, width, PLOT_HEIGHT, PLOT_HEIGHT])
  let end = -Infinity
  for (const size of named) {
    const name = formatSize(size)
    const reach = name.length * 11 * CHAR_WIDTH / 2
    // A name that would run into the one before it is left out: logs of one size differ by some bytes.
    if (x(size) - reach < end) continue
    end = x(size) + reach + 4
    drawLine(group, 'axis', [x(size), x(size), PLOT_HEIGHT, PLOT_HEIGHT + 4])
    write(group, name, { x: x(size), y: PLOT_HEIGHT + 17, size: 11, muted: true, anchor: 'middle' })
  }
  write(group, axis, { x: width / 2, y: PLOT_HEIGHT + 33, size: 11, muted: true, anchor: 'middle' })
}

/**
 * @param {Canvas} canvas
 * @param {Selection} group
 * @param {Scales} scales
 * @param {number} look
 * @param {Point[]} points
 */
function drawSeries (canvas, group, { x, y }, look, points) {
  for (const [from, to] of canvas.d3.pairs(points)) {
    const dashes = from.isHollow || to.isHollow ? '5 5' : null
    const pen = { 'stroke-width': canvas.looks[look].lineWidth, 'stroke-linecap': 'round', 'stroke-dasharray': dashes }
    drawLine(group, `stroke-${look}`, [x(from.x), x(to.x), y(from.y), y(to.y)], pen)
  }
  const scale = points.length > 20 ? 0.3 : 1
  for (const { isHollow, ...point } of points) {
    drawMarker(canvas, group, look, { x: x(point.x), y: y(point.y), scale, hollow: isHollow })
  }
}

/** @param {number[]} counts  how often each case ran; none where all were scaled, which run once */
function describeRuns (counts) {
  const [least, most] = [Math.min(...counts, Infinity), Math.max(...counts, 1)]
  return most === 1 ? 'one run' : `median of ${least === most ? most : `${least} to ${most}`} runs`
}

/**
 * What a chart says at its foot.
 * @param {string} input  what was read
 * @param {{ machine: string, node: string }} facts
 * @param {number[]} counts  how often each case ran
 */
function describeSetting (input, { machine, node }, counts) {
  return `${input}, page cache warm, ${describeRuns(counts)}. ${machine.replace(/, \d+ GiB.*/, '')}, Node ${node}`
}

/**
 * @param {string} folder
 * @param {string} name
 * @param {string} svg
 * @returns {string[]}  the files written
 */
function saveChart (folder, name, svg) {
  const fontFiles = ['DejaVuSans.ttf', 'DejaVuSans-Bold.ttf'].map((name) => path.join(FONTS, name))
  const font = { fontFiles, loadSystemFonts: false, defaultFontFamily: 'DejaVu Sans' }
  const [svgFile, pngFile] = ['svg', 'png'].map((kind) => path.join(folder, `${name}.${kind}`))
  fs.writeFileSync(svgFile, svg)
  fs.writeFileSync(pngFile, new Resvg(svg, { fitTo: { mode: 'zoom', value: ZOOM }, font }).render().asPng())
  return [svgFile, pngFile]
}

exports.chooseLooks = chooseLooks
exports.drawSymbol = drawSymbol
exports.drawChart = drawChart
exports.drawBars = drawBars
exports.drawLines = drawLines
exports.describeRuns = describeRuns
exports.describeSetting = describeSetting
exports.saveChart = saveChart
exports.add = add
exports.write = write
