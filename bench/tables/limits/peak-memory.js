'use strict'
// Prints the peak memory of a process that only reads a log, or does nothing, and how many records it read. It loads no
// more than it needs. Usage: node peak-memory.js [scan | flumelog] [path]

const fs = require('node:fs')

const BLOCK_SIZE = 64 * 1024
const KIB = 1024
// `resourceUsage` is never below the peak of the parent process, so ask Linux.
const STATUS = '/proc/self/status'

/** @type {Record<string, (path: string) => Promise<number>>} */
const WORKS = {
  bare: async () => 0,
  async scan (path) {
    const log = require('@millrace/offset-log').OffsetLog(path, { blockSize: BLOCK_SIZE, flags: 'r' })
    let records = 0
    await log.scan({}, ({ count }) => { records += count })
    await log.close()
    return records
  },
  async flumelog (path) {
    const pull = require('pull-stream')
    const log = require('flumelog-offset')(path, { blockSize: BLOCK_SIZE, flags: 'r' })
    await new Promise((resolve) => log.since.once(() => resolve(null)))
    let records = 0
    await new Promise((resolve, reject) => pull(log.stream(), pull.drain(() => { records++ }, (err) => {
      if (err) reject(err)
      else resolve(null)
    })))
    return records
  }
}

/** @returns {number}  bytes */
function peakMemory () {
  if (!fs.existsSync(STATUS)) return process.resourceUsage().maxRSS * KIB
  const [, size] = /^VmHWM:\s+(\d+) kB$/m.exec(fs.readFileSync(STATUS, 'utf8')) ?? []
  return Number(size) * KIB
}

const [work = 'bare', file = ''] = process.argv.slice(2)
WORKS[work](file).then((records) => console.log(JSON.stringify({ records, peak: peakMemory() })))
