'use strict'
// The code of a package as it is packed, in the folder `dist`. To load a file for each module takes longer than to run
// them all, so the modules that are loaded at once are in one file, `bundle.js`; what is loaded late stays in files of
// its own. Two more things differ from the sources. Modules of Node.js come from `process.getBuiltinModule`: where a
// bundler makes an ES module of a package, there is no `require`. And the JSDoc is left out, since the declarations in
// `types` have it.

const fs = require('node:fs')
const path = require('node:path')
const { parse } = require('acorn')

const HEAD = `'use strict'
// Made when the package was packed: its modules that are loaded at once, each in a function. Call with the path of one.

const modules = new Map()

function $load (name) {
  const module = modules.get(name)
  if (!module.isLoaded) {
    module.isLoaded = true
    module.run(module.exports, module)
  }
  return module.exports
}

function $add (name, run) {
  modules.set(name, { exports: {}, isLoaded: false, run })
}

module.exports = $load
`
const BUNDLE = 'bundle.js'
// Sources of kernels, which are in the modules as bytes.
const NOT_LOADED = ['.wat']

/**
 * @typedef {{ start: number, end: number, specifier: string, isLate: boolean }} Import  a call of `require` with a text
 * @typedef {{ name: string, text: string, imports: Import[], comments: Array<[start: number, end: number]> }} Source
 *   `name` is its path in the package, with `/`
 */

/**
 * @param {string} folder  of a package; gets the folder `dist`
 * @param {any} manifest  of it
 * @returns {any}  the manifest that goes with `dist`
 */
function bundlePackage (folder, manifest) {
  const entries = [...new Set(Object.values(manifest.exports).map((target) => target.default ?? target))]
    .filter((/** @type {string} */ file) => file.endsWith('.js')).map((/** @type {string} */ file) => path.posix.normalize(file))
  const sources = readSources(folder, manifest.files)
  const bundled = findBundled(sources, entries)
  const texts = new Map([[BUNDLE, writeBundle(sources, bundled)]])
  for (const [name, source] of sources) {
    if (!bundled.has(name)) texts.set(name, rewrite(source, name, importsOutside(source, bundled)))
  }
  for (const [name, text] of texts) {
    const file = path.join(folder, 'dist', name)
    fs.mkdirSync(path.dirname(file), { recursive: true })
    fs.writeFileSync(file, text)
  }
  return moveManifest(manifest)
}

/**
 * Of a package with a command, which reads files of its folder: only what its exports load goes into `dist`, and the
 * rest stays where it is.
 * @param {string} folder  of a package; gets the folder `dist`
 * @param {any} manifest  of it
 * @returns {any}  the manifest that goes with `dist`
 */
function bundleExports (folder, manifest) {
  const files = new Set([path.posix.normalize(manifest.main)])
  for (const name of files) {
    const { imports } = parseSource(name, fs.readFileSync(path.join(folder, name), 'utf8'))
    for (const { specifier } of imports) {
      const target = targetOf(name, specifier)
      if (target !== null) files.add(target)
    }
  }
  const { files: added, ...moved } = bundlePackage(folder, { ...manifest, files: [...files] })
  return { ...moved, files: [...new Set([...manifest.files, ...added])].filter((file) => file !== manifest.main) }
}

/**
 * @param {string} folder
 * @param {string[]} files  of the manifest
 * @returns {Map<string, Source>}
 */
function readSources (folder, files) {
  const names = files.flatMap((name) => {
    if (name.endsWith('.js')) return [name]
    if (name === 'types') return []
    return fs.readdirSync(path.join(folder, name), { recursive: true, encoding: 'utf8' })
      .map((file) => path.posix.join(name, ...file.split(path.sep)))
      .filter((file) => fs.statSync(path.join(folder, file)).isFile() && !NOT_LOADED.includes(path.extname(file)))
  })
  const other = names.find((name) => !name.endsWith('.js'))
  if (other !== undefined) throw new Error(`${other} is packed, but is no module: it cannot be put into dist`)
  return new Map(names.map((name) => [name, parseSource(name, fs.readFileSync(path.join(folder, name), 'utf8'))]))
}

/**
 * @param {string} name
 * @param {string} text
 * @returns {Source}
 */
function parseSource (name, text) {
  /** @type {Source['comments']} */
  const comments = []
  /** @type {(isBlock: boolean, body: string, start: number, end: number) => void} */
  const onComment = (isBlock, body, start, end) => {
    if (isBlock && body.startsWith('*')) comments.push([start, end])
  }
  const program = parse(text, { ecmaVersion: 'latest', sourceType: 'commonjs', allowHashBang: true, onComment })
  /** @type {Import[]} */
  const imports = []
  findImports(program, false, imports)
  return { name, text, imports, comments }
}

/**
 * @param {any} node
 * @param {boolean} isLate  whether it runs later than the module
 * @param {Import[]} found
 */
function findImports (node, isLate, found) {
  if (Array.isArray(node)) {
    for (const child of node) findImports(child, isLate, found)
  } else if (typeof node?.type === 'string') {
    const { type, callee, arguments: given, start, end } = node
    if (type === 'CallExpression' && callee.name === 'require' && typeof given[0]?.value === 'string') {
      found.push({ start, end, specifier: given[0].value, isLate })
    }
    const isFunction = /Function/.test(type)
    for (const child of Object.values(node)) findImports(child, isLate || isFunction, found)
  }
}

/**
 * @param {Map<string, Source>} sources
 * @param {string[]} entries
 * @returns {Set<string>}  what is loaded with the main entry, but no entry: entries name what they export
 */
function findBundled (sources, entries) {
  /** @type {Set<string>} */
  const found = new Set()
  const visit = (/** @type {string} */ name) => {
    for (const { specifier, isLate } of /** @type {Source} */ (sources.get(name)).imports) {
      const target = targetOf(name, specifier)
      if (isLate || target === null || found.has(target) || entries.includes(target)) continue
      found.add(target)
      visit(target)
    }
  }
  visit(entries[0])
  return found
}

/**
 * @param {string} name  of the module that imports
 * @param {string} specifier
 * @returns {string | null}  the path of the module in the package; null if it is none of its modules
 */
function targetOf (name, specifier) {
  if (!specifier.startsWith('.') || specifier.endsWith('.json')) return null
  const target = path.posix.join(path.posix.dirname(name), specifier)
  return target.endsWith('.js') ? target : `${target}.js`
}

/**
 * @param {Map<string, Source>} sources
 * @param {Set<string>} bundled
 */
function writeBundle (sources, bundled) {
  const parts = [...bundled].sort().map((name) => {
    const source = /** @type {Source} */ (sources.get(name))
    if (/\b__(?:dirname|filename)\b/.test(source.text)) throw new Error(`${name} asks for its place, so it must be loaded late`)
    const text = rewrite(source, BUNDLE, (specifier) => {
      const target = targetOf(name, specifier)
      if (target === null) return null
      return bundled.has(target) ? `$load('${target}')` : `require('./${target}')`
    })
    // The parentheses tell the engine to compile it at once. Otherwise it reads it twice.
    return `$add('${name}', (function (exports, module) {\n${text.replace(/^'use strict'\n/, '')}}))\n`
  })
  return [HEAD, ...parts].join('\n')
}

/**
 * @param {Source} source  that is not in the bundle
 * @param {Set<string>} bundled
 * @returns {(specifier: string) => string | null}
 */
function importsOutside ({ name }, bundled) {
  const relative = path.posix.relative(path.posix.dirname(name), BUNDLE)
  const bundle = relative.startsWith('.') ? relative : `./${relative}`
  return (specifier) => {
    const target = targetOf(name, specifier)
    return target !== null && bundled.has(target) ? `require('${bundle}')('${target}')` : null
  }
}

/**
 * @param {Source} source
 * @param {string} place  of the text that it becomes, in `dist`
 * @param {(specifier: string) => string | null} importOf  what takes the place of a call of `require`; null leaves it
 */
function rewrite ({ name, text, imports, comments }, place, importOf) {
  /** @type {Array<[start: number, end: number, text: string]>} */
  const changes = []
  for (const { start, end, specifier } of imports) {
    const written = importOfOther(specifier, name, place) ?? importOf(specifier)
    if (written !== null) changes.push([start, end, written])
  }
  for (const comment of comments) changes.push([...wholeLines(text, comment), ''])
  changes.sort(([one], [other]) => other - one)
  return changes.reduce((text, [start, end, written]) => text.slice(0, start) + written + text.slice(end), text)
}

/**
 * @param {string} specifier
 * @param {string} name  of the module that imports
 * @param {string} place
 * @returns {string | null}
 */
function importOfOther (specifier, name, place) {
  // Some modules name another thing `process`.
  if (specifier.startsWith('node:')) return `globalThis.process.getBuiltinModule('${specifier}')`
  if (!specifier.endsWith('.json')) return null
  const file = path.posix.join(path.posix.dirname(name), specifier)
  return `require('${path.posix.relative(path.posix.dirname(path.posix.join('dist', place)), file)}')`
}

/** @type {(text: string, comment: [start: number, end: number]) => [start: number, end: number]} */
function wholeLines (text, [start, end]) {
  const before = text.slice(text.lastIndexOf('\n', start - 1) + 1, start)
  return before.trim() === '' && text[end] === '\n' ? [start - before.length, end + 1] : [start, end]
}

/** @param {any} manifest */
function moveManifest (manifest) {
  const move = (/** @type {string} */ file) => file.endsWith('.js') ? `./${path.posix.join('dist', file)}` : file
  const exports = Object.fromEntries(Object.entries(manifest.exports).map(([subpath, target]) => {
    return [subpath, typeof target === 'string' ? move(target) : { ...target, default: move(target.default) }]
  }))
  return { ...manifest, main: path.posix.join('dist', manifest.main), exports, files: ['dist', 'types'] }
}

exports.bundlePackage = bundlePackage
exports.bundleExports = bundleExports
