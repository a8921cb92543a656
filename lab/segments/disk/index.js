'use strict'
// The log of segments, as a subject of the torture on real disks.

const path = require('node:path')
const { examineFolder } = require('./examine')
const { pickSettings } = require('./settings')
const { SegmentsStory } = require('./story')

exports.logModule = path.dirname(require.resolve('@millrace/segmented-log'))
exports.command = 'npm run torture:segments -- --disk'
exports.session = path.join(__dirname, 'session.js')
exports.pickSettings = pickSettings
exports.createStory = (/** @type {number} */ salt, /** @type {any} */ settings) => new SegmentsStory(salt, settings)
/** @type {(logModule: string, folder: string) => any} */
exports.open = (logModule, folder) => require(logModule).SegmentedLog(folder)
exports.examine = examineFolder
