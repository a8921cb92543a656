'use strict'
// Lists the pages of the documentation.

const fs = require('node:fs')
const path = require('node:path')

const root = path.join(__dirname, '..')
const NO_PAGES = ['node_modules', 'dist', 'types']

/** @returns {string[]}  the pages in `docs`, as paths from the root, with `/`, in a fixed order */
function listDocuments () {
  return listMarkdown(root, 'docs')
}

/**
 * @param {string} [from]  the root of the repository
 * @returns {string[]}  all pages that are there, in a fixed order: those of the root, of `docs`, of the packages, of
 *   the bench and of the lab
 */
function listPages (from = root) {
  const top = fs.readdirSync(from).filter((name) => name.endsWith('.md')).sort()
  const packages = path.join(from, 'packages')
  const names = fs.existsSync(packages) ? fs.readdirSync(packages).sort() : []
  const readmes = names.map((name) => `packages/${name}/README.md`)
  return [...top, ...listMarkdown(from, 'docs'), ...readmes, ...listMarkdown(from, 'bench'), ...listMarkdown(from, 'lab')]
}

/** @type {(from: string, folder: string) => string[]} */
function listMarkdown (from, folder) {
  if (!fs.existsSync(path.join(from, folder))) return []
  const names = fs.readdirSync(path.join(from, folder), { recursive: true, encoding: 'utf8' })
  const pages = names.map((name) => name.split(path.sep)).filter((parts) => {
    return parts.at(-1)?.endsWith('.md') && !parts.some((part) => NO_PAGES.includes(part))
  })
  return pages.map((parts) => path.posix.join(folder, ...parts)).sort()
}

exports.listDocuments = listDocuments
exports.listPages = listPages
