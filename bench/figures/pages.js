'use strict'
// Finds the markers in all pages, and writes between them what `data/` says now. A table is between two lines:
//
//     <!-- figures: peers -->
//     <!-- figures end -->
//
// A figure in a sentence is between <!-- figure: peers scan checked / sqlite --> and <!-- end -->.

const fs = require('node:fs')
const path = require('node:path')
const { listPages } = require('../../scripts/pages')
const { UserError } = require('../lib/run')
const { openSources } = require('./sources')

// In this order: a fenced example is left alone, and what is left in the end is a marker without its end.
const FENCE = /^(?<fence>`{3,}|~{3,})[^]*?^\k<fence>[ \t]*$/
const TABLE = /^<!--[ ]?figures:(?<table>[^>]*?)-->\n(?:(?!<!--)[^])*?^<!-- figures end -->$/
const FIGURE = /<!--[ ]?figure:(?<figure>[^>]*?)-->[^<]*<!-- end -->/
const OPEN = /<!--[ ]?figures?[ :][^>]*-->/
const MARKERS = new RegExp([FENCE, TABLE, FIGURE, OPEN].map(({ source }) => source).join('|'), 'gm')

/** @typedef {{ file: string, text: string, written: string }} Page  `written`: the text with the figures of now */

/**
 * Writes the figures of `data/` into every page below the root.
 * @param {string} root
 * @returns {string[]}  the pages that changed, as paths from the root
 * @throws {UserError}  if a marker asks for what is not in `data/`; no page is changed then
 */
function writePages (root) {
  const changed = composePages(root).filter(({ text, written }) => text !== written)
  for (const { file, written } of changed) fs.writeFileSync(path.join(root, file), written)
  return changed.map(({ file }) => file)
}

/** @type {(root: string) => Page[]} the pages that have markers */
function composePages (root) {
  const sources = openSources(path.join(root, 'data'))
  /** @type {string[]} */
  const faults = []
  const pages = listPages(root).flatMap((file) => {
    const text = fs.readFileSync(path.join(root, file), 'utf8')
    if (!text.includes('<!--')) return []
    return [{ file, text, written: compose(text, sources, (line, message) => faults.push(`${file}:${line}: ${message}`)) }]
  })
  if (faults.length > 0) throw new UserError(faults.join('\n'))
  return pages
}

/**
 * @param {string} text  of a page
 * @param {import('./sources').Sources} sources
 * @param {(line: number, message: string) => void} onFault
 */
function compose (text, sources, onFault) {
  return text.replace(MARKERS, (/** @type {any[]} */ ...found) => {
    const [whole] = found
    const { fence, table, figure } = found.at(-1)
    const offset = /** @type {number} */ (found.at(-3))
    try {
      if (fence !== undefined) return whole
      if (table !== undefined) return ['<!-- figures:' + table + '-->', sources.table(table), '<!-- figures end -->'].join('\n\n')
      if (figure === undefined) throw new UserError(`${whole} has no end, or stands within a line`)
      // Markdown would take the whole line for HTML.
      if (offset === 0 || text[offset - 1] === '\n') throw new UserError(`${whole} must not begin a line`)
      return `<!-- figure:${figure}-->${sources.figure(figure)}<!-- end -->`
    } catch (err) {
      if (!(err instanceof UserError)) throw err
      onFault(text.slice(0, offset).split('\n').length, err.message)
      return whole
    }
  })
}

exports.composePages = composePages
exports.writePages = writePages
