'use strict'

const fs = require('node:fs')
const { misuse } = require('@millrace/errors')
const { escapeControls } = require('@millrace/flow')
const { OffsetLog } = require('@millrace/offset-log')
const { codecs } = require('../../open')
const { refuseFolder } = require('../folder')
const { formatCount, formatSize } = require('../text')
const { parseCount } = require('../records')
const { findLog, openSource } = require('../source')

const READ_SIZE = 256 * 1024
const GET_COUNT = 1000
const BAR_SIZE = 30

/** @param {string} text */
function parseRuns (text) {
  const count = parseCount(text)
  if (count === 0) throw misuse('Expected a whole number, at least 1.')
  return count
}

/** @type {import('../definition').Definition} */
exports.command = {
  name: 'bench',
  summary: 'times the layers on a log of yours: reading the file, finding records, decoding them, printing them',
  details: 'Each layer but get includes those before it. The log is only read. The file should fit the memory: the first pass warms ' +
    'the page cache, and is not counted.',
  arguments: [{ name: 'file', description: 'the log, or - for one on standard input' }],
  options: [
    { flags: '--runs <count>', description: 'how often each layer is timed; the median counts', parse: parseRuns, default: 3 },
    { flags: '--json', description: 'print one line of JSON' }
  ],
  examples: [['millrace bench events.log', 'where the time goes when this log is read']],
  async run ({ args, options, shell }) {
    await refuseFolder(args.file, 'bench works on one file; give it a segment')
    const { path, remove } = await findLog(shell, args.file)
    const { log, identity, codec, close } = await openSource(shell, path)
    try {
      const layers = createLayers(path, identity.framing, codec, log)
      const rows = []
      for (const [name, run] of layers) rows.push({ name, ...await measure(run, options.runs, shell) })
      const { framing, size } = identity
      const about = { path: identity.path, framing, codec, size, node: process.version }
      if (options.json) shell.print(JSON.stringify({ ...about, rows }))
      else printRows(shell, about, rows)
    } finally {
      await close()
      remove()
    }
  }
}

/**
 * @typedef {() => Promise<{ records: number, bytes: number }>} Layer
 * @param {string} path
 * @param {string | null} framing
 * @param {import('../../open').CodecName} codec
 * @param {import('../source').Log} log  whose values are lines
 * @returns {Array<[name: string, run: Layer]>}
 */
function createLayers (path, framing, codec, log) {
  /** @type {Array<[string, Layer]>} */
  const layers = [['file', () => readFile(path)]]
  if (framing === 'checked') layers.push(['records', () => withLog(path, { verify: false }, scan)])
  layers.push([framing === 'checked' ? 'checksums' : 'records', () => withLog(path, {}, scan)])
  layers.push(['values', () => withLog(path, { codec: codecs[codec] }, stream)])
  layers.push(['lines', () => stream(log)])
  layers.push([`get, ${formatCount(GET_COUNT)} seqs`, () => withLog(path, { codec: codecs[codec] }, getSome)])
  return layers
}

/** @param {string} path */
async function readFile (path) {
  const fd = fs.openSync(path, 'r')
  const buf = Buffer.allocUnsafe(READ_SIZE)
  let bytes = 0
  try {
    for (let size = -1; size !== 0; bytes += size) size = fs.readSync(fd, buf, 0, READ_SIZE, bytes)
  } finally {
    fs.closeSync(fd)
  }
  return { records: 0, bytes }
}

/**
 * @param {string} path
 * @param {import('@millrace/offset-log').OffsetLogOptions} options
 * @param {(log: import('../source').Log) => ReturnType<Layer>} run
 */
async function withLog (path, options, run) {
  const log = OffsetLog(path, { ...options, flags: 'r' })
  try {
    return await run(log)
  } finally {
    await log.close()
  }
}

/** @param {import('../source').Log} log */
async function scan (log) {
  const met = { records: 0, bytes: 0 }
  await log.scan({}, ({ count, starts, ends }) => {
    met.records += count
    for (let i = 0; i < count; i++) met.bytes += ends[i] - starts[i]
  })
  return met
}

/** @param {import('../source').Log} log */
async function stream (log) {
  let records = 0
  for await (const value of log.stream({ seqs: false })) records += value === undefined ? 0 : 1
  return { records, bytes: 0 }
}

/** @param {import('../source').Log} log */
async function getSome (log) {
  /** @type {number[]} */
  const seqs = []
  await log.scan({}, (run) => {
    for (let i = 0; i < run.count; i++) seqs.push(run.seqs[i])
  })
  const began = performance.now()
  const records = Math.min(GET_COUNT, seqs.length)
  for (let i = 0; i < records; i++) await log.get(seqs[Math.floor(Math.random() * seqs.length)])
  return { records, bytes: 0, ms: performance.now() - began }
}

/**
 * @param {() => Promise<{ records: number, bytes: number, ms?: number }>} run
 * @param {number} runs
 * @param {import('../shell').Shell} shell
 */
async function measure (run, runs, shell) {
  const times = []
  let met = await run()
  for (let i = 0; i < runs; i++) {
    const began = performance.now()
    met = await run()
    times.push(met.ms ?? performance.now() - began)
    shell.throwIfAborted()
  }
  times.sort((a, b) => a - b)
  return { records: met.records, ms: Number(times[Math.floor(times.length / 2)].toFixed(3)) }
}

/**
 * @param {import('../shell').Shell} shell
 * @param {{ path: string, framing: string | null, codec: string, size: number }} log
 * @param {Array<{ name: string, records: number, ms: number }>} rows
 */
function printRows (shell, { path, framing, codec, size }, rows) {
  const slowest = Math.max(...rows.map(({ ms }) => ms))
  shell.print(`${escapeControls(path)}: ${framing ?? 'empty'}, ${codec}, ${formatSize(size)}; Node.js ${process.version}`)
  for (const { name, records, ms } of rows) {
    const isPart = name.startsWith('get')
    const rate = records > 0 ? `${formatCount(Math.round(records / ms * 1000))} records/s` : ''
    const bytes = isPart ? '' : `${formatSize(size / ms * 1000)}/s`
    const bar = '#'.repeat(Math.max(1, Math.round(ms / slowest * BAR_SIZE))).padEnd(BAR_SIZE)
    shell.print(`${name.padEnd(16)}  ${bar}  ${ms.toFixed(1).padStart(10)} ms  ${bytes.padStart(12)}  ${rate}`)
  }
}
