'use strict'
// A log between a program and a sink that is slow or down: what a call takes, what a burst costs, and how the backlog
// drains. Also the processes for these: node forwarding.js burst | rest FOLDER

const { spawn, spawnSync } = require('node:child_process')
const fs = require('node:fs')
const path = require('node:path')
const { performance } = require('node:perf_hooks')
const { setTimeout: wait } = require('node:timers/promises')
const { Forwarder } = require('@millrace/forwarder')
const { LogWriter, lines } = require('@millrace/log-writer')
const { OffsetLog } = require('@millrace/offset-log')

/** @typedef {import('./works').Setting} Setting */
/** @typedef {{ seq: number, value: any }} Forwarded */

const OUTAGE = path.join(__dirname, '..', '..', '..', 'packages', 'forwarder', 'test', 'outage.js')
const MIB = 2 ** 20
const SINK_MS = 2
const BURST_COUNT = 22_000
const OUTAGE_COUNT = 500_000
const WARM_COUNT = 1000
const RECORD = { level: 30, time: 1_700_000_000_000, pid: 4242, msg: 'request finished '.repeat(12) }

/**
 * @param {string} folder
 * @param {(records: Forwarded[]) => Promise<void>} sink
 */
async function openForwarded (folder, sink) {
  const log = OffsetLog(path.join(folder, 'log'), { codec: lines })
  await log.ready()
  const forwarder = Forwarder(log, { name: 'bench', sink, onReport: () => {} })
  return { log, writer: LogWriter(log), forwarder }
}

/** @param {Forwarded[]} records */
async function takeSlowly (records) {
  await wait(SINK_MS * records.length)
}

/**
 * The time of each call, in us, while a sink takes 2 ms for a record.
 * @param {Setting} setting
 * @param {any[]} records
 * @returns {Promise<Float64Array>}
 */
async function timeCalls ({ folder, count }, records) {
  const { log, writer, forwarder } = await openForwarded(folder, takeSlowly)
  const times = new Float64Array(count)
  for (let index = -WARM_COUNT; index < count; index++) {
    const began = performance.now()
    writer.write(records[(index + WARM_COUNT) % records.length])
    if (index >= 0) times[index] = 1000 * (performance.now() - began)
    if (index % 100 === 0) await new Promise((resolve) => setImmediate(resolve))
  }
  await writer.close()
  if (await log.count() !== count + WARM_COUNT) throw new Error('a record is not in the log')
  await forwarder.close()
  await log.close()
  return times
}

/** A process that logs many records at once and exits, and one that forwards the rest. @param {Setting} setting */
async function burst ({ folder }) {
  const { exitMs, ...figures } = await new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [__filename, 'burst', folder], { stdio: ['ignore', 'pipe', 'inherit'] })
    /** @type {any} */
    let figures
    let saidMs = 0
    child.stdout.setEncoding('utf8').on('data', (text) => {
      figures = JSON.parse(text)
      saidMs = performance.now()
    })
    child.on('error', reject).on('close', (code) => {
      if (code === 0 && figures) resolve({ ...figures, exitMs: performance.now() - saidMs })
      else reject(new Error(`the burst exited with ${code}`))
    })
  })
  const { stdout } = spawnSync(process.execPath, [__filename, 'rest', folder], { encoding: 'utf8' })
  const before = fs.readFileSync(path.join(folder, 'seen'), 'utf8').trim().split('\n')
  const seen = new Set([...before, ...JSON.parse(stdout)].map(Number))
  return { ...figures, exit: exitMs, missing: BURST_COUNT - seen.size }
}

/** Logs the burst, lets the sink begin, and exits. Notes what the sink has accepted. @param {string} folder */
async function runBurst (folder) {
  const seen = fs.openSync(path.join(folder, 'seen'), 'w')
  const { writer } = await openForwarded(folder, async (records) => {
    await takeSlowly(records)
    for (const { value } of records) fs.writeSync(seen, `${value.n}\n`)
  })
  writer.write({ ...RECORD, n: 0 })
  await writer.flush()
  // The heap grows to what garbage takes between two collections, whoever makes it.
  for (let n = 0; n < 10 * BURST_COUNT; n++) Buffer.from(JSON.stringify({ ...RECORD, n }))
  const before = process.memoryUsage.rss()
  for (let n = 1; n < BURST_COUNT; n++) writer.write({ ...RECORD, n })
  await wait(500)
  const { total: { dropped } } = writer.counters()
  const memory = Math.max(0, process.memoryUsage.rss() - before)
  fs.writeSync(1, JSON.stringify({ dropped, memory }))
  process.exit()
}

/** Forwards the rest, to a sink that is fast. @param {string} folder */
async function runRest (folder) {
  /** @type {number[]} */
  const seen = []
  const { log, writer, forwarder } = await openForwarded(folder, async (records) => {
    for (const { value } of records) seen.push(value.n)
  })
  await forwarder.drained()
  await forwarder.close()
  await writer.close()
  await log.close()
  process.stdout.write(JSON.stringify(seen))
}

/** A sink that answers 503 while records are appended, and then comes back. */
async function outage () {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--expose-gc', OUTAGE, String(OUTAGE_COUNT), 'http'], { encoding: 'utf8' })
  if (status !== 0) throw new Error(stderr)
  const { forwarded, drainedPerSecond, memoryMiB } = JSON.parse(stdout)
  if (forwarded !== OUTAGE_COUNT) throw new Error(`${forwarded} of ${OUTAGE_COUNT} records were forwarded`)
  return { drained: drainedPerSecond, memory: memoryMiB * MIB }
}

if (require.main === module) {
  const [, , what, folder] = process.argv
  if (what === 'burst') runBurst(folder)
  else runRest(folder)
}

exports.timeCalls = timeCalls
exports.burst = burst
exports.outage = outage
