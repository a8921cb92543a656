'use strict'
// A destination for pino in front of a Millrace log.

const { destination } = require('./lib/destination')

/**
 * @typedef {import('./lib/destination').Destination} Destination
 * @typedef {import('./lib/destination').DestinationOptions} DestinationOptions
 */

exports.destination = destination
