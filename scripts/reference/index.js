'use strict'
// The reference: the page of the command, and one for each package, made from the types and comments of its sources.
// That of @millrace/errors begins with the error codes.

const path = require('node:path')
const { commandNames, loadCommand } = require('../../packages/millrace/lib/cli/commands')
const { createReference: createCommandPage } = require('../../packages/millrace/lib/cli/reference')
const { createErrorCodes } = require('./error-codes')
const { PackagePage } = require('./package-page')
const { Packages, root } = require('./packages')
const { Places } = require('./places')
const { Shapes } = require('./shapes')

/**
 * @typedef {object} Reference
 * @property {Map<string, string>} pages  the text of each, by the name of its file
 * @property {string[]} missing  options and calls without a description
 */

const folder = path.join(root, 'docs', 'reference')

/** @returns {Reference} */
function createReference () {
  const packages = new Packages()
  const shapes = new Shapes(packages)
  const places = new Places(packages, shapes)
  const writers = [...places.pages.values()].map((page) => new PackagePage(packages, shapes, places, page))
  const texts = writers.map((writer) => ({ writer, main: writer.writeMain(), types: '' }))
  // The types of one package may name those of another one.
  for (let hasMore = true; hasMore;) {
    hasMore = false
    for (const text of texts) {
      const more = text.writer.writeTypes()
      if (more === '') continue
      text.types += `\n\n${more}`
      hasMore = true
    }
  }
  const pages = new Map([['command.md', createCommandPage(commandNames.map(loadCommand))]])
  for (const { writer, main, types } of texts) {
    const head = writer.folder === 'errors' ? createErrorCodes() : writer.writeHead()
    pages.set(`${writer.folder}.md`, `${head}\n\n${main}${types === '' ? '' : `\n\n## Types${types}`}\n`)
  }
  return { pages, missing: [...new Set(texts.flatMap(({ writer }) => writer.missing))].sort() }
}

exports.createReference = createReference
exports.folder = folder
