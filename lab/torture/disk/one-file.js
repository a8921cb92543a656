'use strict'
// The log of one file, as a subject of the torture on real disks.

const path = require('node:path')
const { examineLog } = require('./examine')
const { Story } = require('./story')

exports.logModule = path.dirname(require.resolve('@millrace/offset-log'))
exports.command = 'npm run torture -- --disk'
exports.session = path.join(__dirname, 'file-session.js')
exports.pickSettings = () => ({})
exports.createStory = (/** @type {number} */ salt) => new Story(salt)
exports.open = (/** @type {string} */ logModule, /** @type {string} */ file) => require(logModule).OffsetLog(file)
exports.examine = examineLog
