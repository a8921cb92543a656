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
// A stack keeps its colour when another joins: the first is always the first here, the last always the second. Those
// between are finer: they often take as long as the first, and are drawn over it, so that both can still be seen.
const FIRST = { light: '#0072b2', dark: '#56b4e9', marker: 'circle', markerSize: 50, lineWidth: 3 }
const LAST = { light: '#d55e00', dark: '#f0a030', marker: 'square', markerSize: 44, lineWidth: 2.2 }
const FINE = { markerSize: 22, lineWidth: 1.5 }
const BETWEEN = [
  { light: '#009e73', dark: '#2fc89a', marker: 'triangle', ...FINE },
  { light: '#cc79a7', dark: '#e39ac2', marker: 'diamond', ...FINE },
  { light: '#8a6d00', dark: '#f0e442', marker: 'cross', ...FINE }
]

/**
 * `markerSize` is an area, as d3 has it.
 * @typedef {{ light: string, dark: string, marker: string, markerSize: number, lineWidth: number }} Look
 */

/**
 * @param {number} count  how many stacks there are
 * @returns {Look[]}  one for each, in order
 */
function chooseLooks (count) {
  return Array.from({ length: count }, (_, index) => {
    if (index === 0) return FIRST
    return index === count - 1 ? LAST : BETWEEN[(index - 1) % BETWEEN.length]
  })
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
 * @param {object} words
 * @param {string} words.title
 * @param {string} words.subtitle
 * @param {string[]} words.stacks  labels for the legend
 * @param {'lines' | 'bars'} words.marks  what the legend explains
 * @param {string} [words.hollow]  what hollow marks mean, if there are any
 * @returns {Promise<Canvas>}
 */
async function createCanvas ({ title, subtitle, stacks, marks, hollow }) {
  const { D3Node } = await import('d3-node')
  const node = new D3Node()
  const looks = chooseLooks(stacks.length)
  const svg = node.createSVG(WIDTH, 1)
  svg.attr('role', 'img').attr('aria-label', `${title}. ${subtitle}`)
  svg.append('title').text(title)
  svg.append('style').text(writeStyle(looks))
  const card = svg.append('rect').attr('class', 'card').attr('x', 0.5).attr('y', 0.5).attr('rx', 8)

  write(svg, title, { x: MARGIN, y: 36, size: 17, bold: true })
  write(svg, subtitle, { x: MARGIN, y: 57, size: 12, muted: true })
  drawLegend(node.d3, svg, looks, { stacks, marks, hollow })

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
 * @param {{ stacks: string[], marks: 'lines' | 'bars', hollow: string | undefined }} words
 */
function drawLegend (d3, svg, looks, { stacks, marks, hollow }) {
  const legend = svg.append('g').attr('class', 'legend')
  let x = MARGIN
  const add = (/** @type {string} */ label, /** @type {number} */ width) => {
    write(legend, label, { x: x + width, y: 84, size: 12 })
    x += width + label.length * 12 * CHAR_WIDTH + 24
  }
  for (const [index, label] of stacks.entries()) {
    if (marks === 'bars') {
      legend.append('rect').attr('class', `fill-${index}`)
        .attr('x', x).attr('y', 74).attr('width', 24).attr('height', 11)
    } else {
      legend.append('line').attr('class', `stroke-${index}`).attr('stroke-width', looks[index].lineWidth)
        .attr('x1', x).attr('x2', x + 24).attr('y1', 80).attr('y2', 80)
      drawMarker(d3, legend, looks[index], index, { x: x + 12, y: 80 })
    }
    add(label, 32)
  }
  if (hollow === undefined) return
  legend.append('line').attr('class', 'axis').attr('stroke-width', 2)
    .attr('stroke-dasharray', '5 4').attr('x1', x).attr('x2', x + 24).attr('y1', 80).attr('y2', 80)
  legend.append('circle').attr('class', 'hollow axis').attr('stroke-width', 2)
    .attr('cx', x + 12).attr('cy', 80).attr('r', 4)
  add(hollow, 32)
}

/**
 * @param {any} d3
 * @param {Selection} parent
 * @param {Look} look
 * @param {number} index  of the stack
 * @param {{ x: number, y: number, scale?: number, hollow?: boolean }} place  `scale` is of its area
 */
function drawMarker (d3, parent, look, index, { x, y, scale = 1, hollow = false }) {
  const shapes = {
    circle: d3.symbolCircle,
    square: d3.symbolSquare,
    triangle: d3.symbolTriangle,
    diamond: d3.symbolDiamond,
    cross: d3.symbolCross
  }
  const shape = shapes[/** @type {keyof typeof shapes} */ (look.marker)]
  parent.append('path').attr('d', d3.symbol(shape, look.markerSize * scale)()).attr('transform', `translate(${x},${y})`)
    .attr('class', `${hollow ? 'hollow' : `fill-${index}`} stroke-${index}`).attr('stroke-width', hollow ? 1.6 : 0)
}

/**
 * @param {Selection} parent
 * @param {string} text
 * @param {object} look
 * @param {number} look.x
 * @param {number} look.y
 * @param {number} look.size
 * @param {boolean} [look.bold]
 * @param {boolean} [look.muted]
 * @param {string} [look.anchor]
 */
function write (parent, text, { x, y, size, bold, muted, anchor = 'start' }) {
  return parent.append('text').attr('x', x).attr('y', y).attr('font-size', size).attr('class', muted ? 'muted' : null)
    .attr('font-weight', bold ? 'bold' : null).attr('text-anchor', anchor).text(text)
}

/**
 * @param {string} svg
 * @returns {Buffer}
 */
function renderPng (svg) {
  const resvg = new Resvg(svg, {
    fitTo: { mode: 'zoom', value: ZOOM },
    font: {
      fontFiles: [path.join(FONTS, 'DejaVuSans.ttf'), path.join(FONTS, 'DejaVuSans-Bold.ttf')],
      loadSystemFonts: false,
      defaultFontFamily: 'DejaVu Sans'
    }
  })
  return resvg.render().asPng()
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
exports.write = write
exports.describeSetting = describeSetting
exports.saveChart = saveChart
exports.WIDTH = WIDTH
exports.MARGIN = MARGIN
