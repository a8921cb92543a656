'use strict'
// Which segments a log has, in order: finds the one of a seq. Which of them are open is in OpenSegments.

const path = require('node:path')
const { LogError } = require('@millrace/errors')
const { OpenSegments } = require('./open-segments')

/**
 * @typedef {import('@millrace/offset-log/composing').Source} Source
 * @typedef {import('@millrace/offset-log/composing').Sink} Sink
 * @typedef {import('./names').SegmentName} SegmentName
 */

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
    /** The segment after it. @type {Segment | null} */
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
  /** In order; the last one is the active one. Those in `#names` are before them. @type {Segment[]} */
  #list = []
  /** Of segments that nobody has asked for since the log was opened: there may be thousands. @type {SegmentName[]} */
  #names = []
  /** As in a listing. @type {Map<string, number>} */
  #kept = new Map()
  /** @type {number | null} */
  #wholeFrom = null
  /** If another process writes the log: looks for what has changed. @type {(() => Promise<void>) | null} */
  refresh = null
  /** Told of each segment whose records are gone, all or all but chosen ones. @type {(segment: Segment) => void} */
  onGone = ignore
  /** Gets one whose records may be others now. @type {(segment: Segment) => void} */
  onReplaced = ignore

  /**
   * @param {string} folder
   * @param {any} sealedOptions  of the log of a sealed segment
   * @param {number} openCountMax
   */
  constructor (folder, sealedOptions, openCountMax) {
    this.#folder = folder
    this.opened = new OpenSegments(folder, this, sealedOptions, openCountMax)
    /** Whether reads go past damage, unless they say otherwise. */
    this.skipsDamage = sealedOptions.onCorrupt === 'skip'
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
      // Somebody may have removed the segments after a kept one.
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

  /** Takes a stand-in off the list; readers that are in it go on after it. */
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

  /** Adds a segment after the others. @param {SegmentName} name */
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
}

function ignore () {}

exports.Segment = Segment
exports.Segments = Segments
