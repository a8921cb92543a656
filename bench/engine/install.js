'use strict'
// Brings peers that are no dependencies of the bench into a folder of its own, since `npm ci` must stay fast and need
// no compiler. One list has their versions.

const { spawnSync } = require('node:child_process')
const fs = require('node:fs')
const path = require('node:path')
const { PEERS_FOLDER, findVersion } = require('../lib/report')
const { UserError } = require('../lib/run')

/** @type {Record<string, string>} */
const PINNED = require('../optional-peers.json')

/** @typedef {{ rows: import('./row').Row[], peers: import('./row').Peer[] }} Asked */

/** Those of the list that the rows and peers need, and that are not installed. @param {Asked} asked */
function listMissing ({ rows, peers }) {
  const used = peers.filter(({ name }) => rows.some((row) => row.peers[name] !== undefined))
  const needed = rows.flatMap(({ needs = {} }) => Object.keys(needs))
  const names = new Set([...used.flatMap(({ packages = [] }) => packages), ...needed])
  return [...names].filter((name) => Object.hasOwn(PINNED, name) && findVersion(name) === undefined)
}

/** @param {Asked} asked */
function installPeers (asked) {
  const missing = listMissing(asked).map((name) => `${name}@${PINNED[name]}`)
  if (missing.length === 0) return
  fs.mkdirSync(PEERS_FOLDER, { recursive: true })
  const file = path.join(PEERS_FOLDER, 'package.json')
  if (!fs.existsSync(file)) fs.writeFileSync(file, '{ "private": true }\n')
  console.error(`installing ${missing.join(', ')} in bench/installed/`)
  // One by one: a peer that needs a compiler must not keep the others away.
  const failed = missing.filter((one) => {
    const { status } = spawnSync('npm', ['install', '--save-exact', '--no-audit', '--no-fund', '--loglevel=error', one], {
      cwd: PEERS_FOLDER, stdio: ['ignore', 2, 2], shell: process.platform === 'win32'
    })
    return status !== 0
  })
  if (failed.length === missing.length) throw new UserError(`--install: npm could install none of ${failed.join(', ')}`)
  for (const one of failed) console.error(`${one}: npm could not install it`)
}

/** What a run says without them, and which command brings them. @type {(asked: Asked, command: string) => string[]} */
function adviseInstall (asked, run) {
  const command = `${run}${run.includes(' -- ') ? '' : ' --'} --install`
  /** @type {Record<string, string>} */
  const standIns = Object.assign({}, ...asked.peers.map(({ standIns }) => standIns))
  const has = (/** @type {string} */ name) => /** @type {any} */ (process).getBuiltinModule?.(name) !== undefined
  const missing = listMissing(asked)
  const absent = missing.filter((name) => !standIns[name] || !has(standIns[name]))
  const lines = missing.filter((name) => !absent.includes(name)).map((name) => {
    return `${standIns[name]} of Node.js stands in for ${name}. This brings it: ${command}`
  })
  if (absent.length > 0) lines.push(`Not installed, so that their figures are absent: ${absent.join(', ')}. This brings them: ${command}`)
  return lines
}

/** Loads a peer from where it is. @param {string} name @returns {any} */
function loadPeer (name) {
  return require(require.resolve(name, { paths: [PEERS_FOLDER, __dirname] }))
}

exports.installPeers = installPeers
exports.adviseInstall = adviseInstall
exports.listMissing = listMissing
exports.loadPeer = loadPeer
exports.PINNED = PINNED
