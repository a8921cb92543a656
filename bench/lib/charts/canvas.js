'use strict'
// The card that every chart is drawn on: background, title, legend, footer; and the way from there to SVG text.

const { chooseLooks, writeStyle } = require('./palette')

const WIDTH = 830
const MARGIN = 24
// Of DejaVu Sans, the widest of the fonts that the style names: no label runs into the next one.
const CHAR_WIDTH = 0.62

/** A selection of d3, which comes without types here. @typedef {any} Selection */

/**
 * @typedef {object} Canvas
 * @property {any} d3
 * @property {Selection} svg
 * @property {import('./palette').Look[]} looks  one for each stack
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
 * @param {import('./palette').Look[]} looks
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
 * @param {import('./palette').Look} look
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

exports.createCanvas = createCanvas
exports.drawMarker = drawMarker
exports.write = write
exports.WIDTH = WIDTH
exports.MARGIN = MARGIN
