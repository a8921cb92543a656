'use strict'
// What the tables have in common whose rows are measured at sizes: of blocks, or of batches.

const { drawSizes } = require('../engine/draw')
const { formatRange, gridOfSizes, listAbsent, textsOfSizes, toMarkdown } = require('../engine/grids')
const { OURS } = require('../engine/judge')

/** @typedef {import('../engine/results').Results} Results */
/** @typedef {Parameters<typeof drawSizes>[2]} Words */
/**
 * `peer`: whom ours is compared with, in these rows at that size.
 * @typedef {{ rows: string[], peer: string, at: number, verbs: [string, string], place: string }} Beside
 */

/**
 * @param {object} look
 * @param {string} look.unit  of a figure, in words
 * @param {string} look.size  what is varied: `block`
 * @param {(size: number) => string} look.nameOf
 * @param {(results: Results) => string[]} [look.describe]  what else there is to say of the results
 * @param {string} look.chart
 * @param {Omit<Words, 'footer' | 'compared'> & { compared: Beside }} look.words
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
    charts: {
      [chart]: (results, shown) => {
        const { rows, peer, at, ...compared } = words.compared
        const names = ['Millrace', shown.peers.find(({ name }) => name === peer)?.label ?? peer]
        /** @type {import('../engine/draw').Compared['pairs']} */
        const pairs = rows.map((row) => [{ row, peer: OURS, at }, { row, peer, at }])
        const footer = describe(results)
        return drawSizes(results, shown, { ...words, footer, compared: { ...compared, names, pairs } })
      }
    }
  }
}

exports.showSizes = showSizes
