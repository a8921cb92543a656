'use strict'
// Rows of text as lines of a terminal, each column as wide as its widest text.

/**
 * Figures end below each other; words begin below each other.
 * @param {string[][]} rows  the heads among them
 * @param {string} gap  between two columns
 * @param {(column: number) => boolean} [isWords]  which columns are words; the first, unless told
 * @returns {string[]}  a line a row, without spaces at its end
 */
function alignColumns (rows, gap, isWords = (column) => column === 0) {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)))
  return rows.map((row) => row.map((text, column) => {
    return isWords(column) ? text.padEnd(widths[column]) : text.padStart(widths[column])
  }).join(gap).trimEnd())
}

exports.alignColumns = alignColumns
