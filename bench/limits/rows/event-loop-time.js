'use strict'
// What it costs to let others have their turn: the same scan, with and without.

const { SpanReader } = require('@millrace/block-file')
const { createReadRow } = require('../lib/read-row')
const { openScan } = require('../lib/scan-log')

module.exports = createReadRow({
  name: 'event-loop-time',
  order: 64,
  what: 'scan in slices : without a break',
  goal: 1.05,
  samples: 9,
  ours: { open: ({ path }) => openScan(path) },
  peer: {
    open ({ path }) {
      takeNoBreaks()
      return openScan(path)
    }
  }
}, { log: 'json', framing: 'offset32' })

/** There is no option for it, and no use but this one. */
function takeNoBreaks () {
  const prototype = /** @type {any} */ (SpanReader.prototype)
  if (typeof prototype._inSlice !== 'function') throw new Error('the span reader takes its breaks elsewhere now')
  prototype._inSlice = (/** @type {() => void} */ load) => load()
}
