'use strict'
// A log of lines, as a subject of the torture on real disks.

const path = require('node:path')
const { FRAMINGS } = require('../framings')
const { examineLog } = require('./examine')
const { createLine } = require('./lines-session')
const { Story, Telling } = require('./story')

class LinesStory extends Story {
  /** @param {(id: number, size: number) => import('../ledger').RecordEntry} createEntry */
  _createTelling (createEntry) {
    return new Telling(createEntry, FRAMINGS.lines.hasUniqueSeqs)
  }

  /**
   * @param {number} id
   * @param {number} size
   */
  _createRecord (id, size) {
    return createLine(this._salt, id, size)
  }
}

exports.logModule = path.dirname(require.resolve('@millrace/offset-log'))
exports.command = 'npm run torture -- --disk --framing lines'
exports.session = path.join(__dirname, 'lines-session.js')
// With data=writeback, what was not synced is anything that the disk had there before, perhaps lines of another file.
exports.dataModes = ['ordered']
exports.canFail = FRAMINGS.lines.writesEndAnew
exports.pickSettings = () => ({})
exports.createStory = (/** @type {number} */ salt) => new LinesStory(salt)
exports.open = (/** @type {string} */ logModule, /** @type {string} */ file) => {
  return require(logModule).OffsetLog(file, FRAMINGS.lines.options)
}
exports.examine = (/** @type {import('./history').SubjectState} */ state) => examineLog(state, 'lines')
