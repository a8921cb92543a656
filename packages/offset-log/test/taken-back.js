'use strict'
// Logs whose first records recovery took back, so that others have their place; and the pages of the lost ones, which a
// disk may bring up again.

const { SimulatedDisk } = require('@millrace/testkit')
const { OffsetLog } = require('..')

const HEAD_SIZE = 32768
const PAGE_SIZE = 16384

/**
 * @param {string} file
 * @param {Buffer[]} lost  one append each, of which the first page of all had not reached the disk
 * @param {Buffer[]} records  what was appended after recovery, one append each
 * @returns {Promise<{ disk: SimulatedDisk, taken: Buffer, seqs: number[], recovery: any }>}  the log is closed; `taken`
 *   is the file with the lost ones
 */
async function makeTakenBack (file, lost, records) {
  const first = new SimulatedDisk()
  const before = OffsetLog(file, { storage: first.storage })
  for (const data of lost) await before.append(data)
  const taken = first.read(file)
  await before.close()
  const disk = new SimulatedDisk()
  disk.put(file, Buffer.from(taken).fill(0, HEAD_SIZE, HEAD_SIZE + PAGE_SIZE))
  const log = OffsetLog(file, { storage: disk.storage })
  const seqs = []
  for (const data of records) seqs.push(await log.append(data))
  const { recovery } = log
  await log.close()
  return { disk, taken, seqs, recovery }
}

exports.makeTakenBack = makeTakenBack
