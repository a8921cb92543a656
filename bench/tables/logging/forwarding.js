'use strict'
// A log between a program and a sink that is slow or down: what a call takes, what a burst costs, and how the backlog
// drains.

const { spawnSync } = require('node:child_process')
const fs = require('node:fs')
const path = require('node:path')
const { setTimeout: wait } = require('node:timers/promises')
const { Forwarder } = require('@millrace/forwarder')
const { LogWriter, lines } = require('@millrace/log-writer')
const { OffsetLog } = require('@millrace/offset-log')
const { runTask } = require('../../lib/run')

/** @typedef {import('./works').Setting} Setting */
/** @typedef {{ seq: number, value: any }} Forwarded */

const OUTAGE = path.join(__dirname, '..', '..', '..', 'packages', 'forwarder', 'test', 'outage.js')
const MIB = 2 ** 20
const SINK_MS = 2
const BURST_COUNT = 22_000
const OUTAGE_COUNT = 500_000
const RECORD = { level: 30, time: 1_700_000_000_000, pid: 4242, msg: 'request finished '.repeat(12) }
/** Of all processes. */
const readTime = () => performance.timeOrigin + performance.now()

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

/** Takes 2 ms for a record. @param {Forwarded[]} records */
async function takeSlowly (records) {
  await wait(SINK_MS * records.length)
}

/** A process that logs many records at once and exits, and one that forwards the rest. @param {Setting} setting */
async function burst ({ folder }) {
  const { saidMs, ...figures } = await runTask({ module: __filename, task: 'runBurst', folder }, {})
  const exit = readTime() - saidMs
  const rest = await runTask({ module: __filename, task: 'runRest', folder }, {})
  const before = fs.readFileSync(path.join(folder, 'seen'), 'utf8').trim().split('\n')
  return { ...figures, exit, missing: BURST_COUNT - new Set([...before, ...rest].map(Number)).size }
}

/**
 * Logs the burst, lets the sink begin, and exits. Notes what the sink has accepted.
 * @param {{ folder: string }} order
 */
async function runBurst ({ folder }) {
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
  return { dropped, memory: Math.max(0, process.memoryUsage.rss() - before), saidMs: readTime() }
}

/** Forwards the rest, to a sink that is fast. @param {{ folder: string }} order */
async function runRest ({ folder }) {
  /** @type {number[]} */
  const seen = []
  const { log, writer, forwarder } = await openForwarded(folder, async (records) => {
    for (const { value } of records) seen.push(value.n)
  })
  await forwarder.drained()
  await forwarder.close()
  await writer.close()
  await log.close()
  return seen
}

/** A sink that answers 503 while records are appended, and then comes back. */
async function outage () {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--expose-gc', OUTAGE, String(OUTAGE_COUNT), 'http'], { encoding: 'utf8' })
  if (status !== 0) throw new Error(stderr)
  const { forwarded, drainedPerSecond, memoryMiB } = JSON.parse(stdout)
  if (forwarded !== OUTAGE_COUNT) throw new Error(`${forwarded} of ${OUTAGE_COUNT} records were forwarded`)
  return { drained: drainedPerSecond, memory: memoryMiB * MIB }
}

exports.openForwarded = openForwarded
exports.takeSlowly = takeSlowly
exports.burst = burst
exports.runBurst = runBurst
exports.runRest = runRest
exports.outage = outage
