'use strict'
// Keeps a log that was opened for reading up to date with its writer: notices new segments and dropped ones. Records in
// the newest segment are noticed by the log of that segment.

const path = require('node:path')
const { FolderWatch } = require('@millrace/block-file')
const { call } = require('@millrace/flow')
const { OffsetLog } = require('@millrace/offset-log')
const { list } = require('./opening')

class Following {
  #core
  #watch
  #isClosed = false
  /** One look at a time. @type {Promise<void>} */
  #looking = Promise.resolve()

  /** @param {import('./core').Core} core */
  constructor (core) {
    this.#core = core
    this.#watch = new FolderWatch(core.folder, core.options.storage, () => this.#refresh())
    core.segments.refresh = () => this.#refresh().catch(() => {})
  }

  /** @returns {Promise<void>} */
  #refresh () {
    this.#looking = this.#looking.catch(() => {}).then(() => this.#look())
    return this.#looking
  }

  async #look () {
    if (this.#isClosed) return
    const { folder, options, segments } = this.#core
    const { last } = segments
    const listing = await list(folder, options)
    const { segments: found, kept } = listing
    const first = found.findIndex(({ base }) => base >= last.base)
    if (first === -1) return
    // Records that were appended behind the last look may have been dropped already.
    if (found[first].base > last.base || kept.has(last.name)) last.isOvertaken = true
    for (const name of found.slice(first)) {
      if (name.base > segments.last.base) await this.#continueIn(name)
      // At once: a stream that goes on must find what was dropped.
      this.#noteDropped(listing)
    }
  }

  /** @param {import('./names').Listing} listing */
  #noteDropped ({ segments: found, kept }) {
    const { segments } = this.#core
    if (kept.size === 0 && found[0].base <= segments.first.base) return
    const bases = new Set(found.map(({ base }) => base))
    const dropped = segments.list.filter((segment) => !segment.isActive && !bases.has(segment.base))
    if (dropped.length > 0) segments.drop(dropped)
    segments.closeDropped(dropped)
    for (const segment of segments.list) {
      const untilMs = kept.get(segment.name)
      if (untilMs !== undefined && segment.keptUntilMs === null) segments.mark(segment, untilMs)
    }
  }

  /** @param {import('./names').SegmentName} name */
  async #continueIn (name) {
    const { folder, segments, options } = this.#core
    const { last: before } = segments
    // Its writer synced it before it made the next one, so one look finds all of its records.
    const { follower } = /** @type {any} */ (before.file)
    if (follower !== null && !before.isOvertaken) await call(follower, 'refresh')
    const log = OffsetLog(path.join(folder, name.name), options.active)
    await log.ready()
    if (this.#isClosed) return log.close()
    this.#core.activate(segments.add(name), log)
    segments.retire(before)
  }

  async close () {
    this.#isClosed = true
    await this.#watch.close()
    await this.#looking.catch(() => {})
  }
}

exports.Following = Following
