'use strict'
// Does to a log what a run says, and to a plain array what that should come to; they must never differ.

const { SimulatedDisk, collect, createRandom } = require('@millrace/testkit')
const { OffsetLog } = require('../..')
const { findLosses } = require('../../../framing/test/checked-oracle')
const { isLost, randomOptions, select } = require('../stream-oracle')

const FILE = '/folder/log'
const PLACES = 1000

/**
 * @typedef {object} Entry  a record
 * @property {number} seq
 * @property {Buffer} value
 * @property {boolean} isDeleted
 * @property {boolean} isErased  on stable storage
 * @property {number} commit  which append it came with
 */

class ModelRun {
  /** @param {{ framing: string, fsync: string, commands: object[] }} run */
  constructor ({ framing, fsync, commands }) {
    this._framing = framing
    this._fsync = fsync
    this._commands = commands
    this._disk = new SimulatedDisk({ defer: setImmediate })
    /** @type {Entry[]} */
    this._entries = []
    this._commitCount = 0
    /** How many commits the power cannot take. */
    this._safeCount = 0
    this._valueCount = 0
    /** Every seq that was ever given to a record. */
    this._given = new Set()
  }

  async run () {
    await this._open()
    for (const command of this._commands) {
      await this[`_${command.do}`](command)
      this._checkEnds()
    }
    await this._compare({})
    for (const entry of this._entries) await this._compareOne(entry)
    await this._log.close()
  }

  async _open () {
    this._log = OffsetLog(FILE, {
      framing: this._framing, fsync: this._fsync, storage: this._disk.storage, cache: 64 * 1024
    })
    await this._log.ready()
    const { damage = [] } = this._log.recovery ?? {}
    if (damage.length > 0) throw new Error(`damage: ${JSON.stringify(damage)}`)
  }

  /** @param {{ sizes: number[] }} command */
  async _append ({ sizes }) {
    const before = this._log.since.value
    const values = sizes.map((size) => this._createValue(size))
    const isAll = this._commitCount % 2 === 0
    const given = await this._log.append(values.length === 1 ? values[0] : values, { seqs: isAll })
    const seq = isAll ? given[given.length - 1] ?? before : given
    if (values.length === 0) {
      if (seq !== before) throw new Error(`nothing was appended, at ${seq}`)
      return
    }
    const seqs = await collect(this._log.stream({ gt: this._end(), values: false }))
    if (seqs.length !== values.length || seqs[seqs.length - 1] !== seq) throw new Error(`appended ${seqs}, said ${seq}`)
    if (isAll && String(given) !== String(seqs)) throw new Error(`appended ${seqs}, said ${given}`)
    if (this._framing === 'checked') this._give(seqs)
    const commit = this._commitCount++
    values.forEach((value, i) => {
      this._entries.push({ seq: seqs[i], value, isDeleted: false, isErased: false, commit })
    })
    if (this._fsync === 'always') this._safeCount = this._commitCount
  }

  /** @param {number[]} seqs  of new records */
  _give (seqs) {
    for (const seq of seqs) {
      if (this._given.has(seq)) throw new Error(`${seq} was given to a record before, which is lost`)
      this._given.add(seq)
    }
  }

  /** @param {number} size */
  _createValue (size) {
    const value = Buffer.alloc(size, this._valueCount++)
    // The offset framings have none that are empty or all zeros.
    if (this._framing === 'checked') return value
    return value.length === 0 ? Buffer.from([1]) : value.fill(1, 0, 1)
  }

  /** @param {{ places: number[] }} command */
  async _del ({ places }) {
    const entries = places.map((place) => this._entryAt(place)).filter((entry) => entry !== undefined)
    if (entries.length === 0) return
    await this._log.del(entries.map(({ seq }) => seq))
    for (const entry of entries) {
      entry.isDeleted = true
      entry.isErased ||= this._fsync === 'always'
    }
    // A deletion that is journaled has synced what it deletes.
    if (this._framing === 'checked') {
      this._safeCount = Math.max(this._safeCount, ...entries.map(({ commit }) => commit + 1))
    }
  }

  async _sync () {
    await this._log.sync()
    this._allIsSafe()
  }

  async _compact () {
    if (this._framing !== 'checked') return
    await this._log.compact()
    this._allIsSafe()
  }

  async _reopen () {
    await this._log.close()
    this._allIsSafe()
    await this._open()
  }

  /** The process is gone; what it had asked for is done. */
  async _kill () {
    this._disk = this._disk.clone()
    await this._open()
  }

  /** @param {{ seed: number }} command */
  async _cut ({ seed }) {
    const random = createRandom(seed)
    // The offset framings cannot tell what of an unsynced write is missing.
    if (this._framing !== 'checked') await this._sync()
    this._disk = this._disk.crash((count) => random(count))
    await this._open()
    await this._takeOver()
    this._allIsSafe()
  }

  /** What the crash has left must be a prefix, with all in it that was promised; then it is what there is. */
  async _takeOver () {
    const left = await this._readAll({})
    const found = new Map(left.map(({ seq, value }) => [seq, value]))
    const isThere = (entry) => found.get(entry.seq)?.equals(entry.value) === true
    const last = this._entries.findLastIndex(isThere)
    const kept = this._entries.filter((entry, i) => {
      const isBefore = i <= last || entry.commit < this._safeCount
      if (isThere(entry)) {
        if (entry.isErased) throw new Error(`${entry.seq} was deleted for good, and is back`)
        entry.isDeleted = false
      } else if (isBefore && !entry.isDeleted) {
        throw new Error(`${entry.seq} is lost: ${entry.commit} of ${this._safeCount}, ${last}`)
      }
      found.delete(entry.seq)
      return isBefore
    })
    if (found.size > 0) throw new Error(`${[...found.keys()]} were never appended`)
    const { commit } = kept[kept.length - 1] ?? { commit: -1 }
    const isWhole = kept.length === this._entries.length || this._entries[kept.length].commit !== commit
    // Behind the last one that is left there may have been deleted ones of its batch.
    const rest = this._entries.slice(kept.length).filter((entry) => entry.commit === commit)
    if (!isWhole && this._log.supports.atomicBatch && rest.some(({ isDeleted }) => !isDeleted)) {
      throw new Error(`half of commit ${commit}`)
    }
    this._entries = kept
  }

  /** @param {{ place: number }} command */
  async _get ({ place }) {
    const entry = this._entryAt(place)
    if (entry) await this._compareOne(entry)
  }

  /** @param {Entry} entry */
  async _compareOne ({ seq, value, isDeleted }) {
    const found = await this._log.get(seq).catch((err) => err.code)
    if (isDeleted ? found !== 'flumelog:deleted' : !value.equals(found)) throw new Error(`get(${seq}): ${found}`)
  }

  /** @param {{ seed: number }} command */
  async _stream ({ seed }) {
    if (this._entries.length === 0) return
    await this._compare(randomOptions(createRandom(seed), this._entries))
    await this._compare({ ...randomOptions(createRandom(seed + 1), this._entries), reverse: true })
  }

  /** @param {object} options */
  async _compare (options) {
    const expected = select(this._entries, options)
    const losses = this._framing === 'checked' ? findLosses(this._disk.read(FILE)) : []
    const found = await this._readAll(options).catch((err) => {
      if (err.code !== 'ERR_LOG_SEQ_LOST') throw err
      return null
    })
    if (isLost(losses, options) !== (found === null)) throw new Error(`${JSON.stringify(options)}, losses: ${JSON.stringify(losses)}`)
    if (found === null) return
    const isSame = found.length === expected.length && found.every((item, i) => isSameItem(item, expected[i]))
    if (!isSame) throw new Error(`${JSON.stringify(options)}: ${describe(found)}, not ${describe(expected)}`)
  }

  /** @param {object} options */
  async _readAll (options) {
    return collect(this._log.stream(options))
  }

  /** `since` is the last record, or the last that is left since the log was opened; nothing durable is above it. */
  _checkEnds () {
    const { since, durable } = this._log
    if (durable.value > since.value) throw new Error(`durable is ${durable.value}, since ${since.value}`)
    if (since.value > this._end()) throw new Error(`since is ${since.value}, the last record ${this._end()}`)
  }

  _allIsSafe () {
    this._safeCount = this._commitCount
    for (const entry of this._entries) entry.isErased ||= entry.isDeleted
  }

  _end () {
    return this._entries[this._entries.length - 1]?.seq ?? -1
  }

  /** @param {number} place */
  _entryAt (place) {
    return this._entries[Math.floor(place * this._entries.length / PLACES)]
  }
}

/**
 * @param {any} a
 * @param {any} b
 */
function isSameItem (a, b) {
  if (Buffer.isBuffer(a)) return a.equals(b)
  return typeof a === 'number' ? a === b : a.seq === b.seq && a.value.equals(b.value)
}

/** @param {any[]} items */
function describe (items) {
  const seqs = items.map((item) => Buffer.isBuffer(item) ? `${item.length} bytes` : item.seq ?? item)
  return `${items.length} items: ${seqs.slice(0, 10).join(', ')}`
}

exports.ModelRun = ModelRun
