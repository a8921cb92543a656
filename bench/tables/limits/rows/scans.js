'use strict'
// Rows about reading a whole log: blocks, records, items and values.

const fs = require('node:fs')
const path = require('node:path')
const { loadRecords, openBlocks, openFlumelog, openItems } = require('../../../lib/readers')
const { RECORDS, measureLog, openBareLoop, openScan, openSummedLoop, timeReader, writeCommits } = require('../runners')
const { bareLoop, needs, reads, readsPath, scan, toRow } = require('../shared')

const TASK = require.resolve('../tally-task')
const SINGLES_MAX = 150000

/** Digests every hundredth block. @type {import('../runners').Kind} */
const BLOCKS = { ...RECORDS, every: 100 }
/** @type {import('../runners').Kind} */
const VALUES = { pick: ({ seqSum, seqDigest, digest }) => ({ seqSum, seqDigest, digest }) }

const least = {
  what: 'read the file, sum all of it, and go from record to record',
  open: (/** @type {{ path: string }} */ { path }) => openSummedLoop(path)
}
/** @type {import('../shared').OpenSide} */
const items = ({ path }) => timeReader(openItems(path), RECORDS)

exports.parts = [
  toRow('file', 'BlockFile.scan, 64 KiB : bare loop', { within: 1.1, samples: 9, drawn: 'every block' }, readsPath('json', 'offset32'),
    { millrace: ({ path }) => timeReader(openBlocks(path), BLOCKS), loop: ({ path }) => openBareLoop(path, BLOCKS) }),
  // The cost of finding the records, without verifying.
  toRow('scan-offset', 'scan, offset framing : bare loop', { within: 1.2, samples: 9, drawn: 'every record, offset framing' },
    reads('json', 'offset32'), { millrace: scan, loop: bareLoop }),
  // The cost of verifying, with a plain Node.js and with the faster checksum.
  toRow('scan-zlib', 'verified scan, zlib.crc32 : bare loop',
    { within: 3, samples: 7, drawn: 'every record, verified, zlib', least, env: { MILLRACE_CRC32: 'zlib' } },
    reads('json', 'checked'), { millrace: scan, loop: bareLoop }),
  toRow('scan-node-rs', 'verified scan, @node-rs/crc32 : bare loop',
    { within: 1.6, samples: 7, drawn: 'every record, verified, node-rs', least, needs: needs.nodeRsCrc32 },
    reads('json', 'checked'), { millrace: scan, loop: bareLoop }),
  // The worst case of verifying: a header and a checksum for every record.
  toRow('scan-single', 'verified scan, 1 record a commit : loop', { within: 7, samples: 7, least, needs: needs.nodeRsCrc32 },
    prepareSingles, { millrace: scan, loop: bareLoop }),
  toRow('scan-threads', 'scan over two threads : bare loop',
    { within: 0.85, samples: 15, drawn: 'every record, two threads', needs: needs.secondCore }, reads('json', 'offset32'),
    { millrace: ({ path }) => openScan(path, { count: countOverThreads }), loop: bareLoop }),
  // The block size is the unit of caching, so a scan must not depend on it.
  toRow('small-blocks', 'scan, 1 KiB blocks : 64 KiB blocks', { within: 1.3, samples: 7 }, reads('json', 'offset32'),
    { millrace: ({ path }) => openScan(path, { blockSize: 1024 }), 'blocks-64KiB': scan }),
  // The cost of records one by one, as most programs read them.
  toRow('items', 'stream of { seq, value } : bare loop', { within: 3, samples: 7, drawn: 'a stream of items' },
    reads('json', 'offset32'), { millrace: items, loop: bareLoop }),
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

/** @type {(reader: any, sum: import('../../../lib/measure').Counts) => Promise<void>} */
async function countOverThreads ({ log }, sum) {
  const { results } = await log.scan({ threads: 2 }, TASK)
  for (const counts of results) sum.add(counts)
}

/**
 * @param {string} path  of a log of JSON in an offset framing
 * @returns {Promise<import('../../../lib/readers').Reader<import('../../../lib/readers').VisitValue>>}
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
