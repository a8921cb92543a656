'use strict'
// The index of one log: answers what a filter needs, and keeps up with the log in the background. What it knows is in
// the Indexer.

const { performance } = require('node:perf_hooks')
const { clearInterval, clearTimeout, setImmediate, setInterval, setTimeout } = require('node:timers')
const { LogError } = require('@millrace/errors')
const { Turns } = require('@millrace/flow')
const { parseWhere } = require('@millrace/where')
const { RECORDS_MAX } = require('./block')
const { countMatches } = require('./count')
const { Covering } = require('./cover')
const { explainParts } = require('./explain')
const { explainFailure } = require('./failure')
const { Indexer } = require('./indexer')
const { Pace } = require('./pace')
const { Parts } = require('./parts')
const { RecentKeys } = require('./recent-keys')
const { CACHED_PAGES } = require('./run')
const { RemoteBuilder, SILENCE_MS } = require('./remote-builder')
const { RunFolder } = require('./run-folder')
const { RUNS_MIN } = require('./sieve')

/** After an append others probably follow: their keys are noted together. */
const WAIT_MS = 20
const RETRY_MS = 10_000
const ALIVE_MS = 60_000
/** How often a reader looks for the runs that the writer of its log has made. */
const LOOK_MS = 1000
/** So many adjacent runs of about one size become one. */
const FAN_OUT = 8
/** By default. */
const TUNING = {
  hashBits: 32, recordsMax: RECORDS_MAX, fanOut: FAN_OUT, waitMs: WAIT_MS, keepsUp: true, sieveRunsMin: RUNS_MIN,
  cachedPages: CACHED_PAGES, silenceMs: SILENCE_MS
}

/**
 * @typedef {import('@millrace/where').Filter} Filter
 * @typedef {import('./paths').DeclaredPath} DeclaredPath
 * @typedef {import('./parts').Part} Part
 * @typedef {import('./extract').Records} Records
 *
 * @typedef {object} Host  the log, as an index sees it
 * @property {string} folder  where the run files are
 * @property {import('@millrace/block-file').Storage} storage
 * @property {() => string | null} findFile  the log's file: the run files get its owner and mode. Null if it is none
 * @property {boolean} isReadOnly  whether another process writes the log, and the run files
 * @property {{ name: string, decode: (buf: Buffer) => any, compile?: unknown }} codec
 * @property {() => { id: Buffer | null, epoch: number }} identity  of the log; without an id no run is trusted later
 * @property {number} start  the lowest seq; it rises if the log drops its oldest records
 * @property {number} end  after the last readable record
 * @property {number | null} [since]  the seq of the last readable record; without it, more is read
 * @property {number} durableEnd  everything before it is on stable storage
 * @property {boolean} tellsDeletions  whether it tells of each deletion, and none is under way
 * @property {(seq: number) => number | null | Promise<number | null>} erasedCountAt  how many records were deleted from
 *   the file with this seq; null if unknown
 * @property {(range: { from: number, to: number }) => Promise<number[]>} findErased  the seqs of deleted records, in
 *   order, as far as they are in the log's file. No border is in the range
 * @property {(seq: number) => boolean | Promise<boolean>} isErased  whether no record can be read at a seq, for certain
 * @property {(seq: number) => boolean | Promise<boolean>} lastOf  whether a record begins there
 * @property {(seq: number) => number | null | Promise<number | null>} proof  the chain value of the chunk with a record
 * @property {() => Promise<void>} sync
 * @property {(range: { from: number, to: number, reverse?: boolean },
 *   onRecords: (records: Records) => boolean | void | Promise<boolean>,
 *   onDamage?: (range: { from: number, to: number }) => void) => Promise<void>} scanRaw  undecoded records in order,
 *   without deleted ones. False ends it; a promise is awaited
 * @property {(seq: number) => number} [nextBorder]  of a log of several files: the first seq of the file after the one
 *   that has this seq, Infinity if there is none. No run crosses it, so a file takes whole runs with it
 *
 * @typedef {object} Tuning  for tests and tools
 * @property {number} [hashBits]  of the short hash
 * @property {number} [recordsMax]  of a block
 * @property {number} [fanOut]  how many runs become one
 * @property {number} [waitMs]  from an append until its keys are noted
 * @property {boolean} [keepsUp]  false: of a log that is only read, each read scans what no run has, and nothing of it
 *   is kept in memory. For programs that read once
 * @property {number} [sieveRunsMin]  with fewer runs each of them is looked into
 * @property {number} [cachedPages]  how many pages of all runs are in memory
 * @property {Pace} [pace]  of the background work
 * @property {number} [silenceMs]  after which a builder that does not answer is given up
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
  #opened
  /** Whether it shall look again what there is to do. */
  #isAwoken = false
  /** Two at once would open the same files. */
  #loads = new Turns()
  /** When the last one began. */
  #loadedMs = -Infinity
  /** Whether the runs that were there at first are known, or given up. */
  #isLoaded = false
  /** The background work that is running. @type {Promise<void> | null} */
  #work = null
  /** Those who wait until nothing is left to do before an end. @type {Array<{ end: number, tell: () => void }>} */
  #waiting = []
  /** @type {NodeJS.Timeout | null} */
  #timer = null
  /** @type {Error | null} */
  #failure = null
  #isClosed = false
  /** Compactions that are under way: one may begin before what the one before has left is removed. */
  #compactionCount = 0
  /** Those who wait until the last compaction, or the index, has ended. @type {Array<(value?: undefined) => void>} */
  #resumed = []
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
    const mayWork = () => !this.#isClosed && !this.#isPaused
    const onAsked = () => { if (this.#tuning.keepsUp && this.#work === null) this.#wake(0) }
    this.#indexer = new Indexer(paths, host, this.#folder, this.#tuning, mayWork, onAsked, this.#builder)
    this.#opened = this.#open()
  }

  get #isPaused () {
    return this.#compactionCount > 0
  }

  async #open () {
    await this.#load().catch((err) => this.#noteFailure(err))
    this.#builder?.open()
    this.#wake(0)
  }

  async #load () {
    this.#loadedMs = performance.now()
    await this.#indexer.load()
    this.#isLoaded = true
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
    this.#wakeIfBehind()
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
    this.#wakeIfBehind()
    return countMatches(sought, cover, this.#rangeOf(range))
  }

  /** For appends with a condition. */
  recent () {
    if (this.#recent === null) {
      const seek = (/** @type {Filter[]} */ filters) => this.#seek(filters)
      this.#recent = new RecentKeys(this.#paths, this.#host, this.#indexer, seek, this.#tuning.recordsMax)
      this.#recent.stop(this.#isPaused)
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
      onDamaged: (/** @type {import('./run').Run} */ run) => this.#noteDamaged(run),
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

  /** @param {import('./run').Run} run  whose file is not what was written: its range is scanned, and built again */
  #noteDamaged (run) {
    this.#indexer.remove([run])
    this.#wake(0)
  }

  /** @param {import('./run').Run} run */
  #noteDoubted (run) {
    if (this.#tuning.keepsUp && this.#indexer.doubt(run)) this.#wake(0)
  }

  // What the log tells.

  /** Records became readable. It costs nothing but a timer. */
  appended () {
    if (this.#timer === null) this.#wake(this.#tuning.waitMs)
  }

  /** More is on stable storage. */
  synced () {
    if (this.#indexer.coverage.blocks.some(({ isSealed }) => isSealed)) this.#wake(this.#tuning.waitMs)
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
    this.#wake(this.#tuning.waitMs)
  }

  /**
   * A compaction begins. Until `compacted` is called for each that has begun, nothing is added: no record is read for
   * that, and no run made. What the index knows already, it goes on to answer.
   */
  compacting () {
    this.#compactionCount++
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
      await this.#settled()
      if (hasChanged) await this.#folder.empty(runs)
    } finally {
      this.#compactionCount--
      if (!this.#isPaused && !this.#isClosed) {
        this.#resume()
        this.#recent?.stop()
        this.#wake(0)
      }
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
    await this.#opened
    await this.#loadAgain()
    this.#wakeIfBehind()
  }

  async #loadAgain () {
    if (this.#host.isReadOnly) await this.#loads.run(async () => { if (!this.#isClosed) await this.#load() })
  }

  async #untilResumed () {
    await new Promise((/** @type {(value?: undefined) => void} */ resolve) => { this.#resumed.push(resolve) })
  }

  #resume () {
    for (const tell of this.#resumed.splice(0)) tell()
  }

  /** Waits until all that is readable now is in the index, and what is durable is in runs. */
  async ready () {
    // A log that grows as fast as it is indexed has no end but that of now.
    const { end } = this.#host
    await this.#opened
    this.#failure = null
    await this.#loadAgain()
    while (!this.#isClosed) {
      // A compaction removes all that is there.
      if (this.#isPaused) await this.#untilResumed()
      else await this.#reached(end)
      if ((!this.#isPaused && this.#indexer.nextGap(end) === null) || this.#failure !== null) break
    }
    if (this.#isClosed) throw closedError(this.#host.folder)
    if (this.#failure !== null) throw this.#failure
  }

  /** As `ready`; and then the last records are in a run too, however few they are: for who closes the log then. */
  async flush () {
    await this.ready()
    this.#indexer.seal()
    await this.ready()
  }

  /** Says of each run file why it is not used; null if it is. */
  async inspect () {
    await this.#opened
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
      failure: this.#failure ?? this.#builder?.failure ?? null
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
    this.#isClosed = true
    this.#resume()
    this.#recent?.stop(true)
    if (this.#timer !== null) clearTimeout(this.#timer)
    const runs = this.#indexer.reset()
    this.#builder?.close()
    await this.#opened
    await this.#loads.settled()
    await this.#settled()
    for (const run of runs) await run.close()
    // Such as those of segments that were just dropped.
    await this.#clean()
    await this.#folder.close()
  }

  // Background work: one thing at a time.

  #isBehind () {
    return this.#indexer.nextGap() !== null
  }

  #wakeIfBehind () {
    // A reader whose memory is full waits for runs of the writer.
    const isWaiting = this.#host.isReadOnly && performance.now() - this.#loadedMs >= LOOK_MS
    if (isWaiting || this.#isBehind()) this.#wake(0)
  }

  /** Tries again to write runs, later. */
  #retry () {
    setTimeout(() => {
      this.#failure = null
      this.#wake(0)
    }, RETRY_MS).unref()
  }

  /** @param {number} ms */
  #wake (ms) {
    if (this.#isClosed || this.#isPaused) return
    if (ms > 0) {
      this.#timer ??= setTimeout(() => this.#wake(0), ms).unref()
      return
    }
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    this.#isAwoken = true
    this.#work ??= this.#workOn()
  }

  async #workOn () {
    await this.#opened
    // What the caller does in this turn comes first.
    await new Promise((resolve) => { setImmediate(resolve) })
    do {
      this.#isAwoken = false
      await this.#pass().catch((err) => {
        this.#noteFailure(err)
        this.#tell(this.#waiting)
      })
    } while (this.#isAwoken)
    this.#work = null
  }

  async #pass () {
    if (performance.now() - this.#loadedMs >= LOOK_MS) await this.#loadAgain()
    // What is appended meanwhile waits for its turn: a few records at a time would cost much.
    const { end } = this.#host
    while (!this.#isClosed && !this.#isPaused) {
      const waiting = [...this.#waiting]
      // Who waits does not wait for what came later.
      const next = Math.min(end, ...waiting.map(({ end }) => end))
      if (await this.#step(next)) continue
      await this.#clean()
      this.#tell(waiting.filter(({ end }) => end <= next))
      if (next < end) continue
      await this.#indexer.sift(() => !this.#isAwoken && !this.#isClosed && !this.#isPaused)
      return
    }
    await this.#clean()
    this.#tell(this.#waiting)
  }

  /** What cannot be removed, as while somebody has it open on Windows, is tried again with the next work. */
  async #clean () {
    await this.#folder.clean().catch(() => {})
  }

  /**
   * Waits until nothing is left to do before an end, or something fails. The index is neither closed nor paused.
   * @param {number} end
   */
  async #reached (end) {
    // A builder does not keep the process running, and who waits does.
    const alive = setInterval(() => {}, ALIVE_MS)
    await new Promise((/** @type {(value?: undefined) => void} */ resolve) => {
      this.#waiting.push({ end, tell: resolve })
      this.#wake(0)
    })
    clearInterval(alive)
  }

  /** @param {Array<{ end: number, tell: () => void }>} reached */
  #tell (reached) {
    this.#waiting = this.#waiting.filter((waiter) => !reached.includes(waiter))
    for (const { tell } of reached) tell()
  }

  /** @param {unknown} err */
  #noteFailure (err) {
    if (this.#isClosed || this.#isPaused) return
    if (this.#failure === null) this.#retry()
    this.#failure = explainFailure(err, this.#host.folder)
  }

  async #settled () {
    while (this.#work !== null) await this.#work
  }

  /** @param {number} end  of what is read @returns {Promise<boolean>}  whether there may be more to do */
  async #step (end) {
    // After a failed write, as on a full disk, the blocks stay in memory for a while.
    const mayWrite = !this.#host.isReadOnly && this.#failure === null
    const indexer = this.#indexer
    if (mayWrite && !this.#isLoaded) {
      // The runs could not be opened at first. If they still cannot be, they are built again.
      this.#isLoaded = true
      await this.#load()
      return true
    }
    indexer.removeDropped()
    const block = mayWrite ? indexer.unwritten : undefined
    if (block !== undefined) {
      await indexer.write(block).catch((err) => this.#noteFailure(err))
      return true
    }
    const gap = indexer.nextGap(end)
    if (gap === null) return (mayWrite && await indexer.merge()) || await indexer.settleDoubt()
    await indexer.fill(gap)
    return true
  }
}

/** @param {string} folder */
function closedError (folder) {
  return new LogError('ERR_LOG_CLOSED', `index.ready: the index in ${folder} was closed or dropped before it was complete; open the log again`)
}

exports.LogIndex = LogIndex
