'use strict'
// The packages that only some commands need. They do not come with millrace: a command that needs one asks for it by
// its name. Nothing else requires them.

const path = require('node:path')
const { LogError } = require('@millrace/errors')

const loaders = {
  '@millrace/forwarder': () => require('@millrace/forwarder'),
  '@millrace/ingest': () => require('@millrace/ingest'),
  '@millrace/jetstream': () => require('@millrace/jetstream'),
  '@millrace/pino': () => require('@millrace/pino')
}

/** @typedef {keyof typeof loaders} PackageName */

/**
 * @template {PackageName} Name
 * @param {Name} name
 * @param {string} what  needs it, as messages call it
 * @returns {ReturnType<typeof loaders[Name]>}
 * @throws {LogError} ERR_NOT_SUPPORTED  if it is not installed
 */
function loadPackage (name, what) {
  const missing = findMissing([name])
  if (missing.length > 0) throw missingError(missing, what)
  return /** @type {any} */ (loaders[name]())
}

/** What `millrace serve` may be told, for help and completion, too. It loads no server; null if none is installed. */
function loadServerSettings () {
  return findMissing(['@millrace/ingest']).length === 0 ? require('@millrace/ingest/settings') : null
}

/**
 * @param {readonly PackageName[]} names
 * @returns {PackageName[]}  those that are not installed
 */
function findMissing (names) {
  return names.filter((name) => {
    try {
      require.resolve(name)
      return false
    } catch (/** @type {any} */ err) {
      if (err.code === 'MODULE_NOT_FOUND') return true
      throw err
    }
  })
}

/**
 * @param {readonly PackageName[]} missing
 * @param {string} what
 */
function missingError (missing, what) {
  const [packages, them] = missing.length === 1 ? ['the package', 'it'] : ['the packages', 'them']
  return new LogError('ERR_NOT_SUPPORTED', `${what} needs ${packages} ${missing.join(' and ')}; install ${them}: ` +
    `npm install ${isGlobal() ? '--global ' : ''}${missing.join(' ')}`)
}

/** Whether millrace is installed for all programs of the machine: then no project's manifest is beside it. */
function isGlobal () {
  const [folder] = __dirname.split(/(?<=[\\/]node_modules)[\\/]millrace[\\/]/)
  if (folder === __dirname) return false
  try {
    require.resolve(path.join(folder, '..', 'package.json'))
    return false
  } catch {
    return true
  }
}

exports.findMissing = findMissing
exports.loadPackage = loadPackage
exports.loadServerSettings = loadServerSettings
exports.missingError = missingError
