'use strict'
// What must not grow with the log: the time for each GB of a scan, the time to open, and memory.

const fs = require('node:fs')
const path = require('node:path')
const { encode } = require('@millrace/binary-codec')
const { createLog, pour, warm } = require('../../lib/logs')
const { createMessages, DEFAULT_SEED } = require('../../lib/messages')
const { formatSize } = require('../../lib/report')
const { openRecords } = require('../../lib/readers')
const { measurePeak } = require('../limits/peak-memory')
const { MEMORY_MAX, findLack } = require('../limits/rows/memory')
const { openAgain } = require('../limits/rows/opening')
const { openBareLoop, timeReader } = require('../limits/runners')
const { measureSide, toRow } = require('../limits/shared')

/** @typedef {import('../limits/shared').More} More */
/** @typedef {import('../limits/shared').OpenSide} OpenSide */
/** @typedef {'checked' | 'offset48'} GrowthFraming */
/** @typedef {'scan' | 'open' | 'memory'} PanelName */
/** @typedef {import('../../engine/row').Row & { panel: PanelName, framing: GrowthFraming }} GrowthRow */

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

/** The rows of one log. @type {(framing: GrowthFraming, size: number) => GrowthRow[]} */
function createGrowthRows (framing, size) {
  const label = formatSize(size)
  const prefix = framing === 'checked' ? '' : `${framing}-`
  /** @type {(panel: PanelName, what: string, more: More, sides: Record<string, OpenSide>) => GrowthRow} */
  const rowOf = (panel, what, more, sides) => {
    // A stage of its own, because another log would push this one out of the page cache.
    const stage = `${framing}, ${label}`
    const name = `${prefix}${panel}-${label.replace(' ', '')}`
    const row = toRow(name, what, { ...more, stage }, (context) => prepareGrowth(context, framing, size), sides)
    const figures = [...row.figures, { figure: 'size', what: 'the size of the log', unit: /** @type {const} */ ('bytes') }]
    return { ...row, figures, measure: measureSized, panel, framing }
  }
  const samples = Math.max(1, Math.min(SCANS_MAX, Math.round(SCANNED_SIZE / size)))
  return [
    rowOf('scan', `scan of ${label}, ${framing} : bare loop`, { samples },
      { millrace: ({ path }) => timeReader(openRecords(path), null, { count: countOnly }), loop: openBareLoop }),
    rowOf('open', `open ${label}, ${framing} : 10 MB`, { within: 1.5, samples: 20 },
      { millrace: ({ path }) => openAgain(path, 0, { flags: 'r' }), 'log-10MB': ({ small }) => openAgain(small, 0, { flags: 'r' }) }),
    rowOf('memory', `memory, scan of ${label}, ${framing} : 24 MiB`, { unit: 'bytes', most: MEMORY_MAX },
      { millrace: ({ path }) => measurePeak('scan', path) })
  ]
}

/** @type {GrowthRow['measure']} */
async function measureSized (order) {
  const { figures, answers } = await measureSide(order)
  return { figures: { ...figures, size: order.setting.size }, answers }
}

/** The sum of the seqs of 10 GB is too large for a number. @type {import('../limits/runners').Count} */
function countOnly ({ log }, counts) {
  return log.scan({}, (/** @type {{ count: number }} */ { count }) => { counts.records += count })
}

/**
 * @param {import('../../engine/row').Context} context
 * @param {GrowthFraming} framing
 * @param {number} wanted  size in bytes; less if the largest log is to be smaller than usual
 */
async function prepareGrowth ({ shared, options }, framing, wanted) {
  const [size, smallSize] = [wanted, SIZES[0]].map((size) => size * options.largest / (SIZES[SIZES.length - 1] / 1e6))
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
exports.LARGEST = SIZES[SIZES.length - 1]
