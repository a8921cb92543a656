'use strict'
// Lists the pages of the documentation.

const fs = require('node:fs')
const path = require('node:path')

const root = path.join(__dirname, '..')

/** @returns {string[]}  the pages in `docs`, as paths from the root, with `/`, in a fixed order */
function listDocuments () {
  const names = fs.readdirSync(path.join(root, 'docs'), { recursive: true, encoding: 'utf8' })
  return names.filter((name) => name.endsWith('.md')).map((name) => path.posix.join('docs', ...name.split(path.sep))).sort()
}

exports.listDocuments = listDocuments
