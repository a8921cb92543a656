'use strict'
// Loads the logs anew, with bugs in them if asked.

const Module = require('node:module')
const path = require('node:path')

const PACKAGES = path.join(__dirname, '..', '..', '..', 'packages')
/**
 * Thousands of logs are left open. The end of this process has nothing to do for them, and so must not keep them.
 * @type {Record<string, Array<[find: string, replace: string]>>}
 */
const LEFT_OPEN = {
  'offset-log/lib/durability.js': [[
    "if (openLogs.size === 0) process.on('beforeExit', finishAll).on('exit', finishAllNow)\n    openLogs.add(this)", ''
  ]],
  'segmented-log/lib/appending.js': [['atExit(() => this.#flushAtExit())', '() => {}']]
}
const ANEW = ['block-file', 'offset-log', 'segmented-log'].map((name) => path.join(PACKAGES, name, path.sep))

/**
 * @param {Record<string, Array<[find: string, replace: string]>>} [changes]  by file, in the folder of the packages
 * @returns {{ SegmentedLog: any, OffsetLog: any }}
 */
function loadLogs (changes = {}) {
  const { _extensions: extensions } = /** @type {any} */ (Module)
  const load = extensions['.js']
  const kept = forget()
  extensions['.js'] = (/** @type {any} */ module, /** @type {string} */ file) => {
    const name = path.relative(PACKAGES, file).replaceAll(path.sep, '/')
    const own = [...LEFT_OPEN[name] ?? [], ...changes[name] ?? []]
    if (own.length === 0) return load(module, file)
    const { _compile: compile } = module
    module._compile = (/** @type {string} */ source, /** @type {any[]} */ ...args) => {
      return compile.call(module, change(source, own), ...args)
    }
    load(module, file)
  }
  try {
    const { SegmentedLog } = require('@millrace/segmented-log')
    const { OffsetLog } = require('@millrace/offset-log')
    return { SegmentedLog, OffsetLog }
  } finally {
    extensions['.js'] = load
    forget()
    for (const [file, module] of kept) require.cache[file] = module
  }
}

/** @returns {Array<[file: string, module: any]>}  what was loaded of the logs */
function forget () {
  const loaded = Object.entries(require.cache).filter(([file]) => ANEW.some((folder) => file.startsWith(folder)))
  for (const [file] of loaded) delete require.cache[file]
  return loaded
}

/** @type {(source: string, changes: Array<[find: string, replace: string]>) => string} */
function change (source, changes) {
  return changes.reduce((changed, [find, replace]) => {
    if (changed.split(find).length !== 2) throw new Error(`not found once: ${find}`)
    return changed.replace(find, () => replace)
  }, source)
}

exports.loadLogs = loadLogs
