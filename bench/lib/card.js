'use strict'
// The card that every chart is drawn on: background, title, legend, footer, and the way to SVG and PNG files. It is as
// narrow as it can be read on a phone: at 328 pixels, which a README has there, the smallest text is 7 pixels high. The
// hues are Okabe and Ito's, which colour-blind people tell apart; every stack has a marker of its own too.

const fs = require('node:fs')
const path = require('node:path')
const { Resvg } = require('@resvg/resvg-js')

const WIDTH = 560
const MARGIN = 24
const INNER_WIDTH = WIDTH - 2 * MARGIN
const SMALL = 12
const LINE_HEIGHT = 17
// In parts of its size, of DejaVu Sans, the widest of the fonts that the style names: nothing runs into what follows.
const CHAR_WIDTH = { narrow: 0.36, wide: 0.98, tall: 0.66, other: 0.61 }
const BOLD = 1.1
// A font from a package and no other: the same picture on a machine that has no fonts at all.
const FONTS = path.join(path.dirname(require.resolve('dejavu-fonts-ttf/package.json')), 'ttf')
// Twice the size in the README, for screens with fine pixels.
const ZOOM = 2
// A stack keeps its colour when another joins: the first is always the first here, the last always the last. Those
// between are finer: they often take as long as the first, and are drawn over it, so that both can still be seen. `ink`
// is for text on a light card, which needs more contrast than a mark.
const FINE = { markerSize: 22, lineWidth: 1.5 }
const FIRST = { light: '#0072b2', dark: '#56b4e9', ink: '#0072b2', marker: 'symbolCircle', markerSize: 50, lineWidth: 3 }
const LAST = { light: '#d55e00', dark: '#f0a030', ink: '#b34d00', marker: 'symbolSquare', markerSize: 44, lineWidth: 2.2 }
const BETWEEN = [
  { light: '#009e73', dark: '#2fc89a', ink: '#007a58', marker: 'symbolTriangle', ...FINE },
  { light: '#cc79a7', dark: '#e39ac2', ink: '#a8487e', marker: 'symbolDiamond', ...FINE },
  { light: '#8a6d00', dark: '#f0e442', ink: '#8a6d00', marker: 'symbolCross', ...FINE }
]

/** `marker` is what d3 calls it, and `markerSize` an area. @typedef {typeof FIRST} Look */
/** A selection of d3, which comes without types here. @typedef {any} Selection */

/**
 * @typedef {object} Words
 * @property {string} title  takes two lines at most: some 90 characters
 * @property {string} subtitle
 * @property {string[]} stacks  labels for the legend
 * @property {'lines' | 'bars'} marks  what the legend explains
 * @property {string} [hollow]  what hollow marks mean, if there are any
 * @property {string[]} footer
 */

/**
 * @typedef {object} Canvas
 * @property {any} d3
 * @property {Selection} svg
 * @property {Look[]} looks  one for each stack
 * @property {string[]} stacks
 * @property {number} top  where the chart proper begins
 */

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
  let y = writeLines(svg, title, { x: MARGIN, y: 36, size: 17, bold: true, height: 23 })
  y = writeLines(svg, subtitle, { x: MARGIN, y, size: SMALL + 0.5, muted: true })
  const canvas = { d3: node.d3, svg, looks, stacks: words.stacks, top: 0 }
  canvas.top = drawLegend(canvas, words, y + 6)
  y = draw(canvas) + 1.5 * LINE_HEIGHT
  for (const text of footer) y = writeLines(svg, text, { x: MARGIN, y, size: SMALL, muted: true })
  svg.attr('height', y).attr('viewBox', `0 0 ${WIDTH} ${y}`)
  card.attr('width', WIDTH - 1).attr('height', y - 1)
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
  /** @type {(mode: 'light' | 'dark', ink: 'ink' | 'dark') => string} */
  const paint = (mode, ink) => looks.map(({ [mode]: hue, [ink]: dye }, index) => {
    return `.fill-${index} { fill: ${hue} } .stroke-${index} { stroke: ${hue} } .ink-${index} { fill: ${dye} }`
  }).join(' ')
  return `
    text { font-family: 'DejaVu Sans', Verdana, sans-serif; fill: #1f2328 }
    .card { fill: #ffffff; stroke: #d1d9e0 } .hollow { fill: #ffffff } .gap, .halo { stroke: #ffffff } .halo { stroke-width: 3px; paint-order: stroke }
    .muted { fill: #59636e } .grid { stroke: #e4e8ec } .axis { stroke: #8c959f } .whisker { stroke: #1f2328 } .tip { fill: #1f2328 }
    ${paint('light', 'ink')}
    @media (prefers-color-scheme: dark) {
      text { fill: #f0f6fc }
      .card { fill: #0d1117; stroke: #3d444d } .hollow { fill: #0d1117 } .gap, .halo { stroke: #0d1117 }
      .muted { fill: #9aa4ae } .grid { stroke: #252b33 } .axis { stroke: #656c76 } .whisker { stroke: #f0f6fc } .tip { fill: #f0f6fc }
      ${paint('dark', 'dark')}
    }`
}

/**
 * @param {Canvas} canvas
 * @param {Pick<Words, 'stacks' | 'marks' | 'hollow'>} words
 * @param {number} y  the middle of its first line
 * @returns {number}  where it ends
 */
function drawLegend (canvas, { stacks, marks, hollow }, y) {
  const legend = add(canvas.svg, 'g', { class: 'legend' })
  let x = MARGIN
  const label = (/** @type {string} */ text, /** @type {() => void} */ draw) => {
    const width = 30 + measureText(text, SMALL)
    if (x > MARGIN && x + width > WIDTH - MARGIN) [x, y] = [MARGIN, y + 20]
    draw()
    write(legend, text, { x: x + 30, y: y + 4, size: SMALL })
    x += width + 20
  }
  for (const [index, stack] of stacks.entries()) {
    label(stack, () => {
      if (marks === 'bars') return add(legend, 'rect', { class: `fill-${index}`, x, y: y - 6, width: 24, height: 11 })
      drawLine(legend, `stroke-${index}`, [x, x + 24, y, y], { 'stroke-width': canvas.looks[index].lineWidth })
      drawMarker(canvas, legend, index, { x: x + 12, y })
    })
  }
  if (hollow !== undefined) {
    label(hollow, () => {
      drawLine(legend, 'axis', [x, x + 24, y, y], { 'stroke-width': 2, 'stroke-dasharray': '5 4' })
      add(legend, 'circle', { class: 'hollow axis', 'stroke-width': 2, cx: x + 12, cy: y, r: 4 })
    })
  }
  return y + 20
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

/** @type {(group: Selection, axis: any, kind: 'axis' | 'grid') => void} an axis of d3 in the colours of the card */
function drawAxis (group, axis, kind) {
  const own = group.append('g').call(axis).attr('font-size', SMALL).attr('font-family', null)
  own.select('.domain').remove()
  own.selectAll('line').attr('stroke', null).attr('class', kind)
  own.selectAll('text').attr('fill', null).attr('class', 'muted')
}

/**
 * @param {string} text
 * @param {number} size
 * @param {boolean} [isBold]
 * @returns {number}  its width at most, in about all cases
 */
function measureText (text, size, isBold = false) {
  const widths = [...text].map((char) => {
    if (/[ .,:;'|!ijlftr()[\]/-]/.test(char)) return CHAR_WIDTH.narrow
    if (/[mwMW%@→]/.test(char)) return CHAR_WIDTH.wide
    return /[A-Z0-9]/.test(char) ? CHAR_WIDTH.tall : CHAR_WIDTH.other
  })
  return size * (isBold ? BOLD : 1) * widths.reduce((sum, width) => sum + width, 0)
}

/** @type {(text: string, width: number, size: number, isBold?: boolean) => string[]} lines that are no wider */
function wrap (text, width, size, isBold) {
  /** @type {string[]} */
  const lines = []
  for (const word of text.split(' ').filter(Boolean)) {
    const longer = lines.length > 0 ? `${lines[lines.length - 1]} ${word}` : word
    if (lines.length > 0 && measureText(longer, size, isBold) <= width) lines[lines.length - 1] = longer
    else lines.push(word)
  }
  return lines
}

/**
 * @typedef {object} TextLook
 * @property {number} x
 * @property {number} y
 * @property {number} size
 * @property {boolean} [bold]
 * @property {boolean} [muted]
 * @property {string} [anchor]
 * @property {string} [kind]  a class
 */

/** @type {(parent: Selection, text: string, look: TextLook) => Selection} */
function write (parent, text, { x, y, size, bold, muted, anchor = 'start', kind }) {
  const weight = bold ? 'bold' : null
  const place = { x, y, 'font-size': size, class: kind ?? (muted ? 'muted' : null) }
  return add(parent, 'text', { ...place, 'font-weight': weight, 'text-anchor': anchor }, text)
}

/**
 * One text, in as many lines as the width needs.
 * @type {(parent: Selection, text: string, look: TextLook & { width?: number, height?: number }) => number} gives the
 *   base line of what follows
 */
function writeLines (parent, text, { width = INNER_WIDTH, height = LINE_HEIGHT, ...look }) {
  const lines = wrap(text, width, look.size, look.bold)
  const whole = write(parent, '', look)
  for (const [index, line] of lines.entries()) add(whole, 'tspan', { x: look.x, y: look.y + index * height }, line)
  return look.y + lines.length * height
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

exports.INNER_WIDTH = INNER_WIDTH
exports.MARGIN = MARGIN
exports.SMALL = SMALL
exports.LINE_HEIGHT = LINE_HEIGHT
exports.chooseLooks = chooseLooks
exports.drawSymbol = drawSymbol
exports.drawChart = drawChart
exports.drawMarker = drawMarker
exports.drawAxis = drawAxis
exports.drawLine = drawLine
exports.measureText = measureText
exports.wrap = wrap
exports.write = write
exports.writeLines = writeLines
exports.add = add
exports.saveChart = saveChart
