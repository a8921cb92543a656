'use strict'
// The rows of space: how much larger a log is than the records in it, after a clean close.

const fs = require('node:fs')
const path = require('node:path')
const { RECORD_SIZE } = require('./records')
const { writeCommits } = require('./write-commits')

/**
 * @param {Pick<import('./shapes').Row, 'name' | 'order' | 'what' | 'goal'>} row
 * @param {import('./write-commits').Work} work
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
          await writeCommits(file, { commitCount, recordsPerCommit })
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

exports.createSpaceRow = createSpaceRow
