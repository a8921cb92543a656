'use strict'
// Makes a package's folder what is packed of it: code in few files, declarations, licence, a README whose links lead
// somewhere, and with `millrace` the documents. `npm pack` and `npm publish` call this before, and with --undo after.
// Usage: node scripts/pack/prepare.js <package> [--undo]

const fs = require('node:fs')
const path = require('node:path')
const { emitTypes } = require('../emit-types')
const { listDocuments } = require('../pages')
const { bundleExports, bundlePackage } = require('./bundle')
const { linksOf, rewriteLinks } = require('./links')

const root = path.join(__dirname, '..', '..')
// The package that the documents travel with.
const WITH_DOCUMENTS = 'millrace'
// What they were before; files with these names are never packed.
const KEPT = { 'README.md': '.README.kept', 'package.json': '.package.kept' }

/** @typedef {import('./links').Edition} Edition */

/**
 * @param {string} name  of a package
 * @param {string} folder  of it, or of a copy
 */
function preparePackage (name, folder) {
  restorePackage(folder)
  const manifest = JSON.parse(fs.readFileSync(path.join(folder, 'package.json'), 'utf8'))
  const { version, repository } = manifest
  const documents = name === WITH_DOCUMENTS ? findDocuments() : []
  const readme = path.posix.join('packages', name, 'README.md')
  /** @type {Edition} */
  const edition = {
    version,
    address: addressOf(repository),
    travelsAs: (file) => file === readme ? 'README.md' : documents.includes(file) ? file : null
  }
  fs.copyFileSync(path.join(root, 'LICENSE'), path.join(folder, 'LICENSE'))
  const markdown = fs.readFileSync(path.join(folder, 'README.md'), 'utf8')
  replaceFile(folder, 'README.md', rewriteLinks(markdown, readme, edition))
  const bundled = (manifest.bin ? bundleExports : bundlePackage)(folder, manifest)
  replaceFile(folder, 'package.json', `${JSON.stringify(bundled, null, 2)}\n`)
  for (const file of documents) {
    const target = path.join(folder, file)
    fs.mkdirSync(path.dirname(target), { recursive: true })
    if (!file.endsWith('.md')) fs.copyFileSync(path.join(root, file), target)
    else fs.writeFileSync(target, rewriteLinks(fs.readFileSync(path.join(root, file), 'utf8'), file, edition))
  }
}

/** @returns {string[]}  the documents and the pictures in them, as paths from the root */
function findDocuments () {
  const pages = listDocuments()
  const pictures = pages.flatMap((page) => {
    const links = linksOf(fs.readFileSync(path.join(root, page), 'utf8'))
    return links.filter((link) => link.endsWith('.svg')).map((link) => path.posix.join(path.posix.dirname(page), link))
  })
  return [...pages, ...new Set(pictures)]
}

/** @type {(folder: string, name: keyof typeof KEPT, text: string) => void} */
function replaceFile (folder, name, text) {
  fs.renameSync(path.join(folder, name), path.join(folder, KEPT[name]))
  fs.writeFileSync(path.join(folder, name), text)
}

/** @param {string} folder  of a package, prepared or not */
function restorePackage (folder) {
  const kept = Object.entries(KEPT).filter(([, keptAs]) => fs.existsSync(path.join(folder, keptAs)))
  if (kept.length === 0) return
  for (const [name, keptAs] of kept) fs.renameSync(path.join(folder, keptAs), path.join(folder, name))
  for (const name of ['LICENSE', 'dist', 'docs', 'images']) fs.rmSync(path.join(folder, name), { recursive: true, force: true })
}

/**
 * @param {{ url: string } | undefined} repository  of a manifest
 * @returns {string | null}
 */
function addressOf (repository) {
  return repository ? repository.url.replace(/^git\+/, '').replace(/\.git$/, '') : null
}

/**
 * Copies of all packages, prepared, and their declarations with them.
 * @param {string} folder  gets the folder `packages`
 * @returns {string[]}  the names of the packages
 */
function stagePackages (folder) {
  const names = fs.readdirSync(path.join(root, 'packages'))
  const folderOf = (/** @type {string} */ name) => path.join(folder, 'packages', name)
  for (const name of names) {
    const filter = (/** @type {string} */ file) => path.basename(file) !== 'node_modules'
    fs.cpSync(path.join(root, 'packages', name), folderOf(name), { recursive: true, filter })
    preparePackage(name, folderOf(name))
  }
  const problems = emitTypes(names, folderOf, { check: false })
  if (problems.length > 0) throw new Error(problems.join('\n'))
  return names
}

if (require.main === module) {
  const [name, ...rest] = process.argv.slice(2)
  const folder = path.join(root, 'packages', name)
  if (rest.includes('--undo')) restorePackage(folder)
  else {
    // `npm run types` checks the sources, all at once and in a fraction of the time.
    const problems = emitTypes([name], () => folder, { check: false })
    for (const problem of problems) console.error(problem)
    if (problems.length > 0) process.exitCode = 1
    else preparePackage(name, folder)
  }
}

exports.stagePackages = stagePackages
exports.preparePackage = preparePackage
exports.restorePackage = restorePackage
