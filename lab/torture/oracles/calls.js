// @ts-nocheck
'use strict'
// Whether a log that one call to its storage fails, or all from one on, keeps what it has promised: every call of a
// script fails in turn, in every way that there is, and what is left is opened again.

const path = require('node:path')
const { CrashPoint } = require('@millrace/testkit')
const { randomChoice } = require('../choices')
const { Environment } = require('../environment')
const { FRAMINGS } = require('../framings')
const { Guard } = require('../guard')
const { seededRandom } = require('../seeded')
const { Violation } = require('../violation')
const { checkImage } = require('../check-image')
const { FILE, Script, makeStarts } = require('./calls-script')

const MODES = ['always', 'interval', 'never']

/** It is loaded anew after so many runs. */
const RUNS_OF_A_LOAD = 100

/** What may go wrong with the calls of some names. `then` is what goes wrong with the next one. */
const FAULTS = [
  { name: 'EIO', of: /./, fault: () => ({ code: 'EIO' }) },
  { name: 'ENOSPC', of: /^(open|write)$/, fault: () => ({ code: 'ENOSPC' }) },
  { name: 'a short transfer', of: /^(read|readSync|write)$/, fault: ({ length }) => ({ length: Math.ceil(length / 2) }) },
  { name: 'half a write', of: /^write$/, fault: ({ length }) => ({ length: length >> 1 }), then: { code: 'EIO' } },
  { name: 'a sync that loses pages', of: /^sync$/, losesPages: true, fault: () => ({ losesPages: true }) }
]

/** @typedef {import('@millrace/testkit').SimulatedDisk} SimulatedDisk */

/**
 * @typedef {object} Failing  which call fails, and how
 * @property {typeof FAULTS[number]} kind
 * @property {number} at  the number of the call
 * @property {boolean} isForGood  and all calls after it
 * @property {number} [endsAfter]  the process is killed after so many steps after the one that failed
 */

/**
 * @param {import('./run-oracle').OracleOptions} options
 * @returns {Promise<import('./run-oracle').Verdict>}
 */
exports.examine = (options) => examineFraming(options, 'checked')

/**
 * @param {import('./run-oracle').OracleOptions} options
 * @param {import('../framings').FramingName} framing
 * @returns {Promise<import('./run-oracle').Verdict>}
 */
async function examineFraming ({ logModule, seed }, framing) {
  const environment = new Environment()
  const guard = new Guard()
  const figures = { runs: 0, calls: 0, images: 0 }
  environment.install()
  guard.install()
  try {
    await new Calls({ logModule, environment, guard, figures, seed }, framing).run()
    return { failures: [], figures }
  } catch (err) {
    if (!(err instanceof Violation)) throw err
    return { failures: [{ kind: err.kind, message: err.message }], figures }
  } finally {
    guard.restore()
    environment.restore()
  }
}

exports.examineFraming = examineFraming

class Calls {
  /**
   * @param {{ logModule: string, environment: Environment, guard: Guard, figures: any, seed: number }} context
   * @param {import('../framings').FramingName} name
   */
  constructor ({ logModule, environment, guard, figures, seed }, name) {
    this._name = name
    this._framing = FRAMINGS[name]
    this._logModule = logModule
    this._OffsetLog = require(logModule).OffsetLog
    this._environment = environment
    this._guard = guard
    this._figures = figures
    this._seed = seed
  }

  /** @throws {Violation} */
  async run () {
    const starts = await this._guard.run(() => makeStarts(this._OffsetLog, this._framing))
    for (const [index, start] of starts.entries()) {
      const fsync = MODES[(index + this._seed - 1) % MODES.length]
      const calls = await this._listCalls(start, fsync)
      this._figures.calls += calls.length
      for (const failing of everyFailing(calls, this._framing)) {
        await this._fail(start, fsync, calls, failing)
        if (this._framing.canDelete) continue
        // What is not described could be hidden by what comes later.
        for (const endsAfter of [0, 1, 2]) await this._fail(start, fsync, calls, { ...failing, endsAfter })
      }
    }
  }

  /** The calls of the script when nothing fails. */
  async _listCalls (start, fsync) {
    const calls = []
    await this._perform(start, fsync, (call) => { calls.push(call) })
    return calls
  }

  /**
   * @param {import('./calls-script').Start} start
   * @param {string} fsync
   * @param {(call: any) => any} decide
   * @param {number} [endsAfter]
   */
  async _perform (start, fsync, decide, endsAfter) {
    this._environment.reset(this._seed, start.isSlow ? 2 : 0)
    const disk = start.disk.clone({ decide, defer: process.nextTick })
    const { _OffsetLog: OffsetLog, _environment: environment, _framing: framing } = this
    const script = new Script({ OffsetLog, environment, disk, framing, start, fsync, endsAfter })
    await this._guard.run(() => script.run())
    return script
  }

  /** @param {Failing} failing */
  async _fail (start, fsync, calls, failing) {
    if (this._figures.runs++ % RUNS_OF_A_LOAD === 0) this._OffsetLog = loadAnew(this._logModule)
    let number = 0
    let hasEnded = false
    const decide = (call) => hasEnded ? undefined : faultOf(failing, call, number++)
    const label = `${start.name}, fsync ${fsync}: ${failing.kind.name} at call ${failing.at}, ` +
      `${calls[failing.at].name}, ${failing.isForGood ? 'for good' : 'once'}, ends after ${failing.endsAfter ?? 'all'}`
    try {
      const script = await this._perform(start, fsync, decide, failing.endsAfter)
      hasEnded = true
      await this._judge(script, start, seededRandom(this._seed, this._figures.runs))
    } catch (err) {
      if (err instanceof Violation) err.message = `${label}: ${err.message}`
      throw err
    }
  }

  /**
   * What is left when the process ends, and when the power goes too.
   * @param {Script} script
   * @param {import('./calls-script').Start} start
   * @param {(limit: number) => number} random
   */
  async _judge ({ disk, ledger, at, isClosed, hasLostPages }, { torn }, random) {
    const power = ledger.expect(at, false)
    if (isClosed) await this._guard.run(() => this._checkClean(disk.clone({ defer: process.nextTick })))
    if (torn) checkKept(disk.crash(() => 0), torn)
    // When the cache shows more than the disk has, opening is where that comes to light.
    const tries = hasLostPages ? 10 : 1
    for (const left of await this._crashOpening(disk, tries, random)) await this._check(left, power, random)
    await this._check(disk.clone(), ledger.expect(at, true), random)
    await this._check(disk.crash(() => 0), power, random)
    await this._check(cutPower(disk, random), power, random)
  }

  /**
   * Opens what the process left, and cuts the power meanwhile.
   * @param {SimulatedDisk} disk
   * @param {number} tries
   * @param {(limit: number) => number} random
   * @returns {Promise<SimulatedDisk[]>}  what that leaves, if opening changes anything
   */
  async _crashOpening (disk, tries, random) {
    const opened = disk.clone({ defer: process.nextTick })
    /** @type {SimulatedDisk[]} */
    const moments = []
    opened.onChange = () => moments.push(opened.clone())
    const log = this._OffsetLog(FILE, { ...this._framing.options, storage: opened.storage, fsync: 'never' })
    await this._guard.run(() => log.ready())
    opened.onChange = null
    if (moments.length === 0) return []
    return Array.from({ length: tries }, () => cutPower(moments[random(moments.length)], random))
  }

  /** @param {SimulatedDisk} disk  of a log that says that it was closed well */
  async _checkClean (disk) {
    const log = this._OffsetLog(FILE, { ...this._framing.options, storage: disk.storage, flags: 'r' })
    await log.ready().catch((err) => { throw new Violation('refused', `closed well, but: ${err.stack}`) })
    if (log.recovery) throw new Violation('wrong answer', `closed well, but: ${JSON.stringify(log.recovery)}`)
    await log.close()
  }

  /**
   * @param {SimulatedDisk} disk
   * @param {import('../ledger').Expectation} expectation
   * @param {(limit: number) => number} random
   */
  async _check (disk, expectation, random) {
    this._figures.images++
    const plan = random(2 ** 31)
    await this._guard.run(() => checkImage({
      OffsetLog: this._OffsetLog, environment: this._environment, disk, framing: this._name, expectation, plan
    }))
  }
}

/**
 * @param {SimulatedDisk} disk
 * @param {(limit: number) => number} random
 */
function cutPower (disk, random) {
  const crash = new CrashPoint(disk.clone())
  return crash.choose(randomChoice(crash, random)).toDisk()
}

/**
 * @param {SimulatedDisk} disk  after a power cut
 * @param {{ offset: number, bytes: Buffer }} torn  what the log ended with
 */
function checkKept (disk, { offset, bytes }) {
  if (disk.read(FILE).subarray(offset, offset + bytes.length).equals(bytes)) return
  if (disk.list().some((file) => file.startsWith(`${FILE}.cut-`) && disk.read(file).equals(bytes))) return
  throw new Violation('promised lost', 'the torn end is cut, and kept nowhere')
}

/**
 * Loads the log as a process of its own would. The ends of many processes are played in this one, and each log that is
 * left open is kept for the end of this one: what was loaded before is forgotten with them.
 * @param {string} logModule
 */
function loadAnew (logModule) {
  const packages = path.dirname(logModule) + path.sep
  for (const file of Object.keys(require.cache)) if (file.startsWith(packages)) delete require.cache[file]
  module.children = []
  for (const event of ['beforeExit', 'exit']) {
    for (const listener of process.listeners(event)) if (listener.name.startsWith('finishAll')) process.off(event, listener)
  }
  return require(logModule).OffsetLog
}

/**
 * @param {any[]} calls
 * @param {import('../framings').Framing} framing
 * @returns {Iterable<Failing>}
 */
function * everyFailing (calls, { writesEndAnew }) {
  for (const [at, { name }] of calls.entries()) {
    for (const kind of FAULTS) {
      if (!kind.of.test(name) || (kind.losesPages && !writesEndAnew)) continue
      for (const isForGood of [false, true]) yield { kind, at, isForGood }
    }
  }
}

/**
 * @param {Failing} failing
 * @param {any} call
 * @param {number} number  of the call
 */
function faultOf ({ kind, at, isForGood }, call, number) {
  if (number === at) return kind.fault(call)
  if (number < at || (!isForGood && number > at + 1)) return
  if (kind.then) return kind.then
  if (isForGood && kind.of.test(call.name)) return kind.fault(call)
}
