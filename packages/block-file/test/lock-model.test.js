'use strict'
// Never two who hold a lock, and never none: shown for every order of the steps of a few, who may die between any two.
// All scenarios, some of which take minutes: node packages/block-file/test/lock-model/index.js

const fs = require('node:fs')
const path = require('node:path')
const { createRequire } = require('node:module')
const tape = require('tape')
const { explore } = require('./lock-model/explore')
const { scenarios } = require('./lock-model/scenarios')

const FOLDER = path.join(__dirname, '..', 'lib', 'lock')
const { take } = require(path.join(FOLDER, 'take'))

for (const [title, { quick, files }] of Object.entries(scenarios)) {
  tape(`lock: in every order, ${title}: never two, never none, never for ever`, (t) => {
    for (const scenario of quick) {
      const { states, violation, history, leftovers } = explore({ ...scenario, files }, take)
      t.equal(violation, null, `${JSON.stringify(scenario)}: ${states} states${history.map((line) => `\n  ${line}`).join('')}`)
      if (!scenario.deaths) t.deepEqual([...leftovers], [], 'and nothing is left of it')
    }
    t.end()
  })
}

/** Bugs, each of which the model must find: the file, what to replace in it, and where it shows. */
const planted = [
  {
    what: 'that there is no second look under the claim',
    file: 'acquire.js',
    find: 'if (!isSame) return',
    replace: 'if (err) return',
    where: 'the lock of a dead one'
  },
  {
    what: 'that the claim is given back before the record is replaced',
    file: 'acquire.js',
    find: 'world.rename(this._aside, lockPath, (err) => release(() => {',
    replace: 'release(() => world.rename(this._aside, lockPath, (err) => {',
    where: 'the lock of a dead one'
  },
  {
    what: 'that who fails to get a claim goes on without it',
    file: 'acquire.js',
    find: 'else this._end(null, undefined, obstacle)',
    replace: 'else this._replace(nonce, { isLinked: true, release: (_, cb) => cb(null) })',
    where: 'the lock of a dead one'
  },
  {
    what: 'that the claim of a dead one is taken over without a claim on it',
    file: 'acquire.js',
    find: '_claim (nonce) {',
    replace: '_claim (nonce) {\n    if (this._lockPath.length > 30) return this._replace(nonce, { release: (_, cb) => cb(null) })',
    where: 'the lock of a dead one, claimed by a dead one'
  },
  {
    what: 'that a blank record counts as one that the power took, though it may be one that is being copied',
    file: 'acquire.js',
    find: 'nonce === NONCE_OF_BLANK && !claim.isLinked',
    replace: 'false',
    where: 'no links, no lock'
  },
  {
    what: 'that leftovers are removed by who does not have the lock yet',
    file: 'take.js',
    find: 'acquire(world, lockPath, record, (err, held, obstacle) => {',
    replace: 'world.list(lockPath, (_, paths) => removeAll(world, paths.filter((path) => path !== lockPath), () => ' +
      'acquire(world, lockPath, record, cb)))\n  const unused = (() => (err, held, obstacle) => {',
    where: 'the lock of a dead one'
  },
  {
    what: 'that who misses what it has written aside gives up',
    file: 'acquire.js',
    find: "if (err.code === 'ENOENT') return this.writeAside()",
    replace: "if (err.code === 'ENOENT') return this._fail(err)",
    where: 'the lock of a dead one'
  }
]

for (const { what, file, find, replace, where } of planted) {
  tape(`lock: the model finds out ${what}`, (t) => {
    const broken = loadPatched(file, find, replace)
    const { quick, files } = scenarios[where]
    const violations = quick.map((scenario) => explore({ ...scenario, files }, broken).violation)
    const found = violations.find((violation) => violation !== null)
    t.ok(found, found)
    t.end()
  })
}

/** @returns {Function}  `take` with a bug in it */
function loadPatched (file, find, replace) {
  const load = (name) => {
    let source = fs.readFileSync(path.join(FOLDER, name), 'utf8')
    if (name === file) {
      if (source.split(find).length !== 2) throw new Error(`not found once in ${name}: ${find}`)
      source = source.replace(find, () => replace)
    }
    const requireThere = createRequire(path.join(FOLDER, name))
    const exports = {}
    // eslint-disable-next-line no-new-func
    new Function('require', 'exports', source)((id) => id === './acquire' ? load('acquire.js') : requireThere(id), exports)
    return exports
  }
  return load('take.js').take
}
