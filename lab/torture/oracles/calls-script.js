'use strict'
// A script that does everything once that a log can do, and writes down in a ledger what was promised, whatever fails.

const { SimulatedDisk } = require('@millrace/testkit')
const { Ledger, RecordEntry } = require('../ledger')
const { readLog } = require('../read-log')
const { Violation } = require('../violation')

const FILE = '/folder/log'
const SALT = 4711
// Of a record: one that fits into a page, and one that goes on in the next.
const SMALL = 300
const LARGE = 20_000
// Before it there are no records.
const HEAD_SIZE = 32 * 1024

/**
 * @typedef {import('../framings').Framing} Framing
 * @typedef {object} Start  what the script finds
 * @property {string} name
 * @property {SimulatedDisk} disk
 * @property {Array<{ id: number, size: number, seq: number, status: 'there' | 'either' }>} records  promised, the last
 *   one perhaps deleted
 * @property {boolean} isSlow  reads seem slow, so the log reads asynchronously
 * @property {{ offset: number, bytes: Buffer } | null} torn  what recovery must keep
 */

class Script {
  /**
   * @param {object} options
   * @param {any} options.OffsetLog
   * @param {import('../environment').Environment} options.environment
   * @param {SimulatedDisk} options.disk
   * @param {Framing} options.framing
   * @param {Start} options.start
   * @param {string} options.fsync
   * @param {number} [options.endsAfter]  the process ends after so many steps after the one that failed
   */
  constructor ({ OffsetLog, environment, disk, framing, start, fsync, endsAfter = Infinity }) {
    this.disk = disk
    this.ledger = new Ledger()
    /** How many answers there were. */
    this.at = 0
    /** Whether the log was closed, and said that all went well. */
    this.isClosed = false
    /** Whether the cache may show what the disk does not have. */
    this.hasLostPages = false
    this._OffsetLog = OffsetLog
    this._framing = framing
    this._environment = environment
    this._isAlways = fsync === 'always'
    this._fsync = fsync
    this._endsAfter = endsAfter
    this._hasFault = false
    this._nextId = 100
    /** @type {any} */
    this._log = null
    this._hasOpened = false
    this._hasSyncFailed = false
    for (const record of start.records) this._begin(record)
  }

  async run () {
    this._watchSyncs()
    const options = { ...this._framing.options, storage: this.disk.storage, fsync: this._fsync, cache: 64 * 1024 }
    const log = this._log = this._OffsetLog(FILE, options)
    this._hasOpened = await succeeds(log.ready())
    for (const step of this._framing.canDelete ? this._steps() : this._linesSteps()) {
      await step()
      if (this._hasFault && this._endsAfter-- === 0) break
    }
    this._environment.forgetTimers()
    this.ledger.settle()
  }

  /** @returns {Array<() => unknown>} */
  _steps () {
    /** @type {RecordEntry | null} */
    let large
    /** @type {RecordEntry | null} */
    let small
    return [
      () => this._append(SMALL, SMALL),
      async () => { large = await this._append(LARGE) },
      () => Promise.all([this._append(SMALL), this._append(LARGE), this._sync(), this._append(SMALL)]),
      () => this._checkPoison(),
      () => this._del(large),
      async () => { small = await this._append(SMALL) },
      () => this._read(),
      () => this._sync(),
      () => Promise.all([this._del(small), this._append(SMALL)]),
      () => this._environment.fireTimers(),
      () => this._append(LARGE, SMALL),
      () => this._checkPoison(),
      () => this._close()
    ]
  }

  /** @returns {Array<() => unknown>} */
  _linesSteps () {
    return [
      () => this._append(SMALL),
      () => this._append(SMALL, SMALL),
      () => this._append(SMALL),
      () => this._append(LARGE),
      () => Promise.all([this._append(SMALL), this._append(LARGE), this._sync(), this._append(SMALL)]),
      () => this._checkPoison(),
      () => this._read(),
      () => this._appendNow([SMALL], true),
      () => this._appendNow([SMALL, SMALL], false),
      () => this._appendNow([SMALL], false),
      () => this._flushNow(),
      () => this._append(SMALL),
      () => this._sync(),
      () => this._environment.fireTimers(),
      () => this._append(LARGE, SMALL),
      () => this._append(SMALL),
      () => this._checkPoison(),
      () => this._close()
    ]
  }

  /** @param {Start['records'][number]} record */
  _begin ({ id, size, seq, status }) {
    const entry = this._createEntry(id, size)
    entry.seq = seq
    this.ledger.append([entry], 0).known.note(0)
    this.ledger.promise({ count: this.ledger.commits.length, deletions: [] }, 0)
    if (status === 'either') this.ledger.remove([entry], 0)
  }

  /** @type {(id: number, size: number) => RecordEntry} */
  _createEntry (id, size) {
    return createEntry(this._framing, id, size)
  }

  /** Notes a sync of the open log that fails: nothing may be taken after it. */
  _watchSyncs () {
    const { decide } = this.disk
    this.disk.decide = (call) => {
      const fault = decide(call)
      if (fault) this._hasFault = true
      if (fault?.losesPages) this.hasLostPages = true
      const isSync = call.name === 'sync' && call.path === FILE
      if (this._hasOpened && isSync && (fault?.code || fault?.losesPages)) this._hasSyncFailed = true
      return fault
    }
  }

  /**
   * @param {...number} sizes  of the records of one batch
   * @returns {Promise<RecordEntry | null>}  the last of them, when they were appended
   */
  async _append (...sizes) {
    const entries = sizes.map((size) => this._createEntry(this._nextId++, size))
    const commit = this.ledger.append(entries, this.at)
    const seq = await this._answer(this._log.append(entries.map(({ bytes }) => bytes)))
    if (seq === null) {
      commit.failedAt = this.at
      return null
    }
    const last = entries[entries.length - 1]
    last.seq = seq
    commit.known.note(this.at)
    if (this._isAlways) this.ledger.promise({ count: commit.index + 1, deletions: [] }, this.at)
    return last
  }

  /** What waits is written without waiting. */
  async _flushNow () {
    const waiting = [this._append(SMALL), this._append(SMALL, SMALL)]
    const mark = this.ledger.mark()
    if (this._callNow(() => this._log.flushSync()) !== null) this.ledger.promise(mark, this.at)
    await Promise.all(waiting)
  }

  /** @type {(sizes: number[], hasSync: boolean) => void} */
  _appendNow (sizes, hasSync) {
    const entries = sizes.map((size) => this._createEntry(this._nextId++, size))
    const commit = this.ledger.append(entries, this.at)
    const seq = this._callNow(() => this._log.appendSync(entries.map(({ bytes }) => bytes), { sync: hasSync }))
    if (seq === null) {
      commit.failedAt = this.at
      return
    }
    entries[entries.length - 1].seq = seq
    commit.known.note(this.at)
    if (hasSync) this.ledger.promise({ count: commit.index + 1, deletions: [] }, this.at)
  }

  /** @type {(call: () => any) => any} null when it failed */
  _callNow (call) {
    try {
      return call() ?? 0
    } catch (err) {
      if (typeof /** @type {any} */ (err).code === 'string') return null
      throw new Violation('wrong answer', `an error without a code: ${/** @type {Error} */ (err).stack}`)
    } finally {
      this.at++
    }
  }

  /** @param {RecordEntry | null} entry */
  async _del (entry) {
    if (entry === null || !this._framing.canDelete) return
    const [deletion] = this.ledger.remove([entry], this.at)
    if (await this._answer(this._log.del(entry.seq)) === null) return
    deletion.known.note(this.at)
    if (this._isAlways) deletion.promisedAt = this.at
  }

  async _sync () {
    const mark = this.ledger.mark()
    if (await this._answer(this._log.sync()) !== null) this.ledger.promise(mark, this.at)
  }

  async _close () {
    const mark = this.ledger.mark()
    this.isClosed = await this._answer(this._log.close()) !== null && this._hasOpened
    // Closing a log that could not be opened, or is poisoned, says nothing about what was asked of it.
    if (this.isClosed && !this._hasSyncFailed) this.ledger.promise(mark, this.at)
  }

  async _read () {
    await succeeds(readLog(this._log))
    await succeeds(readLog(this._log, { reverse: true }))
    if (this._hasOpened) await succeeds(this._log.get(this._log.since.value))
  }

  async _checkPoison () {
    if (!this._hasSyncFailed) return
    const { bytes } = this._createEntry(1, SMALL)
    const err = await this._log.append(bytes).then(() => null, (/** @type {any} */ err) => err)
    if (err?.code === 'ERR_LOG_POISONED') return
    throw new Violation('not poisoned', `an append after a failed sync ${err ? `fails with ${err.stack}` : 'succeeds'}`)
  }

  /**
   * @param {Promise<any>} asked
   * @returns {Promise<any>}  the answer, or null when it failed
   */
  async _answer (asked) {
    try {
      const answer = await asked
      this.at++
      return answer ?? 0
    } catch (err) {
      this.at++
      if (typeof /** @type {any} */ (err).code === 'string') return null
      throw new Violation('wrong answer', `an error without a code: ${/** @type {Error} */ (err).stack}`)
    }
  }
}

/** @param {Promise<unknown>} asked */
function succeeds (asked) {
  return asked.then(() => true, () => false)
}

/** @type {(framing: Framing, id: number, size: number) => RecordEntry} */
function createEntry (framing, id, size) {
  return new RecordEntry(id, framing.makeRecord(SALT, [id, size, 'random'], () => Buffer.alloc(0)), 'random')
}

/**
 * @param {any} OffsetLog
 * @param {Framing} framing
 * @returns {Promise<Start[]>}  nothing; a log whose last write was cut off; one whose last deletion was
 */
async function makeStarts (OffsetLog, framing) {
  const disk = new SimulatedDisk()
  const log = OffsetLog(FILE, { ...framing.options, storage: disk.storage, fsync: 'interval' })
  const records = []
  for (const [id, size] of [[0, SMALL], [1, LARGE]]) {
    records.push({ id, size, seq: await log.append(createEntry(framing, id, size).bytes), status: /** @type {const} */ ('there') })
  }
  await log.sync()
  const { size: offset } = await log.stats()
  if (!framing.canDelete) return makeLinesStarts(framing, { disk, log, records })
  await log.append(createEntry(framing, 2, SMALL).bytes)
  const cutOff = disk.clone()
  cutOff.put(FILE, cutOff.read(FILE).subarray(0, -20))
  const torn = { offset, bytes: cutOff.read(FILE).subarray(offset) }
  // All that is synced when the first chunk is about to be erased.
  let deleting = disk
  disk.onChange = ({ name, position = 0 }) => {
    if (name === 'write' && position >= HEAD_SIZE && deleting === disk) deleting = disk.crash(() => 0)
  }
  await log.del(records[1].seq)
  disk.onChange = null
  await log.close()
  const erased = { ...records[1], status: /** @type {const} */ ('either') }
  const third = { id: 2, size: SMALL, seq: log.since.value, status: /** @type {const} */ ('there') }
  return [
    { name: 'a new log', disk: new SimulatedDisk(), records: [], isSlow: false, torn: null },
    { name: 'a torn end', disk: cutOff, records, isSlow: true, torn },
    { name: 'a deletion cut off', disk: deleting, records: [records[0], erased, third], isSlow: false, torn: null }
  ]
}

/**
 * @type {(framing: Framing, begun: { disk: SimulatedDisk, log: any, records: Start['records'] }) => Promise<Start[]>}
 *   nothing; a batch that was cut off; a file of another program, whose last line lacks its line break
 */
async function makeLinesStarts (framing, { disk, log, records }) {
  const { size: offset } = await log.stats()
  const [one, other] = [2, 3].map((id) => createEntry(framing, id, SMALL).bytes)
  await log.append([one, other])
  const cutOff = disk.clone()
  cutOff.put(FILE, cutOff.read(FILE).subarray(0, offset + one.length + 1 + 20))
  const torn = { offset, bytes: cutOff.read(FILE).subarray(offset) }
  await log.close()
  const foreign = new SimulatedDisk()
  foreign.put(FILE, cutOff.read(FILE).subarray(0, offset - 1))
  return [
    { name: 'a new log', disk: new SimulatedDisk(), records: [], isSlow: false, torn: null },
    { name: 'a torn batch', disk: cutOff, records, isSlow: true, torn },
    { name: 'a file of another program', disk: foreign, records, isSlow: false, torn: null }
  ]
}

exports.FILE = FILE
exports.Script = Script
exports.makeStarts = makeStarts
