'use strict'
// The fuzzer, for programs: batches of cases in threads, and an eye on threads that do not answer.

const path = require('node:path')
const { Worker } = require('node:worker_threads')
const { runBatch } = require('./batch')
const { Examiner } = require('./examine')
const { Figures } = require('./figures')
const { Library } = require('./library')
const { targets } = require('./targets')

// A case that takes so long has no end.
const CASE_MS_MAX = 30_000
const LOOK_MS = 1000
// Nearly everything here dies young: with more room for the young, much less of it is copied.
const RESOURCE_LIMITS = { maxYoungGenerationSizeMb: 128, maxOldGenerationSizeMb: 2048 }
/** More are hardly of interest before the first ones are mended. */
const REPORTS_MAX = 20

/** The real one: cases that run in this thread have another. */
const now = Date.now

/**
 * @typedef {import('./batch').Report} Report
 */

/**
 * @typedef {object} FuzzOptions
 * @property {Record<string, number>} [counts]  how many cases, by target; Infinity until the time is over
 * @property {number} [seconds]
 * @property {AbortSignal} [signal]  ends the run as the end of the time does
 * @property {number} [seed]
 * @property {number} [workers]  threads; 0 runs all in this one
 * @property {string} [root]  of the house to fuzz
 * @property {boolean} [shrinks]  whether failing cases are made smaller, true by default
 * @property {(report: Report) => void} [onReport]
 * @property {(done: Record<string, number>) => void} [onProgress]  how many cases were run, by target
 */

/**
 * @param {FuzzOptions} [options]
 * @returns {Promise<{ figures: Figures[], reports: Report[], seed: number, ms: number }>}
 */
async function runFuzz (options = {}) {
  const { workers = 2, seed = now() % 2 ** 31 } = options
  const run = new Run({ ...options, seed })
  const started = now()
  if (workers === 0) await run.runHere()
  else await Promise.all(Array.from({ length: workers }, () => run.runThread()))
  return { figures: [...run.figures.values()], reports: run.reports, seed, ms: now() - started }
}

class Run {
  /** @param {FuzzOptions & { seed: number }} options */
  constructor ({
    counts = {}, seconds = Infinity, signal, seed, root, shrinks = true, onReport = () => {}, onProgress = () => {}
  }) {
    const library = new Library({ root })
    this._options = { seed, shrinks, endMs: now() + seconds * 1000 }
    this._root = root
    this._signal = signal
    this._onReport = onReport
    this._onProgress = onProgress
    /** @type {Array<{ target: any, next: number, count: number }>} */
    this._plan = targets.filter(({ isThere }) => isThere?.(library) ?? true)
      .map((target) => ({ target, next: 0, count: counts[target.name] ?? target.count }))
      .filter(({ count }) => count > 0)
    /** @type {Map<string, Figures>} */
    this.figures = new Map(this._plan.map(({ target: { name } }) => [name, new Figures(name)]))
    /** @type {Report[]} */
    this.reports = []
  }

  async runHere () {
    const examiner = new Examiner({ root: this._root })
    const seen = new Set()
    examiner.stage.install()
    try {
      for (let batch = this._take(); batch; batch = this._take()) {
        this._note(await runBatch(examiner, { ...this._options, ...batch, seen }))
      }
    } finally {
      examiner.stage.restore()
    }
  }

  /** Batches in one thread after the other: one that is stuck, or that broke down, is replaced. */
  async runThread () {
    let thread = new Thread(this._root)
    for (let batch = this._take(); batch; batch = this._take()) {
      const { target: { name }, ...range } = batch
      const result = await thread.run({ ...this._options, ...range, name })
      if (result.failure === undefined) {
        this._note(result)
        continue
      }
      await thread.terminate()
      await this._noteLost(batch, result)
      thread = new Thread(this._root)
    }
    await thread.terminate()
  }

  /** The next batch, of the target that is furthest behind. */
  _take () {
    if (now() >= this._options.endMs || this._signal?.aborted) return null
    const [item] = this._plan.filter(({ next, count }) => next < count)
      .sort((one, other) => one.next / one.target.count - other.next / other.target.count)
    if (item === undefined) return null
    const { target, next: first } = item
    const count = Math.min(target.batchSize, item.count - first)
    item.next += count
    return { target, first, count }
  }

  /** @param {{ figures: any, reports: Report[] }} result */
  _note ({ figures, reports }) {
    /** @type {Figures} */ (this.figures.get(figures.target)).merge(figures)
    for (const report of reports) this._report(report)
    this._onProgress(Object.fromEntries([...this.figures].map(([name, { cases }]) => [name, cases])))
  }

  /** @param {Report} report */
  _report (report) {
    const isKnown = this.reports.some(({ signature }) => signature === report.signature)
    if (this.reports.length >= REPORTS_MAX || isKnown) return
    this.reports.push(report)
    this._onReport(report)
  }

  /**
   * @param {{ target: any, first: number, count: number }} batch
   * @param {{ failure: string, message: string, index: number }} lost
   */
  async _noteLost ({ target }, { failure: kind, message, index }) {
    const thread = new Thread(this._root)
    const { line = '' } = await thread.run({ seed: this._options.seed, name: target.name, describe: index })
    await thread.terminate()
    const figures = new Figures(target.name)
    figures.addViolation(0, kind)
    const signature = `${kind}: ${message}`
    this._note({ figures, reports: [{ kind, signature, message: `case ${index}: ${message}`, replay: line, target: target.name, index }] })
  }
}

class Thread {
  /** @param {string | undefined} root */
  constructor (root) {
    const heartbeat = new SharedArrayBuffer(8)
    this._current = new Float64Array(heartbeat)
    this._worker = new Worker(path.join(__dirname, 'worker.js'), { workerData: { root, heartbeat }, resourceLimits: RESOURCE_LIMITS })
  }

  /**
   * @param {object} job
   * @returns {Promise<any>}  what the thread answers, or how it failed
   */
  run (job) {
    return new Promise((resolve) => {
      let [index] = this._current
      let stuckMs = 0
      const timer = setInterval(() => {
        stuckMs = this._current[0] === index ? stuckMs + LOOK_MS : 0
        index = this._current[0]
        if (stuckMs >= CASE_MS_MAX) end({ failure: 'stuck', message: `no end after ${CASE_MS_MAX / 1000} s`, index })
      }, LOOK_MS)
      const onError = (/** @type {any} */ err) => end({ failure: 'crashed', message: String(err?.stack ?? err), index: this._current[0] })
      const onExit = (/** @type {number} */ code) => onError(`the thread ended with code ${code}`)
      const end = (/** @type {any} */ result) => {
        clearInterval(timer)
        this._worker.off('message', end).off('error', onError).off('exit', onExit)
        resolve(result)
      }
      this._worker.on('message', end).on('error', onError).on('exit', onExit)
      this._worker.postMessage(job)
    })
  }

  terminate () {
    // What comes after its end is of no interest.
    this._worker.on('error', () => {})
    return this._worker.terminate()
  }
}

exports.runFuzz = runFuzz
