'use strict'
// Where cases run: timers, clocks and random bytes without a surprise, fresh memory of a choice, and somebody who
// notices when a call never answers, or throws where nobody catches it.

const { createRandom } = require('@millrace/testkit')
const { Environment } = require('../torture/environment')
const { countBuiltIns } = require('./steps')
const { FreshMemory } = require('./surroundings')
const { Violation } = require('./violation')

// So many turns of the event loop pass without a call of the storage, or a record that comes, before the time of every
// timer has come.
const IDLE_TURNS = 3
// So often the time of every timer comes before it is plain that nobody waits for one.
const FIRINGS_MAX = 1000

class Stage {
  /** @param {import('./steps').StepCounter} counter */
  constructor (counter) {
    this._counter = counter
    this._environment = new Environment()
    this._memory = new FreshMemory()
    this._random = createRandom(1)
    /** @type {((err: unknown) => void) | null} */
    this._reject = null
    this._onThrown = (/** @type {any} */ err) => {
      const violation = err instanceof Violation ? err : new Violation('thrown', String(err?.stack ?? err))
      if (this._reject) this._reject(violation)
      else throw err
    }
    /** @type {Array<() => void>} */
    this._restores = []
  }

  /** @returns {number}  real milliseconds */
  now () {
    return this._environment.real.dateNow()
  }

  install () {
    const { stackTraceLimit } = Error
    const mathRandom = Math.random
    this._environment.install()
    Math.random = () => this._random(2 ** 32) / 2 ** 32
    this._restores = [
      () => this._environment.restore(),
      this._memory.install(),
      countBuiltIns(this._counter),
      () => {
        Error.stackTraceLimit = stackTraceLimit
        Math.random = mathRandom
      },
      () => process.off('uncaughtException', this._onThrown),
      () => process.off('unhandledRejection', this._onThrown)
    ]
    // Stacks are made only to be printed.
    Error.stackTraceLimit = 0
    process.on('uncaughtException', this._onThrown)
    process.on('unhandledRejection', this._onThrown)
  }

  restore () {
    for (const restore of this._restores.reverse()) restore()
  }

  /**
   * The case before is over: all memory that it used may be used again.
   * @param {boolean} isRecycled  whether that will be so of the next one
   */
  begin (isRecycled) {
    this._memory.recycle()
    this._memory.isRecycled = isRecycled
  }

  /**
   * @param {boolean} isNoisy  whether fresh memory is
   * @param {number} [readMs]
   */
  set (isNoisy, readMs = 0) {
    this._memory.isNoisy = isNoisy
    this._environment.reset(1, readMs)
    this._random = createRandom(1)
  }

  /**
   * @template T
   * @param {() => Promise<T>} task
   * @param {() => number} countProgress  calls of the storage, and records that came, so far
   * @param {number} [firingsMax]  Infinity: it ends for certain
   * @returns {Promise<T>}
   * @throws {Violation}
   */
  run (task, countProgress, firingsMax = FIRINGS_MAX) {
    return new Promise((resolve, reject) => {
      let isOver = false
      const end = (/** @type {(value: any) => void} */ settle) => (/** @type {any} */ value) => {
        isOver = true
        this._reject = null
        settle(value)
      }
      this._reject = end(reject)
      task().then(end(resolve), end(reject))
      this._watch(countProgress, () => isOver, firingsMax)
    })
  }

  /**
   * @param {() => number} countProgress
   * @param {() => boolean} isOver
   * @param {number} firingsMax
   */
  _watch (countProgress, isOver, firingsMax) {
    let before = -1
    let idleTurns = 0
    let firings = 0
    const turn = () => {
      if (isOver()) return
      idleTurns = before === countProgress() ? idleTurns + 1 : 0
      before = countProgress()
      if (idleTurns >= IDLE_TURNS) {
        idleTurns = 0
        if (firings++ === firingsMax) return this._reject?.(new Violation('no answer', 'a call never answers'))
        this._environment.fireTimers()
      }
      setImmediate(turn)
    }
    setImmediate(turn)
  }
}

exports.Stage = Stage
