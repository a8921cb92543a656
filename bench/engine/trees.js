'use strict'
// Another tree of this repository beside this one, to compare with: a commit that is checked out for as long as it is
// needed, or a folder. And what makes the bench of this tree measure the packages of that one.

const { spawnSync } = require('node:child_process')
const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')
const { UserError } = require('../lib/run')
const { makeFolder } = require('../lib/work-file')

const ROOT = path.join(__dirname, '..', '..')
const HOOK = path.join(__dirname, 'in-tree.js')

/**
 * @typedef {object} Tree
 * @property {string} root
 * @property {string} label  for the outputs: what was asked for, and which commit that is
 * @property {() => void} release  removes what was made for it; so does the end of this process
 */

/**
 * @param {string} where  a commit, by any name that git knows, or a folder with packages/ and node_modules/
 * @param {{ here?: string, parent?: string }} [options]  for tests: this tree, and where the other one is checked out.
 *   Not below this tree: what a package does not find in its own tree, Node.js would look for in the folders above
 * @returns {Tree}
 * @throws {UserError}
 */
function prepareTree (where, { here = ROOT, parent = os.tmpdir() } = {}) {
  if (fs.existsSync(path.join(where, 'packages'))) {
    const root = fs.realpathSync(where)
    if (fs.existsSync(path.join(root, 'node_modules'))) return { root, label: where, release () {} }
    throw new UserError(`--against: ${where} has no node_modules; run npm ci in it`)
  }
  const git = (/** @type {string[]} */ ...args) => run('git', args, here)
  // A word that begins with a dash would be an option of git.
  const commit = where.startsWith('-') ? '' : git('rev-parse', '--verify', '--quiet', `${where}^{commit}`).stdout.trim()
  if (commit === '') throw new UserError(`--against: "${where}" is neither a commit of this repository nor a folder of one`)
  const { folder, release } = makeFolder(fs.realpathSync(parent), `millrace-${commit.slice(0, 12)}`)
  try {
    const root = path.join(folder, 'tree')
    // An index of its own: that of this tree, and what it has been told to commit, are left alone.
    const env = { GIT_INDEX_FILE: path.join(folder, 'index') }
    for (const args of [['read-tree', commit], ['checkout-index', '--all', `--prefix=${root}${path.sep}`]]) {
      const { status, stderr } = run('git', args, here, env)
      if (status !== 0) throw new UserError(`--against: git ${args[0]} failed: ${stderr.trim()}`)
    }
    install(here, root)
    return { root, label: `${where} (${commit.slice(0, 12)})`, release }
  } catch (err) {
    release()
    throw err
  }
}

/**
 * @param {string} command
 * @param {string[]} args
 * @param {string} cwd
 * @param {object} [env]
 */
function run (command, args, cwd, env) {
  // On Windows npm is a script, which only a shell finds.
  const shell = process.platform === 'win32' && command === 'npm'
  const result = spawnSync(command, args, { cwd, env: { ...process.env, ...env }, encoding: 'utf8', shell })
  if (result.error) throw new UserError(`--against: ${command} does not run: ${result.error.message}`)
  return result
}

/**
 * Uses what is installed here if it has all that the other tree's lockfile asks for, in the same versions; that works
 * without a network, also from before a package of ours was added.
 * @param {string} here
 * @param {string} root
 */
function install (here, root) {
  const [mine, wanted] = [here, root].map(readLock)
  if (wanted !== undefined && Object.entries(wanted).every(([name, version]) => mine?.[name] === version)) {
    const own = listPackages(root)
    for (const { folder, name } of own) link(path.join(root, folder), path.join(root, 'node_modules', name))
    for (const folder of ['', ...own.map(({ folder }) => folder)]) {
      linkModules(path.join(here, folder, 'node_modules'), path.join(root, folder, 'node_modules'))
    }
    return
  }
  const { status, stdout, stderr } = run('npm', ['ci', '--no-audit', '--no-fund', '--prefer-offline'], root)
  if (status !== 0) throw new UserError(`--against: npm ci failed in the other tree: ${(stderr || stdout).trim().split('\n')[0]}`)
}

/** Versions of what comes from the registry, by place. @type {(root: string) => Record<string, string> | undefined} */
function readLock (root) {
  const file = path.join(root, 'package-lock.json')
  if (!fs.existsSync(file)) return
  const places = Object.entries(JSON.parse(fs.readFileSync(file, 'utf8')).packages)
  return Object.fromEntries(places.flatMap(([place, { link, version }]) => {
    return place.includes('node_modules/') && !link ? [[place, version]] : []
  }))
}

/** Its own packages. @param {string} root */
function listPackages (root) {
  return fs.readdirSync(path.join(root, 'packages')).map((name) => path.join('packages', name)).flatMap((folder) => {
    const file = path.join(root, folder, 'package.json')
    return fs.existsSync(file) ? [{ folder, name: JSON.parse(fs.readFileSync(file, 'utf8')).name }] : []
  })
}

/**
 * A link for each module from the registry. The links to this tree's own packages are left out.
 * @param {string} from
 * @param {string} to
 */
function linkModules (from, to) {
  if (!fs.existsSync(from)) return
  for (const { name } of fs.readdirSync(from, { withFileTypes: true }).filter((entry) => entry.isDirectory())) {
    if (name.startsWith('@')) linkModules(path.join(from, name), path.join(to, name))
    else link(path.join(from, name), path.join(to, name))
  }
}

/** @type {(target: string, file: string) => void} */
function link (target, file) {
  fs.mkdirSync(path.dirname(file), { recursive: true })
  // A junction needs no rights on Windows; elsewhere the word says nothing.
  fs.symlinkSync(target, file, 'junction')
}

/**
 * For a process of the bench: it runs this tree's harness and rows, with the packages of the tree at `root`. A process
 * that measures this tree is given it, too, so that both bear the same cost.
 * @param {string} [root]
 * @param {{ isProcessorTime?: boolean }} [options]  `time` measures that, where waiting is no part of what matters
 * @returns {{ env: Record<string, string> }}  as `runTask` takes it. It reaches the processes that a row starts, too
 */
function inTree (root = ROOT, { isProcessorTime = false } = {}) {
  const options = `--require ${JSON.stringify(HOOK)}`
  return {
    env: {
      NODE_OPTIONS: [process.env.NODE_OPTIONS, options].filter(Boolean).join(' '),
      MILLRACE_BENCH_TREE: root,
      ...isProcessorTime && { MILLRACE_BENCH_CLOCK: 'processor' }
    }
  }
}

exports.prepareTree = prepareTree
exports.inTree = inTree
