'use strict'
// An empty folder with the packed packages in it, and programs that are run there.

const { execFile } = require('node:child_process')
const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')
const { stagePackages } = require('./prepare')

const isWindows = process.platform === 'win32'

/**
 * @typedef {{ stdout: string, stderr: string, code: number }} Ended
 * @param {string} file
 * @param {string[]} args
 * @param {{ cwd: string, env?: NodeJS.ProcessEnv, timeout?: number }} options
 * @returns {Promise<Ended>}
 */
function run (file, args, { cwd, env = process.env, timeout = 600_000 }) {
  return new Promise((resolve) => {
    const shell = isWindows && file === 'npm'
    execFile(file, args, { cwd, env, timeout, shell, maxBuffer: 2 ** 26 }, (err, stdout, stderr) => {
      resolve({ stdout, stderr, code: err ? Number(err.code) || 1 : 0 })
    })
  })
}

/**
 * @param {string} file
 * @param {string[]} args
 * @param {{ cwd: string, env?: NodeJS.ProcessEnv, timeout?: number }} options
 * @returns {Promise<string>}  what it prints
 */
async function mustRun (file, args, options) {
  const { code, stdout, stderr } = await run(file, args, options)
  if (code !== 0) throw new Error(`${path.basename(file)} ${args.join(' ')} ended with ${code}\n${stdout}\n${stderr}`)
  return stdout
}

/** @type {string[]} */
const folders = []

/** @returns {string}  the path of a fresh folder, gone when the process ends */
function temporaryFolder () {
  if (folders.length === 0) process.on('exit', () => folders.forEach((folder) => fs.rmSync(folder, { recursive: true, force: true })))
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'millrace-pack-'))
  folders.push(folder)
  return folder
}

/**
 * @param {string} folder
 * @returns {Promise<string[]>}  the paths of the tarballs of all packages
 */
async function packAll (folder) {
  const names = stagePackages(folder)
  const folders = names.map((name) => `./packages/${name}`)
  const listed = await mustRun('npm', ['pack', '--json', '--ignore-scripts', ...folders], { cwd: folder })
  return JSON.parse(listed).map((/** @type {{ filename: string }} */ { filename }) => path.join(folder, filename))
}

/**
 * @param {string} folder
 * @param {string[]} packages  names with versions, or paths
 * @param {string[]} [flags]
 */
async function install (folder, packages, flags = []) {
  const manifest = path.join(folder, 'package.json')
  if (!fs.existsSync(manifest)) fs.writeFileSync(manifest, '{ "private": true }\n')
  await mustRun('npm', ['install', '--no-audit', '--no-fund', ...flags, ...packages], { cwd: folder })
}

exports.mustRun = mustRun
exports.run = run
exports.temporaryFolder = temporaryFolder
exports.packAll = packAll
exports.install = install
