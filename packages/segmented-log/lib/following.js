'use strict'
// Keeps a log that was opened for reading up to date with its writer: notices new segments and dropped ones. Records in
// the newest segment are noticed by the log of that segment.

const path = require('node:path')
const { FolderWatch } = require('@millrace/block-file')
const { Turns } = require('@millrace/flow')
const { OffsetLog } = require('@millrace/offset-log')
const { errors } = require('@millrace/offset-log/composing')
const { BROKEN_CODES, list, readySegment, standInAfter } = require('./opening')

/**
 * @typedef {import('./names').SegmentName} SegmentName
 * @typedef {import('./segments').Segment} Segment
 */

const ATTEMPTS_MAX = 10

class Following {
  #core
  #watch
  #isClosed = false
  #looks = new Turns()

  /** @param {import('./core').Core} core */
  constructor (core) {
    this.#core = core
    this.#watch = new FolderWatch(core.folder, core.options.storage, () => this.#refresh())
    core.segments.refresh = () => this.#refresh().catch(() => {})
  }

  /** @returns {Promise<void>} */
  #refresh () {
    return this.#looks.run(() => this.#look())
  }

  /** Finds everything that was appended before the call. @returns {Promise<void>} */
  async refresh () {
    for (let attempt = 1; ; attempt++) {
      try {
        await this.#refresh()
        const { file: { failure = null }, segments: { last: { isOvertaken, source } } } = this.#core
        if (failure !== null) throw failure
        if (!isOvertaken && !this.#isClosed) await source?.refresh()
        return
      } catch (/** @type {any} */ err) {
        // A segment was dropped before it was opened, or the newest one that is known while it was looked at.
        const isGone = err.code === 'ENOENT' || err.cause?.code === 'ENOENT'
        if (!isGone || attempt === ATTEMPTS_MAX) throw err
      }
    }
  }

  async #look () {
    if (this.#isClosed) return
    const { folder, options, segments } = this.#core
    await options.place.prove().catch((err) => this.#failMoved(err))
    const { last, lastFile } = segments
    // Before the folder is listed: if the file was dropped or compressed, its writer had made the next one by then.
    const failure = last.source?.failure && await last.source.refresh().then(() => null, (err) => err)
    const listing = await list(folder, options)
    const { segments: found, kept } = listing
    const first = found.findIndex(({ base }) => base >= lastFile.base)
    if (first === -1) return this.#tell(failure || removedError(lastFile.path))
    // Records that were appended after the last look may have been dropped already.
    if (found[first].base > lastFile.base || kept.has(lastFile.name)) last.isOvertaken = true
    for (const name of found.slice(first)) {
      if (name.base > segments.lastFile.base) await this.#continueIn(name, found)
      // At once: a stream that goes on must find what was dropped.
      this.#noteDropped(listing)
    }
    this.#tell(segments.last === last && !last.isOvertaken ? failure || null : null)
  }

  /** Whoever waits for what follows is told why nothing does. @param {Error | null} failure  null if something may */
  #tell (failure) {
    const { file } = this.#core
    file.failure = failure
    if (failure !== null) file.waitingStreams.close(failure)
  }

  /** Nothing follows in the folder that was moved: who waits for it is told. @type {(err: any) => never} */
  #failMoved (err) {
    if (err.code === 'ERR_FILE_MOVED') this.#tell(err)
    throw err
  }

  /** @param {import('./names').Listing} listing */
  #noteDropped ({ segments: found, kept }) {
    const { segments } = this.#core
    if (kept.size === 0 && found[0].base <= segments.first.base) return
    const bases = new Set(found.map(({ base }) => base))
    const dropped = segments.list.filter((segment) => !segment.isActive && !bases.has(segment.base))
    if (dropped.length > 0) segments.drop(dropped)
    segments.opened.closeDropped(dropped)
    for (const segment of segments.list) {
      const untilMs = kept.get(segment.name)
      // The file of the newest one that is open has every record. It is marked once the next one is open.
      if (untilMs !== undefined && segment.keptUntilMs === null && !segment.isActive) segments.mark(segment, untilMs)
    }
  }

  /** @type {(name: SegmentName, found: SegmentName[]) => Promise<void>} `found`: all that are there */
  async #continueIn (name, found) {
    const { folder, segments, options } = this.#core
    // Its writer synced it before it made the next one, so one look finds all of its records.
    const { isOvertaken, source } = segments.last
    if (!isOvertaken) await source?.refresh().catch(ignoreReplaced)
    const log = OffsetLog(path.join(folder, name.name), options.active)
    try {
      await readySegment(log, options.active)
    } catch (/** @type {any} */ err) {
      if (err.code === 'ENOENT' || !BROKEN_CODES.has(err.code)) throw err
      return this.#standInAfter(name, found)
    }
    if (this.#isClosed) return log.close()
    const before = segments.dropStandIn()
    this.#activate(before, name, log, null)
  }

  /** The segment cannot be opened. @type {(name: SegmentName, found: SegmentName[]) => Promise<void>} */
  async #standInAfter (name, found) {
    const { folder, segments, options } = this.#core
    const known = found.slice(0, found.indexOf(name) + 1)
    const { segments: names, log, logOptions } = await standInAfter(folder, options, known)
    if (this.#isClosed) return log.close()
    const before = segments.dropStandIn()
    const broken = segments.add(name)
    if (before.logOptions !== null) before.next = broken
    this.#activate(before, names[names.length - 1], log, logOptions)
  }

  /** @type {(before: Segment, name: SegmentName, log: any, logOptions: object | null) => void} */
  #activate (before, name, log, logOptions) {
    const { segments } = this.#core
    const segment = segments.add(name)
    segment.logOptions = logOptions
    if (before.next === null) before.next = segment
    this.#core.activate(segment, log)
    segments.opened.retire(before)
  }

  async close () {
    this.#isClosed = true
    await this.#watch.close()
    await this.#looks.settled()
  }
}

/** @param {string} path  of the newest segment */
function removedError (path) {
  return errors.replacedError(path, 'was removed, and nothing follows it')
}

/** What a text file had was read, although its writer has compressed it meanwhile. @param {any} err */
function ignoreReplaced (err) {
  if (err.code !== 'ERR_LOG_REPLACED') throw err
}

exports.Following = Following
