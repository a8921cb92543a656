'use strict'
// Takes a lock, and removes what others left beside it who were killed while they did the same.

const { acquire } = require('./acquire')

// What comes after the name of a lock: nonces, of claims and claims on claims; and `.new`, of what is written aside.
const LEFTOVER = /^(\.[0-9a-f]{16})+(\.new)?$/

/**
 * @param {import('./acquire').World} world
 * @param {string} lockPath
 * @param {Omit<import('./record').LockRecord, 'nonce'>} record
 * @param {import('./acquire').Acquired} cb
 */
function take (world, lockPath, record, cb) {
  acquire(world, lockPath, record, (err, held, obstacle) => {
    // To look through the folder each time would take too long: only where somebody is known to have been killed.
    if (!held?.hasReplaced) return cb(err, held, obstacle)
    world.list(lockPath, (_, paths = []) => {
      const leftovers = paths.filter((path) => path.startsWith(lockPath) && LEFTOVER.test(path.slice(lockPath.length)))
      removeAll(world, leftovers, () => cb(null, held))
    })
  })
}

/**
 * @param {import('./acquire').World} world
 * @param {string[]} paths
 * @param {() => void} cb  whether or not they could be removed: they do no harm
 */
function removeAll (world, [path, ...others], cb) {
  if (path === undefined) return cb()
  world.unlink(path, () => removeAll(world, others, cb))
}

exports.take = take
