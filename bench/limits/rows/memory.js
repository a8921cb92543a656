'use strict'
// The memory of a scan, and what a log ten times as large takes. A process that measures memory loads what it needs
// only, so that nothing heavy is required up here.

const { spawnSync } = require('node:child_process')
const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')
const { call } = require('../../lib/pipeline')
const { formatSize } = require('../../lib/report')
const { peakMemory } = require('../peak-memory')
const { readsPath, toRows } = require('./shared')

/** @typedef {import('../runners').Runner} Runner */

const load = require
const PEAK_SCRIPT = require.resolve('../peak-memory')
const BLOCK_SIZE = 64 * 1024
const LIMIT = 24 * 1024 ** 2
const FOLD = 10
const POSITION_SIZE = 4
const POSITION_MAX = 2 ** 32 - 1

/** @type {import('./shared').OpenSide} */
const limit = () => ({ sample: () => LIMIT, finish: () => ({}) })

exports.parts = toRows([
  // A scan needs a window, however long the log is.
  ['memory', 'memory of a verified scan : 24 MiB', { unit: 'bytes', goal: 1 },
    readsPath('json', 'checked'), ({ path }) => measurePeak(() => count(path)), limit],
  // flumelog-offset keeps the blocks that it has read.
  ['memory-flumelog', 'memory of a scan : flumelog-offset', { unit: 'bytes', goal: 1 / 6 },
    readsPath('json', 'offset32'), ({ path }) => measurePeak(() => count(path)),
    ({ path }) => measurePeak(() => countFlumelog(path))],
  // Ten times the log, ten times the time: nothing grows but the work.
  ['large-time', 'scan of ten times the log : of the log', { goal: 10.5, samples: 3, peerSamples: 9 },
    prepareTenFold, ({ large }) => scanFolds(large, 1), ({ small }) => scanFolds(small, FOLD)],
  // The same memory, but for what the garbage collector makes of it.
  ['large-memory', 'memory, ten times the log : of the log', { unit: 'bytes', goal: 1.1 },
    prepareTenFold, ({ large }) => measurePeak(() => count(large)),
    ({ small }) => measurePeak(() => count(small), FOLD)]
])

/**
 * The peak of this process, beyond what Node takes for doing nothing. It is not lower the second time.
 * @param {() => Promise<number>} count  gives how many records there are
 * @param {number} [fold]  so many times as many records as the other side was given
 * @returns {Runner}
 */
function measurePeak (count, fold = 1) {
  let records = 0
  return {
    async sample () {
      records = await count()
      const { stdout, stderr } = spawnSync(process.execPath, [PEAK_SCRIPT], { encoding: 'utf8' })
      if (!(Number(stdout) > 0)) throw new Error(`no peak of bare Node: ${stderr}`)
      return peakMemory() - Number(stdout)
    },
    finish: () => ({ records: fold * records })
  }
}

/**
 * @param {string} path
 * @returns {Promise<number>}
 */
async function count (path) {
  const log = load('@millrace/offset-log').OffsetLog(path, { blockSize: BLOCK_SIZE, flags: 'r' })
  await log.ready()
  const records = await countOnce(log)
  await log.close()
  return records
}

/** @param {any} log */
async function countOnce (log) {
  let records = 0
  await log.scan({}, (/** @type {{ count: number }} */ { count }) => { records += count })
  return records
}

/**
 * @param {string} path
 * @returns {Promise<number>}
 */
async function countFlumelog (path) {
  const log = load('flumelog-offset')(path, { blockSize: BLOCK_SIZE, flags: 'r' })
  const pull = load('pull-stream')
  await new Promise((resolve) => { log.since.once(resolve) })
  let records = 0
  await call((cb) => pull(log.stream(), pull.drain(() => { records++ }, cb)))
  return records
}

/**
 * Both sides say how many records they saw, the smaller one as many as it would be ten times over.
 * @param {string} path
 * @param {number} fold
 * @returns {Promise<Runner>}
 */
async function scanFolds (path, fold) {
  const { sample, finish } = await load('../runners').openScan(path)
  return {
    sample,
    async finish () {
      const { records, delivered } = await finish()
      return { records: fold * records, delivered: fold * delivered }
    }
  }
}

/** @param {import('./shared').Context} context */
async function prepareTenFold ({ findLog }) {
  const { path: small } = await findLog('json', 'offset32')
  return { small, ...await findTenFold(small) }
}

/**
 * The log of the bench ten times over in one file: made once, in a folder of its own that may be removed at any time.
 * @param {string} file  a log with 32-bit offsets
 * @returns {Promise<{ large: string } | { absent: string }>}  `absent` is what there is not enough of
 */
async function findTenFold (file) {
  const size = FOLD * fs.statSync(file).size
  const folder = path.join(path.dirname(file), 'large')
  const large = path.join(folder, `${path.basename(file)}.x${FOLD}`)
  if (size > POSITION_MAX) return { absent: 'a log whose ten-fold has 32-bit offsets: fewer records' }
  fs.mkdirSync(folder, { recursive: true })
  const isThere = fs.statSync(large, { throwIfNoEntry: false })?.size === size
  const absent = findLack(folder, 2 * size, isThere ? 0 : 2 * size)
  if (absent) return { absent }
  if (!isThere) await load('../../lib/work-file').writeWhole([large], (/** @type {string[]} */ [draft]) => writeTenFold(file, draft))
  load('../../lib/logs').warm(large)
  return { large }
}

/**
 * @param {string} folder
 * @param {number} memory  bytes, for the page cache and whatever else is in memory
 * @param {number} disk  bytes
 * @returns {string | undefined}
 */
function findLack (folder, memory, disk) {
  if (os.totalmem() < memory) return `${formatSize(memory)} of memory`
  const { bavail, bsize } = fs.statfsSync(folder)
  return bavail * bsize < disk ? `${formatSize(disk)} of room on the disk` : undefined
}

/**
 * Record for record as it is, but for the position that each frame ends with. Not synced: it can be made again.
 * @param {string} from
 * @param {string} to
 */
async function writeTenFold (from, to) {
  const { bytes, ends } = await load('../../lib/readers').loadRecords(from)
  const progress = load('../../lib/run').createProgress(`writing ${FOLD} times as much`, FOLD)
  const fd = fs.openSync(to, 'w')
  for (let fold = 0; fold < FOLD; fold++) {
    for (const end of fold > 0 ? ends : []) {
      // Behind the data: its length once more, then how long the file is with it.
      bytes.writeUInt32BE(bytes.readUInt32BE(end + POSITION_SIZE) + bytes.length, end + POSITION_SIZE)
    }
    for (let written = 0; written < bytes.length;) written += fs.writeSync(fd, bytes, written)
    progress.update(fold + 1)
  }
  fs.closeSync(fd)
  progress.end()
}

exports.count = count
exports.countOnce = countOnce
exports.findLack = findLack
exports.findTenFold = findTenFold
exports.limit = limit
exports.measurePeak = measurePeak
