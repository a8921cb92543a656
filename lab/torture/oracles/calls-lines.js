'use strict'
// The same as calls.js for a log of lines: both its files are made to fail.

const { examineFraming } = require('./calls')

/**
 * @param {import('./run-oracle').OracleOptions} options
 * @returns {Promise<import('./run-oracle').Verdict>}
 */
exports.examine = (options) => examineFraming(options, 'lines')
