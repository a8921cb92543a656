'use strict'
// A log as a killed process leaves it: durable up to a point, and after it whole commits that no sync has covered.
// Usage: node crash.js '{ "file", "durableSize", "tailSize" }'; ends by a signal.

const { OffsetLog } = require('@millrace/offset-log')
const { RECORD_SIZE, createRecords } = require('./runners')

const RECORDS_PER_COMMIT = 87

if (require.main === module) crash(JSON.parse(process.argv[2]))

/** @param {{ file: string, durableSize: number, tailSize: number }} order  sizes in bytes */
async function crash ({ file, durableSize, tailSize }) {
  const log = OffsetLog(file, { framing: 'checked', fsync: 'never' })
  const records = createRecords(RECORDS_PER_COMMIT)
  const fill = async (/** @type {number} */ size) => {
    for (let written = 0; written < size; written += records.length * RECORD_SIZE) await log.append(records)
  }
  await fill(durableSize)
  await log.sync()
  await fill(tailSize)
  process.kill(process.pid, 'SIGKILL')
}
