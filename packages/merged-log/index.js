'use strict'
// One log that several processes write: each its own slot of a folder. Readers get the slots merged by time.

const { MergedLog } = require('./lib/merged-log')
const { slotOptionNames } = require('./lib/options')
const { SlotLog } = require('./lib/slot-log')

/**
 * @typedef {import('./lib/options').SlotLogOptions} SlotLogOptions
 * @typedef {import('./lib/options').MergedLogOptions} MergedLogOptions
 * @typedef {import('./lib/options').MergedReadOptions} MergedReadOptions
 * @typedef {import('./lib/merged-log').MergedItem} MergedItem
 * @typedef {import('./lib/options').Position} Position
 */

exports.MergedLog = MergedLog
exports.SlotLog = SlotLog
exports.slotOptionNames = slotOptionNames
