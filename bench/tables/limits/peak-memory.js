'use strict'
// The peak memory of a process that only reads a log, less that of one that does nothing. As the main module it is such
// a process: it loads no more than it needs, and prints its peak, and how many records it read.

const { spawnSync } = require('node:child_process')
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
    await new Promise((resolve) => log.since.once(resolve))
    let records = 0
    await new Promise((resolve) => pull(log.stream(), pull.drain(() => { records++ }, resolve))).then((err) => {
      if (err) throw err
    })
    return records
  }
}

/** @returns {number}  bytes */
function peakMemory () {
  if (!fs.existsSync(STATUS)) return process.resourceUsage().maxRSS * KIB
  const [, size] = /^VmHWM:\s+(\d+) kB$/m.exec(fs.readFileSync(STATUS, 'utf8')) ?? []
  return Number(size) * KIB
}

/** @type {(work: string, path?: string) => { records: number, peak: number }} */
function runWork (work, path = '') {
  const { stdout, stderr } = spawnSync(process.execPath, [__filename, work, path], { encoding: 'utf8' })
  if (stdout === '') throw new Error(`no peak of ${work}: ${stderr}`)
  return JSON.parse(stdout)
}

/**
 * @param {'scan' | 'flumelog'} work
 * @param {string} path
 * @param {number} [fold]  multiplies the number of records in the answer, if the other side's log is larger
 * @returns {import('./runners').Runner}
 */
function measurePeak (work, path, fold = 1) {
  let records = 0
  return {
    sample () {
      const scan = runWork(work, path)
      records = scan.records
      return scan.peak - runWork('bare').peak
    },
    finish: () => ({ records: fold * records })
  }
}

if (require.main === module) {
  const [work, path] = process.argv.slice(2)
  WORKS[work](path).then((records) => console.log(JSON.stringify({ records, peak: peakMemory() })))
}

exports.measurePeak = measurePeak
