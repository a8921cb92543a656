'use strict'
// Colours and styles of the charts. The hues are Okabe and Ito's, which colour-blind people tell apart; every stack has
// a marker of its own too, so that nothing hangs on colour alone.

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

exports.chooseLooks = chooseLooks
exports.writeStyle = writeStyle
