'use strict'
// Rows about reading a whole log: blocks, records, items and values.

const { once } = require('node:events')
const fs = require('node:fs')
const path = require('node:path')
const { Worker } = require('node:worker_threads')
const { Counts, time } = require('../../../lib/measure')
const { loadRecords, openBlocks, openFlumelog, openItems } = require('../../../lib/readers')
const { sumAndWalk } = require('../least')
const { RECORDS, measureLog, openBareLoop, openScan, readSpans, timeReader, writeCommits } = require('../runners')
const { needs, reads, readsPath, toRow } = require('../shared')

/** @typedef {import('../../../engine/row').Row} Row */

const COUNT_THREAD = require.resolve('../count-thread')
const THREAD_COUNT = 2
const SINGLES_MAX = 150000
// A log reads this much at once.
const SPAN_SIZE = 256 * 1024

/** Digests every hundredth block. @type {import('../runners').Kind} */
const BLOCKS = { ...RECORDS, every: 100 }
/** @type {import('../runners').Kind} */
const VALUES = { pick: ({ seqSum, seqDigest, digest }) => ({ seqSum, seqDigest, digest }) }

const least = { what: 'read the file, sum all of it, and go from record to record', open: openSummedLoop }
/** @type {import('../shared').OpenSide} */
const items = ({ path }) => timeReader(openItems(path), RECORDS)

/**
 * @type {(name: string, what: string, more: import('../shared').More, prepare?: Row['prepare'], millrace?:
 *   import('../shared').OpenSide) => Row}
 */
const overLoop = (name, what, more, prepare = reads('json', 'offset32'), millrace = openScan) => {
  return toRow(name, `${what} : bare loop`, more, prepare, { millrace, loop: openBareLoop })
}

exports.parts = [
  toRow('file', 'BlockFile.scan, 64 KiB : bare loop', { within: 1.1, samples: 9, drawn: 'every block' }, readsPath('json', 'offset32'),
    { millrace: ({ path }) => timeReader(openBlocks(path), BLOCKS), loop: (log) => openBareLoop(log, BLOCKS) }),
  // The cost of finding the records, without verifying.
  overLoop('scan-offset', 'scan, offset framing', { within: 1.2, samples: 9, drawn: 'every record, offset framing' }),
  // The cost of verifying, with a plain Node.js and with the faster checksum.
  overLoop('scan-zlib', 'verified scan, zlib.crc32',
    { within: 3, samples: 7, drawn: 'every record, verified, zlib', least, env: { MILLRACE_CRC32: 'zlib' } }, reads('json', 'checked')),
  overLoop('scan-node-rs', 'verified scan, @node-rs/crc32',
    { within: 1.6, samples: 7, drawn: 'every record, verified, node-rs', least, needs: needs.nodeRsCrc32 }, reads('json', 'checked')),
  // The worst case of verifying: a header and a checksum for every record.
  toRow('scan-single', 'verified scan, 1 record a commit : loop', { within: 7, samples: 7, least, needs: needs.nodeRsCrc32 },
    prepareSingles, { millrace: openScan, loop: openBareLoop }),
  toRow('scan-threads', 'scan over two threads : bare loop',
    { within: 0.85, samples: 15, drawn: 'every record, verified, two threads', needs: { ...needs.secondCore, ...needs.nodeRsCrc32 } },
    reads('json', 'checked'), { millrace: openInThreads, loop: openBareLoop }),
  // The block size is the unit of caching, so a scan must not depend on it.
  toRow('small-blocks', 'scan, 1 KiB blocks : 64 KiB blocks', { within: 1.3, samples: 7 }, reads('json', 'offset32'),
    { millrace: (log) => openScan(log, { blockSize: 1024 }), 'blocks-64KiB': openScan }),
  // The cost of records one by one, as most programs read them.
  overLoop('items', 'stream of { seq, value }', { within: 3, samples: 7, drawn: 'a stream of items' }, undefined, items),
  toRow('items-flumelog', 'stream of { seq, value } : flumelog-offset', { times: 8, samples: 5, otherSamples: 1 },
    reads('json', 'offset32'), { millrace: items, 'flumelog-offset': ({ path }) => timeReader(openFlumelog(path, {}), RECORDS) }),
  // Most of the time is parsing. The log must add little.
  toRow('json', 'stream, JSON : JSON.parse in memory', { within: 1.1, samples: 3 }, reads('json', 'offset32'), {
    millrace: ({ path }) => timeReader(openItems(path, { codec: 'json' }), VALUES),
    json: ({ path }) => timeReader(openParsedInMemory(path), VALUES)
  })
]

/** @param {import('../../../engine/row').Context} context */
async function prepareSingles ({ folder, options }) {
  const file = path.join(folder, 'single.log')
  await writeCommits(file, { commitCount: Math.min(options.records, SINGLES_MAX), recordsPerCommit: 1 })
  const { records, delivered, digest } = await measureLog(file)
  return { path: file, answers: { '': { records, delivered, digest, bytes: fs.statSync(file).size } } }
}

/**
 * The least that a verified scan must do: reads the file, computes a checksum of all of it (without comparing it), and
 * walks from record to record.
 * @param {{ path: string }} setting  of a checked log
 * @returns {import('../runners').Runner}
 */
function openSummedLoop ({ path }) {
  const fd = fs.openSync(path, 'r')
  const span = Buffer.allocUnsafeSlow(SPAN_SIZE)
  const view = new DataView(span.buffer)
  let counts = new Counts()
  let bytes = 0
  return {
    sample: () => time(() => {
      counts = new Counts()
      bytes = readSpans(fd, span, (size, position) => sumAndWalk(span, view, { size, position }, counts))
    }),
    finish: () => ({ bytes, records: counts.records, delivered: counts.delivered })
  }
}

/**
 * Divides the log anew each time, and has a thread of its own count each part.
 * @param {{ path: string }} setting
 */
function openInThreads ({ path }) {
  const threads = Array.from({ length: THREAD_COUNT }, () => new Worker(COUNT_THREAD, { workerData: path }))
  return openScan({ path }, {
    async count ({ log }, sum) {
      /** @type {import('@millrace/offset-log').Partition[]} */
      const ranges = await log.partitions(THREAD_COUNT)
      const counted = await Promise.all(ranges.map(async (range, index) => {
        threads[index].postMessage(range)
        const [counts] = await once(threads[index], 'message')
        return counts
      }))
      for (const counts of counted) sum.add(counts)
    }
  })
}

/**
 * @param {string} path  of a log of JSON in an offset framing
 * @returns {Promise<import('../runners').Reader>}
 */
async function openParsedInMemory (path) {
  const { bytes, seqs, starts, ends } = await loadRecords(path)
  return {
    async run (visit) {
      for (let index = 0; index < seqs.length; index++) {
        visit(seqs[index], JSON.parse(bytes.toString('utf8', starts[index], ends[index])))
      }
    }
  }
}
