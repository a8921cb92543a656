'use strict'
// What must not grow with the log: the time of a record, the time to open, memory. A process that measures memory loads
// what it needs only, so that nothing heavy is required up here.

const fs = require('node:fs')
const path = require('node:path')
const { formatSize } = require('../../lib/report')
const { count, countOnce, findLack, limit, measurePeak } = require('./memory')
const { toRows } = require('./shared')

/** @typedef {'checked' | 'offset48'} GrowthFraming */

const load = require
// offset32 ends at 4 GiB, and offset53 differs from offset48 by two bytes a record.
/** @type {GrowthFraming[]} */
const FRAMINGS = ['checked', 'offset48']
const SIZES = [10e6, 100e6, 1e9, 10e9]
const MESSAGE_COUNT = 20_000
const BATCH_COUNT = 500
// A small log is scanned in less than it takes to compile what scans it.
const SCANNED_SIZE = 3e9
const SCANS_MAX = 100

exports.parts = FRAMINGS.flatMap((framing) => SIZES.flatMap((size) => createGrowthRows(framing, size)))

/**
 * @param {GrowthFraming} framing
 * @param {number} size  bytes
 * @returns {import('./shared').Row[]}  of one log
 */
function createGrowthRows (framing, size) {
  const label = formatSize(size)
  const nameOf = (/** @type {string} */ panel) => `${framing === 'checked' ? '' : `${framing}-`}${panel}-${label.replace(' ', '')}`
  // In a stage of its own: another log would drive this one out of the page cache.
  const point = (/** @type {string} */ panel) => ({ stage: `${framing}, ${label}`, growth: { panel, framing, size } })
  const samples = Math.max(1, Math.min(SCANS_MAX, Math.round(SCANNED_SIZE / size)))
  const open = (/** @type {string} */ file) => load('./opening').openAgain(file, 0, { flags: 'r' })
  const prepare = (/** @type {import('./shared').Context} */ context) => prepareGrowth(context, framing, size)
  return toRows([
    [nameOf('scan'), `scan of ${label}, ${framing} : bare loop`, { ...point('scan'), samples },
      prepare, ({ file }) => openCounting(file), ({ file }) => load('../runners').openBareLoop(file)],
    [nameOf('open'), `open ${label}, ${framing} : 10 MB`, { ...point('open'), goal: 1.5, samples: 20 },
      prepare, ({ file }) => open(file), ({ small }) => open(small)],
    [nameOf('memory'), `memory, scan of ${label}, ${framing} : 24 MiB`, { ...point('memory'), unit: 'bytes', goal: 1 },
      prepare, ({ file }) => measurePeak(() => count(file)), limit]
  ])
}

/**
 * @param {import('./shared').Context} context
 * @param {GrowthFraming} framing
 * @param {number} wanted  bytes, of a log of growth that is not shortened
 */
async function prepareGrowth ({ shared, growth }, framing, wanted) {
  const [size, smallSize] = [wanted * growth, SIZES[0] * growth]
  const absent = findLack(shared, 1.5 * size, 1.1 * size)
  if (absent) return { absent }
  const [file, small] = [size, smallSize].map((size) => path.join(shared, `${framing}-${size}`))
  if (!fs.existsSync(file)) await grow(file, framing, size)
  if (!fs.existsSync(small)) await grow(small, framing, smallSize)
  load('../../lib/logs').warm(file)
  return { file, small, size: fs.statSync(file).size }
}

/**
 * A scan that counts records only: the seqs of 10 GB add up to more than a number can hold.
 * @param {string} file
 * @returns {Promise<import('../runners').Runner>}
 */
async function openCounting (file) {
  const log = load('@millrace/offset-log').OffsetLog(file, { flags: 'r' })
  await log.ready()
  let records = 0
  return {
    sample: () => load('../runners').time(async () => { records = await countOnce(log) }),
    async finish () {
      await log.close()
      return { records }
    }
  }
}

/**
 * Appends messages to a log until its file has a size, and closes it. The same few thousand messages again and again:
 * to make new ones would take longer than all the rest.
 * @param {string} file
 * @param {GrowthFraming} framing
 * @param {number} size  bytes
 */
async function grow (file, framing, size) {
  const { encode } = load('@millrace/binary-codec')
  const { createMessages, DEFAULT_SEED } = load('../../lib/messages')
  const progress = load('../../lib/run').createProgress(`growing to ${formatSize(size)}`, size)
  const { next } = createMessages(DEFAULT_SEED)
  const messages = Array.from({ length: MESSAGE_COUNT }, () => encode(next()))
  const log = load('@millrace/offset-log').OffsetLog(file, { framing, fsync: 'never' })
  await log.ready()
  for (let done = 0, grown = 0; grown < size; done += BATCH_COUNT, grown = fs.statSync(file).size) {
    await log.append(messages.slice(done % MESSAGE_COUNT, done % MESSAGE_COUNT + BATCH_COUNT))
    progress.update(grown)
  }
  // Synced, so that nothing is left to be written while it is read.
  await log.close()
  progress.end()
}

exports.grow = grow
