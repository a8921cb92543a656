'use strict'
// The records of a log of the bench, in memory, to be appended elsewhere.

const { OffsetLog } = require('@millrace/offset-log')

/**
 * @param {string} file
 * @returns {Promise<Buffer[]>}
 */
async function readRecords (file) {
  const log = OffsetLog(file, { flags: 'r' })
  /** @type {Buffer[]} */
  const records = []
  await log.scan({}, ({ buffer, count, starts, ends }) => {
    for (let index = 0; index < count; index++) records.push(Buffer.from(buffer.subarray(starts[index], ends[index])))
  })
  await log.close()
  return records
}

exports.readRecords = readRecords
