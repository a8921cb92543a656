'use strict'
// The card that every chart is drawn on: background, title, legend, footer; and the way from there to SVG and PNG
// files. The hues are Okabe and Ito's, which colour-blind people tell apart; every stack has a marker of its own too.

const fs = require('node:fs')
const path = require('node:path')
const { Resvg } = require('@resvg/resvg-js')

const WIDTH = 830
const MARGIN = 24
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

/**
 * `marker` is what d3 calls it, and `markerSize` an area.
 * @typedef {typeof FIRST} Look
 */

/**
 * @param {number} count  how many stacks there are
 * @returns {Look[]}  one for each, in order
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

/** A selection of d3, which comes without types here. @typedef {any} Selection */

/**
 * @typedef {object} Canvas
 * @property {any} d3
 * @property {Selection} svg
 * @property {Look[]} looks  one for each stack
 * @property {number} top  where the chart proper may begin
 * @property {(text: string[], height: number) => string} finish  adds the footer, gives the SVG
 */

/**
 * @typedef {object} Words
 * @property {string} title
 * @property {string} subtitle
 * @property {string[]} stacks  labels for the legend
 * @property {'lines' | 'bars'} marks  what the legend explains
 * @property {string} [hollow]  what hollow marks mean, if there are any
 */

/**
 * @param {Words} words
 * @returns {Promise<Canvas>}
 */
async function createCanvas ({ title, subtitle, ...words }) {
  const { D3Node } = await import('d3-node')
  const node = new D3Node()
  const looks = chooseLooks(words.stacks.length)
  const svg = node.createSVG(WIDTH, 1).attr('role', 'img').attr('aria-label', `${title}. ${subtitle}`)
  add(svg, 'title', {}, title)
  add(svg, 'style', {}, writeStyle(looks))
  const card = add(svg, 'rect', { class: 'card', x: 0.5, y: 0.5, rx: 8 })
  write(svg, title, { x: MARGIN, y: 36, size: 17, bold: true })
  write(svg, subtitle, { x: MARGIN, y: 57, size: 12, muted: true })
  drawLegend(node.d3, svg, looks, words)
  return {
    d3: node.d3,
    svg,
    looks,
    top: 104,
    finish (lines, height) {
      for (const [index, text] of lines.entries()) {
        write(svg, text, { x: MARGIN, y: height - 16 - 15 * (lines.length - 1 - index), size: 10, muted: true })
      }
      svg.attr('height', height).attr('viewBox', `0 0 ${WIDTH} ${height}`)
      card.attr('width', WIDTH - 1).attr('height', height - 1)
      // As XML, not as HTML: an SVG file is read by parsers that forgive nothing.
      return new node.window.XMLSerializer().serializeToString(svg.node()) + '\n'
    }
  }
}

/**
 * @param {any} d3
 * @param {Selection} svg
 * @param {Look[]} looks
 * @param {Omit<Words, 'title' | 'subtitle'>} words
 */
function drawLegend (d3, svg, looks, { stacks, marks, hollow }) {
  const legend = add(svg, 'g', { class: 'legend' })
  let x = MARGIN
  const label = (/** @type {string} */ text) => {
    write(legend, text, { x: x + 32, y: 84, size: 12 })
    x += 32 + text.length * 12 * CHAR_WIDTH + 24
  }
  for (const [index, stack] of stacks.entries()) {
    if (marks === 'bars') add(legend, 'rect', { class: `fill-${index}`, x, y: 74, width: 24, height: 11 })
    else {
      drawLine(legend, `stroke-${index}`, [x, x + 24, 80, 80], { 'stroke-width': looks[index].lineWidth })
      drawMarker(d3, legend, looks[index], index, { x: x + 12, y: 80 })
    }
    label(stack)
  }
  if (hollow === undefined) return
  drawLine(legend, 'axis', [x, x + 24, 80, 80], { 'stroke-width': 2, 'stroke-dasharray': '5 4' })
  add(legend, 'circle', { class: 'hollow axis', 'stroke-width': 2, cx: x + 12, cy: 80, r: 4 })
  label(hollow)
}

/**
 * @param {any} d3
 * @param {Selection} parent
 * @param {Look} look
 * @param {number} index  of the stack
 * @param {{ x: number, y: number, scale?: number, hollow?: boolean }} place  `scale` is of its area
 */
function drawMarker (d3, parent, look, index, { x, y, scale = 1, hollow = false }) {
  add(parent, 'path', {
    d: d3.symbol(d3[look.marker], look.markerSize * scale)(),
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

/**
 * @param {string} svg
 * @returns {Buffer}
 */
function renderPng (svg) {
  const fontFiles = ['DejaVuSans.ttf', 'DejaVuSans-Bold.ttf'].map((name) => path.join(FONTS, name))
  const font = { fontFiles, loadSystemFonts: false, defaultFontFamily: 'DejaVu Sans' }
  return new Resvg(svg, { fitTo: { mode: 'zoom', value: ZOOM }, font }).render().asPng()
}

/**
 * What a chart says at its foot.
 * @param {string} input  what was read
 * @param {{ cpu: string, cores: number, node: string }} facts
 * @param {number[]} counts  how often each case ran
 */
function describeSetting (input, { cpu, cores, node }, counts) {
  const [least, most] = [Math.min(...counts), Math.max(...counts)]
  const runs = most === 1 ? 'one run' : `median of ${least === most ? most : `${least} to ${most}`} runs`
  return `${input}, page cache warm, ${runs}. ${cpu}, ${cores} cores, Node ${node}`
}

/**
 * @param {string} folder
 * @param {string} name
 * @param {string} svg
 * @returns {string[]}  the files written
 */
function saveChart (folder, name, svg) {
  const [svgFile, pngFile] = ['svg', 'png'].map((kind) => path.join(folder, `${name}.${kind}`))
  fs.writeFileSync(svgFile, svg)
  fs.writeFileSync(pngFile, renderPng(svg))
  return [svgFile, pngFile]
}

exports.createCanvas = createCanvas
exports.drawMarker = drawMarker
exports.drawLine = drawLine
exports.add = add
exports.write = write
exports.describeSetting = describeSetting
exports.saveChart = saveChart
exports.WIDTH = WIDTH
exports.MARGIN = MARGIN
