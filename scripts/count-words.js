'use strict'
// Counts the words of the documentation that are written by hand. Usage: npm run docs:words

const fs = require('node:fs')
const path = require('node:path')
const { listPages } = require('./pages')

const root = path.join(__dirname, '..')
// A list of changes, generated pages, and the notebook of the measurements.
const OTHERS = /^(?:CHANGELOG\.md$|docs\/reference\/|bench\/notes\/)/
const GENERATED = /<!-- figures: [\s\S]*?<!-- figures end -->/g
const COMMENT = /<!--[\s\S]*?-->/g

/** @returns {Map<string, number>}  words of each page, the longest first */
function countPages () {
  const pages = listPages().filter((page) => !OTHERS.test(page))
  const counts = pages.map((page) => /** @type {[string, number]} */ ([page, countWords(fs.readFileSync(path.join(root, page), 'utf8'))]))
  return new Map(counts.sort(([, a], [, b]) => b - a))
}

/** As `wc -w` does, but for tables that are generated, and comments. @param {string} markdown */
function countWords (markdown) {
  return markdown.replace(GENERATED, '').replace(COMMENT, '').split(/\s+/).filter(Boolean).length
}

if (require.main === module) {
  const counts = countPages()
  for (const [page, count] of counts) console.log(String(count).padStart(6), page)
  console.log(String([...counts.values()].reduce((sum, count) => sum + count, 0)).padStart(6), 'all')
}

exports.countPages = countPages
exports.countWords = countWords
