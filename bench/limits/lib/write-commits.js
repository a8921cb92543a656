'use strict'
// A log of so many commits, each of the same records.

const { OffsetLog } = require('@millrace/offset-log')
const { createRecords } = require('./records')

/** @typedef {{ commitCount: number, recordsPerCommit: number }} Work */

/**
 * @param {string} file
 * @param {Work} work
 */
async function writeCommits (file, { commitCount, recordsPerCommit }) {
  const log = OffsetLog(file, { framing: 'checked', fsync: 'never' })
  const records = createRecords(recordsPerCommit)
  // Each is a commit of its own, since it waits for the one before.
  for (let left = commitCount; left > 0; left--) await log.append(records)
  await log.close()
}

exports.writeCommits = writeCommits
