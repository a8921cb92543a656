'use strict'
// A destination for pino in front of a Millrace log.

const { levelFilter, timeFilter } = require('@millrace/where')
const { destination } = require('./lib/destination')
const { formatPretty } = require('./lib/pretty')

/**
 * @typedef {import('./lib/destination').Destination} Destination
 * @typedef {import('./lib/destination').DestinationOptions} DestinationOptions
 * @typedef {import('./lib/pretty').PrettyOptions} PrettyOptions
 */

exports.destination = destination
exports.formatPretty = formatPretty
exports.levelFilter = levelFilter
exports.timeFilter = timeFilter
