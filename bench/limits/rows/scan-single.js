'use strict'
// The most that verifying can cost: a header, and a checksum, for every record.

const fs = require('node:fs')
const path = require('node:path')
const { nodeRsCrc32 } = require('../lib/optional')
const { measureLog } = require('../lib/scan-log')
const { createScanRow } = require('../lib/scan-row')
const { writeCommits } = require('../lib/write-commits')

const RECORDS_MAX = 150000

const row = createScanRow({
  name: 'scan-single',
  order: 22,
  what: 'verified scan, 1 record a commit : loop',
  goal: 7,
  needs: nodeRsCrc32
})

/** @type {import('../lib/shapes').Row} */
module.exports = {
  ...row,
  async prepare ({ folder, records }) {
    const file = path.join(folder, 'single.log')
    await writeCommits(file, { commitCount: Math.min(records, RECORDS_MAX), recordsPerCommit: 1 })
    const { records: count, delivered, digest } = await measureLog(file)
    return { path: file, expected: { records: count, delivered, digest, bytes: fs.statSync(file).size } }
  }
}
