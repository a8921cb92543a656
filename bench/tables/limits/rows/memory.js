'use strict'
// Rows about the memory of a scan, and about a log ten times as large.

const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')
const { findLog } = require('../../../engine/inputs')
const { copyLog, warm } = require('../../../lib/logs')
const { formatSize } = require('../../../lib/report')
const { measurePeak } = require('../peak-memory')
const { openScan } = require('../runners')
const { readsPath, toRow } = require('../shared')

const FOLD = 10
const POSITION_MAX = 2 ** 32 - 1

const MEMORY_MAX = 24 * 1024 ** 2
const bytes = /** @type {const} */ ({ unit: 'bytes' })

exports.parts = [
  // A scan needs one window, whatever the size of the log.
  toRow('memory', 'memory of a verified scan : 24 MiB', { ...bytes, most: MEMORY_MAX }, readsPath('json', 'checked'),
    { millrace: ({ path }) => measurePeak('scan', path) }),
  // flumelog-offset keeps the blocks that it has read.
  toRow('memory-flumelog', 'memory of a scan : flumelog-offset', { ...bytes, within: 1 / 6 }, readsPath('json', 'offset32'),
    { millrace: ({ path }) => measurePeak('scan', path), 'flumelog-offset': ({ path }) => measurePeak('flumelog', path) }),
  // Ten times the log should take ten times the time.
  toRow('large-time', 'scan of ten times the log : of the log', { within: 10.5, samples: 3, otherSamples: 9 }, prepareTenFold,
    { millrace: ({ large }) => scanFolds(large, 1), 'log-once': ({ small }) => scanFolds(small, FOLD) }),
  // The same memory, apart from garbage.
  toRow('large-memory', 'memory, ten times the log : of the log', { ...bytes, within: 1.1 }, prepareTenFold,
    { millrace: ({ large }) => measurePeak('scan', large), 'log-once': ({ small }) => measurePeak('scan', small, FOLD) })
]

/**
 * Both sides report the same number of records: the smaller one multiplies its own by ten.
 * @param {string} path
 * @param {number} fold
 */
function scanFolds (path, fold) {
  return openScan({ path }, {
    kind: { pick: ({ records, delivered }) => ({ records: fold * records, delivered: fold * delivered }) }
  })
}

/** @param {import('../../../engine/row').Context} context */
async function prepareTenFold (context) {
  const small = await findLog(context, { log: 'json', framing: 'offset32' })
  const large = path.join(context.shared, `x${FOLD}`)
  return { small, large, absent: await context.once(large, () => makeTenFold(small, large)) }
}

/**
 * Makes a file with the log ten times over.
 * @param {string} small  a log with 32-bit offsets
 * @param {string} large
 * @returns {Promise<string | undefined>}  what the machine has too little of
 */
async function makeTenFold (small, large) {
  const size = FOLD * fs.statSync(small).size
  if (size > POSITION_MAX) return 'a log whose ten-fold has 32-bit offsets: fewer records'
  const absent = findLack(path.dirname(large), 2 * size, 2 * size)
  if (absent === undefined) await copyLog(small, large, 'offset32', FOLD).then(() => warm(large))
  return absent
}

/**
 * @param {string} folder
 * @param {number} memory  in bytes, with the page cache
 * @param {number} disk  in bytes
 * @returns {string | undefined}
 */
function findLack (folder, memory, disk) {
  if (os.totalmem() < memory) return `${formatSize(memory)} of memory`
  const { bavail, bsize } = fs.statfsSync(folder)
  return bavail * bsize < disk ? `${formatSize(disk)} of room on the disk` : undefined
}

exports.findLack = findLack
exports.makeTenFold = makeTenFold
exports.MEMORY_MAX = MEMORY_MAX
