'use strict'
// What a log must hold after its writer was killed: what was appended, acknowledged and deleted, record by record.

const { KINDS, parseMessages } = require('./kill-messages')
const { Violation } = require('./violation')

/**
 * @typedef {object} Entry  a record that was found in the log
 * @property {number} number  of its commit
 * @property {number} index  in its commit
 * @property {number} seq
 * @property {boolean} isPromised  acknowledged, or seen by a check
 */

class Model {
  /** @param {(number: number) => import('./kill-records').Commit} commitAt */
  constructor (commitAt) {
    this._commitAt = commitAt
    /** @type {Entry[]} the records there were at the last check, in order */
    this._entries = []
    /** The number of the first commit that no check has seen. */
    this.nextCommit = 0
    /** @type {Map<number, number>} commits acknowledged since then, with their last seqs */
    this._acknowledged = new Map()
    /** @type {Map<number, boolean>} deletes since the last check that wrote: seqs, whether acknowledged */
    this._deletes = new Map()
    /** @type {{ number: number, records: Buffer[] }} */
    this._cached = { number: -1, records: [] }
  }

  /**
   * Notes what one process said before it died.
   * @param {Buffer} bytes
   * @returns {{ appended: number, deleted: number }}  how much it acknowledged
   */
  take (bytes) {
    /** @type {Map<number, number[]>} */
    const asked = new Map()
    const counts = { appended: 0, deleted: 0 }
    for (const { kind, index, seq } of parseMessages(bytes)) {
      if (kind === KINDS.APPENDED) {
        this._acknowledged.set(index, seq)
        counts.appended++
      } else if (kind === KINDS.DELETING) {
        asked.set(index, [...asked.get(index) ?? [], seq])
        if (!this._deletes.has(seq)) this._deletes.set(seq, false)
      } else if (kind === KINDS.DELETED) {
        for (const seq of asked.get(index) ?? []) this._deletes.set(seq, true)
        counts.deleted += asked.get(index)?.length ?? 0
      }
    }
    return counts
  }

  /**
   * @param {(limit: number) => number} random
   * @param {number} count
   * @returns {number[]}  seqs of records that are there and may be deleted
   */
  pickSeqs (random, count) {
    const picked = new Set()
    if (this._entries.length === 0) return []
    for (let i = 0; i < count; i++) picked.add(this._entries[random(this._entries.length)].seq)
    return [...picked]
  }

  /**
   * Compares the log with what it must be, and takes what it is as the truth from here on.
   * @param {any} log
   * @param {boolean} isFinal  whether a delete that was not acknowledged is now done or never will be: not when the log
   *   is only being read, before its recovery
   * @throws {Violation}
   */
  async check (log, isFinal) {
    const items = new Items(log.stream())
    await items.advance()
    const entries = []
    for (const entry of this._entries) {
      if (await this._checkRecord(items, entry, this._recordOf(entry))) entries.push(entry)
    }
    await this._checkNewCommits(items, entries)
    await this._checkDeleted(log)
    checkObservables(log, entries.at(-1)?.seq ?? -1)
    this._entries = entries
    this._acknowledged.clear()
    if (isFinal) this._deletes.clear()
  }

  /**
   * @param {Items} items
   * @param {Entry[]} entries  gets the records of the commits that no check has seen before
   */
  async _checkNewCommits (items, entries) {
    const lastAcknowledged = Math.max(-1, ...this._acknowledged.keys())
    for (let number = this.nextCommit; ; number++) {
      if (items.isAtEnd && number > lastAcknowledged) {
        this.nextCommit = number
        return
      }
      const { records } = this._commitAt(number)
      for (let index = 0; index < records.length; index++) {
        const isAcknowledged = this._acknowledged.has(number)
        const isLast = index === records.length - 1
        // Of a commit the seq of the last record is known, if it was acknowledged.
        const seq = isAcknowledged && isLast ? this._acknowledged.get(number) : undefined
        const entry = { number, index, seq: seq ?? items.seq, isPromised: isAcknowledged }
        if (items.isAtEnd && number > lastAcknowledged) {
          throw new Violation('half a commit', `${name(entry)} is missing, those before it are there`)
        }
        if (await this._checkRecord(items, entry, records[index])) entries.push({ ...entry, isPromised: true })
      }
    }
  }

  /**
   * @param {Items} items  at the record after the one before this one
   * @param {Entry} entry
   * @param {Buffer} expected
   * @returns {Promise<boolean>}  whether it is there; else it was deleted
   */
  async _checkRecord (items, entry, expected) {
    const isDeleted = this._deletes.get(entry.seq)
    const isHere = !items.isAtEnd && items.seq === entry.seq
    if (isDeleted === true && isHere) throw new Violation('promised lost', `${name(entry)} was deleted, and is there`)
    if (isDeleted !== undefined && !isHere) return false
    if (items.isAtEnd) throw new Violation('promised lost', `${name(entry)} is missing: the log ends before it`)
    if (!isHere) {
      throw new Violation('promised lost', `${name(entry)} is missing: the record found instead has seq ${items.seq} and ` +
        `${describe(items.value)}`)
    }
    if (!expected.equals(items.value)) {
      // What no check has seen and nobody was promised could only be there as it was appended.
      const kind = entry.isPromised ? 'wrong answer' : 'never appended'
      throw new Violation(kind, `${name(entry)} should be ${describe(expected)}, found ${describe(items.value)}`)
    }
    await items.advance()
    return true
  }

  /** @param {any} log */
  async _checkDeleted (log) {
    for (const [seq, isAcknowledged] of this._deletes) {
      if (!isAcknowledged) continue
      const code = await log.get(seq).then(() => 'no error', (/** @type {any} */ err) => err.code)
      if (code === 'flumelog:deleted') continue
      throw new Violation('promised lost', `seq ${seq} was deleted, but get gives ${code}`)
    }
  }

  /** @param {Entry} entry */
  _recordOf ({ number, index }) {
    // Records are asked for in order: a batch is made once.
    if (this._cached.number !== number) this._cached = { number, records: this._commitAt(number).records }
    return this._cached.records[index]
  }
}

/** The records of a log, one by one. */
class Items {
  /** @param {AsyncIterable<{ seq: number, value: Buffer }>} stream */
  constructor (stream) {
    this._iterator = stream[Symbol.asyncIterator]()
    this._item = null
  }

  get isAtEnd () {
    return this._item === null
  }

  /** @returns {number}  -1 at the end */
  get seq () {
    return this._item?.seq ?? -1
  }

  /** @returns {Buffer}  not at the end */
  get value () {
    return /** @type {any} */ (this._item).value
  }

  async advance () {
    const { done, value } = await this._iterator.next()
    if (!done && this._item && value.seq <= this._item.seq) {
      throw new Violation('wrong answer', `seq ${value.seq} follows seq ${this._item.seq}`)
    }
    this._item = done ? null : value
  }
}

/**
 * @param {any} log
 * @param {number} last  seq of its last record
 */
function checkObservables ({ since, durable }, last) {
  if (since.value !== last) throw new Violation('wrong answer', `since is ${since.value}, the last record is at ${last}`)
  if (!(durable.value <= last)) throw new Violation('wrong answer', `durable is ${durable.value}, since is ${last}`)
}

/** @param {Entry} entry */
function name ({ number, index, seq }) {
  return `record ${index} of commit ${number}${seq < 0 ? '' : ` at seq ${seq}`}`
}

/** @param {Buffer} record */
function describe (record) {
  return `${record.length} bytes beginning with ${record.toString('hex', 0, 12)}`
}

exports.Model = Model
