'use strict'
// Looks after sealed segments in the background, one at a time, the oldest first: notes their times, and compresses
// them. A segment that is deleted from is inflated first, and compressed again later. If a crash leaves a plain and a
// compressed file, opening removes the compressed one, unless the plain one lacks its end.

const { isHeld } = require('@millrace/block-file')
const { Turns } = require('@millrace/flow')
const { OffsetLog } = require('@millrace/offset-log')
const { compressFile, inflateFile } = require('./compressed/compress')
const { remove, sizeOf } = require('./files')
const { lacksEnd } = require('./missing')
const { framingOf } = require('./names')
const { SUMS } = require('./opening')
const { replaceFile } = require('./rewriting')

/** A segment that was deleted from is probably deleted from again. */
const CALM_MS = 2000
/** If a reader has a segment open, and the system replaces no open file, each attempt waits twice as long. */
const HELD_MS_MAX = 300_000

/**
 * @typedef {import('./compressed/formats').Format} Format
 * @typedef {import('./segments').Segment} Segment
 * @typedef {import('@millrace/offset-log/composing').Source} Source
 */

/** Ends a compression that is no longer wanted. */
const STOPPED = new Error('the compression was stopped')

class Upkeep {
  #core
  #retention
  /** @type {NodeJS.Timeout | undefined} */
  #timer
  /** What is under way, and the end of that. @type {{ segment: Segment, done: Promise<void> } | null} */
  #running = null
  #isStopped = true
  #mustStop = false
  /** Deletions under way, by segment. @type {Map<Segment, number>} */
  #changing = new Map()
  /** When each was deleted from, by the steady clock. @type {WeakMap<Segment, number>} */
  #changedAtMs = new WeakMap()
  /** How long to leave alone those that readers had open. @type {WeakMap<Segment, number>} */
  #heldMs = new WeakMap()
  /** Segments that stay as they are: not worth it, damaged, or failed. @type {WeakSet<Segment>} */
  #left = new WeakSet()
  /** Inflations run one at a time, and no compression meanwhile. */
  #inflations = new Turns()
  #inflatingCount = 0

  /** @param {import('./core').Core} core  @param {import('./retention').Retention} retention */
  constructor (core, retention) {
    this.#core = core
    this.#retention = retention
  }

  async start () {
    this.#isStopped = false
    await this.#core.times?.load()
    this.schedule()
  }

  /** @returns {Promise<void>} once nothing is being compressed */
  async stop () {
    this.#isStopped = true
    clearTimeout(this.#timer)
    this.#mustStop = true
    await this.#running?.done
  }

  /** Looks for something to do, soon. It does not keep the process running before it has begun. */
  schedule (ms = 0) {
    if (this.#isStopped || (this.#core.options.compress === null && this.#core.times === null)) return
    if (this.#running !== null || this.#inflatingCount > 0) return
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#run(), ms)
    this.#timer.unref?.()
  }

  #run () {
    const { segments, times, options: { compress } } = this.#core
    const now = performance.now()
    let calmInMs = Infinity
    for (const segment of segments.list) {
      if (segment.isActive || segment.isDropped) continue
      if (times?.has(segment) === false) return this.#begin(segment, () => times.note(segment))
      if (compress === null || segment.format !== null || this.#left.has(segment)) continue
      const changedAtMs = this.#changedAtMs.get(segment) ?? -Infinity
      const calmMs = this.#heldMs.get(segment) ?? CALM_MS
      const waitMs = this.#changing.has(segment) ? CALM_MS : changedAtMs + calmMs - now
      if (waitMs <= 0) return this.#begin(segment, () => this.#compress(segment))
      calmInMs = Math.min(calmInMs, waitMs)
    }
    if (calmInMs < Infinity) this.schedule(calmInMs)
  }

  /** @type {(segment: Segment, work: () => Promise<void>) => void} */
  #begin (segment, work) {
    this.#mustStop = false
    const done = work().catch((err) => {
      const mayPass = isHeld(this.#core.options.storage, err)
      if (err !== STOPPED && !segment.isDropped && !mayPass) return this.#warn(segment, err)
      this.#left.delete(segment)
      if (!mayPass) return
      this.#changedAtMs.set(segment, performance.now())
      this.#heldMs.set(segment, Math.min(2 * (this.#heldMs.get(segment) ?? CALM_MS), HELD_MS_MAX))
    }).finally(() => {
      this.#running = null
      this.schedule()
    })
    this.#running = { segment, done }
  }

  /** @type {(segment: Segment, err: Error) => void} */
  #warn ({ path }, { message }) {
    process.emitWarning(`${path} could not be compressed (${message}); it stays as it is`, 'SegmentedLogWarning')
  }

  /** @type {(segment: Segment) => Promise<void>} */
  async #compress (segment) {
    const { segments, options: { storage, compress } } = this.#core
    const format = /** @type {Format} */ (compress)
    this.#left.add(segment)
    const { changeCount } = segment
    const check = () => {
      const isWanted = segment.barrier === null && !segment.isDropped && segment.changeCount === changeCount
      if (this.#mustStop || !isWanted) throw STOPPED
    }
    const isSound = await segments.opened.use(segment, async (log) => {
      const source = /** @type {Source} */ (segment.source)
      // A compressed file beside it may have what it lacks.
      if (log.recovery?.damage.length || lacksEnd(segment, source)) return false
      await log.sync()
      return true
    })
    check()
    if (!isSound) return
    // Closing writes the last bytes of the file.
    await segments.opened.closeWhenUnused(segment)
    const from = segment.filePath
    const compressedPath = from + format.suffix
    const to = `${compressedPath}.new`
    const plainSize = await segments.opened.useFile(segment, () => sizeOf(storage, from))
    try {
      if (!await this.#retention.reserve(plainSize)) return
      check()
      const size = await segments.opened.useFile(segment, async () => {
        const size = await compressFile(storage, { from, to }, format, check)
        // Afterwards: it may have been changed while it was read.
        if (size === null || await isAsWritten(segment, storage)) return size
        await remove(storage, to)
        return null
      })
      if (size === null) return
      await this.#replace(segment, { to: compressedPath, format, size, changeCount })
    } finally {
      await this.#retention.reserve(0)
    }
  }

  /**
   * Runs a deletion in a segment, which is plain meanwhile.
   * @template T
   * @param {Segment} segment
   * @param {() => Promise<T>} action
   * @returns {Promise<T>}
   */
  async change (segment, action) {
    this.#changing.set(segment, (this.#changing.get(segment) ?? 0) + 1)
    try {
      if (segment.format !== null || this.#running?.segment === segment) await this.#stopRunning()
      if (segment.format !== null) await this.#inflate(segment)
      return await action()
    } finally {
      const count = (this.#changing.get(segment) ?? 1) - 1
      if (count > 0) this.#changing.set(segment, count)
      else this.#changing.delete(segment)
      this.#changedAtMs.set(segment, performance.now())
      this.schedule(CALM_MS)
    }
  }

  async #stopRunning () {
    this.#mustStop = true
    await this.#running?.done
  }

  /** @param {Segment} segment @returns {Promise<void>} */
  #inflate (segment) {
    this.#inflatingCount++
    return this.#inflations.run(() => this.#inflateNow(segment).finally(() => {
      this.#inflatingCount--
      return this.#retention.reserve(0)
    }))
  }

  /** @param {Segment} segment */
  async #inflateNow (segment) {
    await this.#stopRunning()
    const { segments, options: { storage } } = this.#core
    const plainSize = await segments.opened.use(segment, async () => /** @type {Source} */ (segment.source).fileSize)
    // Although the quota may be full of what cannot be dropped: the record must go.
    await this.#retention.reserve(plainSize)
    const { format, filePath: from, path: plainPath, changeCount } = segment
    // Another deletion may have inflated it, or retention dropped it.
    if (format === null || segment.isDropped) return
    const files = { from, to: `${plainPath}.new` }
    const size = await segments.opened.useFile(segment, () => inflateFile(storage, files, format))
    await this.#replace(segment, { to: plainPath, format: null, size, changeCount }).catch((err) => {
      if (err !== STOPPED) throw err
    })
  }

  /**
   * Gives a segment its new file, which lies beside it with the suffix `.new`.
   * @param {Segment} segment
   * @param {{ to: string, format: Format | null, size: number, changeCount: number }} file  `changeCount`: of the
   *   segment when its content was read
   */
  async #replace (segment, { changeCount, ...file }) {
    const { segments, options: { storage } } = this.#core
    const from = `${file.to}.new`
    await this.#core.turns.run(() => segments.opened.exclusively(segment, async () => {
      // Retention, or a deletion, may have come before.
      if (segment.isDropped || segment.changeCount !== changeCount || (file.format !== null && this.#mustStop)) {
        await remove(storage, from)
        throw STOPPED
      }
      if (!await replaceFile(this.#core, segment, { from, ...file })) throw STOPPED
      if (file.format !== null) await remove(storage, `${segment.path}.${SUMS}`)
      this.#left.delete(segment)
    }))
  }
}

/**
 * Whether a text is still what the log has written. Once it is compressed nobody can tell: it has checksums of its own.
 * @type {(segment: Segment, storage: any) => Promise<boolean>}
 */
async function isAsWritten ({ name, filePath }, storage) {
  if (framingOf(name) !== 'lines') return true
  const log = OffsetLog(filePath, { framing: 'lines', flags: 'r', storage, cache: 0 })
  try {
    await log.scan({}, () => {})
    return !log.recovery?.changed
  } catch (/** @type {any} */ err) {
    if (err.code !== 'ERR_LOG_CORRUPT') throw err
    return false
  } finally {
    await log.close()
  }
}

exports.Upkeep = Upkeep
