'use strict'
// Appends records in one loop and measures the peak memory of the process, by how the loop treats what append returns.

const { spawnSync } = require('node:child_process')
const fs = require('node:fs')
const path = require('node:path')
const { temporaryFolder } = require('@millrace/testkit')
const { jsonCodec } = require('@millrace/json-codec')
const { OffsetLog } = require('../..')

const RECORD_COUNT = 282_461
const TEXT_SIZE = 650
const MAX_PENDING_SIZE = 16 * 1024 * 1024

/** @type {Record<string, (log: any, value: unknown, failed: () => void) => unknown>} */
const WAYS = {
  nothing: () => {},
  'awaits each append': (log, value) => log.append(value),
  'awaits drained()': (log, value, failed) => {
    log.append(value).catch(failed)
    return log.needsDrain ? log.drained() : undefined
  },
  'never waits': (log, value, failed) => { log.append(value).catch(failed) },
  'never waits, callbacks': (log, value, failed) => { log.append(value, (err) => err && failed()) },
  'never waits, maxPendingSize': (log, value, failed) => { log.append(value).catch(failed) }
}

/** @param {string} way @param {number} count  of records */
async function append (way, count) {
  const options = way.endsWith('maxPendingSize') ? { maxPendingSize: MAX_PENDING_SIZE } : {}
  const log = OffsetLog(path.join(temporaryFolder(), 'a.log'), { codec: jsonCodec, ...options })
  await log.ready()
  let refused = 0
  const failed = () => { refused++ }
  for (let i = 0; i < count; i++) {
    // Parsed, so that each value has a text of its own.
    const waiting = WAYS[way](log, JSON.parse(`{"text":"${String(i).padStart(TEXT_SIZE, 'x')}"}`), failed)
    if (waiting !== undefined) await waiting
  }
  await log.close()
  return { peak: peakMemory(), refused }
}

/** `resourceUsage` is never below the peak of the parent process, so ask Linux. */
function peakMemory () {
  const status = '/proc/self/status'
  if (!fs.existsSync(status)) return process.resourceUsage().maxRSS * 1024
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(fs.readFileSync(status, 'utf8'))[1]) * 1024
}

/**
 * @param {string} way  of `WAYS`
 * @param {number} [count]  of records
 * @returns {{ peak: number, refused: number }}  the peak memory in bytes, of a process of its own
 */
function measure (way, count = RECORD_COUNT) {
  const { stdout, stderr } = spawnSync(process.execPath, [__filename, way, String(count)], { encoding: 'utf8' })
  if (!stdout) throw new Error(stderr)
  return JSON.parse(stdout)
}

if (require.main === module) {
  const [way, count] = process.argv.slice(2)
  append(way, Number(count)).then((result) => console.log(JSON.stringify(result)))
}

exports.WAYS = WAYS
exports.measure = measure
