'use strict'
// The index of one log: answers what a filter needs, and is told what happens to the log. What it knows is in the
// Indexer, and when that works in the Upkeep.

const { parseWhere } = require('@millrace/where')
const { RECORDS_MAX } = require('./block')
const { countMatches } = require('./count')
const { Covering } = require('./cover')
const { explainParts } = require('./explain')
const { Indexer } = require('./indexer')
const { Pace } = require('./pace')
const { Parts } = require('./parts')
const { RecentKeys } = require('./recent-keys')
const { GoneRun } = require('./run-format')
const { OPEN_RUNS } = require('./run-files')
const { CACHED_PAGES } = require('./run-pages')
const { IDLE_BEATS_MAX, RemoteBuilder, SILENCE_MS } = require('./remote-builder')
const { RunFolder } = require('./run-folder')
const { RUNS_MIN } = require('./sieve')
const { Upkeep } = require('./upkeep')

/** After an append others probably follow: their keys are noted together. */
const WAIT_MS = 20
/** So many adjacent runs of about one size become one. */
const FAN_OUT = 8
/** By default. */
const TUNING = {
  hashBits: 32, recordsMax: RECORDS_MAX, fanOut: FAN_OUT, waitMs: WAIT_MS, keepsUp: true, sieveRunsMin: RUNS_MIN,
  cachedPages: CACHED_PAGES, openRuns: OPEN_RUNS, silenceMs: SILENCE_MS, idleBeatsMax: IDLE_BEATS_MAX
}

/**
 * @typedef {import('@millrace/where').Filter} Filter
 * @typedef {import('./paths').DeclaredPath} DeclaredPath
 * @typedef {import('./parts').Part} Part
 * @typedef {import('./extract').Records} Records
 *
 * @typedef {object} Host  the log, as an index sees it
 * @property {string} path  of the log: its file, or its folder
 * @property {string} folder  where the run files are
 * @property {import('@millrace/block-file').Storage} storage
 * @property {() => string | null} findFile  the log's file: the run files get its owner and mode. Null if it is none
 * @property {boolean} isReadOnly  whether another process writes the log, and the run files
 * @property {{ name: string, decode: (buf: Buffer) => any, compile?: unknown }} codec
 * @property {() => { id: Buffer | null, epoch: number }} identity  of the log; without an id no run is trusted later
 * @property {number} start  the lowest seq; it rises if the log drops its oldest records
 * @property {number} end  after the last readable record
 * @property {number | null} [since]  the seq of the last readable record; without it, more is read
 * @property {boolean} tellsDeletions  whether it tells of each deletion, and none is under way
 * @property {(seq: number) => number | null | Promise<number | null>} erasedCountAt  how many records were deleted from
 *   the file with this seq; null if unknown
 * @property {(range: { from: number, to: number }) => Promise<number[]>} findErased  the seqs of deleted records, in
 *   order, as far as they are in the log's file. No border is in the range
 * @property {(seq: number) => boolean | Promise<boolean>} isErased  whether no record can be read at a seq, for certain
 * @property {(seq: number) => boolean | Promise<boolean>} lastOf  whether a record begins there
 * @property {(seq: number) => number | null | Promise<number | null>} proof  the chain value of the chunk with a record
 * @property {(range: { from: number, to: number, reverse?: boolean },
 *   onRecords: (records: Records) => boolean | void | Promise<boolean>,
 *   onDamage?: (range: { from: number, to: number }) => void) => Promise<void>} scanRaw  undecoded records in order,
 *   without deleted ones. False ends it; a promise is awaited
 * @property {(seq: number) => number} [nextBorder]  of a log of several files: the first seq of the file after the one
 *   that has this seq, Infinity if there is none. No run crosses it, so a file takes whole runs with it
 *
 * @typedef {object} Tuning  for tests and tools
 * @property {number} [hashBits]  of the short hash: never another one beside runs that exist, which do not tell it
 * @property {number} [recordsMax]  of a block
 * @property {number} [fanOut]  how many runs become one
 * @property {number} [waitMs]  from an append until its keys are noted
 * @property {boolean} [keepsUp]  false: of a log that is only read, each read scans what no run has, and nothing of it
 *   is kept in memory. For programs that read once
 * @property {number} [sieveRunsMin]  with fewer runs each of them is looked into
 * @property {number} [cachedPages]  how many pages of all runs are in memory
 * @property {number} [openRuns]  how many run files stay open
 * @property {Pace} [pace]  of the background work
 * @property {number} [silenceMs]  after which a builder that does not answer is given up
 * @property {number} [idleBeatsMax]  how often a builder may say that it is alive before it gets further; once a second
 *
 * @typedef {object} AskedRange
 * @property {number} [from]  the first seq; the log's by default
 * @property {number} [to]  after the last one; the log's end by default
 * @property {boolean} [reverse]
 * @property {number} [limit]  how many records are wanted; Infinity by default
 *
 * @typedef {object} IndexStatus
 * @property {string[]} paths  that are declared
 * @property {boolean} isReady  whether no record has to be scanned
 * @property {number} runs
 * @property {number} records  in runs
 * @property {number} tail  records whose keys are in memory only
 * @property {number} size  of the run files, in bytes
 * @property {Error | null} failure  why no runs are written, or the builder is not used any more, if something failed
 */

class LogIndex {
  #paths
  #host
  #tuning
  #folder
  #indexer
  #builder
  /** @type {Upkeep} */
  #upkeep
  /** Of a log with conditional appends. @type {RecentKeys | null} */
  #recent = null

  /**
   * @param {readonly DeclaredPath[]} paths
   * @param {Host} host
   * @param {Tuning} tuning
   * @param {import('./remote-builder').Port | null} [port]  of the builder
   */
  constructor (paths, host, tuning, port = null) {
    this.#paths = paths
    this.#host = host
    this.#tuning = { pace: new Pace(), ...TUNING, ...tuning }
    // What a follower has in memory only is little.
    this.#builder = port === null || host.isReadOnly ? null : new RemoteBuilder(port, host, this.#tuning)
    this.#folder = new RunFolder(host, paths, this.#tuning, this.#builder)
    const mayWork = () => this.#upkeep.mayWork
    const onAsked = () => { if (this.#tuning.keepsUp) this.#upkeep.wakeIfIdle() }
    this.#indexer = new Indexer(paths, host, this.#folder, this.#tuning, mayWork, onAsked, this.#builder)
    const parts = { indexer: this.#indexer, folder: this.#folder, builder: this.#builder }
    this.#upkeep = new Upkeep(host, parts)
    this.#upkeep.begin()
  }

  // Answers.

  /**
   * The parts of a read, in its order: seqs of candidates, each of which the log verifies; or a range that it scans.
   * @param {unknown} where
   * @param {AskedRange} [range]
   * @returns {Parts | null}  null if the index knows nothing about the filter
   */
  parts (where, range = {}) {
    const sought = this.#seek(parseWhere(where))
    if (sought.cover() === null) return null
    this.#upkeep.wakeIfBehind()
    return new Parts(sought, this.#rangeOf(range), range.limit)
  }

  /**
   * What `parts` would use, without a read of the log.
   * @param {unknown} where
   * @param {AskedRange} [range]
   * @returns {import('./explain').Explanation}
   */
  explain (where, range = {}) {
    const filters = parseWhere(where)
    return explainParts(this.#seek(filters), this.#paths, filters, this.#rangeOf(range))
  }

  /**
   * Counts without reads of the log, as far as that can be certain.
   * @param {unknown} where
   * @param {AskedRange} [range]
   * @returns {{ sure: number, parts: Iterable<Part> } | null}  `parts`: of what else may match. Null if nothing is
   *   certain
   */
  count (where, range = {}) {
    const sought = this.#seek(parseWhere(where))
    const cover = sought.cover()
    // A follower is not told which records another process deletes, so nothing is known.
    if (cover === null || !cover.isExact || !this.#host.tellsDeletions) return null
    this.#upkeep.wakeIfBehind()
    return countMatches(sought, cover, this.#rangeOf(range))
  }

  /** For appends with a condition. */
  recent () {
    if (this.#recent === null) {
      const seek = (/** @type {Filter[]} */ filters) => this.#seek(filters)
      this.#recent = new RecentKeys(this.#paths, this.#host, this.#indexer, seek, this.#tuning.recordsMax)
      this.#recent.stop(this.#upkeep.isPaused)
    }
    return this.#recent
  }

  /** @param {Filter[]} filters */
  #seek (filters) {
    /** @type {Covering | null} */
    let covering = null
    /** @type {import('./cover').Cover | null} */
    let cover = null
    let { hasher } = this.#indexer
    return {
      coverage: this.#indexer.coverage,
      onDamaged: (/** @type {import('./run').Run} */ run, /** @type {Error} */ err) => this.#noteDamaged(run, err),
      onDoubted: (/** @type {import('./run').Run} */ run) => this.#noteDoubted(run),
      cover: () => {
        if (covering === null || hasher !== this.#indexer.hasher) {
          hasher = this.#indexer.hasher
          covering = new Covering(this.#paths, hasher)
          cover = covering.find(filters)
        }
        return cover
      },
      used: () => covering?.used ?? []
    }
  }

  /** @param {AskedRange} range */
  #rangeOf ({ from, to, reverse = false }) {
    const { start, end } = this.#host
    return { from: Math.max(start, from ?? start), to: Math.min(end, to ?? end), reverse }
  }

  /**
   * @param {import('./run').Run} run  whose file is gone, or not what was written. Its range is
   *   scanned, and built again
   * @param {Error} err
   */
  #noteDamaged (run, err) {
    this.#indexer.remove([run])
    // The writer of the log has merged it, or removed it with its records.
    if (err instanceof GoneRun) this.#upkeep.lookSoon()
    this.#upkeep.wake(0)
  }

  /** @param {import('./run').Run} run */
  #noteDoubted (run) {
    if (this.#tuning.keepsUp && this.#indexer.doubt(run)) this.#upkeep.wake(0)
  }

  // What the log tells.

  /** Records became readable. It costs nothing but a timer. */
  appended () {
    this.#upkeep.wake(this.#tuning.waitMs)
  }

  /**
   * Records are deleted. Called before that, and again in the turn of the event loop in which that has ended: what was
   * indexed meanwhile may have them.
   * @param {readonly number[]} seqs
   */
  deleted (seqs) {
    this.#indexer.noteDeleted(seqs)
  }

  /**
   * The records of a range are gone, all but chosen ones. What the index knows of it is worthless from this turn of the
   * event loop on; what is left is indexed again.
   * @param {{ from: number, to: number }} range  of whole files, of a log of several
   */
  dropped (range) {
    this.#indexer.noteDropped(range)
    this.#upkeep.wake(this.#tuning.waitMs)
  }

  /**
   * A compaction begins. Until `compacted` is called for each that has begun, nothing is added: no record is read for
   * that, and no run made. What the index knows already, it goes on to answer.
   */
  compacting () {
    this.#upkeep.pause()
    this.#indexer.abandon()
    this.#recent?.stop(true)
  }

  /**
   * A compaction has ended; if it has changed the log, in this turn of the event loop. All runs are removed, because
   * they may have deleted values, and belong to the old chunks. They are built again in the background.
   * @param {boolean} [hasChanged]  true by default
   * @returns {Promise<void>}  once the files are gone
   */
  async compacted (hasChanged = true) {
    const runs = hasChanged ? this.#indexer.reset() : []
    try {
      // What is under way ends soon, because it is paused.
      await this.#upkeep.settled()
      if (hasChanged) await this.#folder.empty(runs)
    } finally {
      if (this.#upkeep.resume()) this.#recent?.stop()
    }
  }

  /**
   * Another process has replaced the log's file, cut it, or changed lines in it: what was read of it counts no more,
   * from this turn of the event loop on. For a log that is read only.
   * @returns {Promise<void>}  once the runs of the new file are there
   */
  async replaced () {
    for (const run of this.#indexer.reset()) await run.close()
    await this.refresh()
  }

  /** Takes the runs that the writer of the log has made; for a log that is read only. */
  async refresh () {
    await this.#upkeep.opened
    await this.#upkeep.loadAgain()
    this.#upkeep.wakeIfBehind()
  }

  /** Waits until all that is readable now is in the index, and in runs. */
  async ready () {
    await this.#upkeep.ready()
  }

  /** As `ready`; and then the last records are in a run too, however few they are: for who closes the log then. */
  async flush () {
    await this.ready()
    this.#indexer.seal()
    await this.ready()
  }

  /** Says of each run file why it is not used; null if it is. */
  async inspect () {
    await this.#upkeep.opened
    return await this.#folder.inspect()
  }

  /** @returns {IndexStatus} */
  status () {
    const { runs, blocks } = this.#indexer.coverage
    return {
      paths: this.#paths.map(({ name }) => name),
      isReady: this.#indexer.coverage.firstGap(this.#host.start, this.#host.end) === null,
      runs: runs.length,
      records: runs.reduce((sum, { records }) => sum + records, 0),
      tail: blocks.reduce((sum, { count }) => sum + count, 0),
      size: runs.reduce((sum, { size }) => sum + size, 0),
      failure: this.#upkeep.failure ?? this.#builder?.failure ?? null
    }
  }

  /** Removes the index from the disk. It is built again when the log is opened with it the next time. */
  async drop () {
    const runs = this.#indexer.reset()
    await this.close()
    await this.#folder.empty(runs)
  }

  /** Ends the background work, and closes the files. */
  async close () {
    this.#upkeep.end()
    this.#recent?.stop(true)
    const runs = this.#indexer.reset()
    this.#builder?.close()
    await this.#upkeep.ended()
    for (const run of runs) await run.close()
    // Such as those of segments that were just dropped.
    await this.#folder.clean()
    await this.#folder.close()
  }
}

exports.LogIndex = LogIndex
