'use strict'
// Rows about a log that is a text file, such as JSON Lines: beside the default format, a bare file and the bare loop.

const fs = require('node:fs')
const path = require('node:path')
const { call } = require('../../../lib/measure')
const { openStore } = require('../../../stores')
const { findAnswers } = require('../logs')
const { createRecords, openBareLoop, openScan } = require('../runners')
const { needs, reads, toRow } = require('../shared')
const { BATCH_SAMPLES, beside, durably, timeAppends } = require('./appends')
const { by } = require('./queries')

const LINE_BREAK = Buffer.from('\n')
const EACH_COUNT = 10_000
const batched = { samples: BATCH_SAMPLES, times: 0.8 }
const synced = { samples: 4, times: 0.85 }

/** @typedef {import('../shared').OpenSide} OpenSide */

/** @typedef {import('../shared').More} More */
/** @typedef {import('../../../engine/row').Row} Row */

/** @type {(name: string, what: string, within: number, verify: boolean, more?: More) => Row} */
const overLoop = (name, what, within, verify, more) => {
  return toRow(name, `${what} : bare loop`, { within, samples: 9, ...more }, reads('json', 'lines'),
    { millrace: (log) => openScan(log, { verify }), loop: openBareLoop })
}

exports.parts = [
  // What programs do that keep such a file by themselves.
  toRow('lines-each', 'append, awaited each : fs.appendFileSync', { within: 1.2, samples: 9 }, undefined,
    { millrace: appendEach, 'append-file': appendToFile }),
  toRow('lines-256', 'append, 256 in flight : checked', batched, ...beside('checked', undefined, { batchSize: 1, inFlight: 256 }, 'lines')),
  toRow('lines-batches', 'append, batches of 100 : checked', batched, ...beside('checked', undefined, undefined, 'lines')),
  toRow('lines-durable-1', 'append, synced each : checked', synced, ...durably({ appenderCount: 1, roundCount: 3000 }, 'checked', 'lines')),
  toRow('lines-durable-256', '256 appenders, synced : checked', synced, ...durably({ appenderCount: 256, roundCount: 50 }, 'checked', 'lines')),
  // The cost of finding the lines, and of comparing checksums.
  overLoop('lines-scan', 'scan of lines, not verified', 1.35, false),
  overLoop('lines-scan-verified', 'scan of lines, verified', 1.75, true, { needs: needs.nodeRsCrc32 }),
  toRow('lines-where', 'JSON where, 1 in 1,000 : checked', { within: 1.15, samples: 7, needs: needs.nodeRsCrc32 }, async (context) => {
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
