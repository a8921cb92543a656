// @ts-nocheck
'use strict'
// A session of a log of lines. Usage, by history.js: node lines-session.js <JSON of SessionOptions>

const { FRAMINGS } = require('../framings')
const { CACHE_SIZE, Session, runSession } = require('./session')

/**
 * @param {number} salt
 * @param {number} id
 * @param {number} size  about that of the line
 * @returns {Buffer}  a line that tells its number and its size
 */
function createLine (salt, id, size) {
  const record = FRAMINGS.lines.makeRecord(salt, [id, size, 'random'], () => Buffer.alloc(0))
  return Buffer.from(`{"id":${id},"size":${size},"record":${record}}`)
}

class LinesSession extends Session {
  _createLog () {
    const { logModule, file, fsync } = this._options
    return require(logModule).OffsetLog(file, { ...FRAMINGS.lines.options, fsync, cache: CACHE_SIZE })
  }

  _steps () {
    const steps = super._steps().filter(([, step]) => step !== this._del)
    return [...steps, [8, this._appendNow], [6, this._flush]]
  }

  _createRecord (id, size) {
    return createLine(this._options.salt, id, size)
  }

  /** What waits is being written: `append` must be awaited. @param {string} what @param {string} code */
  _isHarmless (what, code) {
    return code === 'ERR_LOG_NOT_READY'
  }

  _identify (bytes) {
    const { id = -1, size = -1 } = JSON.parse(bytes.toString())
    return [id, size]
  }

  async _appendNow () {
    const records = Array.from({ length: 1 + this._random(4) }, () => [this._nextId++, this._random(3000)])
    const values = records.map(([id, size]) => this._createRecord(id, size))
    const isSynced = this._random(2) === 0
    await this._ask('append', { records, isSynced }, async () => this._log.appendSync(values, { sync: isSynced }))
  }

  async _flush () {
    await this._ask('flush', {}, async () => this._log.flushSync({ sync: false }))
  }
}

exports.createLine = createLine
if (require.main === module) runSession(LinesSession)
