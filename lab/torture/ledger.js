'use strict'
// What was asked of a log, what it answered and what it promised, each with the time it happened. Times are counts of
// the calls that changed the disk: what happened at time 5 was known before call 5, and a crash there may not undo it.

const NEVER = Infinity

class RecordEntry {
  /**
   * @param {number} id
   * @param {Buffer} bytes
   * @param {string} kind
   */
  constructor (id, bytes, kind) {
    this.id = id
    this.bytes = bytes
    this.kind = kind
    /** @type {number | null} known once the log has told it */
    this.seq = null
    /** @type {Deletion[]} */
    this.deletions = []
    /** @type {Commit | null} */
    this.commit = null
  }

  /**
   * @param {number} at
   * @param {boolean} isKill  a killed process loses nothing that was acknowledged
   * @returns {'there' | 'gone' | 'either'}
   */
  statusAt (at, isKill) {
    let status = /** @type {'there' | 'gone' | 'either'} */ ('there')
    for (const { askedAt, known, promisedAt, undoneAt } of this.deletions) {
      if (promisedAt <= at || (isKill && known.isAt(at) && undoneAt > at)) return 'gone'
      if (askedAt <= at && undoneAt > at) status = 'either'
    }
    return status
  }
}

/** Power cuts so far; what was known of a log before one is not known after it. */
class Cuts {
  constructor () {
    /** @type {number[]} when they were */
    this.times = []
  }
}

/** When something was seen to be so, by an answer or by looking: what a kill may not undo, but a power cut may. */
class Known {
  /** @param {Cuts} cuts */
  constructor (cuts) {
    this._cuts = cuts
    /** @type {Array<{ at: number, cutCount: number }>} */
    this._times = []
  }

  get isEver () {
    return this._times.length > 0
  }

  /** @param {number} at */
  note (at) {
    this._times.push({ at, cutCount: this._cuts.times.length })
  }

  /** @param {number} at */
  isAt (at) {
    return this._times.some((time) => time.at <= at && !(this._cuts.times[time.cutCount] <= at))
  }
}

class Deletion {
  /**
   * @param {number} at
   * @param {Cuts} cuts
   */
  constructor (at, cuts) {
    this.askedAt = at
    this.known = new Known(cuts)
    this.promisedAt = NEVER
    /** When the log was opened and the record was found in it after all. */
    this.undoneAt = NEVER
  }
}

class Commit {
  /**
   * @param {number} index
   * @param {RecordEntry[]} records
   * @param {number} at
   * @param {Cuts} cuts
   */
  constructor (index, records, at, cuts) {
    this.index = index
    this.records = records
    this.askedAt = at
    this.known = new Known(cuts)
    this.failedAt = NEVER
    this.promisedAt = NEVER
    /** When the log was opened and had it not. */
    this.droppedAt = NEVER
    /** When the log was opened and had it, though its append had failed or was never answered. */
    this.foundAt = NEVER
    /** Whether the log was opened and it could not be told: all of its records are deleted, or it is not there. */
    this.isUncertain = false
  }

  /** @param {number} at */
  isOptional (at) {
    return this.failedAt < NEVER && this.foundAt > at
  }
}

class Ledger {
  /**
   * @param {object} [options]
   * @param {boolean} [options.showsOldBytes]  whether a file can grow by a write that is lost, and then have what the
   *   disk had there: as in ext4 with data=writeback, or if the disk fails
   */
  constructor ({ showsOldBytes = false } = {}) {
    this._showsOldBytes = showsOldBytes
    /** @type {Commit[]} in the order they were asked for */
    this.commits = []
    /** @type {Map<number, RecordEntry>} */
    this.records = new Map()
    /** @type {Array<{ count: number, at: number }>}  the first `count` commits were promised then */
    this._promises = []
    /** @type {Array<{ seq: number, at: number }>}  all up to the seq was promised then */
    this._covered = []
    this._cuts = new Cuts()
    /** Every seq that an append gave. @type {Map<number, { record: RecordEntry, at: number }>} */
    this._shown = new Map()
  }

  /** @param {number} at */
  cutPower (at) {
    this._cuts.times.push(at)
  }

  /**
   * @param {RecordEntry[]} records
   * @param {number} at
   */
  append (records, at) {
    const commit = new Commit(this.commits.length, records, at, this._cuts)
    this.commits.push(commit)
    for (const record of records) {
      record.commit = commit
      this.records.set(record.id, record)
    }
    return commit
  }

  /**
   * @param {RecordEntry} record
   * @param {number} seq  that an append gave for it
   * @param {number} at
   * @returns {RecordEntry | null}  another one that was given it before, though that be lost
   */
  show (record, seq, at) {
    const before = this._shown.get(seq)
    if (before === undefined) this._shown.set(seq, { record, at })
    return before === undefined || before.record === record ? null : before.record
  }

  /**
   * @param {RecordEntry[]} records
   * @param {number} at
   */
  remove (records, at) {
    return records.map((record) => {
      const deletion = new Deletion(at, this._cuts)
      record.deletions.push(deletion)
      return deletion
    })
  }

  /**
   * @returns {{ count: number, deletions: Deletion[] }}  what a sync that is asked for now covers when it succeeds
   */
  mark () {
    const deletions = []
    for (const record of this.records.values()) {
      for (const deletion of record.deletions) if (deletion.known.isEver) deletions.push(deletion)
    }
    return { count: this.commits.length, deletions }
  }

  /**
   * A call has failed that would have written all that waits. Those who wait may be told so only later.
   * @param {number} at
   */
  failWaiting (at) {
    for (const commit of this.commits.filter(isWaiting)) commit.failedAt = at
  }

  /** @returns {ReturnType<Ledger['mark']>}  the same of what copies all that is in the log now */
  markAnswered () {
    const waiting = this.commits.findIndex(isWaiting)
    return { ...this.mark(), count: waiting === -1 ? this.commits.length : waiting }
  }

  /**
   * @param {ReturnType<Ledger['mark']>} mark
   * @param {number} at
   */
  promise ({ count, deletions }, at) {
    this._promises.push({ count, at })
    for (const deletion of deletions) deletion.promisedAt = Math.min(deletion.promisedAt, at)
  }

  /**
   * @param {number} seq
   * @param {number} at
   */
  cover (seq, at) {
    this._covered.push({ seq, at })
  }

  /** Works out what was promised when; again, whenever more seqs are known. */
  settle () {
    for (const { count, at } of this._promises) {
      for (const commit of this.commits.slice(0, count)) this._promiseCommit(commit, at)
    }
    for (const { seq, at } of this._covered) {
      for (const commit of this.commits) {
        const first = commit.records.find((record) => record.seq !== null)
        if (commit.askedAt <= at && first && Number(first.seq) <= seq) this._promiseCommit(commit, at)
      }
    }
  }

  /**
   * @param {Commit} commit
   * @param {number} at
   */
  _promiseCommit (commit, at) {
    if (commit.known.isEver && commit.droppedAt > at) commit.promisedAt = Math.min(commit.promisedAt, at)
  }

  /**
   * @param {number} at
   * @param {boolean} isKill
   * @returns {Expectation}
   */
  expect (at, isKill) {
    const commits = []
    for (const commit of this.commits) {
      const isDropped = commit.droppedAt <= at
      if (commit.askedAt > at || (isDropped && (isKill || !this._mayComeBack(commit, at)))) continue
      commits.push({
        commit,
        records: commit.records.map((record) => ({ record, status: record.statusAt(at, isKill) })),
        isOptional: isDropped || commit.isOptional(at),
        isRequired: commit.promisedAt <= at || (isKill && commit.known.isAt(at))
      })
    }
    const shown = [...this._shown].filter(([, shown]) => shown.at <= at).map(([seq, { record }]) => ({ seq, record }))
    return { commits, shown }
  }

  /**
   * A log that was opened had it not. But as long as nothing of that session is durable, all of it can be lost: then
   * the end of the file is as it was before, or has what the disk had there.
   * @param {Commit} commit
   * @param {number} at
   */
  _mayComeBack ({ droppedAt }, at) {
    return this._showsOldBytes && !this._promises.some((promise) => promise.at > droppedAt && promise.at <= at)
  }

  /**
   * A log was opened: from now on, what it has is what there is.
   * @param {Expectation} expectation
   * @param {Set<RecordEntry>} found
   * @param {number} at
   */
  reopened (expectation, found, at) {
    for (const { commit, records, isRequired } of expectation.commits) {
      const isThere = isRequired || records.some(({ record }) => found.has(record))
      if (!isThere && records.some(({ status }) => status === 'there')) commit.droppedAt = at
      // One whose records are all deleted, or may be, cannot be told from one that is not there; they may come back.
      commit.isUncertain = !isThere
      if (!isThere) continue
      commit.droppedAt = NEVER
      commit.foundAt = Math.min(commit.foundAt, at)
      commit.known.note(at)
      for (const { record } of records) resolveDeletions(record, found.has(record), at)
    }
  }
}

/**
 * @param {RecordEntry} record
 * @param {boolean} isThere
 * @param {number} at
 */
function resolveDeletions (record, isThere, at) {
  for (const deletion of record.deletions) {
    if (isThere) deletion.undoneAt = Math.min(deletion.undoneAt, at)
    else deletion.known.note(at)
  }
}

/**
 * @typedef {object} ExpectedCommit
 * @property {Commit} commit
 * @property {Array<{ record: RecordEntry, status: 'there' | 'gone' | 'either' }>} records
 * @property {boolean} isOptional  its append failed, so it may be there or not
 * @property {boolean} isRequired
 */

/**
 * @typedef {object} Expectation  any beginning of the commits, with all that are required
 * @property {ExpectedCommit[]} commits
 * @property {Array<{ seq: number, record: RecordEntry }>} shown  what was known to somebody, though it be lost
 */

/**
 * @param {Expectation} expectation
 * @returns {string}  the same for the same promises
 */
function signatureOf ({ commits }) {
  return commits.map(({ commit, records, isOptional, isRequired }) => {
    return `${commit.index}${isOptional ? '?' : ''}${isRequired ? '!' : ''}` + records.map(({ status }) => status[0]).join('')
  }).join()
}

/** Whether nobody knows yet if it was written. @param {Commit} commit */
function isWaiting ({ known, failedAt, droppedAt }) {
  return !known.isEver && failedAt === NEVER && droppedAt === NEVER
}

exports.Ledger = Ledger
exports.NEVER = NEVER
exports.RecordEntry = RecordEntry
exports.signatureOf = signatureOf
