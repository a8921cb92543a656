'use strict'
// Writes the scripts: what is appended, deleted, synced, reopened, and what fails meanwhile.

const { FRAMINGS } = require('./framings')
const { mixSeed, pickWeighted, seededRandom } = require('./seeded')

const MODES = ['always', 'interval', 'never']
const PAGE_SIZE = 16 * 1024

/**
 * One step; which fields it has depends on `do`.
 *
 * append: records, isBatch, isAwaited. appendNow: appendSync; records, isBatch, hasSync. del: ids, isAwaited. sync,
 * compact: isAwaited. flush: flushSync; hasSync. tick: the timers fire. wait: for all answers. read: all of it, and
 * compare. live: a live stream reads along from here. fault: the calls of that name fail, `count` of them after `skip`.
 * fill: the disk has only `room` bytes left. reopen, perhaps with another fsync mode: after a close; a kill of the
 * process; a cut of the power, by choices from `seed`; a close and a drop of the caches.
 *
 * @typedef {'append' | 'appendNow' | 'del' | 'sync' | 'flush' | 'compact' | 'tick' | 'wait' | 'read' | 'live' |
 *   'fault' | 'fill' | 'reopen'} Step
 * @typedef {object} Operation
 * @property {Step} do
 * @property {Array<import('./records').RecordPlan>} [records]
 * @property {boolean} [isBatch]
 * @property {boolean} [isAwaited]
 * @property {number[]} [ids]
 * @property {boolean} [hasSync]
 * @property {string} [call]
 * @property {object} [fault]
 * @property {number} [skip]
 * @property {number} [count]
 * @property {number} [room]
 * @property {'close' | 'kill' | 'cut' | 'drop'} [how]
 * @property {string} [fsync]
 * @property {number} [seed]
 */

/**
 * @typedef {object} Workload
 * @property {import('./framings').FramingName} framing
 * @property {number} salt  of its records, of the log's random bytes and of all that is not written down here
 * @property {string} fsync  of the first session
 * @property {boolean} hasJitter  calls to the disk overtake each other
 * @property {boolean} isSlow  reads seem slow, so the log reads asynchronously
 * @property {Operation[]} operations
 */

/**
 * @typedef {object} Shape
 * @property {number} steps
 * @property {Array<[weight: number, value: number]>} sizes
 * @property {number} batch
 * @property {boolean} hasFiller
 */

// How long records are, and how many steps there are: mostly little, so that there is time for many images.
/** @type {Record<string, Shape>} */
const SHAPES = {
  tiny: { steps: 6, sizes: [[2, 1], [4, 40], [6, 300], [3, 1000]], batch: 5, hasFiller: false },
  edge: { steps: 6, sizes: [[1, 1], [3, 40], [3, 600], [2, 2200]], batch: 5, hasFiller: true },
  medium: { steps: 9, sizes: [[1, 1], [3, 300], [3, 4000], [2, 12_000]], batch: 12, hasFiller: false },
  large: { steps: 8, sizes: [[1, 300], [2, 9000], [2, 40_000], [1, 100_000]], batch: 20, hasFiller: false }
}

/**
 * @param {number} seed
 * @param {number} index  of the workload
 * @param {import('./framings').FramingName} [framing]
 * @returns {Workload}
 */
function generateWorkload (seed, index, framing = 'checked') {
  const random = seededRandom(seed, index)
  const shape = SHAPES[pickWeighted(random, [[14, 'tiny'], [5, 'edge'], [3, 'medium'], [1, 'large']])]
  const script = new Script(random, shape, FRAMINGS[framing])
  return {
    framing,
    salt: mixSeed(seed, index, 1) >>> 1,
    fsync: MODES[random(3)],
    hasJitter: random(4) === 0,
    isSlow: random(8) === 0,
    operations: script.write()
  }
}

class Script {
  /**
   * @param {(limit: number) => number} random
   * @param {Shape} shape
   * @param {import('./framings').Framing} framing
   */
  constructor (random, shape, { canDelete, writesEndAnew }) {
    this._random = random
    this._shape = shape
    this._canDelete = canDelete
    this._syncFault = writesEndAnew ? { losesPages: true } : { code: 'EIO' }
    this._nextId = 0
    this._lastIds = [0]
    this._hasFaults = random(4) === 0
    // How often a step waits for its answer.
    this._patience = [20, 60, 100][random(3)]
    /** @type {Operation[]} */
    this._operations = []
  }

  /** @returns {Operation[]} */
  write () {
    const { steps, hasFiller } = this._shape
    const random = this._random
    if (hasFiller) this._fillPage()
    else this._append()
    // What is durable has no sectors to lose: of what comes then, all combinations can be tried.
    if (random(3) > 0) this._add({ do: 'sync', isAwaited: true })
    for (let step = 1 + random(steps); step > 0; step--) this._step()
    if (random(3) > 0) this._reopen()
    return this._operations
  }

  _step () {
    const step = pickWeighted(this._random, [
      [50, this._append], [8, this._appendNow], [this._canDelete ? 16 : 0, this._del], [13, this._sync],
      [8, this._flush], [this._canDelete ? 5 : 0, this._compact], [6, this._tick], [4, this._wait], [4, this._read],
      [2, this._live], [7, this._reopen], [this._hasFaults ? 20 : 0, this._fault]
    ])
    step.call(this)
  }

  /** @param {Operation} operation */
  _add (operation) {
    this._operations.push(operation)
  }

  _isAwaited () {
    return this._random(100) < this._patience
  }

  /** What comes next lies about the end of a page, where records are split or moved to the next one. */
  _fillPage () {
    const size = PAGE_SIZE - this._random(this._random(2) === 0 ? 120 : 1600)
    this._add({ do: 'append', records: [this._plan(size)], isBatch: false, isAwaited: this._isAwaited() })
  }

  _append () {
    this._add({ do: 'append', ...this._planRecords(), isAwaited: this._isAwaited() })
  }

  _appendNow () {
    this._add({ do: 'appendNow', ...this._planRecords(), hasSync: this._random(3) > 0 })
  }

  _planRecords () {
    const random = this._random
    const isBatch = random(3) === 0
    const records = []
    for (let count = isBatch ? 1 + random(this._shape.batch) : 1; count > 0; count--) {
      records.push(this._plan(random(1 + pickWeighted(random, this._shape.sizes))))
    }
    this._lastIds = records.map(([id]) => id)
    return { records, isBatch }
  }

  /** @param {number} size @returns {import('./records').RecordPlan} */
  _plan (size) {
    /** @type {Array<[number, 'random' | 'zeros' | 'ones' | 'log']>} */
    const kinds = [[16, 'random'], [2, 'zeros'], [1, 'ones'], [1, 'log']]
    const kind = pickWeighted(this._random, kinds)
    return [this._nextId++, size, kind]
  }

  _del () {
    const random = this._random
    const pick = () => random(3) === 0 ? this._lastIds[this._lastIds.length - 1] : random(this._nextId)
    const count = pickWeighted(random, [[6, 1], [3, 3], [1, 10]])
    const ids = [...new Set(Array.from({ length: 1 + random(count) }, pick))]
    this._add({ do: 'del', ids, isAwaited: this._isAwaited() })
  }

  _sync () {
    this._add({ do: 'sync', isAwaited: this._isAwaited() })
  }

  _flush () {
    this._add({ do: 'flush', hasSync: this._random(3) > 0 })
  }

  _compact () {
    this._add({ do: 'compact', isAwaited: this._isAwaited() })
  }

  _tick () {
    this._add({ do: 'tick' })
  }

  _wait () {
    this._add({ do: 'wait' })
  }

  _read () {
    this._add({ do: 'read' })
  }

  _live () {
    this._add({ do: 'live' })
  }

  _reopen () {
    /** @type {Array<[number, 'close' | 'kill' | 'cut' | 'drop']>} */
    const ways = [[3, 'close'], [2, 'kill'], [3, 'cut'], [1, 'drop']]
    const how = pickWeighted(this._random, ways)
    this._add({ do: 'reopen', how, fsync: MODES[this._random(3)], seed: this._random(2 ** 31) })
  }

  _fault () {
    const random = this._random
    const kind = pickWeighted(random, [[5, this._failSync], [2, this._failWrite], [2, this._shorten], [2, this._fill]])
    kind.call(this)
    if (random(2) === 0) this._append()
  }

  /** The log says that it is poisoned, and whoever opens it next must not trust what the cache shows. */
  _failSync () {
    const random = this._random
    const count = random(3) === 0 ? 1000 : 1
    this._add({ do: 'fault', call: 'sync', fault: this._syncFault, skip: random(3) === 0 ? 1 : 0, count })
    if (random(4) > 0) this._append()
    if (random(4) > 0) this._sync()
    if (random(2) === 0) this._wait()
    if (random(2) === 0) this._append()
    if (random(2) === 0) this._reopen()
    if (random(2) === 0) this._sync()
  }

  _failWrite () {
    const random = this._random
    const count = random(3) === 0 ? 1000 : 1 + random(2)
    this._add({ do: 'fault', call: 'write', fault: { code: random(2) === 0 ? 'EIO' : 'ENOSPC' }, skip: random(2), count })
    // What was written before it failed must be cut off again, and that may fail too.
    if (random(3) === 0) this._add({ do: 'fault', call: 'truncate', fault: { code: 'EIO' }, skip: 0, count })
  }

  _shorten () {
    this._add({ do: 'fault', call: 'write', fault: { length: 1 + this._random(700) }, skip: 0, count: 1000 })
  }

  _fill () {
    const random = this._random
    this._add({ do: 'fill', room: random(random(2) === 0 ? 600 : 6000) })
  }
}

exports.generateWorkload = generateWorkload
