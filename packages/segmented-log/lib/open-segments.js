'use strict'
// Which segments are open: opens sealed ones when they are needed. The number of open files is bounded, however many
// segments and readers there are.
//
// Who works with a segment calls one of these:
//
// - `pin` opens its log, and keeps it open until `unpin`. For readers, which go on in callbacks.
// - `use` is the same for one asynchronous action: it unpins by itself.
// - `useFile` opens nothing, for an action that opens the file by itself; the file is not replaced meanwhile.
// - `exclusively` waits until nobody uses the segment, closes it, and lets nobody in during its action: the file may
//   be replaced or removed. `closeWhenUnused` is the same without an action.

const { room } = require('@millrace/block-file')
const { LogError } = require('@millrace/errors')
const { Turns, toCallback } = require('@millrace/flow')
const { OffsetLog } = require('@millrace/offset-log')
const { errors, openFixed, sinkOf, sourceOf } = require('@millrace/offset-log/composing')
const { BROKEN_CODES, readySegment } = require('./opening')

/** So many segments are opened at a time. */
const LANE_COUNT = 4

/**
 * @typedef {import('@millrace/offset-log/composing').Source} Source
 * @typedef {import('@millrace/block-file').Keeper} Keeper
 * @typedef {import('./segments').Segment} Segment
 */

/** @implements {Keeper} */
class OpenSegments {
  #folder
  #segments
  #options
  #countMax
  /** Those that are open, or being opened or closed; dropped ones too. @type {Set<Segment>} */
  #opened = new Set()
  #clock = 0
  /** Opening one takes several files: if each of many has some, and waits for the next, none gets further. */
  #lanes = Array.from({ length: LANE_COUNT }, () => new Turns())
  #openCount = 0
  #isEnded = false
  /** Segments with deletions that may not be on stable storage. @type {Set<Segment>} */
  #unsynced = new Set()
  /** Set once a deletion could not be synced: then nobody knows what is durable. @type {Error | null} */
  failure = null

  /**
   * @param {string} folder
   * @param {Pick<import('./segments').Segments, 'last' | 'refresh' | 'cutError'>} segments  all of them
   * @param {object} options  of the log of a sealed segment
   * @param {number} countMax  so many sealed ones stay open
   */
  constructor (folder, segments, options, countMax) {
    this.#folder = folder
    this.#segments = segments
    this.#options = options
    this.#countMax = countMax
  }

  /**
   * Opens a segment if it is closed, and keeps it open until `unpin`, which must follow even an error.
   * @param {Segment} segment
   * @param {(err: Error | null, source?: Source) => void} cb  may run before `pin` returns
   */
  pin (segment, cb) {
    if (segment.barrier !== null) return toCallback(segment.barrier, () => this.pin(segment, cb))
    segment.pinCount++
    segment.usedAt = ++this.#clock
    if (this.#isEnded) cb(errors.closedError('read', this.#folder))
    else if (segment.source !== null && segment.closing === null) cb(null, segment.source)
    else toCallback(segment.opening ??= this.#open(segment), cb)
  }

  /** @param {Segment} segment */
  unpin (segment) {
    segment.pinCount--
    if (segment.pinCount === 0) for (const run of segment.whenUnused.splice(0)) run()
    this.#closeUnused()
    if (segment.pinCount === 0) room.noteClosable()
  }

  /** @type {(segment: Segment) => Promise<void>} resolved once no operation uses the segment */
  async #unused (segment) {
    while (segment.pinCount > 0) await new Promise((resolve) => segment.whenUnused.push(() => resolve(null)))
  }

  /** @type {<T>(segment: Segment, use: (log: any) => Promise<T>) => Promise<T>} */
  async use (segment, use) {
    try {
      await new Promise((resolve, reject) => this.pin(segment, (err) => err ? reject(err) : resolve(null)))
      return await use(segment.log)
    } finally {
      this.unpin(segment)
    }
  }

  /**
   * Runs an action that opens the segment's file by itself. `exclusively` waits for it.
   * @template T
   * @param {Segment} segment
   * @param {() => Promise<T>} action
   * @returns {Promise<T>}
   */
  async useFile (segment, action) {
    while (segment.barrier !== null) await segment.barrier
    segment.pinCount++
    try {
      return await action()
    } finally {
      this.unpin(segment)
    }
  }

  /**
   * Runs an action while the segment is closed and nobody uses its file.
   * @type {<T>(segment: Segment, action: () => Promise<T>) => Promise<T>}
   */
  async exclusively (segment, action) {
    while (segment.barrier !== null) await segment.barrier
    let release = () => {}
    segment.barrier = new Promise((resolve) => { release = resolve })
    try {
      await this.#unused(segment)
      await this.#close(segment)
      return await action()
    } finally {
      segment.barrier = null
      release()
    }
  }

  /** @param {Segment} segment @returns {Promise<void>}  its next user opens it again */
  closeWhenUnused (segment) {
    return this.exclusively(segment, async () => {})
  }

  /** @param {Segment} segment @returns {Promise<Source>} */
  async #open (segment) {
    this.#note(segment)
    try {
      await segment.closing?.catch(ignore)
      const options = /** @type {any} */ (segment.logOptions ?? this.#options)
      const lane = this.#lanes[this.#openCount++ % this.#lanes.length]
      return await lane.run(async () => {
        // Another log may have the folder now, and two that recover one file would harm it.
        if (this.#isEnded) throw errors.closedError('read', this.#folder)
        const log = openSealed(segment, options, this.#segments.last.source?.id ?? null)
        await readySegment(log, options)
        return this.noteOpen(segment, log)
      })
    } catch (/** @type {any} */ err) {
      this.#forget(segment)
      const isGone = err.code === 'ENOENT'
      if (isGone) await this.#segments.refresh?.()
      const cut = isGone && segment.isDropped ? this.#segments.cutError('stream', segment.base + 1) : null
      if (cut !== null || !BROKEN_CODES.has(err.code)) throw cut ?? err
      throw (segment.brokenError = brokenError(segment, err))
    } finally {
      segment.opening = null
    }
  }

  /** @param {Segment} segment  that is open, or is being opened */
  #note (segment) {
    this.#opened.add(segment)
    room.join(this)
  }

  /** @param {Segment} segment  that is closed */
  #forget (segment) {
    this.#opened.delete(segment)
    if (this.#opened.size === 0) room.leave(this)
  }

  /** @type {(segment: Segment, log: any) => Source} the log is open */
  noteOpen (segment, log) {
    this.#note(segment)
    segment.log = log
    segment.sink = sinkOf(log)
    segment.isRetired = false
    // Whoever reads on from the file before is told of what this one lacks.
    segment.isOvertaken = false
    segment.brokenError = null
    segment.generation++
    return (segment.source = sourceOf(log))
  }

  /**
   * Closes what was dropped or retired, and, while too many are open, the sealed segments that were not used for
   * longest. What is used stays open until its last user lets go.
   */
  #closeUnused () {
    const { open, unused } = this.#findOpen()
    let left = open.length - this.#countMax
    for (const segment of unused) {
      // If the closing slot cannot be written, the next open finds the end by itself.
      if (left-- > 0 || segment.isDropped || segment.isRetired) this.#close(segment).catch(ignore)
    }
  }

  /** Sealed ones; those that nobody uses in the order in which they were used. */
  #findOpen () {
    const open = [...this.#opened].filter(({ log, isActive, closing }) => log !== null && !isActive && closing === null)
    return { open, unused: open.filter(({ pinCount }) => pinCount === 0).sort((a, b) => a.usedAt - b.usedAt) }
  }

  /** @type {Keeper['closeSome']} */
  closeSome () {
    const { open, unused } = this.#findOpen()
    if (unused.length === 0) return null
    this.#countMax = Math.max(1, Math.min(this.#countMax, Math.floor(open.length / 2)))
    const some = unused.slice(0, Math.ceil(unused.length / 2))
    return Promise.allSettled(some.map((segment) => this.#close(segment)))
  }

  /** To close a log takes time. */
  closeSomeNow () {
    return false
  }

  isInUse () {
    return [...this.#opened].some(({ log, isActive }) => log !== null && !isActive)
  }

  /**
   * Closes the log of a segment that is no longer the newest one. Readers open it again if they need it.
   * @param {Segment} segment  everything in it is durable
   */
  retire (segment) {
    segment.isRetired = true
    this.#closeUnused()
  }

  /**
   * Closing syncs what was deleted.
   * @param {Segment} segment  that nobody uses or appends to
   * @returns {Promise<void>}
   */
  async #close (segment) {
    if (segment.log !== null) segment.closing ??= this.#closeLog(segment)
    await segment.closing
  }

  /** @param {Segment} segment */
  async #closeLog (segment) {
    try {
      await segment.log.close()
      this.#unsynced.delete(segment)
    } catch (err) {
      // Its file is gone: a sync that was under way finds no name.
      if (segment.isDropped) return
      if (this.#unsynced.has(segment)) this.failure ??= unsyncedError(segment.path, err)
      throw err
    } finally {
      segment.log = segment.source = segment.sink = segment.closing = null
      if (segment.opening === null) this.#forget(segment)
      room.noteClosable()
    }
  }

  /** @param {Segment} segment  of which records are being deleted, or were */
  noteDeletion (segment) {
    segment.changeCount++
    this.#unsynced.add(segment)
  }

  /** After a failed sync, changed bytes may never reach the disk, although the next sync succeeds. @param {any} err */
  noteFailure (err) {
    if (err.code === 'ERR_LOG_POISONED') this.failure ??= err
  }

  /** Puts all deletions in sealed segments on stable storage. */
  async syncDeletions () {
    for (const segment of [...this.#unsynced]) {
      const { changeCount } = segment
      try {
        if (!segment.isActive && !segment.isDropped) await this.use(segment, (log) => log.sync())
      } catch (err) {
        this.noteFailure(err)
        // Retention may have dropped it meanwhile.
        if (!segment.isDropped) throw err
      }
      // An active one may be sealed by the time that it is looked at again. Others may have deleted from it meanwhile.
      if (!segment.isActive && segment.changeCount === changeCount) this.#unsynced.delete(segment)
    }
    if (this.failure !== null) throw this.failure
  }

  /** Closes dropped segments that no operation uses; the others are closed after it. @param {Segment[]} dropped */
  async closeDropped (dropped) {
    await Promise.allSettled(dropped.map((segment) => segment.pinCount === 0 && this.#close(segment)))
  }

  /**
   * Closes all segments, each when its last reader lets go. None is opened any more: a reader that wants to go on fails
   * with ERR_LOG_CLOSED.
   * @returns {Promise<void>}  rejected with the first failure
   */
  async end () {
    this.#isEnded = true
    this.#segments.last.isActive = false
    const results = await Promise.allSettled([...this.#opened].map(async (segment) => {
      await segment.opening?.catch(ignore)
      await this.#unused(segment)
      await this.#close(segment)
    }))
    const failed = results.find(({ status }) => status === 'rejected')
    if (failed) throw /** @type {PromiseRejectedResult} */ (failed).reason
    if (this.failure !== null) throw this.failure
  }
}

/**
 * A writer never opens a compressed file for writing: what it would repair there can only be repaired in the plain one.
 * What names a segment of lines is beside it, and removing both takes two steps: after a kill between them, what is
 * left gets the id of the log. With one of its own it would count as that of another log, and stay.
 * @type {(segment: Pick<Segment, 'path' | 'format'>, options: any, id: Buffer | null) => any}
 */
function openSealed ({ path, format }, options, id) {
  const isFixed = format !== null && options.flags === 'r+'
  if (isFixed) return openFixed(path, options)
  return OffsetLog(path, options.framing === 'lines' && id !== null ? { ...options, id: id.toString('hex') } : options)
}

/** @type {(segment: Segment, cause: Error) => LogError} */
function brokenError ({ base, next, path }, cause) {
  const range = next === null || next.logOptions !== null ? `from ${base} on` : `from ${base} to ${next.base}`
  return new LogError('ERR_LOG_CORRUPT', `${path} cannot be read as a segment, so the records with seqs ${range} are missing (${cause.message}). ` +
    'Keep a copy of the file; put one from a backup in its place, or read the other segments with onCorrupt: "skip"',
  { cause, offset: base, path })
}

/** @type {(path: string, cause: any) => Error} */
function unsyncedError (path, cause) {
  if (cause.code === 'ERR_LOG_POISONED') return cause
  return new LogError('ERR_LOG_POISONED', `${path} could not be closed after a deletion (${cause.message}), so that may not ` +
    'be on stable storage; the log takes no more changes. Close it, check the disk, open it again', { cause, path })
}

function ignore () {}

exports.OpenSegments = OpenSegments
