// @ts-nocheck
'use strict'
// Callers in several threads append over HTTP to one log, whose server is killed again and again.

const { fork } = require('node:child_process')
const { once } = require('node:events')
const path = require('node:path')
const { setTimeout: sleep } = require('node:timers/promises')
const { Worker } = require('node:worker_threads')
const { createRandom, temporaryFolder } = require('@millrace/testkit')
const { findBroken } = require('./history')

const THREADS = 2
const CALLERS = 4
const KEYS = 3
const LOG = 'events'
const KILLS = 3
/** A server is killed after so many answers at most; on a slow machine, after this time. */
const ANSWERS_MAX = 150
const LIFE_MS_MAX = 5000
const LOOK_MS = 1
const BATCHES = 1e7

/**
 * One log.
 * @param {number} seed
 * @returns {Promise<{ faults: string[] } & Record<string, number>>}
 */
async function runHttp (seed) {
  const random = createRandom(seed)
  const options = { folder: temporaryFolder(), bufferMs: random(20), ...random(2) === 0 && { index: { [LOG]: ['key'] } } }
  /** Shared with the threads. */
  const answerCount = new Int32Array(new SharedArrayBuffer(4))
  const threads = Array.from({ length: THREADS }, (_, index) => {
    const of = { callerCount: CALLERS, keyCount: KEYS, logName: LOG, answerCount }
    const workerData = { seed: random(1e9), first: index * BATCHES, ...of }
    return new Worker(path.join(__dirname, 'http-callers.js'), { workerData })
  })
  const answers = threads.map(async (thread) => (await once(thread, 'message'))[0])
  for (let kill = 0; kill < KILLS; kill++) {
    const server = await startServer(options)
    for (const thread of threads) thread.postMessage({ url: server.url })
    await live(answerCount, random(ANSWERS_MAX))
    await server.kill()
  }
  // The last one lets those that were not answered come to an end.
  const server = await startServer(options)
  for (const thread of threads) thread.postMessage({ url: server.url })
  await live(answerCount, random(ANSWERS_MAX))
  for (const thread of threads) thread.postMessage({ url: null })
  const told = await Promise.all(answers)
  const records = await readAll(server.url)
  await server.kill()
  const all = (name) => told.flatMap((one) => one[name])
  const faults = [...all('faults'), ...judge(records, all('accepted'), all('refused'))]
  return {
    kills: KILLS,
    acceptedCount: all('accepted').length,
    refusedCount: all('refused').length,
    againCount: told.reduce((sum, { again }) => sum + again, 0),
    faults: faults.map((fault) => `seed ${seed} (${JSON.stringify(options)}): ${fault}`)
  }
}

/** @returns {string[]}  what is wrong */
function judge (records, accepted, refused) {
  const { faults } = findBroken(records, accepted)
  const bySeq = new Map(records.map(({ seq, value }) => [seq, value]))
  const batches = new Set(records.map(({ value: { batch } }) => batch))
  const numbers = new Set(records.map(({ value: { n } }) => n))
  if (numbers.size < records.length) faults.push(`${records.length - numbers.size} records are there twice`)
  for (const { batch, key, since, seq } of refused) {
    if (batches.has(batch)) faults.push(`batch ${batch} was refused, and is there`)
    if (!(seq > since)) faults.push(`batch ${batch} since ${since} was refused for ${seq}`)
    if (bySeq.get(seq)?.key !== key) faults.push(`batch ${batch} of ${key} was refused for ${seq}: ${JSON.stringify(bySeq.get(seq))}`)
  }
  return faults
}

/** Waits until there were so many answers. @type {(counter: Int32Array, count: number) => Promise<void>} */
async function live (counter, count) {
  const end = Atomics.load(counter, 0) + count
  const endMs = performance.now() + LIFE_MS_MAX
  while (Atomics.load(counter, 0) < end && performance.now() < endMs) await sleep(LOOK_MS)
}

/** @returns {Promise<{ url: string, kill: () => Promise<void> }>} */
async function startServer (options) {
  const child = fork(path.join(__dirname, 'http-server.js'))
  const gone = once(child, 'exit')
  child.send(options)
  const [{ url }] = await Promise.race([once(child, 'message'), gone.then(([code]) => { throw new Error(`the server ended with ${code}`) })])
  const kill = async () => {
    child.kill('SIGKILL')
    await gone
  }
  return { url, kill }
}

async function readAll (url) {
  const response = await fetch(`${url}/v1/logs/${LOG}`)
  const lines = (await response.text()).trimEnd().split('\n').map((line) => JSON.parse(line))
  if (response.status !== 200 || lines.at(-1).end?.reason !== 'end') throw new Error(`the read ended with ${JSON.stringify(lines.at(-1))}`)
  return lines.slice(0, -1)
}

exports.runHttp = runHttp
