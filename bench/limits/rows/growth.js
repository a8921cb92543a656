'use strict'
// Rows about what must not grow with the log: the time per record, the time to open, and memory.

const fs = require('node:fs')
const path = require('node:path')
const { encode } = require('@millrace/binary-codec')
const { DEFAULT_RECORDS, createLog, pour, warm } = require('../../lib/logs')
const { createMessages, DEFAULT_SEED } = require('../../lib/messages')
const { formatSize } = require('../../lib/report')
const { openRecords } = require('../../lib/readers')
const { measurePeak, timeReader } = require('../runners')
const { findLack, limit } = require('./memory')
const { openAgain } = require('./opening')
const { bareLoop, toRows } = require('./shared')

/** @typedef {'checked' | 'offset48'} GrowthFraming */

// offset32 ends at 4 GiB. offset53 differs from offset48 only by two bytes per record.
/** @type {GrowthFraming[]} */
const FRAMINGS = ['checked', 'offset48']
const SIZES = [10e6, 100e6, 1e9, 10e9]
const MESSAGE_COUNT = 20_000
const BATCH_COUNT = 500
// Scanning a small log takes less time than compiling the code that scans it.
const SCANNED_SIZE = 3e9
const SCANS_MAX = 100

exports.parts = FRAMINGS.flatMap((framing) => SIZES.flatMap((size) => createGrowthRows(framing, size)))

/** The rows of one log. @type {(framing: GrowthFraming, size: number) => import('./shared').Row[]} */
function createGrowthRows (framing, size) {
  const label = formatSize(size)
  const prefix = framing === 'checked' ? '' : `${framing}-`
  const nameOf = (/** @type {string} */ panel) => `${prefix}${panel}-${label.replace(' ', '')}`
  // A stage of its own, because another log would push this one out of the page cache.
  const point = (/** @type {string} */ panel) => ({ stage: `${framing}, ${label}`, growth: { panel, framing, size } })
  const samples = Math.max(1, Math.min(SCANS_MAX, Math.round(SCANNED_SIZE / size)))
  const prepare = (/** @type {import('./shared').Context} */ context) => prepareGrowth(context, framing, size)
  return toRows([
    [nameOf('scan'), `scan of ${label}, ${framing} : bare loop`, { ...point('scan'), samples },
      prepare, ({ path }) => timeReader(openRecords(path), null, { count: countOnly }), bareLoop],
    [nameOf('open'), `open ${label}, ${framing} : 10 MB`, { ...point('open'), goal: 1.5, samples: 20 },
      prepare, ({ path }) => openAgain(path, 0, { flags: 'r' }), ({ small }) => openAgain(small, 0, { flags: 'r' })],
    [nameOf('memory'), `memory, scan of ${label}, ${framing} : 24 MiB`, { ...point('memory'), unit: 'bytes', goal: 1 },
      prepare, ({ path }) => measurePeak('scan', path), limit]
  ])
}

/** The sum of the seqs of 10 GB is too large for a number. @type {import('../runners').Count} */
function countOnly ({ log }, counts) {
  return log.scan({}, (/** @type {{ count: number }} */ { count }) => { counts.records += count })
}

/**
 * @param {import('./shared').Context} context
 * @param {GrowthFraming} framing
 * @param {number} wanted  size in bytes; less if the log of the bench is shorter than usual
 */
async function prepareGrowth ({ shared, records }, framing, wanted) {
  const [size, smallSize] = [wanted, SIZES[0]].map((size) => size * Math.min(1, records / DEFAULT_RECORDS))
  const absent = findLack(shared, 1.5 * size, 1.1 * size)
  if (absent) return { absent }
  const [file, small] = [size, smallSize].map((size) => path.join(shared, `${framing}-${size}`))
  if (!fs.existsSync(file)) await grow(file, framing, size)
  if (!fs.existsSync(small)) await grow(small, framing, smallSize)
  warm(file)
  return { path: file, small, size: fs.statSync(file).size }
}

/**
 * Appends messages until the file has the size, and closes the log. It repeats a few thousand messages, because making
 * new ones would take longer than everything else.
 * @param {string} file
 * @param {GrowthFraming} framing
 * @param {number} size  in bytes
 */
async function grow (file, framing, size) {
  const { next } = createMessages(DEFAULT_SEED)
  const messages = Array.from({ length: MESSAGE_COUNT }, () => encode(next()))
  function * repeat () {
    for (let count = 0, done = 0; done < size; count += BATCH_COUNT, done = fs.statSync(file).size) {
      yield { values: messages.slice(count % MESSAGE_COUNT, count % MESSAGE_COUNT + BATCH_COUNT), done }
    }
  }
  await pour(`growing to ${formatSize(size)}`, size, repeat(), [createLog(file, undefined, framing)])
}

exports.grow = grow
