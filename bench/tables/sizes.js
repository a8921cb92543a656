'use strict'
// What the tables have in common whose rows are measured at sizes: of blocks, or of batches.

const { drawSizes } = require('../engine/draw')
const { formatRange, gridOfSizes, listAbsent, textsOfSizes, toMarkdown } = require('../engine/grids')

/** @typedef {import('../engine/results').Results} Results */
/** @typedef {Parameters<typeof drawSizes>[2]} Words */

/**
 * @param {object} look
 * @param {string} look.unit  of a figure, in words
 * @param {string} look.size  what is varied: `block`
 * @param {(size: number) => string} look.nameOf
 * @param {(results: Results) => string[]} [look.describe]  what else there is to say of the results
 * @param {string} look.chart
 * @param {Omit<Words, 'footer'>} look.words
 * @returns {Pick<import('../engine/row').Table, 'format' | 'tables' | 'charts'>}
 */
function showSizes ({ unit, size, nameOf, describe = () => [], chart, words }) {
  return {
    format: (results, { rows, peers }) => [
      `${unit}, median (min-max); ratio: to the first column`,
      ...textsOfSizes(results, { rows, peers }, size, nameOf),
      ...describe(results),
      ...listAbsent(results, rows, peers)
    ],
    tables: {
      '': (results, shown) => [toMarkdown(gridOfSizes(results, shown, {
        head: `${unit}|${size}`, lead: ({ name }, at) => [`\`${name}\``, nameOf(Number(at))], sizes: results.listAt(), format: formatRange(results)
      })), ...describe(results)].join('\n\n')
    },
    charts: { [chart]: (results, shown) => drawSizes(results, shown, { ...words, footer: describe(results) }) }
  }
}

exports.showSizes = showSizes
