'use strict'
// Whether the disk has room for the logs, before any of them is begun.

const fs = require('node:fs')
const { UserError } = require('../../lib/user-error')
const { formatSize } = require('./options')

// A disk that is filled to its last block disturbs others.
const SPARE = 1.1

/**
 * @param {string} folder
 * @param {{ sizes: number[], framings: string[] }} options
 * @param {() => number} [getFree]  bytes
 * @throws {UserError}
 */
function checkRoom (folder, { sizes, framings }, getFree = () => freeIn(folder)) {
  const needed = Math.max(...sizes) * framings.length * SPARE
  const free = getFree()
  if (free >= needed) return
  throw new UserError(`--sizes: the logs need ${formatSize(needed)} of the disk at once, and it has ${formatSize(free)} left; ` +
    'take smaller sizes, one of --framings, or a folder on another disk with --out')
}

/** @param {string} folder */
function freeIn (folder) {
  const { bavail, bsize } = fs.statfsSync(folder)
  return bavail * bsize
}

exports.checkRoom = checkRoom
