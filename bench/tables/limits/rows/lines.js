'use strict'
// Rows about a log that is a text file, such as JSON Lines: beside the default format, a bare file and the bare loop.

const fs = require('node:fs')
const path = require('node:path')
const { call, time } = require('../../../lib/measure')
const { openStore } = require('../../../stores')
const { findAnswers } = require('../logs')
const { sumPages } = require('../least')
const { createRecords, openBareLoop, openScan, readSpans } = require('../runners')
const { needs, reads, toRow } = require('../shared')
const { BATCH_SAMPLES, beside, durably, timeAppends } = require('./appends')
const { by } = require('./queries')

const LINE_FEED = 10
const LINE_BREAK = Buffer.from([LINE_FEED])
// A log reads this much at once.
const SPAN_SIZE = 256 * 1024
const { indexOf } = Buffer.prototype
const EACH_COUNT = 10_000
// Of what does not wait, a busy machine changes the processor time less.
const env = { MILLRACE_BENCH_CLOCK: 'processor' }
const batched = { samples: BATCH_SAMPLES, times: 0.8, env }
const synced = { samples: 4, times: 0.85 }

/** @typedef {import('../shared').OpenSide} OpenSide */

/** @typedef {import('../shared').More} More */
/** @typedef {import('../../../engine/row').Row} Row */

/** @type {(name: string, what: string, within: number, verify: boolean, more?: More) => Row} */
const overLoop = (name, what, within, verify, more) => {
  return toRow(name, `${what} : bare loop`, { within, samples: 9, env, ...more }, reads('json', 'lines'),
    { millrace: (log) => openScan(log, { verify }), loop: openBareLoop })
}
/** @type {(isSummed: boolean) => More['least']} */
const least = (isSummed) => ({
  what: `read the file, look for zeros, ${isSummed ? 'sum its pages, ' : ''}and go from line to line`,
  open: ({ path }) => openLineLoop(path, isSummed)
})

exports.parts = [
  // What programs do that keep such a file by themselves.
  toRow('lines-each', 'append, awaited each : fs.appendFileSync', { within: 1.2, samples: 9, env }, undefined,
    { millrace: appendEach, 'append-file': appendToFile }),
  toRow('lines-256', 'append, 256 in flight : checked', batched, ...beside('checked', undefined, { batchSize: 1, inFlight: 256 }, 'lines')),
  toRow('lines-batches', 'append, batches of 100 : checked', batched, ...beside('checked', undefined, undefined, 'lines')),
  toRow('lines-durable-1', 'append, synced each : checked', synced, ...durably({ appenderCount: 1, roundCount: 3000 }, 'checked', 'lines')),
  toRow('lines-durable-256', '256 appenders, synced : checked', synced, ...durably({ appenderCount: 256, roundCount: 50 }, 'checked', 'lines')),
  // The cost of finding the lines, and of comparing checksums.
  overLoop('lines-scan', 'scan of lines, not verified', 1.35, false, { least: least(false) }),
  overLoop('lines-scan-verified', 'scan of lines, verified', 1.75, true, { least: least(true), needs: needs.nodeRsCrc32 }),
  toRow('lines-where', 'JSON where, 1 in 1,000 : checked', { within: 1.15, samples: 7, env, needs: needs.nodeRsCrc32 }, async (context) => {
    const { path: checked } = await findAnswers(context, 'json', 'checked', 'root')
    return { ...await findAnswers(context, 'json', 'lines', 'root'), checked }
  }, { millrace: by('json'), checked: ({ checked, where }) => by('json')({ path: checked, where }) })
]

/** @type {OpenSide} */
function appendEach ({ folder }) {
  const records = createRecords(EACH_COUNT)
  return timeAppends(folder, true, (own) => openStore('lines', own, 'append'), async (store) => {
    for (const record of records) await call((cb) => store.append([record], cb))
  })
}

/** @type {OpenSide} */
function appendToFile ({ folder }) {
  const lines = createRecords(EACH_COUNT).map((record) => Buffer.concat([record, LINE_BREAK]))
  return timeAppends(folder, true, async (own) => {
    const file = path.join(own, 'log')
    return {
      append: (/** @type {Buffer} */ line) => fs.appendFileSync(file, line),
      async scan (/** @type {import('../../../stores').Visit} */ visit) {
        const bytes = fs.readFileSync(file)
        for (let start = 0; start < bytes.length;) {
          const end = bytes.indexOf(LINE_BREAK, start)
          visit(0, bytes, start, end)
          start = end + LINE_BREAK.length
        }
      },
      close: async () => {}
    }
  }, async ({ append }) => lines.forEach(append))
}

/**
 * The least that a scan of lines must do: text has no zero byte, and each line ends with a line break. It counts the
 * records that are whole in a span.
 * @type {(path: string, isSummed: boolean) => import('../runners').Runner}
 */
function openLineLoop (path, isSummed) {
  const fd = fs.openSync(path, 'r')
  const span = Buffer.allocUnsafeSlow(SPAN_SIZE)
  let bytes = 0
  return {
    sample: () => time(() => {
      bytes = readSpans(fd, span, (size) => {
        if (indexOf.call(span, 0) !== -1) throw new Error('a zero byte')
        if (isSummed) sumPages(span, size)
        for (let at = 0; at !== -1 && at < size;) at = indexOf.call(span, LINE_FEED, at + 1)
      })
    }),
    finish: () => ({ bytes })
  }
}
