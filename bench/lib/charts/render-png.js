'use strict'
// From SVG to PNG with a font from a package and no other: the same picture on a machine that has no fonts at all.

const path = require('node:path')
const { Resvg } = require('@resvg/resvg-js')

const FONTS = path.join(path.dirname(require.resolve('dejavu-fonts-ttf/package.json')), 'ttf')
// Twice the size in the README, for screens with fine pixels.
const ZOOM = 2

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

exports.renderPng = renderPng
