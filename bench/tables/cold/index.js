'use strict'
// `npm run bench -- cold`: reads of a log that is not in the page cache.

const { formatKib } = require('../../lib/report')
const { loadParts } = require('../../lib/run')
const { showSizes } = require('../sizes')
const { WAYS } = require('./ways')

/** How it was made cold, and the proof. @param {import('../../engine/results').Results} results */
function describeCold ({ runs }) {
  const ways = [...new Set(runs.map(({ figures }) => WAYS[Number(figures.way)]?.name))].join(', ')
  const share = Math.min(1, ...runs.map(({ figures }) => Number(figures.from_disk) / Number(figures.least)))
  if (runs.length === 0) return []
  return [`The file was taken out of the page cache before each run by ${ways}. Of the bytes that were read, at least ` +
    `${Math.floor(100 * share)}% came from the disk.`]
}

/** @type {import('../../engine/row').Table} */
exports.table = {
  name: 'cold',
  about: 'Times reads of a log that is not in the page cache, by block size.',
  groups: [{ name: 'cold', title: 'A cold disk', rows: loadParts(require.resolve('./rows')) }],
  peers: loadParts(require.resolve('./peers')),
  runs: 5,
  budgetMs: 6 * 60_000,
  takes: { minutes: 6, bytes: 0.3e9 },
  // A log of some 100 MB.
  records: 140_000,
  ...showSizes({
    unit: 'ms',
    size: 'block',
    nameOf: formatKib,
    describe: describeCold,
    chart: 'cold',
    words: {
      title: 'Time to read from a cold disk, by block size',
      subtitle: 'Time to read, by block size; lower is better, both axes logarithmic. Thin lines: from the fastest run to the slowest.',
      compared: { rows: ['file', 'blocks'], peer: 'flumelog', at: 65536, verbs: ['reads from a cold disk', 'read from a cold disk'], place: '64 KiB blocks' },
      subject: 'Messages of some 700 bytes',
      cache: 'not in the page cache',
      unit: 'ms',
      axis: 'block size, KiB',
      formatSize: (size) => String(size / 1024)
    }
  })
}
