'use strict'
// The segments of an open log, in order: finds the one of a seq, and opens sealed segments when they are needed. The
// number of open files is bounded, however many segments and readers there are.
//
// Who works with a segment calls one of these:
//
// - `pin` opens its log, and keeps it open until `unpin`. For readers, which go on in callbacks.
// - `use` is the same for one asynchronous action: it unpins by itself.
// - `useFile` opens nothing, for an action that opens the file by itself; the file is not replaced meanwhile.
// - `exclusively` waits until nobody uses the segment, closes it, and lets nobody in during its action: the file may
//   be replaced or removed. `closeWhenUnused` is the same without an action.

const path = require('node:path')
const { LogError } = require('@millrace/errors')
const { Turns, pause, toCallback } = require('@millrace/flow')
const { OffsetLog } = require('@millrace/offset-log')
const { errors, openFixed, sinkOf, sourceOf } = require('@millrace/offset-log/composing')
const { BROKEN_CODES, readySegment } = require('./opening')

/**
 * @typedef {import('@millrace/offset-log/composing').Source} Source
 * @typedef {import('@millrace/offset-log/composing').Sink} Sink
 * @typedef {import('./names').SegmentName} SegmentName
 */

/** If all open segments are in use, one may be closed within this time, so many times. */
const ROOM_MS = 10
const ROOM_TRIES = 100
/** So many segments are opened at a time. */
const LANE_COUNT = 4

/** One file of the log. Its own seqs are `base` below those of the log. */
class Segment {
  #parsed
  #folder

  /** @param {SegmentName} name  @param {string} folder */
  constructor (name, folder) {
    this.#parsed = name
    this.#folder = folder
    this.base = name.base
    /** How its file is compressed; null if it is plain. */
    this.format = name.format
    /** The day that it was made, by the calendar of the log; null if nobody has asked. @type {string | null} */
    this.day = null
    /** The open log; null while it is closed. @type {any} */
    this.log = null
    /** Reads the open log, and appends to it. @type {Source | null} */
    this.source = null
    /** @type {Sink | null} */
    this.sink = null
    /** Rises each time it is opened: readers of an earlier opening begin anew. */
    this.generation = 0
    /** How many operations use it now. It stays open meanwhile. */
    this.pinCount = 0
    this.usedAt = 0
    /** Whether appends may still go into it, and since when, by the steady clock. */
    this.isActive = false
    this.activeSinceMs = 0
    /** When this process began it, by the steady clock; NaN if another one did. */
    this.begunAtMs = NaN
    /** Why its file could not be opened as a segment at the last attempt. @type {Error | null} */
    this.brokenError = null
    /** Whether its file is known to be of this log. */
    this.isOwn = false
    /** Whether its file was removed, or is being removed. */
    this.isDropped = false
    /** Whether it was dropped before a reader in another process had seen all of its records. */
    this.isOvertaken = false
    /** The segment behind it. @type {Segment | null} */
    this.next = null
    /** Of its file, in bytes; null if unknown. @type {number | null} */
    this.size = null
    /** @type {Promise<Source> | null} */
    this.opening = null
    /** @type {Promise<void> | null} */
    this.closing = null
    /** Until this is resolved, the file is being replaced: nobody may begin to use it. @type {Promise<void> | null} */
    this.barrier = null
    /** Called when nobody uses it any more. @type {Array<() => void>} */
    this.whenUnused = []
    /** Whether it is closed as soon as nobody uses it, however few are open. */
    this.isRetired = false
    /** Rises whenever records are deleted or left out: a copy that was begun before is useless then. */
    this.changeCount = 0
    /** Of the log of a stand-in, which has no file; null of a segment. @type {object | null} */
    this.logOptions = null
    /** If only chosen records are left: when the last one may have been appended. @type {number | null} */
    this.keptUntilMs = null
  }

  get name () {
    return this.#parsed.name
  }

  get createdMs () {
    return this.#parsed.createdMs
  }

  /** Leads to the log, compressed or not. */
  get path () {
    return path.join(this.#folder, this.name)
  }

  get fileName () {
    return this.name + (this.format?.suffix ?? '')
  }

  get filePath () {
    return path.join(this.#folder, this.fileName)
  }
}

class Segments {
  #folder
  #sealedOptions
  #openCountMax
  /** In order; the last one is the active one. Those in `#names` are in front of them. @type {Segment[]} */
  #list = []
  /** Of segments that nobody has asked for since the log was opened: there may be thousands. @type {SegmentName[]} */
  #names = []
  /** As in a listing. @type {Map<string, number>} */
  #kept = new Map()
  /** @type {number | null} */
  #wholeFrom = null
  /** If another process writes the log: looks for what has changed. @type {(() => Promise<void>) | null} */
  refresh = null
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
  /** Told of each segment whose records are gone, all or all but chosen ones. @type {(segment: Segment) => void} */
  onGone = ignore
  /** Gets one whose records may be others now. @type {(segment: Segment) => void} */
  onReplaced = ignore

  /**
   * @param {string} folder
   * @param {object} sealedOptions  of the log of a sealed segment
   * @param {number} openCountMax
   */
  constructor (folder, sealedOptions, openCountMax) {
    this.#folder = folder
    this.#sealedOptions = sealedOptions
    this.#openCountMax = openCountMax
  }

  /** Whether reads go past damage, unless they say otherwise. */
  get skipsDamage () {
    return /** @type {any} */ (this.#sealedOptions).onCorrupt === 'skip'
  }

  get list () {
    if (this.#names.length === 0) return this.#list
    const before = this.#names.splice(0).map((name) => this.#create(name))
    this.#list = [...before, ...this.#list]
    before.forEach((segment, index) => { segment.next = this.#list[index + 1] })
    return this.#list
  }

  get first () {
    return this.list[0]
  }

  /** From this seq on every record is there that was not deleted. Of earlier segments only chosen records are left. */
  get wholeFrom () {
    if (this.#wholeFrom === null) {
      const { list } = this
      const whole = list[list.findLastIndex(({ keptUntilMs }) => keptUntilMs !== null) + 1]
      // Somebody may have removed the segments behind a kept one.
      this.#wholeFrom = whole?.base ?? Infinity
    }
    return this.#wholeFrom
  }

  get last () {
    return this.#list[this.#list.length - 1]
  }

  get count () {
    return this.#names.length + this.#list.length
  }

  /** How many have a file. */
  get fileCount () {
    return this.count - (this.last.logOptions === null ? 0 : 1)
  }

  /** The newest one that has a file. */
  get lastFile () {
    const { last } = this
    return last.logOptions === null ? last : this.before(last) ?? last
  }

  /** Takes a stand-in off the list; readers that are in it go on behind it. */
  dropStandIn () {
    const { last } = this
    if (last.logOptions !== null && this.count > 1) this.#list = this.list.filter((segment) => segment !== last)
    return last
  }

  /** @param {SegmentName[]} names  of all segments, when the log opens  @param {Map<string, number>} kept */
  begin (names, kept) {
    this.#kept = kept
    this.#names = names.slice(0, -1)
    this.add(names[names.length - 1])
  }

  /** @param {SegmentName} name */
  #create (name) {
    const segment = new Segment(name, this.#folder)
    if (this.#kept.size > 0) segment.keptUntilMs = this.#kept.get(name.name) ?? null
    return segment
  }

  /** Adds a segment behind the others. @param {SegmentName} name */
  add (name) {
    const segment = this.#create(name)
    if (this.#list.length > 0) this.last.next = segment
    this.#list.push(segment)
    if (this.#wholeFrom === Infinity) this.#wholeFrom = null
    return segment
  }

  /** Takes segments off the list: reads no longer find them. @param {Segment[]} dropped  not the last one */
  drop (dropped) {
    for (const segment of dropped) segment.isDropped = true
    this.#list = this.list.filter(({ isDropped }) => !isDropped)
    // A reader goes on from a dropped segment as before, and meets the one that it misses.
    this.#list.forEach((segment, index, list) => { segment.next = list[index + 1] ?? null })
    this.#wholeFrom = null
    for (const segment of dropped) this.onGone(segment)
  }

  /** @type {(segment: Segment, untilMs: number | null) => void} null: every record is there after all */
  mark (segment, untilMs) {
    segment.keptUntilMs = untilMs
    this.#wholeFrom = null
  }

  /** The last one whose base is not above the seq; the first if there is none. @param {number} seq */
  find (seq) {
    const { list } = this
    let low = 0
    let high = list.length - 1
    while (low < high) {
      const middle = (low + high + 1) >>> 1
      if (list[middle].base <= seq) low = middle
      else high = middle - 1
    }
    return list[low]
  }

  /**
   * With `keep`, those before a segment may outlive it.
   * @type {(segment: Segment) => Segment | null} the one before it that is there, even if it was dropped itself
   */
  before ({ base }) {
    return base <= this.first.base ? null : this.find(base - 1)
  }

  /**
   * The error of a seq below the first segment; null if it is not.
   * @type {(call: string, seq: number) => LogError | null}
   */
  retainedError (call, seq) {
    return seq > 0 && seq < this.first.base ? this.#retained(call, seq) : null
  }

  /**
   * The same of one record. A read may begin at 0, whatever the log has dropped; a record of lines may have been there.
   * @type {(call: string, seq: number) => LogError | null}
   */
  droppedError (call, seq) {
    return seq === 0 && this.first.base > 0 ? this.#retained(call, seq) : this.retainedError(call, seq)
  }

  /**
   * The error of a seq from which on records were dropped; null if they were not.
   * @type {(call: string, seq: number) => LogError | null}
   */
  cutError (call, seq) {
    return seq > 0 && seq < this.wholeFrom ? this.#retained(call, seq) : null
  }

  /** @type {(call: string, seq: number) => LogError} */
  #retained (call, seq) {
    const path = this.#folder
    const chosen = this.wholeFrom > this.first.base ? ', all but chosen ones' : ''
    return new LogError('ERR_LOG_SEQ_RETAINED', `${call}: ${path} has dropped its records below ${this.wholeFrom}${chosen}, as ` +
      `its limits say, and with them ${seq}. Read from the first record that is kept (gt: -1), and build views again`,
    { offset: seq, path })
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
    this.#opened.add(segment)
    try {
      await segment.closing?.catch(ignore)
      const options = /** @type {any} */ (segment.logOptions ?? this.#sealedOptions)
      const lane = this.#lanes[this.#openCount++ % this.#lanes.length]
      return await lane.run(async () => {
        // Another log may have the folder now, and two that recover one file would harm it.
        if (this.#isEnded) throw errors.closedError('read', this.#folder)
        const log = openSealed(segment, options, this.last.source?.id ?? null)
        await readySegment(log, options)
        return this.noteOpen(segment, log)
      })
    } catch (/** @type {any} */ err) {
      this.#opened.delete(segment)
      const isGone = err.code === 'ENOENT'
      if (isGone) await this.refresh?.()
      const cut = isGone && segment.isDropped ? this.cutError('stream', segment.base + 1) : null
      if (cut !== null || !BROKEN_CODES.has(err.code)) throw cut ?? err
      throw (segment.brokenError = brokenError(segment, err))
    } finally {
      segment.opening = null
    }
  }

  /** @type {(segment: Segment, log: any) => Source} the log is open */
  noteOpen (segment, log) {
    this.#opened.add(segment)
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
    let left = open.length - this.#openCountMax
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

  /**
   * Too many files are open: closes half of the segments that nobody uses. From now on fewer stay open.
   * @param {number} count  how often this was called for one file
   * @returns {Promise<boolean>}  whether it may help
   */
  async closeSome (count) {
    const { open, unused } = this.#findOpen()
    // Whoever waits may be what closes one of them, so it does not wait without an end.
    if (unused.length === 0) {
      const mayHelp = count < ROOM_TRIES && [...this.#opened].some(({ log, isActive }) => log !== null && !isActive)
      if (mayHelp) await pause(ROOM_MS)
      return mayHelp
    }
    this.#openCountMax = Math.max(1, Math.min(this.#openCountMax, Math.floor(open.length / 2)))
    await Promise.allSettled(unused.slice(0, Math.ceil(unused.length / 2)).map((segment) => this.#close(segment)))
    return true
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
      if (segment.opening === null) this.#opened.delete(segment)
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
    this.last.isActive = false
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

exports.Segment = Segment
exports.Segments = Segments
