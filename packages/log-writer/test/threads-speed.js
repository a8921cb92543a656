'use strict'
// Compares the two ways to bring records of worker threads to one log: a ring of shared memory, and batches of
// messages.
// Usage: node packages/log-writer/test/threads-speed.js [threads] [records per thread]

const { isMainThread, parentPort, Worker, workerData } = require('node:worker_threads')
const { OffsetLog } = require('@millrace/offset-log')
const { newPath } = require('@millrace/testkit')
const { LogWriter, lines } = require('..')
const { shareWriter, ThreadWriter } = require('../threads')

const ROUND_COUNT = 5
const MODES = ['ring', 'messages of 1', 'messages of 100', 'messages of 1000']

if (isMainThread) main(Number(process.argv[2] ?? 8), Number(process.argv[3] ?? 25_000))
else parentPort.on('message', ({ round }) => produce(round))

/** The threads are started once, and warm from the second round on. */
async function main (threadCount, count) {
  console.log(`${threadCount} threads, ${count} records each, about 200 bytes; medians of ${ROUND_COUNT} rounds behind 2`)
  for (const mode of MODES) {
    const log = OffsetLog(newPath('a.log'), { codec: lines })
    const writer = LogWriter(log)
    await log.ready()
    const share = shareWriter(writer)
    let arrived = 0
    const workers = Array.from({ length: threadCount }, () => {
      const channel = share.connect()
      const worker = new Worker(__filename, { workerData: { mode, count, channel }, transferList: [channel.port] })
      worker.on('message', (batch) => {
        if (!Array.isArray(batch)) return
        for (const line of batch) writer.write(line, 'info')
        arrived += batch.length
      })
      return worker
    })
    const rounds = []
    for (let round = 0; round < ROUND_COUNT + 2; round++) rounds.push(await run({ workers, round, writer, isIn }))
    const best = rounds.slice(2)
    const rate = median(best.map(({ ms }) => threadCount * count / ms))
    const [p50, p99, p999] = ['p50', 'p99', 'p999'].map((name) => median(best.map((one) => one[name])).toFixed(1))
    const memory = Math.round(process.memoryUsage().rss / 2 ** 20)
    console.log(`${mode.padEnd(18)}${rate.toFixed(0).padStart(5)} thousand/s in the log; a call ${p50} µs (p50), ` +
      `${p99} (p99), ${p999} (p99.9); ${memory} MiB`)
    for (const worker of workers) await worker.terminate()
    share.close()
    await writer.close()
    await log.close()

    function isIn (round) {
      const taken = mode === 'ring' ? share.counters().taken : arrived
      return taken >= (round + 1) * threadCount * count
    }
  }
}

async function run ({ workers, round, writer, isIn }) {
  const begun = performance.now()
  const answers = workers.map((worker) => new Promise((resolve) => {
    const listener = (answer) => {
      if (Array.isArray(answer)) return
      worker.off('message', listener)
      resolve(answer)
    }
    worker.on('message', listener)
    worker.postMessage({ round })
  }))
  const calls = await Promise.all(answers)
  while (!isIn(round)) await new Promise((resolve) => setImmediate(resolve))
  await writer.flush({ sync: false })
  const ms = performance.now() - begun
  const at = (name) => median(calls.map((one) => one[name]))
  return { ms, p50: at('p50'), p99: at('p99'), p999: at('p999') }
}

function produce (round) {
  const { mode, count, channel } = workerData
  const write = mode === 'ring' ? ringWriter(channel) : messageWriter(Number(mode.split(' ')[2]))
  const times = new Float64Array(count)
  const text = 'x'.repeat(140)
  for (let n = 0; n < count; n++) {
    const line = `{"level":30,"time":${Date.now()},"round":${round},"n":${n},"msg":"${text}"}`
    const begun = performance.now()
    write(line)
    times[n] = (performance.now() - begun) * 1000
  }
  write(null)
  times.sort()
  const [p50, p99, p999] = [0.5, 0.99, 0.999].map((part) => times[Math.floor(part * count)])
  parentPort.postMessage({ p50, p99, p999 })
}

let writer
function ringWriter (channel) {
  writer ??= ThreadWriter(channel)
  return (line) => line !== null && writer.write(line, 'info')
}

function messageWriter (size) {
  let batch = []
  return (line) => {
    if (line !== null) batch.push(line)
    if (batch.length < size && line !== null) return
    parentPort.postMessage(batch)
    batch = []
  }
}

function median (numbers) {
  return [...numbers].sort((a, b) => a - b)[numbers.length >> 1]
}
