'use strict'
// One case: asked in two surroundings, the answers compared and judged, and all that it took held against its size.

const { describeDifference, failureOf, isSame } = require('./answers')
const { Library } = require('./library')
const { progress } = require('./logs/ask')
const { Stage } = require('./stage')
const { StepCounter } = require('./steps')
const { Surroundings } = require('./surroundings')
const { Violation } = require('./violation')

const OPEN_LINES = 'offset-log/lib/recover/open-lines.js'

/**
 * @typedef {{ bytes: Buffer, plan: Record<string, any> }} Sample  what is hostile, and what is asked of it
 * @typedef {Record<string, number>} Measures  what a case took, by the names that its target's limits have
 */

/**
 * What can be fuzzed. Each is a module of `targets`.
 * @typedef {object} Target
 * @property {string} name
 * @property {number} count  cases of a default run
 * @property {number} batchSize
 * @property {boolean} isSync  whether `run` answers at once
 * @property {Record<string, { fixed: number, perByte: number }>} limits
 * @property {(seed: number, library: Library) => Promise<any>} [prepare]  what the cases of a batch begin with
 * @property {(random: (limit: number) => number, prepared: any) => Sample} make
 * @property {(sample: Sample, surroundings: Surroundings) => any} run
 * @property {(sample: Sample, answers: any, library: Library) => void} [judge]
 * @property {(library: Library) => boolean} [isThere]  whether what it is about is built already
 */

class Examiner {
  /** @param {{ root?: string }} [options]  of the house to examine */
  constructor ({ root } = {}) {
    const counter = new StepCounter()
    this._counter = counter
    this.stage = new Stage(counter)
    this.library = new Library({ root })
    this._calm = new Surroundings({ name: 'calm', library: new Library({ root, counter }), isNoisy: false, counter })
    this._noisy = new Surroundings({ name: 'noisy', library: this.library, isNoisy: true, counter: null })
    // Modules keep what they make when they are loaded: that must not be memory of a case.
    for (const { library } of [this._calm, this._noisy]) {
      library.load('offset-log')
      // Only the first log of lines loads it, whichever case that is.
      if (library.has(OPEN_LINES)) library.load(OPEN_LINES)
    }
  }

  /**
   * @param {Target} target  whose `run` answers at once
   * @param {Sample} sample
   * @returns {Measures}
   * @throws {Violation}
   */
  examineSync (target, sample) {
    return guard(() => {
      const { isNoisy } = this._calm
      this.stage.set(isNoisy)
      this._counter.start()
      const answers = target.run(sample, this._calm)
      const measures = { steps: this._counter.end() }
      this.stage.set(this._noisy.isNoisy)
      compare(answers, target.run(sample, this._noisy))
      return this._conclude(target, sample, answers, measures)
    }, () => this._counter.end())
  }

  /**
   * @param {Target} target
   * @param {Sample} sample
   * @returns {Promise<Measures>}
   * @throws {Violation}
   */
  async examine (target, sample) {
    if (target.isSync) return this.examineSync(target, sample)
    // What a codec keeps must stay its own; the logs keep nothing once they are closed.
    this.stage.begin(true)
    try {
      this._counter.start()
      const answers = await this._run(target, sample, this._calm)
      const steps = this._counter.end()
      const { callCount = 0, transferred = 0 } = this._calm.storage ?? {}
      compare(answers, await this._run(target, sample, this._noisy))
      return this._conclude(target, sample, answers, { steps, callCount, transferred })
    } catch (err) {
      this._counter.end()
      throw toViolation(err)
    } finally {
      // What others make from now on is theirs.
      this.stage.begin(false)
    }
  }

  /**
   * @param {Target} target
   * @param {Sample} sample
   * @param {Surroundings} surroundings
   */
  _run (target, sample, surroundings) {
    surroundings.storage = null
    const { pick = 0, isSteady = false } = sample.plan
    this.stage.set(surroundings.isNoisy, surroundings.chooseReadMs(pick, isSteady))
    const countProgress = () => (surroundings.storage?.callCount ?? 0) + progress.count
    return this.stage.run(async () => target.run(sample, surroundings), countProgress)
  }

  /**
   * @param {Target} target
   * @param {Sample} sample
   * @param {any} answers
   * @param {Measures} measures
   */
  _conclude (target, sample, answers, measures) {
    target.judge?.(sample, answers, this.library)
    for (const [name, { fixed, perByte }] of Object.entries(target.limits)) {
      const max = fixed + perByte * sample.bytes.length
      if (measures[name] <= max) continue
      const kind = name === 'steps' ? 'steps' : 'transfers'
      throw new Violation(kind, `${name}: ${measures[name]} for ${sample.bytes.length} bytes; at most ${Math.round(max)} were expected`)
    }
    return measures
  }
}

/**
 * @template T
 * @param {() => T} run
 * @param {() => void} atFailure
 * @returns {T}
 */
function guard (run, atFailure) {
  try {
    return run()
  } catch (err) {
    atFailure()
    throw toViolation(err)
  }
}

/** @param {unknown} err */
function toViolation (err) {
  try {
    failureOf(err)
  } catch (violation) {
    return violation
  }
  // It has a code, but it came where no target expects one.
  return new Violation('thrown', String(/** @type {any} */ (err)?.stack ?? err))
}

/**
 * @param {any} one
 * @param {any} other
 */
function compare (one, other) {
  if (!isSame(one, other)) throw new Violation('two answers', describeDifference(one, other))
}

exports.Examiner = Examiner
