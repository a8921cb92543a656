'use strict'
// Rows about reading a whole log: blocks, records, items and values.

const fs = require('node:fs')
const path = require('node:path')
const { loadRecords, openBlocks, openFlumelog, openItems } = require('../../lib/readers')
const { RECORDS, measureLog, openBareLoop, openScan, openSummedLoop, timeReader, writeCommits } = require('../runners')
const { bareLoop, needs, reads, readsPath, scan, toRows } = require('./shared')

const TASK = require.resolve('../tally-task')
const SINGLES_MAX = 150000

/** Digests every hundredth block. @type {import('../runners').Kind} */
const BLOCKS = { ...RECORDS, every: 100 }
/** @type {import('../runners').Kind} */
const VALUES = { pick: ({ seqSum, seqDigest, digest }) => ({ seqSum, seqDigest, digest }) }

const bound = {
  what: 'read the file, sum all of it, and go from record to record',
  open: (/** @type {{ path: string }} */ { path }) => openSummedLoop(path)
}
/** @type {import('./shared').OpenSide} */
const items = ({ path }) => timeReader(openItems(path), RECORDS)

exports.parts = toRows([
  ['file', 'BlockFile.scan, 64 KiB : bare loop', { goal: 1.1, samples: 9, drawn: 'every block' },
    readsPath('json', 'offset32'), ({ path }) => timeReader(openBlocks(path), BLOCKS), ({ path }) => openBareLoop(path, BLOCKS)],
  // The cost of finding the records, without verifying.
  ['scan-offset', 'scan, offset framing : bare loop', { goal: 1.2, samples: 9, drawn: 'every record, offset framing' },
    reads('json', 'offset32'), scan, bareLoop],
  // The cost of verifying, with a plain Node.js and with the faster checksum.
  ['scan-zlib', 'verified scan, zlib.crc32 : bare loop',
    { goal: 3, samples: 7, drawn: 'every record, verified, zlib', bound, env: { MILLRACE_CRC32: 'zlib' } },
    reads('json', 'checked'), scan, bareLoop],
  ['scan-node-rs', 'verified scan, @node-rs/crc32 : bare loop',
    { goal: 1.6, samples: 7, drawn: 'every record, verified, node-rs', bound, needs: needs.nodeRsCrc32 },
    reads('json', 'checked'), scan, bareLoop],
  // The worst case of verifying: a header and a checksum for every record.
  ['scan-single', 'verified scan, 1 record a commit : loop', { goal: 7, samples: 7, bound, needs: needs.nodeRsCrc32 },
    prepareSingles, scan, bareLoop],
  ['scan-threads', 'scan over two threads : bare loop',
    { goal: 0.85, samples: 15, drawn: 'every record, two threads', needs: needs.secondCore },
    reads('json', 'offset32'), ({ path }) => openScan(path, { count: countOverThreads }), bareLoop],
  // The block size is the unit of caching, so a scan must not depend on it.
  ['small-blocks', 'scan, 1 KiB blocks : 64 KiB blocks', { goal: 1.3, samples: 7 },
    reads('json', 'offset32'), ({ path }) => openScan(path, { blockSize: 1024 }), scan],
  // The cost of records one by one, as most programs read them.
  ['items', 'stream of { seq, value } : bare loop', { goal: 3, samples: 7, drawn: 'a stream of items' },
    reads('json', 'offset32'), items, bareLoop],
  ['items-flumelog', 'stream of { seq, value } : flumelog-offset',
    { faster: 8, samples: 5, peerSamples: 1, beside: { row: 'items', label: 'flumelog-offset' } },
    reads('json', 'offset32'), items, ({ path }) => timeReader(openFlumelog(path, {}), RECORDS)],
  // Most of the time is parsing. The log must add little.
  ['json', 'stream, JSON : JSON.parse in memory', { goal: 1.1, samples: 3 },
    reads('json', 'offset32'), ({ path }) => timeReader(openItems(path, { codec: 'json' }), VALUES),
    ({ path }) => timeReader(openParsedInMemory(path), VALUES)]
])

/** @param {import('./shared').Context} context */
async function prepareSingles ({ folder, records }) {
  const file = path.join(folder, 'single.log')
  await writeCommits(file, { commitCount: Math.min(records, SINGLES_MAX), recordsPerCommit: 1 })
  const { records: count, delivered, digest } = await measureLog(file)
  return { path: file, expected: { records: count, delivered, digest, bytes: fs.statSync(file).size } }
}

/** @type {(reader: any, sum: import('../../lib/measure').Counts) => Promise<void>} */
async function countOverThreads ({ log }, sum) {
  const { results } = await log.scan({ threads: 2 }, TASK)
  for (const counts of results) sum.add(counts)
}

/**
 * @param {string} path  of a log of JSON in an offset framing
 * @returns {Promise<import('../../lib/readers').Reader<import('../../lib/readers').VisitValue>>}
 */
async function openParsedInMemory (path) {
  const { bytes, seqs, starts, ends } = await loadRecords(path)
  return {
    async run (visit) {
      for (let index = 0; index < seqs.length; index++) {
        visit(seqs[index], JSON.parse(bytes.toString('utf8', starts[index], ends[index])))
      }
    },
    async close () {}
  }
}
