'use strict'
// One workload after the other, in one thread, until the time or their number is over.

const { Environment } = require('./environment')
const { Explorer, ImageFailure } = require('./explore')
const { Figures } = require('./figures')
const { Guard } = require('./guard')
const { Performance } = require('./perform')
const { replay, toLine } = require('./replay')
const { Shrinker } = require('./shrink')
const { Violation } = require('./violation')
const { generateWorkload } = require('./workload')

// How many images of a workload are made, by the bytes of its records: large ones take their time. What was begun is
// finished.
const IMAGE_BUDGETS = [[20_000, 240], [60_000, 80], [Infinity, 15]]

/**
 * @typedef {object} Failure
 * @property {string} kind
 * @property {string} message
 * @property {string} replay  one line
 * @property {number} workload  index of the workload it was found in
 */

/**
 * @typedef {object} CampaignOptions
 * @property {string} logModule  path of the offset-log package
 * @property {number} seed
 * @property {import('./framings').FramingName | 'both'} [framing]  checked by default
 * @property {number} first  index of the first workload
 * @property {number} stride  from one to the next
 * @property {number} workloads  how many indices there are; may be Infinity
 * @property {number} endMs  by Date.now(); may be Infinity
 * @property {number} failuresMax  after so many it ends
 * @property {boolean} [shrinks]
 * @property {(progress: { workload: number, failure?: Failure }) => void} [onProgress]
 */

/**
 * @param {CampaignOptions} options
 * @returns {Promise<{ figures: ReturnType<Figures['toMessage']>, failures: Failure[] }>}
 */
async function runCampaign (options) {
  const { OffsetLog } = require(options.logModule)
  const environment = new Environment()
  const guard = new Guard()
  environment.install()
  guard.install()
  try {
    return await new Campaign(options, { OffsetLog, environment, guard }).run()
  } finally {
    guard.restore()
    environment.restore()
  }
}

class Campaign {
  /**
   * @param {CampaignOptions} options
   * @param {{ OffsetLog: any, environment: Environment, guard: Guard }} context
   */
  constructor (options, context) {
    this._options = options
    this._context = context
    this._figures = new Figures()
    /** @type {Failure[]} */
    this._failures = []
    this._explorer = new Explorer({ ...context, figures: this._figures })
  }

  async run () {
    const { seed, framing, first, stride, workloads, endMs, failuresMax, onProgress } = this._options
    const { real } = this._context.environment
    for (let index = first; index < workloads && real.dateNow() < endMs; index += stride) {
      onProgress?.({ workload: index })
      const name = framing === 'both' ? alternate(index) : framing
      await this._runWorkload(generateWorkload(seed, index, name), index)
      if (this._failures.length >= failuresMax) break
    }
    return { figures: this._figures.toMessage(), failures: this._failures }
  }

  /**
   * @param {import('./workload').Workload} workload
   * @param {number} index
   */
  async _runWorkload (workload, index) {
    const { OffsetLog, environment, guard } = this._context
    this._figures.beginWorkload(workload.fsync)
    try {
      const performance = new Performance(workload, { OffsetLog, environment })
      await guard.run(() => performance.run())
      await this._explorer.explore(workload, performance, imageBudget(workload))
    } catch (err) {
      const { violation, steps } = err instanceof ImageFailure ? err : { violation: err, steps: [] }
      // Anything else is a mistake of the harness.
      if (!(violation instanceof Violation)) throw violation
      await this._report(violation, { workload, steps }, index)
    }
  }

  /**
   * @param {Violation} violation
   * @param {import('./replay').Case} failing
   * @param {number} index
   */
  async _report (violation, failing, index) {
    const { kind } = violation
    this._figures.violations[kind]++
    const smaller = this._options.shrinks === false ? failing : await new Shrinker(this._context).shrink(failing, kind)
    const again = await replay(smaller, this._context).catch((err) => err)
    const message = again?.message ?? `${violation.message} (and not when it is replayed)`
    const failure = { kind, message, replay: toLine(smaller), workload: index }
    this._failures.push(failure)
    this._options.onProgress?.({ workload: index, failure })
  }
}

/** Two of each: one thread in two would have the same ones only. @param {number} index  of a workload */
function alternate (index) {
  return index % 4 < 2 ? 'checked' : 'lines'
}

/** @param {import('./workload').Workload} workload */
function imageBudget ({ operations }) {
  const sizes = operations.flatMap(({ records = [] }) => records.map(([, size]) => size))
  const total = sizes.reduce((sum, size) => sum + size, 0)
  const [, budget] = /** @type {[number, number]} */ (IMAGE_BUDGETS.find(([sizeMax]) => total < sizeMax))
  return budget
}

exports.runCampaign = runCampaign
