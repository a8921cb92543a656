'use strict'
// What the sessions of one log have told, as a ledger: what was asked, answered and promised up to a moment.

const { compare } = require('../compare')
const { Ledger, RecordEntry } = require('../ledger')
const { Violation } = require('../violation')
const { createRecord } = require('./session')

/**
 * What a session tells, and what happens between sessions: `begin` says how the one before ended.
 * @typedef {object} StoryEvent
 * @property {'begin' | 'opening' | 'opened' | 'refused' | 'append' | 'del' | 'sync' | 'compact' | 'close' | 'answer' |
 *   'failure' | 'durable' | 'fault'} what
 * @property {number} at
 * @property {string} [fsync]
 * @property {boolean} [hasLostPower]  the session before ended with a power cut
 * @property {number} [request]
 * @property {number | null} [seq]
 * @property {Array<[number, number]>} [records]  numbers and sizes
 * @property {boolean} [isSynced]  of an append that did not wait: whether it was asked to sync
 * @property {number[]} [ids]
 * @property {Array<[seq: number, id: number, size: number]>} [found]
 * @property {boolean} [isPoisoned]
 * @property {boolean} [isExpected]  something was made to fail
 * @property {string} [code]
 * @property {string} [message]
 */

/** All that was told of one log, from its first session on. */
class Story {
  /** @param {number} salt  of its records */
  constructor (salt) {
    this._salt = salt
    /** @type {Map<number, Buffer>} */
    this._bytes = new Map()
    /** @type {StoryEvent[]} */
    this.events = []
    /** The number of the next record. One that a power cut took is never used again. */
    this.nextId = 0
  }

  /** @param {number} at  what came later has not happened: the power went */
  cutAt (at) {
    this.events = this.events.filter((event) => event.at <= at)
  }

  /** @param {StoryEvent[]} events  of a session, in order */
  add (events) {
    this.events.push(...events)
    for (const { records = [] } of events) for (const [id] of records) this.nextId = id + 1
  }

  /**
   * @param {number} at
   * @returns {Ledger}
   * @throws {Violation}
   */
  ledgerAt (at) {
    return this.tellingAt(at).ledger
  }

  /**
   * @param {number} at
   * @returns {Telling}
   * @throws {Violation}
   */
  tellingAt (at) {
    const telling = this._createTelling((id, size) => this._entry(id, size))
    for (const event of this.events) if (event.at <= at) telling.take(event)
    telling.settle()
    return telling
  }

  /** @param {(id: number, size: number) => RecordEntry} createEntry */
  _createTelling (createEntry) {
    return new Telling(createEntry)
  }

  /**
   * @param {number} id
   * @param {number} size
   * @returns {Buffer}
   */
  _createRecord (id, size) {
    return createRecord(this._salt, id, size)
  }

  /**
   * @param {number} id
   * @param {Buffer} bytes
   */
  _createEntry (id, bytes) {
    return new RecordEntry(id, bytes, 'random')
  }

  /**
   * @param {number} id
   * @param {number} size
   */
  _entry (id, size) {
    const bytes = this._bytes.get(id) ?? this._createRecord(id, size)
    this._bytes.set(id, bytes)
    return this._createEntry(id, bytes)
  }
}

/** Goes through the events once. */
class Telling {
  /**
   * @param {(id: number, size: number) => RecordEntry} createEntry
   * @param {boolean} [hasUniqueSeqs]
   */
  constructor (createEntry, hasUniqueSeqs = true) {
    this.ledger = new Ledger({ showsOldBytes: true })
    this._hasUniqueSeqs = hasUniqueSeqs
    this._createEntry = createEntry
    this._fsync = ''
    /** Whether the log was last left by a power cut, or with pages that may have been lost. */
    this._hasLostPower = true
    this._hasFault = false
    this._endedAt = 0
    /** @type {Map<number, (event: StoryEvent) => void>} */
    this._answers = new Map()
  }

  /** Works out what was promised by now. */
  settle () {
    this.ledger.settle()
  }

  /** @param {any} event  a StoryEvent */
  take (event) {
    const { what, at } = event
    switch (what) {
      case 'begin': return this._begin(event)
      case 'opening': return this._end(at)
      case 'opened': return this._opened(event)
      case 'fault': this._hasFault = true; return
      case 'durable': return this.ledger.cover(event.seq ?? -1, at)
      case 'append': return this._append(event)
      case 'del': return this._del(event)
      case 'sync': case 'close': return this._promise(event, this.ledger.mark())
      case 'compact': return this._promise(event, this.ledger.markAnswered())
      case 'answer': return this._answers.get(event.request ?? -1)?.(event)
      case 'failure': return this._fail(event)
      case 'refused': return this._refuse(event)
    }
  }

  /** @param {StoryEvent} event */
  _begin ({ at, fsync = '', hasLostPower = false }) {
    this._fsync = fsync
    if (!hasLostPower) return
    this._hasFault = false
    this._hasLostPower = true
    this._end(at)
  }

  /** @param {number} at */
  _end (at) {
    this.settle()
    this._answers.clear()
    this._endedAt = at
    // What the page cache shows after a failure may not be on the disk, and the log knows it.
    if (this._hasLostPower || this._hasFault) this.ledger.cutPower(at)
  }

  /** @param {StoryEvent} event */
  _opened ({ at, found = [] }) {
    const isKill = !this._hasLostPower && !this._hasFault
    const expectation = this.ledger.expect(this._endedAt, isKill)
    const matched = this._compare(expectation, found.map((item) => this._found(item)))
    for (const [record, seq] of matched) record.seq = seq
    this.ledger.reopened(expectation, new Set(matched.keys()), at)
    this._hasLostPower = false
  }

  /**
   * @param {import('../ledger').Expectation} expectation
   * @param {import('../compare').Found[]} found
   */
  _compare (expectation, found) {
    return compare(expectation, found)
  }

  /** @param {[seq: number, id: number, size: number]} item */
  _found ([seq, id, size]) {
    const bytes = this.ledger.records.get(id)?.bytes
    if (!bytes) throw new Violation('never appended', `a record of ${size} bytes at ${seq} was never appended`)
    return { seq, buffer: bytes, start: 0, end: bytes.length }
  }

  /** @param {StoryEvent} event */
  _append ({ request = 0, at, records = [], isSynced = this._fsync === 'always' }) {
    const entries = records.map(([id, size]) => this._createEntry(id, size))
    const commit = this.ledger.append(entries, at)
    const last = entries[entries.length - 1]
    this._answers.set(request, ({ what, at, seq }) => {
      if (what === 'failure') {
        commit.failedAt = at
        return
      }
      commit.known.note(at)
      last.seq = /** @type {number} */ (seq)
      const other = this.ledger.show(last, last.seq, at)
      if (other && this._hasUniqueSeqs) throw new Violation('seq given twice', `record ${last.id} is at ${seq}, as record ${other.id} was`)
      if (isSynced) this.ledger.promise({ count: commit.index + 1, deletions: [] }, at)
    })
  }

  /** @param {StoryEvent} event */
  _del ({ request = 0, at, ids = [] }) {
    const records = ids.map((id) => /** @type {RecordEntry} */ (this.ledger.records.get(id)))
    const deletions = this.ledger.remove(records, at)
    this._answers.set(request, ({ what, at }) => {
      if (what === 'failure') return
      for (const deletion of deletions) {
        deletion.known.note(at)
        if (this._fsync === 'always') deletion.promisedAt = at
      }
    })
  }

  /**
   * @param {StoryEvent} event
   * @param {ReturnType<Ledger['mark']>} mark
   */
  _promise ({ request = 0, isPoisoned = false }, mark) {
    this._answers.set(request, ({ what, at }) => {
      // Closing a poisoned log says nothing about what it could not write.
      if (what === 'answer' && !isPoisoned) this.ledger.promise(mark, at)
    })
  }

  /** @param {StoryEvent} event */
  _fail (event) {
    const { request = -1, isExpected, code, message } = event
    if (!isExpected) throw new Violation('wrong answer', `a call fails, though nothing was made to: ${message}`)
    if (code === undefined || code === 'ERR_LOG_CORRUPT') throw new Violation('wrong answer', `a call fails: ${message}`)
    this._answers.get(request)?.(event)
  }

  /** @param {StoryEvent} event */
  _refuse ({ isExpected, code = 'ERR', message }) {
    // While the disk fails opening may fail too, but it must not take that for damage.
    if (isExpected && !code.startsWith('ERR')) return
    throw new Violation('refused', `the log could not be opened: ${message}`)
  }
}

exports.Story = Story
exports.Telling = Telling
