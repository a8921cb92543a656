// @ts-nocheck
'use strict'
// One process on the recorded disk: opens the log, does what its seed says, and ends, by itself or not. It tells its
// parent each thing that it asks and each answer, at once, with the time: what the parent knows was so before the end.
// What is done with one kind of log is in the script that history.js starts with the JSON of SessionOptions, and with
// the pipe as file descriptor 3.

const { execFileSync } = require('node:child_process')
const fs = require('node:fs')
const path = require('node:path')
const { makeRecord } = require('../records')
const { pickWeighted, seededRandom } = require('../seeded')
const { now } = require('./record')

const PIPE_FD = 3
const LIFE_MS_MAX = 60_000
// Each record begins with its number and its size, so that it is known wherever it is found.
const STAMP_SIZE = 8
const CACHE_SIZE = 256 * 1024
const SIZES = [[5, 60], [6, 700], [4, 5000], [2, 30_000], [1, 120_000]]

/**
 * @typedef {object} SessionOptions
 * @property {string} logModule
 * @property {string} file  of the log, or its folder
 * @property {any} settings  of the log, the same for all sessions of a history
 * @property {string} fsync
 * @property {number} salt  of the records
 * @property {number[]} seed  of what is done
 * @property {number} firstId  of the first record that is appended
 * @property {number} steps
 * @property {string | null} fault  what fails for a moment
 * @property {boolean} mayFail  something has failed already
 * @property {string} control  the file that makes the disk fail
 * @property {'close' | 'exit' | 'end' | 'kill'} ending
 */

/**
 * @param {number} salt
 * @param {number} id
 * @param {number} size  at least STAMP_SIZE
 * @returns {Buffer}
 */
function createRecord (salt, id, size) {
  const bytes = makeRecord(salt, [id, size, 'random'], () => Buffer.alloc(0))
  bytes.writeUInt32BE(id, 0)
  bytes.writeUInt32BE(size, 4)
  return bytes
}

/** Make a class of it for a kind of log. */
class Session {
  /** @param {SessionOptions} options */
  constructor (options) {
    this._options = options
    this._random = seededRandom(...options.seed)
    this._nextId = options.firstId
    this._mayFail = options.mayFail
    this._hasFailed = false
    this._isOpen = false
    this._requestCount = 0
    /** @type {Set<Promise<void>>} */
    this._pending = new Set()
    /** Records that can be deleted. @type {Array<{ id: number, seq: number }>} */
    this._known = []
    /** How much waits for its answer. */
    this._patience = [30, 70, 100][this._random(3)]
  }

  /**
   * A log as this session uses it.
   * @returns {any}
   */
  _createLog () {
    throw new Error('a kind of log says how it is opened')
  }

  /**
   * What a step may be, and how often.
   * @returns {Array<[weight: number, step: () => Promise<void>]>}
   */
  _steps () {
    return [
      [40, this._append], [12, this._del], [12, this._sync], [5, this._syncNeighbour], [5, this._writeBack],
      [6, this._pause], [4, this._reopen]
    ]
  }

  /**
   * The bytes of a record.
   * @param {number} id
   * @param {number} size
   */
  _createRecord (id, size) {
    return createRecord(this._options.salt, id, size)
  }

  /**
   * What the bytes say that they are.
   * @param {Buffer} bytes
   * @returns {[id: number, size: number]}  a size below 0 if they are none of ours
   */
  _identify (bytes) {
    const isOurs = bytes.length >= STAMP_SIZE && bytes.readUInt32BE(4) === bytes.length
    return isOurs ? [bytes.readUInt32BE(0), bytes.length] : [-1, -1]
  }

  /**
   * More to tell of a log that was opened.
   * @returns {Promise<object>}
   */
  async _describe () {
    return {}
  }

  /**
   * Whether a failure is none of the disk.
   * @param {string} what  the call
   * @param {string} code
   */
  _isHarmless (what, code) {
    return false
  }

  async run () {
    const { steps, fault } = this._options
    const random = this._random
    const faultAt = fault === null ? -1 : random(steps)
    const faultEnd = faultAt + 1 + random(6)
    await this._open()
    for (let step = 0; step < steps && this._isOpen; step++) {
      if (step === faultAt) this._beginFault()
      if (step === faultEnd) await this._endFault()
      await this._step()
      // A poisoned log does nothing more; closing and opening it again is what its user has to do.
      if (this._hasFailed && step >= faultEnd && random(3) === 0) await this._reopen()
    }
    await this._endFault()
    if (this._isOpen) await this._end()
  }

  async _open () {
    const { fsync } = this._options
    this._hasFailed = false
    this._isOpen = true
    this._tell({ what: 'opening' })
    const log = this._log = this._createLog()
    try {
      await log.ready()
      if (log.recovery?.damage?.length > 0) throw new Error(`damage is seen: ${JSON.stringify(log.recovery)}`)
      const found = await this._readAll()
      this._tell({ what: 'opened', found, ...await this._describe() })
      this._known = found.map(([seq, id]) => ({ id, seq }))
    } catch (err) {
      this._tell({ what: 'refused', code: err.code, message: err.stack, isExpected: this._mayFail })
      this._isOpen = false
      await log.close().catch(() => {})
      return
    }
    log.durable((seq) => this._tell({ what: 'durable', seq }))
    if (fsync === 'always') log.since((seq) => this._tell({ what: 'durable', seq }))
  }

  /** @returns {Promise<Array<[seq: number, id: number, size: number]>>} */
  async _readAll () {
    const found = []
    await this._log.scan({}, ({ buffer, count, seqs, starts, ends }) => {
      for (let index = 0; index < count; index++) {
        const bytes = buffer.subarray(starts[index], ends[index])
        const [id, size] = this._identify(bytes)
        const isOurs = size >= 0 && this._createRecord(id, size).equals(bytes)
        found.push([seqs[index], isOurs ? id : -1, bytes.length])
      }
    })
    return found
  }

  _beginFault () {
    this._mayFail = true
    this._tell({ what: 'fault' })
    fs.writeFileSync(this._options.control, /** @type {string} */ (this._options.fault))
  }

  async _endFault () {
    if (!fs.existsSync(this._options.control)) return
    if (this._random(2) === 0) await this._sync()
    fs.rmSync(this._options.control)
    if (this._random(2) === 0) await this._sync()
  }

  async _step () {
    await pickWeighted(this._random, this._steps()).call(this)
  }

  /**
   * @param {string} what
   * @param {object} details
   * @param {() => Promise<any>} ask
   * @param {(answer: any) => void} [onAnswer]
   */
  async _ask (what, details, ask, onAnswer = () => {}) {
    const request = this._requestCount++
    this._tell({ what, request, ...details })
    const answered = ask().then((answer) => {
      this._tell({ what: 'answer', request, seq: typeof answer === 'number' ? answer : null })
      onAnswer(answer)
    }, (err) => {
      const isHarmless = this._isHarmless(what, err.code)
      if (!isHarmless) this._hasFailed = true
      this._tell({ what: 'failure', request, code: err.code, message: err.stack, isExpected: this._mayFail || isHarmless })
    })
    this._pending.add(answered)
    answered.then(() => this._pending.delete(answered))
    if (this._random(100) < this._patience) await answered
  }

  async _append () {
    const random = this._random
    const count = random(3) === 0 ? 1 + random(8) : 1
    const records = Array.from({ length: count }, () => {
      return [this._nextId++, STAMP_SIZE + random(pickWeighted(random, SIZES))]
    })
    const values = records.map(([id, size]) => this._createRecord(id, size))
    await this._ask('append', { records }, () => this._log.append(count === 1 ? values[0] : values), (seq) => {
      this._known.push({ id: records[count - 1][0], seq })
    })
  }

  async _del () {
    const count = Math.min(this._known.length, 1 + this._random(this._random(3) === 0 ? 12 : 2))
    if (count === 0) return
    const taken = Array.from({ length: count }, () => this._known.splice(this._random(this._known.length), 1)[0])
    const seqs = taken.map(({ seq }) => seq)
    await this._ask('del', { ids: taken.map(({ id }) => id) }, () => this._log.del(count === 1 ? seqs[0] : seqs))
  }

  async _sync () {
    await this._ask('sync', {}, () => this._log.sync())
  }

  /** Another file of the same file system is synced, and with it the journal of them all. */
  async _syncNeighbour () {
    await this._outside(() => {
      const fd = fs.openSync(path.join(path.dirname(this._options.file), 'neighbour'), 'a')
      fs.writeSync(fd, 'x')
      fs.fsyncSync(fd)
      fs.closeSync(fd)
    })
  }

  /** The kernel writes back what is dirty, as it does after a while. */
  async _writeBack () {
    const how = this._random(2) === 0 ? '-f' : '-d'
    await this._outside(() => execFileSync('sync', [how, this._options.file], { stdio: 'ignore' }))
  }

  /** @param {() => void} act */
  async _outside (act) {
    try {
      act()
    } catch (err) {
      if (!this._mayFail) throw err
    }
  }

  async _pause () {
    await new Promise((resolve) => setTimeout(resolve, this._random(this._random(6) === 0 ? 1200 : 40)))
  }

  async _reopen () {
    await this._close()
    await this._open()
  }

  async _close () {
    const { _patience: patience } = this
    this._patience = 100
    await this._ask('close', { isPoisoned: this._hasFailed }, () => this._log.close())
    this._patience = patience
    await Promise.all(this._pending)
  }

  async _end () {
    const { ending } = this._options
    if (ending === 'close') await this._close()
    if (ending === 'exit' || ending === 'kill') {
      for (let turn = this._random(20); turn > 0; turn--) await new Promise(setImmediate)
      if (ending === 'exit') process.exit()
      process.kill(process.pid, 'SIGKILL')
    }
    // With nothing more to do the process ends by itself.
    clearTimeout(watchdog)
  }

  /** @param {object} event */
  _tell (event) {
    const line = Buffer.from(`${JSON.stringify({ ...event, at: now() })}\n`)
    for (let done = 0; done < line.length;) {
      try {
        done += fs.writeSync(PIPE_FD, line, done)
      } catch (err) {
        if (err.code !== 'EAGAIN') throw err
      }
    }
  }
}

/** @type {NodeJS.Timeout} */
let watchdog

/** @param {new (options: SessionOptions) => Session} Kind  runs it as the arguments of this process say */
function runSession (Kind) {
  watchdog = setTimeout(() => {
    console.error('a session does not end')
    process.exit(7)
  }, LIFE_MS_MAX)
  new Kind(JSON.parse(process.argv[2])).run().then(() => clearTimeout(watchdog), (err) => {
    fs.writeSync(2, `${err.stack}\n`)
    process.exit(8)
  })
}

exports.CACHE_SIZE = CACHE_SIZE
exports.Session = Session
exports.createRecord = createRecord
exports.runSession = runSession
