'use strict'
// The simulated disk that a workload runs on: it injects the faults, answers late, counts the calls that change it, and
// is kept as it is before each of them.

const { CrashPoint, SimulatedDisk } = require('@millrace/testkit')
const { randomChoice } = require('./choices')
const { seededRandom } = require('./seeded')

// With jitter a call is answered up to this many turns later than it could be, so that calls overtake each other.
const JITTER_MAX = 4
// Of so many writes one is also kept when it is half done.
const HALF_WRITTEN_SHARE = 3

/**
 * @typedef {object} Point  a moment to cut the power or to kill the process at
 * @property {number} at
 * @property {{ name: string, path: string, position?: number, length?: number } | null} call  the next one
 * @property {SimulatedDisk} disk
 * @property {SimulatedDisk | null} halfWritten  with only the beginning of the next write, for a killed process
 * @property {boolean} isCreation  the log's file is being made
 */

class Stage {
  /**
   * @param {object} options
   * @param {(limit: number) => number} options.random
   * @param {boolean} options.hasJitter
   * @param {(line: () => string) => void} options.trace
   * @param {() => void} options.onChange  runs before every call that changes the disk
   * @param {(fault: { losesPages?: boolean, code?: string }, path: string) => void} options.onFault
   */
  constructor ({ random, hasJitter, trace, onChange, onFault }) {
    this._random = random
    this._hasJitter = hasJitter
    this._trace = trace
    this._onChange = onChange
    this._onFault = onFault
    /** How many calls have changed the disk. */
    this.at = 0
    /** @type {Point[]} */
    this.points = []
    /** Whether the log's file has been made. */
    this.isCreated = false
    /** @type {Array<{ call: string, fault: any, skip: number, left: number }>} */
    this._faults = []
    this.disk = this._adopt(new SimulatedDisk())
  }

  /**
   * @param {string} call
   * @param {any} fault
   * @param {number} skip  this many calls before it are well
   * @param {number} count  this many fail
   */
  addFault (call, fault, skip, count) {
    this._faults.push({ call, fault, skip, left: count })
  }

  /** @param {number} room  bytes that the disk has left */
  fill (room) {
    this.disk.capacity = room + this.disk.list().reduce((total, file) => total + this.disk.read(file).length, 0)
  }

  /**
   * The process ends. It goes on for all that it knows; what it left is continued on a disk of its own, without faults.
   * @param {'close' | 'kill' | 'cut' | 'drop'} how
   * @param {number} seed  of a power cut
   */
  restart (how, seed) {
    this._faults = []
    this.disk.onChange = null
    // What the process had asked for still happens there: it must not meet the faults of the next one.
    this.disk.decide = () => {}
    this.disk = this._adopt(how === 'cut' ? this._cutPower(seed) : this.disk.clone())
    this.disk.capacity = Infinity
    if (how === 'drop') this.disk.dropCaches()
  }

  /** Nothing more will happen. */
  end () {
    this._keepPoint(null)
    this.disk.onChange = null
  }

  /** @param {SimulatedDisk} disk */
  _adopt (disk) {
    disk.onChange = (call) => {
      this._onChange()
      this._keepPoint(call)
      this._trace(() => `${this.at}:     ${describeCall(call)}`)
      this.at++
    }
    disk.decide = (call) => this._decide(call)
    disk.defer = this._hasJitter ? (run) => this._deferLate(run) : process.nextTick
    return disk
  }

  /** @param {() => void} run */
  _deferLate (run) {
    const wait = (/** @type {number} */ turns) => turns === 0 ? run() : process.nextTick(wait, turns - 1)
    process.nextTick(wait, this._random(JITTER_MAX))
  }

  /** @param {{ name: string, path: string }} call */
  _decide ({ name, path }) {
    for (const entry of this._faults) {
      if (entry.left === 0 || entry.call !== name || entry.skip-- > 0) continue
      entry.left--
      this._trace(() => `${this.at}:     fault: ${name} ${path} ${JSON.stringify(entry.fault)}`)
      this._onFault(entry.fault, path)
      return entry.fault
    }
  }

  /** @param {any} call */
  _keepPoint (call) {
    /** @type {import('@millrace/testkit').SimulatedDisk | null} */
    let halfWritten = null
    const disk = this.disk.clone()
    if (call?.name === 'write' && call.length > 1 && this._random(HALF_WRITTEN_SHARE) === 0) {
      halfWritten = this.disk.clone()
      const { path, buf, offset, position, length } = call
      halfWritten.write(path, buf.subarray(offset, offset + 1 + this._random(length - 1)), position)
    }
    this.points.push({ at: this.at, call, disk, halfWritten, isCreation: !this.isCreated })
  }

  /** @param {number} seed */
  _cutPower (seed) {
    const point = new CrashPoint(this.disk.clone())
    const choice = randomChoice(point, seededRandom(seed))
    this._trace(() => `${this.at}:     power cut: ${JSON.stringify(choice)}`)
    return point.choose(choice).toDisk()
  }
}

/** @param {any} call */
function describeCall ({ name, path, position = 0, length = 0 }) {
  if (name === 'write') return `write ${path} ${position}-${position + length}`
  return name === 'truncate' ? `truncate ${path} to ${position}` : `${name} ${path}`
}

exports.Stage = Stage
exports.describeCall = describeCall
