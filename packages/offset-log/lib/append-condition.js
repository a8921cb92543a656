'use strict'
// Appends that hold only if: `append(values, { if: { where, since } })` appends unless a record after `since` matches.
//
// No other append may come between the decision and the append. But to decide may take reading the file, and appends
// without a condition must not wait for that. So a decision takes the end of the log as it is now. It tests what waits
// to be written, reads up to the end, and meanwhile is told of each further append (`note`). When it has read all, it
// knows every record that is before it in the queue, and joins the queue in the same turn:
//
//     begin ──> reading ──> holds: appended
//       ^          │ ├────> refused: a record that was read matches, or the log ends before `since`
//       │          v
//       └─────── waiting, if a record matches that cannot be read yet: until it is written, or that has failed
//
// So a refusal always names a record that can be read. A log that gets no such append loads none of this.
//
// Most appends hold. An index can say that at once, without a test of a record: of what was appended last it has the
// keys in memory (see `Recent`). But only a read from there on tells whether `since` was lost in a power cut.

const { LogError } = require('@millrace/errors')
const { toPromise } = require('@millrace/flow')
const { scan } = require('./scan')

/**
 * @typedef {import('./load').LogFile} LogFile
 * @typedef {import('./options').Condition} Condition
 * @typedef {import('./index-seam').Recent} Recent
 * @typedef {(err: Error | null, seq?: any) => void} Done  gets a seq, or a list of them
 * @typedef {(record: Buffer) => boolean} IsMatch
 * @typedef {{ isMatch: IsMatch, isHit: boolean }} Watch  `isHit`: whether a record that cannot be read yet matches
 */

/**
 * What appends, and knows what it has not written yet.
 * @typedef {object} Queue
 * @property {(isMatch: IsMatch) => boolean} hasUnread  whether a record that was appended matches, of those that cannot
 *   be read yet
 * @property {(cb: () => void) => void} flush  calls back once all earlier appends are written or have failed
 */

class Conditions {
  #file
  #queue
  #findIndex
  /** Of the index, if that has one, and only once a condition has come. @type {Recent | null} */
  #recent = null
  /** Of the decisions that are being made. @type {Set<Watch>} */
  #watches = new Set()
  /** From here on seqs were given since the log was opened. */
  #givenFrom = Infinity

  /**
   * @param {LogFile} file
   * @param {Queue} queue
   * @param {() => import('./index-seam').LogIndex | null} findIndex  the log may lose its index
   */
  constructor (file, queue, findIndex) {
    this.#file = file
    this.#queue = queue
    this.#findIndex = findIndex
  }

  /**
   * Called for every append, in the turn in which it joins the queue.
   * @param {Buffer | Buffer[]} records
   * @param {Done} done
   * @returns {Done}  what the append must call back instead
   */
  note (records, done) {
    for (const watch of this.#watches) {
      watch.isHit ||= Array.isArray(records) ? records.some(watch.isMatch) : watch.isMatch(records)
    }
    const recent = this.#recent
    // A single record may have no bytes; an empty batch has no record, and so no seq.
    const hasRecord = !Array.isArray(records) || records.length > 0
    const position = recent !== null && hasRecord ? recent.note(records) : -1
    const isFirst = hasRecord && this.#givenFrom === Infinity
    if (position === -1 && !isFirst) return done
    return (err, seq) => {
      if (err === null) {
        const last = Array.isArray(seq) ? seq[seq.length - 1] : seq
        this.#givenFrom = Math.min(this.#givenFrom, last)
        if (position !== -1) recent?.settle(position, last)
      }
      done(err, seq)
    }
  }

  /** Whether no power cut can have taken the record at a seq. @param {number} seq  -1 for none */
  #isThere (seq) {
    const { since, store } = this.#file
    return seq < 0 || seq === since.value || seq >= this.#givenFrom || !store.hasSkippedSeqs
  }

  /** Begins what the index knows of the last appends, unless that has begun. */
  #begin () {
    const recent = this.#recent = this.#findIndex()?.recent?.() ?? null
    if (recent === null || recent.isActive) return
    const position = recent.begin()
    if (position !== -1) this.#queue.flush(() => recent.settle(position, Number(this.#file.since.value) + 1))
  }

  /** Whether it surely holds: an index may know that. If not, `decide`. @param {Condition} condition */
  holds ({ where, since }) {
    this.#begin()
    return since < this.#file.logEnd && this.#isThere(since) && (this.#recent?.rulesOut(where, since) ?? false)
  }

  /**
   * @param {Condition} condition
   * @param {() => void} accept  must append before it returns
   * @param {(err: Error) => void} refuse  gets ERR_APPEND_CONDITION, or why it cannot be decided
   */
  decide (condition, accept, refuse) {
    this.#begin()
    const { codec, since, logEnd: end, blocks: { path } } = this.#file
    /** @type {IsMatch} */
    let isMatch
    try {
      const test = /** @type {import('./codec').RecordFilter} */ (codec.compile(condition.where))
      isMatch = (record) => test(record, 0, record.length)
    } catch (err) {
      return refuse(/** @type {Error} */ (err))
    }
    // Whoever has read everything, and is alone, does not wait.
    const hasAll = condition.since >= Number(since.value) && condition.since < end && this.#isThere(condition.since)
    if (hasAll && !this.#queue.hasUnread(isMatch)) return accept()
    this.#decideSlowly(condition, isMatch, accept).then((seq) => {
      if (seq !== null) refuse(conflict(path, seq, condition.since))
    }, refuse)
  }

  /** @type {(condition: Condition, isMatch: IsMatch, accept: () => void) => Promise<number | null>} the conflict */
  async #decideSlowly ({ where, since }, isMatch, accept) {
    // What `appendSync` has returned may not be readable yet.
    if (since >= this.#file.logEnd) await new Promise((resolve) => this.#queue.flush(() => resolve(null)))
    if (since >= this.#file.logEnd) throw lost(this.#file, since)
    let isThere = this.#isThere(since)
    for (let from = since + 1; ;) {
      const { logEnd: end, since: { value: last } } = this.#file
      const watch = { isMatch, isHit: this.#hasUnread(where, isMatch) }
      this.#watches.add(watch)
      try {
        const seq = from <= Number(last) || !isThere ? await this.#findFirst(where, from, end) : null
        if (seq !== null) return seq
        isThere = true
        // Nothing may run between this look and the append: so it is not left to whoever awaits the result.
        if (!watch.isHit) {
          this.#watches.delete(watch)
          accept()
          return null
        }
        await new Promise((resolve) => this.#queue.flush(() => resolve(null)))
      } finally {
        this.#watches.delete(watch)
      }
      from = Math.max(from, end)
    }
  }

  /**
   * Whether a record that cannot be read yet matches.
   * @type {(where: Condition['where'], isMatch: IsMatch) => boolean}
   */
  #hasUnread (where, isMatch) {
    const isRuledOut = this.#recent?.rulesOut(where, Number(this.#file.since.value)) ?? false
    return !isRuledOut && this.#queue.hasUnread(isMatch)
  }

  /** @type {(where: Condition['where'], from: number, stop: number) => Promise<number | null>} */
  async #findFirst (where, from, stop) {
    /** @type {number | null} */
    let found = null
    /** @type {import('./range').Range} */
    const range = {
      from: Math.max(0, from),
      stop,
      reverse: false,
      live: false,
      old: true,
      limit: 1,
      where,
      // A record that is lost to damage may be a conflict. One that retention has dropped is gone, as a deleted one.
      skipsDamage: false,
      skipsRetained: true,
      signal: null
    }
    try {
      await toPromise((cb) => scan(this.#file, range, ({ seqs }) => { found = seqs[0] }, cb))
    } catch (/** @type {any} */ err) {
      throw err.code === 'ERR_LOG_SEQ_LOST' ? lostThere(this.#file, from - 1, err) : err
    }
    return found
  }
}

/** @type {(path: string, seq: number, since: number) => LogError} */
function conflict (path, seq, since) {
  const after = since < 0 ? '' : `, which is after ${since},`
  return new LogError('ERR_APPEND_CONDITION', `append: the record at ${seq} of ${path}${after} matches the condition, so ` +
    'nothing was appended; read what is new, decide again, and append with a newer since', { path, seq })
}

/** @type {(file: LogFile, since: number) => LogError} */
function lost ({ logEnd: end, blocks: { path } }, since) {
  return new LogError('ERR_LOG_SEQ_LOST', `append: ${path} ends at ${end}, before since, which is ${since}: a power cut took ` +
    'that record, or an older copy of the log was restored. Nothing was appended; read the log again, decide, and append ' +
    'with a since of what you read', { path, seq: since })
}

/** @type {(file: LogFile, since: number, cause: Error) => LogError} */
function lostThere ({ blocks: { path } }, since, cause) {
  return new LogError('ERR_LOG_SEQ_LOST', `append: ${cause.message}. Nothing was appended; read the log again, decide, and append with ` +
    'a since of what you read', { path, seq: since, cause })
}

exports.Conditions = Conditions
