'use strict'
// The log of the bench ten times over in one file: made once, in a folder of its own that may be removed at any time.

const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')
const { createProgress } = require('../../lib/progress')
const { writeWhole } = require('../../lib/work-file')
const { loadRecords } = require('./in-memory')

const FOLD = 10
const FOLDER = 'large'
const POSITION_SIZE = 4
const POSITION_MAX = 2 ** 32 - 1
const WARM_SIZE = 1024 * 1024

/**
 * @param {string} file  a log with 32-bit offsets
 * @returns {Promise<{ large: string } | { absent: string }>}  `absent` is what there is not enough of
 */
async function findTenFold (file) {
  const size = FOLD * fs.statSync(file).size
  const folder = path.join(path.dirname(file), FOLDER)
  const large = path.join(folder, `${path.basename(file)}.x${FOLD}`)
  // In the page cache, and beside whatever else is in memory.
  if (os.totalmem() < 2 * size) return { absent: `${describeSize(2 * size)} of memory` }
  if (size > POSITION_MAX) return { absent: 'a log whose ten-fold has 32-bit offsets: fewer records' }
  if (fs.statSync(large, { throwIfNoEntry: false })?.size !== size) {
    fs.mkdirSync(folder, { recursive: true })
    const { bavail, bsize } = fs.statfsSync(folder)
    if (bavail * bsize < 2 * size) return { absent: `${describeSize(2 * size)} of room on the disk` }
    await writeWhole([large], ([draft]) => writeTenFold(file, draft))
  }
  warm(large)
  return { large }
}

/**
 * Record for record as it is, but for the position that each frame ends with. Not synced: it can be made again.
 * @param {string} from
 * @param {string} to
 */
async function writeTenFold (from, to) {
  const { bytes, ends } = await loadRecords(from)
  const progress = createProgress(`writing ${FOLD} times as much`, FOLD)
  const fd = fs.openSync(to, 'w')
  for (let fold = 0; fold < FOLD; fold++) {
    // Behind the data: its length once more, then how long the file is with it.
    if (fold > 0) for (const end of ends) addPosition(bytes, end + POSITION_SIZE, bytes.length)
    for (let written = 0; written < bytes.length;) written += fs.writeSync(fd, bytes, written)
    progress.update(fold + 1)
  }
  fs.closeSync(fd)
  progress.end()
}

/**
 * @param {Buffer} bytes
 * @param {number} offset
 * @param {number} more
 */
function addPosition (bytes, offset, more) {
  bytes.writeUInt32BE(bytes.readUInt32BE(offset) + more, offset)
}

/** @param {string} file */
function warm (file) {
  const buf = Buffer.alloc(WARM_SIZE)
  const fd = fs.openSync(file, 'r')
  while (fs.readSync(fd, buf, 0, WARM_SIZE, null) > 0);
  fs.closeSync(fd)
}

/** @param {number} size */
function describeSize (size) {
  return `${(size / 1e9).toFixed(1)} GB`
}

exports.findTenFold = findTenFold
exports.FOLD = FOLD
