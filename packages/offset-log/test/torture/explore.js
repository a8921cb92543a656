'use strict'
// Makes the images of one workload, and checks each: power cuts and kills at its moments, and during the recovery from
// these.

const { CrashPoint } = require('@millrace/testkit/lib/simulated-crash')
const { checkImage } = require('./check-image')
const { everyChoice, randomChoice, sampledChoices } = require('./choices')
const { signatureOf } = require('./ledger')
const { mixSeed, seededRandom } = require('./seeded')

// Of every workload the file is made in the same way: its moments are tried in one workload of so many.
const CREATION_SHARE = 10
const CREATION_SAMPLES = 10
// Crashes during recovery: at least this part of all images.
const NESTED_SHARE = 0.16
const NESTED_DEPTH_MAX = 2
const NESTED_SUBSET_SECTORS_MAX = 2

/**
 * @typedef {import('@millrace/testkit').SimulatedDisk} SimulatedDisk
 * @typedef {import('@millrace/testkit/lib/simulated-crash').Choice} Choice
 * @typedef {import('./ledger').Expectation} Expectation
 */

/**
 * @typedef {object} Step  one crash; the next one is during the recovery from it
 * @property {number} at  the number of the call before which it happens
 * @property {'power' | 'kill' | 'half'} how  half: killed in the middle of the write
 * @property {Choice | null} choice  of power cuts
 * @property {number} plan  seed of what is done with the log afterwards
 */

class ImageFailure extends Error {
  /**
   * @param {import('./violation').Violation} violation
   * @param {Step[]} steps
   */
  constructor (violation, steps) {
    super(violation.message)
    this.violation = violation
    this.steps = steps
  }
}

class Explorer {
  /**
   * @param {object} context
   * @param {any} context.OffsetLog
   * @param {import('./guard').Guard} context.guard
   * @param {import('./figures').Figures} context.figures
   */
  constructor ({ OffsetLog, guard, figures }) {
    this._OffsetLog = OffsetLog
    this._guard = guard
    this._figures = figures
  }

  /**
   * @param {import('./workload').Workload} workload
   * @param {import('./perform').Performance} performance  over
   * @param {number} budget  how many images are enough
   * @throws {ImageFailure}
   */
  async explore ({ salt }, { points, ledger }, budget) {
    this._random = seededRandom(salt, 2)
    this._salt = salt
    this._ledger = ledger
    this._imageCount = 0
    this._nestedCount = 0
    /** @type {Map<string, Set<number>>} by what was promised: the images that were checked */
    this._checked = new Map()
    const hasCreation = this._random(CREATION_SHARE) === 0
    const candidates = points.filter(({ isCreation }) => hasCreation || !isCreation)
    while (candidates.length > 0 && this._imageCount < budget) {
      const [point] = candidates.splice(this._random(candidates.length), 1)
      await this._explorePoint(point)
    }
  }

  /** @param {import('./perform').Point} point */
  async _explorePoint ({ at, disk, halfWritten, isCreation }) {
    const random = this._random
    const crash = new CrashPoint(disk)
    const origin = { at, power: this._ledger.expect(at, false), kill: this._ledger.expect(at, true) }
    const choices = isCreation ? sampledChoices(crash, random, CREATION_SAMPLES) : everyChoice(crash, random)
    for (const choice of choices) await this._cutPower(crash, choice, origin, at, [])
    if (random(2) === 0) await this._kill('kill', disk, origin, at, [])
    if (halfWritten) await this._kill('half', halfWritten, origin, at, [])
  }

  /**
   * @typedef {{ at: number, power: Expectation, kill: Expectation }} Origin  what may be there, after either
   * @param {CrashPoint} crash
   * @param {Choice} choice
   * @param {Origin} origin
   * @param {number} at
   * @param {Step[]} before
   */
  async _cutPower (crash, choice, origin, at, before) {
    const image = crash.choose(choice)
    if (!this._isNew(image.hash, origin.power)) return
    await this._check(image.toDisk(), image.hash, origin, { at, how: 'power', choice, plan: this._nextPlan() }, before)
  }

  /**
   * @param {'kill' | 'half'} how
   * @param {SimulatedDisk} disk
   * @param {Origin} origin
   * @param {number} at
   * @param {Step[]} before
   */
  async _kill (how, disk, origin, at, before) {
    const crash = new CrashPoint(disk.clone())
    const { hash } = crash.choose(crash.all())
    await this._check(disk.clone(), hash, origin, { at, how, choice: null, plan: this._nextPlan() }, before)
  }

  /**
   * @param {number} hash
   * @param {Expectation} expectation
   */
  _isNew (hash, expectation) {
    const signature = signatureOf(expectation)
    const known = this._checked.get(signature) ?? new Set()
    this._checked.set(signature, known)
    return known.size !== known.add(hash).size
  }

  _nextPlan () {
    return mixSeed(this._salt, this._imageCount)
  }

  /**
   * @param {SimulatedDisk} disk
   * @param {number} hash
   * @param {Origin} origin
   * @param {Step} step
   * @param {Step[]} before
   */
  async _check (disk, hash, origin, step, before) {
    const depth = before.length
    const steps = [...before, step]
    this._imageCount++
    if (depth > 0) this._nestedCount++
    this._figures.countImage(hash, depth > 0)
    const keepsRecovery = depth < NESTED_DEPTH_MAX && this._nestedCount < NESTED_SHARE * this._imageCount
    let outcome
    try {
      outcome = await this._guard.run(() => checkImage({
        OffsetLog: this._OffsetLog,
        disk,
        expectation: step.how === 'power' ? origin.power : origin.kill,
        plan: step.plan,
        keepsRecovery
      }))
    } catch (err) {
      throw new ImageFailure(err, steps)
    }
    if (outcome.hasRecovered) this._figures.recovered++
    if (outcome.recovery.length > 0) await this._crashRecovery(outcome.recovery, origin, step, steps)
  }

  /**
   * @param {Array<{ at: number, disk: SimulatedDisk }>} recovery
   * @param {Origin} origin
   * @param {Step} step  the crash that was being recovered from
   * @param {Step[]} steps
   */
  async _crashRecovery (recovery, origin, step, steps) {
    const random = this._random
    for (let tries = 0; tries < 2; tries++) {
      const { at, disk } = recovery[random(recovery.length)]
      const crash = new CrashPoint(disk)
      // After a power cut a kill cannot bring back more than the cut left.
      if (random(6) === 0) await this._kill('kill', disk, step.how === 'power' ? { ...origin, kill: origin.power } : origin, at, steps)
      const choices = crash.sectors.length <= NESTED_SUBSET_SECTORS_MAX
        ? everyChoice(crash, random)
        : [...sampledChoices(crash, random, 5), randomChoice(crash, random)]
      for (const choice of choices) await this._cutPower(crash, choice, origin, at, steps)
    }
  }
}

exports.Explorer = Explorer
exports.ImageFailure = ImageFailure
