'use strict'
// The torture, for programs: campaigns in threads, their figures added up.

const path = require('node:path')
const { Worker } = require('node:worker_threads')
const { runCampaign } = require('./campaign')
const { addFigures, Figures } = require('./figures')

const OFFSET_LOG = path.dirname(require.resolve('@millrace/offset-log'))
// More failures than these, of one thread, are hardly of interest before the first ones are mended.
const FAILURES_MAX = 3
// Nearly everything here dies young: with more room for the young, much less of it is copied.
const RESOURCE_LIMITS = { maxYoungGenerationSizeMb: 192 }
// A thread that has finished no workload for so long runs in circles; its own guard sees everything else.
const SILENCE_MS_MAX = 60_000

/**
 * @typedef {import('./campaign').Failure} Failure
 */

/**
 * @param {object} [options]
 * @param {number} [options.seconds]  60 by default, unless `workloads` says when to end
 * @param {number} [options.workloads]  how many; the same seed and number give the same images
 * @param {number} [options.seed]
 * @param {import('./framings').FramingName | 'both'} [options.framing]  checked by default
 * @param {number} [options.workers]  threads; 0 runs all in this one
 * @param {string} [options.logModule]  path of the offset-log package to load
 * @param {boolean} [options.stopAtFailure]
 * @param {boolean} [options.shrinks]  whether failures are made smaller, true by default
 * @param {(failure: Failure) => void} [options.onFailure]
 * @returns {Promise<{ figures: any, failures: Failure[] }>}
 */
async function runTorture ({
  workloads = Infinity,
  seconds = workloads === Infinity ? 60 : Infinity,
  seed = Date.now() % 2 ** 31,
  framing,
  workers = 2,
  logModule = OFFSET_LOG,
  stopAtFailure = false,
  shrinks = true,
  onFailure = () => {}
} = {}) {
  const started = Date.now()
  const cpuBefore = process.cpuUsage()
  const endMs = started + seconds * 1000
  const failuresMax = stopAtFailure ? 1 : FAILURES_MAX
  const options = { logModule, seed, framing, stride: Math.max(1, workers), workloads, endMs, failuresMax, shrinks }
  const onProgress = (/** @type {{ failure?: Failure }} */ { failure }) => { if (failure) onFailure(failure) }
  const results = workers === 0
    ? [await runCampaign({ ...options, first: 0, onProgress })]
    : await runThreads(workers, options, onProgress)
  const figures = addFigures(results.map(({ figures }) => figures))
  const failures = results.flatMap(({ failures }) => failures)
  // Of all threads.
  const { user, system } = process.cpuUsage(cpuBefore)
  return { figures: { seed, ...figures, ms: Date.now() - started, cpuMs: (user + system) / 1000 }, failures }
}

/**
 * @param {number} count
 * @param {Omit<import('./campaign').CampaignOptions, 'first'>} options
 * @param {(progress: any) => void} onProgress
 */
async function runThreads (count, options, onProgress) {
  /** @type {Worker[]} */
  const threads = []
  const campaigns = []
  for (let first = 0; first < count; first++) {
    const thread = new Worker(path.join(__dirname, 'worker.js'), {
      workerData: { ...options, first },
      resourceLimits: RESOURCE_LIMITS
    })
    threads.push(thread)
    campaigns.push(watch(thread, onProgress))
  }
  try {
    if (options.failuresMax === 1) return [await firstFailure(campaigns)].flat()
    return await Promise.all(campaigns)
  } finally {
    await Promise.all(threads.map((thread) => thread.terminate()))
  }
}

/**
 * @template {{ failures: Failure[] }} T
 * @param {Array<Promise<T>>} campaigns
 * @returns {Promise<T | T[]>}  the first with a failure, or all when none has one
 */
function firstFailure (campaigns) {
  const failing = campaigns.map(async (campaign) => {
    const result = await campaign
    return result.failures.length > 0 ? result : new Promise(() => {})
  })
  return /** @type {any} */ (Promise.race([...failing, Promise.all(campaigns)]))
}

/**
 * @param {Worker} thread
 * @param {(progress: any) => void} onProgress
 * @returns {Promise<Awaited<ReturnType<typeof runCampaign>>>}
 */
function watch (thread, onProgress) {
  return new Promise((resolve, reject) => {
    let workload = -1
    const timer = setInterval(() => resolve(stuck(workload, onProgress)), SILENCE_MS_MAX)
    const end = (/** @type {(value: any) => void} */ settle) => (/** @type {any} */ value) => {
      clearInterval(timer)
      settle(value)
    }
    thread.on('message', ({ progress, result }) => {
      if (result) return end(resolve)(result)
      workload = progress.workload
      timer.refresh()
      onProgress(progress)
    })
    thread.on('error', end(reject))
    thread.on('exit', end((/** @type {number} */ code) => reject(new Error(`a thread ended with code ${code} in workload ${workload}`))))
  })
}

/**
 * @param {number} workload
 * @param {(progress: any) => void} onProgress
 */
function stuck (workload, onProgress) {
  const figures = new Figures()
  figures.violations['no answer']++
  const message = `workload ${workload} runs in circles: no other task gets its turn`
  const failure = { kind: 'no answer', message, replay: '', workload }
  onProgress({ failure })
  return { figures: figures.toMessage(), failures: [failure] }
}

exports.OFFSET_LOG = OFFSET_LOG
exports.runTorture = runTorture
