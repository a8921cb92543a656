'use strict'
// The rows of space: how much larger a log is than the records in it, after a clean close.

const fs = require('node:fs')
const path = require('node:path')
const { OffsetLog } = require('@millrace/offset-log')
const { RECORD_SIZE, createRecords } = require('./records')

/**
 * @param {Pick<import('./shapes').Row, 'name' | 'order' | 'what' | 'goal'>} row
 * @param {{ commitCount: number, recordsPerCommit: number }} work
 * @returns {import('./shapes').Row}
 */
function createSpaceRow (row, { commitCount, recordsPerCommit }) {
  const payload = commitCount * recordsPerCommit * RECORD_SIZE
  return {
    ...row,
    unit: 'bytes',
    isShare: true,
    isExact: true,
    samples: 0,
    prepare: ({ folder }) => ({ file: path.join(folder, 'space.log') }),
    ours: {
      open: ({ file }) => ({
        async sample () {
          await writeLog(file, { commitCount, recordsPerCommit })
          return fs.statSync(file).size - payload
        },
        finish: () => ({ records: commitCount * recordsPerCommit })
      })
    },
    peer: {
      open: () => ({ sample: () => payload, finish: () => ({ records: payload / RECORD_SIZE }) })
    }
  }
}

/**
 * @param {string} file
 * @param {{ commitCount: number, recordsPerCommit: number }} work
 */
async function writeLog (file, { commitCount, recordsPerCommit }) {
  const log = OffsetLog(file, { framing: 'checked', fsync: 'never' })
  const records = createRecords(recordsPerCommit)
  for (let left = commitCount; left > 0; left--) await log.append(records)
  await log.close()
}

exports.createSpaceRow = createSpaceRow
