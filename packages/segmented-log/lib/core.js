'use strict'
// What the parts of one open segmented log share. To the streams, scans and reads of offset-log it looks like one file.

const path = require('node:path')
const { LogError } = require('@millrace/errors')
const { Lifecycle, Turns, createObservable, toCallback } = require('@millrace/flow')
const { composeFile, errors, peekId } = require('@millrace/offset-log/composing')
const { INDEX_FOLDER } = require('./names')
const { explain, openSegmentedRange } = require('./reader')
const { Segments } = require('./segments')
const { RecordTimes } = require('./record-times')

/**
 * @typedef {import('@millrace/offset-log/composing').LogFile} LogFile
 * @typedef {import('@millrace/offset-log/composing').Source} Source
 * @typedef {import('@millrace/offset-log/composing').Range} Range
 * @typedef {import('./segments').Segment} Segment
 * @typedef {ReturnType<typeof import('./options').parseOptions>} Options
 * @typedef {import('./record-times').TimeBounds} TimeBounds
 * @typedef {(err: Error | null, found?: { data: Buffer, isDeleted: boolean }) => void} FoundCallback
 */

/** Of a segment that is damaged, or was dropped. */
const UNPROVEN_CODES = new Set(['ERR_LOG_CORRUPT', 'ERR_LOG_SEQ_RETAINED', 'ENOENT'])

/** Of an open that fails for a while: too many files, no memory, no right. */
const UNOPENED = ['EMFILE', 'ENFILE', 'ENOMEM', 'EACCES', 'EPERM']

class Core {
  /** @param {string} folder  @param {Options} options */
  constructor (folder, options) {
    this.folder = folder
    this.options = options
    this.segments = new Segments(folder, options.sealed, options.openSegments)
    this.times = options.time === null ? null : new RecordTimes(this)
    /** Whoever removes, renames or replaces files of the folder takes a turn. */
    this.turns = new Turns()
    /** @type {import('@millrace/flow').Obz<number>} */
    this.since = createObservable()
    /** @type {import('@millrace/flow').Obz<number>} */
    this.durable = createObservable()
    this.lifecycle = new Lifecycle((name) => errors.closedError(name, folder))
    /** The seq of the last record before the newest segment; -1 if there is none. */
    this.sinceBefore = -1
    /** @type {import('@millrace/offset-log/composing').ComposedFile} */
    this.file = composeFile({
      path: folder,
      flags: options.isWriter ? 'r+' : 'r',
      options,
      lifecycle: this.lifecycle,
      since: this.since,
      peek: new Peeker(this.segments),
      readRecord: (seq, cb) => this.#readRecord(seq, cb),
      findEnd: () => /** @type {Segment} */ (this.#active).base + /** @type {Source} */ (this.#activeSource).end,
      openRange: (range, cb) => openSegmentedRange(this.segments, range, null, cb)
    })
    /** Reads without an index. */
    this.openRange = /** @type {import('@millrace/offset-log/composing').OpenRange} */ (this.file.openRange)
  }

  /** The newest segment. @type {Segment | null} */
  #active = null
  /** Reads it: known even after its log was closed. @type {Source | null} */
  #activeSource = null
  /** Stops listening to the newest segment. */
  #forget = () => {}

  /** The folder was moved or replaced: nobody would find what is appended. @param {Error} cause  ERR_FILE_MOVED */
  noteMoved (cause) {
    // A reader's streams are told by those who follow.
    if (!this.options.isWriter) return
    this.segments.opened.failure ??= new LogError('ERR_LOG_POISONED', `${cause.message}; the log takes no more changes`,
      { cause, path: this.folder })
  }

  /**
   * Whether a file is a segment of another log. What cannot be read is damaged, and belongs to this one.
   * @param {string} name  of a file in the folder
   * @returns {Promise<LogError | null>}  null if it is of this log
   * @throws if the file cannot be opened now: it may be anybody's
   */
  async findForeign (name) {
    const own = /** @type {Source} */ (this.segments.last.source).id
    const file = path.join(this.folder, name)
    const { id } = await peekId(file, this.options.active.storage).catch((err) => {
      if (UNOPENED.includes(err.code)) throw err
      return { id: null }
    })
    if (id === null || own === null || id.equals(own)) return null
    return new LogError('ERR_LOG_FOREIGN_SEGMENT', `${file} is a segment of another log, and was not removed; move it to ` +
      `where it belongs. Its id is ${id.toString('hex')}, that of this log ${own.toString('hex')}`, { path: file })
  }

  /**
   * The log, of which reads see only the records of a period.
   * @type {(bounds: TimeBounds, indexing: import('@millrace/offset-log/composing').Indexing | null) => LogFile}
   */
  fileWithin (bounds, indexing) {
    const { segments } = this
    const times = /** @type {RecordTimes} */ (this.times)
    const filter = times.createFilter(bounds)
    /** @type {import('@millrace/offset-log/composing').OpenRange} */
    const openRange = (_, range, cb) => {
      toCallback(times.load(), () => openSegmentedRange(segments, range, { times, bounds, filter }, cb))
    }
    const file = Object.create(this.file)
    // A count that an index is sure of knows no period.
    file.countSure = undefined
    file.openRange = indexing?.openRangeWithin.bind(indexing, { openRange, isWithin: filter }) ?? openRange
    return file
  }

  /** How the log looks to an index, besides what every log tells it. */
  get indexParts () {
    const { folder, segments, options: { isWriter, storage } } = this
    return {
      path: folder,
      folder: path.join(folder, INDEX_FOLDER),
      storage,
      findFile: () => segments.last.filePath,
      isReadOnly: !isWriter,
      findStart: () => segments.first.base,
      findErasedCount: (/** @type {number} */ seq) => this.ask(seq, ({ erasedCount }) => erasedCount),
      findErased: (/** @type {{ from: number, to: number }} */ range) => this.#listErased(range),
      isErased: async (/** @type {number} */ seq) => {
        return await this.ask(seq, (source, local) => source.isErased(local)) ?? false
      },
      identity: () => ({ id: segments.last.source?.id ?? null, epoch: 0 }),
      prove: async (/** @type {number} */ seq) => (await this.proveRecord(seq))?.crc ?? null,
      findDoubt: () => isWriter ? null : segments.last.source?.failure ?? null,
      nextBorder: (/** @type {number} */ seq) => segments.find(seq).next?.base ?? Infinity
    }
  }

  /** @type {(range: { from: number, to: number }) => Promise<number[]>} in one segment */
  async #listErased ({ from, to }) {
    const { base } = this.segments.find(from)
    const found = await this.ask(from, (source, local) => source.findErased({ from: local, to: to - base }))
    return (found ?? []).map((seq) => seq + base)
  }

  /**
   * Asks the segment with a seq.
   * @template T
   * @param {number} seq
   * @param {(source: Source, local: number) => T | Promise<T>} ask
   * @returns {Promise<T | null>}  null if there is none, or it cannot be read
   */
  async ask (seq, ask) {
    const { segments } = this
    const segment = segments.find(seq)
    if (seq < segment.base || segment.logOptions !== null) return null
    try {
      const { base } = segment
      return await segments.opened.use(segment, async () => ask(/** @type {Source} */ (segment.source), seq - base))
    } catch (/** @type {any} */ err) {
      if (UNPROVEN_CODES.has(err?.code)) return null
      throw err
    }
  }

  /**
   * What stands for a record and all before it in its segment.
   * @type {(seq: number) => Promise<import('@millrace/offset-log/composing').Proof | null>}
   */
  proveRecord (seq) {
    return this.ask(seq, (source, local) => source.prove(local))
  }

  /** @type {(seq: unknown, cb: FoundCallback) => void} */
  #readRecord (seq, cb) {
    const { segments } = this
    // Of what is none only the kind is told.
    const asked = typeof seq === 'number' ? seq : NaN
    const retained = typeof seq === 'number' ? segments.droppedError('get', seq) : null
    if (retained) return cb(retained)
    const found = typeof seq === 'number' ? segments.find(seq) : segments.last
    // What a stand-in would have is lost with the segment before it.
    const segment = found.logOptions === null ? found : segments.lastFile
    segments.opened.pin(segment, (err, source) => {
      const done = (/** @type {Error | null} */ err, /** @type {any} */ found) => {
        const cut = found?.isDeleted ? segments.cutError('get', asked) : null
        const failure = err && explain('get', err, { segments, segment, seq: asked })
        segments.opened.unpin(segment)
        cb(cut ?? failure, found)
      }
      if (err || !source) return done(err, undefined)
      // What is no seq stays as it is, and is refused.
      const local = typeof seq === 'number' && seq >= segment.base ? seq - segment.base : seq
      source.readRecord(local, done)
    })
  }

  /**
   * Makes a segment the newest one, which gets all appends.
   * @param {Segment} segment  @param {any} log  open
   */
  activate (segment, log) {
    const { segments, since, durable } = this
    segment.activeSinceMs = performance.now()
    if (this.#active !== null) {
      this.#active.isActive = false
      segment.begunAtMs = segment.activeSinceMs
    }
    this.#active = segment
    if (since.value !== undefined) this.sinceBefore = since.value
    segment.isActive = true
    segment.isOwn = true
    this.#activeSource = segments.opened.noteOpen(segment, log)
    this.#forget()
    const stops = [
      this.#activeSource.whenRecordsMayDiffer(() => segments.onReplaced(segment)),
      log.since((/** @type {number} */ seq) => { if (seq !== -1) this.#show(segment.base + seq) }),
      // What lies before the newest segment is durable.
      log.durable((/** @type {number} */ seq) => {
        const shown = seq === -1 ? this.sinceBefore : segment.base + seq
        if (since.value !== undefined && shown !== durable.value) durable.set(Math.min(shown, since.value))
      })
    ]
    this.#forget = () => stops.forEach((stop) => stop())
  }

  /** @param {number} seq  of the last readable record */
  #show (seq) {
    if (seq === this.since.value) return
    this.since.set(seq)
    this.file.waitingStreams.wake()
  }

  /** Sets `since` and `durable` when the log opens. @param {number} sinceBefore */
  begin (sinceBefore) {
    const { segments: { last }, since, durable } = this
    this.sinceBefore = sinceBefore
    const global = (/** @type {number} */ seq) => seq === -1 ? sinceBefore : last.base + seq
    since.set(global(last.log.since.value))
    durable.set(Math.min(since.value, global(last.log.durable.value ?? -1)))
  }

  /** Closes all segments. `since` and `durable` follow what is synced meanwhile. */
  async end () {
    this.file.waitingStreams.close()
    await this.segments.opened.end().finally(() => this.#forget())
  }
}

/** Finds records without waiting, in segments that are open. */
class Peeker {
  #segments
  /** Of the segment where a record was found. @type {any} */
  #peek = null

  /** @param {import('./segments').Segments} segments */
  constructor (segments) {
    this.#segments = segments
  }

  /** @param {number} seq */
  find (seq) {
    if (typeof seq !== 'number') return false
    const { base, source, closing } = this.#segments.find(seq)
    if (source === null || closing !== null || seq < base) return false
    this.#peek = source.peek
    return this.#peek.find(seq - base)
  }

  take () { return this.#peek.take() }
  get bytes () { return this.#peek.bytes }
  get start () { return this.#peek.start }
  get end () { return this.#peek.end }
}

exports.Core = Core
