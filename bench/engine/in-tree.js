'use strict'
// Loaded before all else in a process of the bench: the files of this tree get Millrace's packages from the tree in
// MILLRACE_BENCH_TREE. What the packages of that tree ask for is found in their own tree, as it always is.

const Module = require('node:module')
const path = require('node:path')
const { fileURLToPath, pathToFileURL } = require('node:url')

const HERE = path.join(__dirname, '..', '..', 'packages') + path.sep
const ROOT = process.env.MILLRACE_BENCH_TREE ?? ''
const PACKAGES = path.join(ROOT, 'packages') + path.sep
const BASE = path.join(ROOT, 'package.json')
const OURS = /^(@millrace\/(?!bench$)|millrace($|\/))/

/** Whether a file that is not of that tree asks for a package. @type {(request: string, by: string) => boolean} */
const isRedirected = (request, by) => OURS.test(request) && !by.startsWith(PACKAGES)
/** The bench knows some files of packages by their place: it gets those at the same place in the tree. */
const toTree = (/** @type {string} */ file) => file.startsWith(HERE) ? PACKAGES + file.slice(HERE.length) : file

const loader = /** @type {any} */ (Module)
const find = loader._resolveFilename
const base = Object.assign(new Module(BASE), { filename: BASE, paths: loader._nodeModulePaths(ROOT) })
/** @type {(request: string, parent: any, ...rest: any[]) => string} */
loader._resolveFilename = (request, parent, ...rest) => {
  const file = find(request, isRedirected(request, parent?.filename ?? '') ? base : parent, ...rest)
  const moved = toTree(file)
  return moved === file ? file : find(moved, parent, ...rest)
}

/**
 * The same for `import`. Node.js 20 calls it in a thread of its own, and then it is given promises.
 * @type {(specifier: string, context: any, next: (specifier: string, context: any) => any) => any}
 */
function resolve (specifier, context, next) {
  const by = context.parentURL?.startsWith('file:') ? fileURLToPath(context.parentURL) : ''
  const place = isRedirected(specifier, by) ? { ...context, parentURL: pathToFileURL(BASE).href } : context
  const found = next(specifier, place)
  const move = (/** @type {any} */ { url, ...rest }) => {
    return { ...rest, url: url.startsWith('file:') ? pathToFileURL(toTree(fileURLToPath(url))).href : url }
  }
  return typeof found.then === 'function' ? found.then(move) : move(found)
}

exports.resolve = resolve

if (loader.registerHooks) loader.registerHooks({ resolve })
else if (require('node:worker_threads').isMainThread) Module.register(pathToFileURL(__filename))
