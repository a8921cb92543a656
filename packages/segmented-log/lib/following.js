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

  /** @param {import('./core').Core} core */
  constructor (core) {
    this.#core = core
    this.#watch = new FolderWatch(core.folder, core.options.storage, () => this.#look())
  }

  async #look () {
    const { folder, options, segments } = this.#core
    const { segments: found } = await list(folder, options)
    const first = found.findIndex(({ base }) => base >= segments.last.base)
    if (found.length === 0 || first === -1) return
    // Records that were appended behind the last look may have been dropped already.
    if (found[0].base > segments.last.base) segments.last.isOvertaken = true
    for (const name of found.slice(first)) {
      if (name.base > segments.last.base) await this.#continueIn(name)
      // At once: a stream that goes on must find what was dropped.
      this.#forgetBefore(found[0].base)
    }
  }

  /** @param {number} base */
  #forgetBefore (base) {
    const { segments } = this.#core
    const kept = segments.list.findIndex((segment) => segment.base >= base)
    if (kept > 0) segments.closeDropped(segments.dropFirst(kept))
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
    segments.close(before).catch(() => {})
  }

  async close () {
    this.#isClosed = true
    await this.#watch.close()
  }
}

exports.Following = Following
