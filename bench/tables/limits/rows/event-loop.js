'use strict'
// Rows about the event loop: the longest time for which a read lets nothing else run, against a fixed limit.

const { openItems, openRecords } = require('../../../lib/readers')
const { takeNoBreaks } = require('../least')
const { openScan, timeReader } = require('../runners')
const { reads, toRow } = require('../shared')

const limit = { most: 6, samples: 5 }
const timeBlocks = (/** @type {Promise<import('../runners').Reader>} */ reader) => {
  return timeReader(reader, null, { clock: findLongestBlock })
}

exports.parts = [
  // A scan reads and verifies synchronously.
  toRow('event-loop', 'longest block, scan, verified : 6 ms', limit,
    reads('json', 'checked'), { millrace: ({ path }) => timeBlocks(openRecords(path)) }),
  // Items cost little, but there are many between two reads of the file.
  toRow('event-loop-items', 'longest block, stream of items : 6 ms', limit,
    reads('json', 'offset32'), { millrace: ({ path }) => timeBlocks(openItems(path)) }),
  // Items cost much: each is parsed.
  toRow('event-loop-json', 'longest block, stream, JSON : 6 ms', { ...limit, samples: 2 },
    reads('json', 'offset32'), { millrace: ({ path }) => timeBlocks(openItems(path, { codec: 'json' })) }),
  // Few records match, so the user's code hardly runs.
  toRow('event-loop-where', 'longest block, JSON where : 6 ms', limit, reads('json', 'offset32', 'root'),
    { millrace: ({ path, where }) => timeBlocks(openRecords(path, { codec: 'json', where })) }),
  // The cost of yielding: the same scan, with and without.
  toRow('event-loop-time', 'scan in slices : without a break', { within: 1.05, samples: 9 }, reads('json', 'offset32'), {
    millrace: openScan,
    'no-breaks': (log) => {
      takeNoBreaks()
      return openScan(log)
    }
  })
]

/**
 * @param {() => unknown} run
 * @returns {Promise<number>}  the longest time, in milliseconds, between two turns of the event loop
 */
async function findLongestBlock (run) {
  let [longest, last, isRunning] = [0, performance.now(), true]
  const tick = () => {
    const now = performance.now()
    longest = Math.max(longest, now - last)
    last = now
    if (isRunning) setImmediate(tick)
  }
  setImmediate(tick)
  await run()
  isRunning = false
  tick()
  return longest
}

exports.findLongestBlock = findLongestBlock
