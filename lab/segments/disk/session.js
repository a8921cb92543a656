'use strict'
// A session of a log of segments on a recorded disk. Usage, by history.js of the torture: node session.js <JSON>

const { Session, runSession } = require('../../torture/disk/session')
const { STAMP_SIZE, createOptions, createText, untilWhole } = require('./settings')

const HOLD = 'h'

class SegmentsSession extends Session {
  /** Other logs that follow in the folder, as other processes do. @type {Set<any>} */
  _followers = new Set()
  _followerCount = 0

  _createLog () {
    const { logModule, file, fsync, settings } = this._options
    const log = require(logModule).SegmentedLog(file, createOptions(settings, fsync))
    log.dropped((/** @type {{ first: number }} */ { first }) => this._tell({ what: 'dropped', first }), false)
    return log
  }

  _steps () {
    return [...super._steps(), ...(/** @type {Array<[number, () => Promise<void>]>} */ ([
      [10, this._roll], [4, this._drop], [4, this._hold], [2, this._release], [4, this._follow], [6, this._settle]
    ]))]
  }

  _readAll () {
    return untilWhole(() => super._readAll())
  }

  /** @param {number} id @param {number} size */
  _createRecord (id, size) {
    return createText(this._options.salt, id, size)
  }

  async _describe () {
    return { holds: (await this._log.holds()).map((/** @type {{ seq: number }} */ { seq }) => seq) }
  }

  /**
   * Limits drop what was to be deleted. The story knows whether they may have.
   * @param {string} what
   * @param {string} code
   */
  _isHarmless (what, code) {
    return what === 'del' && code === 'ERR_LOG_SEQ_RETAINED'
  }

  async _roll () {
    await this._ask('roll', {}, () => this._log.roll())
  }

  async _drop () {
    const record = this._pickKnown()
    if (!record) return
    await this._ask('drop', { ids: [record.id] }, () => this._log.dropBefore(record.seq))
  }

  async _hold () {
    const record = this._pickKnown()
    if (!record) return
    await this._ask('hold', { seq: record.seq }, () => this._log.hold(HOLD, record.seq))
    // Whether the records that it is to keep were all there.
    const [hold] = await this._log.holds().catch(() => [])
    if (hold?.seq === record.seq) this._tell({ what: 'held', seq: hold.cut ? hold.cut.to : hold.seq })
  }

  async _release () {
    await this._ask('release', {}, () => this._log.release(HOLD))
  }

  _pickKnown () {
    return this._known[this._random(this._known.length)]
  }

  /** Segments are compressed meanwhile. */
  async _settle () {
    await new Promise((resolve) => setTimeout(resolve, 30 + this._random(60)))
  }

  async _follow () {
    const { logModule, file, fsync, settings } = this._options
    const reader = require(logModule).SegmentedLog(file, { ...createOptions(settings, fsync), flags: 'r' })
    this._followers.add(reader)
    const follower = this._followerCount++
    this._tell({ what: 'follow', follower })
    this._read(reader, follower).catch((err) => {
      if (err.code === 'ERR_LOG_CLOSED') return
      this._tell({ what: 'failure', code: err.code, message: `a follower: ${err.stack}`, isExpected: this._mayFail })
    })
  }

  /** @param {any} reader @param {number} follower */
  async _read (reader, follower) {
    for await (const { seq, value: { id, bytes } } of reader.stream({ gt: -1, live: true, onRetained: 'skip' })) {
      const size = bytes.length < STAMP_SIZE ? -1 : bytes.readUInt32BE(4)
      const isOurs = size === bytes.length && this._createRecord(id, size).equals(bytes)
      this._tell({ what: 'read', follower, found: [[seq, isOurs ? id : -1, bytes.length]] })
    }
  }

  async _endFollowers () {
    const ended = [...this._followers].map((reader) => reader.close().catch(() => {}))
    this._followers.clear()
    await Promise.all(ended)
  }

  async _reopen () {
    if (this._random(2) === 0) await this._endFollowers()
    await super._reopen()
  }

  async _end () {
    if (['close', 'end'].includes(this._options.ending)) await this._endFollowers()
    await super._end()
  }
}

runSession(SegmentsSession)
