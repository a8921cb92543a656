// @ts-nocheck
'use strict'
// Makes a failing case smaller while it goes on failing in the same way: fewer operations, smaller records, fewer
// sectors that differ from a crash which keeps all or nothing.

const { CrashPoint, TEAR } = require('@millrace/testkit')
const { Explorer, ImageFailure } = require('./explore')
const { Figures } = require('./figures')
const { Performance } = require('./perform')
const { replay } = require('./replay')
const { Violation } = require('./violation')

const SHRINK_MS_MAX = 20_000
// A smaller workload fails at other calls than the larger one: this many of its images are looked at.
const SEARCH_BUDGET = 1500

/**
 * @typedef {import('./replay').Case} Case
 */

class Shrinker {
  /**
   * @param {object} context
   * @param {any} context.OffsetLog
   * @param {import('./environment').Environment} context.environment
   * @param {import('./guard').Guard} context.guard
   */
  constructor (context) {
    this._context = context
    this._endMs = context.environment.real.dateNow() + SHRINK_MS_MAX
  }

  /**
   * @param {Case} failing
   * @param {string} kind  of its violation
   * @returns {Promise<Case>}
   */
  async shrink (failing, kind) {
    this._kind = kind
    let best = failing
    for (let hasShrunk = true; hasShrunk && !this._isOver();) {
      hasShrunk = false
      for (const workload of smallerWorkloads(best.workload)) {
        if (this._isOver()) break
        const found = await this._search(workload)
        if (!found) continue
        best = found
        hasShrunk = true
        break
      }
    }
    for (let step = best.steps.length - 1; step >= 0; step--) best = await this._shrinkChoice(best, step)
    return best
  }

  _isOver () {
    return this._context.environment.real.dateNow() > this._endMs
  }

  /**
   * @param {Case['workload']} workload
   * @returns {Promise<Case | null>}
   */
  async _search (workload) {
    const { OffsetLog, environment, guard } = this._context
    const performance = new Performance(workload, { OffsetLog, environment })
    try {
      await guard.run(() => performance.run())
      const explorer = new Explorer({ OffsetLog, environment, guard, figures: new Figures() })
      await explorer.explore(workload, performance, SEARCH_BUDGET)
    } catch (err) {
      const { violation, steps } = err instanceof ImageFailure ? err : { violation: err, steps: [] }
      if (violation instanceof Violation && violation.kind === this._kind) return { workload, steps }
    }
    return null
  }

  /**
   * @param {Case} failing
   * @returns {Promise<boolean>}
   */
  async _fails (failing) {
    try {
      return (await replay(failing, this._context))?.kind === this._kind
    } catch {
      return false
    }
  }

  /**
   * @param {Case} best
   * @param {number} step
   * @returns {Promise<Case>}
   */
  async _shrinkChoice (best, step) {
    const { choice } = best.steps[step]
    if (!choice) return best
    const withChoice = (choice) => ({ ...best, steps: best.steps.with(step, { ...best.steps[step], choice }) })
    const bases = await this._bases(best, step)
    bases.sort((one, other) => distance(choice, one) - distance(choice, other))
    for (const base of bases) if (await this._fails(withChoice(base))) return withChoice(base)
    if (bases.length === 0) return best
    let smallest = choice
    for (const part of ['sectors', 'sizes', 'names']) {
      for (let index = 0; index < smallest[part].length && !this._isOver(); index++) {
        if (smallest[part][index] === bases[0][part][index]) continue
        const candidate = { ...smallest, [part]: smallest[part].with(index, bases[0][part][index]) }
        if (await this._fails(withChoice(candidate))) smallest = candidate
      }
    }
    return withChoice(smallest)
  }

  /**
   * @param {Case} best
   * @param {number} step
   * @returns {Promise<Array<import('./explore').Step['choice']>>}  keep all, keep nothing
   */
  async _bases ({ workload, steps }, step) {
    const { choice } = steps[step]
    if (step > 0) {
      const all = { ...choice, sectors: choice.sectors.map((outcome) => Math.max(1, outcome % TEAR)) }
      return [all, { ...choice, sectors: choice.sectors.map(() => 0) }]
    }
    const { OffsetLog, environment, guard } = this._context
    const performance = new Performance(workload, { OffsetLog, environment })
    await guard.run(() => performance.run())
    const point = new CrashPoint(performance.points[steps[0].at].disk)
    return [point.all(), point.none()]
  }
}

/**
 * @param {Case['workload']} workload
 * @returns {Iterable<Case['workload']>}  the smallest first
 */
function * smallerWorkloads (workload) {
  const { operations } = workload
  for (let size = operations.length >> 1; size >= 1; size >>= 1) {
    for (let start = operations.length - size; start >= 0; start -= size) {
      yield { ...workload, operations: operations.toSpliced(start, size) }
    }
  }
  if (workload.hasJitter) yield { ...workload, hasJitter: false }
  if (workload.isSlow) yield { ...workload, isSlow: false }
  for (const [index, operation] of operations.entries()) {
    for (const smaller of smallerOperations(operation)) {
      yield { ...workload, operations: operations.with(index, smaller) }
    }
  }
}

/** @param {import('./workload').Operation} operation */
function * smallerOperations (operation) {
  const { records, ids, isAwaited } = operation
  if (isAwaited === false) yield { ...operation, isAwaited: true }
  if (ids && ids.length > 1) for (const id of ids) yield { ...operation, ids: ids.filter((other) => other !== id) }
  if (!records) return
  if (records.length > 1) {
    for (let start = 0; start < records.length; start++) yield { ...operation, records: records.toSpliced(start, 1) }
  }
  for (const [index, [id, size, kind]] of records.entries()) {
    if (size > 16) yield { ...operation, records: records.with(index, [id, size >> 1, kind]) }
  }
}

/**
 * @param {any} choice
 * @param {any} base
 */
function distance (choice, base) {
  let count = 0
  for (const part of ['sectors', 'sizes', 'names']) {
    choice[part].forEach((value, index) => { if (value !== base[part][index]) count++ })
  }
  return count
}

exports.Shrinker = Shrinker
