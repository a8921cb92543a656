// @ts-nocheck
'use strict'
// Makes the images of one workload, and checks each: power cuts and kills at its moments, and during the recovery from
// these.

const { CrashPoint } = require('@millrace/testkit')
const { checkImage } = require('./check-image')
const { compare } = require('./compare')
const { everyChoice, randomChoice, sampledChoices } = require('./choices')
const { signatureOf } = require('./ledger')
const { mixSeed, seededRandom } = require('./seeded')

// Of every workload the file is made in the same way: its moments are tried in one workload of so many.
const CREATION_SHARE = 10
const CREATION_SAMPLES = 10
// A kill leaves what a power cut leaves that loses nothing, so few of them are opened.
const KILL_SHARE = 8
// Crashes during recovery: at least this part of all images.
const NESTED_SHARE = 0.16
const NESTED_DEPTH_MAX = 2
const NESTED_MOMENTS = 2
const NESTED_SUBSET_SECTORS_MAX = 2

/**
 * @typedef {import('@millrace/testkit').SimulatedDisk} SimulatedDisk
 * @typedef {import('@millrace/testkit').Choice} Choice
 * @typedef {import('./ledger').Expectation} Expectation
 */

/**
 * @typedef {object} Known  an image that was opened
 * @property {import('./compare').Found[]} found  in it
 * @property {Set<string>} signatures  of what it was compared with
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
   * @param {import('./environment').Environment} context.environment
   * @param {import('./guard').Guard} context.guard
   * @param {import('./figures').Figures} context.figures
   */
  constructor ({ OffsetLog, environment, guard, figures }) {
    this._OffsetLog = OffsetLog
    this._environment = environment
    this._guard = guard
    this._figures = figures
  }

  /**
   * @param {import('./workload').Workload} workload
   * @param {import('./perform').Performance} performance  over
   * @param {number} budget  how many images are enough
   * @throws {ImageFailure}
   */
  async explore ({ salt, framing }, { points, ledger }, budget) {
    this._random = seededRandom(salt, 2)
    this._salt = salt
    this._framing = framing
    this._ledger = ledger
    this._imageCount = 0
    this._nestedCount = 0
    /** The images, by their hash. @type {Map<number, Known>} */
    this._checked = new Map()
    const hasCreation = this._random(CREATION_SHARE) === 0
    const candidates = points.filter(({ isCreation }) => hasCreation || !isCreation)
    while (candidates.length > 0 && this._imageCount < budget) {
      const [point] = candidates.splice(this._random(candidates.length), 1)
      await this._explorePoint(point)
    }
  }

  /** @param {import('./stage').Point} point */
  async _explorePoint ({ at, disk, halfWritten, isCreation }) {
    const random = this._random
    const crash = new CrashPoint(disk)
    const power = this._ledger.expect(at, false)
    const origin = { at, power, kill: this._ledger.expect(at, true), signature: signatureOf(power) }
    const choices = isCreation ? sampledChoices(crash, random, CREATION_SAMPLES) : everyChoice(crash, random)
    for (const choice of choices) await this._cutPower(crash, choice, origin, at, [])
    if (random(KILL_SHARE) === 0) await this._kill('kill', disk, origin, at, [])
    if (halfWritten) await this._kill('half', halfWritten, origin, at, [])
  }

  /**
   * @typedef {object} Origin  what may be there
   * @property {number} at
   * @property {Expectation} power  after a power cut
   * @property {string} signature  of it
   * @property {Expectation} kill  after a kill
   * @param {CrashPoint} crash
   * @param {Choice} choice
   * @param {Origin} origin
   * @param {number} at
   * @param {Step[]} before
   */
  async _cutPower (crash, choice, origin, at, before) {
    const image = crash.choose(choice)
    const known = this._checked.get(image.hash)
    const step = /** @type {Step} */ ({ at, how: 'power', choice, plan: this._nextPlan() })
    if (known) this._compareAgain(known, origin, [...before, step])
    else await this._check(image.toDisk(), image.hash, origin, step, before)
  }

  /**
   * The same image holds the same records. Perhaps more of them are promised now.
   * @param {Known} known
   * @param {Origin} origin
   * @param {Step[]} steps
   */
  _compareAgain ({ found, signatures }, { power, signature }, steps) {
    if (signatures.has(signature)) return
    signatures.add(signature)
    try {
      compare(power, found)
    } catch (err) {
      throw new ImageFailure(err, steps)
    }
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
    const isNesting = depth < NESTED_DEPTH_MAX && this._nestedCount < NESTED_SHARE * this._imageCount
    const recovery = new Sample(this._random, NESTED_MOMENTS)
    let outcome
    try {
      outcome = await this._guard.run(() => checkImage({
        OffsetLog: this._OffsetLog,
        environment: this._environment,
        disk,
        framing: this._framing,
        expectation: step.how === 'power' ? origin.power : origin.kill,
        plan: step.plan,
        onRecovery: isNesting ? (at) => recovery.offer(() => ({ at, disk: disk.clone() })) : undefined
      }))
    } catch (err) {
      throw new ImageFailure(err, steps)
    }
    if (step.how === 'power') this._checked.set(hash, { found: outcome.found, signatures: new Set([origin.signature]) })
    if (outcome.hasRecovered) this._figures.recovered++
    for (const moment of recovery.chosen) await this._crashRecovery(moment, origin, step, steps)
  }

  /**
   * @param {{ at: number, disk: SimulatedDisk }} moment
   * @param {Origin} origin
   * @param {Step} step  the crash that was being recovered from
   * @param {Step[]} steps
   */
  async _crashRecovery ({ at, disk }, origin, step, steps) {
    const random = this._random
    const crash = new CrashPoint(disk)
    if (random(KILL_SHARE) === 0) {
      // A kill does not bring back what a power cut before it took.
      await this._kill('kill', disk, step.how === 'power' ? { ...origin, kill: origin.power } : origin, at, steps)
    }
    const choices = crash.sectors.length <= NESTED_SUBSET_SECTORS_MAX
      ? everyChoice(crash, random)
      : [...sampledChoices(crash, random, 5), randomChoice(crash, random)]
    for (const choice of choices) await this._cutPower(crash, choice, origin, at, steps)
  }
}

/** A few of many, each as likely as any other, without keeping the others. */
class Sample {
  /**
   * @param {(limit: number) => number} random
   * @param {number} count
   */
  constructor (random, count) {
    this._random = random
    this._count = count
    this._seen = 0
    /** @type {any[]} */
    this.chosen = []
  }

  /** @param {() => any} make  called only when it is chosen */
  offer (make) {
    const place = this._seen < this._count ? this._seen : this._random(this._seen + 1)
    this._seen++
    if (place < this._count) this.chosen[place] = make()
  }
}

exports.Explorer = Explorer
exports.ImageFailure = ImageFailure
