'use strict'
// A destination for pino in front of a Millrace log.

const { levelFilter, timeFilter } = require('@millrace/where')
const { formatPretty } = require('@millrace/where/pretty')
const { destination } = require('./lib/destination')
const { preset } = require('./lib/presets')

/**
 * @typedef {import('./lib/destination').DestinationOptions} DestinationOptions
 * @typedef {import('./lib/options').Log} Log
 * @typedef {import('./lib/presets').LoggerOptions} LoggerOptions
 * @typedef {import('./lib/patterns').PatternName} PatternName
 * @typedef {import('./lib/presets').PresetName} PresetName
 * @typedef {import('@millrace/where/pretty').PrettyOptions} PrettyOptions
 * @typedef {import('./lib/tee').TeeTarget} TeeTarget
 */

/**
 * @template {Log} [L=import('@millrace/segmented-log').SegmentedLog]
 * @typedef {import('./lib/destination').Destination<L>} Destination
 */

exports.destination = destination
exports.preset = preset
exports.formatPretty = formatPretty
exports.levelFilter = levelFilter
exports.timeFilter = timeFilter
