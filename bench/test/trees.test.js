'use strict'

const { spawnSync } = require('node:child_process')
const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { compareCases } = require('../engine/compare')
const { inTree, prepareTree } = require('../engine/trees')
const { UserError, runTask } = require('../lib/run')
const { makeFolder } = require('./support')

const ROOT = path.join(__dirname, '..', '..')
const GIT = ['-c', 'user.name=test', '-c', 'user.email=test@example.org', '-c', 'commit.gpgsign=false']

/** @type {(folder: string, files: Record<string, string | object>) => void} */
function write (folder, files) {
  for (const [name, content] of Object.entries(files)) {
    fs.mkdirSync(path.dirname(path.join(folder, name)), { recursive: true })
    fs.writeFileSync(path.join(folder, name), typeof content === 'string' ? content : JSON.stringify(content))
  }
}

function git (folder, ...args) {
  const { status, stdout, stderr } = spawnSync('git', [...GIT, ...args], { cwd: folder, encoding: 'utf8' })
  if (status !== 0) throw new Error(stderr)
  return stdout.trim()
}

tape('trees: tables call packages as users do, so that a row runs with the packages of another tree', (t) => {
  const folder = path.join(__dirname, '..', 'tables')
  const files = fs.readdirSync(folder, { recursive: true }).filter((name) => /\.m?js$/.test(name))
  const faults = files.filter((name) => /require\('[^']*(packages|@millrace\/[^/']+)\/[^']*lib\//.test(fs.readFileSync(path.join(folder, name), 'utf8')))
  t.ok(files.length > 40)
  t.deepEqual(faults, [])
  t.end()
})

/** What is installed: a package from the registry at the top, another version of it within a package, and our links. */
function installInto (root, names) {
  for (const place of ['node_modules/left', 'node_modules/@scope/right', 'packages/errors/node_modules/left']) {
    write(root, { [`${place}/package.json`]: { main: 'index.js' }, [`${place}/index.js`]: `exports.place = ${JSON.stringify(place)}` })
  }
  for (const name of names) {
    fs.mkdirSync(path.join(root, 'node_modules', '@millrace'), { recursive: true })
    fs.symlinkSync(path.join(root, 'packages', name), path.join(root, 'node_modules', '@millrace', name), 'junction')
  }
}

const lockOf = (names, version) => ({
  packages: {
    '': {},
    ...Object.fromEntries(names.map((name) => [`node_modules/@millrace/${name}`, { link: true }])),
    'node_modules/left': { version },
    'node_modules/@scope/right': { version: '1.0.0' },
    'packages/errors/node_modules/left': { version: '2.0.0' }
  }
})

/**
 * A repository with two commits: in the first there is one package, `errors`, and in the second `where`, too. As if it
 * was the tree of the bench, it has installed what its lockfile names.
 */
function makeRepository (t) {
  const root = path.join(fs.realpathSync(makeFolder(t)), 'a repository')
  write(root, {
    '.gitignore': 'node_modules\n',
    'package.json': { name: 'root' },
    'package-lock.json': lockOf(['errors'], '1.0.0'),
    'packages/errors/package.json': { name: '@millrace/errors', main: 'index.js' },
    'packages/errors/index.js': `
      exports.commit = 'first'
      exports.places = [require('left').place, require('@scope/right').place]
      exports.findWhere = () => require('@millrace/where')`
  })
  git('.', 'init', '-q', root)
  git(root, 'add', '-A')
  git(root, 'commit', '-qm', 'first')
  const first = git(root, 'rev-parse', 'HEAD')
  write(root, {
    'package-lock.json': lockOf(['errors', 'where'], '1.0.0'),
    'packages/errors/index.js': "exports.commit = 'second'",
    'packages/where/package.json': { name: '@millrace/where', main: 'index.js' },
    'packages/where/index.js': "exports.commit = 'second'"
  })
  git(root, 'add', '-A')
  git(root, 'commit', '-qm', 'second')
  installInto(root, ['errors', 'where'])
  return { here: root, first }
}

/** Runs code as a file of the bench does, with the packages of the tree. */
function runIn (root, code) {
  const { stdout, stderr } = spawnSync(process.execPath, ['-e', code], { cwd: ROOT, env: { ...process.env, ...inTree(root).env }, encoding: 'utf8' })
  return stdout === '' ? { error: stderr } : JSON.parse(stdout)
}

tape('trees: a commit is checked out beside, with its own packages and what is installed here, and leaves nothing', (t) => {
  const { here, first } = makeRepository(t)
  const parent = makeFolder(t)
  write(here, { 'packages/errors/index.js': "exports.commit = 'not committed'" })
  const before = git(here, 'status', '--porcelain')
  const { root, label, release } = prepareTree('HEAD~1', { here, parent })
  t.equal(label, `HEAD~1 (${first.slice(0, 12)})`)
  t.equal(git(here, 'status', '--porcelain'), before, 'the index of this tree is left alone')
  t.equal(fs.realpathSync(path.join(root, 'node_modules', '@millrace', 'errors')), path.join(root, 'packages', 'errors'))
  const { commit, places } = runIn(root, "console.log(JSON.stringify(require('@millrace/errors')))")
  t.deepEqual([commit, places], ['first', ['packages/errors/node_modules/left', 'node_modules/@scope/right']])
  release()
  t.deepEqual(fs.readdirSync(parent), [])
  t.ok(fs.existsSync(path.join(here, 'node_modules', 'left', 'index.js')), 'what it linked to is still there')
  t.end()
})

tape('trees: a process that is ended leaves nothing of a tree', (t) => {
  const { here } = makeRepository(t)
  const parent = makeFolder(t)
  const code = `
    const tree = require(${JSON.stringify(require.resolve('../engine/trees'))}).prepareTree('HEAD', ${JSON.stringify({ here, parent })})
    console.log(require('node:fs').existsSync(tree.root))
    process.exit(1)`
  t.equal(spawnSync(process.execPath, ['-e', code], { encoding: 'utf8' }).stdout, 'true\n')
  t.deepEqual(fs.readdirSync(parent), [])
  t.end()
})

tape('trees: a folder is used as it is', (t) => {
  const { here } = makeRepository(t)
  const { root, label, release } = prepareTree(here)
  t.deepEqual([root, label], [here, here])
  release()
  t.ok(fs.existsSync(path.join(here, 'packages')))
  fs.rmSync(path.join(here, 'node_modules'), { recursive: true })
  t.throws(() => prepareTree(here), /^Error: --against: .* has no node_modules; run npm ci in it$/)
  t.end()
})

tape('trees: what is no commit and no folder gets one sentence', (t) => {
  const { here } = makeRepository(t)
  const parent = makeFolder(t)
  for (const where of ['no-such-branch', 'HEAD~7', '--help', 'HEAD:package.json']) {
    try {
      prepareTree(where, { here, parent })
      t.fail(where)
    } catch (err) {
      t.ok(err instanceof UserError && err.message === `--against: "${where}" is neither a commit of this repository nor a folder of one`, err.message)
    }
  }
  t.deepEqual(fs.readdirSync(parent), [])
  t.end()
})

tape('trees: with another version in the lockfile it is installed, and if that fails, nothing is left', (t) => {
  const { here } = makeRepository(t)
  const parent = makeFolder(t)
  write(here, { 'package-lock.json': lockOf(['errors', 'where'], '1.0.1') })
  // The lockfile of the commit names no place to get anything from, so npm fails at once.
  t.throws(() => prepareTree('HEAD', { here, parent }), /^Error: --against: npm ci failed in the other tree: /)
  t.deepEqual(fs.readdirSync(parent), [])
  t.end()
})

tape('trees: files of this tree get the packages of that one, by require, by import and by place', (t) => {
  const { here } = makeRepository(t)
  const { root, release } = prepareTree('HEAD~1', { here, parent: makeFolder(t) })
  const place = JSON.stringify(path.join(ROOT, 'packages', 'errors', 'index.js'))
  t.deepEqual(runIn(root, `
    Promise.all([import('@millrace/errors'), import(${place})]).then(([errors, placed]) => console.log(JSON.stringify([
      require('@millrace/errors').commit, require(${place}).commit, errors.commit, placed.commit,
      Object.keys(require.cache).filter((file) => /packages.(?!.*node_modules)/.test(file)).every((file) => file.startsWith(${JSON.stringify(root)}))
    ])))`), ['first', 'first', 'first', 'first', true])
  t.match(runIn(root, "require('@millrace/where')").error, /Cannot find module '@millrace\/where'/)
  t.match(runIn(root, "require('@millrace/errors').findWhere()").error, /Cannot find module '@millrace\/where'/, 'nor do its packages find this tree\'s')
  const code = "console.log(JSON.stringify(require('@millrace/errors').commit))"
  t.equal(runIn(root, `new (require('node:worker_threads').Worker)(${JSON.stringify(code)}, { eval: true })`), 'first', 'threads, too')
  release()
  t.end()
})

tape('trees: the harness of this tree reads with the packages of its last commit, and with no file of its own', async (t) => {
  if (!fs.existsSync(path.join(ROOT, '.git'))) return t.skip('not a repository')
  const { root, release } = prepareTree('HEAD')
  const code = `
    require(${JSON.stringify(require.resolve('../lib/readers'))})
    console.log(JSON.stringify(Object.keys(require.cache)))`
  const isIn = (folder) => (file) => file.startsWith(path.join(folder, 'packages') + path.sep)
  const [other, own] = [runIn(root, code), runIn(undefined, code)]
  t.ok(other.filter(isIn(root)).length > 50 && !other.some(isIn(ROOT)), 'that tree')
  t.ok(own.filter(isIn(ROOT)).length > 50, 'this tree')
  release()
})

tape('trees: a row that needs a package or a call that the other tree lacks is absent there', async (t) => {
  const { here } = makeRepository(t)
  const { root, release } = prepareTree('HEAD~1', { here, parent: makeFolder(t) })
  const file = path.join(makeFolder(t), 'rows.js')
  fs.writeFileSync(file, `
    exports.both = () => require('@millrace/errors').commit === 'second' ? 1 : 2
    exports.package = () => { require('@millrace/where'); return 1 }
    exports.call = () => { require('@millrace/errors').newCall(); return 1 }`)
  fs.writeFileSync(path.join(here, 'packages/errors/index.js'), "exports.commit = 'second'; exports.newCall = () => {}")
  const cases = ['both', 'package', 'call'].map((task) => ({
    name: task,
    better: 'more',
    measure: (tree) => runTask({ module: file, task }, {}, inTree(tree === 'this' ? here : root))
  }))
  // No second round: the first one has shown what is absent.
  let isOver = false
  const { rows } = await compareCases({
    cases, budgetMs: 1, now: () => isOver ? 2 : 0, onPair: (row, left) => { isOver = left === 1 }
  })
  t.deepEqual(rows.slice(1).map(({ verdict }) => verdict), ['absent there', 'absent there'])
  t.match(rows[1].reason, /Cannot find module '@millrace\/where'/)
  t.match(rows[2].reason, /newCall is not a function/)
  t.deepEqual([rows[0].figures.this[0], rows[0].figures.that[0]], [1, 2])
  release()
})
