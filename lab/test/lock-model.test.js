'use strict'
// Never two who hold a lock, and never none: shown for every order of the steps of a few, who may die between any two.
// All scenarios, some of which take minutes: node lab/models/lock

const fs = require('node:fs')
const path = require('node:path')
const { createRequire } = require('node:module')
const tape = require('tape')
const { explore } = require('../models/lock/explore')
const { scenarios } = require('../models/lock/scenarios')

const SOURCE = path.join(__dirname, '..', '..', 'packages', 'block-file', 'lib', 'lock', 'acquire.js')
const { take } = require(SOURCE)

for (const [title, { quick, files }] of Object.entries(scenarios)) {
  tape(`lock: in every order, ${title}: never two, never none, never for ever`, async (t) => {
    for (const scenario of quick) {
      const { states, violation, history, leftovers } = await explore({ ...scenario, files }, take)
      t.equal(violation, null, `${JSON.stringify(scenario)}: ${states} states${history.map((line) => `\n  ${line}`).join('')}`)
      if (!scenario.deaths) t.deepEqual([...leftovers], [], 'and nothing is left of it')
    }
  })
}

/** Bugs, each of which the model must find: what to replace in acquire.js, and where it shows. */
const planted = [
  {
    what: 'that there is no second look under the claim',
    find: 'if (text === null || nonceOf(world, text) !== nonce) continue',
    replace: 'if (text === null) continue',
    where: 'the lock of a dead one'
  },
  {
    what: 'that the claim is given back before the record is replaced',
    find: 'await world.rename(own.aside, lockPath)',
    replace: 'await claim.release(claimPath)\n      await world.rename(own.aside, lockPath)',
    where: 'the lock of a dead one'
  },
  {
    what: 'that who fails to get a claim goes on without it',
    find: '{ held: claim, obstacle } = await acquire(world, claimPath, record)',
    replace: '{ held: claim = { isLinked: true, release: async () => {} }, obstacle } = await acquire(world, claimPath, record)',
    where: 'the lock of a dead one'
  },
  {
    what: 'that the claim of a dead one is taken over without a claim on it',
    find: '= await acquire(world, claimPath, record)',
    replace: '= lockPath.length > 30 ? { held: { release: async () => {} } } : await acquire(world, claimPath, record)',
    where: 'the lock of a dead one, claimed by a dead one'
  },
  {
    what: 'that a blank record counts as one that the power took, though it may be one that is being copied',
    find: 'nonce === NONCE_OF_BLANK && !claim.isLinked',
    replace: 'false',
    where: 'no links, no lock'
  },
  {
    what: 'that leftovers are removed by who does not have the lock yet',
    find: 'const taken = await acquire(world, lockPath, record)',
    replace: 'for (const path of await world.list(lockPath)) if (path !== lockPath) await world.unlink(path).catch(() => {})\n' +
      '  const taken = await acquire(world, lockPath, record)',
    where: 'the lock of a dead one'
  },
  {
    what: 'that who misses what it has written aside gives up',
    find: 'if (!isAside) continue',
    replace: "if (!isAside) throw new Error('gone')",
    where: 'the lock of a dead one'
  }
]

for (const { what, find, replace, where } of planted) {
  tape(`lock: the model finds out ${what}`, async (t) => {
    const broken = loadPatched(find, replace)
    const { quick, files } = scenarios[where]
    const ends = await Promise.all(quick.map((scenario) => explore({ ...scenario, files }, broken)))
    const found = ends.find(({ violation }) => violation !== null)?.violation
    t.ok(found, found)
  })
}

/** @returns {Function}  `take` with a bug in it */
function loadPatched (find, replace) {
  const source = fs.readFileSync(SOURCE, 'utf8')
  if (source.split(find).length !== 2) throw new Error(`not found once: ${find}`)
  const exports = {}
  // eslint-disable-next-line no-new-func
  new Function('require', 'exports', source.replace(find, () => replace))(createRequire(SOURCE), exports)
  return exports.take
}
