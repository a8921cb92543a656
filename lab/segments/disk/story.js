// @ts-nocheck
'use strict'
// What the sessions of a log of segments have told: also of what may be dropped, what must be, and what is held.

const { compare } = require('../../torture/compare')
const { NEVER, RecordEntry } = require('../../torture/ledger')
const { Story, Telling } = require('../../torture/disk/story')
const { Violation } = require('../../torture/violation')
const { createText, isChosen } = require('./settings')

/** A record that may go with its segment. */
class SegmentRecord extends RecordEntry {
  /** `dropBefore` was asked to drop it. */
  isAskedToGo = false
  /** Limits may have dropped it. */
  isLimited = false
  /** The log has told that it is dropped. */
  isDropped = false

  get isDroppable () {
    return this.isAskedToGo || this.isLimited || this.isDropped
  }

  statusAt (at, isKill) {
    const status = super.statusAt(at, isKill)
    if (status === 'gone' || this.isDropped) return 'gone'
    return this.isDroppable ? 'either' : status
  }

  /** Apart from what may have been dropped. */
  ownStatusAt (at, isKill) {
    return super.statusAt(at, isKill)
  }
}

class SegmentsStory extends Story {
  /**
   * @param {number} salt
   * @param {import('./settings').Settings} settings
   */
  constructor (salt, settings) {
    super(salt)
    this._settings = settings
  }

  _createRecord (id, size) {
    return createText(this._salt, id, size)
  }

  _createEntry (id, bytes) {
    return new SegmentRecord(id, bytes, 'random')
  }

  _createTelling (createEntry) {
    return new SegmentsTelling(createEntry, this._settings)
  }
}

class SegmentsTelling extends Telling {
  /**
   * @param {any} createEntry
   * @param {import('./settings').Settings} settings
   */
  constructor (createEntry, settings) {
    super(createEntry)
    this._settings = settings
    /** Where the hold may be; null: there may be none. @type {Set<number | null>} */
    this.possibleHolds = new Set([null])
    /** From this seq on, a hold surely keeps the records. */
    this.protectedFrom = Infinity
    /**
     * The last record that each follower has read.
     * @type {Map<number, { seq: number, commit: number, place: number }>}
     */
    this._readers = new Map()
    /** What there was when the log was opened. @type {Map<any, number>} */
    this._matched = new Map()
    /** What is asked: the call and its event. @type {Map<number, any>} */
    this._asked = new Map()
  }

  settle () {
    super.settle()
    const { maxCount, keeps } = this._settings
    if (maxCount === null) return
    const isProtected = this._protection()
    for (const commit of this.ledger.commits) {
      for (const record of commit.records) record.isLimited = !isProtected(commit) && !(keeps && isChosen(record.id))
    }
  }

  take (event) {
    const { what, request } = event
    if (request !== undefined && what !== 'answer' && what !== 'failure') this._asked.set(request, event)
    switch (what) {
      case 'drop': return this._drop(event)
      case 'dropped': return this._dropped(event)
      case 'hold': return this._hold(event)
      case 'held': this.protectedFrom = event.seq; return
      case 'release': return this._release(event)
      case 'follow': this._readers.set(event.follower, { seq: -1, commit: 0, place: -1 }); return
      case 'read': return this._read(event)
    }
    super.take(event)
  }

  _begin (event) {
    this._asked.clear()
    this._readers.clear()
    super._begin(event)
  }

  _opened (event) {
    const { holds } = event
    this.checkHolds(holds)
    // What was not answered before a kill may not be on the disk yet.
    if (this._hasLostPower) this.possibleHolds = new Set([holds[0] ?? null])
    super._opened(event)
    this._noteLost(event.at)
  }

  /** Limits drop from the front, so what is missing at the end was lost. @param {number} at */
  _noteLost (at) {
    const { commits } = this.ledger
    const last = commits.findLastIndex(({ records }) => records.some((record) => this._matched.has(record)))
    for (const commit of commits.slice(last + 1)) {
      if (!commit.records.some((record) => record.ownStatusAt(at, false) === 'there')) continue
      commit.droppedAt = Math.min(commit.droppedAt, at)
      commit.isUncertain = false
    }
  }

  /** @param {number[]} seqs  of the holds that there are */
  checkHolds (seqs) {
    const [seq = null] = seqs
    if (seqs.length <= 1 && this.possibleHolds.has(seq)) return
    throw new Violation('promised lost', `the holds are at [${seqs}], and may be at ${[...this.possibleHolds].join(' or ')}`)
  }

  _compare (expectation, found) {
    this._matched = compare(expectation, found)
    checkWhole(expectation, this._matched, this._settings.keeps, this._endedAt, !this._hasLostPower && !this._hasFault)
    return this._matched
  }

  /** @returns {(commit: any) => boolean}  whether a hold keeps its records */
  _protection () {
    const from = this.protectedFrom
    const isFrom = ({ records }) => (lastSeq(records) ?? -1) >= from
    const first = from === Infinity ? Infinity : this.ledger.commits.findIndex(isFrom)
    return ({ index }) => first !== -1 && index >= first
  }

  _drop ({ ids: [id] }) {
    const { index: end } = this.ledger.records.get(id).commit
    const isProtected = this._protection()
    for (const commit of this.ledger.commits.slice(0, end)) {
      if (!isProtected(commit)) for (const record of commit.records) record.isAskedToGo = true
    }
  }

  /** Nothing of it may come back. */
  _dropped ({ first }) {
    this.settle()
    for (const commit of this.ledger.commits) {
      const seq = lastSeq(commit.records)
      if (seq === null || seq >= first) continue
      for (const record of commit.records) {
        const mayStay = this._settings.keeps && isChosen(record.id)
        if (!mayStay && !record.isDroppable) {
          throw new Violation('promised lost', `record ${record.id} at ${record.seq} was dropped, and must stay`)
        }
        record.isDropped ||= !mayStay
      }
    }
  }

  _hold ({ request, seq }) {
    // From the old one or from the new one on.
    if (this.protectedFrom < Infinity) this.protectedFrom = Math.max(this.protectedFrom, seq)
    this._holdAt(request, seq)
  }

  _release ({ request }) {
    this.protectedFrom = Infinity
    this._holdAt(request, null)
  }

  /** When a call is answered, what was asked before it is over. What was asked after it may be done already. */
  _holdAt (request, seq) {
    // Last, also if it was possible before.
    this.possibleHolds.delete(seq)
    this.possibleHolds.add(seq)
    this._answers.set(request, ({ what }) => {
      if (what !== 'answer') return
      const possible = [...this.possibleHolds]
      this.possibleHolds = new Set(possible.slice(possible.indexOf(seq)))
    })
  }

  /** A follower reads the beginning of the log, without what is deleted or dropped. */
  _read ({ follower, at, found: [item] }) {
    const [seq, id] = item
    this._found(item)
    const before = this._readers.get(follower)
    const record = this.ledger.records.get(id)
    const commit = record.commit.index
    const place = record.commit.records.indexOf(record)
    if (seq <= before.seq) throw new Violation('wrong answer', `a follower reads ${seq} after ${before.seq}`)
    if (record.seq !== null && record.seq !== seq) {
      throw new Violation('wrong answer', `a follower reads record ${id} at ${seq}, not ${record.seq}`)
    }
    record.seq = seq
    const other = this.ledger.show(record, seq, at)
    if (other) throw new Violation('seq given twice', `a follower reads record ${id} at ${seq}, as record ${other.id} was`)
    this._readers.set(follower, { seq, commit, place })
    if (this._hasFault) return
    this.settle()
    for (const between of this.ledger.commits.slice(before.commit, commit + 1)) {
      if (between.droppedAt < NEVER || between.failedAt < NEVER || between.isUncertain) continue
      between.records.forEach((passed, index) => {
        const isRead = between.index === before.commit && index <= before.place
        const isAhead = between.index === commit && index >= place
        if (isRead || isAhead || passed.isDroppable || passed.ownStatusAt(at, false) !== 'there') return
        throw new Violation('wrong answer', `a follower reads record ${id} at ${seq}, and has not read record ${passed.id}`)
      })
    }
  }

  _fail (event) {
    const { what, ids } = this._asked.get(event.request) ?? {}
    if (what === 'del' && event.code === 'ERR_LOG_SEQ_RETAINED') {
      this.settle()
      const mayBeGone = ids.some((id) => this.ledger.records.get(id).isDroppable)
      if (!mayBeGone) throw new Violation('wrong answer', `a deletion fails: ${event.message}`)
    }
    super._fail(event)
  }
}

/** @param {SegmentRecord[]} records  of a commit, which is in one segment @returns {number | null} */
function lastSeq (records) {
  return records[records.length - 1].seq
}

/**
 * Segments go from the front: after the first record of a whole one, nothing that is not deleted is missing.
 * @param {import('../../torture/ledger').Expectation} expectation
 * @param {Map<any, number>} matched
 * @param {boolean} keeps
 * @param {number} at
 * @param {boolean} isKill
 * @throws {Violation}
 */
function checkWhole ({ commits }, matched, keeps, at, isKill) {
  const isThere = ({ record }) => matched.has(record)
  const isMissing = (entry) => entry.record.ownStatusAt(at, isKill) === 'there' && !isThere(entry)
  // The segment of the last durable record is never dropped.
  const newest = commits.findLast(({ isRequired }) => isRequired)
  if (newest?.records.some(isMissing) && !newest.commit.isUncertain) {
    const { id, seq } = newest.records[0].record
    throw new Violation('promised lost', `record ${id} at ${seq}, of the last commit that was promised, is missing`)
  }
  const isWhole = (entry) => isThere(entry) && !(keeps && isChosen(entry.record.id))
  const first = commits.findIndex(({ records }) => records.some(isWhole))
  if (first === -1) return
  const last = commits.findLastIndex(({ records }) => records.some(isThere))
  for (const [index, { records, isRequired, isOptional, commit }] of commits.entries()) {
    if (index <= first || isOptional || commit.isUncertain || !(isRequired || index < last)) continue
    const hole = records.find(isMissing)
    if (!hole) continue
    const { id, seq } = hole.record
    throw new Violation('promised lost', `record ${id} at ${seq} is missing, and only segments in front may be dropped`)
  }
}

exports.SegmentsStory = SegmentsStory
exports.checkWhole = checkWhole
