'use strict'
// Many live readers of one log, one of them slow, while records are appended: each must see all, in order, and none may
// make the others keep anything in memory for it.

const path = require('node:path')
const { OffsetLog } = require('@millrace/offset-log')

const RECORD_SIZE = 200
const BATCH_SIZE = 100
const SAMPLE_MS = 20

/**
 * @typedef {object} ReadersOptions
 * @property {string} folder
 * @property {number} readers
 * @property {number} records
 * @property {number} slowMs  what one reader takes for a record, in ms
 * @property {string} framing
 * @property {(line: string) => void} [print]
 */

/**
 * @param {ReadersOptions} options
 * @returns {Promise<{ faults: string[], grownSize: number }>}  by how many bytes the process grew at most
 */
async function runReaders ({ folder, readers, records, slowMs, framing, print = () => {} }) {
  const log = OffsetLog(path.join(folder, 'log'), /** @type {any} */ ({ framing }))
  await log.ready()
  await warmUp(log)
  const { value: before } = log.since
  const memory = watchMemory()
  const reading = Array.from({ length: readers }, (_, index) => {
    const source = log.stream({ gt: before, live: true, limit: records })
    return readAll(source, records, index === 0 ? slowMs : 0)
  })
  const quick = Promise.all(reading.slice(1))
  for (let number = 0; number < records; number += BATCH_SIZE) {
    const count = Math.min(BATCH_SIZE, records - number)
    await log.append(Array.from({ length: count }, (_, i) => createRecord(number + i)))
  }
  const quickFaults = await quick
  print(`${readers - 1} readers have seen ${records} records each; grown by ${toMiB(memory.grownSize())} MiB at most`)
  const faults = [...quickFaults, await reading[0]].filter((fault) => fault !== '')
  const grownSize = memory.stop()
  await log.close()
  return { faults, grownSize }
}

/** What is compiled, and what the first reader allocates, is not growth. @param {ReturnType<typeof OffsetLog>} log */
async function warmUp (log) {
  const seen = readAll(log.stream({ live: true, limit: 2000 }), 2000, 0)
  for (let number = 0; number < 2000; number += BATCH_SIZE) {
    await log.append(Array.from({ length: BATCH_SIZE }, (_, i) => createRecord(number + i)))
  }
  await seen
}

/** @param {number} number */
function createRecord (number) {
  const record = Buffer.alloc(RECORD_SIZE, 1 + number % 255)
  record.writeUInt32BE(number, 0)
  return record
}

/**
 * @param {AsyncIterable<{ seq: number, value: Buffer }>} source
 * @param {number} records
 * @param {number} waitMs  after each record
 * @returns {Promise<string>}  what was wrong, if anything
 */
async function readAll (source, records, waitMs) {
  let expected = 0
  let lastSeq = -1
  for await (const { seq, value } of source) {
    if (value.readUInt32BE(0) !== expected) return `saw ${value.readUInt32BE(0)} in place of ${expected}`
    if (seq <= lastSeq) return `${seq} came after ${lastSeq}`
    lastSeq = seq
    expected++
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs))
  }
  return expected === records ? '' : `saw ${expected} of ${records} records`
}

function watchMemory () {
  const begun = process.memoryUsage.rss()
  let peak = begun
  const look = () => { peak = Math.max(peak, process.memoryUsage.rss()) }
  const timer = setInterval(look, SAMPLE_MS)
  const grownSize = () => {
    look()
    return peak - begun
  }
  const stop = () => {
    clearInterval(timer)
    return grownSize()
  }
  return { grownSize, stop }
}

/** @param {number} size */
function toMiB (size) {
  return (size / 2 ** 20).toFixed(1)
}

exports.runReaders = runReaders
exports.toMiB = toMiB
