'use strict'
// A session of a log of one file. Usage, by history.js: node file-session.js <JSON of SessionOptions>

const { CACHE_SIZE, Session, runSession } = require('./session')

class FileSession extends Session {
  _createLog () {
    const { logModule, file, fsync } = this._options
    return require(logModule).OffsetLog(file, { fsync, cache: CACHE_SIZE })
  }

  _steps () {
    return [...super._steps(), /** @type {[number, () => Promise<void>]} */ ([6, this._compact])]
  }

  /** A compaction that is cut short by closing is no failure. @param {string} what @param {string} code */
  _isHarmless (what, code) {
    return what === 'compact' && code === 'ERR_LOG_CLOSED'
  }

  async _compact () {
    await this._ask('compact', {}, () => this._log.compact())
  }
}

runSession(FileSession)
