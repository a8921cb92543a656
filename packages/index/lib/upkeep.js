'use strict'
// When an index works: it keeps up with its log in the background, one step at a time. What a step does is in the
// Indexer.

const { performance } = require('node:perf_hooks')
const { clearInterval, clearTimeout, setImmediate, setInterval, setTimeout } = require('node:timers')
const { LogError } = require('@millrace/errors')
const { Turns } = require('@millrace/flow')
const { explainFailure } = require('./failure')

const RETRY_MS = 10_000
const ALIVE_MS = 60_000
/** How often a reader looks for the runs that the writer of its log has made. */
const LOOK_MS = 1000

class Upkeep {
  #host
  #indexer
  #folder
  #builder
  /** Resolved once it is known which runs there are. @type {Promise<void>} */
  opened = Promise.resolve()
  /** Whether it shall look again what there is to do. */
  #isAwoken = false
  /** Two at once would open the same files. */
  #loads = new Turns()
  /** When the last one began. */
  #loadedMs = -Infinity
  /** Whether the runs that were there at first are known, or given up. */
  #isLoaded = false
  /** The work that is running. @type {Promise<void> | null} */
  #work = null
  /** Those who wait until nothing is left to do before an end. @type {Array<{ end: number, tell: () => void }>} */
  #waiting = []
  /** @type {NodeJS.Timeout | null} */
  #timer = null
  /** @type {Error | null} */
  #failure = null
  #isEnded = false
  /** It may be paused again before it goes on. */
  #pauseCount = 0
  /** Those who wait until it goes on, or has ended. @type {Array<(value?: undefined) => void>} */
  #resumed = []

  /**
   * @param {import('./log-index').Host} host
   * @param {object} parts
   * @param {import('./indexer').Indexer} parts.indexer
   * @param {import('./run-folder').RunFolder} parts.folder
   * @param {import('./remote-builder').RemoteBuilder | null} parts.builder
   */
  constructor (host, { indexer, folder, builder }) {
    this.#host = host
    this.#indexer = indexer
    this.#folder = folder
    this.#builder = builder
  }

  begin () {
    this.opened = this.#open()
  }

  async #open () {
    await this.#load().catch((err) => this.#noteFailure(err))
    this.#builder?.open()
    this.wake(0)
  }

  async #load () {
    this.#loadedMs = performance.now()
    await this.#indexer.load()
    this.#isLoaded = true
  }

  /** Takes the runs that the writer of the log has made since; of a log that is read only. */
  async loadAgain () {
    if (this.#host.isReadOnly) await this.#loads.run(async () => { if (!this.#isEnded) await this.#load() })
  }

  /** What the writer has made is taken in the next pass. */
  lookSoon () {
    this.#loadedMs = -Infinity
  }

  /** Why no runs are written; null while they are. */
  get failure () {
    return this.#failure
  }

  // When it may work.

  get isPaused () {
    return this.#pauseCount > 0
  }

  /** If not, a step that is under way ends, and its result is not used. */
  get mayWork () {
    return !this.#isEnded && !this.isPaused
  }

  /** Until `resume` was called as often, nothing is added. */
  pause () {
    this.#pauseCount++
  }

  /** @returns {boolean}  whether it goes on */
  resume () {
    this.#pauseCount--
    if (!this.mayWork) return false
    this.#tellResumed()
    this.wake(0)
    return true
  }

  /** Nothing is begun any more. */
  end () {
    this.#isEnded = true
    this.#tellResumed()
    if (this.#timer !== null) clearTimeout(this.#timer)
  }

  /** Waits until nothing is under way, once it was ended. */
  async ended () {
    await this.opened
    await this.#loads.settled()
    await this.settled()
  }

  /** Waits for the step that is under way, once it may not work. */
  async settled () {
    while (this.#work !== null) await this.#work
  }

  #tellResumed () {
    for (const tell of this.#resumed.splice(0)) tell()
  }

  async #untilResumed () {
    await new Promise((/** @type {(value?: undefined) => void} */ resolve) => { this.#resumed.push(resolve) })
  }

  // When it works.

  /** @param {number} ms  from now; 0 for at once */
  wake (ms) {
    if (!this.mayWork) return
    if (ms > 0) {
      this.#timer ??= setTimeout(() => this.wake(0), ms).unref()
      return
    }
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    this.#isAwoken = true
    this.#work ??= this.#workOn()
  }

  wakeIfIdle () {
    if (this.#work === null) this.wake(0)
  }

  wakeIfBehind () {
    // A reader whose memory is full waits for runs of the writer.
    const isWaiting = this.#host.isReadOnly && performance.now() - this.#loadedMs >= LOOK_MS
    if (isWaiting || this.#indexer.nextGap() !== null) this.wake(0)
  }

  /** Waits until all that is readable now is in the index, and in runs. */
  async ready () {
    // A log that grows as fast as it is indexed has no end but that of now.
    const { end } = this.#host
    await this.opened
    this.#failure = null
    await this.loadAgain()
    while (!this.#isEnded) {
      // A compaction removes all that is there.
      if (this.isPaused) await this.#untilResumed()
      else await this.#reached(end)
      if ((!this.isPaused && this.#indexer.nextGap(end) === null) || this.#failure !== null) break
    }
    if (this.#isEnded) throw closedError(this.#host.folder)
    if (this.#failure !== null) throw this.#failure
  }

  /**
   * Waits until nothing is left to do before an end, or something fails. It may work.
   * @param {number} end
   */
  async #reached (end) {
    // A builder does not keep the process running, and who waits does.
    const alive = setInterval(() => {}, ALIVE_MS)
    await new Promise((/** @type {(value?: undefined) => void} */ resolve) => {
      this.#waiting.push({ end, tell: resolve })
      this.wake(0)
    })
    clearInterval(alive)
  }

  /** @param {Array<{ end: number, tell: () => void }>} reached */
  #tell (reached) {
    this.#waiting = this.#waiting.filter((waiter) => !reached.includes(waiter))
    for (const { tell } of reached) tell()
  }

  async #workOn () {
    await this.opened
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
    if (performance.now() - this.#loadedMs >= LOOK_MS) await this.loadAgain()
    // What is appended meanwhile waits for its turn: a few records at a time would cost much.
    const { end } = this.#host
    while (this.mayWork) {
      const waiting = [...this.#waiting]
      // Who waits does not wait for what came later.
      const next = Math.min(end, ...waiting.map(({ end }) => end))
      if (await this.#step(next)) continue
      await this.#folder.clean()
      this.#tell(waiting.filter(({ end }) => end <= next))
      if (next < end) continue
      await this.#indexer.sift(() => !this.#isAwoken && this.mayWork)
      return
    }
    await this.#folder.clean()
    this.#tell(this.#waiting)
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

  /** @param {unknown} err */
  #noteFailure (err) {
    if (!this.mayWork) return
    if (this.#failure === null) this.#retry()
    this.#failure = explainFailure(err, this.#host.folder)
  }

  /** Tries again to write runs, later. */
  #retry () {
    setTimeout(() => {
      this.#failure = null
      this.wake(0)
    }, RETRY_MS).unref()
  }
}

/** @param {string} folder */
function closedError (folder) {
  return new LogError('ERR_LOG_CLOSED', `index.ready: the index in ${folder} was closed or dropped before it was complete; open the log again`)
}

exports.Upkeep = Upkeep
