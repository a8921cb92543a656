'use strict'
// Where an index meets a log. A log is handed an index as it is handed a codec, and knows nothing of it but this.
//
// An index may name too many candidates, never too few: the log tests each one with the filter itself. What the index
// does not know, it names as a range, which the log scans. So every answer is that of a scan; only damage that came
// later, and that no candidate is in, fails no read.

const { misuse } = require('@millrace/errors')
const { notRemoved } = require('./errors')
const { createHost } = require('./index-host')
const { skipError } = require('./range')
const { IndexedReader } = require('./read/indexed-reader')

/**
 * @typedef {import('./load').LogFile} LogFile
 * @typedef {import('./load').OpenRange} OpenRange
 * @typedef {import('./range').Range} Range
 * @typedef {import('./codec').RecordFilter} RecordFilter
 * @typedef {(buf: Buffer, start: number, end: number, seq: number) => boolean} RecordRunFilter
 *
 * @typedef {{ seqs: number[] } | { from: number, to: number }} Part  candidates in the order of the read; or a range to
 *   scan, without `to`
 * @typedef {{ next: () => IteratorResult<Part> }} Parts  in the order of the read, none before or after its range
 * @typedef {{ from?: number, to?: number, reverse?: boolean, limit?: number }} AskedRange  `to` is not in it
 *
 * @typedef {object} Explanation  how a read finds its records
 * @property {string[]} uses  The paths of the index that are used.
 * @property {number | null} candidates  How many records are read because the index names them, at most; null without
 *   an index.
 * @property {number} runs  How many files of the index are looked into.
 * @property {{ from: number, records: number | null } | null} scanned  The lowest seq that is scanned, and how many
 *   records that are; null if that is unknown. Null if nothing is scanned.
 * @property {string} why  Why something is scanned, or why not; empty if the range has no records.
 */

/**
 * @typedef {object} LogIndex  an index of one open log
 * @property {(where: unknown, range: AskedRange) => Parts | null} parts  null: scan everything
 * @property {(where: unknown, range: AskedRange) => Explanation} explain
 * @property {(where: unknown, range: AskedRange) => { sure: number, parts: Iterable<Part> } | null} count  how many
 *   records match for certain, and where others may; null if it does not know
 * @property {() => Recent} [recent]  for appends with a condition
 * @property {() => void} appended  records became readable
 * @property {(seqs: readonly number[]) => void} deleted  told twice: before the records are, and when they are
 * @property {(range: { from: number, to: number }) => void} dropped  of a log of several files: the records of some are
 *   gone, perhaps all but chosen ones
 * @property {() => void} compacting  until `compacted` it may answer, but not read the log; several may overlap
 * @property {(hasChanged: boolean) => Promise<void>} compacted  once for each `compacting`
 * @property {() => Promise<void>} replaced  of a log that is only read: its records may be others than those that were
 *   read
 * @property {() => Promise<void>} ready
 * @property {() => any} status
 * @property {() => Promise<void>} drop
 * @property {() => Promise<void>} close
 */

/**
 * What an index knows of the last appends, even before they are written. Each has a position.
 * @typedef {object} Recent
 * @property {boolean} isActive  whether it notes appends: not before `begin`, nor if it is not asked for long
 * @property {() => number} begin  gives a position: it must be settled with a seq above those of all earlier appends
 *   once these are written or have failed; -1 if it cannot begin now
 * @property {(records: Buffer | Buffer[]) => number} note  when an append joins the queue; -1 if it is not active
 * @property {(position: number, seq: number) => void} settle  the append was written, and this is its last record
 * @property {(filters: import('@millrace/where').Filter[], since: number) => boolean} rulesOut  whether for certain no
 *   record after a seq matches, of those that can be read and those that wait to be written
 */

/**
 * @typedef {object} IndexSource  what the option `index` takes, such as `createIndex` makes
 * @property {(host: any) => any} open  Gets the log, and gives its index.
 */

/**
 * @typedef {(from: number) => Error | null} FindCut  why a read cannot deliver every record from a seq on, of a log
 *   that drops records; it is asked again and again, as the read goes on
 *
 * @typedef {object} ReadParts  how a log is read
 * @property {OpenRange} openRange  without an index
 * @property {RecordRunFilter} [isWithin]  which records a read is about, besides its filter
 */

/** The index of one log, and how reads use it. */
class Indexing {
  #file
  #source
  #openRange
  #watchCuts
  /** @type {() => Error | null} */
  #findDoubt = () => null
  #folder = ''
  /** @type {Array<() => void>} */
  #stops = []
  /** Deletions that are under way. */
  #deletionCount = 0
  /** Null until the log is open. @type {LogIndex | null} */
  index = null

  /**
   * @param {LogFile} file
   * @param {IndexSource} source
   * @param {OpenRange} openRange  reads without an index
   * @param {() => FindCut} [watchCuts]  called when a read begins
   */
  constructor (file, source, openRange, watchCuts = () => () => null) {
    this.#file = file
    this.#source = source
    this.#openRange = openRange
    this.#watchCuts = watchCuts
  }

  /**
   * @param {import('./index-host').HostParts} parts
   * @param {import('@millrace/flow').Obz<number>} since  what is readable
   */
  open (parts, since) {
    this.#findDoubt = parts.findDoubt ?? this.#findDoubt
    this.#folder = parts.folder
    const isDeleting = () => this.#deletionCount > 0
    const host = createHost(this.#file, { ...parts, isDeleting }, this.#openRange)
    const index = this.index = this.#source.open(host)
    this.#stops = [since(() => index.appended())]
    const { follower } = this.#file
    if (follower) this.#stops.push(follower.whenRecordsMayDiffer(() => { index.replaced().catch(() => {}) }))
  }

  /** Runs a compaction. @type {<T>(compact: () => Promise<T>) => Promise<T>} */
  async during (compact) {
    const { index } = this
    if (index === null) return await compact()
    const { store } = this.#file
    index.compacting()
    const compacting = compact()
    await compacting.catch(() => {})
    await index.compacted(this.#file.replacement.readable !== store).catch(async (err) => {
      // Why the compaction itself has failed is more important.
      await compacting
      throw notRemoved('compact: the log is compacted', this.#folder, err)
    })
    return await compacting
  }

  /**
   * Runs a deletion. What is read meanwhile may have the records or not, and nobody knows how many are deleted.
   * @type {<T extends any[]>(seqs: number[], cb: (...result: T) => void) => (...result: T) => void}
   */
  deleting (seqs, cb) {
    this.#deletionCount++
    this.index?.deleted(seqs)
    return (...result) => {
      this.#deletionCount--
      this.index?.deleted(seqs)
      cb(...result)
    }
  }

  /** @param {Range} range @returns {Explanation} */
  explain ({ from, stop, where, reverse }) {
    const { logEnd: end, since } = this.#file
    const doubt = this.index === null ? 'the index was dropped; opening the log again builds another' : this.#doubt?.message
    if (where === null || this.index === null || doubt !== undefined) {
      return explainScan({ from, stop, where }, since.value, doubt)
    }
    return this.index.explain(where, { from, to: Math.min(stop, end), reverse })
  }

  /** What the index knows of a file that another process has cut or replaced may be of other records. */
  get #doubt () {
    return this.#file.follower?.failure ?? this.#file.failure ?? this.#findDoubt()
  }

  /** Waits until what is readable now is in the index. */
  async ready () {
    await this.index?.ready()
  }

  async status () {
    return this.index?.status()
  }

  /** Removes the files of the index. Reads scan from now on, until the log is opened again. */
  async drop () {
    const { index } = this
    this.index = null
    for (const stop of this.#stops) stop()
    await index?.drop().catch((err) => {
      throw notRemoved('index.drop: reads use no index any more', this.#folder, err)
    })
  }

  async close () {
    for (const stop of this.#stops) stop()
    await this.index?.close()
  }

  /** @type {import('./load').CountSure} */
  countSure = ({ from, stop, where, limit, skipsDamage }) => {
    const file = this.#file
    // A read from somewhere on may fail there.
    if (where === null || from > 0 || this.index === null || this.#doubt !== null) return null
    if (skipError(file, { skipsDamage }) !== null) return null
    const end = Math.min(stop, file.logEnd)
    const counted = this.index.count(where, { from, to: end })
    if (counted === null) return null
    const { sure, parts: { [Symbol.iterator]: iterate } } = counted
    const parts = iterate.call(counted.parts)
    const first = parts.next()
    if (first.done) return { sure, openRest: null }
    // A read that ends at its limit may fail before, and does not fail after it.
    if (limit < Infinity) return null
    let isFirst = true
    const next = () => {
      if (!isFirst) return parts.next()
      isFirst = false
      return first
    }
    return {
      sure,
      openRest: (file, range, cb) => {
        const isWanted = /** @type {RecordFilter} */ (file.codec.compile(where))
        const how = { openRange: this.#openRange, parts: { next }, stop: end, isWanted, findCut: this.#watchCuts() }
        cb(null, new IndexedReader(file, range, how))
      }
    }
  }

  /** @type {OpenRange} */
  openRange = (file, range, cb) => this.openRangeWithin({ openRange: this.#openRange }, file, range, cb)

  /** @type {(how: ReadParts, ...args: Parameters<OpenRange>) => void} */
  openRangeWithin ({ openRange, isWithin }, file, range, cb) {
    const { from, reverse, limit } = range
    if (range.where === null || this.index === null || this.#doubt !== null) return openRange(file, range, cb)
    const refusal = skipError(file, range)
    if (refusal) return cb(refusal)
    const open = () => {
      const stop = Math.min(range.stop, file.logEnd)
      try {
        const isWanted = /** @type {RecordFilter} */ (file.codec.compile(range.where))
        const parts = this.index?.parts(range.where, { from, to: stop, reverse, limit }) ?? null
        if (parts === null) return openRange(file, range, cb)
        const isInside = isWithin === undefined ? isWanted : both(isWanted, isWithin)
        const how = { openRange, parts, stop, isWanted: isInside, findCut: this.#watchCuts() }
        cb(null, new IndexedReader(file, range, how))
      } catch (err) {
        cb(/** @type {Error} */ (err))
      }
    }
    // A read that begins where records were lost or dropped fails, as it does without an index.
    if (reverse ? range.stop >= file.logEnd : from === 0) open()
    else checkBound(file, range, openRange, (err) => err ? cb(err) : open())
  }
}

/** @type {(file: LogFile, range: Range, openRange: OpenRange, cb: (err: Error | null) => void) => void} */
function checkBound (file, range, openRange, cb) {
  const { from, stop, reverse } = range
  const first = reverse ? { from: Math.max(from, stop - 1) } : { stop: Math.min(stop, from + 1), live: false }
  openRange(file, { ...range, ...first }, (err, reader) => {
    if (err || !reader) cb(err)
    else reader.next(file.logEnd, (err) => cb(err))
  })
}

/** @type {(first: RecordFilter, second: RecordRunFilter) => RecordRunFilter} */
function both (first, second) {
  return (buf, start, end, seq) => first(buf, start, end) && second(buf, start, end, seq)
}

/** @type {(range: Pick<Range, 'from' | 'stop' | 'where'>, since?: number, doubt?: string) => Explanation} */
function explainScan ({ from, stop, where }, since = -1, doubt = 'the log was opened without an index') {
  const scanned = from < stop && from <= since ? { from, records: null } : null
  const why = where === null ? 'there is no filter' : doubt
  return { uses: [], candidates: null, runs: 0, scanned, why: scanned === null ? '' : why }
}

/** @type {(call: string, index: unknown) => void} throws ERR_INVALID_ARGUMENT */
function checkIndex (call, index) {
  if (index !== null && typeof index === 'object' && 'open' in index && typeof index.open === 'function') return
  throw misuse(`${call}: index must be an index, such as createIndex of @millrace/index makes, got ${index === null ? 'null' : typeof index}`)
}

exports.Indexing = Indexing
exports.explainScan = explainScan
exports.checkIndex = checkIndex
