'use strict'
// Brings peers that are no dependencies of the bench into a folder of its own, since `npm ci` must stay fast and need
// no compiler. One list has their versions.

const { spawnSync } = require('node:child_process')
const fs = require('node:fs')
const path = require('node:path')
const { UserError } = require('../lib/run')

const FOLDER = path.join(__dirname, '..', 'installed')
/** @type {Record<string, string>} */
const PINNED = require('../optional-peers.json')

/** The peers of a table that are in the list, and whether each loads. @param {import('./row').Table} table */
function listOptional ({ peers }) {
  const names = new Set(peers.flatMap(({ packages = [] }) => packages).filter((name) => Object.hasOwn(PINNED, name)))
  return [...names].map((name) => ({ name, isThere: isThere(name) }))
}

/** @param {string} name */
function isThere (name) {
  return [FOLDER, __dirname].some((from) => {
    try {
      require.resolve(`${name}/package.json`, { paths: [from] })
      return true
    } catch (err) {
      return /** @type {any} */ (err).code === 'ERR_PACKAGE_PATH_NOT_EXPORTED'
    }
  })
}

/** @param {import('./row').Table} table */
function installPeers (table) {
  const missing = listOptional(table).filter(({ isThere }) => !isThere).map(({ name }) => `${name}@${PINNED[name]}`)
  if (missing.length === 0) return
  fs.mkdirSync(FOLDER, { recursive: true })
  if (!fs.existsSync(path.join(FOLDER, 'package.json'))) fs.writeFileSync(path.join(FOLDER, 'package.json'), '{ "private": true }\n')
  console.error(`installing ${missing.join(', ')} in bench/installed/`)
  // One by one: a peer that needs a compiler must not keep the others away.
  const failed = missing.filter((one) => spawnSync('npm', ['install', '--no-audit', '--no-fund', '--loglevel=error', one], { cwd: FOLDER, stdio: 'inherit' }).status !== 0)
  if (failed.length === missing.length) throw new UserError(`--install: npm could install none of ${failed.join(', ')}`)
  for (const one of failed) console.error(`${one}: not installed; its rows are absent`)
}

/** One line for a run without them. @param {import('./row').Table} table */
function adviseInstall (table) {
  const missing = listOptional(table).filter(({ isThere }) => !isThere).map(({ name }) => name)
  if (missing.length === 0) return []
  return [`Not installed: ${missing.join(', ')}. Their figures are absent; --install brings them.`]
}

/** Loads a peer from where it is. @param {string} name @returns {any} */
function loadPeer (name) {
  return require(require.resolve(name, { paths: [FOLDER, __dirname] }))
}

exports.installPeers = installPeers
exports.adviseInstall = adviseInstall
exports.loadPeer = loadPeer
exports.PINNED = PINNED
