'use strict'
// The longest time for which a read lets nothing else run: beside a limit that is no measurement.

const { openItems, openRecords } = require('../../lib/readers')
const { takeNoBreaks } = require('../insides')
const { createLimit, timeReader } = require('../runners')
const { reads, scan, toRows } = require('./shared')

const limit = { goal: 1, samples: 5, peerSamples: 0 }
const sixMs = createLimit(6)
const timeBlocks = (/** @type {Promise<import('../../lib/readers').Reader<any>>} */ reader) => {
  return timeReader(reader, null, { clock: findLongestBlock })
}

exports.parts = toRows([
  // A scan reads synchronously and verifies what it reads.
  ['event-loop', 'longest block, scan, verified : 6 ms', limit,
    reads('json', 'checked'), ({ path }) => timeBlocks(openRecords(path)), sixMs],
  // A stream whose items cost little, but are many between two reads of the file.
  ['event-loop-items', 'longest block, stream of items : 6 ms', limit,
    reads('json', 'offset32'), ({ path }) => timeBlocks(openItems(path)), sixMs],
  // A stream whose items cost most: each is parsed.
  ['event-loop-json', 'longest block, stream, JSON : 6 ms', { ...limit, samples: 2 },
    reads('json', 'offset32'), ({ path }) => timeBlocks(openItems(path, { codec: 'json' })), sixMs],
  // A scan that hands out hardly anything, so that its user has no turn of his own.
  ['event-loop-where', 'longest block, JSON where : 6 ms', limit,
    reads('json', 'offset32', 'root'), ({ path, where }) => timeBlocks(openRecords(path, { codec: 'json', where })), sixMs],
  // What it costs to let others have their turn: the same scan, with and without.
  ['event-loop-time', 'scan in slices : without a break', { goal: 1.05, samples: 9 },
    reads('json', 'offset32'), scan, (setting) => {
      takeNoBreaks()
      return scan(setting)
    }]
])

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
