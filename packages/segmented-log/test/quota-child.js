'use strict'
// For the test of the quota: as a worker thread it writes numbered records into a log; as a process it follows one to a
// record, and says if it met one twice or too early. Usage: node quota-child.js <folder> <number of the last record>

const { setImmediate: nextTurn } = require('node:timers/promises')
const { isMainThread, parentPort, workerData } = require('node:worker_threads')
const { SegmentedLog } = require('..')

/** @returns {Promise<string[]>} the codes of what was refused */
async function write ({ folder, maxSize, count, size }) {
  const log = SegmentedLog(folder, { maxSize })
  await log.ready()
  const codes = new Set()
  for (let i = 0; i < count; i++) {
    const record = Buffer.alloc(size, 'r')
    record.writeUInt32BE(i)
    try {
      log.appendSync(record, { sync: false })
    } catch (err) {
      codes.add(err.code)
    }
    if (i % 100 === 0) await nextTurn()
  }
  await log.close()
  return [...codes]
}

/** Reads from the oldest record on, until the last one, or until the writer has dropped what comes next. */
async function followOn (log, seen, last) {
  let before = -1
  try {
    for await (const value of log.stream({ live: true, seqs: false, onRetained: 'skip' })) {
      const number = value.readUInt32BE()
      if (number <= before) throw new Error(`${number} came after ${before}`)
      before = number
      if (number === last) break
    }
  } catch (err) {
    if (err.code !== 'ERR_LOG_SEQ_RETAINED') throw err
  }
  return Math.max(seen, before)
}

async function follow (folder, last) {
  const log = SegmentedLog(folder, { flags: 'r' })
  await log.ready()
  process.send('ready')
  let before = -1
  while (before !== last) before = await followOn(log, before, last)
  const names = (await log.segments()).map(({ path }) => path)
  process.send({ names })
  await log.close()
  process.disconnect()
}

if (!isMainThread) write(workerData).then((codes) => parentPort.postMessage({ codes }))
else follow(process.argv[2], Number(process.argv[3]))
